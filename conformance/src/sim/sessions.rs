//! The oracle of share sessions: one that nobody ended goes on.

use std::collections::{BTreeMap, BTreeSet};

use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;

use super::deliveries::Member;
use super::wire;

#[derive(Clone, Copy, Debug)]
struct Session {
    conn: u64,
    next: i32,
}

/// Sessions that the broker has confirmed.
#[derive(Debug, Default)]
pub struct Sessions {
    open: BTreeMap<Member, Session>,
    /// The first requests of sessions that arrived, by member; the last one counts.
    begun: BTreeMap<Member, (u64, u64)>,
    /// Members whose session somebody else may have taken forward since it began.
    disturbed: BTreeSet<Member>,
    last: u64,
}

impl Sessions {
    /// A request has reached the broker.
    pub fn on_request(&mut self, conn: u64, request: &Request) {
        let Some((member, _)) = wire::share_member(request) else {
            return;
        };
        match epoch(request) {
            // Whichever is answered, from here on the older session may be gone.
            0 | -1 => {
                self.open.remove(&member);
                self.disturbed.remove(&member);
                self.last += 1;
                self.begun.insert(member, (conn, self.last));
            }
            // It may be a copy of an old one, and takes the session forward all the same.
            _ if self.begun.get(&member).is_none_or(|own| own.0 != conn) => {
                self.open.remove(&member);
                self.disturbed.insert(member);
            }
            _ => {}
        }
    }

    /// A member left the group.
    pub fn left(&mut self, member: &Member) {
        self.open.remove(member);
    }

    /// A connection is gone.
    pub fn closed(&mut self, conn: u64) {
        self.open.retain(|_, own| own.conn != conn);
        self.begun.retain(|_, own| own.0 != conn);
    }

    /// Whether the member may have a session.
    pub fn may_have(&self, member: &Member, conn: u64) -> bool {
        let newer = self.begun.get(member).is_some_and(|own| own.0 != conn);
        newer || self.open.contains_key(member)
    }

    /// The broker has answered; what is wrong with it.
    pub fn on_response(
        &mut self,
        conn: u64,
        request: &Request,
        response: &Response,
    ) -> Option<String> {
        let (member, _) = wire::share_member(request)?;
        let code = match response {
            Response::ShareFetch(own) => own.error_code,
            Response::ShareAcknowledge(own) => own.error_code,
            _ => return None,
        };
        let epoch = epoch(request);
        if epoch == 0 {
            if code == ErrorCode::NONE && !wire::acks(request).is_empty() {
                let what = "acknowledged with the first request of a session and was not refused";
                return Some(format!("{member:?} {what}"));
            }
            let newest = self.begun.get(&member).is_some_and(|own| own.0 == conn);
            if code == ErrorCode::NONE && newest && !self.disturbed.contains(&member) {
                self.open.insert(member, Session { conn, next: 1 });
            }
            return None;
        }
        let own = self
            .open
            .get_mut(&member)
            .filter(|own| own.conn == conn && own.next == epoch)?;
        let broken = [
            ErrorCode::SHARE_SESSION_NOT_FOUND,
            ErrorCode::INVALID_SHARE_SESSION_EPOCH,
        ];
        if broken.contains(&code) {
            return Some(format!("the session of {member:?} ended by itself: {code}"));
        }
        if code == ErrorCode::NONE {
            own.next += 1;
        }
        None
    }
}

fn epoch(request: &Request) -> i32 {
    match request {
        Request::ShareFetch(own) => own.share_session_epoch,
        Request::ShareAcknowledge(own) => own.share_session_epoch,
        _ => -2,
    }
}
