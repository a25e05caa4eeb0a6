//! The records inside a batch, read one by one without an allocation for each.

use bytes::Bytes;

use crate::parse::{Parsed, chunk, varint, varlong};
use crate::records::RecordsError;
use crate::records::batch::{BatchHeader, Compression, HEADER_SIZE};
use crate::records::compression::{MAX_DECOMPRESSED, decompress};

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
                .ok_or(nom::Err::Error(crate::parse::Fault))?;
            Ok((rest, Some(bytes)))
        }
        Err(_) if length == -1 => Ok((rest, None)),
        Err(_) => Err(nom::Err::Failure(crate::parse::Fault)),
    }
}

type HeaderParts<'a> = (&'a [u8], Option<&'a [u8]>);

fn header(input: &[u8]) -> Parsed<'_, HeaderParts<'_>> {
    let (rest, key) = nullable_bytes(input)?;
    let key = key.ok_or(nom::Err::Failure(crate::parse::Fault))?;
    let (rest, value) = nullable_bytes(rest)?;
    Ok((rest, (key, value)))
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

const BAD_STRUCTURE: RecordsError = RecordsError::BadRecord("a record is damaged");

/// Reads the records of one batch. After an error nothing follows.
///
/// Records of an uncompressed batch share its bytes; those of a compressed one share a buffer
/// into which it was unpacked at the beginning.
#[derive(Clone, Debug)]
pub struct RecordIter {
    header: BatchHeader,
    records: Bytes,
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
    /// [`decompress`](crate::records::decompress).
    pub fn within(batch: &Bytes, limit: usize) -> Result<Self, RecordsError> {
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
        let records = match header.compression() {
            Compression::None => packed,
            codec => decompress(codec, &packed, limit)?,
        };
        Ok(Self {
            header,
            records,
            at: 0,
            left: count,
        })
    }

    /// The header of the batch.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    fn read(&mut self) -> Result<(Record, i32), RecordsError> {
        let rest = self.records.get(self.at..).unwrap_or_default();
        let (after, length) = varint(rest)
            .map_err(|_| RecordsError::BadRecord("the length of a record is missing"))?;
        let length = usize::try_from(length)
            .map_err(|_| RecordsError::BadRecord("the length of a record is negative"))?;
        let (body, after) = after
            .split_at_checked(length)
            .ok_or(RecordsError::BadRecord(
                "a record goes past the end of its batch",
            ))?;
        let (header_bytes, parts) = parts(body).map_err(|_| BAD_STRUCTURE)?;
        let headers = self.headers(header_bytes, parts.headers)?;
        let share = |bytes: &[u8]| self.records.slice_ref(bytes);
        let timestamp = if self.header.is_log_append_time() {
            self.header.max_timestamp
        } else {
            self.header
                .base_timestamp
                .wrapping_add(parts.timestamp_delta)
        };
        let record = Record {
            offset: self
                .header
                .base_offset
                .wrapping_add(i64::from(parts.offset_delta)),
            timestamp,
            key: parts.key.map(share),
            value: parts.value.map(share),
            headers,
        };
        let offset_delta = parts.offset_delta;
        self.at = self.records.len() - after.len();
        Ok((record, offset_delta))
    }

    /// Checks that the headers fill their bytes.
    fn headers(&self, bytes: &[u8], count: i32) -> Result<RecordHeaders, RecordsError> {
        let bad = RecordsError::BadRecord("the headers of a record are damaged");
        let count = usize::try_from(count).map_err(|_| bad)?;
        let mut rest = bytes;
        for _ in 0..count {
            rest = header(rest).map_err(|_| bad)?.0;
        }
        match (rest.is_empty(), count) {
            (false, _) => Err(RecordsError::BadRecord("a record has bytes left over")),
            (true, 0) => Ok(RecordHeaders::default()),
            (true, _) => Ok(RecordHeaders {
                count,
                bytes: self.records.slice_ref(bytes),
            }),
        }
    }

    /// The next record and its offset minus the base offset.
    pub(super) fn next_with_delta(&mut self) -> Option<Result<(Record, i32), RecordsError>> {
        if self.left == 0 {
            let leftover = self.at < self.records.len();
            self.at = self.records.len();
            return leftover
                .then_some(Err(RecordsError::BadRecord("bytes behind the last record")));
        }
        let result = self.read();
        match &result {
            Ok(_) => self.left -= 1,
            Err(_) => {
                self.left = 0;
                self.at = self.records.len();
            }
        }
        Some(result)
    }
}

impl Iterator for RecordIter {
    type Item = Result<Record, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_with_delta()
            .map(|result| result.map(|(record, _)| record))
    }
}
