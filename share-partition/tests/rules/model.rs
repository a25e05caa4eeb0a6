//! The most obvious model there is: one entry for each offset.

use std::collections::BTreeMap;

use crate::common::REJECT;
use ackord_machine::{MonoTime, PendingAck, TxnOwner};
use ackord_proto::str::Str;
use ackord_share_partition::{Change, Config, RecordState, SharePartition, StateBatch};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) state: RecordState,
    pub(crate) count: i16,
    /// ACQUIRED: the lock. TX_PENDING: the lock that was stopped.
    pub(crate) lock: Option<(Str, MonoTime)>,
    pub(crate) txn: Option<(TxnOwner, i8)>,
}

impl Entry {
    pub(crate) fn free(state: RecordState, count: i16) -> Self {
        Entry {
            state,
            count,
            lock: None,
            txn: None,
        }
    }

    pub(crate) fn done(&self) -> bool {
        matches!(
            self.state,
            RecordState::Acknowledged | RecordState::Archived
        )
    }

    pub(crate) fn held(&self, member: Option<&Str>, now: MonoTime) -> bool {
        self.state == RecordState::Acquired
            && self.lock.as_ref().is_some_and(|(who, deadline)| {
                *deadline > now && member.is_none_or(|member| who == member)
            })
    }
}

/// What becomes of a record that is rejected or reaches the limit.
pub(crate) fn given_up(config: &Config) -> RecordState {
    if config.dead_letters {
        RecordState::Archiving
    } else {
        RecordState::Archived
    }
}

pub(crate) struct Model {
    pub(crate) config: Config,
    pub(crate) start: i64,
    pub(crate) log_start: i64,
    pub(crate) entries: BTreeMap<i64, Entry>,
    /// What a share coordinator has.
    pub(crate) stored: BTreeMap<i64, (RecordState, i16)>,
    pub(crate) stored_start: i64,
    /// AVAILABLE before the operation.
    pub(crate) was_available: Vec<i64>,
}

impl Model {
    pub(crate) fn end(&self) -> i64 {
        self.start + self.entries.len() as i64
    }

    pub(crate) fn free(&mut self, offset: i64, limited: bool) {
        let below = offset < self.log_start;
        let limit = limited && !self.config.transactional;
        let Some(entry) = self.entries.get_mut(&offset) else {
            return;
        };
        let state = if below {
            RecordState::Archived
        } else if limit && entry.count >= self.config.delivery_count_limit {
            given_up(&self.config)
        } else {
            RecordState::Available
        };
        *entry = Entry::free(state, entry.count);
    }

    pub(crate) fn settle(&mut self) {
        while self.entries.get(&self.start).is_some_and(Entry::done) {
            self.entries.remove(&self.start);
            self.start += 1;
        }
    }

    pub(crate) fn matching(&self, want: impl Fn(&Entry) -> bool) -> Vec<i64> {
        self.entries
            .iter()
            .filter(|(_, entry)| want(entry))
            .map(|(offset, _)| *offset)
            .collect()
    }

    pub(crate) fn expire(&mut self, now: MonoTime) {
        let due = self.matching(|entry| {
            entry.state == RecordState::Acquired
                && entry
                    .lock
                    .as_ref()
                    .is_some_and(|(_, deadline)| *deadline <= now)
        });
        due.into_iter().for_each(|offset| self.free(offset, true));
    }

    pub(crate) fn extend(&mut self, end: i64) {
        for offset in self.end()..end {
            self.entries
                .insert(offset, Entry::free(RecordState::Archived, 0));
        }
    }

    /// Whether the coordinator hears exactly what is so now, and waiting fetches wake.
    pub(crate) fn store(&mut self, change: &Change) {
        let available = self.matching(|entry| entry.state == RecordState::Available);
        let again = available
            .iter()
            .any(|offset| !self.was_available.contains(offset));
        let moved = self.stored_start != change.start_offset;
        assert!(change.available_again || !again, "a fetch sleeps on");
        assert!(
            change.start_moved || !moved,
            "the start offset moves in silence"
        );
        for offset in self.matching(|entry| entry.state != RecordState::Acquired) {
            let state = self.entries.get(&offset).map(|entry| entry.state);
            let told = self.stored.get(&offset).map(|(state, _)| *state);
            let batch = change
                .batches
                .iter()
                .any(|batch| (batch.first..=batch.last).contains(&offset));
            let unknown = matches!(state, Some(RecordState::Acknowledged)) && told != state;
            assert!(batch || !unknown, "{offset} is done in silence");
        }
        for batch in &change.batches {
            assert_ne!(batch.state, RecordState::Acquired);
            for offset in batch.first..=batch.last {
                if let Some(entry) = self.entries.get(&offset) {
                    assert_eq!(
                        (entry.state, entry.count),
                        (batch.state, batch.delivery_count)
                    );
                }
                self.stored
                    .insert(offset, (batch.state, batch.delivery_count));
            }
        }
        self.stored_start = change.start_offset;
        self.stored
            .retain(|offset, _| *offset >= change.start_offset);
    }

    pub(crate) fn reload(&mut self, sut: &mut SharePartition) {
        let pending: Vec<PendingAck> = self
            .entries
            .iter()
            .filter_map(|(offset, entry)| {
                let (owner, acknowledge_type) = entry.txn?;
                Some(PendingAck {
                    first_offset: *offset,
                    last_offset: *offset,
                    acknowledge_type,
                    delivery_count: entry.count,
                    owner,
                    dead_letter: self.config.dead_letters && acknowledge_type == REJECT,
                })
            })
            .collect();
        let batches: Vec<StateBatch> = self
            .stored
            .iter()
            .map(|(offset, (state, delivery_count))| StateBatch {
                first: *offset,
                last: *offset,
                state: *state,
                delivery_count: *delivery_count,
            })
            .collect();
        *sut = SharePartition::load(self.config.clone(), self.stored_start, &batches, &pending);
        let last = batches
            .last()
            .map(|batch| batch.last)
            .max(pending.last().map(|ack| ack.last_offset));
        let old = std::mem::take(&mut self.entries);
        self.start = self.stored_start;
        self.log_start = self.start;
        for offset in self.start..=last.unwrap_or(self.start - 1) {
            let stored = self
                .stored
                .get(&offset)
                .copied()
                .unwrap_or((RecordState::Available, 0));
            let entry = match old.get(&offset).filter(|entry| entry.txn.is_some()) {
                Some(pending) => Entry {
                    lock: None,
                    ..pending.clone()
                },
                None => Entry::free(stored.0, stored.1),
            };
            self.entries.insert(offset, entry);
        }
        self.settle();
    }
}
