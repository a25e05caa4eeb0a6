//! A log's state as bytes: producers, open transactions, the index of aborted ones, timestamps,
//! segments.
//!
//! One byte of version, then numbers as zigzag varints. Offsets are written as their distance from
//! an offset before them, so a typical entry takes a few bytes. Whatever [`encode`] cannot have
//! written is refused, and no count is believed beyond the bytes that are there.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use bytes::Bytes;

use super::partition_log::PartitionLog;
use super::producer_state::{
    ProducerEntry, ProducerTable, REMEMBERED_BATCHES, RecentBatch, advance,
};
use super::segments::{SEGMENTS, Segment, Segments};
use super::timestamps::{MAXIMA, MaxTimestamp, Timestamps};
use super::transactions::{Aborted, IndexEntry, OpenTxn, Transactions};

const VERSION: u8 = 2;
/// Had no segments.
const FIRST_VERSION: u8 = 1;

/// What a checkpoint holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Checkpoint {
    pub(super) producers: ProducerTable,
    pub(super) transactions: Transactions,
    pub(super) timestamps: Timestamps,
    pub(super) segments: Segments,
}

/// The state of a log at its end.
pub(super) fn encode(log: &PartitionLog, timestamps: &Timestamps) -> Bytes {
    let mut out = Writer(Vec::new());
    out.0.push(VERSION);
    out.number(log.end);
    encode_timestamps(&mut out, timestamps);
    encode_producers(&mut out, &log.producers);
    encode_transactions(&mut out, &log.transactions);
    encode_segments(&mut out, &log.segments);
    Bytes::from(out.0)
}

/// The state that was kept for offset `at`; what is wrong with it, where it is none.
pub(super) fn decode(state: &[u8], at: i64) -> Result<Checkpoint, &'static str> {
    let Some((version, rest)) = state.split_first() else {
        return Err("the checkpoint is empty");
    };
    if !(FIRST_VERSION..=VERSION).contains(version) {
        return Err("the checkpoint has an unknown version");
    }
    let mut input = Reader(rest);
    if input.number()? != at {
        return Err("the checkpoint belongs to another offset");
    }
    let timestamps = decode_timestamps(&mut input, at)?;
    let producers = decode_producers(&mut input, at)?;
    let transactions = decode_transactions(&mut input, at)?;
    let segments = match *version {
        FIRST_VERSION => Segments::default(),
        _ => decode_segments(&mut input, at)?,
    };
    if !input.0.is_empty() {
        return Err("the checkpoint has bytes behind its end");
    }
    Ok(Checkpoint {
        producers,
        transactions,
        timestamps,
        segments,
    })
}

fn encode_timestamps(out: &mut Writer, timestamps: &Timestamps) {
    out.number(timestamps.highest());
    out.count(timestamps.maxima().len());
    for max in timestamps.maxima() {
        out.number(max.timestamp);
        out.span(max.base, max.last);
    }
}

fn decode_timestamps(input: &mut Reader<'_>, at: i64) -> Result<Timestamps, &'static str> {
    let highest = input.within(-1, i64::MAX)?;
    let count = input.count()?;
    if count > MAXIMA {
        return Err("a checkpoint with too many timestamps");
    }
    let mut maxima = VecDeque::with_capacity(count);
    let (mut limit, mut from) = (highest, 0);
    for _ in 0..count {
        let timestamp = input.within(0, limit)?;
        let (base, last) = input.span(from, at)?;
        maxima.push_back(MaxTimestamp {
            timestamp,
            base,
            last,
        });
        (limit, from) = (timestamp, last + 1);
    }
    Ok(Timestamps::restore(maxima, highest))
}

fn encode_producers(out: &mut Writer, producers: &ProducerTable) {
    out.count(producers.iter().len());
    for (producer_id, entry) in producers.iter() {
        out.number(producer_id);
        out.number(i64::from(entry.epoch));
        out.number(i64::from(entry.coordinator_epoch));
        out.number(entry.last_timestamp);
        out.count(entry.recent.len());
        for batch in &entry.recent {
            out.number(i64::from(batch.base_sequence));
            out.span(batch.base, batch.last);
        }
    }
}

fn decode_producers(input: &mut Reader<'_>, at: i64) -> Result<ProducerTable, &'static str> {
    let mut producers = ProducerTable::default();
    let mut next_id = 0;
    for _ in 0..input.count()? {
        let producer_id = input.within(next_id, i64::MAX - 1)?;
        next_id = producer_id + 1;
        let entry = ProducerEntry {
            epoch: input.epoch()?,
            coordinator_epoch: input.within(i64::from(i32::MIN), i64::from(i32::MAX))? as i32,
            last_timestamp: input.number()?,
            recent: decode_recent(input, at)?,
        };
        producers.restore(producer_id, entry);
    }
    Ok(producers)
}

fn decode_recent(input: &mut Reader<'_>, at: i64) -> Result<Vec<RecentBatch>, &'static str> {
    let count = input.count()?;
    if count > REMEMBERED_BATCHES {
        return Err("a checkpoint with too many batches of a producer");
    }
    let mut recent = Vec::with_capacity(count);
    let mut from = 0;
    for _ in 0..count {
        let base_sequence = input.within(0, i64::from(i32::MAX))? as i32;
        let (base, last) = input.span(from, at)?;
        from = last + 1;
        let steps = i32::try_from(last - base).map_err(|_| "a checkpoint with a batch too long")?;
        let last_sequence = advance(base_sequence, steps);
        recent.push(RecentBatch {
            base_sequence,
            last_sequence,
            base,
            last,
        });
    }
    Ok(recent)
}

fn encode_transactions(out: &mut Writer, transactions: &Transactions) {
    out.count(transactions.all_open().len());
    for (producer_id, open) in transactions.all_open() {
        out.number(producer_id);
        out.number(open.first_offset);
        out.number(i64::from(open.epoch));
    }
    out.count(transactions.index().len());
    for entry in transactions.index() {
        out.number(entry.txn.producer_id);
        out.span(entry.txn.first_offset, entry.txn.last_offset);
        out.number(entry.txn.last_offset + 1 - entry.stable);
    }
}

fn decode_transactions(input: &mut Reader<'_>, at: i64) -> Result<Transactions, &'static str> {
    let mut transactions = Transactions::default();
    let mut begun = BTreeSet::new();
    let mut next_id = 0;
    for _ in 0..input.count()? {
        let producer_id = input.within(next_id, i64::MAX - 1)?;
        next_id = producer_id + 1;
        let first_offset = input.within(0, at - 1)?;
        let epoch = input.epoch()?;
        if !begun.insert(first_offset) {
            return Err("a checkpoint with two transactions at one offset");
        }
        transactions.restore_open(
            producer_id,
            OpenTxn {
                first_offset,
                epoch,
                ordinal: 0,
            },
        );
    }
    let mut marker_from = 1;
    for _ in 0..input.count()? {
        let producer_id = input.within(0, i64::MAX)?;
        let (first_offset, last_offset) = input.span(0, at)?;
        if last_offset < marker_from || first_offset == last_offset {
            return Err("a checkpoint with aborted transactions out of order");
        }
        marker_from = last_offset + 1;
        let stable = last_offset + 1 - input.within(0, last_offset + 1)?;
        let txn = Aborted {
            producer_id,
            first_offset,
            last_offset,
        };
        transactions.restore_aborted(IndexEntry { txn, stable });
    }
    Ok(transactions)
}

fn encode_segments(out: &mut Writer, segments: &Segments) {
    out.count(segments.iter().len());
    for segment in segments.iter() {
        out.number(segment.base);
        out.number(segment.bytes);
        out.number(segment.first_timestamp);
        out.number(segment.max_timestamp);
    }
}

fn decode_segments(input: &mut Reader<'_>, at: i64) -> Result<Segments, &'static str> {
    let count = input.count()?;
    if count > SEGMENTS {
        return Err("a checkpoint with too many segments");
    }
    let mut list = VecDeque::with_capacity(count);
    let mut from = 0;
    for _ in 0..count {
        let base = input.within(from, at - 1)?;
        from = base + 1;
        list.push_back(Segment {
            base,
            bytes: input.within(0, i64::MAX)?,
            first_timestamp: input.within(-1, i64::MAX)?,
            max_timestamp: input.within(-1, i64::MAX)?,
        });
    }
    Ok(Segments::restore(list))
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, value: i64) {
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        while rest >= 0x80 {
            self.0.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }

    fn count(&mut self, count: usize) {
        self.number(count as i64);
    }

    fn span(&mut self, first: i64, last: i64) {
        self.number(first);
        self.number(last - first);
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Result<i64, &'static str> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let Some((byte, rest)) = self.0.split_first() else {
                return Err("the checkpoint is cut");
            };
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        Err("a checkpoint with a number that is too long")
    }

    fn within(&mut self, least: i64, most: i64) -> Result<i64, &'static str> {
        let value = self.number()?;
        if (least..=most).contains(&value) {
            Ok(value)
        } else {
            Err("a checkpoint with a number out of range")
        }
    }

    /// A count of things that take at least one byte each.
    fn count(&mut self) -> Result<usize, &'static str> {
        let count = self.within(0, i64::MAX)?;
        match usize::try_from(count) {
            Ok(count) if count <= self.0.len() => Ok(count),
            _ => Err("a checkpoint with a count beyond its bytes"),
        }
    }

    fn epoch(&mut self) -> Result<i16, &'static str> {
        Ok(self.within(i64::from(i16::MIN), i64::from(i16::MAX))? as i16)
    }

    /// Two offsets, the first at least `from`, the last below `at`.
    fn span(&mut self, from: i64, at: i64) -> Result<(i64, i64), &'static str> {
        let first = self.within(from, at - 1)?;
        let last = first + self.within(0, at - 1 - first)?;
        Ok((first, last))
    }
}
