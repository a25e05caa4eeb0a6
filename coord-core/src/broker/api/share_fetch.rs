//! ShareFetch (key 78): acknowledgements that ride along, then records.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::{LogId, MonoTime, OpId, OpKind, StorageFault, StoredBatch};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::share_fetch::{
    AcquiredRecords, PartitionData, ShareFetchableTopicResponse,
};
use ackord_proto::messages::{ShareFetchRequest, ShareFetchResponse};
use ackord_proto::records::Records;
use ackord_proto::str::Str;
use ackord_share_partition::{AcquireMode, Acquired};
use bytes::Bytes;

use super::super::Broker;
use super::super::gather::{Gather, Missing};
use super::super::journal::{Pending, ReadFor};
use super::super::share_sessions::FINAL_EPOCH;
use super::super::timing::TimerKey;
use super::super::waits::WaitKind;
use super::share_chunks::{keep_overlapping, markers_in, split_aborted};
use super::share_common::{PartitionAcks, acks_of, by_topic, check_types, group_and_member};
use crate::leader::ShareLoad;
use crate::log::{PartitionLog, ReadResult};
use crate::outbox::Ticket;

/// What a request asks for besides its acknowledgements.
#[derive(Clone, Debug)]
struct Terms {
    group: Str,
    member: Str,
    session: Option<u64>,
    /// The session ends with this request.
    last: bool,
    /// No records are wanted: acknowledgements only.
    acks_only: bool,
    deadline: MonoTime,
    max_bytes: usize,
    max_records: i32,
    batch_size: i32,
    mode: AcquireMode,
}

/// What is to be said about one partition.
#[derive(Clone, Debug, Default)]
struct PartitionAnswer {
    code: ErrorCode,
    ack: Option<(ErrorCode, Option<Str>)>,
    chunks: Vec<Bytes>,
    acquired: Vec<Acquired>,
    /// The append that what was acquired depends on.
    gate: Option<OpId>,
}

/// A request whose acknowledgements are under way.
#[derive(Debug)]
pub(in crate::broker) struct ShareFetchAcks {
    terms: Terms,
    acked: Vec<LogId>,
    answers: BTreeMap<LogId, PartitionAnswer>,
    missing: Missing,
}

impl ShareFetchAcks {
    pub(in crate::broker) fn missing(&mut self) -> &mut Missing {
        &mut self.missing
    }

    fn has_refused(&self, log: LogId) -> bool {
        let ack = self.answers.get(&log).and_then(|own| own.ack.as_ref());
        ack.is_some_and(|(code, _)| *code != ErrorCode::NONE)
    }

    pub(in crate::broker) fn arrived(
        &mut self,
        part: u32,
        code: ErrorCode,
        message: Option<Str>,
        gate: Option<OpId>,
    ) {
        self.missing.arrived(gate);
        if let Some(log) = self.acked.get(part as usize) {
            self.answers.entry(*log).or_default().ack = Some((code, message));
        }
    }
}

/// A request that waits for records, or for the store to read them.
#[derive(Debug)]
pub(in crate::broker) struct ShareFetchWait {
    terms: Terms,
    logs: Vec<LogId>,
    answers: BTreeMap<LogId, PartitionAnswer>,
    /// What the answer depends on.
    appends: Missing,
    /// Partitions that the store reads for this request, and from where.
    reading: Vec<(LogId, i64)>,
    /// Partitions that the store has read; not looked at again before something happens there.
    has_read: Vec<LogId>,
    /// Something has happened while the store read.
    woken: bool,
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
    pub(super) fn share_fetch(&mut self, slot: u64, request: ShareFetchRequest) {
        let version = self.version(slot);
        let terms = match self.begin_share_session(slot, &request) {
            Ok(terms) => terms,
            Err(code @ ErrorCode::SHARE_SESSION_LIMIT_REACHED) if request.max_wait_ms > 0 => {
                let wait_ms = i64::from(request.max_wait_ms);
                let at = self.now.mono.plus_millis(wait_ms);
                self.timers.arm(TimerKey::Wait(slot), at);
                let kind = WaitKind::ShareRefused(code);
                return self.waits.insert(slot, Vec::new(), usize::MAX, kind);
            }
            Err(code) => return self.refuse_share_fetch(slot, code),
        };
        let vanish = request.share_session_epoch == 0
            && ackord_machine::planted!("row-76-acks-on-epoch-0-vanish");
        let acks: Vec<PartitionAcks> = acks_of!(request.topics)
            .filter(|acks| !acks.ranges.is_empty() && !vanish)
            .collect();
        let mut gather = ShareFetchAcks {
            terms,
            acked: acks.iter().map(|acks| acks.id).collect(),
            answers: self.unknown_partitions(&request),
            missing: Missing::default(),
        };
        if vanish {
            for log in wanted(&request) {
                let answer = gather.answers.entry(log).or_default();
                answer.ack = Some((ErrorCode::NONE, None));
            }
        }
        // One more than there are, so that nothing is fetched before all were asked.
        (0..=acks.len()).for_each(|_| gather.missing.one_more());
        let (group, member) = (gather.terms.group.clone(), gather.terms.member.clone());
        self.gathers.insert(slot, Gather::ShareFetch(gather));
        for (part, acks) in acks.iter().enumerate() {
            let ticket = Ticket {
                slot,
                part: u32::try_from(part).unwrap_or(u32::MAX),
            };
            let types = check_types(&acks.ranges, version, request.is_renew_ack);
            self.acknowledge(ticket, &group, &member, acks, types);
        }
        if let Some(Gather::ShareFetch(mut gather)) = self.gathers.remove(&slot) {
            let done = acks.iter().filter(|acks| !gather.has_refused(acks.id));
            let gate = self.share_state_gate(&group, done.map(|acks| acks.id));
            gather.missing.arrived(gate);
            self.share_fetch_progress(slot, gather);
        }
    }

    pub(in crate::broker) fn refuse_share_fetch(&mut self, slot: u64, error_code: ErrorCode) {
        let response = ShareFetchResponse {
            error_code,
            ..Default::default()
        };
        self.respond(slot, response, None);
    }

    /// Checks the request and takes its session forward.
    fn begin_share_session(
        &mut self,
        slot: u64,
        request: &ShareFetchRequest,
    ) -> Result<Terms, ErrorCode> {
        let (group, member) =
            group_and_member(request.group_id.as_ref(), request.member_id.as_ref())?;
        let mode = match request.share_acquire_mode {
            0 => AcquireMode::BatchOptimized,
            1 => AcquireMode::RecordLimit,
            _ => return Err(ErrorCode::INVALID_REQUEST),
        };
        let wants_records = request.max_wait_ms != 0
            || request.min_bytes != 0
            || request.max_bytes != 0
            || request.max_records != 0;
        if request.is_renew_ack && wants_records {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        // The first request of a session has nothing to acknowledge.
        let acknowledges = acks_of!(request.topics).any(|acks| !acks.ranges.is_empty());
        let vanish = ackord_machine::planted!("row-76-acks-on-epoch-0-vanish");
        if request.share_session_epoch == 0 && acknowledges && !vanish {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        let meta = self
            .connections
            .request(slot)
            .ok_or(ErrorCode::UNKNOWN_SERVER_ERROR)?;
        let (conn, epoch) = (meta.conn, request.share_session_epoch);
        let added: Vec<LogId> = wanted(request);
        if epoch == 0 {
            let known = added
                .iter()
                .copied()
                .filter(|log| self.logs.contains_key(log))
                .collect();
            let limit = self.config.size("group.share.max.share.sessions");
            self.share_sessions
                .open(conn, &group, &member, known, limit)?;
        } else {
            self.share_sessions.proceed(&group, &member, epoch)?;
            let known: Vec<LogId> = added
                .into_iter()
                .filter(|log| self.logs.contains_key(log))
                .collect();
            self.share_sessions
                .change(&group, &member, &known, &forgotten(request));
        }
        let fetch_max = self.config.size("fetch.max.bytes");
        let max_bytes = usize::try_from(request.max_bytes)
            .unwrap_or_default()
            .min(fetch_max);
        let last = epoch == FINAL_EPOCH;
        Ok(Terms {
            session: self.share_sessions.id(&group, &member),
            group,
            member,
            last,
            acks_only: last
                || request.is_renew_ack
                || request.max_bytes <= 0
                || request.max_records <= 0,
            deadline: self.now.mono.plus_millis(i64::from(request.max_wait_ms)),
            max_bytes,
            max_records: request.max_records,
            batch_size: request.batch_size,
            mode,
        })
    }

    /// Partitions of a request that do not exist are named in its answer.
    fn unknown_partitions(&self, request: &ShareFetchRequest) -> BTreeMap<LogId, PartitionAnswer> {
        let failed = |log: LogId| {
            let code = self.check_share_partition(log).err()?;
            Some((
                log,
                PartitionAnswer {
                    code,
                    ..Default::default()
                },
            ))
        };
        wanted(request).into_iter().filter_map(failed).collect()
    }

    /// Goes on to the records once all acknowledgements have their outcome.
    pub(in crate::broker) fn share_fetch_progress(&mut self, slot: u64, acks: ShareFetchAcks) {
        if !acks.missing.is_complete() {
            self.gathers.insert(slot, Gather::ShareFetch(acks));
            return;
        }
        let ShareFetchAcks {
            terms,
            answers,
            missing,
            ..
        } = acks;
        let logs = match terms.acks_only {
            true => Vec::new(),
            false => self.share_sessions.rotated(&terms.group, &terms.member),
        };
        if terms.last
            && let Some(session) = self.share_sessions.close(&terms.group, &terms.member)
            && !ackord_machine::planted!("row-74-close-keeps-records")
        {
            self.release_session(&session);
        }
        let wait = ShareFetchWait {
            terms,
            logs,
            answers,
            appends: missing,
            reading: Vec::new(),
            has_read: Vec::new(),
            woken: false,
        };
        self.look_for_records(slot, wait);
    }

    /// Acquires what there is; waits where there is nothing to say yet.
    pub(in crate::broker) fn look_for_records(&mut self, slot: u64, mut wait: ShareFetchWait) {
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
        let something = wait.answers.values().any(|answer| {
            answer.code != ErrorCode::NONE || answer.ack.is_some() || !answer.acquired.is_empty()
        });
        let idle = wait.terms.acks_only
            || self.now.mono >= wait.terms.deadline
            || self.has_ended(&wait.terms);
        if wait.reading.is_empty() && (something || idle) {
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
        if let Err(code) = self.check_share_partition(log) {
            return Look::Answer(PartitionAnswer {
                code,
                ..Default::default()
            });
        }
        let settings = self.share_settings(&terms.group);
        let mut look = Look::Nothing;
        let mut from = None;
        self.with_leader(log, &terms.group, None, |leader, ctx, out| {
            match leader.load(ctx, &terms.group, out) {
                ShareLoad::Failed(code) => {
                    look = Look::Answer(PartitionAnswer {
                        code,
                        ..Default::default()
                    });
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
        let mut acquired = Vec::new();
        self.with_leader(log, &terms.group, None, |leader, ctx, out| {
            // Offsets that the read passed over hold no record any more (compaction).
            if let Some(first) = spans.first().filter(|first| from < first.base) {
                leader.archive(ctx, &terms.group, from, first.base - 1, out);
            }
            for span in &aborted {
                leader.archive(ctx, &terms.group, span.base, span.last, out);
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
            for span in &aborted {
                leader.archive(ctx, &terms.group, span.base, span.last, out);
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
        let failed = wait
            .answers
            .values()
            .any(|answer| answer.code != ErrorCode::NONE);
        if acquired || failed {
            self.answer_share_fetch(slot, wait);
        } else {
            self.look_for_records(slot, wait);
        }
    }

    pub(in crate::broker) fn answer_share_fetch(&mut self, slot: u64, wait: ShareFetchWait) {
        self.timers.cancel(&TimerKey::Wait(slot));
        let lock_ms = self.share_settings(&wait.terms.group).record_lock_ms;
        for (log, answer) in &wait.answers {
            let bytes = answer.chunks.iter().map(Bytes::len).sum();
            self.counters.fetched(log.topic, bytes);
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

fn wanted(request: &ShareFetchRequest) -> Vec<LogId> {
    let topics = request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(move |partition| LogId {
            topic: topic.topic_id,
            partition: partition.partition_index,
        })
    });
    topics.collect()
}

fn forgotten(request: &ShareFetchRequest) -> Vec<LogId> {
    let topics = request.forgotten_topics_data.iter().flat_map(|topic| {
        topic.partitions.iter().map(move |&partition| LogId {
            topic: topic.topic_id,
            partition,
        })
    });
    topics.collect()
}
