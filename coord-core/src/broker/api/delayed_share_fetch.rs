//! A ShareFetch from its acknowledgements on: it acquires records, waits where there are none, and
//! is answered.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::{LogId, MonoTime, OpId, OpKind, StorageFault, StoredBatch};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::ShareFetchResponse;
use ackord_proto::messages::share_fetch::{
    AcquiredRecords, PartitionData, ShareFetchableTopicResponse,
};
use ackord_proto::records::Records;
use ackord_proto::str::Str;
use ackord_share_partition::{AcquireMode, Acquired, Span};
use bytes::Bytes;

use super::super::Broker;
use super::super::gather::Missing;
use super::super::journal::{Pending, ReadFor};
use super::super::timing::TimerKey;
use super::super::waits::WaitKind;
use super::share_chunks::{holes_in, keep_overlapping, markers_in, split_aborted, without};
use super::share_common::by_topic;
use crate::leader::ShareLoad;
use crate::log::{PartitionLog, ReadResult};

/// What a request asks for besides its acknowledgements.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) group: Str,
    pub(super) member: Str,
    pub(super) session: Option<u64>,
    /// The session begins with this request.
    pub(super) first: bool,
    /// The session ends with this request.
    pub(super) last: bool,
    /// No records are wanted: acknowledgements only.
    pub(super) acks_only: bool,
    pub(super) deadline: MonoTime,
    pub(super) max_bytes: usize,
    pub(super) max_records: i32,
    pub(super) batch_size: i32,
    pub(super) mode: AcquireMode,
}

/// What is to be said about one partition.
#[derive(Clone, Debug, Default)]
pub(super) struct PartitionAnswer {
    pub(super) code: ErrorCode,
    pub(super) ack: Option<(ErrorCode, Option<Str>)>,
    pub(super) chunks: Vec<Bytes>,
    pub(super) acquired: Vec<Acquired>,
    /// The append that what was acquired depends on.
    pub(super) gate: Option<OpId>,
}

impl PartitionAnswer {
    pub(super) fn failed(code: ErrorCode) -> Self {
        PartitionAnswer {
            code,
            ..Default::default()
        }
    }
}

/// A request that waits for records, or for the store to read them.
#[derive(Debug)]
pub(in crate::broker) struct ShareFetchWait {
    pub(super) terms: Terms,
    /// What is fetched: of the session's partitions those that existed when the request came.
    pub(super) logs: Vec<LogId>,
    /// Partitions that did not. Alone they are answered at once; beside others they wait with them, so
    /// that a client does not ask again and again.
    pub(super) failed: usize,
    pub(super) answers: BTreeMap<LogId, PartitionAnswer>,
    /// What the answer depends on.
    pub(super) appends: Missing,
    /// Partitions that the store reads for this request, and from where.
    pub(super) reading: Vec<(LogId, i64)>,
    /// Partitions that the store has read; not looked at again before something happens there.
    pub(super) has_read: Vec<LogId>,
    /// Something has happened while the store read.
    pub(super) woken: bool,
}

impl ShareFetchWait {
    pub(in crate::broker) fn appends(&mut self) -> &mut Missing {
        &mut self.appends
    }

    pub(in crate::broker) fn group(&self) -> &str {
        &self.terms.group
    }

    /// Something happened: every partition is worth a look.
    pub(in crate::broker) fn woken(&mut self) {
        self.has_read.clear();
        self.woken = !self.reading.is_empty();
    }

    /// Adds what was found in a partition.
    fn take(&mut self, log: LogId, answer: PartitionAnswer) {
        self.appends.arrived(answer.gate);
        let own = self.answers.entry(log).or_default();
        if answer.code != ErrorCode::NONE {
            own.code = answer.code;
        }
        own.chunks.extend(answer.chunks);
        own.acquired.extend(answer.acquired);
    }

    /// Whether partitions have failed since the request came.
    fn has_failed(&self) -> bool {
        let failed = |answer: &&PartitionAnswer| answer.code != ErrorCode::NONE;
        self.answers.values().filter(failed).count() > self.failed
    }

    /// Whether there is something to answer before the time is over.
    fn has_news(&self) -> bool {
        let news = |answer: &PartitionAnswer| answer.ack.is_some() || !answer.acquired.is_empty();
        self.has_failed() || self.answers.values().any(news)
    }

    /// Whether the answer has records of a partition already.
    fn has_acquired(&self, log: LogId) -> bool {
        let answer = self.answers.get(&log);
        answer.is_some_and(|answer| !answer.acquired.is_empty())
    }

    /// Records that the answer may still get: `MaxRecords` counts over all partitions.
    fn records_left(&self) -> i32 {
        let ranges = self.answers.values().flat_map(|answer| &answer.acquired);
        let taken: i64 = ranges.map(|range| range.last - range.first + 1).sum();
        let taken = i32::try_from(taken).unwrap_or(i32::MAX);
        self.terms.max_records.saturating_sub(taken)
    }
}

/// What looking at one partition gives.
enum Look {
    Answer(PartitionAnswer),
    Cold { from: i64 },
    Nothing,
}

impl Broker {
    /// Acquires what there is; waits where there is nothing to say yet.
    pub(in crate::broker) fn look_for_records(&mut self, slot: u64, mut wait: ShareFetchWait) {
        if self.has_ended(&wait.terms) {
            wait.logs.clear();
        }
        let share = wait.terms.max_bytes / wait.logs.len().max(1);
        for log in wait.logs.clone() {
            // Once is enough: what came back since may lie before what is in the answer already.
            if wait.has_read.contains(&log) || wait.has_acquired(log) {
                continue;
            }
            let records_left = wait.records_left();
            if records_left <= 0 || wait.reading.iter().any(|(own, _)| *own == log) {
                break;
            }
            match self.look_at(log, &wait.terms, share, records_left) {
                Look::Nothing => {}
                Look::Cold { from } => {
                    let kind = OpKind::Read {
                        log,
                        from,
                        max_bytes: share,
                    };
                    let read = Pending::Read(ReadFor::ShareFetch { slot, log });
                    self.journal.issue(kind, read, &mut self.effects);
                    wait.reading.push((log, from));
                    break;
                }
                Look::Answer(answer) => {
                    wait.take(log, answer);
                }
            }
        }
        let idle = wait.logs.is_empty() || self.now.mono >= wait.terms.deadline;
        if wait.reading.is_empty() && (wait.has_news() || idle) {
            return self.answer_share_fetch(slot, wait);
        }
        if wait.reading.is_empty() {
            self.timers.arm(TimerKey::Wait(slot), wait.terms.deadline);
        }
        let logs = wait.logs.clone();
        self.waits.insert(slot, logs, 1, WaitKind::ShareFetch(wait));
    }

    /// The session of a request is no more. It would hold records that nobody gives back.
    fn has_ended(&self, terms: &Terms) -> bool {
        self.share_sessions.id(&terms.group, &terms.member) != terms.session
    }

    fn look_at(&mut self, log: LogId, terms: &Terms, max_bytes: usize, max_records: i32) -> Look {
        match self.check_share_partition(log) {
            // It was there when the request came, and the session knows its name.
            Err(ErrorCode::UNKNOWN_TOPIC_ID) => {
                let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
                return Look::Answer(PartitionAnswer::failed(code));
            }
            Err(code) => return Look::Answer(PartitionAnswer::failed(code)),
            Ok(()) => {}
        }
        let settings = self.share_settings(&terms.group);
        let mut look = Look::Nothing;
        let mut from = None;
        self.with_leader(log, &terms.group, None, |leader, ctx, out| {
            match leader.fetch(ctx, &terms.group, out) {
                ShareLoad::Failed(code) => {
                    look = Look::Answer(PartitionAnswer::failed(code));
                    leader.forget(&terms.group, out);
                }
                ShareLoad::Reading => {}
                ShareLoad::Ready(partition) => {
                    from = partition
                        .can_acquire()
                        .then(|| partition.next_fetch_offset());
                }
            }
        });
        let (Some(from), Some(data)) = (from, self.logs.get(&log)) else {
            return look;
        };
        let up_to = share_bound(data, settings.read_committed);
        match data.read(from.max(data.start_offset()), max_bytes, up_to) {
            ReadResult::Cold => Look::Cold { from },
            ReadResult::Empty | ReadResult::OutOfRange => Look::Nothing,
            ReadResult::Hot(chunks) => {
                let answer = self.acquire(log, terms, from, chunks, max_records);
                if answer.acquired.is_empty() {
                    Look::Nothing
                } else {
                    Look::Answer(answer)
                }
            }
        }
    }

    /// Acquires records of the batches that were read.
    fn acquire(
        &mut self,
        log: LogId,
        terms: &Terms,
        from: i64,
        chunks: Vec<Bytes>,
        max_records: i32,
    ) -> PartitionAnswer {
        if self.has_ended(terms) {
            return PartitionAnswer::default();
        }
        let spans = PartitionLog::batch_bounds(&chunks);
        let settings = self.share_settings(&terms.group);
        let Some(data) = self.logs.get(&log) else {
            return PartitionAnswer::default();
        };
        let list = match (spans.first(), spans.last()) {
            (Some(first), Some(last)) if settings.read_committed => {
                data.aborted(first.base, last.last + 1)
            }
            _ => Vec::new(),
        };
        let (aborted, batches) = split_aborted(&spans, &list);
        let holes = holes_in(&chunks, &spans);
        let batches = without(batches, &holes);
        let no_records: Vec<Span> = aborted
            .iter()
            .map(|span| Span::new(span.base, span.last))
            .chain(holes)
            .collect();
        let mut acquired = Vec::new();
        self.with_leader(log, &terms.group, None, |leader, ctx, out| {
            // Offsets that the read passed over hold no record any more (compaction).
            if let Some(first) = spans.first().filter(|first| from < first.base) {
                leader.archive(ctx, &terms.group, from, first.base - 1, out);
            }
            for span in &no_records {
                leader.archive(ctx, &terms.group, span.first, span.last, out);
            }
            if let ShareLoad::Ready(partition) = leader.load(ctx, &terms.group, out) {
                acquired = partition.acquire(
                    ctx.now.mono,
                    &terms.member,
                    &batches,
                    max_records,
                    terms.batch_size,
                    terms.mode,
                );
            }
            // Behind the last batch that was acquired.
            for span in &no_records {
                leader.archive(ctx, &terms.group, span.first, span.last, out);
            }
            leader.note_holes(&terms.group, &markers_in(&spans, &acquired));
        });
        let chunks = keep_overlapping(chunks, &spans, &acquired);
        // A delivery count that was seen never goes back: what freed a record has to be durable.
        let again = acquired.iter().any(|range| range.delivery_count > 1);
        let gate = self.share_state_gate(&terms.group, again.then_some(log).into_iter());
        PartitionAnswer {
            chunks,
            acquired,
            gate,
            ..Default::default()
        }
    }

    /// The store has read batches for a waiting request.
    pub(in crate::broker) fn share_fetch_read(
        &mut self,
        slot: u64,
        log: LogId,
        batches: Result<Vec<StoredBatch>, StorageFault>,
    ) {
        let Some(WaitKind::ShareFetch(mut wait)) = self.waits.remove(slot) else {
            return;
        };
        let asked = wait
            .reading
            .iter()
            .find(|(own, _)| *own == log)
            .map(|(_, from)| *from);
        wait.reading.retain(|(own, _)| *own != log);
        match batches {
            Err(_) => {
                let code = ErrorCode::KAFKA_STORAGE_ERROR;
                wait.answers.entry(log).or_default().code = code;
            }
            Ok(batches) => {
                let committed = self.share_settings(&wait.terms.group).read_committed;
                let share = wait.terms.max_bytes / wait.logs.len().max(1);
                let chunks = self.logs.get(&log).map(|data| {
                    let up_to = share_bound(data, committed);
                    data.cut(batches, up_to, share)
                });
                let chunks = chunks.unwrap_or_default();
                let (from, records) = (asked.unwrap_or(i64::MAX), wait.records_left());
                let answer = self.acquire(log, &wait.terms, from, chunks, records);
                wait.take(log, answer);
                if !core::mem::take(&mut wait.woken) {
                    wait.has_read.push(log);
                }
            }
        }
        self.answer_or_wait(slot, wait);
    }

    fn answer_or_wait(&mut self, slot: u64, wait: ShareFetchWait) {
        let acquired = wait
            .answers
            .values()
            .any(|answer| !answer.acquired.is_empty());
        if acquired || wait.has_failed() {
            self.answer_share_fetch(slot, wait);
        } else {
            self.look_for_records(slot, wait);
        }
    }

    /// Adds the partitions that the answer lists although there is nothing to say of them.
    fn list_partitions(&mut self, wait: &mut ShareFetchWait) {
        if self.has_ended(&wait.terms) {
            return;
        }
        let terms = &wait.terms;
        let listed = if terms.first {
            wait.logs.clone()
        } else {
            let failed = wait.answers.iter();
            let failed = failed.filter(|(_, answer)| answer.code != ErrorCode::NONE);
            let failed: Vec<LogId> = failed.map(|(log, _)| *log).collect();
            self.share_sessions
                .listed(&terms.group, &terms.member, &wait.logs, &failed)
        };
        for log in listed {
            wait.answers.entry(log).or_default();
        }
    }

    pub(in crate::broker) fn answer_share_fetch(&mut self, slot: u64, mut wait: ShareFetchWait) {
        self.timers.cancel(&TimerKey::Wait(slot));
        self.list_partitions(&mut wait);
        let lock_ms = self.share_settings(&wait.terms.group).record_lock_ms;
        for (log, answer) in &wait.answers {
            let bytes = answer.chunks.iter().map(Bytes::len).sum();
            self.counters.fetched(log.topic, bytes);
            let failed = answer.code != ErrorCode::NONE;
            self.share_counters.fetched(log.topic, failed);
        }
        let partition = |(id, answer): (LogId, PartitionAnswer)| {
            let (acknowledge_error_code, acknowledge_error_message) =
                answer.ack.unwrap_or_default();
            let acquired = answer.acquired.iter().map(|range| AcquiredRecords {
                first_offset: range.first,
                last_offset: range.last,
                delivery_count: range.delivery_count,
                ..Default::default()
            });
            let data = PartitionData {
                partition_index: id.partition,
                error_code: answer.code,
                acknowledge_error_code,
                acknowledge_error_message,
                records: Some(Records::from(answer.chunks)),
                acquired_records: acquired.collect(),
                ..Default::default()
            };
            (id.topic, data)
        };
        let topics = by_topic(wait.answers.into_iter().map(partition).collect());
        let responses =
            topics
                .into_iter()
                .map(|(topic_id, partitions)| ShareFetchableTopicResponse {
                    topic_id,
                    partitions,
                    ..Default::default()
                });
        let response = ShareFetchResponse {
            acquisition_lock_timeout_ms: lock_ms,
            responses: responses.collect(),
            ..Default::default()
        };
        self.respond_whole(slot, response, wait.appends);
    }
}

fn share_bound(log: &PartitionLog, committed: bool) -> i64 {
    if committed {
        log.last_stable_offset()
    } else {
        log.high_watermark()
    }
}
