//! Making batches.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::parse::{encode_varint, zigzag};
use crate::records::RecordsError;
use crate::records::batch::{
    BatchHeader, CODEC_MASK, CONTROL, Compression, HEADER_SIZE, LOG_APPEND_TIME, TRANSACTIONAL,
    seal,
};
use crate::records::compression::compress;
use crate::records::control::ControlType;
use crate::wire::Run;

/// Puts records into one batch.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    base_offset: i64,
    leader_epoch: i32,
    attributes: i16,
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    base_timestamp: i64,
    max_timestamp: i64,
    append_time: Option<i64>,
    last_offset_delta: i32,
    count: i32,
    /// The batch as it will be: room for the header, then the records.
    batch: Vec<u8>,
}

impl BatchBuilder {
    /// An empty batch. Producers always use base offset 0.
    pub fn new(base_offset: i64) -> Self {
        Self {
            base_offset,
            leader_epoch: -1,
            attributes: 0,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            base_timestamp: -1,
            max_timestamp: -1,
            append_time: None,
            last_offset_delta: -1,
            count: 0,
            batch: Vec::new(),
        }
    }

    /// Names the producer and the sequence of the first record.
    #[must_use]
    pub fn producer(mut self, id: i64, epoch: i16, base_sequence: i32) -> Self {
        self.producer_id = id;
        self.producer_epoch = epoch;
        self.base_sequence = base_sequence;
        self
    }

    /// Sets the epoch of the partition leader; -1 where nothing is said.
    #[must_use]
    pub fn leader_epoch(mut self, epoch: i32) -> Self {
        self.leader_epoch = epoch;
        self
    }

    /// Makes the batch part of a transaction.
    #[must_use]
    pub fn transactional(mut self) -> Self {
        self.attributes |= TRANSACTIONAL;
        self
    }

    /// Gives all records the time of the append instead of their own, in milliseconds.
    #[must_use]
    pub fn log_append_time(mut self, timestamp: i64) -> Self {
        self.attributes |= LOG_APPEND_TIME;
        self.append_time = Some(timestamp);
        self
    }

    /// Makes it a control batch.
    #[must_use]
    pub fn control(mut self) -> Self {
        self.attributes |= CONTROL;
        self
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or_default()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The size of the batch so far, in bytes.
    pub fn size(&self) -> usize {
        self.batch.len().max(HEADER_SIZE)
    }

    /// The size of the batch with one more record at the next offset, in bytes.
    pub fn size_with(
        &self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(&[u8], Option<&[u8]>)],
    ) -> usize {
        let base = if self.is_empty() {
            timestamp
        } else {
            self.base_timestamp
        };
        let delta = self.last_offset_delta.saturating_add(1);
        let size = body_size(timestamp.wrapping_sub(base), delta, key, value, headers);
        self.size() + varint_size(as_length(size)) + size
    }

    /// Appends a record at the next offset. The first one sets the base timestamp.
    pub fn push(&mut self, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>) {
        self.push_with_headers(timestamp, key, value, &[]);
    }

    /// Appends a record with headers at the next offset.
    pub fn push_with_headers(
        &mut self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(&[u8], Option<&[u8]>)],
    ) {
        self.push_at(
            self.last_offset_delta.saturating_add(1),
            timestamp,
            key,
            value,
            headers,
        );
    }

    /// Appends a record at a distance from the base offset, as in a compacted log.
    pub fn push_at(
        &mut self,
        offset_delta: i32,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(&[u8], Option<&[u8]>)],
    ) {
        if self.is_empty() {
            self.base_timestamp = timestamp;
            self.max_timestamp = timestamp;
        }
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.last_offset_delta = offset_delta;
        self.count = self.count.saturating_add(1);
        let timestamp_delta = timestamp.wrapping_sub(self.base_timestamp);
        let size = body_size(timestamp_delta, offset_delta, key, value, headers);
        let records = &mut self.batch;
        reserve(records, HEADER_SIZE + size + HEAD);
        if records.is_empty() {
            records.resize(HEADER_SIZE, 0);
        }
        put_head(records, |head| {
            head.add_varint(as_length(size));
            // The attributes.
            head.add([0]);
            head.add_varint(timestamp_delta);
            head.add_varint(i64::from(offset_delta));
            head.add_varint(length_or_null(key));
        });
        records.extend_from_slice(key.unwrap_or_default());
        put_varint(records, length_or_null(value));
        records.extend_from_slice(value.unwrap_or_default());
        put_varint(records, as_length(headers.len()));
        for (key, value) in headers {
            put_nullable(records, Some(key));
            put_nullable(records, *value);
        }
    }

    /// The finished batch, uncompressed.
    pub fn build(mut self) -> Bytes {
        let batch = core::mem::take(&mut self.batch);
        self.finish(batch)
    }

    /// The finished batch, its records packed.
    ///
    /// # Errors
    /// As [`compress`].
    pub fn build_compressed(mut self, codec: Compression) -> Result<Bytes, RecordsError> {
        let packed = compress(codec, self.batch.get(HEADER_SIZE..).unwrap_or_default())?;
        self.attributes = (self.attributes & !CODEC_MASK) | codec.id();
        let mut batch = Vec::with_capacity(HEADER_SIZE + packed.len());
        batch.resize(HEADER_SIZE, 0);
        batch.extend_from_slice(&packed);
        Ok(self.finish(batch))
    }

    /// Puts the header in front of the records.
    fn finish(&self, mut batch: Vec<u8>) -> Bytes {
        let header = BatchHeader {
            base_offset: self.base_offset,
            batch_length: 0,
            partition_leader_epoch: self.leader_epoch,
            magic: 2,
            crc: 0,
            attributes: self.attributes,
            last_offset_delta: self.last_offset_delta,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.append_time.unwrap_or(self.max_timestamp),
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            base_sequence: self.base_sequence,
            record_count: self.count,
        };
        if batch.is_empty() {
            batch.resize(HEADER_SIZE, 0);
        }
        seal(batch, header)
    }
}

/// Makes room, in larger steps than a list takes by itself.
fn reserve(batch: &mut Vec<u8>, more: usize) {
    if batch.capacity() - batch.len() < more {
        batch.reserve(more.max(batch.capacity().saturating_mul(3)));
    }
}

fn as_length(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// The size of a record behind its length.
fn body_size(
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: &[(&[u8], Option<&[u8]>)],
) -> usize {
    let fixed = 1 + varint_size(timestamp_delta) + varint_size(i64::from(offset_delta));
    let headers = headers
        .iter()
        .map(|(key, value)| nullable_size(Some(key)) + nullable_size(*value))
        .fold(varint_size(as_length(headers.len())), usize::saturating_add);
    fixed + nullable_size(key) + nullable_size(value) + headers
}

/// Seven bits to a byte, at least one byte.
fn varint_size(value: i64) -> usize {
    ((70 - (zigzag(value) | 1).leading_zeros()) / 7) as usize
}

fn nullable_size(value: Option<&[u8]>) -> usize {
    match value {
        Some(value) => varint_size(as_length(value.len())) + value.len(),
        None => 1,
    }
}

fn length_or_null(value: Option<&[u8]>) -> i64 {
    value.map_or(-1, |value| as_length(value.len()))
}

/// Room for length, attributes, timestamp, offset and the length of the key.
const HEAD: usize = 32;

/// Appends what stands before the key of a record, put together in its place.
#[inline]
fn put_head(buffer: &mut Vec<u8>, fill: impl FnOnce(&mut Run<'_, HEAD>)) {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; HEAD]);
    if let Some(room) = buffer.last_chunk_mut() {
        let mut head = Run::new(room);
        fill(&mut head);
        let end = start + head.len();
        buffer.truncate(end);
    }
}

#[inline]
fn put_varint(buffer: &mut Vec<u8>, value: i64) {
    let raw = zigzag(value);
    // Most of them take one byte or two.
    match raw {
        0..0x80 => buffer.push(raw as u8),
        0x80..0x4000 => buffer.extend_from_slice(&[raw as u8 | 0x80, (raw >> 7) as u8]),
        _ => {
            let (bytes, length) = encode_varint(raw);
            buffer.extend_from_slice(bytes.get(..length).unwrap_or_default());
        }
    }
}

fn put_nullable(buffer: &mut Vec<u8>, value: Option<&[u8]>) {
    put_varint(buffer, length_or_null(value));
    buffer.extend_from_slice(value.unwrap_or_default());
}

/// The marker that ends a transaction in one partition. It takes one offset.
pub fn control_batch(
    base_offset: i64,
    timestamp: i64,
    producer_id: i64,
    producer_epoch: i16,
    control_type: ControlType,
    coordinator_epoch: i32,
) -> Bytes {
    let mut builder = BatchBuilder::new(base_offset)
        .producer(producer_id, producer_epoch, -1)
        .transactional()
        .control();
    let mut value = [0; 6];
    if let Some((_version, epoch)) = value.split_first_chunk_mut::<2>() {
        epoch.copy_from_slice(&coordinator_epoch.to_be_bytes());
    }
    builder.push(timestamp, Some(&control_type.key()), Some(&value));
    builder.build()
}
