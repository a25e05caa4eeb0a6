//! What a sub-machine asks of whoever embeds it.
//!
//! A sub-machine changes itself at once and appends what changed; it does not wait. Whoever embeds
//! it holds replies and envelopes back until the appends before them are durable, so nobody outside
//! sees a state that a crash could take back.

use alloc::vec::Vec;

use ackord_machine::{Envelope, LogId, MonoTime};
use ackord_proto::coordinator_records::{RecordKey, RecordValue, encode_key, encode_value};
use bytes::Bytes;

/// Where an answer belongs: the slot of a request, and the part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// The request.
    pub slot: u64,
    /// Which part of the request, by the order in which the request lists them.
    pub part: u32,
}

/// One record of an internal topic: encoded key and value; no value is a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRecord {
    /// Record type and key.
    pub key: Bytes,
    /// Value version and value.
    pub value: Option<Bytes>,
}

impl StateRecord {
    /// A record of key and value, which comes with its version; `None` where it cannot be written,
    /// since a string is longer than a record can say.
    pub(crate) fn encode<K: RecordKey, V: RecordValue>(
        key: &K,
        value: Option<(&V, i16)>,
    ) -> Option<StateRecord> {
        let encoded = value.map(|(value, version)| encode_value(value, version));
        Some(StateRecord {
            key: encode_key(key).ok()?,
            value: encoded.transpose().ok()?,
        })
    }
}

/// The producer in whose transaction records are appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProducerEpoch {
    /// Producer id.
    pub id: i64,
    /// Producer epoch.
    pub epoch: i16,
}

/// Something that operators want to have counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    /// A transaction with share acknowledgements is aborted, for whatever reason.
    ShareAbort,
    /// It is aborted because it took longer than its timeout.
    ShareTimeout,
}

/// A duration that operators want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measured {
    /// Until a committed transaction with share acknowledgements is complete.
    ShareCommit,
    /// Until the decision on a transaction with share acknowledgements is durable.
    SharePrepare,
}

/// One thing a sub-machine wants done. `R` is the machine's reply to a client.
#[derive(Clone, Debug, PartialEq)]
pub enum Output<R> {
    /// Append the records as one batch to an internal log, in a transaction where a producer is
    /// named.
    Append {
        /// The log.
        log: LogId,
        /// The records.
        records: Vec<StateRecord>,
        /// The transaction they belong to.
        producer: Option<ProducerEpoch>,
    },
    /// What follows must not become durable before what came before: a new storage operation.
    Barrier,
    /// Count it.
    Count(Counted),
    /// Note how long it took from `since` until everything appended so far is durable.
    Measure {
        /// Which duration.
        what: Measured,
        /// Its begin.
        since: MonoTime,
    },
    /// Answer a client once everything appended so far is durable.
    Reply {
        /// The request and its part.
        ticket: Ticket,
        /// The answer.
        reply: R,
    },
    /// Pass a message on.
    Send {
        /// The message.
        envelope: Envelope,
        /// `false`: when everything appended so far is durable. `true`: at once where whatever it
        /// causes becomes durable after it (one ordered journal); else as `false`.
        chained: bool,
    },
}

/// Outputs in the order in which they were made.
#[derive(Clone, Debug)]
pub struct Outbox<R> {
    outputs: Vec<Output<R>>,
}

impl<R> Default for Outbox<R> {
    fn default() -> Self {
        Outbox {
            outputs: Vec::new(),
        }
    }
}

impl<R> Outbox<R> {
    /// An empty one.
    pub fn new() -> Self {
        Outbox::default()
    }

    /// See [`Output::Append`]. No records: nothing happens.
    pub fn append(
        &mut self,
        log: LogId,
        records: Vec<StateRecord>,
        producer: Option<ProducerEpoch>,
    ) {
        if !records.is_empty() {
            self.outputs.push(Output::Append {
                log,
                records,
                producer,
            });
        }
    }

    /// Appends before everything that was asked for so far. No records: nothing happens.
    pub fn append_first(&mut self, log: LogId, records: Vec<StateRecord>) {
        if !records.is_empty() {
            let producer = None;
            let append = Output::Append {
                log,
                records,
                producer,
            };
            self.outputs.insert(0, append);
        }
    }

    /// See [`Output::Barrier`].
    pub fn barrier(&mut self) {
        self.outputs.push(Output::Barrier);
    }

    /// See [`Output::Count`].
    pub fn count(&mut self, what: Counted) {
        self.outputs.push(Output::Count(what));
    }

    /// See [`Output::Measure`].
    pub fn measure(&mut self, what: Measured, since: MonoTime) {
        self.outputs.push(Output::Measure { what, since });
    }

    /// See [`Output::Reply`].
    pub fn reply(&mut self, ticket: Ticket, reply: R) {
        self.outputs.push(Output::Reply { ticket, reply });
    }

    /// Sends when everything before is durable.
    pub fn send(&mut self, envelope: Envelope) {
        self.outputs.push(Output::Send {
            envelope,
            chained: false,
        });
    }

    /// Sends at once where the order of the journal makes that safe.
    pub fn send_chained(&mut self, envelope: Envelope) {
        self.outputs.push(Output::Send {
            envelope,
            chained: true,
        });
    }

    /// Whether anything is appended.
    pub fn appends(&self) -> bool {
        self.outputs
            .iter()
            .any(|output| matches!(output, Output::Append { .. }))
    }

    /// Takes all outputs.
    pub fn take(&mut self) -> Vec<Output<R>> {
        core::mem::take(&mut self.outputs)
    }
}
