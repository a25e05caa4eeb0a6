//! Record batches of magic 2: the payload of produce and fetch, and the form of every log.
//!
//! [`batch`] has the header and the walk over batches, [`record`] the records inside,
//! [`builder`] makes batches, [`control`] reads markers, [`validate`] is what a broker checks
//! before it appends, [`compression`] has the codecs, [`print`] opens batches for people.

pub mod batch;
pub mod builder;
pub mod compression;
pub mod control;
mod crc;
mod error;
pub mod print;
pub mod record;
pub mod validate;

pub use batch::{Batch, BatchHeader, BatchIter, Compression, reassign, verify_crc};
pub use builder::{BatchBuilder, control_batch};
pub use compression::{MAX_DECOMPRESSED, UnpackBudget, compress, decompress};
pub use control::{ControlRecord, ControlType};
pub use crc::crc32c;
pub use error::RecordsError;
pub use record::{Record, RecordHeader, RecordHeaders, RecordIter, RecordView};
pub use validate::{validate_for_append, validate_for_append_charged, validate_for_append_within};

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};

/// The payload of a records field: a list of chunks that are never joined on the way from the
/// log to the socket.
#[derive(Clone, Debug, Default)]
pub struct Records(Chunks);

/// One chunk is the rule and needs no list.
#[derive(Clone, Debug)]
enum Chunks {
    One(Bytes),
    Many(Vec<Bytes>),
}

impl Default for Chunks {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Records {
    /// The chunks, in order.
    pub fn chunks(&self) -> &[Bytes] {
        match &self.0 {
            Chunks::One(chunk) => core::slice::from_ref(chunk),
            Chunks::Many(chunks) => chunks,
        }
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.chunks().iter().map(Bytes::len).sum()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.chunks().iter().all(Bytes::is_empty)
    }

    /// All bytes in one piece; a copy only where there are several chunks.
    pub fn to_bytes(&self) -> Bytes {
        match self.chunks() {
            [] => Bytes::new(),
            [chunk] => chunk.clone(),
            chunks => {
                let mut joined = BytesMut::with_capacity(self.len());
                chunks
                    .iter()
                    .for_each(|chunk| joined.extend_from_slice(chunk));
                joined.freeze()
            }
        }
    }
}

impl From<Bytes> for Records {
    fn from(chunk: Bytes) -> Self {
        Self(Chunks::One(chunk))
    }
}

impl From<Vec<Bytes>> for Records {
    fn from(chunks: Vec<Bytes>) -> Self {
        Self(Chunks::Many(chunks))
    }
}

/// Equal bytes are equal, however they are cut.
impl PartialEq for Records {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .chunks()
                .iter()
                .flatten()
                .eq(other.chunks().iter().flatten())
    }
}

impl Eq for Records {}
