//! A recovered log equals the one that wrote it.

use ackord_machine::{Entropy, LoadedLog, StoredCheckpoint};

use super::*;

/// A log, what a store would have of it, and its checkpoints.
struct Stored {
    log: PartitionLog,
    batches: Vec<StoredBatch>,
    checkpoints: Vec<StoredCheckpoint>,
}

impl Stored {
    fn new() -> Self {
        let log = PartitionLog::new(
            ID,
            LogConfig {
                tail_bytes: 2_000,
                ..config()
            },
        );
        Stored {
            log,
            batches: Vec::new(),
            checkpoints: Vec::new(),
        }
    }

    fn keep(&mut self, part: &LogAppend) {
        assert_eq!(
            part.base,
            self.batches.last().map_or(0, |batch| batch.last + 1)
        );
        self.batches.push(as_stored(part));
    }

    fn checkpoint(&mut self) {
        self.log.durable_to(self.log.end_offset());
        let (at, state) = self.log.checkpoint();
        self.checkpoints.push(StoredCheckpoint { at, state });
    }

    /// As `LoadDetail::Headers` gives it.
    fn load(&self, checkpoint: Option<&StoredCheckpoint>) -> LoadedLog {
        let from = checkpoint.map_or(0, |checkpoint| checkpoint.at);
        let kept = self.batches.iter().filter(|batch| batch.last >= from);
        let cut = |batch: &StoredBatch| StoredBatch {
            bytes: match batch.bytes.len() {
                0..=256 => batch.bytes.clone(),
                _ => batch.bytes.slice(..61),
            },
            ..batch.clone()
        };
        LoadedLog {
            start: self.log.start_offset(),
            end: self.log.end_offset(),
            cleaned: false,
            checkpoint: checkpoint.cloned(),
            batches: kept.map(cut).collect(),
        }
    }

    fn recover(&self, checkpoint: Option<&StoredCheckpoint>) -> PartitionLog {
        let loaded = self.load(checkpoint);
        PartitionLog::recover(ID, self.log.config().clone(), &loaded).unwrap()
    }

    fn produce(&mut self, batch: &Client) {
        let part = append(&mut self.log, batch);
        self.keep(&part);
    }

    /// Something that may happen to a log.
    fn step(&mut self, entropy: &mut Entropy) {
        let producer_id = entropy.below(4) as i64;
        let known = self
            .log
            .producers()
            .find(|known| known.producer_id == producer_id);
        let epoch = known.map_or(0, |known| known.producer_epoch);
        let sequence = known.map_or(0, |known| known.last_sequence + 1);
        let timestamp = 1_000 + entropy.below(50) as i64;
        let open = self.log.open_transaction(producer_id).is_some();
        let client = Client::new(producer_id)
            .epoch(epoch)
            .sequence(sequence)
            .records(1 + entropy.below(6) as i32)
            .timestamp(timestamp);
        match entropy.below(8) {
            0 => self.produce(&Client::anonymous().timestamp(timestamp)),
            1 if !open => self.produce(&client),
            2 if !open => self.produce(&client.epoch(epoch + 1).sequence(0)),
            3 => {
                let producer = ProducerEpoch {
                    id: producer_id,
                    epoch,
                };
                let part = self
                    .log
                    .append_records(now(timestamp), &records(2), Some(producer));
                self.keep(&part);
            }
            4 | 5 => self.produce(&client.transactional()),
            6 => {
                let marker = Marker {
                    producer_id,
                    producer_epoch: epoch + 1,
                    commit: entropy.below(2) == 0,
                    coordinator_epoch: 3,
                    transaction_version: 2,
                    ordinal: 0,
                };
                match self.log.append_marker(now(timestamp), marker) {
                    Ok(MarkerOutcome::Appended(part)) => self.keep(&part),
                    other => panic!("{other:?}"),
                }
            }
            _ => {
                let durable = self.log.high_watermark();
                let open_end = (self.log.end_offset() - durable + 1) as u64;
                let up_to = durable + entropy.below(open_end) as i64;
                let batch = self.batches.iter().find(|batch| batch.last >= up_to);
                self.log.durable_to(batch.map_or(up_to, |batch| batch.base));
            }
        }
        self.log_is_sound();
    }

    /// What holds at every moment.
    fn log_is_sound(&self) {
        let log = &self.log;
        assert!(log.start_offset() <= log.last_stable_offset());
        assert!(log.last_stable_offset() <= log.high_watermark());
        assert!(log.high_watermark() <= log.end_offset());
        for producer in log.producers() {
            if let Some(first) = producer.transaction_start {
                assert!(log.last_stable_offset() <= first.max(log.start_offset()));
            }
        }
    }
}

/// All that a log can be asked, at the end of its log.
fn assert_same(left: &PartitionLog, right: &PartitionLog) {
    assert_eq!(left.checkpoint(), right.checkpoint());
    assert_eq!(left.start_offset(), right.start_offset());
    assert_eq!(left.end_offset(), right.end_offset());
    assert_eq!(left.high_watermark(), right.high_watermark());
    assert_eq!(left.last_stable_offset(), right.last_stable_offset());
    assert_eq!(left.max_timestamp(), right.max_timestamp());
    assert!(left.producers().eq(right.producers()));
    let end = left.end_offset();
    for from in (0..end).step_by(3) {
        for up_to in (from..=end).step_by(7) {
            assert_eq!(left.aborted(from, up_to), right.aborted(from, up_to));
        }
    }
    for producer in left.producers() {
        let open = |log: &PartitionLog| {
            log.open_transaction(producer.producer_id)
                .map(|open| (open.first_offset, open.epoch))
        };
        assert_eq!(open(left), open(right));
    }
}

/// The aborted list as its definition says.
fn aborted_by_scan(stored: &Stored, from: i64, up_to: i64) -> Vec<Aborted> {
    let all = stored.log.aborted(0, i64::MAX);
    all.into_iter()
        .filter(|txn| txn.last_offset >= from && txn.first_offset < up_to)
        .collect()
}

#[test]
fn replay_equals_the_live_state_with_and_without_checkpoints() {
    for seed in 0..40u8 {
        let mut entropy = Entropy::from_seed([seed; 32]);
        let mut stored = Stored::new();
        for step in 0..60 {
            stored.step(&mut entropy);
            if step % 17 == 5 {
                stored.checkpoint();
            }
        }
        stored.log.durable_to(stored.log.end_offset());
        assert_same(&stored.log, &stored.recover(None));
        for checkpoint in &stored.checkpoints {
            assert_same(&stored.log, &stored.recover(Some(checkpoint)));
        }
        let stable = stored.log.last_stable_offset();
        for from in 0..stable {
            for up_to in from..=stable {
                let listed = stored.log.aborted(from, up_to);
                assert_eq!(listed, aborted_by_scan(&stored, from, up_to), "seed {seed}");
            }
        }
    }
}

#[test]
fn replay_equals_the_live_state_at_every_batch() {
    let mut entropy = Entropy::from_seed([4; 32]);
    let mut stored = Stored::new();
    for _ in 0..80 {
        let before = stored.batches.len();
        stored.step(&mut entropy);
        if stored.batches.len() > before {
            let mut settled = stored.log.clone();
            settled.durable_to(settled.end_offset());
            assert_same(&settled, &stored.recover(None));
        }
    }
}

#[test]
fn a_recovered_log_goes_on() {
    let mut stored = Stored::new();
    let first = Client::new(7).records(3);
    let part = append(&mut stored.log, &first);
    stored.keep(&part);
    let part = append(&mut stored.log, &Client::new(8).transactional());
    stored.keep(&part);
    stored.checkpoint();
    let mut log = stored.recover(stored.checkpoints.last());
    assert_eq!((log.high_watermark(), log.last_stable_offset()), (4, 3));
    assert_eq!(log.read(0, 1_000, 4), ReadResult::Cold);
    assert_eq!(log.read(4, 1_000, 4), ReadResult::Empty);
    assert_eq!(log.find_timestamp_hot(1_000), FindHot::Cold);
    assert_eq!(log.find_timestamp_hot(1_001), FindHot::NotFound);
    let again = log.append_client(now(1), &first.build(), TxnCheck::Unverified);
    assert_eq!(again, Ok(Produced::Duplicate { base: 0, last: 2 }));
    assert_eq!(produced(&mut log, &Client::new(7).sequence(3)), (4, 4));
    assert_eq!(
        produced(&mut log, &Client::new(8).sequence(1).transactional()),
        (5, 5)
    );
    log.durable_to(6);
    assert!(matches!(log.read(4, 1_000, 6), ReadResult::Hot(_)));
    assert_eq!(log.read(3, 1_000, 6), ReadResult::Cold);
}

#[test]
fn a_checkpoint_says_what_is_true_at_the_end_of_the_log() {
    let mut log = log();
    assert_eq!(log.checkpoint().0, 0);
    produced(&mut log, &Client::new(7));
    let before = log.checkpoint();
    assert_eq!(before.0, 1);
    log.durable_to(1);
    assert_eq!(log.checkpoint(), before);
}

#[test]
fn a_trimmed_log_recovers_from_what_is_left() {
    for seed in 0..20 {
        let mut entropy = Entropy::from_seed([seed; 32]);
        let mut stored = Stored::new();
        for _ in 0..60 {
            stored.step(&mut entropy);
        }
        stored.checkpoint();
        let start = stored.batches[stored.batches.len() / 2].last;
        stored.log.trim(start);
        stored.checkpoint();
        for _ in 0..10 {
            stored.step(&mut entropy);
        }
        stored.log.durable_to(stored.log.end_offset());
        stored.batches.retain(|batch| batch.last >= start);
        for checkpoint in &stored.checkpoints {
            assert_same(&stored.log, &stored.recover(Some(checkpoint)));
        }
        // Everything trimmed away: the state lives in the checkpoint alone.
        stored.log.trim(i64::MAX);
        stored.checkpoint();
        stored.batches.clear();
        assert_same(&stored.log, &stored.recover(stored.checkpoints.last()));
    }
}

#[test]
fn batches_that_the_checkpoint_contains_are_not_taken_twice() {
    let mut entropy = Entropy::from_seed([3; 32]);
    let mut stored = Stored::new();
    for _ in 0..20 {
        stored.step(&mut entropy);
    }
    stored.checkpoint();
    for _ in 0..20 {
        stored.step(&mut entropy);
    }
    stored.log.durable_to(stored.log.end_offset());
    let mut loaded = stored.load(None);
    loaded.checkpoint = stored.checkpoints.last().cloned();
    let recovered = PartitionLog::recover(ID, config(), &loaded).unwrap();
    assert_same(&stored.log, &recovered);
}

#[test]
fn without_a_checkpoint_a_trimmed_log_begins_with_the_batch_around_its_start() {
    let mut stored = Stored::new();
    for _ in 0..4 {
        let part = append(&mut stored.log, &Client::anonymous().records(3));
        stored.keep(&part);
    }
    stored.log.durable_to(12);
    stored.log.trim(4);
    // The store may forget what lies before, and need not.
    for forgotten in 0..=1 {
        let mut loaded = stored.load(None);
        loaded.batches.drain(..forgotten);
        let log = PartitionLog::recover(ID, config(), &loaded).unwrap();
        assert_eq!((log.start_offset(), log.end_offset()), (4, 12));
    }
    let mut loaded = stored.load(None);
    loaded.batches.drain(..2);
    let lost = PartitionLog::recover(ID, config(), &loaded).unwrap_err();
    assert_eq!((lost.at, lost.what), (4, "a batch is missing"));
    let mut loaded = stored.load(None);
    loaded.batches.insert(1, loaded.batches[0].clone());
    let twice = PartitionLog::recover(ID, config(), &loaded).unwrap_err();
    assert_eq!((twice.at, twice.what), (3, "a batch is missing"));
}

#[test]
fn a_damaged_log_is_recognised() {
    let mut stored = Stored::new();
    for _ in 0..3 {
        let part = append(
            &mut stored.log,
            &Client::new(7).sequence(stored.batches.len() as i32),
        );
        stored.keep(&part);
    }
    stored.checkpoint();
    let whole = stored.load(None);
    let what = |change: &dyn Fn(&mut LoadedLog)| {
        let mut loaded = whole.clone();
        change(&mut loaded);
        PartitionLog::recover(ID, config(), &loaded)
            .unwrap_err()
            .what
    };
    let gap = what(&|loaded| drop(loaded.batches.remove(1)));
    assert_eq!(gap, "a batch is missing");
    let last = what(&|loaded| drop(loaded.batches.pop()));
    assert_eq!(last, "its last batches are missing");
    let moved = what(&|loaded| loaded.batches[1].last = 2);
    assert_eq!(moved, "a batch is stored under other offsets than its own");
    let short = what(&|loaded| loaded.batches[0].bytes.truncate(60));
    assert_eq!(short, "a batch header is damaged");
    let reversed = what(&|loaded| loaded.start = 4);
    assert_eq!(reversed, "its offsets are impossible");
    let mut checkpoint = stored.checkpoints[0].clone();
    checkpoint.at = 2;
    let elsewhere = what(&|loaded| loaded.checkpoint = Some(checkpoint.clone()));
    assert_eq!(elsewhere, "the checkpoint belongs to another offset");
    let checkpoint = StoredCheckpoint {
        at: 9,
        state: Bytes::new(),
    };
    let beyond = what(&|loaded| loaded.checkpoint = Some(checkpoint.clone()));
    assert_eq!(beyond, "its checkpoint is not within it");
}

#[test]
fn a_damaged_checkpoint_is_refused_or_harmless() {
    let mut entropy = Entropy::from_seed([2; 32]);
    let mut stored = Stored::new();
    for _ in 0..60 {
        stored.step(&mut entropy);
    }
    stored.checkpoint();
    let whole = stored.load(stored.checkpoints.last());
    let recover = |state: Bytes| {
        let mut loaded = whole.clone();
        loaded.checkpoint.as_mut().unwrap().state = state;
        PartitionLog::recover(ID, config(), &loaded)
    };
    let state = &stored.checkpoints[0].state;
    for cut in 0..state.len() {
        assert!(recover(state.slice(..cut)).is_err(), "cut at {cut}");
    }
    let longer = Bytes::from([&state[..], &[0]].concat());
    assert_eq!(
        recover(longer).unwrap_err().what,
        "the checkpoint has bytes behind its end"
    );
    for at in 0..state.len() {
        for bit in 0..8 {
            let mut flipped = state.to_vec();
            flipped[at] ^= 1 << bit;
            // Not every flip can be seen; what is accepted has to work.
            if let Ok(log) = recover(Bytes::from(flipped)) {
                assert!(log.last_stable_offset() <= log.high_watermark());
                log.aborted(0, log.end_offset());
                log.checkpoint();
            }
        }
    }
}
