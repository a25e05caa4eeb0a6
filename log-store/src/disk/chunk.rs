//! The index: where the batches of a log lie.
//!
//! Neighbouring batches of a log in one segment share a chunk, which is one value in the database.
//! So the index costs the database a few bytes a batch and a small part of an insertion.

use crate::disk::entry::{PART, number};
use crate::keys;

/// A chunk that has so many batches is full.
const CHUNK_SLOTS: usize = 256;
/// A chunk of so many bytes is full: moving one is a short piece of work.
const CHUNK_BYTES: u64 = 4 * 1024 * 1024;

/// Where one batch is; its base offset follows from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) last: i64,
    pub(crate) max_timestamp: i64,
    /// Of the header of its part.
    pub(crate) position: u32,
    /// Bytes of the batch, without that header.
    pub(crate) length: u32,
}

impl Slot {
    /// Bytes in the segment.
    fn size(&self) -> u64 {
        PART as u64 + u64::from(self.length)
    }
}

/// Some batches of one log without a gap, all in one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) segment: u64,
    pub(crate) base: i64,
    pub(crate) max_timestamp: i64,
    /// Bytes of its batches in the segment.
    pub(crate) bytes: u64,
    pub(crate) slots: Vec<Slot>,
}

/// One batch of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) segment: u64,
    pub(crate) base: i64,
    pub(crate) slot: Slot,
}

impl Chunk {
    pub(crate) fn new(segment: u64, base: i64) -> Self {
        Chunk {
            segment,
            base,
            max_timestamp: i64::MIN,
            bytes: 0,
            slots: Vec::new(),
        }
    }

    /// Whether a batch with this base in this segment may follow.
    pub(crate) fn admits(&self, segment: u64, base: i64) -> bool {
        self.segment == segment
            && self.end() == base
            && self.slots.len() < CHUNK_SLOTS
            && self.bytes < CHUNK_BYTES
    }

    /// The offset behind its last batch.
    pub(crate) fn end(&self) -> i64 {
        self.slots
            .last()
            .map_or(self.base, |slot| slot.last.saturating_add(1))
    }

    /// Bytes of its batches without their headers.
    pub(crate) fn payload(&self) -> u64 {
        self.bytes - (PART * self.slots.len()) as u64
    }

    pub(crate) fn push(&mut self, slot: Slot) {
        self.bytes += slot.size();
        self.max_timestamp = self.max_timestamp.max(slot.max_timestamp);
        self.slots.push(slot);
    }

    /// Its batches that end at `from` or later.
    pub(crate) fn located(&self, from: i64) -> impl Iterator<Item = Located> {
        let first = self.slots.partition_point(|slot| slot.last < from);
        let mut base = match first.checked_sub(1) {
            Some(before) => self.slots[before].last.saturating_add(1),
            None => self.base,
        };
        self.slots[first..].iter().map(move |slot| {
            let located = Located {
                segment: self.segment,
                base,
                slot: *slot,
            };
            base = slot.last.saturating_add(1);
            located
        })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24 + self.slots.len() * 8);
        out.extend_from_slice(&self.segment.to_be_bytes());
        out.extend_from_slice(&self.max_timestamp.to_be_bytes());
        let (mut base, mut timestamp, mut position) = (self.base, 0_i64, 0_u32);
        for slot in &self.slots {
            put(&mut out, slot.last.wrapping_sub(base) as u64);
            put_signed(&mut out, slot.max_timestamp.wrapping_sub(timestamp));
            put_signed(&mut out, i64::from(slot.position) - i64::from(position));
            put(&mut out, u64::from(slot.length));
            base = slot.last.wrapping_add(1);
            timestamp = slot.max_timestamp;
            position = slot.position;
        }
        out
    }

    /// The largest timestamp of a chunk, without a look at its batches.
    pub(crate) fn peek_timestamp(value: &[u8]) -> Option<i64> {
        keys::long(value, 8)
    }

    /// `None` where the value is none that was written.
    pub(crate) fn decode(base: i64, value: &[u8]) -> Option<Self> {
        let mut chunk = Chunk::new(number(value, 0)?, base);
        let mut rest = value.get(16..)?;
        let (mut timestamp, mut position) = (0_i64, 0_i64);
        while !rest.is_empty() {
            let next = chunk.end();
            let last = next.wrapping_add(take(&mut rest)? as i64);
            timestamp = timestamp.wrapping_add(take_signed(&mut rest)?);
            position = position.wrapping_add(take_signed(&mut rest)?);
            let length = u32::try_from(take(&mut rest)?).ok()?;
            if last < next {
                return None;
            }
            chunk.push(Slot {
                last,
                max_timestamp: timestamp,
                position: u32::try_from(position).ok()?,
                length,
            });
        }
        (!chunk.slots.is_empty()).then_some(chunk)
    }
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take_signed(rest: &mut &[u8]) -> Option<i64> {
    let value = take(rest)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(last: i64, max_timestamp: i64, position: u32, length: u32) -> Slot {
        Slot {
            last,
            max_timestamp,
            position,
            length,
        }
    }

    #[test]
    fn a_chunk_decodes_to_what_it_was() {
        let mut chunk = Chunk::new(u64::MAX, 5);
        chunk.push(slot(5, -1, 100, 61));
        chunk.push(slot(i64::from(u32::MAX), i64::MAX, 7, u32::MAX));
        chunk.push(slot(i64::MAX - 1, i64::MIN, u32::MAX, 0));
        let value = chunk.encode();
        assert_eq!(Chunk::decode(5, &value), Some(chunk.clone()));
        assert_eq!(Chunk::peek_timestamp(&value), Some(chunk.max_timestamp));
        for cut in 0..value.len() {
            assert_ne!(Chunk::decode(5, &value[..cut]), Some(chunk.clone()));
        }
    }

    #[test]
    fn batches_are_found_from_the_one_that_contains_the_offset() {
        let mut chunk = Chunk::new(1, 10);
        chunk.push(slot(14, 0, 28, 61));
        chunk.push(slot(15, 0, 200, 61));
        let bases = |from| {
            chunk
                .located(from)
                .map(|found| found.base)
                .collect::<Vec<_>>()
        };
        assert_eq!(bases(0), [10, 15]);
        assert_eq!(bases(14), [10, 15]);
        assert_eq!(bases(15), [15]);
        assert_eq!(bases(16), [0; 0]);
    }

    #[test]
    fn a_chunk_admits_what_follows_in_its_segment() {
        let mut chunk = Chunk::new(1, 0);
        assert!(chunk.admits(1, 0));
        chunk.push(slot(3, 0, 28, 61));
        assert!(chunk.admits(1, 4) && !chunk.admits(2, 4) && !chunk.admits(1, 5));
        chunk.push(slot(4, 0, 200, CHUNK_BYTES as u32));
        assert!(!chunk.admits(1, 5), "full");
    }
}
