//! The records inside a batch, read one by one without an allocation for each.

use bytes::Bytes;

use crate::parse::{Parsed, chunk, varint, varlong};
use crate::records::RecordsError;
use crate::records::batch::{BatchHeader, Compression, HEADER_SIZE};
use crate::records::compression::{MAX_DECOMPRESSED, UnpackBudget, decompress};

/// One record. Key, value and headers share the bytes of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The offset.
    pub offset: i64,
    /// The timestamp in milliseconds: of the producer, or of the append.
    pub timestamp: i64,
    /// The key.
    pub key: Option<Bytes>,
    /// The value; `None` is a tombstone.
    pub value: Option<Bytes>,
    /// The headers.
    pub headers: RecordHeaders,
}

/// The headers of one record, checked, and cut only when somebody looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordHeaders {
    count: usize,
    bytes: Bytes,
}

impl RecordHeaders {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The headers in their order.
    pub fn iter(&self) -> impl Iterator<Item = RecordHeader> + '_ {
        let mut rest: &[u8] = &self.bytes;
        (0..self.count).map_while(move |_| {
            let (after, (key, value)) = header(rest).ok()?;
            rest = after;
            Some(RecordHeader {
                key: self.bytes.slice_ref(key),
                value: value.map(|value| self.bytes.slice_ref(value)),
            })
        })
    }
}

/// A header of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The key; meant to be UTF-8, which nobody checks.
    pub key: Bytes,
    /// The value.
    pub value: Option<Bytes>,
}

/// Bytes led by their length; -1 is null.
fn nullable_bytes(input: &[u8]) -> Parsed<'_, Option<&[u8]>> {
    let (rest, length) = varint(input)?;
    match usize::try_from(length) {
        Ok(length) => {
            let (bytes, rest) = rest
                .split_at_checked(length)
                .ok_or(nom::Err::Error(crate::parse::Slip))?;
            Ok((rest, Some(bytes)))
        }
        Err(_) if length == -1 => Ok((rest, None)),
        Err(_) => Err(nom::Err::Failure(crate::parse::Slip)),
    }
}

type HeaderParts<'a> = (&'a [u8], Option<&'a [u8]>);

fn header(input: &[u8]) -> Parsed<'_, HeaderParts<'_>> {
    let (rest, key) = nullable_bytes(input)?;
    let key = key.ok_or(nom::Err::Failure(crate::parse::Slip))?;
    let (rest, value) = nullable_bytes(rest)?;
    Ok((rest, (key, value)))
}

/// A record that borrows from its batch: cheaper than [`Record`] where nothing is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordView<'a> {
    /// The offset.
    pub offset: i64,
    /// The timestamp in milliseconds: of the producer, or of the append.
    pub timestamp: i64,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// The number of headers.
    pub header_count: usize,
    /// Bytes of the record behind its length.
    pub size: usize,
    /// The bytes of the headers.
    header_bytes: &'a [u8],
    offset_delta: i32,
}

impl<'a> RecordView<'a> {
    /// The headers in their order: key and value.
    pub fn headers(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + use<'a> {
        let mut rest = self.header_bytes;
        (0..self.header_count).map_while(move |_| {
            let (after, parts) = header(rest).ok()?;
            rest = after;
            Some(parts)
        })
    }

    /// The record with shares of the bytes it was read from.
    fn share(&self, records: &Bytes) -> Record {
        let share = |bytes: &[u8]| records.slice_ref(bytes);
        let headers = match self.header_count {
            0 => RecordHeaders::default(),
            count => RecordHeaders {
                count,
                bytes: share(self.header_bytes),
            },
        };
        Record {
            offset: self.offset,
            timestamp: self.timestamp,
            key: self.key.map(share),
            value: self.value.map(share),
            headers,
        }
    }

    /// The offset minus the base offset of the batch.
    pub(super) fn offset_delta(&self) -> i32 {
        self.offset_delta
    }
}

/// The parts of a record between its length and its headers.
struct Parts<'a> {
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    headers: i32,
}

fn parts(input: &[u8]) -> Parsed<'_, Parts<'_>> {
    let (rest, [_attributes]) = chunk(input)?;
    let (rest, timestamp_delta) = varlong(rest)?;
    let (rest, offset_delta) = varint(rest)?;
    let (rest, key) = nullable_bytes(rest)?;
    let (rest, value) = nullable_bytes(rest)?;
    let (rest, headers) = varint(rest)?;
    Ok((
        rest,
        Parts {
            timestamp_delta,
            offset_delta,
            key,
            value,
            headers,
        },
    ))
}

/// Reads the records of one batch. After an error nothing follows.
///
/// Records of an uncompressed batch share its bytes; those of a compressed one share a buffer
/// into which it was unpacked at the beginning.
#[derive(Clone, Debug)]
pub struct RecordIter {
    walk: Walk,
    records: Bytes,
}

/// The place between two records.
#[derive(Clone, Debug)]
struct Walk {
    header: BatchHeader,
    at: usize,
    left: i32,
}

impl RecordIter {
    /// Begins with the first record of the batch; bytes behind the batch are ignored.
    ///
    /// # Errors
    /// As [`RecordIter::within`] with a limit of [`MAX_DECOMPRESSED`].
    pub fn new(batch: &Bytes) -> Result<Self, RecordsError> {
        Self::within(batch, MAX_DECOMPRESSED)
    }

    /// As [`RecordIter::new`]; the records of a compressed batch may take no more than `limit`
    /// bytes.
    ///
    /// # Errors
    /// What is wrong with the header; for compressed batches also as
    /// [`decompress`].
    pub fn within(batch: &Bytes, limit: usize) -> Result<Self, RecordsError> {
        Self::unpacked_by(batch, |codec, packed| match codec {
            Compression::None => Ok(packed.clone()),
            codec => decompress(codec, packed, limit),
        })
    }

    /// As [`RecordIter::new`]; the records of a compressed batch count into `budget`.
    ///
    /// # Errors
    /// What is wrong with the header; for compressed batches also as
    /// [`UnpackBudget::decompress`].
    pub fn charged(batch: &Bytes, budget: &mut UnpackBudget) -> Result<Self, RecordsError> {
        Self::unpacked_by(batch, |codec, packed| budget.decompress(codec, packed))
    }

    fn unpacked_by(
        batch: &Bytes,
        unpack: impl FnOnce(Compression, &Bytes) -> Result<Bytes, RecordsError>,
    ) -> Result<Self, RecordsError> {
        let header = BatchHeader::parse(batch)?;
        let BatchHeader {
            record_count: count,
            last_offset_delta,
            ..
        } = header;
        if count < 0 {
            return Err(RecordsError::BadCount {
                count,
                last_offset_delta,
            });
        }
        let size = header.size().filter(|size| *size <= batch.len());
        let packed = batch.slice(HEADER_SIZE..size.ok_or(RecordsError::Truncated)?);
        let records = unpack(header.compression(), &packed)?;
        let walk = Walk {
            header,
            at: 0,
            left: count,
        };
        Ok(Self { walk, records })
    }

    /// The header of the batch.
    pub fn header(&self) -> &BatchHeader {
        &self.walk.header
    }

    /// The size of all records of the batch, unpacked, in bytes.
    pub fn size(&self) -> usize {
        self.records.len()
    }

    /// The next record, borrowed: the same walk as that of the iterator, but cheaper where
    /// nothing is kept.
    pub fn next_view(&mut self) -> Option<Result<RecordView<'_>, RecordsError>> {
        self.walk.next(&self.records)
    }
}

impl Iterator for RecordIter {
    type Item = Result<Record, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        let view = self.walk.next(&self.records)?;
        Some(view.map(|view| view.share(&self.records)))
    }
}

impl Walk {
    fn next<'a>(&mut self, records: &'a [u8]) -> Option<Result<RecordView<'a>, RecordsError>> {
        let at = core::mem::replace(&mut self.at, records.len());
        if self.left == 0 {
            let leftover = RecordsError::BadRecord("bytes behind the last record");
            return (at < records.len()).then_some(Err(leftover));
        }
        // Nothing is left after an error.
        let left = core::mem::take(&mut self.left);
        let rest = records.get(at..).unwrap_or_default();
        Some(self.read(rest).map(|(view, after)| {
            self.at = records.len() - after.len();
            self.left = left - 1;
            view
        }))
    }

    /// The record at the front, and what follows it.
    fn read<'a>(&self, rest: &'a [u8]) -> Result<(RecordView<'a>, &'a [u8]), RecordsError> {
        let (after, length) = varint(rest)
            .map_err(|_| RecordsError::BadRecord("the length of a record is missing"))?;
        let length = usize::try_from(length)
            .map_err(|_| RecordsError::BadRecord("the length of a record is negative"))?;
        let (body, after) = after
            .split_at_checked(length)
            .ok_or(RecordsError::BadRecord(
                "a record goes past the end of its batch",
            ))?;
        let (header_bytes, parts) =
            parts(body).map_err(|_| RecordsError::BadRecord("a record is damaged"))?;
        let header_count = count_headers(header_bytes, parts.headers)?;
        let timestamp = if self.header.is_log_append_time() {
            self.header.max_timestamp
        } else {
            self.header
                .base_timestamp
                .wrapping_add(parts.timestamp_delta)
        };
        let view = RecordView {
            offset: self
                .header
                .base_offset
                .wrapping_add(i64::from(parts.offset_delta)),
            timestamp,
            key: parts.key,
            value: parts.value,
            header_count,
            size: length,
            header_bytes,
            offset_delta: parts.offset_delta,
        };
        Ok((view, after))
    }
}

/// Checks that the headers fill their bytes, and counts them.
fn count_headers(bytes: &[u8], count: i32) -> Result<usize, RecordsError> {
    let bad = RecordsError::BadRecord("the headers of a record are damaged");
    let count = usize::try_from(count).map_err(|_| bad)?;
    let mut rest = bytes;
    for _ in 0..count {
        rest = header(rest).map_err(|_| bad)?.0;
    }
    if rest.is_empty() {
        Ok(count)
    } else {
        Err(RecordsError::BadRecord("a record has bytes left over"))
    }
}
