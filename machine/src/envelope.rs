//! Messages between machines.
//!
//! Machines that may live on different nodes talk only through envelopes. The bodies are Kafka's own
//! requests between brokers wherever there is one; ours are only those that carry a staged
//! acknowledgement between the share coordinator and the leader of the partition (KIP-1289). Whoever
//! routes them may delay, lose, repeat or reorder them: a request is sent again until it is answered,
//! and every handler takes a repeat.
//!
//! A share coordinator numbers what it sends, copies too, and an answer carries the number of the
//! copy that it answers. So a leader can tell an old copy of a stage from a new one
//! ([`StageShareAcks`]).

use alloc::vec::Vec;
use core::fmt;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse, InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse, ReadShareGroupStateRequest, ReadShareGroupStateResponse,
    WriteShareGroupStateRequest, WriteShareGroupStateResponse, WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
};
use ackord_proto::str::Str;

use crate::LogId;

/// Who a message is from or for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The group coordinator of a share group.
    Group(Str),
    /// The leader of a partition: its log, and the share partitions of all groups on it.
    Leader(LogId),
    /// The share coordinator of one `__share_group_state` partition.
    Sgc(i32),
    /// The transaction coordinator of one `__transaction_state` partition.
    Tc(i32),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Group(group) => write!(f, "group({group})"),
            Role::Leader(log) => write!(f, "leader({log})"),
            Role::Sgc(partition) => write!(f, "sgc({partition})"),
            Role::Tc(partition) => write!(f, "tc({partition})"),
        }
    }
}

/// A request or an answer on its way between two machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// Sender.
    pub from: Role,
    /// Receiver.
    pub to: Role,
    /// Chosen by the sender of the request, returned in the answer.
    pub correlation: u64,
    /// What it says.
    pub body: Body,
}

/// What an envelope says. Names that end in `Reply` answer the name before them.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A leader or share coordinator registers or verifies partitions in a transaction (KIP-890).
    AddPartitionsToTxn(AddPartitionsToTxnRequest),
    /// With the ordinal of the transaction, which its markers carry too.
    AddPartitionsToTxnReply {
        /// Kafka's answer.
        response: AddPartitionsToTxnResponse,
        /// Tells this transaction from others of the same producer epoch; 0 where there is none.
        ordinal: i64,
        /// The pair under which the transaction goes on: not the caller's where InitProducerId kept
        /// it (KIP-939). `None` where none is ongoing.
        owner: Option<TxnOwner>,
        /// The transaction is of version 2: the next one of this producer has another epoch, so what
        /// comes late cannot be taken for a part of that.
        bumps_at_end: bool,
    },
    /// A share coordinator that was read back asks a leader what it holds for transactions.
    ListShareAcks {
        /// Share group.
        group: Str,
    },
    /// What the leader holds; nothing, where it has not loaded the share partition.
    ListShareAcksReply(Vec<PendingAck>),
    /// A group coordinator has share partitions forgotten.
    DeleteShareGroupState(DeleteShareGroupStateRequest),
    /// Kafka's answer.
    DeleteShareGroupStateReply(DeleteShareGroupStateResponse),
    /// A group coordinator has share partitions begun.
    InitializeShareGroupState(InitializeShareGroupStateRequest),
    /// Kafka's answer.
    InitializeShareGroupStateReply(InitializeShareGroupStateResponse),
    /// A leader loads a share partition.
    ReadShareGroupState(ReadShareGroupStateRequest),
    /// Kafka's answer, with the ranges that transactions hold.
    ReadShareGroupStateReply {
        /// Kafka's answer.
        response: ReadShareGroupStateResponse,
        /// Ranges in TX_PENDING with their owners.
        pending: Vec<PendingAck>,
        /// Everything that the share coordinator has sent up to this number is in the answer.
        newest: u64,
    },
    /// A share coordinator tells a leader how a transaction ended.
    ResolveShareAcks(ResolveShareAcks),
    /// The leader has done so.
    ResolveShareAcksReply,
    /// A share coordinator asks a leader to hold records for a transaction.
    StageShareAcks(StageShareAcks),
    /// The leader's verdict.
    StageShareAcksReply(StageShareAcksReply),
    /// A leader stores what became of its records.
    WriteShareGroupState(WriteShareGroupStateRequest),
    /// Kafka's answer.
    WriteShareGroupStateReply(WriteShareGroupStateResponse),
    /// A transaction coordinator ends a transaction.
    WriteTxnMarkers {
        /// Kafka's request.
        request: WriteTxnMarkersRequest,
        /// The transaction that the markers end.
        ordinal: i64,
    },
    /// Kafka's answer.
    WriteTxnMarkersReply(WriteTxnMarkersResponse),
}

/// The transaction that holds a record: its producer id, the epoch under which it staged, and which
/// transaction of the transactional id it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TxnOwner {
    /// Producer id.
    pub producer_id: i64,
    /// Producer epoch of the stage.
    pub producer_epoch: i16,
    /// As the transaction coordinator counts them: with transaction version 1 several transactions
    /// have one epoch. 0 where it is not known.
    pub ordinal: i64,
}

impl TxnOwner {
    /// Whether both name one transaction. Where an ordinal is unknown, producer and epoch decide.
    pub fn is_same(self, other: TxnOwner) -> bool {
        let known = self.ordinal != 0 && other.ordinal != 0;
        self.producer_id == other.producer_id
            && self.producer_epoch == other.producer_epoch
            && (!known || self.ordinal == other.ordinal)
    }

    /// Whether both have one producer id and epoch.
    pub fn is_same_producer(self, other: TxnOwner) -> bool {
        (self.producer_id, self.producer_epoch) == (other.producer_id, other.producer_epoch)
    }
}

impl fmt::Display for TxnOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "producer {} epoch {}",
            self.producer_id, self.producer_epoch
        )
    }
}

/// A range that a transaction holds in TX_PENDING.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingAck {
    /// First offset.
    pub first_offset: i64,
    /// Last offset.
    pub last_offset: i64,
    /// 0 gap, 1 accept, 3 reject: what commit makes of it.
    pub acknowledge_type: i8,
    /// How often the records were delivered.
    pub delivery_count: i16,
    /// The transaction.
    pub owner: TxnOwner,
    /// A reject whose commit sends the records to the dead letter queue of the group (KIP-1191).
    pub dead_letter: bool,
}

/// One range of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagedRange {
    /// First offset.
    pub first_offset: i64,
    /// Last offset.
    pub last_offset: i64,
    /// 0 gap, 1 accept, 3 reject.
    pub acknowledge_type: i8,
    /// The count with which the range was acquired; `None` where the caller does not say (v0).
    pub delivery_count: Option<i16>,
}

/// Asks a leader to move records from ACQUIRED to TX_PENDING, all or none.
///
/// The correlation is a number of the share coordinator that rises with everything it sends about
/// the share partition. A leader drops a stage whose number is not above all that it has taken of
/// that share partition: it is a copy, and its sender asks no more, or has asked again.
#[derive(Clone, Debug, PartialEq)]
pub struct StageShareAcks {
    /// Share group.
    pub group: Str,
    /// The transaction.
    pub owner: TxnOwner,
    /// The member that acquired the records; `None` accepts any (v0).
    pub member: Option<Str>,
    /// Ascending, without overlap.
    pub ranges: Vec<StagedRange>,
    /// An error of the member itself (unknown, stale epoch). It counts only where the stage is not
    /// the repetition of one that succeeded.
    pub member_error: ErrorCode,
}

/// A leader's verdict on a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageShareAcksReply {
    /// What happened.
    pub verdict: StageVerdict,
    /// Where it was not refused: all that the stage named, as the leader holds it now. What of it is
    /// stored, the share coordinator knows: the answer to an earlier copy may have been lost.
    pub held: Vec<PendingAck>,
    /// State epoch under which the leader holds the share partition.
    pub state_epoch: i32,
    /// Leader epoch of the share partition.
    pub leader_epoch: i32,
}

/// How a stage ended at the leader.
#[derive(Clone, Debug, PartialEq)]
pub enum StageVerdict {
    /// Held before by the same transaction with the same types: nothing to store.
    Repeated,
    /// Refused; nothing changed.
    Refused {
        /// Kafka's code.
        code: ErrorCode,
        /// What to do about it, for people.
        message: Str,
        /// The code speaks of the member and stands for the whole request.
        whole_request: bool,
    },
    /// Held now; the ranges to store, with their delivery counts.
    Staged(Vec<PendingAck>),
}

/// Tells a leader that a transaction has ended, durably. It names what it ends, so a copy that comes
/// late or twice finds nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolveShareAcks {
    /// Share group.
    pub group: Str,
    /// What was stored as pending and has ended.
    pub ended: Vec<PendingAck>,
    /// Commit or abort of `ended`.
    pub commit: bool,
    /// What was never stored, if the leader holds it (the counts mean nothing): it goes back to its
    /// members. Considered after `ended`.
    pub returned: Vec<PendingAck>,
    /// The owners of `returned` may still stage: a copy with a number that is not above all that the
    /// leader has taken is dropped.
    pub in_order: bool,
}
