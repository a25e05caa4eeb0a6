//! The share coordinator of one `__share_group_state` partition.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::{Body, Envelope, LogId, Now, Role, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::records::{self, CorruptShareRecord, ShareRecord};
use super::requests::Requests;
use super::stage::{self, Verdict};
use super::state::{ShareKey, ShareState};
use crate::outbox::{Outbox, ProducerEpoch, StateRecord};

/// What a share coordinator answers a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShareReply {
    /// One partition of a TxnShareAcknowledge.
    Staged {
        /// NONE, or why not.
        code: ErrorCode,
        /// What to do about it.
        message: Option<Str>,
        /// The code speaks of producer or member and stands for the whole request.
        whole_request: bool,
    },
}

/// Settings of a share coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareCoordinatorConfig {
    /// Updates of one share partition after which a snapshot is written
    /// (`share.coordinator.snapshot.update.records.per.snapshot`).
    pub updates_per_snapshot: usize,
    /// Partitions of `__transaction_state`, to find the coordinator of a transactional id.
    pub transaction_partitions: i32,
}

/// The machine: states by share partition, pending acknowledgements by producer.
#[derive(Clone, Debug)]
pub struct ShareCoordinator {
    pub(super) partition: i32,
    pub(super) log: LogId,
    pub(super) config: ShareCoordinatorConfig,
    pub(super) states: BTreeMap<ShareKey, ShareState>,
    /// Share partitions in which a producer has something pending.
    pub(super) by_producer: BTreeMap<i64, BTreeSet<ShareKey>>,
    pub(super) requests: Requests,
}

impl ShareCoordinator {
    /// Without any state; `log` is its partition of `__share_group_state`.
    pub fn new(partition: i32, log: LogId, config: ShareCoordinatorConfig) -> Self {
        ShareCoordinator {
            partition,
            log,
            config,
            states: BTreeMap::new(),
            by_producer: BTreeMap::new(),
            requests: Requests::default(),
        }
    }

    /// In the place of one that was read back or lived elsewhere: `epoch` rises with each of them
    /// (Kafka's leader epoch of the `__share_group_state` partition), so that leaders can tell their
    /// messages apart.
    pub fn with_epoch(self, epoch: u32) -> Self {
        ShareCoordinator {
            requests: Requests::of_epoch(epoch),
            ..self
        }
    }

    /// Its partition of `__share_group_state`.
    pub fn log(&self) -> LogId {
        self.log
    }

    /// The state of a share partition, if it was ever initialised.
    pub fn state(&self, key: &ShareKey) -> Option<&ShareState> {
        self.states.get(key)
    }

    /// All share partitions in order.
    pub fn states(&self) -> impl ExactSizeIterator<Item = (&ShareKey, &ShareState)> {
        self.states.iter()
    }

    /// The share partitions of a group in order.
    pub fn states_of<'a>(
        &'a self,
        group: &'a str,
    ) -> impl Iterator<Item = (&'a ShareKey, &'a ShareState)> {
        let first = ShareKey {
            group: Str::from(group),
            topic: Uuid::ZERO,
            partition: i32::MIN,
        };
        let from_there = self.states.range(first..);
        from_there.take_while(move |(key, _)| *key.group == *group)
    }

    /// The names of the share partitions of a group.
    pub fn keys_of<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a ShareKey> {
        self.states_of(group).map(|(key, _)| key)
    }

    /// A transaction that holds records of the group here.
    pub fn pending_owner(&self, group: &str) -> Option<TxnOwner> {
        let mut pending = self.states_of(group).flat_map(|(_, state)| &state.pending);
        pending.next().map(|range| range.owner)
    }

    /// The transactions that hold something here, some of them more than once.
    pub fn pending_owners(&self) -> impl Iterator<Item = TxnOwner> + '_ {
        let all = self.states.values().flat_map(|state| &state.pending);
        all.map(|range| range.owner)
    }

    /// Producers that hold something here.
    pub fn pending_producers(&self) -> impl Iterator<Item = i64> + '_ {
        self.by_producer.keys().copied()
    }

    /// Takes a record into the state: the only way in which it changes, live and in replay.
    /// `producer` is that of the record's batch where the batch is transactional.
    ///
    /// # Errors
    /// The record cannot be decoded; nothing changed.
    pub fn apply(
        &mut self,
        record: &StateRecord,
        producer: Option<ProducerEpoch>,
    ) -> Result<(), CorruptShareRecord> {
        match records::decode(record)? {
            ShareRecord::Snapshot(key, state) => self.replace(key, Some(state)),
            ShareRecord::Tombstone(key) => self.replace(key, None),
            ShareRecord::Update(key, update) => {
                let state = self
                    .states
                    .entry(key.clone())
                    .or_insert_with(|| update.alone());
                match producer {
                    Some(producer) => {
                        state.updates += 1;
                        state.stage(update.staged_by(producer));
                        self.by_producer.entry(producer.id).or_default().insert(key);
                    }
                    None => update.merge_into(state),
                }
            }
        }
        Ok(())
    }

    fn replace(&mut self, key: ShareKey, state: Option<ShareState>) {
        if let Some(old) = self.states.remove(&key) {
            for range in &old.pending {
                self.forget_producer(range.owner.producer_id, &key);
            }
        }
        if let Some(state) = state {
            for range in &state.pending {
                let keys = self.by_producer.entry(range.owner.producer_id).or_default();
                keys.insert(key.clone());
            }
            self.states.insert(key, state);
        }
    }

    pub(super) fn forget_producer(&mut self, producer_id: i64, key: &ShareKey) {
        if let Some(keys) = self.by_producer.get_mut(&producer_id) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_producer.remove(&producer_id);
            }
        }
    }

    /// Records that give an equal coordinator when applied to an empty one.
    pub fn snapshot(&self, now: Now) -> Vec<StateRecord> {
        self.states
            .iter()
            .map(|(key, state)| records::checkpointed(key, state, now.wall))
            .collect()
    }

    /// Takes note of what this coordinator has appended, from offset `base` of its log on.
    pub fn appended_at(&mut self, base: i64, records: &[StateRecord]) {
        for (offset, record) in (base..).zip(records) {
            if let Some(key) = records::snapshot_key_of(record)
                && let Some(state) = self.states.get_mut(&key)
            {
                state.snapshot_offset = offset;
            }
        }
    }

    /// Where the log has the oldest of the last snapshots. What lies below says nothing that is
    /// alive, and is what Kafka prunes; -1 where one is not known to be in the log.
    pub fn oldest_snapshot(&self) -> Option<i64> {
        self.states
            .values()
            .map(|state| state.snapshot_offset)
            .min()
    }

    /// Writes a snapshot of each share partition that has updates and whose last snapshot is
    /// `interval_ms` old (`share.coordinator.cold.partition.snapshot.interval.ms`), or whose last
    /// snapshot lies below `horizon` in the log and so keeps it long; of at most `most` at a time.
    /// Returns whether one is left.
    pub fn snapshot_cold(
        &mut self,
        now: Now,
        interval_ms: i64,
        horizon: i64,
        most: usize,
        out: &mut Outbox<ShareReply>,
    ) -> bool {
        let limit = now.wall.as_millis().saturating_sub(interval_ms);
        let cold = |state: &ShareState| {
            let quiet = state.updates > 0 && state.snapshot_timestamp <= limit;
            quiet || state.snapshot_offset < horizon
        };
        let mut all = self.states.iter().filter(|(_, state)| cold(state));
        let records: Vec<StateRecord> = all
            .by_ref()
            .take(most)
            .map(|(key, state)| next_snapshot(key, state, now))
            .collect();
        let more = all.next().is_some();
        for record in records {
            self.append(alloc::vec![record], None, out);
        }
        more
    }

    /// Writes what `change` makes of a state: an update, or a snapshot where enough updates came.
    pub(super) fn write(
        &mut self,
        now: Now,
        key: &ShareKey,
        mut update: records::ShareUpdate,
        out: &mut Outbox<ShareReply>,
    ) {
        let Some(state) = self.states.get(key) else {
            return;
        };
        update.snapshot_epoch = state.snapshot_epoch;
        let record = if state.updates + 1 > self.config.updates_per_snapshot {
            let mut next = state.clone();
            update.merge_into(&mut next);
            next_snapshot(key, &next, now)
        } else {
            records::update(key, update)
        };
        self.append(alloc::vec![record], None, out);
    }

    /// Applies records and appends them.
    pub(super) fn append(
        &mut self,
        records: Vec<StateRecord>,
        producer: Option<ProducerEpoch>,
        out: &mut Outbox<ShareReply>,
    ) {
        for record in &records {
            let applied = self.apply(record, producer);
            debug_assert!(applied.is_ok(), "own records decode");
            if ackord_machine::planted!("row-31-applied-at-write-and-again") {
                let _ = self.apply(record, producer);
            }
        }
        out.append(self.log, records, producer);
    }

    /// Takes a message from another machine.
    pub fn handle_envelope(&mut self, now: Now, envelope: Envelope, out: &mut Outbox<ShareReply>) {
        let body = match envelope.body {
            Body::InitializeShareGroupState(request) => {
                Body::InitializeShareGroupStateReply(self.initialize_all(now, &request, out))
            }
            Body::ReadShareGroupState(request) => {
                let (response, pending) = self.read_all(&request, out);
                let newest = self.requests.newest();
                Body::ReadShareGroupStateReply {
                    response,
                    pending,
                    newest,
                }
            }
            Body::WriteShareGroupState(request) => {
                Body::WriteShareGroupStateReply(self.write_all(now, &request, out))
            }
            Body::DeleteShareGroupState(request) => {
                Body::DeleteShareGroupStateReply(self.delete_all(&request, out))
            }
            Body::AddPartitionsToTxnReply {
                response,
                ordinal,
                owner,
                bumps_at_end,
            } => {
                let owner = owner.map(|owner| TxnOwner { ordinal, ..owner });
                let verdict = Verdict {
                    code: stage::verdict(&response),
                    owner,
                    bumps_at_end,
                };
                return self.verified(now, envelope.correlation, verdict, out);
            }
            Body::StageShareAcksReply(reply) => {
                return self.staged(now, envelope.correlation, reply, out);
            }
            Body::ListShareAcksReply(held) => {
                return self.listed(now, envelope.correlation, &held, out);
            }
            Body::ResolveShareAcksReply => return self.resolved(envelope.correlation),
            // Answers to what a share coordinator never asks, and requests for other roles.
            Body::AddPartitionsToTxn(_)
            | Body::DeleteShareGroupStateReply(_)
            | Body::InitializeShareGroupStateReply(_)
            | Body::ListShareAcks { .. }
            | Body::ReadShareGroupStateReply { .. }
            | Body::ResolveShareAcks(_)
            | Body::StageShareAcks(_)
            | Body::WriteShareGroupStateReply(_)
            | Body::WriteTxnMarkers { .. }
            | Body::WriteTxnMarkersReply(_) => return,
        };
        let correlation = envelope.correlation;
        let answer = Envelope {
            from: Role::Sgc(self.partition),
            to: envelope.from,
            correlation,
            body,
        };
        // Whatever a leader makes of a write it passes on only when the write is durable.
        match answer.body {
            Body::WriteShareGroupStateReply(_) => out.send_chained(answer),
            _ => out.send(answer),
        }
    }
}

/// The snapshot that follows the last one.
pub(super) fn next_snapshot(key: &ShareKey, state: &ShareState, now: Now) -> StateRecord {
    let mut next = state.clone();
    next.snapshot_epoch = next.snapshot_epoch.wrapping_add(1);
    records::snapshot(key, &next, now.wall)
}
