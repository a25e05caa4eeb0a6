//! Where the effects of the core go.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ackord_coord_core::contract::{ConnId, Effect, Event, Input};
use ackord_log_store::LogStore;
use ackord_machine::{MonoTime, StorageOp};
use bytes::Bytes;

use crate::link::Link;
use crate::logging::Logger;
use crate::waiting::Waiting;

/// A connection as who drives the core sees it.
struct Peer {
    link: Arc<Link>,
    waiting: Waiting,
    /// When it was not idle.
    seen: MonoTime,
}

/// The connections. Those that are left when the core goes are cut, however it goes.
#[derive(Default)]
struct Peers(BTreeMap<ConnId, Peer>);

impl Drop for Peers {
    fn drop(&mut self) {
        self.0.values().for_each(|peer| peer.link.cut());
    }
}

/// The connections and the store.
pub(crate) struct Router {
    peers: Peers,
    /// Frames that were there when the core asked for them.
    asked: VecDeque<Input>,
    store: LogStore,
    waiting: Vec<StorageOp>,
    /// Links with something new for their connections.
    changed: BTreeMap<ConnId, Arc<Link>>,
    logger: Logger,
}

impl Router {
    pub(crate) fn new(store: LogStore, logger: Logger) -> Self {
        Router {
            peers: Peers::default(),
            asked: VecDeque::new(),
            store,
            waiting: Vec::new(),
            changed: BTreeMap::new(),
            logger,
        }
    }

    pub(crate) fn opened(&mut self, now: MonoTime, conn: ConnId, link: Arc<Link>) {
        let peer = Peer {
            link,
            waiting: Waiting::default(),
            seen: now,
        };
        self.peers.0.insert(conn, peer);
    }

    /// Ends connections that have been idle for so many milliseconds.
    pub(crate) fn end_idle(&mut self, now: MonoTime, idle_ms: i64) {
        for (conn, peer) in &mut self.peers.0 {
            if peer.link.activity.look() {
                peer.seen = now;
            } else if peer.seen.plus_millis(idle_ms) <= now {
                self.logger
                    .info(format_args!("{conn} is closed: idle for {idle_ms} ms"));
                peer.link.cut();
            }
        }
    }

    pub(crate) fn closed(&mut self, conn: ConnId) {
        self.peers.0.remove(&conn);
    }

    pub(crate) fn has_connections(&self) -> bool {
        !self.peers.0.is_empty()
    }

    /// Ends every connection once its replies are out.
    pub(crate) fn close_all(&self) {
        self.peers.0.values().for_each(|peer| peer.link.close());
    }

    /// Carries out an effect; hands an event back.
    pub(crate) fn route(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Close { conn, reason } => {
                self.logger.info(format_args!("{conn} is closed: {reason}"));
                if let Some(peer) = self.peers.0.get(&conn) {
                    peer.link.close();
                }
            }
            Effect::Emit(event) => return Some(event),
            Effect::Read { conn } => self.ask(conn),
            Effect::Send { conn, chunks } => {
                if let Some(peer) = self.peers.0.get(&conn) {
                    peer.link.send(chunks);
                    self.changed
                        .entry(conn)
                        .or_insert_with(|| peer.link.clone());
                }
            }
            Effect::Store(op) => self.waiting.push(op),
        }
        None
    }

    /// Asks a connection for a frame, which may have come already.
    fn ask(&mut self, conn: ConnId) {
        let Some(peer) = self.peers.0.get_mut(&conn) else {
            return;
        };
        if peer.link.grant() {
            self.changed
                .entry(conn)
                .or_insert_with(|| peer.link.clone());
        }
        let frame = peer.waiting.asked();
        self.asked
            .extend(frame.map(|bytes| Input::Frame { conn, bytes }));
    }

    /// A frame came: it is the core's where the core waits for it.
    pub(crate) fn arrived(&mut self, conn: ConnId, bytes: Bytes) -> Option<Input> {
        let bytes = match self.peers.0.get_mut(&conn) {
            Some(peer) => peer.waiting.arrived(bytes)?,
            None => bytes,
        };
        Some(Input::Frame { conn, bytes })
    }

    /// The next frame that was there when the core asked for it.
    pub(crate) fn asked(&mut self) -> Option<Input> {
        self.asked.pop_front()
    }

    /// Hands the operations that were asked for to the store, together, and wakes each connection
    /// that has to know of something, once.
    pub(crate) fn flush(&mut self) {
        if !self.waiting.is_empty() {
            self.store.submit_all(self.waiting.drain(..));
        }
        while let Some((_, link)) = self.changed.pop_first() {
            link.wake();
        }
    }

    /// Closes the store.
    pub(crate) fn close(self) {
        self.store.close();
    }
}
