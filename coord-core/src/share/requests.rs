//! What a share coordinator asks of transaction coordinators and leaders, until it is answered.
//!
//! Each copy of a request has a number of its own, which rises with everything that is sent; an
//! answer to an earlier copy counts for nothing. So once the answer to the newest copy is here, the
//! leader drops every older one that may still be on its way.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::{
    Body, Deadline, DeadlineReason, Envelope, LogId, Now, ResolveShareAcks, Role, Timers,
};

use super::coordinator::{ShareCoordinator, ShareReply};
use super::stage::Stage;
use super::state::ShareKey;
use crate::outbox::Outbox;

/// Milliseconds until an unanswered request is sent again; doubles up to [`RETRY_MAX_MS`], so that
/// an answer that takes long comes in time some day.
const RETRY_MS: i64 = 1000;
const RETRY_MAX_MS: i64 = 32_000;

/// What is asked.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// What a leader holds, after this coordinator was read back.
    List { key: ShareKey },
    /// That a leader ends or gives back what it holds.
    Resolve {
        key: ShareKey,
        resolve: ResolveShareAcks,
    },
    /// The verification or the hold of a stage, by its step.
    Stage(Stage),
}

#[derive(Clone, Debug)]
struct Request {
    asked: Asked,
    wait_ms: i64,
}

/// Requests without an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    newest: u64,
    open: BTreeMap<u64, Request>,
    timers: Timers<u64>,
    /// Producer and number of each stage.
    stages: BTreeSet<(i64, u64)>,
    /// Share partitions of which it is not settled what their leaders hold: nothing is staged there.
    pub(super) unsettled: BTreeSet<ShareKey>,
}

impl Requests {
    /// Numbers of this coordinator are above those of whoever had the partition under an older epoch.
    pub(super) fn of_epoch(epoch: u32) -> Self {
        Requests {
            newest: u64::from(epoch) << 32,
            ..Requests::default()
        }
    }

    /// The number of the newest copy.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    pub(super) fn get(&self, number: u64) -> Option<&Asked> {
        self.open.get(&number).map(|request| &request.asked)
    }

    pub(super) fn close(&mut self, number: u64) -> Option<Asked> {
        self.take(number).map(|request| request.asked)
    }

    fn take(&mut self, number: u64) -> Option<Request> {
        self.timers.cancel(&number);
        let request = self.open.remove(&number)?;
        if let Asked::Stage(stage) = &request.asked {
            self.stages.remove(&(stage.producer_id(), number));
        }
        Some(request)
    }

    fn put(&mut self, now: Now, number: u64, request: Request) {
        if let Asked::Stage(stage) = &request.asked {
            self.stages.insert((stage.producer_id(), number));
        }
        self.timers
            .arm(number, now.mono.plus_millis(request.wait_ms));
        self.open.insert(number, request);
    }

    /// The stages of a producer.
    pub(super) fn stages_of(&self, producer_id: i64) -> impl Iterator<Item = u64> {
        let all = (producer_id, 0)..=(producer_id, u64::MAX);
        self.stages.range(all).map(|(_, number)| *number)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Asked)> {
        self.open
            .iter()
            .map(|(number, request)| (*number, &request.asked))
    }
}

impl ShareCoordinator {
    pub(super) fn ask(&mut self, now: Now, asked: Asked, out: &mut Outbox<ShareReply>) {
        self.send_request(now, asked, RETRY_MS, out);
    }

    fn send_request(&mut self, now: Now, asked: Asked, wait_ms: i64, out: &mut Outbox<ShareReply>) {
        self.requests.newest += 1;
        let number = self.requests.newest;
        let (to, body) = self.request(&asked);
        let envelope = Envelope {
            from: Role::Sgc(self.partition),
            to,
            correlation: number,
            body,
        };
        match &asked {
            // Whatever comes of it is stored behind what it was decided on.
            Asked::Stage(_) => out.send_chained(envelope),
            Asked::List { .. } | Asked::Resolve { .. } => out.send(envelope),
        }
        self.requests.put(now, number, Request { asked, wait_ms });
    }

    fn request(&self, asked: &Asked) -> (Role, Body) {
        match asked {
            Asked::List { key } => {
                let group = key.group.clone();
                (leader_of(key), Body::ListShareAcks { group })
            }
            Asked::Resolve { key, resolve } => {
                (leader_of(key), Body::ResolveShareAcks(resolve.clone()))
            }
            Asked::Stage(stage) => self.stage_request(stage),
        }
    }

    /// Sends again what was not answered in time.
    pub fn handle_timeout(&mut self, now: Now, out: &mut Outbox<ShareReply>) {
        while let Some(number) = self.requests.timers.pop_due(now.mono) {
            if let Some(Request { asked, wait_ms }) = self.requests.take(number) {
                let wait_ms = wait_ms.saturating_mul(2).min(RETRY_MAX_MS);
                self.send_request(now, asked, wait_ms, out);
            }
        }
    }

    /// The share partition is gone, and its leader with it.
    pub(super) fn drop_requests_of(&mut self, key: &ShareKey, out: &mut Outbox<ShareReply>) {
        self.end_stages_of(key, out);
        let of_key = |asked: &Asked| match asked {
            Asked::List { key: of } | Asked::Resolve { key: of, .. } => of == key,
            Asked::Stage(_) => false,
        };
        let numbers: Vec<u64> = self
            .requests
            .iter()
            .filter(|(_, asked)| of_key(asked))
            .map(|(number, _)| number)
            .collect();
        for number in numbers {
            self.requests.close(number);
        }
        self.requests.unsettled.remove(key);
    }

    /// When [`ShareCoordinator::handle_timeout`] is due.
    pub fn next_deadline(&self) -> Option<Deadline> {
        let (at, _) = self.requests.timers.next()?;
        let reason = DeadlineReason::Retry;
        Some(Deadline { at, reason })
    }

    /// The newest copy of each request that nobody has answered, by number: for whom, and what.
    pub fn unanswered(&self) -> impl Iterator<Item = (u64, Role, Body)> {
        self.requests.iter().map(|(number, asked)| {
            let (to, body) = self.request(asked);
            (number, to, body)
        })
    }

    /// Whether nothing is staged in a share partition until its leader has said what it holds.
    pub fn is_unsettled(&self, key: &ShareKey) -> bool {
        self.requests.unsettled.contains(key)
    }

    /// The number of the newest request.
    pub fn newest_request(&self) -> u64 {
        self.requests.newest
    }
}

pub(super) fn leader_of(key: &ShareKey) -> Role {
    Role::Leader(LogId {
        topic: key.topic,
        partition: key.partition,
    })
}
