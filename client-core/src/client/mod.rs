//! The client for any async runtime: handles whose methods are futures, over the machines of this
//! crate.
//!
//! An adapter implements [`Runtime`] and names the handles with it; applications use the adapter's
//! names. Each handle owns one task that drives its machine; nothing is contacted before the first
//! call.
//!
//! # Dropped futures
//!
//! Every future may be dropped at any point, as `select` does. A command that was handed over goes
//! on: a commit whose future was dropped still commits, and a second `commit_transaction` waits for
//! the same end (where it says that no transaction is open, the first has committed). So does a
//! second `init_transactions` (where it says that they are initialised already, the first has done
//! it). A [`poll`](ShareConsumer::poll) is taken back instead: records that nobody has seen go to the
//! next poll, and are neither lost nor accepted.
//!
//! # Ends
//!
//! `close` waits for a clean end: a producer aborts what is open, a share consumer sends what was
//! acknowledged, gives back the rest and leaves its group. A handle that is only dropped leaves its
//! transaction to `transaction.timeout.ms` and its membership to the session timeout of the group.
//!
//! # Errors
//!
//! [`ClientError`] says by its variant what to do next: abort and go on, close and begin again,
//! stop because somebody else took over, repeat, or repair the application.

mod admin;
mod clock;
mod driver;
mod fetcher;
mod handle;
mod link;
mod producer;
mod runtime;
mod share_consumer;

use std::time::Duration;

pub use admin::Admin;
pub use fetcher::Fetcher;
pub use producer::{
    Producer, ProducerRecord, RecordMetadata, ShareAcksSent, TransactionalShareAcknowledger,
};
pub use runtime::Runtime;
pub use share_consumer::{PolledStream, ShareConsumer};

use crate::ClientError;

/// A machine answered with an output of another command.
const ANOTHER: ClientError = ClientError::Protocol("an output of another command");

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
