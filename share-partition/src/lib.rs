//! The delivery state of one share partition, without I/O: which record of a topic partition a share
//! group has yet to deliver, who holds it, and what became of it (KIP-932), including
//! acknowledgement inside a transaction (KIP-1289).
//!
//! A [`SharePartition`] is a plain value. It reads no clock, so every call that depends on time takes
//! the moment; it stores nothing, so every call that changes something says what to store. A whole
//! transaction, aborted at first and then committed:
//!
//! ```
//! use ackord_machine::{MonoTime, StageVerdict, StagedRange, TxnOwner};
//! use ackord_proto::{error_code::ErrorCode, str::Str};
//! use ackord_share_partition::{AcquireMode, Config, LogBatch, SharePartition, TxnOutcome};
//!
//! let at = MonoTime::from_millis;
//! let member = Str::from("member-1");
//! let mut partition = SharePartition::new(Config::default(), 0);
//!
//! // A fetch at offset 0 has read one batch of ten records; the member asks for 500.
//! let log = [LogBatch { base: 0, last: 9 }];
//! let got = partition.acquire(at(0), &member, &log, 500, 500, AcquireMode::BatchOptimized);
//! assert_eq!((got[0].first, got[0].last, got[0].delivery_count), (0, 9, 1));
//!
//! // Inside its transaction the member accepts all ten. Nothing expires from here on.
//! let mut accept = StagedRange {
//!     first_offset: 0,
//!     last_offset: 9,
//!     acknowledge_type: 1,
//!     delivery_count: Some(1),
//! };
//! let first = TxnOwner { producer_id: 7, producer_epoch: 0, ordinal: 1 };
//! let verdict = partition.stage(at(10), Some(&member), first, ErrorCode::NONE, &[accept]);
//! assert!(matches!(verdict, StageVerdict::Staged(_)));
//! assert_eq!(partition.next_expiry(), None);
//!
//! // The transaction is aborted: the records are there for anybody, at once.
//! let held: Vec<_> = partition.pending_acks(0, 9).collect();
//! let change = partition.resolve_ranges(&held, TxnOutcome::Abort { queue_open: false });
//! assert!(change.available_again);
//! assert_eq!(partition.next_fetch_offset(), 0);
//!
//! // The second delivery is committed, and the start offset moves.
//! let got = partition.acquire(at(30), &member, &log, 500, 500, AcquireMode::BatchOptimized);
//! accept.delivery_count = Some(got[0].delivery_count);
//! let second = TxnOwner { producer_id: 7, producer_epoch: 1, ordinal: 2 };
//! let verdict = partition.stage(at(40), Some(&member), second, ErrorCode::NONE, &[accept]);
//! assert!(matches!(verdict, StageVerdict::Staged(_)));
//! let held: Vec<_> = partition.pending_acks(0, 9).collect();
//! let change = partition.resolve_ranges(&held, TxnOutcome::Commit);
//! assert!(change.start_moved);
//! assert_eq!(partition.start_offset(), 10);
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `record_state` | states, events, the table of transitions |
//! | `window` | ranges of equal records between start and end offset |
//! | `share_partition` | offsets, loading, how a change is made up |
//! | `acquire` | a fetch |
//! | `in_flight_batches`, `pace` | batches that fail again and again are taken apart |
//! | `acknowledge`, `transactional_mode` | plain acknowledgement |
//! | `transaction` | stage and outcome |
//! | `lock_expiry` | records come back, the delivery limit |
//! | `dead_letter` | records that wait for their copies in the dead letter queue |
//! | `archive` | records that can never be delivered |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod acknowledge;
mod acquire;
mod archive;
mod counts;
mod dead_letter;
mod in_flight_batches;
mod lock_expiry;
mod pace;
mod record_state;
mod share_partition;
mod transaction;
mod transactional_mode;
mod types;
mod window;

pub use record_state::{InvalidTransition, RecordEvent, RecordState};
pub use share_partition::SharePartition;
pub use types::{
    AckError, AckRange, AcquireMode, Acquired, Change, Config, DeadLetter, DeadLetterCause,
    LogBatch, RangeView, Span, StateBatch, TxnOutcome,
};
