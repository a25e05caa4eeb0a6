//! The numbers of transactional share acknowledgement (KIP-1289), in one place.

/// API key of `AddShareAcksToTxn`, version 0.
pub const ADD_SHARE_ACKS_TO_TXN_KEY: i16 = 12890;

/// API key of `TxnShareAcknowledge`, versions 0 and 1.
pub const TXN_SHARE_ACKNOWLEDGE_KEY: i16 = 12891;

/// API key of `TxnShareAcknowledge` in the newest draft of KIP-1289, version 0. The draft may still
/// change it.
pub const TXN_SHARE_ACKNOWLEDGE_DRAFT_KEY: i16 = 95;

/// API key of `DescribePendingShareAcks`, version 0: not of the KIP, for `ackord txn` and
/// `ackord groups`.
pub const DESCRIBE_PENDING_SHARE_ACKS_KEY: i16 = 12892;

/// Delivery state of records whose acknowledgement waits for the end of a transaction.
pub const TX_PENDING: i8 = 5;

/// Acknowledge type: the offset holds no record.
pub const ACKNOWLEDGE_GAP: i8 = 0;

/// Acknowledge type: processed.
pub const ACKNOWLEDGE_ACCEPT: i8 = 1;

/// Acknowledge type: to be delivered again. Not allowed in a transaction.
pub const ACKNOWLEDGE_RELEASE: i8 = 2;

/// Acknowledge type: never to be delivered again.
pub const ACKNOWLEDGE_REJECT: i8 = 3;

/// Acknowledge type: keep the lock for longer. Not allowed in a transaction.
pub const ACKNOWLEDGE_RENEW: i8 = 4;
