//! `Writer`: puts a message together as a list of chunks.
//!
//! Small things go into a buffer; payloads of 512 bytes and more are pushed by reference, so
//! that a record batch travels from the log to the socket without a copy.

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};

use crate::parse::encode_varint;
use crate::records::Records;

/// Payloads from this size on are shared instead of copied, in bytes.
pub const SHARE_FROM: usize = 512;

/// Where encoded bytes go: into a [`Writer`], or only into a [`Counter`].
pub trait Sink {
    /// Appends a copy of these bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Appends these bytes, by reference where they are long.
    fn put_bytes(&mut self, bytes: &Bytes);

    /// Appends a records payload, chunk by chunk.
    fn put_records(&mut self, records: &Records) {
        for chunk in records.chunks() {
            self.put_bytes(chunk);
        }
    }

    /// Appends an unsigned varint.
    fn put_unsigned_varint(&mut self, value: u32) {
        let (buffer, length) = encode_varint(u64::from(value));
        self.put(buffer.get(..length).unwrap_or_default());
    }
}

/// Counts bytes instead of writing them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    copied: usize,
    shared: usize,
}

impl Counter {
    /// All bytes.
    pub fn total(self) -> usize {
        self.copied.saturating_add(self.shared)
    }

    /// The bytes that a [`Writer`] has to hold itself.
    pub fn copied(self) -> usize {
        self.copied
    }
}

impl Sink for Counter {
    fn put(&mut self, bytes: &[u8]) {
        self.copied += bytes.len();
    }

    fn put_bytes(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARE_FROM {
            self.copied += bytes.len();
        } else {
            self.shared += bytes.len();
        }
    }

    fn put_unsigned_varint(&mut self, value: u32) {
        // Seven bits to a byte, at least one byte.
        self.copied += ((38 - (value | 1).leading_zeros()) / 7) as usize;
    }
}

/// Collects chunks.
#[derive(Debug, Default)]
pub struct Writer {
    chunks: Vec<Bytes>,
    buffer: BytesMut,
}

impl Writer {
    /// An empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer with room for this many copied bytes.
    pub fn with_capacity(copied: usize) -> Self {
        Self {
            chunks: Vec::new(),
            buffer: BytesMut::with_capacity(copied),
        }
    }

    /// The number of bytes written so far.
    pub fn len(&self) -> usize {
        self.buffer.len() + self.chunks.iter().map(Bytes::len).sum::<usize>()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn flush(&mut self) {
        if !self.buffer.is_empty() {
            self.chunks.push(self.buffer.split().freeze());
        }
    }

    /// The chunks, in order; none of them empty.
    pub fn into_chunks(mut self) -> Vec<Bytes> {
        self.flush();
        self.chunks
    }

    /// Everything in one piece.
    pub fn into_bytes(self) -> Bytes {
        Records::from(self.into_chunks()).to_bytes()
    }
}

impl Sink for Writer {
    fn put(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    fn put_bytes(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARE_FROM {
            self.put(bytes);
        } else {
            self.flush();
            self.chunks.push(bytes.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_payloads_are_shared() {
        let long = Bytes::from(alloc::vec![7; 4096]);
        let mut w = Writer::new();
        w.put(b"ab");
        w.put_bytes(&Bytes::from_static(b"short"));
        w.put_bytes(&long);
        w.put(b"z");
        assert_eq!(w.len(), 2 + 5 + 4096 + 1);
        let chunks = w.into_chunks();
        assert_eq!(chunks.len(), 3);
        assert_eq!(chunks[0], "abshort");
        assert_eq!(chunks[1].as_ptr(), long.as_ptr());
        assert_eq!(chunks[2], "z");
    }

    #[test]
    fn a_varint_is_counted_as_it_is_written() {
        for shift in 0..32 {
            for value in [(1_u32 << shift) - 1, 1 << shift, u32::MAX >> shift] {
                let (mut counter, mut writer) = (Counter::default(), Writer::new());
                counter.put_unsigned_varint(value);
                writer.put_unsigned_varint(value);
                assert_eq!(counter.total(), writer.len(), "{value}");
            }
        }
    }
}
