//! The script language: what each step means.
//!
//! A script is a text file, one step a line (or several, apart by `;`). The first comment is its
//! title. See `scripts/README.md` for the steps with examples.

use ackord_proto::error_code::ErrorCode;

use crate::acl_admin::AclAdmin;
use crate::consumer_groups::ConsumerVerb;
use crate::grammar;
pub use crate::needs::Needs;
use crate::offset_acks::OffsetAcks;
use crate::txn_admin::TxnAdmin;

/// Names with values.
pub type Pairs = Vec<(String, String)>;

/// A whole script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The first comment.
    pub title: String,
    /// `# kafka: no, REASON`: why it does not hold on Apache Kafka.
    pub not_on_kafka: Option<String>,
    /// In order.
    pub lines: Vec<Line>,
}

/// One step and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// From 1.
    pub number: usize,
    /// The step as it was written.
    pub text: String,
    /// What it means.
    pub step: Step,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `t+30s`: time passes.
    Advance {
        /// Milliseconds.
        millis: u64,
    },
    /// Configurations of the broker; before everything else.
    Broker(Pairs),
    /// A client sends a request, or does something with its connection.
    Client {
        /// Its name.
        client: String,
        /// What it does.
        verb: Verb,
        /// What has to come back.
        expected: Expected,
    },
    /// The broker ends at once.
    Crash(Keep),
    /// A topic is deleted.
    DeleteTopic {
        /// The topic.
        name: String,
        /// What it is answered with.
        code: ErrorCode,
    },
    /// Something has to be true now.
    Expect(Fact),
    /// Configurations of a group.
    Group {
        /// The group.
        name: String,
        /// Its configurations.
        configs: Pairs,
    },
    /// Bounds of the broker; before everything else.
    Limits(Pairs),
    /// The broker starts again.
    Restart {
        /// Moves the wall clock, in milliseconds.
        wall_shift_ms: i64,
    },
    /// Storage is held, released or broken.
    Storage(StorageStep),
    /// A topic is created.
    Topic {
        /// The topic.
        name: String,
        /// Number of partitions.
        partitions: i32,
        /// Its configurations.
        configs: Pairs,
    },
}

/// What survives a crash of the storage operations that have not completed. Parts of one append
/// always share their fate, and what follows another in `after` never outlives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All that were issued.
    AllIssued,
    /// None: only what completed.
    Completed,
    /// The first so many.
    Operations(usize),
}

/// A step on storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageStep {
    /// Records of a partition go, as where a log cleaner ran.
    Compact {
        /// The partition.
        partition: TopicPartition,
        /// First and last offset of what goes.
        gone: Vec<(i64, i64)>,
    },
    /// Complete so many operations although storage is held.
    Complete(usize),
    /// The next append fails.
    FailNextAppend(AppendFault),
    /// Complete nothing until released.
    Hold,
    /// Complete everything again.
    Release,
}

/// How an append fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendFault {
    /// What the store says.
    pub fault: ackord_machine::StorageFault,
    /// Whether it is in the log all the same; only with `Indeterminate`.
    pub landed: bool,
}

/// A partition by the name of its topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TopicPartition {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
}

impl std::fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// Offsets with acknowledge types, one for all or one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckSpan {
    /// First offset.
    pub first: i64,
    /// Last offset.
    pub last: i64,
    /// 0 gap, 1 accept, 2 release, 3 reject, 4 renew.
    pub types: Vec<i8>,
}

/// Acknowledgements by partition.
pub type AckSpans = Vec<(TopicPartition, Vec<AckSpan>)>;

/// A producer epoch that is not the client's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochOption {
    /// This one.
    Absolute(i16),
    /// The client's plus this.
    Relative(i16),
}

/// Where a request differs from what the client knows of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// `txn=`
    pub transactional_id: Option<String>,
    /// `pid=`
    pub producer_id: Option<i64>,
    /// `epoch=`
    pub epoch: Option<EpochOption>,
}

/// Where a stage differs from what the client knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageOptions {
    /// `v0`: without member and delivery counts.
    pub version: Option<i16>,
    /// `draft`: as the newest draft of the KIP has it, key 95.
    pub draft: bool,
    /// `count=`: for all ranges.
    pub count: Option<i16>,
    /// `member=`
    pub member: Option<String>,
    /// `member-epoch=`
    pub member_epoch: Option<EpochOption>,
}

/// What an administrator asks about groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupAdmin {
    /// AlterShareGroupOffsets.
    AlterOffsets {
        /// Share group.
        group: String,
        /// Its new start offsets.
        offsets: Vec<(TopicPartition, i64)>,
    },
    /// DeleteGroups.
    DeleteGroups(Vec<String>),
    /// DeleteShareGroupOffsets.
    DeleteOffsets {
        /// Share group.
        group: String,
        /// Topics.
        topics: Vec<String>,
    },
    /// DescribeGroups, which is for classic groups.
    DescribeClassic(Vec<String>),
    /// ConsumerGroupDescribe.
    DescribeConsumer(Vec<String>),
    /// ShareGroupDescribe.
    DescribeGroups(Vec<String>),
    /// DescribeShareGroupOffsets.
    DescribeOffsets {
        /// Share group.
        group: String,
        /// Partitions; none: all that the group has.
        partitions: Vec<TopicPartition>,
    },
    /// ListGroups.
    ListGroups {
        /// `state:NAME`
        states: Vec<String>,
        /// `type:NAME`
        types: Vec<String>,
    },
}

/// What the records of a batch have besides their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordOptions {
    /// `key=`: of all of them; the value `null` is a tombstone then.
    pub key: Option<String>,
    /// `time=`: milliseconds after (or before) the start of the script.
    pub time_ms: i64,
}

/// What an InitProducerId asks of two-phase commit (KIP-939).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TwoPhase {
    /// `2pc`: the producer takes part; its transactions have no timeout.
    pub enable: bool,
    /// `keep`: an ongoing transaction stays.
    pub keep: bool,
}

impl TwoPhase {
    /// The request says something of it, so it has to be of version 6.
    pub(crate) fn is_asked(self) -> bool {
        self.enable || self.keep
    }
}

/// What a client does.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    /// ShareAcknowledge.
    Ack(AckSpans),
    /// AddPartitionsToTxn, as clients before transaction version 2 do.
    AddPartitions {
        /// `verify`: none is added, only asked for, as leaders do in version 5.
        verify: bool,
        /// Partitions.
        partitions: Vec<TopicPartition>,
        /// Whose transaction.
        identity: Identity,
    },
    /// AddShareAcksToTxn.
    AddShareAcks {
        /// Share group.
        group: String,
        /// Partitions that will be acknowledged.
        partitions: Vec<TopicPartition>,
        /// Whose transaction.
        identity: Identity,
    },
    /// Something about ACLs.
    AclAdmin(AclAdmin),
    /// Takes the answer of a request that waited.
    Answer,
    /// Begins a transaction; nothing is sent.
    Begin,
    /// Ends the share session.
    CloseSession,
    /// The next request of the share session has this epoch; nothing is sent.
    SessionEpoch(i32),
    /// Becomes a second instance of another client's producer and member.
    Copy(String),
    /// CreatePartitions.
    CreatePartitions {
        /// Topic.
        topic: String,
        /// How many there are to be.
        count: i32,
    },
    /// DeleteRecords.
    DeleteRecords {
        /// Partition.
        partition: TopicPartition,
        /// First offset to keep; -1: the high watermark.
        before: i64,
    },
    /// DeleteShareGroupState.
    DeleteState {
        /// Share group.
        group: String,
        /// Partition.
        partition: TopicPartition,
    },
    /// Something with a consumer group.
    Consumer(ConsumerVerb),
    /// The connection is cut.
    Disconnect,
    /// EndTxn.
    EndTxn {
        /// Commit or abort.
        commit: bool,
        /// 5 takes the next epoch over; below it stays.
        version: i16,
        /// Whose transaction.
        identity: Identity,
    },
    /// ShareFetch.
    Fetch {
        /// Partitions.
        partitions: Vec<TopicPartition>,
        /// Acknowledgements that ride on it.
        acks: AckSpans,
        /// `max=`: records.
        max_records: i32,
        /// `wait=`: milliseconds.
        max_wait_ms: i32,
        /// `exact`: never more than `max` (KIP-1206).
        exact: bool,
    },
    /// Asking about groups, or changing them from outside.
    GroupAdmin(GroupAdmin),
    /// Asking about transactions.
    TxnAdmin(TxnAdmin),
    /// ShareGroupHeartbeat of a member.
    Heartbeat {
        /// `epoch=`: differs from the member's own.
        epoch: Option<EpochOption>,
        /// Topics to which it subscribes from now on; none: as before.
        topics: Vec<String>,
    },
    /// InitProducerId.
    Init {
        /// Transactional id.
        transactional_id: String,
        /// `transaction.timeout.ms`
        timeout_ms: i32,
        /// `2pc`, `keep`
        two_phase: TwoPhase,
    },
    /// ShareGroupHeartbeat until partitions are assigned.
    Join {
        /// Share group.
        group: String,
        /// Subscribed topics.
        topics: Vec<String>,
    },
    /// ShareGroupHeartbeat with epoch -1.
    Leave,
    /// Produce without a transaction.
    Produce {
        /// Partition.
        partition: TopicPartition,
        /// Values of one batch.
        values: Vec<String>,
        /// What its records have besides.
        options: RecordOptions,
    },
    /// Fetch, read_committed, from the start.
    Read {
        /// Partitions of one request.
        partitions: Vec<TopicPartition>,
        /// `wait=`: milliseconds.
        max_wait_ms: i32,
        /// `from=`: offset.
        from: i64,
    },
    /// The next connection is opened by somebody else than `User:ANONYMOUS`; one that is open is cut.
    Opens {
        /// `as`: `User:alice`.
        principal: String,
        /// `from`: its address.
        host: Option<String>,
    },
    /// The last request once more, as it was.
    Repeat,
    /// Produce in a transaction.
    Send {
        /// Partition.
        partition: TopicPartition,
        /// Values of one batch.
        values: Vec<String>,
        /// 12 and later add the partition to the transaction.
        version: i16,
        /// Whose transaction.
        identity: Identity,
    },
    /// TxnShareAcknowledge.
    Stage {
        /// Share group.
        group: String,
        /// Client that fetched the records.
        member: String,
        /// Acknowledgements.
        acks: AckSpans,
        /// Deviations.
        options: StageOptions,
        /// Whose transaction.
        identity: Identity,
    },
    /// TxnOffsetCommit that acknowledges records of a share group.
    OffsetAcks(OffsetAcks),
    /// WriteShareGroupState.
    WriteState {
        /// Share group.
        group: String,
        /// Partition.
        partition: TopicPartition,
        /// First offset.
        first: i64,
        /// Last offset.
        last: i64,
        /// Delivery state.
        state: i8,
    },
    /// WriteTxnMarkers, as an operator sends it.
    WriteMarkers {
        /// Client whose producer it ends.
        producer: String,
        /// Partition.
        partition: TopicPartition,
        /// Commit or abort.
        commit: bool,
        /// Differs from the producer's epoch.
        identity: Identity,
    },
}

/// Offsets that a fetch has to acquire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcquiredSpan {
    /// The partition; the only one of the request where none is named.
    pub partition: Option<TopicPartition>,
    /// First offset.
    pub first: i64,
    /// Last offset.
    pub last: i64,
    /// Delivery count, where it matters.
    pub count: Option<i16>,
}

/// What follows `->`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// These records and no others, without an error.
    Acquired(Vec<AcquiredSpan>),
    /// This assignment of a member.
    Assigned(String),
    /// Whatever it is.
    Anything,
    /// The connection closes instead of an answer.
    Closed,
    /// This code at the top; of every part where the answer has no top.
    Code(ErrorCode),
    /// A member of the consumer protocol: its epoch, and its partitions where it is told of them.
    Member {
        /// The epoch.
        epoch: i32,
        /// As the answer lists them; `None`: it says nothing of them.
        has: Option<Vec<TopicPartition>>,
    },
    /// A generation, and the clients that the leader is told of.
    Joined {
        /// The generation.
        generation: i32,
        /// By name; none for a member that does not lead.
        leads: Vec<String>,
    },
    /// No records, no error.
    Nothing,
    /// These committed offsets; -1 for none.
    Offsets(Vec<(TopicPartition, i64)>),
    /// No error at the top, these for these partitions, none for others.
    Parts(Vec<(TopicPartition, ErrorCode)>),
    /// No error, and an answer about groups that reads like this.
    Says(String),
    /// No error anywhere.
    Success,
    /// These values and no others of each partition.
    Values(Vec<(TopicPartition, Vec<String>)>),
    /// No answer yet.
    Waiting,
}

/// States of some offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateItem {
    /// First offset.
    pub first: i64,
    /// Last offset.
    pub last: i64,
    /// Kafka's name, TX_PENDING, or DONE: acknowledged or archived.
    pub state: String,
    /// Delivery count, where it matters.
    pub count: Option<i16>,
}

/// Something that has to be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A figure of the metrics page.
    Metric {
        /// Its name.
        name: String,
        /// Labels that it must have; of several figures that have them, the sum.
        labels: Vec<(String, String)>,
        /// The figure; of a distribution, how many were measured.
        value: i64,
    },
    /// No transaction is ongoing or prepared, no acknowledgement pending.
    NothingOpen,
    /// The start offset (SPSO) of a share partition.
    Start {
        /// Share group.
        group: String,
        /// Partition.
        partition: TopicPartition,
        /// First offset that is not done.
        offset: i64,
    },
    /// Delivery states.
    States {
        /// Share group.
        group: String,
        /// Partition.
        partition: TopicPartition,
        /// Offsets that are not named may be in any state.
        items: Vec<StateItem>,
    },
    /// State of a transactional id.
    Transaction {
        /// Transactional id.
        id: String,
        /// Kafka's name of the state.
        state: String,
    },
    /// Values that a read_committed consumer gets from the start.
    Visible {
        /// Partition.
        partition: TopicPartition,
        /// In order.
        values: Vec<String>,
    },
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// A sentence with the number of the first bad line.
    pub fn parse(text: &str) -> Result<Script, String> {
        grammar::script(text)
    }
}
