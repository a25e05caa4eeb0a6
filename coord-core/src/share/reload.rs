//! A share coordinator on a new node, or read back: what leaders hold, they are asked (KIP-1289).
//!
//! News that the coordinator of before had not delivered, and stages that it had not stored, show in
//! what a leader holds and the state does not have as pending.

use alloc::vec::Vec;

use ackord_machine::{Now, PendingAck, ResolveShareAcks};

use super::coordinator::{ShareCoordinator, ShareReply};
use super::requests::Asked;
use super::state::ShareKey;
use crate::outbox::Outbox;

impl ShareCoordinator {
    /// After the last record of the log was applied, where leaders live on other nodes and so have
    /// not been read back too: asks each what it holds. Nothing is staged in a share partition
    /// until that is settled.
    pub fn recovered(&mut self, now: Now, out: &mut Outbox<ShareReply>) {
        let keys: Vec<ShareKey> = self.states.keys().cloned().collect();
        for key in keys {
            self.requests.unsettled.insert(key.clone());
            self.ask(now, Asked::List { key }, out);
        }
    }

    /// A leader says what it holds.
    pub(super) fn listed(
        &mut self,
        now: Now,
        number: u64,
        held: &[PendingAck],
        out: &mut Outbox<ShareReply>,
    ) {
        if !matches!(self.requests.get(number), Some(Asked::List { .. })) {
            return;
        }
        let Some(Asked::List { key }) = self.requests.close(number) else {
            return;
        };
        self.requests.unsettled.remove(&key);
        let Some(state) = self.states.get(&key) else {
            return;
        };
        let (mut ended, mut returned) = (Vec::new(), Vec::new());
        for range in state.not_pending(held) {
            let [done, free] = state.split_by_end(&range);
            ended.extend(done);
            returned.extend(free);
        }
        if !ended.is_empty() || !returned.is_empty() {
            self.settle(now, key, ended, returned, out);
        }
    }

    /// Has a leader give back what it holds and cannot be stored.
    pub(super) fn hand_back(
        &mut self,
        now: Now,
        key: &ShareKey,
        held: Vec<PendingAck>,
        out: &mut Outbox<ShareReply>,
    ) {
        self.settle(now, key.clone(), Vec::new(), held, out);
    }

    fn settle(
        &mut self,
        now: Now,
        key: ShareKey,
        ended: Vec<PendingAck>,
        returned: Vec<PendingAck>,
        out: &mut Outbox<ShareReply>,
    ) {
        let resolve = ResolveShareAcks {
            group: key.group.clone(),
            ended,
            commit: true,
            returned,
            in_order: true,
        };
        self.requests.unsettled.insert(key.clone());
        self.ask(now, Asked::Resolve { key, resolve }, out);
    }

    /// A leader has done what it was told.
    pub(super) fn resolved(&mut self, number: u64) {
        if !matches!(self.requests.get(number), Some(Asked::Resolve { .. })) {
            return;
        }
        if let Some(Asked::Resolve { key, resolve }) = self.requests.close(number)
            && resolve.in_order
        {
            self.requests.unsettled.remove(&key);
        }
    }
}
