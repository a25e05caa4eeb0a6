//! Plain acknowledgement as the model does it: range by range, offset by offset.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{AckRange, RecordState};

use super::World;
use crate::common::{ACCEPT, GAP, REJECT, RELEASE, RENEW};
use crate::model::{Entry, given_up};

type Range = (i64, i64, Vec<i8>);

/// Whether the form is right: a range may begin with the last offset of the one before.
fn is_formed(ranges: &[Range]) -> bool {
    let mut before = -1;
    ranges.iter().all(|(first, last, types)| {
        let follows = *first >= before;
        before = *last;
        let size = last - first + 1;
        follows
            && size > 0
            && types.iter().all(|kind| (GAP..=RENEW).contains(kind))
            && (types.len() == 1 || types.len() as i64 == size)
    })
}

impl World {
    pub(super) fn acknowledge(&mut self, who: &Str, ranges: &[Range]) {
        let request: Vec<AckRange> = ranges
            .iter()
            .map(|(first, last, types)| AckRange {
                first: *first,
                last: *last,
                types: types.clone(),
            })
            .collect();
        let answer = self.sut.acknowledge(self.now, who, &request);
        let before = self.model.entries.clone();
        let refused = match is_formed(ranges) {
            true => self.acknowledge_ranges(who, ranges),
            false => Some(ErrorCode::INVALID_REQUEST),
        };
        let whole = self.model.config.transactional && is_formed(ranges);
        match (answer, refused) {
            (Ok(change), refused) if whole || refused.is_none() => {
                assert_eq!(change.refused.map(|error| error.code), refused);
                self.model.store(&change);
            }
            (Err(error), Some(code)) if !whole => {
                assert_eq!(error.code, code, "{error}");
                self.model.entries = before;
            }
            (answer, refused) => panic!("expected {refused:?}, got {answer:?}"),
        }
    }

    /// The first refusal; only in transactional mode the others go on.
    fn acknowledge_ranges(&mut self, who: &Str, ranges: &[Range]) -> Option<ErrorCode> {
        let transactional = self.model.config.transactional;
        let mut refused = None;
        for (first, last, types) in ranges {
            if !transactional && let Some(code) = self.out_of_reach(*last) {
                return Some(code);
            }
            for (at, offset) in (*first..=*last).enumerate() {
                let kind = types[at.min(types.len() - 1)];
                if offset >= self.model.start && !self.acknowledge_one(who, offset, kind) {
                    refused = Some(ErrorCode::INVALID_RECORD_STATE);
                    if !transactional {
                        return refused;
                    }
                }
            }
        }
        refused
    }

    fn out_of_reach(&self, last: i64) -> Option<ErrorCode> {
        let known = self.model.end().max(self.fetched_end);
        if last < self.model.start {
            None
        } else if known <= self.model.start {
            Some(ErrorCode::INVALID_RECORD_STATE)
        } else {
            (last >= known).then_some(ErrorCode::INVALID_REQUEST)
        }
    }

    /// `false`: refused.
    fn acknowledge_one(&mut self, who: &Str, offset: i64, kind: i8) -> bool {
        let config = self.model.config.clone();
        let entry = self.model.entries.get(&offset);
        let held = entry.is_some_and(|entry| entry.held(Some(who), self.now));
        let state = entry.map(|entry| entry.state);
        let may = kind != RENEW || config.renew_enabled;
        let may = may && !(config.transactional && matches!(kind, GAP | ACCEPT | REJECT));
        if !held || !may {
            return config.transactional
                && match kind {
                    RELEASE => !held,
                    ACCEPT => state == Some(RecordState::Acknowledged),
                    REJECT | GAP => {
                        matches!(state, Some(RecordState::Archived | RecordState::Archiving))
                    }
                    _ => false,
                };
        }
        let renewed = self.now.plus_millis(crate::operations::LOCK_MS);
        let entry = self.model.entries.get_mut(&offset).expect("it is held");
        match kind {
            ACCEPT => *entry = Entry::free(RecordState::Acknowledged, entry.count),
            RELEASE => self.model.free(offset, true),
            REJECT => *entry = Entry::free(given_up(&config), entry.count),
            RENEW => entry.lock = Some((who.clone(), renewed)),
            _ => *entry = Entry::free(RecordState::Archived, entry.count),
        }
        true
    }
}
