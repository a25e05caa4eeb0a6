//! What a share consumer can be told, what it can be asked for, and what it answers.

use alloc::vec::Vec;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::records::RecordHeaders;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

use crate::{AcknowledgeType, Endpoint, PlainAcknowledgements, ShareGroupMetadata};

/// How records are acknowledged (`share.acknowledgement.mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcknowledgementMode {
    /// Each record by a call; all of them before the next poll.
    Explicit,
    /// All records of a poll are accepted by the next poll or commit.
    #[default]
    Implicit,
    /// By a producer, in its transaction (KIP-1289). Here they can only be released or renewed.
    Transactional,
}

/// How strictly the broker keeps to the number of records (`share.acquire.mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcquireMode {
    /// To the end of the log batch that crosses the number.
    #[default]
    BatchOptimized,
    /// Never more. Needs ShareFetch version 2; older brokers take it as the other.
    RecordLimit,
}

/// Settings of a [`ShareConsumer`](crate::ShareConsumer). Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareConsumerConfig {
    /// Brokers to begin with (`bootstrap.servers`).
    pub bootstrap: Vec<Endpoint>,
    /// `client.id`.
    pub client_id: Str,
    /// `group.id`.
    pub group_id: Str,
    /// `share.acknowledgement.mode`.
    pub acknowledgement_mode: AcknowledgementMode,
    /// `share.acquire.mode`.
    pub acquire_mode: AcquireMode,
    /// `max.poll.records`.
    pub max_poll_records: i32,
    /// `fetch.max.wait.ms`: how long the broker may wait for records.
    pub max_wait_ms: i32,
    /// `fetch.max.bytes`.
    pub max_bytes: i32,
    /// `default.api.timeout.ms`: how long a commit may take.
    pub api_timeout_ms: i64,
    /// `request.timeout.ms`: how long a broker may take to answer.
    pub request_timeout_ms: i64,
    /// How long `close` may take to say good-bye.
    pub close_timeout_ms: i64,
}

impl ShareConsumerConfig {
    /// Kafka's defaults.
    pub fn new(bootstrap: impl Into<Vec<Endpoint>>, group_id: impl Into<Str>) -> Self {
        ShareConsumerConfig {
            bootstrap: bootstrap.into(),
            client_id: "ackord-share-consumer".into(),
            group_id: group_id.into(),
            acknowledgement_mode: AcknowledgementMode::Implicit,
            acquire_mode: AcquireMode::BatchOptimized,
            max_poll_records: 500,
            max_wait_ms: 500,
            max_bytes: 52_428_800,
            api_timeout_ms: 60_000,
            request_timeout_ms: 30_000,
            close_timeout_ms: 5_000,
        }
    }
}

/// What a [`ShareConsumer`](crate::ShareConsumer) can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShareCommand {
    /// Says what becomes of a record. It is sent with the next poll or commit.
    Acknowledge {
        /// Topic id of the record.
        topic_id: Uuid,
        /// Its partition.
        partition: i32,
        /// Its offset.
        offset: i64,
        /// What becomes of it.
        kind: AcknowledgeType,
    },
    /// In transactional mode: acknowledges without a transaction what a producer has handed back
    /// ([`ProducerCommand::SendShareAcksOrFallBack`](crate::ProducerCommand::SendShareAcksOrFallBack)),
    /// and goes on as [`CommitSync`](Self::CommitSync). To be called after the commit of the
    /// producer's transaction and before the next poll; all records have to be held still.
    AcknowledgePlainly(PlainAcknowledgements),
    /// Sends what was acknowledged, gives back the other records, leaves the group and closes the
    /// connections. The last command.
    Close,
    /// Sends what was acknowledged (in implicit mode: all records) and waits for the answers.
    CommitSync,
    /// The membership, for a producer's transaction.
    GroupMetadata,
    /// Waits for records, at most so long. In implicit mode the records before are accepted.
    Poll {
        /// Milliseconds.
        timeout_ms: i64,
    },
    /// Joins the group with these topics, or changes them.
    Subscribe(Vec<Str>),
}

/// What a command of a [`ShareConsumer`](crate::ShareConsumer) gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShareOutput {
    /// One result for each partition that had acknowledgements.
    Acknowledged(Vec<AcknowledgementResult>),
    /// It is done.
    Done,
    /// The membership.
    Group(ShareGroupMetadata),
    /// Records.
    Polled(PolledRecords),
}

/// A record that this member has acquired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerRecord {
    /// Topic.
    pub topic: Str,
    /// Topic id.
    pub topic_id: Uuid,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// How often it was delivered, this time included.
    pub delivery_count: i16,
    /// Milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// Key.
    pub key: Option<Bytes>,
    /// Value; `None` is a tombstone.
    pub value: Option<Bytes>,
    /// Headers.
    pub headers: RecordHeaders,
}

/// Acquired offsets that hold no record: transaction markers, holes of compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapRange {
    /// Topic.
    pub topic: Str,
    /// Topic id.
    pub topic_id: Uuid,
    /// Partition.
    pub partition: i32,
    /// First offset.
    pub first_offset: i64,
    /// Last offset.
    pub last_offset: i64,
    /// The count with which the range was acquired.
    pub delivery_count: i16,
}

/// A partition that could not be read. What was acquired there has been given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionFault {
    /// Topic.
    pub topic: Str,
    /// Partition.
    pub partition: i32,
    /// The broker's code, or CORRUPT_MESSAGE and the like where the records cannot be decoded.
    pub code: ErrorCode,
    /// What went wrong.
    pub message: Str,
}

/// The answer to the acknowledgements of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcknowledgementResult {
    /// Topic.
    pub topic: Str,
    /// Topic id.
    pub topic_id: Uuid,
    /// Partition.
    pub partition: i32,
    /// NONE where they hold. INVALID_RECORD_STATE: the lock had run out; SHARE_SESSION_NOT_FOUND or
    /// NETWORK_EXCEPTION: the connection broke, which gave the records back.
    pub code: ErrorCode,
}

/// What a poll gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolledRecords {
    /// Records, in order for each partition.
    pub records: Vec<ConsumerRecord>,
    /// In transactional mode: offsets between them that hold no record and have to be acknowledged
    /// with them, as [`ShareAcknowledgements::from_records`](crate::ShareAcknowledgements) does.
    pub gaps: Vec<GapRange>,
    /// Partitions that could not be read.
    pub faults: Vec<PartitionFault>,
    /// Acknowledgements that went out with polls and were refused.
    pub refused: Vec<AcknowledgementResult>,
    /// The membership under which the records were acquired.
    pub group: ShareGroupMetadata,
}

impl PolledRecords {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.faults.is_empty() && self.refused.is_empty()
    }
}
