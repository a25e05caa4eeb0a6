//! A group with metadata and share coordinators around it, for tests.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{Body, Envelope, MonoTime, Now, Role, WallTime};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::initialize_share_group_state::{
    InitializeStateResult, PartitionResult,
};
use ackord_proto::messages::{
    InitializeShareGroupStateRequest, InitializeShareGroupStateResponse,
    ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::*;
use crate::outbox::{Outbox, Output, StateRecord, Ticket};

#[derive(Default)]
pub(super) struct Metadata {
    pub(super) topics: BTreeMap<&'static str, TopicInfo>,
    pub(super) version: u64,
}

impl Topics for Metadata {
    fn topic(&self, name: &str) -> Option<TopicInfo> {
        self.topics.get(name).copied()
    }

    fn version(&self) -> u64 {
        self.version
    }
}

/// A group, the metadata, and share coordinators that answer when they are told to.
pub(super) struct Bench {
    pub(super) group: ShareGroup,
    pub(super) metadata: Metadata,
    millis: u64,
    tickets: u64,
    out: Outbox<GroupReply>,
    pub(super) asked: Vec<Envelope>,
    pub(super) replies: BTreeMap<u64, ShareGroupHeartbeatResponse>,
    /// What the group has stored.
    pub(super) log: Vec<StateRecord>,
}

impl Bench {
    pub(super) fn new(topics: &[(&'static str, i32)]) -> Self {
        let mut bench = Bench {
            group: ShareGroup::new("g".into(), GroupConfig::default()),
            metadata: Metadata::default(),
            millis: 1000,
            tickets: 0,
            out: Outbox::new(),
            asked: Vec::new(),
            replies: BTreeMap::new(),
            log: Vec::new(),
        };
        for (number, (name, partitions)) in (1..).zip(topics) {
            bench
                .metadata
                .topics
                .insert(name, info(number, *partitions));
        }
        bench
    }

    pub(super) fn now(&self) -> Now {
        Now {
            mono: MonoTime::from_millis(self.millis),
            wall: WallTime::default(),
        }
    }

    /// The group that comes out of a log.
    pub(super) fn replayed(records: &[StateRecord]) -> ShareGroup {
        let mut stored = StoredGroups::default();
        for record in records {
            stored.apply(record).expect("own records decode");
        }
        let found = stored.into_groups().next();
        let (id, stored) = found.unwrap_or_else(|| ("g".into(), StoredGroup::default()));
        ShareGroup::restored(id, GroupConfig::default(), stored)
    }

    /// Whatever happened, the log tells all of it.
    fn check_log(&self) {
        let snapshot = self.group.snapshot();
        for records in [&self.log, &snapshot] {
            let replayed = Self::replayed(records);
            assert_eq!(replayed.epoch(), self.group.epoch());
            assert_eq!(replayed.share_partitions(), self.group.share_partitions());
            assert_eq!(
                replayed.members().collect::<Vec<_>>(),
                self.group.members().collect::<Vec<_>>()
            );
        }
    }

    /// The broker starts again on what is stored.
    pub(super) fn restart(&mut self) {
        self.group = Self::replayed(&self.log);
        self.asked.clear();
        let now = self.now();
        self.group.recovered(now, &self.metadata, &mut self.out);
        self.collect();
    }

    pub(super) fn collect(&mut self) {
        self.log.extend(self.group.unstored());
        self.check_log();
        for output in self.out.take() {
            match output {
                Output::Reply {
                    ticket,
                    reply: GroupReply::Heartbeat(response),
                } => {
                    let twice = self.replies.insert(ticket.slot, response);
                    assert_eq!(twice, None, "answered twice");
                }
                Output::Send { envelope, .. } => self.asked.push(envelope),
                Output::Append { .. }
                | Output::Barrier
                | Output::Count(_)
                | Output::Measure { .. } => panic!("whoever runs the group appends"),
            }
        }
    }

    pub(super) fn request(&mut self, request: &ShareGroupHeartbeatRequest) -> u64 {
        self.tickets += 1;
        let ticket = Ticket {
            slot: self.tickets,
            part: 0,
        };
        let client = ClientInfo {
            client_id: "app".into(),
            host: "host".into(),
        };
        let now = self.now();
        self.group
            .heartbeat(now, ticket, request, client, &self.metadata, &mut self.out);
        self.collect();
        self.tickets
    }

    pub(super) fn send(&mut self, member: &str, epoch: i32, topics: Option<&[&str]>) -> u64 {
        self.request(&ShareGroupHeartbeatRequest {
            group_id: "g".into(),
            member_id: member.into(),
            member_epoch: epoch,
            subscribed_topic_names: topics
                .map(|topics| topics.iter().map(|t| Str::from(*t)).collect()),
            ..ShareGroupHeartbeatRequest::default()
        })
    }

    /// Sends, lets all share coordinators answer, returns the answer as text.
    pub(super) fn ask(&mut self, member: &str, epoch: i32, topics: Option<&[&str]>) -> String {
        let ticket = self.send(member, epoch, topics);
        self.serve(ErrorCode::NONE);
        self.answer(ticket)
    }

    pub(super) fn join(&mut self, member: &str, topics: &[&str]) -> String {
        self.ask(member, 0, Some(topics))
    }

    pub(super) fn beat(&mut self, member: &str, epoch: i32) -> String {
        self.ask(member, epoch, None)
    }

    /// Answers everything that was asked.
    pub(super) fn serve(&mut self, code: ErrorCode) {
        for envelope in core::mem::take(&mut self.asked) {
            self.deliver(&reply(&envelope, code));
        }
    }

    pub(super) fn deliver(&mut self, envelope: &Envelope) {
        let now = self.now();
        self.group
            .handle_envelope(now, envelope.clone(), &self.metadata, &mut self.out);
        self.collect();
    }

    pub(super) fn set_topic(&mut self, name: &'static str, info: Option<TopicInfo>) {
        match info {
            Some(info) => self.metadata.topics.insert(name, info),
            None => self.metadata.topics.remove(name),
        };
        self.metadata.version += 1;
        let now = self.now();
        self.group
            .metadata_changed(now, &self.metadata, &mut self.out);
        self.collect();
    }

    /// Lets time pass, handling every deadline on the way; returns who was removed.
    pub(super) fn pass(&mut self, millis: u64) -> Vec<Str> {
        let end = self.millis + millis;
        let mut removed = Vec::new();
        while let Some(deadline) = self.group.next_deadline() {
            if deadline.at > MonoTime::from_millis(end) {
                break;
            }
            self.millis = deadline.at.as_micros() / 1000;
            let now = self.now();
            removed.extend(
                self.group
                    .handle_timeout(now, &self.metadata, &mut self.out),
            );
            self.collect();
        }
        self.millis = end;
        removed
    }

    /// `-` where there is no answer yet; `null` for an assignment that is left out.
    pub(super) fn answer(&self, ticket: u64) -> String {
        let Some(response) = self.replies.get(&ticket) else {
            return "-".into();
        };
        if response.error_code != ErrorCode::NONE {
            assert!(response.error_message.is_some());
            return format!("{}", response.error_code);
        }
        let assignment = match &response.assignment {
            None => "null".into(),
            Some(assignment) => {
                let topics = assignment.topic_partitions.iter();
                let text =
                    |topic: &ackord_proto::messages::share_group_heartbeat::TopicPartitions| {
                        format!("{}{:?}", topic.topic_id.to_bytes()[0], topic.partitions)
                    };
                format!("{{{}}}", topics.map(text).collect::<Vec<_>>().join(" "))
            }
        };
        format!("epoch {} {assignment}", response.member_epoch)
    }

    /// What was asked of share coordinators: topic, partition, state epoch, start offset.
    pub(super) fn requested(&self) -> Vec<(u8, i32, i32, i64)> {
        let mut all = vec![];
        for envelope in &self.asked {
            for topic in &request_of(envelope).topics {
                for p in &topic.partitions {
                    let sgc = state_partition_for("g", topic.topic_id, p.partition, 50);
                    assert_eq!(envelope.to, Role::Sgc(sgc));
                    assert_eq!(envelope.from, Role::Group("g".into()));
                    all.push((
                        topic.topic_id.to_bytes()[0],
                        p.partition,
                        p.state_epoch,
                        p.start_offset,
                    ));
                }
            }
        }
        all.sort_unstable();
        all
    }
}

pub(super) fn info(number: u8, partitions: i32) -> TopicInfo {
    TopicInfo {
        id: Uuid::from_bytes([number; 16]),
        partitions,
    }
}

pub(super) fn request_of(envelope: &Envelope) -> &InitializeShareGroupStateRequest {
    match &envelope.body {
        Body::InitializeShareGroupState(request) => request,
        other => panic!("{other:?}"),
    }
}

pub(super) fn reply(envelope: &Envelope, code: ErrorCode) -> Envelope {
    let results = request_of(envelope)
        .topics
        .iter()
        .map(|topic| InitializeStateResult {
            topic_id: topic.topic_id,
            partitions: topic
                .partitions
                .iter()
                .map(|p| PartitionResult {
                    partition: p.partition,
                    error_code: code,
                    ..PartitionResult::default()
                })
                .collect(),
            ..InitializeStateResult::default()
        });
    Envelope {
        from: envelope.to.clone(),
        to: envelope.from.clone(),
        correlation: envelope.correlation,
        body: Body::InitializeShareGroupStateReply(InitializeShareGroupStateResponse {
            results: results.collect(),
            ..InitializeShareGroupStateResponse::default()
        }),
    }
}
