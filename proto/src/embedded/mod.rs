//! Structures inside the bytes fields of messages, and inside the files of a log.
//!
//! Each is its version in two bytes and a body.

use bytes::Bytes;

use crate::message::{DecodeError, EncodeError, Message};
use crate::reader::Reader;
use crate::wire::{Layout, Wire};
use crate::writer::{Sink, Writer};

pub mod consumer_protocol;
pub mod log;
pub mod principal;

pub use consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
pub use log::{AbortedTxn, ControlRecordTypeSchema, EndTxnMarker};
pub use principal::DefaultPrincipalData;

/// A structure with its version before it.
pub trait Embedded: Message {
    /// Whether a version from the future is read as the newest known one, what follows being
    /// ignored; else it is refused.
    const LATER_AS_NEWEST: bool;
}

macro_rules! embedded {
    ($($later:literal: $($ty:ty),*;)*) => {$($(
        impl Embedded for $ty {
            const LATER_AS_NEWEST: bool = $later;
        }
    )*)*};
}

embedded! {
    // Members of one group may be of different ages, and so may be brokers.
    true: ConsumerProtocolSubscription, ConsumerProtocolAssignment, ControlRecordTypeSchema, EndTxnMarker;
    false: DefaultPrincipalData, AbortedTxn;
}

/// The structure with its version before it.
///
/// # Errors
/// Where the version does not exist or cannot say what the structure holds.
pub fn encode<E: Embedded>(this: &E, version: i16) -> Result<Bytes, EncodeError> {
    let mut w = Writer::with_capacity(2 + this.encoded_size(version));
    w.put(&version.to_be_bytes());
    this.encode(version, &mut w)?;
    Ok(w.into_bytes())
}

/// Reads a structure and the version that stands before it.
///
/// # Errors
/// `UnknownVersion` for a version below the oldest, or above the newest one where that is not
/// [`Embedded::LATER_AS_NEWEST`]; else what is wrong with the bytes.
pub fn decode<E: Embedded>(bytes: &Bytes) -> Result<(E, i16), DecodeError> {
    let mut r = Reader::new(bytes.clone());
    let rigid = Layout {
        version: 0,
        flexible: false,
    };
    let version = i16::read(&mut r, rigid).map_err(|fault| r.error(fault))?;
    let newest = *E::VERSIONS.end();
    let read_as = if E::LATER_AS_NEWEST {
        version.min(newest)
    } else {
        version
    };
    E::decode(read_as, &mut r).map(|this| (this, version))
}
