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

    /// Appends so many values of `M` bytes each.
    fn put_each<const M: usize>(&mut self, count: usize, values: impl Iterator<Item = [u8; M]>);

    /// Says that at least so many bytes follow.
    fn expect(&mut self, bytes: usize);

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

    #[inline]
    fn put_each<const M: usize>(&mut self, count: usize, _: impl Iterator<Item = [u8; M]>) {
        self.copied += count * M;
    }

    #[inline]
    fn expect(&mut self, _: usize) {}

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
    /// What is copied, and room behind it: so a write is one comparison and a copy.
    room: Vec<u8>,
    /// How many bytes of the room are written.
    at: usize,
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
        let mut writer = Self::default();
        // Not `vec![0; copied]`: asked for zeroes, glibc leaves out its cache of small pieces.
        writer.room.resize(copied, 0);
        writer
    }

    /// The number of bytes written so far.
    pub fn len(&self) -> usize {
        self.at + self.shared_size
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The chunks, in order; none of them empty.
    pub fn into_chunks(mut self) -> Vec<Bytes> {
        self.room.truncate(self.at);
        let copied = Bytes::from(self.room);
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
    pub fn into_bytes(mut self) -> Bytes {
        if self.shared.is_empty() {
            self.room.truncate(self.at);
            return Bytes::from(self.room);
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
    pub(crate) fn into_frame(mut self) -> Result<Vec<Bytes>, EncodeError> {
        let size = encode_size(self.len().saturating_sub(4));
        let size = size.ok_or(EncodeError::TooLong { field: "frame" })?;
        if let Some(slot) = self.room.first_chunk_mut() {
            *slot = size;
        }
        Ok(self.into_chunks())
    }
}

impl Writer {
    /// Makes room for so many bytes: at least twice the room that was.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        let room = self.room.len();
        let more = more.max(room).max(FRAME_START);
        self.room.resize(room.saturating_add(more), 0);
    }

    #[cold]
    #[inline(never)]
    fn put_grown(&mut self, bytes: &[u8]) {
        self.grow(bytes.len());
        let end = self.at + bytes.len();
        if let Some(room) = self.room.get_mut(self.at..end) {
            room.copy_from_slice(bytes);
            self.at = end;
        }
    }
}

impl Sink for Writer {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        match self.room.get_mut(self.at..end) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.at = end;
            }
            None => self.put_grown(bytes),
        }
    }

    #[inline]
    fn put_run<const N: usize>(
        &mut self,
        fill: impl FnOnce(&mut Run<'_, N>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        if self.room.len() - self.at < N {
            self.grow(N);
        }
        let room = self.room.get_mut(self.at..);
        let Some(room) = room.and_then(|room| room.first_chunk_mut()) else {
            return Ok(());
        };
        let mut run = Run::new(room);
        let result = fill(&mut run);
        self.at += run.len();
        result
    }

    #[inline]
    fn put_each<const M: usize>(&mut self, count: usize, values: impl Iterator<Item = [u8; M]>) {
        let size = count * M;
        if self.room.len() - self.at < size {
            self.grow(size);
        }
        let Some(room) = self.room.get_mut(self.at..self.at + size) else {
            return;
        };
        let (slots, _) = room.as_chunks_mut();
        slots
            .iter_mut()
            .zip(values)
            .for_each(|(slot, value)| *slot = value);
        self.at += size;
    }

    #[inline]
    fn expect(&mut self, bytes: usize) {
        if self.room.len() - self.at < bytes {
            self.grow(bytes);
        }
    }

    fn put_bytes(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARE_FROM {
            self.put(bytes);
        } else {
            self.shared_size += bytes.len();
            self.shared.push((self.at, bytes.clone()));
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
