//! What every message can do, and the two ways in which it can fail.

use alloc::string::String;
use core::fmt;
use core::ops::RangeInclusive;

use crate::printer::{Print, Printer};
use crate::reader::Reader;
use crate::wire::{Layout, Wire};
use crate::writer::{Counter, Writer};

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From a client to a broker.
    Request,
    /// The answer to a request.
    Response,
    /// A structure inside a record; it has no API key.
    Data,
}

/// A Kafka message in all its versions.
pub trait Message: Wire + Print + Clone + PartialEq + fmt::Debug + Default {
    /// The name with its kind, such as `ProduceRequest`.
    const NAME: &'static str;
    /// The API key; -1 for [`Kind::Data`].
    const API_KEY: i16;
    /// Request, response or data.
    const KIND: Kind;
    /// The versions that exist.
    const VERSIONS: RangeInclusive<i16>;
    /// The first version with compact lengths and tagged fields.
    const FLEXIBLE_FROM: Option<i16>;

    /// How this version is laid out; `None` where the version does not exist.
    fn layout(version: i16) -> Option<Layout> {
        let flexible = Self::FLEXIBLE_FROM.is_some_and(|from| version >= from);
        Self::VERSIONS
            .contains(&version)
            .then_some(Layout { version, flexible })
    }

    /// Reads the message. Fields that the version lacks get their defaults. Bytes behind the
    /// message stay in the reader.
    ///
    /// # Errors
    /// Says what is wrong and where; see [`DecodeErrorKind`].
    fn decode(version: i16, r: &mut Reader) -> Result<Self, DecodeError> {
        match Self::layout(version) {
            Some(layout) => Self::read(r, layout),
            None => Err(r.fail(DecodeErrorKind::UnknownVersion { version })),
        }
        .map_err(|fault| r.error(fault).in_message(Self::NAME))
    }

    /// Writes the message.
    ///
    /// # Errors
    /// Where the version cannot say what the message holds; see [`EncodeError`].
    fn encode(&self, version: i16, w: &mut Writer) -> Result<(), EncodeError> {
        let layout = Self::layout(version).ok_or(EncodeError::UnsupportedVersion { version })?;
        self.write(w, layout)
    }

    /// The number of bytes that [`Message::encode`] writes; meaningless where it fails.
    fn encoded_size(&self, version: i16) -> usize {
        self.counted(version).total()
    }

    /// The number of bytes, and how many of them are shared instead of copied.
    fn counted(&self, version: i16) -> Counter {
        let mut counter = Counter::default();
        if let Some(layout) = Self::layout(version) {
            // An error is reported by the encoding that follows.
            let _ = self.write(&mut counter, layout);
        }
        counter
    }

    /// Prints the fields that exist in the version, on one line, for people and snapshots.
    fn print(&self, version: i16, p: &mut Printer) {
        let layout = Self::layout(version).unwrap_or(Layout {
            version,
            flexible: false,
        });
        Print::print(self, p, layout);
    }

    /// [`Message::print`] as a string.
    fn to_text(&self, version: i16) -> String {
        let mut printer = Printer::default();
        Message::print(self, version, &mut printer);
        printer.finish()
    }
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The bytes end too early.
    Incomplete {
        /// How many bytes are missing at least.
        needed: usize,
    },
    /// A length that cannot be, or a tagged field of another size than it says.
    BadLength,
    /// A string that is not UTF-8.
    BadUtf8,
    /// A variable-length integer with too many bytes.
    VarintOverflow,
    /// Null where a value is due.
    NullNotAllowed,
    /// More than 1,000,000 array elements or 10,000 tagged fields.
    TooManyElements,
    /// A tagged field of another version of the same message.
    TagNotInVersion,
    /// The API has no such version.
    UnknownVersion {
        /// The version asked for.
        version: i16,
    },
    /// No API has this key.
    UnknownApi {
        /// The key asked for.
        key: i16,
    },
}

impl DecodeErrorKind {
    /// The kind in words.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Incomplete { .. } => "the bytes end too early",
            Self::BadLength => "impossible length",
            Self::BadUtf8 => "not UTF-8",
            Self::VarintOverflow => "too long a varint",
            Self::NullNotAllowed => "null is not allowed here",
            Self::TooManyElements => "too many elements",
            Self::TagNotInVersion => "tagged field of another version",
            Self::UnknownVersion { .. } => "unknown version",
            Self::UnknownApi { .. } => "unknown API key",
        }
    }
}

/// Bytes that are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// The offset from the start of the frame, in bytes.
    pub at: usize,
    /// The message that was being read, such as `ProduceRequest`; empty outside of messages.
    pub message: &'static str,
    /// The innermost field that was being read; empty outside of fields.
    pub field: &'static str,
}

impl DecodeError {
    /// An error of this kind at this offset.
    pub const fn new(kind: DecodeErrorKind, at: usize, field: &'static str) -> Self {
        Self {
            kind,
            at,
            message: "",
            field,
        }
    }

    /// The same error inside this message.
    #[must_use]
    pub const fn in_message(self, message: &'static str) -> Self {
        Self { message, ..self }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind.message(), self.at)?;
        match self.kind {
            DecodeErrorKind::Incomplete { needed } => write!(f, ", {needed} more needed")?,
            DecodeErrorKind::UnknownVersion { version } => write!(f, ": {version}")?,
            DecodeErrorKind::UnknownApi { key } => write!(f, ": {key}")?,
            _ => {}
        }
        match (self.message, self.field) {
            ("", "") => Ok(()),
            ("", name) | (name, "") => write!(f, ", in {name}"),
            (message, field) => write!(f, ", in {field} of {message}"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Why a message cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The message has no such version.
    UnsupportedVersion {
        /// The version asked for.
        version: i16,
    },
    /// A field is set that the version does not have and that must not get lost.
    FieldNotInVersion {
        /// The field.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A field is null that must not be null in this version.
    NullNotAllowed {
        /// The field.
        field: &'static str,
    },
    /// A string, an array or bytes longer than their length field can say.
    TooLong {
        /// The field.
        field: &'static str,
    },
}

impl EncodeError {
    /// For the derive: a set field that the version lacks.
    pub const fn field_not_in_version(field: &'static str, layout: Layout) -> Self {
        Self::FieldNotInVersion {
            field,
            version: layout.version,
        }
    }

    /// Names the field where the inner code did not know it.
    #[must_use]
    pub fn in_field(self, name: &'static str) -> Self {
        match self {
            Self::TooLong { field: "" } => Self::TooLong { field: name },
            Self::NullNotAllowed { field: "" } => Self::NullNotAllowed { field: name },
            other => other,
        }
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedVersion { version } => write!(f, "version {version} does not exist"),
            Self::FieldNotInVersion { field, version } => {
                write!(f, "version {version} has no field {field}, but it is set")
            }
            Self::NullNotAllowed { field } => write!(f, "{field} must not be null"),
            Self::TooLong { field } => write!(f, "{field} is too long"),
        }
    }
}

impl core::error::Error for EncodeError {}
