//! The header of a batch, and the walk over batches in a row.

use alloc::vec::Vec;

use bytes::{BufMut, Bytes, BytesMut};
use nom::Parser;
use nom::number::complete::{be_i8, be_i16, be_i32, be_i64, be_u32};

use crate::parse::Slip;
use crate::records::{RecordsError, crc32c};

/// The size of the header, in bytes; records follow.
pub const HEADER_SIZE: usize = 61;
/// The bytes before those that `batch_length` counts.
pub const LENGTH_OVERHEAD: usize = 12;
/// Where the magic stands, in every format.
const MAGIC_AT: usize = 16;
/// The least length of a message of magic 0.
const OLD_OVERHEAD: i32 = 14;
/// The checksum covers everything from here, that is from the attributes on.
const CRC_FROM: usize = 21;
/// Base offset, length and leader epoch: what a broker may rewrite without a new checksum.
const REWRITABLE: usize = 16;

pub(super) const CODEC_MASK: i16 = 0x07;
pub(super) const LOG_APPEND_TIME: i16 = 0x08;
pub(super) const TRANSACTIONAL: i16 = 0x10;
pub(super) const CONTROL: i16 = 0x20;
pub(super) const DELETE_HORIZON: i16 = 0x40;

/// How the records of a batch are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// snappy.
    Snappy,
    /// lz4.
    Lz4,
    /// zstd.
    Zstd,
    /// A codec that does not exist.
    Unknown,
}

impl Compression {
    /// The number in the attributes; 7 where there is no such codec.
    pub const fn id(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
            Self::Unknown => 7,
        }
    }

    /// The codec with this number.
    pub const fn from_id(id: i16) -> Self {
        match id {
            0 => Self::None,
            1 => Self::Gzip,
            2 => Self::Snappy,
            3 => Self::Lz4,
            4 => Self::Zstd,
            _ => Self::Unknown,
        }
    }

    /// Kafka's name of the codec, as in `compression.type`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Unknown => "unknown",
        }
    }
}

/// The 61 bytes before the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// The offset of the first record, or of the place where it was.
    pub base_offset: i64,
    /// The number of bytes that follow this field.
    pub batch_length: i32,
    /// The epoch of the leader that appended the batch; not under the checksum.
    pub partition_leader_epoch: i32,
    /// The format; always 2.
    pub magic: i8,
    /// CRC-32C from the attributes to the end.
    pub crc: u32,
    /// Codec and flags; see the methods.
    pub attributes: i16,
    /// The last offset of the batch minus the base offset.
    pub last_offset_delta: i32,
    /// What the timestamps of the records count from, in milliseconds.
    pub base_timestamp: i64,
    /// The greatest timestamp, in milliseconds.
    pub max_timestamp: i64,
    /// The producer id; -1 where the producer is not idempotent.
    pub producer_id: i64,
    /// The producer epoch; -1 where there is no producer id.
    pub producer_epoch: i16,
    /// The sequence of the first record; -1 where there is none.
    pub base_sequence: i32,
    /// The number of records.
    pub record_count: i32,
}

impl BatchHeader {
    /// Reads the header at the start of these bytes.
    ///
    /// # Errors
    /// `Truncated`, `BadLength` or `BadMagic`; the checksum is not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordsError> {
        if let Some(magic) = old_magic(bytes) {
            return Err(RecordsError::BadMagic(magic));
        }
        let start = (be_i64, be_i32, be_i32, be_i8, be_u32, be_i16, be_i32);
        let end = (be_i64, be_i64, be_i64, be_i16, be_i32, be_i32);
        let parsed: Result<_, nom::Err<Slip>> = (start, end).parse(bytes);
        let (_, (start, end)) = parsed.map_err(|_| RecordsError::Truncated)?;
        let (base_offset, batch_length, partition_leader_epoch, magic, crc, attributes, delta) =
            start;
        let (base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count) =
            end;
        let header = Self {
            base_offset,
            batch_length,
            partition_leader_epoch,
            magic,
            crc,
            attributes,
            last_offset_delta: delta,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            record_count: count,
        };
        match (header.size(), magic) {
            (None, _) => Err(RecordsError::BadLength(batch_length)),
            (Some(_), 2) => Ok(header),
            (Some(_), other) => Err(RecordsError::BadMagic(other)),
        }
    }

    /// The size of the whole batch in bytes; `None` where the length is below that of a header.
    pub(super) fn size(&self) -> Option<usize> {
        let size = usize::try_from(self.batch_length)
            .ok()?
            .checked_add(LENGTH_OVERHEAD)?;
        (size >= HEADER_SIZE).then_some(size)
    }

    /// The codec.
    pub const fn compression(&self) -> Compression {
        Compression::from_id(self.attributes & CODEC_MASK)
    }

    /// Whether the batch belongs to a transaction.
    pub const fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL != 0
    }

    /// Whether the batch holds a control record instead of data.
    pub const fn is_control(&self) -> bool {
        self.attributes & CONTROL != 0
    }

    /// Whether all records carry the time of the append, `max_timestamp`.
    pub const fn is_log_append_time(&self) -> bool {
        self.attributes & LOG_APPEND_TIME != 0
    }

    /// Whether `base_timestamp` is the time from which tombstones may go.
    pub const fn has_delete_horizon(&self) -> bool {
        self.attributes & DELETE_HORIZON != 0
    }

    /// Whether the producer is idempotent.
    pub const fn has_producer_id(&self) -> bool {
        self.producer_id >= 0
    }

    /// The offset of the last record, or of the place where it was.
    pub const fn last_offset(&self) -> i64 {
        self.base_offset
            .saturating_add(self.last_offset_delta as i64)
    }

    /// The offset behind the batch.
    pub const fn next_offset(&self) -> i64 {
        self.last_offset().saturating_add(1)
    }

    /// The sequence of the last record; after 2147483647 comes 0. -1 where there is none.
    pub const fn last_sequence(&self) -> i32 {
        if self.base_sequence < 0 {
            return -1;
        }
        self.base_sequence.wrapping_add(self.last_offset_delta) & i32::MAX
    }
}

/// The magic, where it is one of those before 2. Their messages can be shorter than a header,
/// so this is looked at first: length and magic stand at the same place in all formats.
fn old_magic(bytes: &[u8]) -> Option<i8> {
    let length = i32::from_be_bytes(*bytes.get(8..LENGTH_OVERHEAD)?.first_chunk()?);
    let magic = bytes.get(MAGIC_AT)?.cast_signed();
    (length >= OLD_OVERHEAD && (0..2).contains(&magic)).then_some(magic)
}

/// A batch in a log or in a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The header.
    pub header: BatchHeader,
    /// The whole batch with its header, sharing the bytes it came from.
    pub bytes: Bytes,
}

/// Walks over batches in a row. A last batch that is cut off is skipped in silence, as a fetch
/// may end in the middle of one. After an error nothing follows.
#[derive(Clone, Debug)]
pub struct BatchIter {
    rest: Bytes,
}

impl BatchIter {
    /// Begins at the front of these bytes.
    pub fn new(bytes: Bytes) -> Self {
        Self { rest: bytes }
    }

    /// The bytes that have not been walked over.
    pub fn rest(&self) -> &Bytes {
        &self.rest
    }

    fn length(&self) -> Option<i32> {
        let bytes = self.rest.get(8..LENGTH_OVERHEAD)?.first_chunk()?;
        Some(i32::from_be_bytes(*bytes))
    }
}

impl Iterator for BatchIter {
    type Item = Result<Batch, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        let length = self.length()?;
        let Some(size) = usize::try_from(length)
            .ok()
            .map(|length| length + LENGTH_OVERHEAD)
        else {
            self.rest.clear();
            return Some(Err(RecordsError::BadLength(length)));
        };
        if size > self.rest.len() {
            return None;
        }
        let bytes = self.rest.split_to(size);
        let batch = BatchHeader::parse(&bytes).map(|header| Batch { header, bytes });
        if batch.is_err() {
            self.rest.clear();
        }
        // A batch too small for a header is an error of its length, not of the input's end.
        Some(batch.map_err(|error| match error {
            RecordsError::Truncated => RecordsError::BadLength(length),
            other => other,
        }))
    }
}

/// Compares the checksum in the header with that of the bytes.
///
/// # Errors
/// `BadCrc`; `Truncated` where there is no whole batch.
pub fn verify_crc(batch: &[u8]) -> Result<(), RecordsError> {
    let header = BatchHeader::parse(batch)?;
    let covered = header.size().and_then(|size| batch.get(CRC_FROM..size));
    let computed = crc32c(covered.ok_or(RecordsError::Truncated)?);
    if computed == header.crc {
        Ok(())
    } else {
        Err(RecordsError::BadCrc {
            stored: header.crc,
            computed,
        })
    }
}

/// The same batch at another offset: a new head of 16 bytes and the rest, shared. The checksum
/// does not cover what changes. Bytes shorter than a header come back as they are.
pub fn reassign(batch: &Bytes, base_offset: i64, leader_epoch: i32) -> [Bytes; 2] {
    let Some(length) = batch
        .get(8..LENGTH_OVERHEAD)
        .filter(|_| batch.len() >= HEADER_SIZE)
    else {
        return [batch.clone(), Bytes::new()];
    };
    let mut head = BytesMut::with_capacity(REWRITABLE);
    head.put_i64(base_offset);
    head.put_slice(length);
    head.put_i32(leader_epoch);
    [head.freeze(), batch.slice(REWRITABLE..)]
}

/// Writes the header of a batch whose records stand behind the room for it; length and checksum
/// are computed.
pub(super) fn seal(mut batch: Vec<u8>, header: BatchHeader) -> Bytes {
    let length = i32::try_from(batch.len().saturating_sub(LENGTH_OVERHEAD)).unwrap_or(i32::MAX);
    let mut bytes = Vec::with_capacity(HEADER_SIZE);
    bytes.put_i64(header.base_offset);
    bytes.put_i32(length);
    bytes.put_i32(header.partition_leader_epoch);
    bytes.put_i8(header.magic);
    bytes.put_u32(0);
    bytes.put_i16(header.attributes);
    bytes.put_i32(header.last_offset_delta);
    bytes.put_i64(header.base_timestamp);
    bytes.put_i64(header.max_timestamp);
    bytes.put_i64(header.producer_id);
    bytes.put_i16(header.producer_epoch);
    bytes.put_i32(header.base_sequence);
    bytes.put_i32(header.record_count);
    if let Some(room) = batch.get_mut(..HEADER_SIZE) {
        room.copy_from_slice(&bytes);
    }
    let crc = crc32c(batch.get(CRC_FROM..).unwrap_or_default());
    if let Some(slot) = batch.get_mut(17..CRC_FROM) {
        slot.copy_from_slice(&crc.to_be_bytes());
    }
    Bytes::from(batch)
}
