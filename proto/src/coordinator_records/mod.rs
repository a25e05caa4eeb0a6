//! What the coordinators write into their internal topics.
//!
//! A key is the type of the record in two bytes and a body; a value is its version in two bytes
//! and a body. No value means that the key is deleted.

use bytes::Bytes;

use crate::message::{DecodeError, DecodeErrorKind, EncodeError, Message};
use crate::printer::Printer;
use crate::reader::Reader;
use crate::wire::{Layout, Wire};
use crate::writer::{Sink, Writer};

pub mod consumer_offsets;
pub mod share_group_state;
pub mod transaction_state;

pub use consumer_offsets::*;
pub use share_group_state::*;
pub use transaction_state::*;

/// The key of a record in an internal topic.
pub trait RecordKey: Message {
    /// The type of the record, as it stands before the key.
    const RECORD_TYPE: i16;
}

/// The value of a record in an internal topic.
pub trait RecordValue: Message {}

/// The key with its type before it.
///
/// # Errors
/// `TooLong` where a string has more than 32,767 bytes.
pub fn encode_key<K: RecordKey>(key: &K) -> Result<Bytes, EncodeError> {
    encode(K::RECORD_TYPE, key, 0)
}

/// The value with its version before it.
///
/// # Errors
/// Where the version does not exist or cannot say what the value holds.
pub fn encode_value<V: RecordValue>(value: &V, version: i16) -> Result<Bytes, EncodeError> {
    encode(version, value, version)
}

fn encode<M: Message>(prefix: i16, body: &M, version: i16) -> Result<Bytes, EncodeError> {
    let mut w = Writer::with_capacity(2 + body.encoded_size(version));
    w.put(&prefix.to_be_bytes());
    body.encode(version, &mut w)?;
    Ok(w.into_bytes())
}

/// The type of a record, from its key.
///
/// # Errors
/// `Incomplete` where the key is shorter than two bytes.
pub fn record_type(key: &Bytes) -> Result<i16, DecodeError> {
    read_prefix(&mut Reader::new(key.clone()))
}

fn read_prefix(r: &mut Reader) -> Result<i16, DecodeError> {
    let rigid = Layout {
        version: 0,
        flexible: false,
    };
    i16::read(r, rigid).map_err(|fault| r.error(fault))
}

/// Reads a key of a known type.
///
/// # Errors
/// `UnknownVersion` where it is of another type; else what is wrong with the bytes.
pub fn decode_key<K: RecordKey>(key: &Bytes) -> Result<K, DecodeError> {
    let mut r = Reader::new(key.clone());
    let version = read_prefix(&mut r)?;
    if version != K::RECORD_TYPE {
        return Err(DecodeError::new(
            DecodeErrorKind::UnknownVersion { version },
            0,
            "record type",
        ));
    }
    K::decode(0, &mut r)
}

/// Reads a value and its version.
///
/// # Errors
/// `UnknownVersion` for a version from the future; else what is wrong with the bytes.
pub fn decode_value<V: RecordValue>(value: &Bytes) -> Result<(V, i16), DecodeError> {
    let mut r = Reader::new(value.clone());
    let version = read_prefix(&mut r)?;
    V::decode(version, &mut r).map(|value| (value, version))
}

/// Prints one record with its name, for people: key and value, or `null` for a deletion.
fn print_record<K: RecordKey, V: RecordValue>(
    name: &str,
    key: &Bytes,
    value: Option<&Bytes>,
    p: &mut Printer,
) -> Result<(), DecodeError> {
    let key: K = decode_key(key)?;
    let value = value.map(decode_value::<V>).transpose()?;
    p.text(format_args!("{name} "));
    Message::print(&key, 0, p);
    match value {
        Some((value, version)) => {
            p.text(format_args!(" v{version} "));
            Message::print(&value, version, p);
        }
        None => p.text(format_args!(" null")),
    }
    Ok(())
}

/// The value of a record that may be a deletion.
fn decode_optional<V: RecordValue>(value: Option<&Bytes>) -> Result<Option<V>, DecodeError> {
    value
        .map(|value| decode_value(value).map(|(value, _)| value))
        .transpose()
}

/// Implements [`RecordKey`] and [`RecordValue`] and makes the enum over the records of a topic.
macro_rules! records_of {
    (
        $(#[$doc:meta])*
        $record:ident { $($name:ident = $type:literal: $key:ident, $value:ident;)* }
    ) => {
        $(
            impl RecordKey for $key {
                const RECORD_TYPE: i16 = $type;
            }

            impl RecordValue for $value {}
        )*

        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $record {
            $(
                #[doc = concat!("Type ", stringify!($type), "; no value deletes the key.")]
                $name($key, Option<$value>),
            )*
            /// A record of another type; `None` in the value deletes the key.
            Other {
                /// The type.
                record_type: i16,
            },
        }

        impl $record {
            /// Reads one record of the topic.
            ///
            /// # Errors
            /// What is wrong with the bytes, or a version from the future.
            pub fn decode(key: &Bytes, value: Option<&Bytes>) -> Result<Self, DecodeError> {
                match record_type(key)? {
                    $($type => Ok(Self::$name(decode_key(key)?, decode_optional(value)?)),)*
                    record_type => Ok(Self::Other { record_type }),
                }
            }

            /// Prints one record of the topic on one line, its value in the version in which
            /// it was written.
            ///
            /// # Errors
            /// What is wrong with the bytes, or a version from the future. Unknown types are
            /// printed as such.
            pub fn print(
                key: &Bytes,
                value: Option<&Bytes>,
                p: &mut Printer,
            ) -> Result<(), DecodeError> {
                match record_type(key)? {
                    $($type => crate::coordinator_records::print_record::<$key, $value>(
                        stringify!($name), key, value, p,
                    ),)*
                    record_type => {
                        p.text(format_args!("unknown record type {record_type}"));
                        Ok(())
                    }
                }
            }
        }
    };
}

use records_of;
