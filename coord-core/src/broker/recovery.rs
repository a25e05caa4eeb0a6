//! Reading back what the store has: at the start, and after a failed append.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ackord_machine::{LoadedLog, LogExtent, LogId, OpKind, StoredBatch, StoredCheckpoint};
use ackord_proto::records::{BatchBuilder, BatchHeader, ControlRecord, ControlType, RecordIter};
use ackord_proto::str::Str;
use bytes::{BufMut, Bytes, BytesMut};

use super::journal::Pending;
use super::{Broker, Phase};
use crate::consumer_group::GroupCoordinator;
use crate::contract::{Effect, Event};
use crate::group::StoredGroups;
use crate::log::PartitionLog;
use crate::metadata::{
    CLUSTER_LOG, Metadata, OFFSETS_TOPIC, SHARE_STATE_TOPIC, TXN_STATE_TOPIC, Topic,
};
use crate::outbox::{ProducerEpoch, StateRecord};
use crate::share::{EndMarker, ShareCoordinator};
use crate::txn::TxnCoordinator;

use super::producer_ids::ProducerIdBlock;

/// What recovery still waits for.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// Logs that the store has.
    stored: Vec<LogId>,
    waiting: BTreeSet<LogId>,
}

/// One thing that replay finds in a log, records with their offsets.
enum Replayed {
    Marker(EndMarker),
    Record(StateRecord, Option<ProducerEpoch>, i64),
}

impl Broker {
    pub(super) fn begin_recovery(&mut self) {
        self.journal
            .issue(OpKind::List, Pending::List, &mut self.effects);
    }

    pub(super) fn listed(&mut self, extents: &[LogExtent]) {
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.stored = extents.iter().map(|extent| extent.log).collect();
            recovery.waiting.insert(CLUSTER_LOG);
            self.load(CLUSTER_LOG);
        }
    }

    /// One log is back. The cluster's own log comes first: it names the others.
    pub(super) fn recovered_one(&mut self, log: LogId) {
        if log == CLUSTER_LOG {
            self.load_topics();
        }
        let Phase::Recovering(recovery) = &mut self.phase else {
            return;
        };
        recovery.waiting.remove(&log);
        if recovery.waiting.is_empty() {
            self.begin_serving();
        }
    }

    fn load_topics(&mut self) {
        self.producer_ids = ProducerIdBlock::resume(self.metadata.next_producer_id());
        let topics: Vec<_> = self.metadata.topics().cloned().collect();
        let known: BTreeSet<LogId> = topics.iter().flat_map(|topic| topic.logs()).collect();
        for topic in &topics {
            self.open_topic(topic);
        }
        let Phase::Recovering(recovery) = &mut self.phase else {
            return;
        };
        let stored = core::mem::take(&mut recovery.stored);
        for log in stored.into_iter().filter(|log| *log != CLUSTER_LOG) {
            if known.contains(&log) {
                if let Phase::Recovering(recovery) = &mut self.phase {
                    recovery.waiting.insert(log);
                }
                self.load(log);
            } else {
                // Its topic was deleted; the broker stopped before the log was.
                self.journal
                    .issue(OpKind::DropLog { log }, Pending::Drop, &mut self.effects);
            }
        }
    }

    fn begin_serving(&mut self) {
        self.phase = Phase::Serving;
        self.name_cluster();
        self.recover_groups();
        let coordinators: Vec<i32> = self.tcs.keys().copied().collect();
        for partition in coordinators {
            self.with_tc(partition, None, |tc, ctx, out| tc.recovered(ctx, out));
        }
        let coordinators: Vec<i32> = self.sgcs.keys().copied().collect();
        for partition in coordinators {
            self.resume_all_dead_letters(partition);
        }
        let coordinators: Vec<i32> = self.gcs.keys().copied().collect();
        for partition in coordinators {
            self.with_gc(partition, |gc, ctx, _| gc.recovered(ctx));
            self.share_groups_recovered(partition);
        }
        self.arm_expiry();
        self.plan_all_retention();
        for conn in self.connections.all() {
            self.read_more(conn);
        }
        self.effects.push_back(Effect::Emit(Event::Ready));
    }

    /// The first thing that a new cluster stores is its id.
    fn name_cluster(&mut self) {
        if self.metadata.cluster_id().is_empty() {
            let id = self.chance.uuid().to_string();
            self.append_cluster(&[Metadata::name_cluster(&Str::from(id))]);
        }
    }

    pub(super) fn recovery_failed(&mut self, what: String) {
        self.phase = Phase::Ended;
        self.effects
            .push_back(Effect::Emit(Event::RecoveryFailed(what)));
    }

    /// Goes on with the coordinator of a log that was read back while serving.
    pub(super) fn resume(&mut self, log: LogId) {
        let partition = log.partition;
        if self.tc_of(log).is_some() {
            self.with_tc(partition, None, |tc, ctx, out| tc.recovered(ctx, out));
        }
        if self.sgc_of(log).is_some() {
            self.resume_all_dead_letters(partition);
        }
        if self.gc_of(log).is_some() {
            self.with_gc(partition, |gc, ctx, _| gc.recovered(ctx));
            self.share_groups_recovered(partition);
        }
        if log == CLUSTER_LOG {
            self.settings.clear();
            self.producer_ids = ProducerIdBlock::resume(self.metadata.next_producer_id());
            let topics: Vec<_> = self.metadata.topics().cloned().collect();
            for topic in &topics {
                self.reopen_topic(topic);
            }
            self.drop_unknown_logs();
            self.name_cluster();
        }
    }

    /// A topic that is known again: its logs may hold what was there before.
    fn reopen_topic(&mut self, topic: &Topic) {
        let missing: Vec<LogId> = topic
            .logs()
            .filter(|log| !self.logs.contains_key(log))
            .collect();
        self.open_topic(topic);
        for log in missing {
            self.frozen.insert(log);
            self.load(log);
        }
    }

    /// Topics whose creation did not become durable have no logs either.
    fn drop_unknown_logs(&mut self) {
        let known: BTreeSet<LogId> = self
            .metadata
            .topics()
            .flat_map(|topic| topic.logs())
            .collect();
        let gone: Vec<LogId> = self
            .logs
            .keys()
            .copied()
            .filter(|log| *log != CLUSTER_LOG && !known.contains(log))
            .collect();
        for log in gone {
            self.logs.remove(&log);
            self.leaders.remove(&log);
            self.frozen.remove(&log);
            self.since_checkpoint.remove(&log);
        }
        if self.metadata.topic(TXN_STATE_TOPIC).is_none() {
            self.tcs.clear();
        }
        if self.metadata.topic(SHARE_STATE_TOPIC).is_none() {
            self.sgcs.clear();
        }
        if self.metadata.topic(OFFSETS_TOPIC).is_none() {
            self.gcs.clear();
            self.groups.clear();
        }
    }

    /// Rebuilds a log, and the coordinator that it belongs to.
    pub(super) fn restore(&mut self, log: LogId, loaded: &LoadedLog) -> Result<(), String> {
        let (own, records) = match &loaded.checkpoint {
            Some(checkpoint) => split_checkpoint(checkpoint)?,
            None => (None, Vec::new()),
        };
        let covered = own.as_ref().map_or(0, |own| own.at);
        if self.is_coordinator_log(log) && loaded.start > covered {
            return Err(format!(
                "it begins at offset {}, but what came before is in no checkpoint",
                loaded.start
            ));
        }
        let at = own.as_ref().map_or(loaded.start, |own| own.at);
        let config = self.log_config(self.topic_name(log));
        let bare = LoadedLog {
            checkpoint: own,
            ..loaded.clone()
        };
        let mut restored =
            PartitionLog::recover(log, config, &bare).map_err(|error| error.to_string())?;
        let tail = || replay(loaded.batches.iter().filter(move |batch| batch.last >= at));
        if log == CLUSTER_LOG {
            self.metadata = restore_metadata(&records, tail()?)?;
        } else if self.tc_of(log).is_some() {
            let tc = restore_tc(self.new_tc(log), &records, tail()?)?;
            self.tcs.insert(log.partition, tc);
        } else if self.sgc_of(log).is_some() {
            self.share_loads = self.share_loads.wrapping_add(1);
            let sgc = self.new_sgc(log).with_epoch(self.share_loads);
            let sgc = restore_sgc(sgc, &records, tail()?)?;
            // A late copy of the marker before must not end what is pending now.
            for owner in sgc.pending_owners() {
                restored.set_ordinal(owner.producer_id, owner.ordinal);
            }
            self.sgcs.insert(log.partition, sgc);
        } else if self.gc_of(log).is_some() {
            let tail = tail()?;
            let stored = restore_share_groups(&records, &tail)?;
            let gc = restore_gc(self.new_gc(log), &records, tail)?;
            self.gcs.insert(log.partition, gc);
            self.put_share_groups(log.partition, stored);
        }
        self.logs.insert(log, restored);
        Ok(())
    }

    fn topic_name(&self, log: LogId) -> &str {
        self.metadata
            .topic_by_id(log.topic)
            .map_or("", |topic| &topic.name)
    }

    /// The transaction coordinator that a log belongs to.
    pub(super) fn tc_of(&self, log: LogId) -> Option<&TxnCoordinator> {
        (self.metadata.topic(TXN_STATE_TOPIC)?.id == log.topic)
            .then(|| self.tcs.get(&log.partition))
            .flatten()
    }

    /// The share coordinator that a log belongs to.
    pub(super) fn sgc_of(&self, log: LogId) -> Option<&ShareCoordinator> {
        (self.metadata.topic(SHARE_STATE_TOPIC)?.id == log.topic)
            .then(|| self.sgcs.get(&log.partition))
            .flatten()
    }

    pub(super) fn is_coordinator_log(&self, log: LogId) -> bool {
        log == CLUSTER_LOG
            || self.tc_of(log).is_some()
            || self.sgc_of(log).is_some()
            || self.gc_of(log).is_some()
    }
}

fn restore_metadata(records: &[StateRecord], tail: Vec<Replayed>) -> Result<Metadata, String> {
    let mut metadata = Metadata::default();
    for record in records {
        metadata.apply(record).map_err(|error| error.to_string())?;
    }
    for replayed in tail {
        if let Replayed::Record(record, ..) = replayed {
            metadata.apply(&record).map_err(|error| error.to_string())?;
        }
    }
    Ok(metadata)
}

fn restore_tc(
    mut tc: TxnCoordinator,
    records: &[StateRecord],
    tail: Vec<Replayed>,
) -> Result<TxnCoordinator, String> {
    for record in records {
        tc.apply(record).map_err(|error| error.to_string())?;
    }
    for replayed in tail {
        if let Replayed::Record(record, ..) = replayed {
            tc.apply(&record).map_err(|error| error.to_string())?;
        }
    }
    Ok(tc)
}

fn restore_sgc(
    mut sgc: ShareCoordinator,
    records: &[StateRecord],
    tail: Vec<Replayed>,
) -> Result<ShareCoordinator, String> {
    for record in records {
        sgc.apply(record, None).map_err(|error| error.to_string())?;
    }
    for replayed in tail {
        match replayed {
            Replayed::Marker(marker) => {
                sgc.replay_end_transaction_marker(marker);
            }
            Replayed::Record(record, producer, offset) => {
                sgc.apply(&record, producer)
                    .map_err(|error| error.to_string())?;
                sgc.appended_at(offset, &[record]);
            }
        }
    }
    Ok(sgc)
}

fn restore_gc(
    mut gc: GroupCoordinator,
    records: &[StateRecord],
    tail: Vec<Replayed>,
) -> Result<GroupCoordinator, String> {
    for record in records {
        gc.apply(record, None).map_err(|error| error.to_string())?;
    }
    for replayed in tail {
        match replayed {
            Replayed::Marker(marker) => {
                gc.replay_end_transaction_marker(marker.producer.id, marker.commit);
            }
            Replayed::Record(record, producer, _) => {
                gc.apply(&record, producer)
                    .map_err(|error| error.to_string())?;
            }
        }
    }
    Ok(gc)
}

fn restore_share_groups(
    records: &[StateRecord],
    tail: &[Replayed],
) -> Result<StoredGroups, String> {
    let mut stored = StoredGroups::default();
    let tail = tail.iter().filter_map(|replayed| match replayed {
        Replayed::Record(record, ..) => Some(record),
        Replayed::Marker(_) => None,
    });
    for record in records.iter().chain(tail) {
        stored.apply(record).map_err(|error| error.to_string())?;
    }
    Ok(stored)
}

/// The records and markers of stored batches, in order.
fn replay<'a>(batches: impl Iterator<Item = &'a StoredBatch>) -> Result<Vec<Replayed>, String> {
    let mut found = Vec::new();
    for batch in batches {
        let damaged = |error| format!("batch at offset {}: {error}", batch.base);
        let header = BatchHeader::parse(&batch.bytes).map_err(damaged)?;
        let producer = ProducerEpoch {
            id: header.producer_id,
            epoch: header.producer_epoch,
        };
        if header.is_control() {
            let control = ControlRecord::of_batch(&batch.bytes).map_err(damaged)?;
            let commit = control.control_type == ControlType::Commit;
            if commit || control.control_type == ControlType::Abort {
                found.push(Replayed::Marker(EndMarker { producer, commit }));
            }
            continue;
        }
        let producer = header.is_transactional().then_some(producer);
        for record in RecordIter::new(&batch.bytes).map_err(damaged)? {
            let record = record.map_err(damaged)?;
            let key = record.key.unwrap_or_default();
            found.push(Replayed::Record(
                StateRecord {
                    key,
                    value: record.value,
                },
                producer,
                record.offset,
            ));
        }
    }
    Ok(found)
}

/// A checkpoint is the log's own part behind its length, then the records of its coordinator.
pub(super) fn join_checkpoint(own: &Bytes, records: &Bytes) -> Bytes {
    let mut joined = BytesMut::with_capacity(4 + own.len() + records.len());
    joined.put_u32(u32::try_from(own.len()).unwrap_or(u32::MAX));
    joined.extend_from_slice(own);
    joined.extend_from_slice(records);
    joined.freeze()
}

fn split_checkpoint(
    checkpoint: &StoredCheckpoint,
) -> Result<(Option<StoredCheckpoint>, Vec<StateRecord>), String> {
    let state = &checkpoint.state;
    let damaged = || "the checkpoint is damaged".to_string();
    let length = state.first_chunk::<4>().ok_or_else(damaged)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| damaged())?;
    let end = length
        .checked_add(4)
        .filter(|end| *end <= state.len())
        .ok_or_else(damaged)?;
    let own = StoredCheckpoint {
        at: checkpoint.at,
        state: state.slice(4..end),
    };
    Ok((Some(own), decode_records(&state.slice(end..))?))
}

/// Records as one batch; no records are no bytes.
pub(super) fn encode_records(records: &[StateRecord]) -> Bytes {
    if records.is_empty() {
        return Bytes::new();
    }
    let mut batch = BatchBuilder::new(0);
    for record in records {
        batch.push(0, Some(&record.key), record.value.as_deref());
    }
    batch.build()
}

fn decode_records(batch: &Bytes) -> Result<Vec<StateRecord>, String> {
    if batch.is_empty() {
        return Ok(Vec::new());
    }
    ackord_proto::records::verify_crc(batch).map_err(|error| error.to_string())?;
    let records = RecordIter::new(batch).map_err(|error| error.to_string())?;
    records
        .map(|record| {
            let record = record.map_err(|error| error.to_string())?;
            Ok(StateRecord {
                key: record.key.unwrap_or_default(),
                value: record.value,
            })
        })
        .collect()
}
