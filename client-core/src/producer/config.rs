//! What a producer can be told, what it can be asked for, and what it answers.

use alloc::vec::Vec;

use ackord_proto::records::RecordHeader;
use ackord_proto::str::Str;
use bytes::Bytes;

use crate::{
    Endpoint, PlainAcknowledgements, PreparedTxnState, ShareAcknowledgements, ShareGroupMetadata,
    TxnCompletion,
};

/// Settings of a [`Producer`](crate::Producer). Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerConfig {
    /// Brokers to begin with (`bootstrap.servers`).
    pub bootstrap: Vec<Endpoint>,
    /// `client.id`.
    pub client_id: Str,
    /// `transactional.id`: whoever initialises it last fences the others.
    pub transactional_id: Str,
    /// `transaction.timeout.ms`: the broker aborts a transaction that stays open for longer.
    pub transaction_timeout_ms: i32,
    /// `transaction.two.phase.commit.enable`: transactions can be prepared, and have no timeout; the
    /// broker has to allow it (KIP-939).
    pub two_phase_commit: bool,
    /// `delivery.timeout.ms`: how long a record may take.
    pub delivery_timeout_ms: i64,
    /// `max.block.ms`: how long any other call may take.
    pub api_timeout_ms: i64,
    /// `request.timeout.ms`: how long a broker may take to answer.
    pub request_timeout_ms: i64,
    /// `batch.size` in bytes: records that wait are put together up to this size.
    pub batch_bytes: usize,
}

impl ProducerConfig {
    /// Kafka's defaults.
    pub fn new(bootstrap: impl Into<Vec<Endpoint>>, transactional_id: impl Into<Str>) -> Self {
        ProducerConfig {
            bootstrap: bootstrap.into(),
            client_id: "ackord-producer".into(),
            transactional_id: transactional_id.into(),
            transaction_timeout_ms: 60_000,
            two_phase_commit: false,
            delivery_timeout_ms: 120_000,
            api_timeout_ms: 60_000,
            request_timeout_ms: 30_000,
            batch_bytes: 256 * 1024,
        }
    }
}

/// What a [`Producer`](crate::Producer) can be asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum ProducerCommand {
    /// Ends the open transaction; nothing of it becomes visible.
    AbortTransaction,
    /// Opens a transaction. Nothing is sent for it.
    BeginTransaction,
    /// Aborts what is open and closes the connections. The last command.
    Close,
    /// Waits for all records and acknowledgements, then makes them visible together.
    CommitTransaction,
    /// Ends the prepared transaction: commits where the state names it, else aborts (KIP-939).
    CompleteTransaction(PreparedTxnState),
    /// Ends when all records sent before it are stored.
    Flush,
    /// Fences older producers of the id, ends their transactions, fetches a producer id. First call.
    InitTransactions,
    /// The same, but keeps a transaction that a participant of two-phase commit left ongoing: it is
    /// prepared then, to be completed (KIP-939).
    InitTransactionsKeepingPrepared,
    /// Waits for all records and acknowledgements, then leaves only the end of the transaction open,
    /// for as long as it takes (KIP-939).
    PrepareTransaction,
    /// Sends a record in the open transaction.
    Send {
        /// Topic.
        topic: Str,
        /// Partition; `None` chooses by key (murmur2, as Kafka) or in turn.
        partition: Option<i32>,
        /// Key.
        key: Option<Bytes>,
        /// Value; `None` is a tombstone.
        value: Option<Bytes>,
        /// Headers.
        headers: Vec<RecordHeader>,
    },
    /// As [`SendShareAcksToTransaction`](Self::SendShareAcksToTransaction), but a broker that cannot
    /// take them into a transaction (one without KIP-1289, or below transaction version 2) is no
    /// error: they come back as [`ProducerOutput::FallenBack`], and the transaction goes on without
    /// them.
    ///
    /// They are to be acknowledged once the transaction has committed, and not at all where it has
    /// not: by [`ShareCommand::AcknowledgePlainly`](crate::ShareCommand::AcknowledgePlainly). So
    /// nothing is lost, but it is exactly once no longer: after a crash between the two the records
    /// are delivered again although their output is visible.
    SendShareAcksOrFallBack {
        /// What to acknowledge.
        acknowledgements: ShareAcknowledgements,
        /// The membership under which the records were acquired.
        group: ShareGroupMetadata,
    },
    /// Binds acknowledgements of a share group to the open transaction (KIP-1289): with the commit
    /// the records are done, with an abort they are delivered again.
    SendShareAcksToTransaction {
        /// What to acknowledge.
        acknowledgements: ShareAcknowledgements,
        /// The membership under which the records were acquired.
        group: ShareGroupMetadata,
    },
}

/// What a command of a [`Producer`](crate::Producer) gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProducerOutput {
    /// A prepared transaction was completed.
    Completed(TxnCompletion),
    /// It is done.
    Done,
    /// The broker cannot take acknowledgements into a transaction: they are not in it.
    FallenBack(PlainAcknowledgements),
    /// The transaction is prepared; by this it is completed.
    Prepared(PreparedTxnState),
    /// The record is stored; it becomes visible with the commit.
    Sent {
        /// Its partition.
        partition: i32,
        /// Its offset; -1 where the broker knew it already and no longer says where.
        offset: i64,
    },
}
