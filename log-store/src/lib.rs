//! The embedded store: every log of a broker in one journal.
//!
//! [`LogStore`] answers each [`StorageOp`](ackord_machine::StorageOp) with one
//! [`Completion`](ackord_machine::Completion). Two threads work, one
//! writes, one reads; a third tidies up behind them.
//!
//! - **Group commit.** The writer takes all operations that wait at that moment into one
//!   write and makes it durable with one sync. A chain of dependent appends costs one sync.
//! - **One journal.** Operations become durable in the order in which they were submitted, over all
//!   logs, so `StorageOp::after` holds by itself: a crash leaves a prefix.
//! - **Reads never stop commits.** They look at the state of the last finished group, so they never
//!   show what is not durable yet, and they wait only for what was submitted before them for the
//!   same log.
//!
//! ```
//! use std::sync::mpsc;
//! use ackord_log_store::{Durability, LogStore, StoreEvent};
//! use ackord_machine::{OpId, OpKind, Outcome, StorageOp};
//!
//! let (events, inbox) = mpsc::channel();
//! let store = LogStore::open("unused".as_ref(), Durability::Memory, move |event| {
//!     let _ = events.send(event);
//! })?;
//! store.submit(StorageOp { id: OpId(1), after: None, kind: OpKind::List });
//! let Ok(StoreEvent::Completed(completion)) = inbox.recv() else { panic!("the store is gone") };
//! assert_eq!(completion.outcome, Ok(Outcome::Listed(vec![])));
//! # Ok::<(), ackord_log_store::OpenError>(())
//! ```
#![forbid(unsafe_code)]

mod disk;
mod engine;
mod error;
mod keys;
mod memory;
mod plan;
mod queue;
mod reader;
mod store;
mod writer;

pub use error::OpenError;
pub use store::{Durability, LogStore, StoreEvent, StoreStats};
