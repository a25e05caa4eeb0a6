//! AddPartitionsToTxn and AddShareAcksToTxn, from clients, leaders and share coordinators.

use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{Body, Now, Role};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResult, AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult, AddPartitionsToTxnTransaction,
};
use ackord_proto::messages::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};
use ackord_proto::str::Str;

use super::coordinator::{TimerKey, TxnCoordinator, TxnReply};
use super::entry::{EPOCH_PER_TXN, Entry, Partitions};
use super::state::TxnState;
use crate::outbox::{Outbox, Ticket};

/// From this version on a fenced producer is told PRODUCER_FENCED.
const KNOWS_PRODUCER_FENCED: i16 = 2;

/// Which request adds partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddKind {
    /// AddPartitionsToTxn or AddOffsetsToTxn: the client keeps its epoch over transactions.
    Partitions,
    /// TxnOffsetCommit from version 5 on, which adds the partition itself (KIP-890).
    Offsets,
    /// AddShareAcksToTxn (KIP-1289). It makes the transaction version 2: only a new epoch tells a
    /// late acknowledgement of this transaction from one of the next.
    ShareAcks,
}

/// Partitions that a client adds to its transaction. That they exist is checked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddPartitions {
    /// Version of the request.
    pub version: i16,
    /// Which request it is.
    pub kind: AddKind,
    /// Transactional id.
    pub transactional_id: Str,
    /// Producer id of the caller.
    pub producer_id: i64,
    /// Producer epoch of the caller.
    pub producer_epoch: i16,
    /// Topic names and partitions, in any order, repeated or not.
    pub partitions: Vec<(Str, i32)>,
}

/// When an addition makes the transaction version 2.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Upgrade {
    /// Never.
    Keep,
    /// Where it adds something.
    IfNew,
    /// Always.
    Always,
}

impl TxnCoordinator {
    /// Adds partitions to the transaction, which they begin where none is ongoing. All or nothing.
    ///
    /// Answers [`TxnReply::AddPartitions`]: INVALID_REQUEST (no transactional id),
    /// INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (AddPartitionsToTxn below v2
    /// INVALID_PRODUCER_EPOCH), CONCURRENT_TRANSACTIONS while the last transaction ends,
    /// INVALID_TXN_STATE where InitProducerId kept a prepared transaction, but for partitions that
    /// are in it. An empty list begins nothing.
    pub fn add_partitions(
        &mut self,
        now: Now,
        ticket: Ticket,
        request: AddPartitions,
        out: &mut Outbox<TxnReply>,
    ) {
        let fenced = match request.kind {
            AddKind::Partitions if request.version < KNOWS_PRODUCER_FENCED => {
                ErrorCode::INVALID_PRODUCER_EPOCH
            }
            AddKind::Partitions | AddKind::Offsets | AddKind::ShareAcks => {
                ErrorCode::PRODUCER_FENCED
            }
        };
        let upgrade = match request.kind {
            AddKind::Partitions => Upgrade::Keep,
            AddKind::Offsets => Upgrade::IfNew,
            AddKind::ShareAcks => Upgrade::Always,
        };
        let id = &request.transactional_id;
        let mut partitions = Partitions::new();
        for (topic, partition) in request.partitions {
            partitions.entry(topic).or_default().insert(partition);
        }
        let error = if id.is_empty() {
            ErrorCode::INVALID_REQUEST
        } else {
            match self.current(id, request.producer_id, request.producer_epoch) {
                Err(ErrorCode::INVALID_PRODUCER_EPOCH) => fenced,
                Err(error) => error,
                Ok(entry) => {
                    let entry = entry.clone();
                    self.join(now, id, &entry, partitions, upgrade, out)
                        .err()
                        .unwrap_or(ErrorCode::NONE)
                }
            }
        };
        out.reply(ticket, TxnReply::AddPartitions { error });
    }

    /// AddPartitionsToTxn of a leader or share coordinator (KIP-890).
    pub(super) fn register(
        &mut self,
        now: Now,
        from: &Role,
        request: AddPartitionsToTxnRequest,
        out: &mut Outbox<TxnReply>,
    ) -> Body {
        // A sender asks for one transaction at a time; the ordinal is that of the first.
        let (mut ordinal, mut owner, mut bumps_at_end) = (None, None, false);
        let mut results = Vec::with_capacity(request.transactions.len());
        for transaction in request.transactions {
            let mut verdicts = self.register_one(now, from, &transaction, out).into_iter();
            let ongoing = self
                .entry(&transaction.transactional_id)
                .filter(|entry| entry.client().0 == transaction.producer_id)
                .filter(|entry| entry.state == TxnState::Ongoing);
            ordinal.get_or_insert(ongoing.map_or(0, |entry| entry.start_ms));
            owner = owner.or(ongoing.map(Entry::owner));
            bumps_at_end |= ongoing.is_some_and(Entry::bumps_at_end);
            results.push(AddPartitionsToTxnResult {
                transactional_id: transaction.transactional_id,
                topic_results: transaction
                    .topics
                    .into_iter()
                    .map(|topic| topic_result(topic, &mut verdicts))
                    .collect(),
                ..Default::default()
            });
        }
        let response = AddPartitionsToTxnResponse {
            results_by_transaction: results,
            ..Default::default()
        };
        Body::AddPartitionsToTxnReply {
            response,
            ordinal: ordinal.unwrap_or(0),
            owner,
            bumps_at_end,
        }
    }

    /// One code for each partition of the transaction, in the order of the request.
    fn register_one(
        &mut self,
        now: Now,
        from: &Role,
        asked: &AddPartitionsToTxnTransaction,
        out: &mut Outbox<TxnReply>,
    ) -> Vec<ErrorCode> {
        let count = asked
            .topics
            .iter()
            .map(|topic| topic.partitions.len())
            .sum();
        let entry = match self.current(
            &asked.transactional_id,
            asked.producer_id,
            asked.producer_epoch,
        ) {
            Ok(entry) if entry.state.is_prepared() => {
                return vec![ErrorCode::CONCURRENT_TRANSACTIONS; count];
            }
            // A prepared transaction grows no more; what it has staged may be staged again.
            Ok(entry) if entry.is_kept() && !matches!(from, Role::Sgc(_)) => {
                return vec![ErrorCode::INVALID_TXN_STATE; count];
            }
            Ok(entry) => entry,
            Err(error) => return vec![error; count],
        };
        if asked.verify_only {
            let absent = match from {
                Role::Sgc(_) => ErrorCode::INVALID_TXN_STATE,
                _ => ErrorCode::TRANSACTION_ABORTABLE,
            };
            return verdicts(entry, &asked.topics, absent);
        }
        let entry = entry.clone();
        let mut partitions = Partitions::new();
        for topic in &asked.topics {
            partitions
                .entry(topic.name.clone())
                .or_default()
                .extend(&topic.partitions);
        }
        partitions.retain(|_, indexes| !indexes.is_empty());
        let joined = self.join(
            now,
            &asked.transactional_id,
            &entry,
            partitions,
            Upgrade::IfNew,
            out,
        );
        vec![joined.err().unwrap_or(ErrorCode::NONE); count]
    }

    fn join(
        &mut self,
        now: Now,
        id: &Str,
        entry: &Entry,
        partitions: Partitions,
        upgrade: Upgrade,
        out: &mut Outbox<TxnReply>,
    ) -> Result<(), ErrorCode> {
        if partitions.is_empty() {
            return Ok(());
        }
        let ongoing = entry.state == TxnState::Ongoing;
        let known = ongoing && entry.contains_all(&partitions);
        if entry.is_kept() && !known {
            return Err(ErrorCode::INVALID_TXN_STATE);
        }
        if known && (upgrade != Upgrade::Always || entry.bumps_at_end()) {
            return Ok(());
        }
        let client_version = match upgrade {
            Upgrade::Keep => 0,
            Upgrade::IfNew | Upgrade::Always => EPOCH_PER_TXN,
        };
        let joined = entry.with_partitions(partitions, client_version, now)?;
        let (timeout_ms, timed) = (joined.timeout_ms, !joined.is_two_phase());
        self.store(id, joined, out)?;
        let armed = !ackord_machine::planted!("row-55-timeout-not-armed");
        if !ongoing && timed && armed {
            let at = now.mono.plus_millis(i64::from(timeout_ms));
            self.timers.arm(TimerKey::Timeout(id.clone()), at);
        }
        Ok(())
    }
}

/// Only an ongoing or prepared transaction has partitions.
fn verdicts(
    entry: &Entry,
    topics: &[AddPartitionsToTxnTopic],
    absent: ErrorCode,
) -> Vec<ErrorCode> {
    topics
        .iter()
        .flat_map(|topic| {
            topic
                .partitions
                .iter()
                .map(move |partition| (topic, *partition))
        })
        .map(|(topic, partition)| {
            if entry.contains(&topic.name, partition) {
                ErrorCode::NONE
            } else {
                absent
            }
        })
        .collect()
}

fn topic_result(
    topic: AddPartitionsToTxnTopic,
    verdicts: &mut impl Iterator<Item = ErrorCode>,
) -> AddPartitionsToTxnTopicResult {
    // One verdict for each index; `zip` takes an index first, so none is lost.
    let results_by_partition = topic
        .partitions
        .into_iter()
        .zip(verdicts)
        .map(
            |(partition_index, partition_error_code)| AddPartitionsToTxnPartitionResult {
                partition_index,
                partition_error_code,
                ..Default::default()
            },
        )
        .collect();
    AddPartitionsToTxnTopicResult {
        name: topic.name,
        results_by_partition,
        ..Default::default()
    }
}
