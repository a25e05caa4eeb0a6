//! What can be wrong with a batch.

use core::fmt;

use crate::error_code::ErrorCode;

/// A batch that cannot be read or must not be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordsError {
    /// Fewer bytes than the batch says, or than a header has.
    Truncated,
    /// More bytes than the batch says.
    TrailingBytes,
    /// A length that no batch can have.
    BadLength(i32),
    /// Not magic 2.
    BadMagic(i8),
    /// The checksum does not match.
    BadCrc {
        /// What the header says.
        stored: u32,
        /// What the bytes give.
        computed: u32,
    },
    /// A client may only send base offset 0.
    BadBaseOffset(i64),
    /// The number of records and the last offset do not fit together.
    BadCount {
        /// The number of records.
        count: i32,
        /// The last offset delta.
        last_offset_delta: i32,
    },
    /// Producer id, epoch and sequence do not fit together.
    BadProducer(&'static str),
    /// A client may not write control batches.
    ControlFromClient,
    /// A record inside is damaged.
    BadRecord(&'static str),
    /// A codec that does not exist, or that this build lacks.
    UnsupportedCompression,
    /// The records are not packed with the codec that the batch names.
    BadCompression(&'static str),
    /// The records are larger than the caller allows.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

impl RecordsError {
    /// The code with which Kafka answers a produce request.
    pub const fn error_code(self) -> ErrorCode {
        match self {
            Self::BadLength(_) | Self::BadCrc { .. } => ErrorCode::CORRUPT_MESSAGE,
            // Magic 0 and 1 existed: those batches are refused, not damaged.
            Self::BadMagic(magic) if magic < 0 || magic > 1 => ErrorCode::CORRUPT_MESSAGE,
            Self::UnsupportedCompression => ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
            Self::TooLarge { .. } => ErrorCode::MESSAGE_TOO_LARGE,
            _ => ErrorCode::INVALID_RECORD,
        }
    }
}

impl fmt::Display for RecordsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the batch ends too early"),
            Self::TrailingBytes => f.write_str("bytes behind the batch"),
            Self::BadLength(length) => write!(f, "impossible batch length {length}"),
            Self::BadMagic(magic) => write!(f, "magic {magic} instead of 2"),
            Self::BadCrc { stored, computed } => {
                write!(f, "checksum is {computed}, the batch says {stored}")
            }
            Self::BadBaseOffset(offset) => write!(f, "base offset {offset} instead of 0"),
            Self::BadCount {
                count,
                last_offset_delta,
            } => {
                write!(
                    f,
                    "{count} records with last offset delta {last_offset_delta}"
                )
            }
            Self::BadProducer(reason) | Self::BadRecord(reason) => f.write_str(reason),
            Self::ControlFromClient => f.write_str("control batch from a client"),
            Self::UnsupportedCompression => f.write_str("unsupported compression"),
            Self::BadCompression(codec) => write!(f, "the records are not {codec}"),
            Self::TooLarge { limit } => {
                write!(f, "more than {limit} bytes of records in one batch")
            }
        }
    }
}

impl core::error::Error for RecordsError {}
