//! Where the effects of the core go.

use std::collections::BTreeMap;
use std::sync::Arc;

use ackord_coord_core::contract::{ConnId, Effect, Event};
use ackord_log_store::LogStore;
use ackord_machine::StorageOp;

use crate::link::Link;
use crate::logging::Logger;

/// The connections. Those that are left when the core goes are cut, however it goes.
#[derive(Default)]
struct Links(BTreeMap<ConnId, Arc<Link>>);

impl Drop for Links {
    fn drop(&mut self) {
        self.0.values().for_each(|link| link.cut());
    }
}

/// The connections and the store.
pub(crate) struct Router {
    links: Links,
    store: LogStore,
    waiting: Vec<StorageOp>,
    logger: Logger,
}

impl Router {
    pub(crate) fn new(store: LogStore, logger: Logger) -> Self {
        Router {
            links: Links::default(),
            store,
            waiting: Vec::new(),
            logger,
        }
    }

    pub(crate) fn opened(&mut self, conn: ConnId, link: Arc<Link>) {
        self.links.0.insert(conn, link);
    }

    pub(crate) fn closed(&mut self, conn: ConnId) {
        self.links.0.remove(&conn);
    }

    pub(crate) fn has_connections(&self) -> bool {
        !self.links.0.is_empty()
    }

    /// Ends every connection once its replies are out.
    pub(crate) fn close_all(&self) {
        self.links.0.values().for_each(|link| link.close());
    }

    /// Carries out an effect; hands an event back.
    pub(crate) fn route(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Close { conn, reason } => {
                self.logger.info(format_args!("{conn} is closed: {reason}"));
                self.with_link(conn, Link::close);
            }
            Effect::Emit(event) => return Some(event),
            Effect::Read { conn } => self.with_link(conn, Link::grant),
            Effect::Send { conn, chunks } => self.with_link(conn, |link| link.send(chunks)),
            Effect::Store(op) => self.waiting.push(op),
        }
        None
    }

    /// A connection that is gone already needs nothing.
    fn with_link(&self, conn: ConnId, work: impl FnOnce(&Link)) {
        if let Some(link) = self.links.0.get(&conn) {
            work(link);
        }
    }

    /// Hands the operations that were asked for to the store, together.
    pub(crate) fn flush(&mut self) {
        if !self.waiting.is_empty() {
            self.store.submit_all(self.waiting.drain(..));
        }
    }

    /// Closes the store.
    pub(crate) fn close(self) {
        self.store.close();
    }
}
