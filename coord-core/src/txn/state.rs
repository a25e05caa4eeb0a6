//! The states of a transactional id and the steps between them.

use ackord_proto::error_code::ErrorCode;

/// State of a transactional id, with the number that `__transaction_state` stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i8)]
pub enum TxnState {
    /// The producer has begun nothing since InitProducerId.
    Empty = 0,
    /// Partitions were added.
    Ongoing = 1,
    /// Decided to commit; not every participant knows.
    PrepareCommit = 2,
    /// Decided to abort; not every participant knows.
    PrepareAbort = 3,
    /// Committed everywhere.
    CompleteCommit = 4,
    /// Aborted everywhere.
    CompleteAbort = 5,
    /// Being forgotten. Never stored.
    Dead = 6,
    /// Kafka's step between Ongoing and PrepareAbort while an epoch is fenced. Never stored: here
    /// both happen in one step.
    PrepareEpochFence = 7,
}

/// What happens to a transactional id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TxnEvent {
    /// InitProducerId of the rightful producer.
    InitProducerId,
    /// At least one partition is added.
    AddPartitions,
    /// EndTxn that commits, under the current epoch.
    Commit,
    /// EndTxn that aborts, under the current epoch.
    Abort,
    /// EndTxn v5 that aborts where nothing is ongoing: it only bumps the epoch (KIP-890).
    AbortNothing,
    /// The coordinator aborts under a new epoch: a timeout, or InitProducerId while Ongoing.
    Fence,
    /// The last participant knows the outcome.
    MarkersWritten,
}

impl TxnState {
    /// All states, by number.
    pub const ALL: [TxnState; 8] = [
        TxnState::Empty,
        TxnState::Ongoing,
        TxnState::PrepareCommit,
        TxnState::PrepareAbort,
        TxnState::CompleteCommit,
        TxnState::CompleteAbort,
        TxnState::Dead,
        TxnState::PrepareEpochFence,
    ];

    /// The state as Kafka's tools and DescribeTransactions spell it.
    pub const fn name(self) -> &'static str {
        match self {
            TxnState::Empty => "Empty",
            TxnState::Ongoing => "Ongoing",
            TxnState::PrepareCommit => "PrepareCommit",
            TxnState::PrepareAbort => "PrepareAbort",
            TxnState::CompleteCommit => "CompleteCommit",
            TxnState::CompleteAbort => "CompleteAbort",
            TxnState::Dead => "Dead",
            TxnState::PrepareEpochFence => "PrepareEpochFence",
        }
    }

    /// Decided, but not every participant knows.
    pub const fn is_prepared(self) -> bool {
        matches!(self, TxnState::PrepareCommit | TxnState::PrepareAbort)
    }

    /// The outcome, where one is decided: `true` is commit.
    pub const fn outcome(self) -> Option<bool> {
        match self {
            TxnState::PrepareCommit | TxnState::CompleteCommit => Some(true),
            TxnState::PrepareAbort | TxnState::CompleteAbort => Some(false),
            _ => None,
        }
    }

    /// The state with this number, if it is one that a log may hold.
    pub(super) fn stored(number: i8) -> Option<TxnState> {
        TxnState::ALL
            .into_iter()
            .find(|state| *state as i8 == number)
            .filter(|state| !matches!(state, TxnState::Dead | TxnState::PrepareEpochFence))
    }

    /// The state after `event`, or what a client is told where the event is out of place.
    pub(super) fn after(self, event: TxnEvent) -> Result<TxnState, ErrorCode> {
        use TxnState::{
            CompleteAbort, CompleteCommit, Empty, Ongoing, PrepareAbort, PrepareCommit,
        };
        match (self, event) {
            (Empty | CompleteCommit | CompleteAbort, TxnEvent::InitProducerId) => Ok(Empty),
            (Empty | Ongoing | CompleteCommit | CompleteAbort, TxnEvent::AddPartitions) => {
                Ok(Ongoing)
            }
            (Ongoing, TxnEvent::InitProducerId)
            | (PrepareCommit | PrepareAbort, TxnEvent::InitProducerId | TxnEvent::AddPartitions) => {
                Err(ErrorCode::CONCURRENT_TRANSACTIONS)
            }
            (Ongoing, TxnEvent::Commit) => Ok(PrepareCommit),
            (Ongoing, TxnEvent::Abort | TxnEvent::Fence) => Ok(PrepareAbort),
            (Empty | CompleteCommit | CompleteAbort, TxnEvent::AbortNothing) => Ok(PrepareAbort),
            (PrepareCommit, TxnEvent::MarkersWritten) => Ok(CompleteCommit),
            (PrepareAbort, TxnEvent::MarkersWritten) => Ok(CompleteAbort),
            _ => Err(ErrorCode::INVALID_TXN_STATE),
        }
    }
}

impl core::fmt::Display for TxnState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
