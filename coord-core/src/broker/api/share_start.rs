//! Where a share partition begins whose state names no offset yet (`share.auto.offset.reset`,
//! KIP-932).

use ackord_machine::{Found, LogId, OpId, OpKind, PendingAck, StorageFault};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::ReadShareGroupStateResponse;
use ackord_proto::str::Str;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::journal::{Pending, ReadFor};
use super::list_offsets::{Answer, Search, by_time, settle};
use crate::metadata::OffsetReset;

/// A share state that its leader has to wait for, because the store looks for the first record.
#[derive(Debug)]
pub(in crate::broker) struct StartLookup {
    group: Str,
    correlation: u64,
    response: ReadShareGroupStateResponse,
    pending: Vec<PendingAck>,
    search: Search,
}

impl Broker {
    /// Gives a leader the state that it asked its share coordinator for, together with the offset
    /// at which a new share partition begins.
    pub(in crate::broker) fn share_state_read(
        &mut self,
        log: LogId,
        correlation: u64,
        response: ReadShareGroupStateResponse,
        pending: Vec<PendingAck>,
        gate: Option<OpId>,
    ) {
        let leader = self.leaders.get(&log);
        let Some(group) = leader
            .and_then(|leader| leader.reading_group(correlation))
            .cloned()
        else {
            return;
        };
        let started = |lookup: &StartLookup| {
            lookup.search.log == log && lookup.group == group && lookup.correlation == correlation
        };
        if self.start_lookups.values().any(started) {
            // The leader has asked again; the store has not answered yet.
            return;
        }
        let answer = if begins(&response) {
            self.start_of(log, &group)
        } else {
            Answer::Nowhere
        };
        match settle(answer, |search| search) {
            Answer::Stored(search) => {
                let lookup = StartLookup {
                    group,
                    correlation,
                    response,
                    pending,
                    search,
                };
                self.look_up_start(lookup);
            }
            answer => self.begin_share(log, &group, response, &pending, &answer, gate),
        }
    }

    /// The place by the group's reset policy.
    pub(super) fn start_of(&mut self, log: LogId, group: &Str) -> Answer {
        let reset = self.share_settings(group).offset_reset;
        let Some(data) = self.logs.get(&log) else {
            return Answer::Nowhere;
        };
        let at = |offset| Answer::At {
            timestamp: -1,
            offset,
        };
        match reset {
            OffsetReset::Earliest => at(data.start_offset()),
            OffsetReset::Latest => at(data.high_watermark()),
            OffsetReset::ByDuration(millis) => {
                let oldest = self.now.wall.as_millis().saturating_sub(millis);
                match by_time(data, oldest, data.high_watermark()) {
                    // Whatever comes from now on is young enough.
                    Answer::Nowhere => at(data.high_watermark()),
                    found => found,
                }
            }
        }
    }

    fn look_up_start(&mut self, lookup: StartLookup) {
        let Search {
            log,
            timestamp,
            from,
            ..
        } = lookup.search;
        let id = self.next_correlation();
        self.start_lookups.insert(id, lookup);
        let pending = Pending::Find(ReadFor::ShareStart { id });
        let kind = OpKind::Find {
            log,
            from,
            timestamp,
        };
        self.journal.issue(kind, pending, &mut self.effects);
    }

    /// Takes what the store has found.
    pub(in crate::broker) fn start_found(
        &mut self,
        id: u64,
        found: Result<Option<Found>, StorageFault>,
    ) {
        let Some(lookup) = self.start_lookups.remove(&id) else {
            return;
        };
        let search = lookup.search;
        let answer = match found {
            Ok(Some(found)) => settle(Answer::In(found.batch, search), |search| search),
            Ok(None) => Answer::Nowhere,
            Err(_) => Answer::Refused(ErrorCode::KAFKA_STORAGE_ERROR),
        };
        let answer = match answer {
            Answer::Stored(search) => return self.look_up_start(StartLookup { search, ..lookup }),
            Answer::Nowhere => Answer::At {
                timestamp: -1,
                offset: search.limit,
            },
            other => other,
        };
        let leader = self.leaders.get(&search.log);
        let reading = leader.and_then(|leader| leader.reading_group(lookup.correlation));
        if reading == Some(&lookup.group) {
            let StartLookup {
                group,
                response,
                pending,
                ..
            } = lookup;
            self.begin_share(search.log, &group, response, &pending, &answer, None);
        }
    }

    fn begin_share(
        &mut self,
        log: LogId,
        group: &Str,
        mut response: ReadShareGroupStateResponse,
        pending: &[PendingAck],
        answer: &Answer,
        gate: Option<OpId>,
    ) {
        let start = match answer {
            Answer::At { offset, .. } => *offset,
            _ => 0,
        };
        if let Answer::Refused(code) = answer {
            let results = response.results.iter_mut();
            for partition in results.flat_map(|topic| &mut topic.partitions) {
                partition.error_code = *code;
            }
        }
        self.with_leader(log, group, gate, |leader, ctx, out| {
            leader.loaded(ctx, group, &response, pending, start, out);
        });
        self.wake_share_fetches(log, group);
    }
}

/// Whether the state is there and names no offset yet.
fn begins(response: &ReadShareGroupStateResponse) -> bool {
    let mut partitions = response.results.iter().flat_map(|topic| &topic.partitions);
    partitions
        .any(|partition| partition.error_code == ErrorCode::NONE && partition.start_offset < 0)
}
