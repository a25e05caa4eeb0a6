//! Fetch (key 1), with sessions (KIP-227).
//!
//! One answer is taken from one moment: bounds and aborted lists of all partitions are noted when
//! they are looked at, and what the store reads afterwards is cut to those bounds.

use alloc::vec::Vec;

use ackord_machine::{LogId, MonoTime, OpKind, StorageFault, StoredBatch};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::fetch::{
    AbortedTransaction, FetchPartition, FetchTopic, FetchableTopicResponse, PartitionData,
};
use ackord_proto::messages::{FetchRequest, FetchResponse};
use ackord_proto::records::Records;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::collections::BTreeMap;
use bytes::Bytes;

use super::super::Broker;
use super::super::fetch_sessions::{FetchContext, Known, Wanted};
use super::super::journal::{Pending, ReadFor};
use super::super::timing::TimerKey;
use super::super::waits::WaitKind;
use crate::authorizer::{CLUSTER_NAME, ResourceType};
use crate::log::{Aborted, PartitionLog, ReadResult};

/// A Fetch that waits for data or for the store.
#[derive(Debug)]
pub(in crate::broker) struct FetchWait {
    context: FetchContext,
    committed: bool,
    min_bytes: usize,
    max_bytes: usize,
    deadline: MonoTime,
    wanted: Vec<Wanted>,
    /// What was found while the store reads the rest.
    found: Vec<Found>,
    /// Reads that the store has not answered.
    reading: usize,
}

/// One partition as it was at the moment of the answer.
#[derive(Debug)]
struct Found {
    code: ErrorCode,
    high_watermark: i64,
    last_stable: i64,
    log_start: i64,
    aborted: Vec<Aborted>,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Chunks(Vec<Bytes>),
    /// In the store: where from, up to which offset, how many bytes.
    Cold {
        from: i64,
        up_to: i64,
        max_bytes: usize,
    },
}

impl Found {
    fn refused(code: ErrorCode) -> Self {
        Found {
            code,
            high_watermark: -1,
            last_stable: -1,
            log_start: -1,
            aborted: Vec::new(),
            data: Data::Chunks(Vec::new()),
        }
    }

    fn bytes(&self) -> usize {
        match &self.data {
            Data::Chunks(chunks) => chunks.iter().map(Bytes::len).sum(),
            Data::Cold { max_bytes, .. } => *max_bytes,
        }
    }
}

impl Broker {
    pub(super) fn fetch(&mut self, slot: u64, request: FetchRequest) {
        let Some(meta) = self.connections.request(slot) else {
            return;
        };
        let (conn, version) = (meta.conn, meta.version);
        let wanted = self.wanted(version, &request.topics);
        let forgotten = self.forgotten(version, &request);
        let ids = match version {
            7.. => (request.session_id, request.session_epoch),
            _ => (0, -1),
        };
        let begun = self.fetch_sessions.begin(conn, ids, wanted, &forgotten);
        let (context, mut wanted) = match begun {
            Ok(begun) => begun,
            Err(error_code) => {
                let response = FetchResponse {
                    error_code,
                    ..Default::default()
                };
                return self.respond(slot, response, None);
            }
        };
        self.forbid_unreadable(slot, &request, &mut wanted);
        let size = |bytes: i32| usize::try_from(bytes).unwrap_or_default();
        let wait = FetchWait {
            context,
            committed: request.isolation_level == 1,
            min_bytes: size(request.min_bytes),
            max_bytes: size(request.max_bytes).min(self.config.size("fetch.max.bytes")),
            deadline: self.now.mono.plus_millis(i64::from(request.max_wait_ms)),
            wanted,
            found: Vec::new(),
            reading: 0,
        };
        self.look_for_data(slot, wait);
    }

    fn wanted(&self, version: i16, topics: &[FetchTopic]) -> Vec<Wanted> {
        let of = |topic: &FetchTopic, partition: &FetchPartition| {
            let (name, log) = self.fetch_target(version, topic, partition.partition);
            let log = log.and_then(|log| match partition.current_leader_epoch {
                ..=0 => Ok(log),
                _ => Err((ErrorCode::UNKNOWN_LEADER_EPOCH, log)),
            });
            Wanted {
                topic: name,
                log,
                fetch_offset: partition.fetch_offset,
                max_bytes: partition.partition_max_bytes,
                known: Known::default(),
            }
        };
        let all = topics.iter().flat_map(|topic| {
            topic
                .partitions
                .iter()
                .map(move |partition| (topic, partition))
        });
        all.map(|(topic, partition)| of(topic, partition)).collect()
    }

    /// Partitions of topics that may not be read now are answered for. A session keeps them: what is
    /// allowed can change. Followers have to be brokers.
    fn forbid_unreadable(&self, slot: u64, request: &FetchRequest, wanted: &mut [Wanted]) {
        if !self.has_authorizer() {
            return;
        }
        let follows = request.replica_id.max(request.replica_state.replica_id) >= 0;
        for own in wanted {
            if matches!(own.log, Err((ErrorCode::UNKNOWN_TOPIC_ID, _))) {
                continue;
            }
            let allowed = match follows {
                true => self.check_each(slot, ResourceType::Cluster, CLUSTER_NAME),
                false => self.check_topic(slot, &own.topic),
            };
            if allowed.is_err() {
                own.log = Err((ErrorCode::TOPIC_AUTHORIZATION_FAILED, own.id()));
            }
        }
    }

    fn fetch_target(
        &self,
        version: i16,
        topic: &FetchTopic,
        partition: i32,
    ) -> (Str, Result<LogId, (ErrorCode, LogId)>) {
        let found = match version {
            13.. => self.metadata.topic_by_id(topic.topic_id),
            _ => self.metadata.topic(&topic.topic),
        };
        match found {
            Some(found) => {
                let log = LogId {
                    topic: found.id,
                    partition,
                };
                let exists = (0..found.partitions).contains(&partition);
                let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
                (
                    found.name.clone(),
                    if exists { Ok(log) } else { Err((code, log)) },
                )
            }
            None => {
                let log = LogId {
                    topic: topic.topic_id,
                    partition,
                };
                let code = match version {
                    13.. => ErrorCode::UNKNOWN_TOPIC_ID,
                    _ => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                };
                (topic.topic.clone(), Err((code, log)))
            }
        }
    }

    fn forgotten(&self, version: i16, request: &FetchRequest) -> Vec<(Str, LogId)> {
        let topics = request.forgotten_topics_data.iter().flat_map(|topic| {
            let as_fetch = FetchTopic {
                topic: topic.topic.clone(),
                topic_id: topic.topic_id,
                ..Default::default()
            };
            topic
                .partitions
                .iter()
                .map(move |partition| (as_fetch.clone(), *partition))
        });
        topics
            .map(|(topic, partition)| {
                let (name, log) = self.fetch_target(version, &topic, partition);
                let log = match log {
                    Ok(log) | Err((_, log)) => log,
                };
                (name, log)
            })
            .collect()
    }

    /// Looks at every partition; answers where there is enough, else waits.
    pub(in crate::broker) fn look_for_data(&mut self, slot: u64, mut wait: FetchWait) {
        let (mut left, mut bytes) = (wait.max_bytes, 0);
        let mut found = Vec::with_capacity(wait.wanted.len());
        for wanted in &wait.wanted {
            // The first partition with data gives at least one batch, however small the limits.
            let one = self.look_at_log(wanted, wait.committed, left, bytes == 0);
            left = left.saturating_sub(one.bytes());
            bytes += one.bytes();
            found.push(one);
        }
        let failed = found.iter().any(|one| one.code != ErrorCode::NONE);
        let enough = bytes >= wait.min_bytes || failed || wait.wanted.is_empty();
        if !enough && self.now.mono < wait.deadline {
            let logs = wait
                .wanted
                .iter()
                .filter_map(|wanted| wanted.log.ok())
                .collect();
            self.timers.arm(TimerKey::Wait(slot), wait.deadline);
            let missing = wait.min_bytes - bytes;
            self.waits
                .insert(slot, logs, missing, WaitKind::Fetch(wait));
            return;
        }
        for (part, (one, wanted)) in found.iter().zip(&wait.wanted).enumerate() {
            if let (
                Data::Cold {
                    from, max_bytes, ..
                },
                Ok(log),
            ) = (&one.data, wanted.log)
            {
                let kind = OpKind::Read {
                    log,
                    from: *from,
                    max_bytes: *max_bytes,
                };
                let read = Pending::Read(ReadFor::Fetch { slot, part });
                self.journal.issue(kind, read, &mut self.effects);
                wait.reading += 1;
            }
        }
        wait.found = found;
        self.answer_fetch_when_read(slot, wait);
    }

    fn look_at_log(&self, wanted: &Wanted, committed: bool, left: usize, first: bool) -> Found {
        let log = match wanted.log {
            Ok(log) => log,
            Err((code, _)) => return Found::refused(code),
        };
        let data = match self.readable_log(log) {
            Ok(data) => data,
            Err(code) => return Found::refused(code),
        };
        let up_to = if committed {
            data.last_stable_offset()
        } else {
            data.high_watermark()
        };
        let mut found = Found {
            code: ErrorCode::NONE,
            high_watermark: data.high_watermark(),
            last_stable: data.last_stable_offset(),
            log_start: data.start_offset(),
            aborted: Vec::new(),
            data: Data::Chunks(Vec::new()),
        };
        let from = wanted.fetch_offset;
        let wished = usize::try_from(wanted.max_bytes).unwrap_or_default();
        if left == 0 && !first {
            return found;
        }
        let max_bytes = wished.min(left);
        match data.read(from, max_bytes, up_to) {
            ReadResult::Empty => {}
            ReadResult::OutOfRange => return Found::refused(ErrorCode::OFFSET_OUT_OF_RANGE),
            ReadResult::Cold => {
                found.data = Data::Cold {
                    from,
                    up_to,
                    max_bytes: max_bytes.max(1),
                };
                if committed {
                    found.aborted = data.aborted(from, up_to);
                }
            }
            ReadResult::Hot(chunks) => {
                let size: usize = chunks.iter().map(Bytes::len).sum();
                if first || size <= left {
                    if committed {
                        found.aborted = data.aborted(from, end_of(&chunks).unwrap_or(up_to));
                    }
                    found.data = Data::Chunks(chunks);
                }
            }
        }
        found
    }

    /// The store has read one partition of a waiting Fetch.
    pub(in crate::broker) fn fetch_read(
        &mut self,
        slot: u64,
        part: usize,
        batches: Result<Vec<StoredBatch>, StorageFault>,
    ) {
        let Some(WaitKind::Fetch(mut wait)) = self.waits.remove(slot) else {
            return;
        };
        wait.reading = wait.reading.saturating_sub(1);
        let log = wait.wanted.get(part).and_then(|wanted| wanted.log.ok());
        let data = log.and_then(|log| self.logs.get(&log));
        if let Some(found) = wait.found.get_mut(part) {
            match (batches, data, &found.data) {
                (
                    Ok(batches),
                    Some(data),
                    Data::Cold {
                        up_to, max_bytes, ..
                    },
                ) => {
                    found.data = Data::Chunks(data.cut(batches, *up_to, *max_bytes));
                }
                (Err(_), _, _) => *found = Found::refused(ErrorCode::KAFKA_STORAGE_ERROR),
                _ => *found = Found::refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            }
        }
        self.answer_fetch_when_read(slot, wait);
    }

    fn answer_fetch_when_read(&mut self, slot: u64, wait: FetchWait) {
        if wait.reading == 0 {
            return self.answer_fetch(slot, wait);
        }
        // Nothing but the store can end this; new data does not concern it.
        self.waits
            .insert(slot, Vec::new(), usize::MAX, WaitKind::Fetch(wait));
    }

    fn answer_fetch(&mut self, slot: u64, wait: FetchWait) {
        self.timers.cancel(&TimerKey::Wait(slot));
        let session_id = wait.context.session_id();
        let mut topics: Vec<FetchableTopicResponse> = Vec::new();
        let mut places: BTreeMap<(Uuid, &Str), usize> = BTreeMap::new();
        for (wanted, found) in wait.wanted.iter().zip(wait.found) {
            let known = Known {
                high_watermark: found.high_watermark,
                log_start: found.log_start,
            };
            let news = found.code != ErrorCode::NONE || found.bytes() > 0 || known != wanted.known;
            if wait.context.is_incremental() && !news {
                continue;
            }
            let records = found.bytes() > 0;
            let topic = wanted.id().topic;
            self.counters.fetched(topic, found.bytes());
            self.fetch_sessions.told(session_id, wanted, known, records);
            let id = wanted.id();
            let place = *places.entry((id.topic, &wanted.topic)).or_insert_with(|| {
                topics.push(FetchableTopicResponse {
                    topic: wanted.topic.clone(),
                    topic_id: id.topic,
                    ..Default::default()
                });
                topics.len() - 1
            });
            if let Some(topic) = topics.get_mut(place) {
                let data = partition_data(id.partition, found, wait.committed);
                topic.partitions.push(data);
            }
        }
        let response = FetchResponse {
            session_id,
            responses: topics,
            ..Default::default()
        };
        self.respond(slot, response, None);
    }

    /// A waiting request may have an answer now.
    pub(in crate::broker) fn try_again(&mut self, slot: u64) {
        match self.waits.remove(slot) {
            Some(WaitKind::Fetch(wait)) if wait.reading > 0 => {
                self.waits
                    .insert(slot, Vec::new(), usize::MAX, WaitKind::Fetch(wait));
            }
            Some(WaitKind::Fetch(wait)) => self.look_for_data(slot, wait),
            Some(WaitKind::ShareFetch(mut wait)) => {
                wait.woken();
                self.look_for_records(slot, wait);
            }
            Some(WaitKind::ShareRefused(code)) => self.refuse_share_fetch(slot, code),
            None => {}
        }
    }

    /// A request has waited as long as it wanted to.
    pub(in crate::broker) fn wait_ended(&mut self, slot: u64) {
        self.woken.insert(slot);
    }
}

fn end_of(chunks: &[Bytes]) -> Option<i64> {
    PartitionLog::batch_bounds(chunks)
        .last()
        .map(|span| span.last + 1)
}

fn partition_data(partition_index: i32, found: Found, committed: bool) -> PartitionData {
    let chunks = match found.data {
        Data::Chunks(chunks) => chunks,
        Data::Cold { .. } => Vec::new(),
    };
    let end = end_of(&chunks).unwrap_or(i64::MAX);
    let aborted = found
        .aborted
        .iter()
        .filter(|entry| entry.first_offset < end)
        .map(|entry| AbortedTransaction {
            producer_id: entry.producer_id,
            first_offset: entry.first_offset,
            ..Default::default()
        });
    PartitionData {
        partition_index,
        error_code: found.code,
        high_watermark: found.high_watermark,
        last_stable_offset: found.last_stable,
        log_start_offset: found.log_start,
        aborted_transactions: committed.then(|| aborted.collect()),
        records: Some(Records::from(chunks)),
        ..Default::default()
    }
}
