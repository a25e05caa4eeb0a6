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

type Key = (Str, Str);

#[derive(Debug)]
struct Session {
    id: u64,
    conn: ConnId,
    epoch: i32,
    logs: Vec<LogId>,
    /// Partitions that it has or had, or that the member had before it. It may have something to
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

/// Each partition once, in the order in which they first came.
fn once(mut logs: Vec<LogId>) -> Vec<LogId> {
    let mut seen = BTreeSet::new();
    logs.retain(|log| seen.insert(*log));
    logs
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
        logs: Vec<LogId>,
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
            logs: once(logs),
            used: before.map_or_else(BTreeSet::new, |old| core::mem::take(&mut old.used)),
            rotation: 0,
        };
        for log in &session.logs {
            if session.used.insert(*log) {
                *self.users.entry((group.clone(), *log)).or_default() += 1;
            }
        }
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

    /// Adds and removes partitions.
    pub(super) fn change(
        &mut self,
        group: &Str,
        member: &Str,
        added: &[LogId],
        forgotten: &[LogId],
    ) {
        let Some(session) = self.sessions.get_mut(&(group.clone(), member.clone())) else {
            return;
        };
        let mut known: BTreeSet<LogId> = session.logs.iter().copied().collect();
        for log in added {
            if known.insert(*log) {
                session.logs.push(*log);
            }
            if session.used.insert(*log) {
                *self.users.entry((group.clone(), *log)).or_default() += 1;
            }
        }
        let forgotten: BTreeSet<LogId> = forgotten.iter().copied().collect();
        session.logs.retain(|log| !forgotten.contains(log));
    }

    /// The partitions of a session, each time beginning with another one.
    pub(super) fn rotated(&mut self, group: &Str, member: &Str) -> Vec<LogId> {
        let Some(session) = self.sessions.get_mut(&(group.clone(), member.clone())) else {
            return Vec::new();
        };
        let mut logs = session.logs.clone();
        if !logs.is_empty() {
            let by = session.rotation % logs.len();
            session.rotation = (by + 1) % logs.len();
            logs.rotate_left(by);
        }
        logs
    }

    /// Drops the partitions of a deleted topic.
    pub(super) fn forget_topic(&mut self, topic: Uuid) {
        for session in self.sessions.values_mut() {
            session.logs.retain(|log| log.topic != topic);
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
    use alloc::vec;

    const FIRST: ConnId = ConnId(1);
    const SECOND: ConnId = ConnId(2);

    fn names() -> (Str, Str) {
        (Str::from("g"), Str::from("m"))
    }

    fn log(partition: i32) -> LogId {
        LogId {
            topic: Uuid([7; 16]),
            partition,
        }
    }

    #[test]
    fn the_newer_session_of_a_member_outlives_the_older_connection() {
        let (group, member) = names();
        let mut sessions = ShareSessions::default();
        for conn in [FIRST, SECOND] {
            let opened = sessions.open(conn, &group, &member, vec![log(0)], 1);
            assert_eq!(opened, Ok(()), "one member has one session");
        }
        assert_eq!(sessions.id(&group, &member), Some(2));
        assert_eq!(sessions.connection_closed(FIRST), []);
        assert_eq!(sessions.proceed(&group, &member, 1), Ok(()));
        let other = sessions.open(FIRST, &group, &Str::from("n"), vec![], 1);
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
        sessions.open(FIRST, &group, &member, vec![], 1).unwrap();
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
}
