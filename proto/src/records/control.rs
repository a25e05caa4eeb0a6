//! Control records: the markers that end a transaction.

use bytes::Bytes;
use nom::Parser;
use nom::number::complete::{be_i16, be_i32};

use crate::parse::Slip;
use crate::records::{Record, RecordIter, RecordsError};

/// What a control record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlType {
    /// The transaction was aborted.
    Abort,
    /// The transaction was committed.
    Commit,
    /// Something that has nothing to do with transactions.
    Other(i16),
}

impl ControlType {
    /// The number in the key.
    pub const fn id(self) -> i16 {
        match self {
            Self::Abort => 0,
            Self::Commit => 1,
            Self::Other(id) => id,
        }
    }

    /// The type with this number.
    pub const fn from_id(id: i16) -> Self {
        match id {
            0 => Self::Abort,
            1 => Self::Commit,
            other => Self::Other(other),
        }
    }

    /// The key of the record: version 0 and the number.
    pub(super) const fn key(self) -> [u8; 4] {
        let [high, low] = self.id().to_be_bytes();
        [0, 0, high, low]
    }
}

/// A control record. Later versions of key and value may be longer; what follows is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlRecord {
    /// What it says.
    pub control_type: ControlType,
    /// The epoch of the transaction coordinator that wrote the marker; -1 for other types.
    pub coordinator_epoch: i32,
}

impl ControlRecord {
    /// Reads a record of a control batch.
    ///
    /// # Errors
    /// `BadRecord` where key or value are too short.
    pub fn decode(record: &Record) -> Result<Self, RecordsError> {
        let bad = RecordsError::BadRecord("a control record is damaged");
        let two = |bytes: &Option<Bytes>| -> Option<(i16, i16)> {
            let parsed: Result<_, nom::Err<Slip>> = (be_i16, be_i16).parse(bytes.as_deref()?);
            parsed.ok().map(|(_, numbers)| numbers)
        };
        let (_version, id) = two(&record.key).ok_or(bad)?;
        let control_type = ControlType::from_id(id);
        if let ControlType::Other(_) = control_type {
            return Ok(Self {
                control_type,
                coordinator_epoch: -1,
            });
        }
        let value = record.value.as_deref().unwrap_or_default();
        let parsed: Result<_, nom::Err<Slip>> = (be_i16, be_i32).parse(value);
        let (_, (_version, coordinator_epoch)) = parsed.map_err(|_| bad)?;
        Ok(Self {
            control_type,
            coordinator_epoch,
        })
    }

    /// Reads the one record of a control batch.
    ///
    /// # Errors
    /// As [`RecordIter`] and [`ControlRecord::decode`].
    pub fn of_batch(batch: &Bytes) -> Result<Self, RecordsError> {
        let first = RecordIter::new(batch)?.next();
        let empty = RecordsError::BadRecord("a control batch is empty");
        Self::decode(&first.ok_or(empty)??)
    }
}
