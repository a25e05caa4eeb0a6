//! When to come back, and why.

use core::fmt;

use crate::MonoTime;

/// The earliest moment at which a machine has to be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline {
    /// On the monotonic clock.
    pub at: MonoTime,
    /// What is due then, for people and snapshots.
    pub reason: DeadlineReason,
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.at, self.reason)
    }
}

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeadlineReason {
    /// The acquisition lock of a record ends (KIP-932).
    AcquisitionLock,
    /// Effects are queued and want to be popped.
    EffectsQueued,
    /// Producers and transactional ids that nobody uses any more are forgotten.
    Expiry,
    /// A waiting Fetch or ShareFetch is answered with what there is.
    FetchWait,
    /// Members of a group have not joined, or not asked for their assignment, in time.
    Rebalance,
    /// A request to another machine was not answered and is sent again.
    Retry,
    /// Retention looks for data that has expired or is too much (`log.retention.check.interval.ms`).
    Retention,
    /// A member of a group has not sent a heartbeat.
    MemberSession,
    /// Share coordinators write snapshots of cold share partitions, or prune their logs.
    ShareState,
    /// An ongoing transaction is aborted (`transaction.timeout.ms`).
    TransactionTimeout,
}
