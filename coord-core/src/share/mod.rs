//! The share coordinator: what became of the records of share groups, as stored in
//! `__share_group_state` (KIP-932), with acknowledgements that wait for a transaction (KIP-1289).

pub mod acks_text;
mod coordinator;
mod delivery_ranges;
mod each_partition;
mod persister;
mod records;
mod reload;
mod requests;
mod stage;
mod state;
#[cfg(test)]
mod tests;
mod transaction;

pub(crate) use each_partition::each_partition;
pub(crate) use persister::PENDING;

pub use coordinator::{ShareCoordinator, ShareCoordinatorConfig, ShareReply};
pub use delivery_ranges::{Delivery, DeliveryRanges};
pub use records::CorruptShareRecord;
pub use stage::StageCommand;
pub use state::{ShareKey, ShareState};
pub use transaction::EndMarker;
