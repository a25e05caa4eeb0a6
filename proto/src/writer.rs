//! `Writer`: puts a message together as a list of chunks.
//!
//! Small things go into a buffer; payloads of 512 bytes and more are pushed by reference, so
//! that a record batch travels from the log to the socket without a copy.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::frame::encode_size;
use crate::message::EncodeError;
use crate::parse::encode_varint;
use crate::records::Records;
use crate::wire::Run;

/// The room with which a frame begins, in bytes.
const FRAME_START: usize = 512;
/// Payloads from this size on are shared instead of copied, in bytes.
pub const SHARE_FROM: usize = 512;

/// Where encoded bytes go: into a [`Writer`], or only into a [`Counter`].
pub trait Sink {
    /// Appends a copy of these bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Appends at most `N` bytes, put together in their place.
    ///
    /// # Errors
    /// What `fill` says.
    fn put_run<const N: usize>(
        &mut self,
        fill: impl FnOnce(&mut Run<'_, N>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError>;

    /// Appends these bytes, by reference where they are long.
    fn put_bytes(&mut self, bytes: &Bytes);

    /// Appends a records payload, chunk by chunk.
    fn put_records(&mut self, records: &Records) {
        for chunk in records.chunks() {
            self.put_bytes(chunk);
        }
    }

    /// Appends an unsigned varint.
    #[inline]
    fn put_unsigned_varint(&mut self, value: u32) {
        if let Ok(byte @ ..0x80) = u8::try_from(value) {
            return self.put(&[byte]);
        }
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
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.copied += bytes.len();
    }

    #[inline]
    fn put_run<const N: usize>(
        &mut self,
        fill: impl FnOnce(&mut Run<'_, N>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let mut room = [0; N];
        let mut run = Run::new(&mut room);
        let result = fill(&mut run);
        self.copied += run.len();
        result
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

/// Collects chunks: one buffer for what is copied, and the payloads that stand between.
#[derive(Debug, Default)]
pub struct Writer {
    copied: Vec<u8>,
    /// Payloads and how many copied bytes stand before each.
    shared: Vec<(usize, Bytes)>,
    shared_size: usize,
}

impl Writer {
    /// An empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer with room for this many copied bytes.
    pub fn with_capacity(copied: usize) -> Self {
        Self {
            copied: Vec::with_capacity(copied),
            ..Self::default()
        }
    }

    /// The number of bytes written so far.
    pub fn len(&self) -> usize {
        self.copied.len() + self.shared_size
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The chunks, in order; none of them empty.
    pub fn into_chunks(self) -> Vec<Bytes> {
        let copied = Bytes::from(self.copied);
        let mut chunks = Vec::with_capacity(2 * self.shared.len() + 1);
        let mut from = 0;
        for (to, payload) in self.shared {
            if from < to {
                chunks.push(copied.slice(from..to));
            }
            chunks.push(payload);
            from = to;
        }
        match from {
            0 if copied.is_empty() => {}
            0 => chunks.push(copied),
            from if from < copied.len() => chunks.push(copied.slice(from..)),
            _ => {}
        }
        chunks
    }

    /// Everything in one piece.
    pub fn into_bytes(self) -> Bytes {
        if self.shared.is_empty() {
            return Bytes::from(self.copied);
        }
        Records::from(self.into_chunks()).to_bytes()
    }

    /// A writer that leaves room for the size of a frame; see [`Writer::into_frame`].
    pub(crate) fn frame() -> Self {
        let mut w = Self::with_capacity(FRAME_START);
        w.put(&[0; 4]);
        w
    }

    /// The chunks of a frame, its size in front.
    pub(crate) fn into_frame(mut self) -> Vec<Bytes> {
        let size = encode_size(self.len().saturating_sub(4));
        if let Some(slot) = self.copied.first_chunk_mut() {
            *slot = size;
        }
        self.into_chunks()
    }
}

/// Grows in larger steps than a list does by itself, since most messages grow anyway.
#[cold]
#[inline(never)]
fn grow(copied: &mut Vec<u8>, more: usize) {
    copied.reserve(more.max(copied.capacity().saturating_mul(3)));
}

impl Sink for Writer {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if self.copied.capacity() - self.copied.len() < bytes.len() {
            grow(&mut self.copied, bytes.len());
        }
        self.copied.extend_from_slice(bytes);
    }

    #[inline]
    fn put_run<const N: usize>(
        &mut self,
        fill: impl FnOnce(&mut Run<'_, N>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let start = self.copied.len();
        self.put(&[0; N]);
        let Some(room) = self.copied.last_chunk_mut() else {
            return Ok(());
        };
        let mut run = Run::new(room);
        let result = fill(&mut run);
        let end = start + run.len();
        self.copied.truncate(end);
        result
    }

    fn put_bytes(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARE_FROM {
            self.put(bytes);
        } else {
            self.shared_size += bytes.len();
            self.shared.push((self.copied.len(), bytes.clone()));
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
