//! Connections: replies in request order, read credit, write credit.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use ackord_machine::{ApiMisuse, Limits};
use ackord_proto::api::ApiKey;
use ackord_proto::str::Str;
use bytes::Bytes;

use crate::authorizer::{Actor, Principal};
use crate::contract::{CloseReason, ConnId, Effect};

/// The request that a slot answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestMeta {
    pub(crate) conn: ConnId,
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    pub(crate) client_id: Str,
}

/// What keeps a request from being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Durability only: the connection may send more meanwhile.
    ForStorage,
    /// Data, a coordinator or a clock: the connection is not read before the answer.
    ForEvents,
}

#[derive(Debug)]
struct Slot {
    id: u64,
    size: usize,
    state: SlotState,
}

#[derive(Debug)]
enum SlotState {
    Done(Option<Vec<Bytes>>),
    Waiting(Waits),
}

#[derive(Debug)]
struct Connection {
    host: String,
    principal: Principal,
    slots: VecDeque<Slot>,
    reading: bool,
    closing: bool,
    unsent: usize,
}

/// All connections and the requests under way on them.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: BTreeMap<ConnId, Connection>,
    requests: BTreeMap<u64, RequestMeta>,
    last_slot: u64,
    request_bytes: usize,
    /// Connections that wait for `request_bytes` to fall.
    starved: VecDeque<ConnId>,
}

impl Connections {
    pub(crate) fn check_new(&self, conn: ConnId) -> Result<(), ApiMisuse> {
        if self.open.contains_key(&conn) {
            return Err(ApiMisuse::ConnectionExists(conn.0));
        }
        Ok(())
    }

    pub(crate) fn check_open(&self, conn: ConnId) -> Result<(), ApiMisuse> {
        if self.open.contains_key(&conn) {
            return Ok(());
        }
        Err(ApiMisuse::UnknownConnection(conn.0))
    }

    /// Takes a connection in; the caller gives it its first credit when it is ready.
    pub(crate) fn open(
        &mut self,
        conn: ConnId,
        (host, principal): (String, Principal),
        limits: &Limits,
        effects: &mut VecDeque<Effect>,
    ) {
        let crowded = self.open.len() >= limits.connections;
        let connection = Connection {
            host,
            principal,
            slots: VecDeque::new(),
            reading: false,
            closing: crowded,
            unsent: 0,
        };
        self.open.insert(conn, connection);
        if crowded {
            effects.push_back(Effect::Close {
                conn,
                reason: CloseReason::TooManyConnections,
            });
        }
    }

    /// Forgets a connection; returns the requests that were under way on it.
    pub(crate) fn closed(&mut self, conn: ConnId) -> Vec<u64> {
        let Some(connection) = self.open.remove(&conn) else {
            return Vec::new();
        };
        let mut ids = Vec::with_capacity(connection.slots.len());
        for slot in connection.slots {
            if !ackord_machine::planted!("row-21-credit-not-returned-on-an-error") {
                self.request_bytes -= slot.size;
            }
            self.requests.remove(&slot.id);
            ids.push(slot.id);
        }
        ids
    }

    /// Whether frames of the connection still count; a closing one has nothing to say.
    pub(crate) fn listens(&self, conn: ConnId) -> bool {
        self.open
            .get(&conn)
            .is_some_and(|connection| !connection.closing)
    }

    pub(crate) fn host(&self, conn: ConnId) -> &str {
        self.open
            .get(&conn)
            .map_or("", |connection| &connection.host)
    }

    /// Who speaks on the connection of a request.
    pub(crate) fn actor(&self, slot: u64) -> Option<Actor<'_>> {
        let connection = self.open.get(&self.requests.get(&slot)?.conn)?;
        Some(Actor {
            principal: connection.principal.as_str(),
            host: &connection.host,
        })
    }

    pub(crate) fn request_bytes(&self) -> usize {
        self.request_bytes
    }

    pub(crate) fn all(&self) -> Vec<ConnId> {
        self.open.keys().copied().collect()
    }

    pub(crate) fn request(&self, slot: u64) -> Option<&RequestMeta> {
        self.requests.get(&slot)
    }

    /// Has a request answered in another version than it was asked in.
    pub(crate) fn set_version(&mut self, slot: u64, version: i16) {
        if let Some(meta) = self.requests.get_mut(&slot) {
            meta.version = version;
        }
    }

    /// Consumes the read credit of a connection.
    pub(crate) fn frame_arrived(&mut self, conn: ConnId) {
        if let Some(connection) = self.open.get_mut(&conn) {
            connection.reading = false;
        }
    }

    /// Gives a request its place among the replies of its connection.
    pub(crate) fn begin(&mut self, meta: RequestMeta, size: usize) -> u64 {
        self.last_slot += 1;
        let id = self.last_slot;
        if let Some(connection) = self.open.get_mut(&meta.conn) {
            let state = SlotState::Waiting(Waits::ForEvents);
            connection.slots.push_back(Slot { id, size, state });
            self.request_bytes += size;
            self.requests.insert(id, meta);
        }
        id
    }

    /// Says what a request waits for now.
    pub(crate) fn waits(&mut self, slot: u64, waits: Waits) {
        let Some(meta) = self.requests.get(&slot) else {
            return;
        };
        let Some(connection) = self.open.get_mut(&meta.conn) else {
            return;
        };
        if let Some(slot) = connection.slots.iter_mut().find(|own| own.id == slot) {
            slot.state = SlotState::Waiting(waits);
        }
    }

    /// Answers a request, or ends it without an answer; sends what is in order.
    pub(crate) fn finish(
        &mut self,
        slot: u64,
        chunks: Option<Vec<Bytes>>,
        effects: &mut VecDeque<Effect>,
    ) -> Option<ConnId> {
        let conn = self.requests.remove(&slot)?.conn;
        let connection = self.open.get_mut(&conn)?;
        let own = connection.slots.iter_mut().find(|own| own.id == slot)?;
        own.state = SlotState::Done(chunks);
        while let Some(Slot {
            state: SlotState::Done(_),
            ..
        }) = connection.slots.front()
        {
            let Some(slot) = connection.slots.pop_front() else {
                break;
            };
            self.request_bytes -= slot.size;
            if let SlotState::Done(Some(chunks)) = slot.state
                && !connection.closing
            {
                connection.unsent += chunks.iter().map(Bytes::len).sum::<usize>();
                effects.push_back(Effect::Send { conn, chunks });
            }
        }
        Some(conn)
    }

    /// Write credit came back.
    pub(crate) fn sent(&mut self, conn: ConnId, bytes: usize) {
        if let Some(connection) = self.open.get_mut(&conn) {
            connection.unsent = connection.unsent.saturating_sub(bytes);
        }
    }

    /// Closes a connection once its queued replies are out.
    pub(crate) fn close(
        &mut self,
        conn: ConnId,
        reason: CloseReason,
        effects: &mut VecDeque<Effect>,
    ) {
        if let Some(connection) = self.open.get_mut(&conn)
            && !connection.closing
        {
            connection.closing = true;
            effects.push_back(Effect::Close { conn, reason });
        }
    }

    /// Reads one more frame where the limits allow.
    pub(crate) fn read(&mut self, conn: ConnId, limits: &Limits, effects: &mut VecDeque<Effect>) {
        let Some(connection) = self.open.get_mut(&conn) else {
            return;
        };
        let held_back = connection.slots.len() >= limits.pipelined_requests
            || connection.unsent >= limits.unsent_bytes
            || connection
                .slots
                .iter()
                .any(|slot| matches!(slot.state, SlotState::Waiting(Waits::ForEvents)));
        if connection.reading || connection.closing || held_back {
            return;
        }
        if self.request_bytes >= limits.request_bytes {
            if !self.starved.contains(&conn) {
                self.starved.push_back(conn);
            }
            return;
        }
        connection.reading = true;
        effects.push_back(Effect::Read { conn });
    }

    /// Goes on with connections that waited for the total of request bytes to fall.
    pub(crate) fn feed_starved(&mut self, limits: &Limits, effects: &mut VecDeque<Effect>) {
        while self.request_bytes < limits.request_bytes {
            let Some(conn) = self.starved.pop_front() else {
                return;
            };
            self.read(conn, limits, effects);
        }
    }
}
