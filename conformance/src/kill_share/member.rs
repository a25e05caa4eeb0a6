//! One share consumer: joins, fetches, accepts most of what it gets and releases the rest, and
//! connects again whenever the broker is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use ackord_machine::Entropy;
use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::kip1289::{ACKNOWLEDGE_ACCEPT as ACCEPT, ACKNOWLEDGE_RELEASE as RELEASE};
use ackord_proto::messages::{
    FindCoordinatorRequest, ShareAcknowledgeRequest, ShareFetchRequest, ShareGroupHeartbeatRequest,
    share_acknowledge as acknowledge, share_fetch,
};
use ackord_proto::uuid::Uuid;

use super::account::Place;
use super::crew::Shared;
use crate::caller::Caller;

/// A record that came as often is not released again: the group archives at five.
const LAST_RELEASE: i16 = 3;
/// One acknowledgement of so many is a release.
const RELEASE_ONE_OF: u64 = 8;
/// Requests after which the member is heard of again.
const HEARTBEAT_EVERY: u32 = 20;
const RECORDS: i32 = 20;
/// A request with such an answer has done nothing.
const REFUSALS: [ErrorCode; 4] = [
    ErrorCode::INVALID_SHARE_SESSION_EPOCH,
    ErrorCode::SHARE_SESSION_NOT_FOUND,
    ErrorCode::UNKNOWN_MEMBER_ID,
    ErrorCode::GROUP_ID_NOT_FOUND,
];

/// A member and what it keeps between connections.
pub(super) struct Member {
    id: String,
    epoch: i32,
    chance: Entropy,
    shared: Arc<Shared>,
}

/// A connection with its share session.
struct Session {
    caller: Caller,
    epoch: i32,
    topic: Uuid,
    partitions: Vec<i32>,
}

impl Member {
    pub(super) fn new(id: String, chance: Entropy, shared: Arc<Shared>) -> Self {
        Member {
            id,
            epoch: 0,
            chance,
            shared,
        }
    }

    /// Works until it is told to stop.
    pub(super) fn work(mut self) {
        while !self.shared.stop.load(Ordering::SeqCst) {
            // What ends a session is the end of the broker; the next connection tells.
            if let Err(sentence) = self.session() {
                *self.shared.trouble() = sentence;
                thread::sleep(Duration::from_millis(20));
            }
        }
    }

    fn session(&mut self) -> Result<(), String> {
        let mut session = Session {
            caller: Caller::connect(&self.shared.topic.address, &self.id)?,
            epoch: 0,
            topic: self.shared.id,
            partitions: (0..self.shared.topic.partitions).collect(),
        };
        self.find_coordinator(&mut session)?;
        for round in 0_u32.. {
            if round.is_multiple_of(HEARTBEAT_EVERY) {
                self.heartbeat(&mut session)?;
            }
            if self.shared.stop.load(Ordering::SeqCst) {
                break;
            }
            let got = self.fetch(&mut session)?;
            if !got.is_empty() {
                self.acknowledge(&mut session, &got)?;
            }
        }
        Ok(())
    }

    /// Asks for the group's coordinator, which it is known to be: Apache Kafka makes the topic of
    /// the groups when somebody asks.
    fn find_coordinator(&self, session: &mut Session) -> Result<(), String> {
        let request = FindCoordinatorRequest {
            coordinator_keys: vec![self.shared.topic.group.as_str().into()],
            ..Default::default()
        };
        let Response::FindCoordinator(response) = session.caller.call(request, 6)? else {
            return Err("no answer of FindCoordinator".to_string());
        };
        let mut found = response.coordinators.iter();
        match found.find(|own| own.error_code.is_error()) {
            Some(own) => Err(format!("FindCoordinator: {}", own.error_code)),
            None => Ok(()),
        }
    }

    fn heartbeat(&mut self, session: &mut Session) -> Result<(), String> {
        loop {
            let joins = self.epoch == 0;
            let request = ShareGroupHeartbeatRequest {
                group_id: self.shared.topic.group.as_str().into(),
                member_id: self.id.as_str().into(),
                member_epoch: self.epoch,
                subscribed_topic_names: joins.then(|| vec![self.shared.topic.name.as_str().into()]),
                ..Default::default()
            };
            let Response::ShareGroupHeartbeat(response) = session.caller.call(request, 1)? else {
                return Err("no answer of ShareGroupHeartbeat".to_string());
            };
            match response.error_code {
                ErrorCode::NONE => {
                    self.epoch = response.member_epoch;
                    return Ok(());
                }
                ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_MEMBER_EPOCH if !joins => {
                    self.epoch = 0;
                    self.shared.joined_again.fetch_add(1, Ordering::SeqCst);
                }
                code => return Err(format!("ShareGroupHeartbeat: {code}")),
            }
        }
    }

    fn fetch(&mut self, session: &mut Session) -> Result<Vec<(Place, i16)>, String> {
        let parts = session.partitions.iter();
        let parts = parts.map(|partition| share_fetch::FetchPartition {
            partition_index: *partition,
            ..Default::default()
        });
        let topic = share_fetch::FetchTopic {
            topic_id: session.topic,
            partitions: parts.collect(),
            ..Default::default()
        };
        let request = ShareFetchRequest {
            group_id: Some(self.shared.topic.group.as_str().into()),
            member_id: Some(self.id.as_str().into()),
            share_session_epoch: session.epoch,
            max_wait_ms: 50,
            min_bytes: 1,
            max_bytes: 1 << 20,
            max_records: RECORDS,
            batch_size: RECORDS,
            share_acquire_mode: 1,
            topics: if session.epoch == 0 {
                vec![topic]
            } else {
                Vec::new()
            },
            ..Default::default()
        };
        let sent = self.shared.account().moment();
        let Response::ShareFetch(response) = session.caller.call(request, 2)? else {
            return Err("no answer of ShareFetch".to_string());
        };
        if response.error_code.is_error() {
            return Err(format!("ShareFetch: {}", response.error_code));
        }
        session.epoch += 1;
        let parts = response
            .responses
            .iter()
            .flat_map(|topic| &topic.partitions);
        let ranges = parts.flat_map(|part| {
            let ranges = part.acquired_records.iter();
            ranges.map(|range| (part.partition_index, range))
        });
        let mut got = Vec::new();
        let mut account = self.shared.account();
        for (partition, range) in ranges {
            for offset in range.first_offset..=range.last_offset {
                account.delivered((partition, offset), range.delivery_count, sent);
                got.push(((partition, offset), range.delivery_count));
            }
        }
        Ok(got)
    }

    fn acknowledge(&mut self, session: &mut Session, got: &[(Place, i16)]) -> Result<(), String> {
        let mut sent = Vec::with_capacity(got.len());
        for &(place, count) in got {
            let releases = count <= LAST_RELEASE && self.chance.below(RELEASE_ONE_OF) == 0;
            sent.push((place, count, if releases { RELEASE } else { ACCEPT }));
        }
        let parts = session.partitions.iter();
        let parts = parts.map(|partition| acknowledge::AcknowledgePartition {
            partition_index: *partition,
            acknowledgement_batches: batches(&sent, *partition),
            ..Default::default()
        });
        let parts = parts.filter(|part| !part.acknowledgement_batches.is_empty());
        let topic = acknowledge::AcknowledgeTopic {
            topic_id: session.topic,
            partitions: parts.collect(),
            ..Default::default()
        };
        let request = ShareAcknowledgeRequest {
            group_id: Some(self.shared.topic.group.as_str().into()),
            member_id: Some(self.id.as_str().into()),
            share_session_epoch: session.epoch,
            topics: vec![topic],
            ..Default::default()
        };
        let answer = session.caller.call(request, 2);
        // Refused as a whole: nothing of it counts, and the records have to come again.
        let refused = matches!(
            &answer,
            Ok(Response::ShareAcknowledge(response)) if REFUSALS.contains(&response.error_code)
        );
        let codes = match &answer {
            Ok(Response::ShareAcknowledge(response)) if !response.error_code.is_error() => {
                session.epoch += 1;
                let parts = response
                    .responses
                    .iter()
                    .flat_map(|topic| &topic.partitions);
                parts
                    .map(|part| (part.partition_index, part.error_code))
                    .collect()
            }
            _ => Vec::new(),
        };
        let mut account = self.shared.account();
        for (place, count, kind) in sent {
            let succeeded = codes.contains(&(place.0, ErrorCode::NONE));
            match (kind, succeeded) {
                (ACCEPT, true) => account.accepted(place),
                (ACCEPT, false) if refused => {}
                (ACCEPT, false) => account.unheard(place),
                (_, true) => account.released(place, count),
                (_, false) => {}
            }
        }
        drop(account);
        match answer? {
            Response::ShareAcknowledge(response) if response.error_code.is_error() => {
                Err(format!("ShareAcknowledge: {}", response.error_code))
            }
            _ => Ok(()),
        }
    }
}

/// One batch for each record of the partition.
fn batches(sent: &[(Place, i16, i8)], partition: i32) -> Vec<acknowledge::AcknowledgementBatch> {
    let own = sent.iter().filter(|((at, _), _, _)| *at == partition);
    let batch = |((_, offset), _, kind): &(Place, i16, i8)| acknowledge::AcknowledgementBatch {
        first_offset: *offset,
        last_offset: *offset,
        acknowledge_types: vec![*kind],
        ..Default::default()
    };
    own.map(batch).collect()
}
