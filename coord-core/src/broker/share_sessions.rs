//! Share sessions (KIP-932): which partitions a member fetches, request by request.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::LogId;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::Broker;
use super::fetch_sessions::next_epoch;
use crate::contract::ConnId;
use crate::group::ShareGroup;

/// The last epoch of a session: acknowledge, release, close.
pub(super) const FINAL_EPOCH: i32 = -1;

/// Partitions of one session that did not exist when they were added: what a client makes up must not
/// grow without end. Others are answered for once.
const MAX_UNKNOWN: usize = 1000;

type Key = (Str, Str);

/// Whether a partition exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existence {
    Exists,
    NoPartition,
    NoTopic,
}

impl Existence {
    /// What a request is told that names the partition.
    pub(super) fn check(self) -> Result<(), ErrorCode> {
        match self {
            Existence::Exists => Ok(()),
            Existence::NoPartition => Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            Existence::NoTopic => Err(ErrorCode::UNKNOWN_TOPIC_ID),
        }
    }
}

/// A partition of a session.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// When it was added.
    existence: Existence,
    /// The next answer lists it, be there records or not.
    due: bool,
}

#[derive(Debug)]
struct Session {
    id: u64,
    conn: ConnId,
    epoch: i32,
    /// In the order in which they were added.
    logs: Vec<LogId>,
    parts: BTreeMap<LogId, Part>,
    /// Those of them that did not exist.
    unknown: usize,
    /// Partitions that it fetches or fetched, or that the member had before it. It may have something to
    /// acknowledge there.
    used: BTreeSet<LogId>,
    /// Where the next fetch begins, so that each partition gets its turn.
    rotation: usize,
}

/// A session that ended, with the partitions whose records its member may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Released {
    pub(super) group: Str,
    pub(super) member: Str,
    pub(super) logs: Vec<LogId>,
    /// All partitions that nobody uses on its behalf any more.
    pub(super) used: BTreeSet<LogId>,
}

impl Session {
    fn add(&mut self, added: &[(LogId, Existence)], due: bool) {
        for (log, existence) in added {
            let unknown = *existence != Existence::Exists;
            if self.parts.contains_key(log) || (unknown && self.unknown >= MAX_UNKNOWN) {
                continue;
            }
            self.unknown += usize::from(unknown);
            self.logs.push(*log);
            let existence = *existence;
            self.parts.insert(*log, Part { existence, due });
        }
    }

    fn forget(&mut self, forgotten: &[LogId]) {
        for log in forgotten {
            if let Some(part) = self.parts.remove(log) {
                self.unknown -= usize::from(part.existence != Existence::Exists);
            }
        }
        let parts = &self.parts;
        self.logs.retain(|log| parts.contains_key(log));
    }
}

/// All share sessions of a broker, by group and member.
#[derive(Debug, Default)]
pub(super) struct ShareSessions {
    sessions: BTreeMap<Key, Session>,
    by_conn: BTreeSet<(ConnId, Key)>,
    /// How many sessions of a group use a partition.
    users: BTreeMap<(Str, LogId), usize>,
    /// Sessions that were ever opened.
    opened: u64,
}

impl ShareSessions {
    /// Ends the sessions that were opened on a connection.
    pub(super) fn connection_closed(&mut self, conn: ConnId) -> Vec<Released> {
        let first = (conn, (Str::default(), Str::default()));
        let own = self.by_conn.range(first..);
        let lost: Vec<Key> = own
            .take_while(|(own, _)| *own == conn)
            .map(|(_, key)| key.clone())
            .collect();
        lost.into_iter()
            .filter_map(|(group, member)| self.close(&group, &member))
            .collect()
    }

    /// Number of sessions, and of partitions in all of them.
    pub(super) fn size(&self) -> (usize, usize) {
        let partitions = self.sessions.values().map(|session| session.logs.len());
        (self.sessions.len(), partitions.sum())
    }

    /// Ends a session.
    pub(super) fn close(&mut self, group: &Str, member: &Str) -> Option<Released> {
        let key = (group.clone(), member.clone());
        let session = self.sessions.remove(&key)?;
        let (group, member) = key.clone();
        self.by_conn.remove(&(session.conn, key));
        for log in &session.used {
            self.leave(&group, *log);
        }
        Some(Released {
            group,
            member,
            logs: session.logs,
            used: session.used,
        })
    }

    /// A session uses a partition no longer.
    fn leave(&mut self, group: &Str, log: LogId) {
        let key = (group.clone(), log);
        if let Some(users) = self.users.get_mut(&key) {
            *users -= 1;
            if *users == 0 {
                self.users.remove(&key);
            }
        }
    }

    /// Opens a session in place of an older one of the same member. Records of the older one stay
    /// acquired until they are acknowledged or their lock ends.
    ///
    /// # Errors
    /// As many sessions as `limit` are open.
    pub(super) fn open(
        &mut self,
        conn: ConnId,
        group: &Str,
        member: &Str,
        added: &[(LogId, Existence)],
        limit: usize,
    ) -> Result<(), ErrorCode> {
        let key = (group.clone(), member.clone());
        if !self.sessions.contains_key(&key) && self.sessions.len() >= limit {
            return Err(ErrorCode::SHARE_SESSION_LIMIT_REACHED);
        }
        self.opened += 1;
        let before = self.sessions.get_mut(&key);
        let mut session = Session {
            id: self.opened,
            conn,
            epoch: 1,
            logs: Vec::new(),
            parts: BTreeMap::new(),
            unknown: 0,
            used: before.map_or_else(BTreeSet::new, |old| core::mem::take(&mut old.used)),
            rotation: 0,
        };
        // The first answer lists all of them.
        session.add(added, false);
        self.by_conn.insert((conn, key.clone()));
        if let Some(old) = self.sessions.insert(key.clone(), session)
            && old.conn != conn
            && !ackord_machine::planted!("row-77-old-connection-closes-the-new-session")
        {
            self.by_conn.remove(&(old.conn, key));
        }
        Ok(())
    }

    /// Goes on with a session, whichever connection asks: the one that opened it only ends it.
    ///
    /// # Errors
    /// SHARE_SESSION_NOT_FOUND, or INVALID_SHARE_SESSION_EPOCH where the epoch is not the next.
    pub(super) fn proceed(
        &mut self,
        group: &Str,
        member: &Str,
        epoch: i32,
    ) -> Result<(), ErrorCode> {
        let key = (group.clone(), member.clone());
        let session = self
            .sessions
            .get_mut(&key)
            .ok_or(ErrorCode::SHARE_SESSION_NOT_FOUND)?;
        if epoch == FINAL_EPOCH {
            return Ok(());
        }
        if session.epoch != epoch {
            return Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH);
        }
        session.epoch = next_epoch(epoch);
        Ok(())
    }

    /// Whether a session of the group uses the partition.
    pub(super) fn uses(&self, group: &Str, log: LogId) -> bool {
        self.users.contains_key(&(group.clone(), log))
    }

    /// Names the session that a member has; a later one of the same member has another name.
    pub(super) fn id(&self, group: &Str, member: &Str) -> Option<u64> {
        let session = self.sessions.get(&(group.clone(), member.clone()))?;
        Some(session.id)
    }

    /// Adds and removes partitions. An answer lists once what is new.
    pub(super) fn change(
        &mut self,
        group: &Str,
        member: &Str,
        added: &[(LogId, Existence)],
        forgotten: &[LogId],
    ) {
        if let Some(session) = self.sessions.get_mut(&(group.clone(), member.clone())) {
            session.add(added, true);
            session.forget(forgotten);
        }
    }

    /// A session fetches these partitions.
    pub(super) fn fetches(&mut self, group: &Str, member: &Str, logs: &[LogId]) {
        let Some(session) = self.sessions.get_mut(&(group.clone(), member.clone())) else {
            return;
        };
        for log in logs {
            if session.used.insert(*log) {
                *self.users.entry((group.clone(), *log)).or_default() += 1;
            }
        }
    }

    /// Which of the partitions that were fetched an answer lists, be there records or not (as Kafka):
    /// the new ones, and those that were in error before. From now on `failed` are in error.
    pub(super) fn listed(
        &mut self,
        group: &Str,
        member: &Str,
        fetched: &[LogId],
        failed: &[LogId],
    ) -> Vec<LogId> {
        let Some(session) = self.sessions.get_mut(&(group.clone(), member.clone())) else {
            return Vec::new();
        };
        let parts = &mut session.parts;
        let mut listed = fetched.to_vec();
        listed.retain(|log| {
            let part = parts.get_mut(log);
            part.is_some_and(|part| core::mem::take(&mut part.due))
        });
        for log in failed {
            if let Some(part) = parts.get_mut(log) {
                part.due = true;
            }
        }
        listed
    }

    /// The partitions of a session, each time beginning with another one, and whether each existed
    /// when it was added.
    pub(super) fn rotated(&mut self, group: &Str, member: &Str) -> Vec<(LogId, Existence)> {
        let Some(session) = self.sessions.get_mut(&(group.clone(), member.clone())) else {
            return Vec::new();
        };
        let mut logs = session.logs.clone();
        if !logs.is_empty() {
            let by = session.rotation % logs.len();
            session.rotation = (by + 1) % logs.len();
            logs.rotate_left(by);
        }
        let all = logs.into_iter();
        all.filter_map(|log| Some((log, session.parts.get(&log)?.existence)))
            .collect()
    }

    /// Nobody fetches from a deleted topic. Sessions have its partitions until clients forget them.
    pub(super) fn forget_topic(&mut self, topic: Uuid) {
        for session in self.sessions.values_mut() {
            session.used.retain(|log| log.topic != topic);
        }
        self.users.retain(|(_, log), _| log.topic != topic);
    }
}

impl Broker {
    /// Has a share partition dropped that no session uses and that no member is to have.
    pub(super) fn abandon_unused(&mut self, log: LogId, group: &Str) {
        let loaded = self.leaders.get(&log);
        let loaded = loaded.is_some_and(|leader| leader.has(group));
        let assigned = |own: &ShareGroup| own.is_assigned(log);
        if loaded
            && !self.share_sessions.uses(group, log)
            && !self.groups.get(group).is_some_and(assigned)
        {
            self.with_leader(log, group, None, |leader, _, _| leader.abandon(group));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: ConnId = ConnId(1);
    const SECOND: ConnId = ConnId(2);

    fn names() -> (Str, Str) {
        (Str::from("g"), Str::from("m"))
    }

    const fn log(partition: i32) -> LogId {
        LogId {
            topic: Uuid([7; 16]),
            partition,
        }
    }

    const HERE: (LogId, Existence) = (log(0), Existence::Exists);

    #[test]
    fn the_newer_session_of_a_member_outlives_the_older_connection() {
        let (group, member) = names();
        let mut sessions = ShareSessions::default();
        for conn in [FIRST, SECOND] {
            let opened = sessions.open(conn, &group, &member, &[HERE], 1);
            assert_eq!(opened, Ok(()), "one member has one session");
        }
        assert_eq!(sessions.id(&group, &member), Some(2));
        assert_eq!(sessions.connection_closed(FIRST), []);
        assert_eq!(sessions.proceed(&group, &member, 1), Ok(()));
        let other = sessions.open(FIRST, &group, &Str::from("n"), &[], 1);
        assert_eq!(other, Err(ErrorCode::SHARE_SESSION_LIMIT_REACHED));
        let released = sessions.connection_closed(SECOND);
        assert_eq!(released.len(), 1);
        assert_eq!(released[0].logs, [log(0)]);
        assert_eq!(sessions.id(&group, &member), None);
        let gone = sessions.proceed(&group, &member, 2);
        assert_eq!(gone, Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
    }

    #[test]
    fn epochs_begin_again_at_1_behind_the_last() {
        let (group, member) = names();
        let mut sessions = ShareSessions::default();
        sessions.open(FIRST, &group, &member, &[], 1).unwrap();
        let key = (group.clone(), member.clone());
        sessions.sessions.get_mut(&key).unwrap().epoch = i32::MAX;
        for epoch in [i32::MAX, 1, 2] {
            assert_eq!(sessions.proceed(&group, &member, epoch), Ok(()));
        }
        let again = sessions.proceed(&group, &member, 2);
        assert_eq!(again, Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH));
        let negative = sessions.proceed(&group, &member, -2);
        assert_eq!(negative, Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH));
    }

    #[test]
    fn a_new_partition_and_one_whose_error_is_gone_are_listed_once() {
        let (group, member) = names();
        let mut sessions = ShareSessions::default();
        sessions.open(FIRST, &group, &member, &[HERE], 1).unwrap();
        let later = (log(1), Existence::NoPartition);
        sessions.change(&group, &member, &[HERE, later], &[]);
        let both = [log(0), log(1)];
        let mut listed = |failed: &[LogId]| sessions.listed(&group, &member, &both, failed);
        assert_eq!(listed(&[]), [log(1)], "the first answer had the other one");
        assert_eq!(listed(&[log(0)]), []);
        assert_eq!(listed(&[]), [log(0)], "its error is gone");
        assert_eq!(listed(&[]), []);
    }

    #[test]
    fn a_session_keeps_so_many_partitions_that_do_not_exist() {
        let (group, member) = names();
        let mut sessions = ShareSessions::default();
        sessions.open(FIRST, &group, &member, &[HERE], 1).unwrap();
        let many: Vec<_> = (1..3000)
            .map(|partition| (log(partition), Existence::NoPartition))
            .collect();
        sessions.change(&group, &member, &many, &[]);
        assert_eq!(sessions.size(), (1, 1 + MAX_UNKNOWN));
        let forgotten: Vec<LogId> = many.iter().map(|(log, _)| *log).collect();
        sessions.change(&group, &member, &[], &forgotten);
        assert_eq!(sessions.size(), (1, 1));
        sessions.change(&group, &member, &many, &[]);
        assert_eq!(sessions.size(), (1, 1 + MAX_UNKNOWN));
    }
}
