//! A log from what the store has of it.

use core::fmt;

use ackord_machine::{LoadedLog, LogId, StoredBatch};

use super::batch::BatchFacts;
use super::checkpoint::{self, Checkpoint};
use super::partition_log::{LogConfig, PartitionLog};
use super::tail::Tail;

/// Half of all offsets: no log gets there, and no sum of offsets in a log that has not overflows.
const LARGEST_END: i64 = i64::MAX / 2;

/// What is stored of a log cannot have been written by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorruptLog {
    /// The log.
    pub log: LogId,
    /// The offset from which on it cannot be used.
    pub at: i64,
    /// What is wrong.
    pub what: &'static str,
}

impl fmt::Display for CorruptLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log {} at offset {}: {}", self.log, self.at, self.what)
    }
}

impl core::error::Error for CorruptLog {}

impl PartitionLog {
    /// The log as it was, from its newest checkpoint and the batches from there on, of which the
    /// headers are enough ([`LoadDetail::Headers`](ackord_machine::LoadDetail::Headers)). All of it
    /// is durable, none of it is in memory, and ordinals are unknown.
    pub fn recover(id: LogId, config: LogConfig, loaded: &LoadedLog) -> Result<Self, CorruptLog> {
        let corrupt = |at, what| CorruptLog { log: id, at, what };
        if loaded.start < 0 || loaded.end < loaded.start || loaded.end > LARGEST_END {
            return Err(corrupt(loaded.start, "its offsets are impossible"));
        }
        let known_to = loaded.checkpoint.as_ref().map(|checkpoint| checkpoint.at);
        if known_to.is_some_and(|at| at < 0 || at > loaded.end) {
            return Err(corrupt(loaded.end, "its checkpoint is not within it"));
        }
        let Checkpoint {
            producers,
            transactions,
            timestamps,
            segments,
        } = match &loaded.checkpoint {
            Some(stored) => checkpoint::decode(&stored.state, stored.at)
                .map_err(|what| corrupt(stored.at, what))?,
            None => Checkpoint::default(),
        };
        let mut log = PartitionLog {
            id,
            config,
            start: loaded.start,
            end: known_to.unwrap_or(loaded.start),
            durable: 0,
            producers,
            transactions,
            timestamps,
            segments,
            tail: Tail::new(0, None),
        };
        log.replay(loaded).map_err(|(at, what)| corrupt(at, what))?;
        Ok(log)
    }

    fn replay(&mut self, loaded: &LoadedLog) -> Result<(), (i64, &'static str)> {
        let known_to = self.end;
        if self.segments.iter().len() == 0 && known_to > self.start {
            // A checkpoint of an older broker: what came before counts as one segment.
            let (base, timestamp) = (self.start, self.timestamps.highest());
            self.segments.note(self.config.rolling, base, 0, timestamp);
        }
        // As they were when the batches that follow were appended.
        self.segments.trim(self.start, known_to);
        let mut first = true;
        for stored in &loaded.batches {
            if stored.last < known_to && loaded.checkpoint.is_some() {
                continue;
            }
            // Before the first one, batches may have been trimmed away, or be left from before. A
            // cleaner takes them from anywhere.
            let cleaned = loaded.cleaned && stored.base > self.end;
            let fits = stored.base == self.end
                || cleaned
                || (first && stored.base <= self.start.max(known_to));
            if !fits {
                return Err((self.end, "a batch is missing"));
            }
            if stored.base < known_to && loaded.checkpoint.is_some() {
                return Err((known_to, "a batch reaches over the checkpoint"));
            }
            let facts = facts_of(stored, loaded.end)?;
            self.apply(&facts);
            self.timestamps
                .note(facts.max_timestamp, facts.base, facts.last);
            first = false;
        }
        let trimmed_away = first && loaded.start == loaded.end;
        if self.end != loaded.end && !trimmed_away && !loaded.cleaned {
            return Err((self.end, "its last batches are missing"));
        }
        self.end = loaded.end;
        self.durable = loaded.end;
        self.transactions.durable_to(loaded.end);
        self.transactions.trim(loaded.start);
        self.timestamps.trim(loaded.start);
        self.segments.trim(loaded.start, loaded.end);
        self.tail = Tail::new(loaded.end, Some(self.timestamps.highest()));
        Ok(())
    }
}

fn facts_of(stored: &StoredBatch, end: i64) -> Result<BatchFacts, (i64, &'static str)> {
    let facts = BatchFacts::read(&stored.bytes, end).map_err(|what| (stored.base, what))?;
    if facts.base != stored.base || facts.last != stored.last {
        return Err((
            stored.base,
            "a batch is stored under other offsets than its own",
        ));
    }
    Ok(facts)
}
