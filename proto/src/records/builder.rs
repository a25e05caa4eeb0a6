//! Making batches.

use bytes::{BufMut, Bytes, BytesMut};

use crate::parse::{encode_varint, zigzag};
use crate::records::RecordsError;
use crate::records::batch::{
    CODEC_MASK, CONTROL, Compression, HEADER_SIZE, LENGTH_OVERHEAD, LOG_APPEND_TIME, TRANSACTIONAL,
    seal,
};
use crate::records::compression::compress;
use crate::records::control::ControlType;

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
    records: BytesMut,
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
            records: BytesMut::new(),
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
        HEADER_SIZE + self.records.len()
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
        let records = &mut self.records;
        records.reserve(size + 10);
        put_varint(records, as_length(size));
        records.put_u8(0);
        put_varint(records, timestamp_delta);
        put_varint(records, i64::from(offset_delta));
        put_nullable(records, key);
        put_nullable(records, value);
        put_varint(records, as_length(headers.len()));
        for (key, value) in headers {
            put_nullable(records, Some(key));
            put_nullable(records, *value);
        }
    }

    /// The finished batch, uncompressed.
    pub fn build(self) -> Bytes {
        self.finish(&self.records)
    }

    /// The finished batch, its records packed.
    ///
    /// # Errors
    /// As [`compress`].
    pub fn build_compressed(mut self, codec: Compression) -> Result<Bytes, RecordsError> {
        let packed = compress(codec, &self.records)?;
        self.attributes = (self.attributes & !CODEC_MASK) | codec.id();
        Ok(self.finish(&packed))
    }

    fn finish(&self, records: &[u8]) -> Bytes {
        let mut batch = BytesMut::with_capacity(HEADER_SIZE + records.len());
        batch.put_i64(self.base_offset);
        // Length and checksum are known at the end.
        batch.put_bytes(0, LENGTH_OVERHEAD - 8);
        batch.put_i32(self.leader_epoch);
        batch.put_i8(2);
        batch.put_bytes(0, 4);
        batch.put_i16(self.attributes);
        batch.put_i32(self.last_offset_delta);
        batch.put_i64(self.base_timestamp);
        batch.put_i64(self.append_time.unwrap_or(self.max_timestamp));
        batch.put_i64(self.producer_id);
        batch.put_i16(self.producer_epoch);
        batch.put_i32(self.base_sequence);
        batch.put_i32(self.count);
        batch.put_slice(records);
        seal(batch)
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

fn put_varint(buffer: &mut BytesMut, value: i64) {
    let (bytes, length) = encode_varint(zigzag(value));
    buffer.put_slice(bytes.get(..length).unwrap_or_default());
}

fn put_nullable(buffer: &mut BytesMut, value: Option<&[u8]>) {
    put_varint(buffer, value.map_or(-1, |value| as_length(value.len())));
    buffer.put_slice(value.unwrap_or_default());
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
