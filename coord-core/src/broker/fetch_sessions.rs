//! Incremental fetch sessions (KIP-227).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::{Entropy, LogId};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use crate::contract::ConnId;

/// Sessions that are kept (Kafka's `max.incremental.fetch.session.cache.slots`).
const SLOTS: usize = 1000;

/// A partition as a Fetch asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Name that the request used or that belongs to its id.
    pub(super) topic: Str,
    /// The log, or why there is none.
    pub(super) log: Result<LogId, (ErrorCode, LogId)>,
    pub(super) fetch_offset: i64,
    pub(super) max_bytes: i32,
    /// What the session's client knows already.
    pub(super) known: Known,
}

impl Wanted {
    /// Topic id and partition as the request gave them, known or not.
    pub(super) fn id(&self) -> LogId {
        match self.log {
            Ok(log) | Err((_, log)) => log,
        }
    }
}

/// Offsets that a client was told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) high_watermark: i64,
    pub(super) log_start: i64,
}

impl Default for Known {
    fn default() -> Self {
        Known {
            high_watermark: -1,
            log_start: -1,
        }
    }
}

#[derive(Debug)]
struct Session {
    conn: ConnId,
    epoch: i32,
    /// In the order in which they were added; the key also holds the name for partitions without id.
    partitions: Vec<Wanted>,
    used: u64,
}

/// All sessions of a broker; the one unused for longest makes room.
#[derive(Debug)]
pub(super) struct FetchSessions {
    sessions: BTreeMap<i32, Session>,
    chance: Entropy,
    uses: u64,
}

/// What a request means for its session.
#[derive(Debug)]
pub(super) enum FetchContext {
    /// No session: everything is in the request.
    Full,
    /// A new session.
    New(i32),
    /// Only what is new is answered.
    Incremental(i32),
}

impl FetchContext {
    pub(super) fn session_id(&self) -> i32 {
        match self {
            FetchContext::Full => 0,
            FetchContext::New(id) | FetchContext::Incremental(id) => *id,
        }
    }

    pub(super) fn is_incremental(&self) -> bool {
        matches!(self, FetchContext::Incremental(_))
    }
}

impl FetchSessions {
    pub(super) fn new(chance: Entropy) -> Self {
        FetchSessions {
            sessions: BTreeMap::new(),
            chance,
            uses: 0,
        }
    }

    pub(super) fn connection_closed(&mut self, conn: ConnId) {
        self.sessions.retain(|_, session| session.conn != conn);
    }

    /// Finds the session of a request, changes it, and gives all its partitions.
    pub(super) fn begin(
        &mut self,
        conn: ConnId,
        (id, epoch): (i32, i32),
        wanted: Vec<Wanted>,
        forgotten: &[(Str, LogId)],
    ) -> Result<(FetchContext, Vec<Wanted>), ErrorCode> {
        self.uses += 1;
        if epoch == -1 || epoch == 0 {
            self.sessions.remove(&id);
            if epoch == -1 || wanted.is_empty() {
                return Ok((FetchContext::Full, wanted));
            }
            let id = self.create(conn, wanted.clone());
            return Ok((FetchContext::New(id), wanted));
        }
        let used = self.uses;
        let session = self
            .sessions
            .get_mut(&id)
            .ok_or(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
        if session.epoch != epoch {
            return Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH);
        }
        session.epoch = next_epoch(epoch);
        session.used = used;
        for new in wanted {
            match session
                .partitions
                .iter_mut()
                .find(|old| same(old, &new.topic, new.id()))
            {
                Some(old) => {
                    let known = old.known;
                    *old = Wanted { known, ..new };
                }
                None => session.partitions.push(new),
            }
        }
        session
            .partitions
            .retain(|old| !forgotten.iter().any(|(topic, log)| same(old, topic, *log)));
        Ok((FetchContext::Incremental(id), session.partitions.clone()))
    }

    fn create(&mut self, conn: ConnId, partitions: Vec<Wanted>) -> i32 {
        if self.sessions.len() >= SLOTS
            && let Some(oldest) = self.oldest()
        {
            self.sessions.remove(&oldest);
        }
        let id = loop {
            let id = i32::try_from(1 + self.chance.below(i32::MAX as u64 - 1)).unwrap_or(1);
            if !self.sessions.contains_key(&id) {
                break id;
            }
        };
        self.sessions.insert(
            id,
            Session {
                conn,
                epoch: 1,
                partitions,
                used: self.uses,
            },
        );
        id
    }

    fn oldest(&self) -> Option<i32> {
        self.sessions
            .iter()
            .min_by_key(|(_, session)| session.used)
            .map(|(id, _)| *id)
    }

    /// Notes what a client has been told.
    pub(super) fn told(&mut self, id: i32, topic: &Str, log: LogId, known: Known) {
        if let Some(session) = self.sessions.get_mut(&id)
            && let Some(own) = session
                .partitions
                .iter_mut()
                .find(|own| same(own, topic, log))
        {
            own.known = known;
        }
    }
}

/// Requests by name carry no topic id, requests by id may name a topic that does not exist.
fn same(own: &Wanted, topic: &Str, log: LogId) -> bool {
    own.id().partition == log.partition && own.topic == *topic && own.id().topic == log.topic
}

/// Epochs of a session never become 0 or negative again.
pub(super) fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}
