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

/// A partition of a session: requests by name carry no topic id, requests by id may name a topic that
/// does not exist.
type Key = (Str, LogId);

/// The partitions of a session in the order in which they are looked at.
#[derive(Debug, Default)]
struct Partitions {
    places: BTreeMap<Key, u64>,
    ordered: BTreeMap<u64, Wanted>,
    last_place: u64,
}

impl Partitions {
    fn of(wanted: &[Wanted]) -> Self {
        let mut partitions = Partitions::default();
        wanted
            .iter()
            .cloned()
            .for_each(|wanted| partitions.put(wanted));
        partitions
    }

    /// Adds a partition, or changes what is wanted of it.
    fn put(&mut self, wanted: Wanted) {
        let key = (wanted.topic.clone(), wanted.id());
        match self
            .places
            .get(&key)
            .and_then(|place| self.ordered.get_mut(place))
        {
            Some(old) => {
                let known = old.known;
                *old = Wanted { known, ..wanted };
            }
            None => {
                self.last_place += 1;
                self.places.insert(key, self.last_place);
                self.ordered.insert(self.last_place, wanted);
            }
        }
    }

    fn forget(&mut self, key: &Key) -> Option<Wanted> {
        self.ordered.remove(&self.places.remove(key)?)
    }

    /// Notes what a client knows now. A partition that has sent records goes to the end, so that
    /// limits on the size of an answer starve no other one.
    fn told(&mut self, key: &Key, known: Known, records: bool) {
        if records {
            if let Some(wanted) = self.forget(key) {
                self.put(Wanted { known, ..wanted });
            }
        } else if let Some(place) = self.places.get(key)
            && let Some(wanted) = self.ordered.get_mut(place)
        {
            wanted.known = known;
        }
    }
}

#[derive(Debug)]
struct Session {
    conn: ConnId,
    epoch: i32,
    partitions: Partitions,
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
            let id = self.create(conn, Partitions::of(&wanted));
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
        wanted
            .into_iter()
            .for_each(|new| session.partitions.put(new));
        for key in forgotten {
            session.partitions.forget(key);
        }
        let all = session.partitions.ordered.values().cloned().collect();
        Ok((FetchContext::Incremental(id), all))
    }

    fn create(&mut self, conn: ConnId, partitions: Partitions) -> i32 {
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

    /// Notes what a client has been told of a partition, and whether it got records.
    pub(super) fn told(&mut self, id: i32, wanted: &Wanted, known: Known, records: bool) {
        if let Some(session) = self.sessions.get_mut(&id) {
            let key = (wanted.topic.clone(), wanted.id());
            session.partitions.told(&key, known, records);
        }
    }
}

/// Epochs of a session never become 0 or negative again.
pub(super) fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}

#[cfg(test)]
mod tests {
    use ackord_proto::uuid::Uuid;

    use super::*;

    fn wanted(partition: i32) -> Wanted {
        let topic = Uuid([7; 16]);
        Wanted {
            topic: Str::from("orders"),
            log: Ok(LogId { topic, partition }),
            fetch_offset: 0,
            max_bytes: 1,
            known: Known::default(),
        }
    }

    fn order(sessions: &mut FetchSessions, id: i32, epoch: i32) -> Vec<i32> {
        let begun = sessions.begin(ConnId(1), (id, epoch), Vec::new(), &[]);
        begun
            .unwrap()
            .1
            .iter()
            .map(|wanted| wanted.id().partition)
            .collect()
    }

    #[test]
    fn a_partition_that_sent_records_waits_for_the_others() {
        let mut sessions = FetchSessions::new(Entropy::from_seed([1; 32]));
        let all: Vec<Wanted> = (0..3).map(wanted).collect();
        let (context, _) = sessions.begin(ConnId(1), (0, 0), all.clone(), &[]).unwrap();
        let id = context.session_id();
        assert_eq!(order(&mut sessions, id, 1), [0, 1, 2]);
        sessions.told(id, &all[0], Known::default(), true);
        sessions.told(id, &all[1], Known::default(), false);
        assert_eq!(order(&mut sessions, id, 2), [1, 2, 0]);
        let forgotten = [(Str::from("orders"), all[2].id())];
        let (_, left) = sessions
            .begin(ConnId(1), (id, 3), Vec::new(), &forgotten)
            .unwrap();
        assert_eq!(left.len(), 2);
        let wrong = sessions
            .begin(ConnId(1), (id, 9), Vec::new(), &[])
            .map(|_| ());
        assert_eq!(wrong, Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH));
    }
}
