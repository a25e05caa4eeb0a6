//! What all sans-IO machines of Ackord share.
//!
//! A *machine* here is a plain struct that decides. It never waits, sleeps, locks, logs or looks at
//! a clock. Whoever embeds it does three things, again and again:
//!
//! 1. **Tell it what happened**, with the time at which it happened: a frame came in, a storage
//!    operation ended, a deadline may have passed. Every `handle` takes a [`Now`] first. Handling
//!    decides everything; when it returns, the machine's mind is made up.
//! 2. **Carry out what it asks for**: pop its outputs until there are none. Popping decides nothing,
//!    so outputs may be popped after each input or after many. A [`StorageOp`] is answered by
//!    exactly one [`Completion`]; a message for another machine travels as an [`Envelope`].
//! 3. **Come back in time**: ask for the next [`Deadline`] and call again when the monotonic clock
//!    has reached it. Calling too early is harmless.
//!
//! Because nothing else goes in, a run is a list of `(Now, input)`: the same list gives the same
//! outputs, byte for byte. That is what the scripts, the simulator and every replay rely on.
//!
//! ```
//! use ackord_machine::{Deadline, DeadlineReason, MonoTime, Timers};
//!
//! let mut timers = Timers::new();
//! timers.arm("lock", MonoTime::from_millis(30_000));
//! timers.arm("fetch", MonoTime::from_millis(500));
//! assert_eq!(timers.next(), Some((MonoTime::from_millis(500), &"fetch")));
//! assert_eq!(timers.pop_due(MonoTime::from_millis(499)), None);
//! assert_eq!(timers.pop_due(MonoTime::from_millis(500)), Some("fetch"));
//! let deadline = Deadline { at: MonoTime::from_millis(30_000), reason: DeadlineReason::AcquisitionLock };
//! assert_eq!(deadline.to_string(), "0:00:30.000000 AcquisitionLock");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod deadline;
mod entropy;
mod envelope;
mod limits;
mod misuse;
pub mod planted;
mod storage;
mod time;
mod timers;

pub use deadline::{Deadline, DeadlineReason};
pub use entropy::Entropy;
pub use envelope::{
    Body, Envelope, PendingAck, ResolveShareAcks, Role, StageShareAcks, StageShareAcksReply,
    StageVerdict, StagedRange, TxnOwner,
};
pub use limits::Limits;
pub use misuse::ApiMisuse;
pub use storage::{
    Completion, Found, LoadDetail, LoadedLog, LogAppend, LogExtent, LogId, OpId, OpKind, Outcome,
    StorageFault, StorageOp, StoredBatch, StoredCheckpoint,
};
pub use time::{MonoTime, Now, WallTime};
pub use timers::Timers;
