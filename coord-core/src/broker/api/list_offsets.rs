//! ListOffsets: the ends of a log, and offsets by time (KIP-79, KIP-734, KIP-1005).

use ackord_machine::{Found, LogId, OpKind, StorageFault, StoredBatch};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use ackord_proto::messages::{ListOffsetsRequest, ListOffsetsResponse};
use ackord_proto::records::{BatchHeader, Compression, RecordIter};
use ackord_proto::str::Str;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::super::Broker;
use super::super::journal::{Pending, ReadFor};
use crate::log::{FindHot, PartitionLog};

/// Timestamps that mean a place.
mod place {
    pub(super) const LATEST: i64 = -1;
    pub(super) const EARLIEST: i64 = -2;
    pub(super) const MAX_TIMESTAMP: i64 = -3;
    pub(super) const EARLIEST_LOCAL: i64 = -4;
    pub(super) const LATEST_TIERED: i64 = -5;
    pub(super) const EARLIEST_PENDING_UPLOAD: i64 = -6;
}

/// From here on a response has leader epochs.
const FIRST_WITH_EPOCHS: i16 = 4;
const READ_COMMITTED: i8 = 1;
/// No leader ever changes here.
const LEADER_EPOCH: i32 = 0;

/// A request of which some offsets are still looked up in the store.
#[derive(Debug)]
pub(in crate::broker) struct OffsetLookups {
    version: i16,
    topics: Vec<ListOffsetsTopicResponse>,
    /// Lookups under way, by their part.
    searches: BTreeMap<usize, Search>,
}

/// A lookup by time.
#[derive(Clone, Copy, Debug)]
pub(in crate::broker) struct Search {
    /// Where its answer goes in the response.
    topic: usize,
    partition: usize,
    pub(in crate::broker) log: LogId,
    pub(in crate::broker) timestamp: i64,
    /// First offset that counts.
    pub(in crate::broker) from: i64,
    /// What the client may see ends here.
    pub(in crate::broker) limit: i64,
}

/// What a partition's answer is, at first sight.
pub(in crate::broker) enum Answer {
    At {
        timestamp: i64,
        offset: i64,
    },
    Refused(ErrorCode),
    /// By a batch that may contain it.
    In(StoredBatch, Search),
    Nowhere,
    Stored(Search),
}

impl Broker {
    pub(in crate::broker) fn list_offsets(&mut self, slot: u64, request: ListOffsetsRequest) {
        let Some(version) = self.connections.request(slot).map(|meta| meta.version) else {
            return;
        };
        let repeated = repeated(&request);
        let mut lookups = OffsetLookups {
            version,
            topics: Vec::new(),
            searches: BTreeMap::new(),
        };
        for (topic, asked) in request.topics.iter().enumerate() {
            let mut partitions = Vec::with_capacity(asked.partitions.len());
            for (partition, data) in asked.partitions.iter().enumerate() {
                let answer = if repeated.contains(&(&asked.name, data.partition_index)) {
                    Answer::Refused(ErrorCode::INVALID_REQUEST)
                } else {
                    let committed = request.isolation_level == READ_COMMITTED;
                    self.offset_of((slot, version), &asked.name, data, committed)
                };
                let answer = settle(answer, |search| Search {
                    topic,
                    partition,
                    ..search
                });
                if let Answer::Stored(search) = answer {
                    lookups.searches.insert(lookups.searches.len(), search);
                }
                partitions.push(partition_answer(version, data.partition_index, &answer));
            }
            let name = asked.name.clone();
            lookups.topics.push(ListOffsetsTopicResponse {
                name,
                partitions,
                ..Default::default()
            });
        }
        self.look_up(slot, lookups);
    }

    /// Asks the store for what memory cannot tell; answers where nothing is missing.
    fn look_up(&mut self, slot: u64, lookups: OffsetLookups) {
        if lookups.searches.is_empty() {
            let response = ListOffsetsResponse {
                topics: lookups.topics,
                ..Default::default()
            };
            return self.respond(slot, response, self.cluster_gate());
        }
        for (part, search) in &lookups.searches {
            self.find(slot, *part, *search);
        }
        self.offset_lookups.insert(slot, lookups);
    }

    fn find(&mut self, slot: u64, part: usize, search: Search) {
        let Search {
            log,
            from,
            timestamp,
            ..
        } = search;
        let pending = Pending::Find(ReadFor::ListOffsets { slot, part });
        self.journal.issue(
            OpKind::Find {
                log,
                from,
                timestamp,
            },
            pending,
            &mut self.effects,
        );
    }

    /// Takes what the store has found.
    pub(in crate::broker) fn timestamp_found(
        &mut self,
        slot: u64,
        part: usize,
        found: Result<Option<Found>, StorageFault>,
    ) {
        let Some(mut lookups) = self.offset_lookups.remove(&slot) else {
            return;
        };
        let Some(search) = lookups.searches.remove(&part) else {
            self.offset_lookups.insert(slot, lookups);
            return;
        };
        let answer = match found {
            Ok(Some(found)) => settle(Answer::In(found.batch, search), |search| search),
            Ok(None) => Answer::Nowhere,
            Err(_) => Answer::Refused(ErrorCode::KAFKA_STORAGE_ERROR),
        };
        if let Answer::Stored(further) = answer {
            lookups.searches.insert(part, further);
            self.offset_lookups.insert(slot, lookups);
            return self.find(slot, part, further);
        }
        let place = lookups
            .topics
            .get_mut(search.topic)
            .and_then(|topic| topic.partitions.get_mut(search.partition));
        if let Some(place) = place {
            *place = partition_answer(lookups.version, place.partition_index, &answer);
        }
        if lookups.searches.is_empty() {
            return self.look_up(slot, lookups);
        }
        self.offset_lookups.insert(slot, lookups);
    }

    fn offset_of(
        &self,
        (slot, version): (u64, i16),
        topic: &str,
        asked: &ListOffsetsPartition,
        committed: bool,
    ) -> Answer {
        if let Err(code) = self.check_topic(slot, topic) {
            return Answer::Refused(code);
        }
        if !is_known_time(version, asked.timestamp) {
            return Answer::Refused(ErrorCode::UNSUPPORTED_VERSION);
        }
        let log = self.metadata.log(topic, asked.partition_index);
        let log = log.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        let log = match log.and_then(|log| self.readable_log(log)) {
            Ok(log) => log,
            Err(code) => return Answer::Refused(code),
        };
        match asked.current_leader_epoch {
            // The client does not know, or is right.
            -1 | LEADER_EPOCH => {}
            1.. => return Answer::Refused(ErrorCode::UNKNOWN_LEADER_EPOCH),
            _ => return Answer::Refused(ErrorCode::FENCED_LEADER_EPOCH),
        }
        let limit = if committed {
            log.last_stable_offset()
        } else {
            log.high_watermark()
        };
        let at = |offset| Answer::At {
            timestamp: -1,
            offset,
        };
        match asked.timestamp {
            place::LATEST => at(limit),
            place::EARLIEST | place::EARLIEST_LOCAL => at(log.start_offset()),
            place::LATEST_TIERED | place::EARLIEST_PENDING_UPLOAD => Answer::Nowhere,
            place::MAX_TIMESTAMP => match log.max_timestamp() {
                Some(max) => by_time(log, max.timestamp, limit),
                None => Answer::Nowhere,
            },
            timestamp => by_time(log, timestamp, limit),
        }
    }
}

/// Looks in memory for the first record that is as young as wanted.
pub(in crate::broker) fn by_time(log: &PartitionLog, timestamp: i64, limit: i64) -> Answer {
    let from = log.start_offset();
    let search = Search {
        topic: 0,
        partition: 0,
        log: log.id(),
        timestamp,
        from,
        limit,
    };
    match log.find_timestamp_hot(timestamp) {
        FindHot::Cold => Answer::Stored(search),
        FindHot::Found(batch) => Answer::In(batch, search),
        FindHot::NotFound => Answer::Nowhere,
    }
}

/// Replaces [`Answer::In`] by what the batch says.
pub(in crate::broker) fn settle(answer: Answer, fill: impl Fn(Search) -> Search) -> Answer {
    match answer {
        Answer::In(batch, search) => match first_since(&batch, search) {
            Ok(Some((timestamp, offset))) if offset < search.limit => {
                Answer::At { timestamp, offset }
            }
            Ok(Some(_)) => Answer::Nowhere,
            // Its records of that time were trimmed away: look behind it.
            Ok(None) => Answer::Stored(fill(Search {
                from: batch.last.saturating_add(1),
                ..search
            })),
            Err(code) => Answer::Refused(code),
        },
        Answer::Stored(search) => Answer::Stored(fill(search)),
        other => other,
    }
}

/// Timestamp and offset of the first record in the batch that is as young as wanted. Where a
/// compressed batch cannot be opened: its first offset, and its largest timestamp.
fn first_since(batch: &StoredBatch, search: Search) -> Result<Option<(i64, i64)>, ErrorCode> {
    let corrupt = |_| ErrorCode::KAFKA_STORAGE_ERROR;
    let header = BatchHeader::parse(&batch.bytes).map_err(corrupt)?;
    let records = match RecordIter::new(&batch.bytes) {
        Err(_) if header.compression() != Compression::None => {
            return Ok(Some((header.max_timestamp, batch.base.max(search.from))));
        }
        opened => opened.map_err(corrupt)?,
    };
    for record in records {
        let record = record.map_err(corrupt)?;
        if record.timestamp >= search.timestamp && record.offset >= search.from {
            return Ok(Some((record.timestamp, record.offset)));
        }
    }
    Ok(None)
}

/// Places are known from a version on; every other negative timestamp is none.
fn is_known_time(version: i16, timestamp: i64) -> bool {
    match timestamp {
        0.. | place::LATEST | place::EARLIEST => true,
        place::MAX_TIMESTAMP => version >= 7,
        place::EARLIEST_LOCAL => version >= 8,
        place::LATEST_TIERED => version >= 9,
        place::EARLIEST_PENDING_UPLOAD => version >= 11,
        _ => false,
    }
}

fn partition_answer(
    version: i16,
    partition_index: i32,
    answer: &Answer,
) -> ListOffsetsPartitionResponse {
    let mut response = ListOffsetsPartitionResponse {
        partition_index,
        ..Default::default()
    };
    match answer {
        Answer::At { timestamp, offset } => {
            response.timestamp = *timestamp;
            response.offset = *offset;
            if version >= FIRST_WITH_EPOCHS {
                response.leader_epoch = LEADER_EPOCH;
            }
        }
        Answer::Refused(code) => response.error_code = *code,
        Answer::In(..) | Answer::Nowhere | Answer::Stored(_) => {}
    }
    response
}

/// Partitions that the request names more than once.
fn repeated(request: &ListOffsetsRequest) -> BTreeSet<(&Str, i32)> {
    let mut seen = BTreeSet::new();
    let all = request.topics.iter().flat_map(|topic| {
        topic
            .partitions
            .iter()
            .map(move |partition| (&topic.name, partition.partition_index))
    });
    all.filter(|partition| !seen.insert(*partition)).collect()
}
