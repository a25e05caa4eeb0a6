//! Consumer groups in scripts: members of classic groups, committed offsets, offsets in
//! transactions.

use ackord_proto::api::Response;
use ackord_proto::messages::join_group::JoinGroupRequestProtocol;
use ackord_proto::messages::leave_group::MemberIdentity;
use ackord_proto::messages::offset_commit::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ackord_proto::messages::offset_fetch::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use ackord_proto::messages::sync_group::SyncGroupRequestAssignment;
use ackord_proto::messages::txn_offset_commit::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ackord_proto::messages::{
    AddOffsetsToTxnRequest, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupRequest, OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest,
    TxnOffsetCommitRequest,
};
use ackord_proto::str::Str;

use crate::answers::Codes;
use crate::client::Clients;
use crate::consumer_protocol::{self, Consumer, ProtocolVerb};
use crate::grammar::{Words, number, topic_partition};
use crate::requests::{Versioned, by_topic};
use crate::script::{Expected, Identity, TopicPartition};
use crate::verbs::Options;

/// Offsets by partition.
pub type Offsets = Vec<(TopicPartition, i64)>;

/// What a client does with a consumer group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsumerVerb {
    /// AddOffsetsToTxn, as clients before transaction version 2 do.
    AddOffsets {
        /// Group.
        group: String,
        /// Whose transaction.
        identity: Identity,
    },
    /// OffsetCommit.
    Commit {
        /// Group.
        group: String,
        /// Offsets.
        offsets: Offsets,
        /// `simple`: not as a member.
        simple: bool,
        /// `generation=`
        generation: Option<i32>,
        /// `text=`: the metadata of each offset.
        text: Option<String>,
    },
    /// OffsetFetch.
    FetchOffsets {
        /// Group.
        group: String,
        /// Partitions.
        partitions: Vec<TopicPartition>,
        /// `stable`: not while a transaction may change them.
        stable: bool,
    },
    /// Heartbeat.
    Heartbeat {
        /// `generation=`
        generation: Option<i32>,
    },
    /// A heartbeat of the consumer protocol.
    Protocol(ProtocolVerb),
    /// JoinGroup.
    Join {
        /// Group.
        group: String,
        /// Protocols by preference.
        protocols: Vec<String>,
        /// `session=`: milliseconds.
        session_ms: i32,
        /// `rebalance=`: milliseconds.
        rebalance_ms: i32,
        /// `instance=`: static member.
        instance: Option<String>,
        /// `v2`: without a member id first.
        version: i16,
    },
    /// LeaveGroup.
    Leave,
    /// SyncGroup.
    Sync {
        /// What each client gets, if this one leads.
        assignments: Vec<(String, String)>,
        /// `generation=`
        generation: Option<i32>,
    },
    /// TxnOffsetCommit.
    TxnOffsets {
        /// Group.
        group: String,
        /// Offsets.
        offsets: Offsets,
        /// `member=`: the client whose membership it names.
        member: Option<String>,
        /// `generation=`
        generation: Option<i32>,
        /// 5 and later add the partition to the transaction.
        version: i16,
        /// Whose transaction.
        identity: Identity,
    },
}

/// Reads the words behind the name of a verb of consumer groups; `None` for other verbs.
pub(crate) fn verb(
    name: &str,
    words: &mut Words<'_>,
    options: &mut Options<'_>,
) -> Result<Option<ConsumerVerb>, String> {
    Ok(Some(match name {
        "add-offsets" => ConsumerVerb::AddOffsets {
            group: words.name("a group")?,
            identity: options.identity()?,
        },
        "commit-offsets" => ConsumerVerb::Commit {
            group: words.name("a group")?,
            offsets: offsets(words)?,
            simple: options.take("simple").is_some(),
            generation: options.number("generation")?,
            text: options.take("text").map(ToString::to_string),
        },
        "fetch-offsets" => ConsumerVerb::FetchOffsets {
            group: words.name("a group")?,
            partitions: words
                .rest()
                .into_iter()
                .map(topic_partition)
                .collect::<Result<_, _>>()?,
            stable: options.take("stable").is_some(),
        },
        "group-heartbeat" => ConsumerVerb::Heartbeat {
            generation: options.number("generation")?,
        },
        "join-group" => ConsumerVerb::Join {
            group: words.name("a group")?,
            protocols: match words.rest() {
                none if none.is_empty() => vec!["range".to_string()],
                named => named.iter().map(ToString::to_string).collect(),
            },
            session_ms: options.number("session")?.unwrap_or(30_000),
            rebalance_ms: options.number("rebalance")?.unwrap_or(60_000),
            instance: options.take("instance").map(ToString::to_string),
            version: if options.take("v2").is_some() { 2 } else { 9 },
        },
        "leave-group" => ConsumerVerb::Leave,
        "sync-group" => ConsumerVerb::Sync {
            assignments: words
                .rest()
                .iter()
                .map(|word| {
                    let split = word.split_once(':');
                    let (client, text) = split.ok_or("an assignment is k1:TEXT")?;
                    Ok((client.to_string(), text.to_string()))
                })
                .collect::<Result<_, String>>()?,
            generation: options.number("generation")?,
        },
        "txn-offsets" => ConsumerVerb::TxnOffsets {
            group: words.name("a group")?,
            offsets: offsets(words)?,
            member: options.take("member").map(ToString::to_string),
            generation: options.number("generation")?,
            version: if options.take("v3").is_some() { 3 } else { 5 },
            identity: options.identity()?,
        },
        _ => {
            let verb = consumer_protocol::verb(name, words, options)?;
            return Ok(verb.map(ConsumerVerb::Protocol));
        }
    }))
}

/// `orders-0@5 orders-1@7`
fn offsets(words: &mut Words<'_>) -> Result<Offsets, String> {
    let one = |word: &str| {
        let split = word.split_once('@');
        let (partition, offset) = split.ok_or("an offset is orders-0@5")?;
        Ok((topic_partition(partition)?, number(offset)?))
    };
    words.rest().into_iter().map(one).collect()
}

/// What follows `->`, where it speaks of consumer groups.
pub(crate) fn expected(text: &str) -> Result<Option<Expected>, String> {
    if let Some(list) = text.strip_prefix("offsets ") {
        let item = |text: &str| {
            let mut words = Words::new(text);
            let partition = words.partition()?;
            let offset = match words.next("an offset or none")? {
                "none" => -1,
                offset => number(offset)?,
            };
            words.end()?;
            Ok((partition, offset))
        };
        let items = list.split(',').map(item).collect::<Result<_, String>>()?;
        return Ok(Some(Expected::Offsets(items)));
    }
    let mut words = Words::new(text);
    Ok(match words.next("an answer")? {
        "epoch" => Some(consumer_protocol::expected(&mut words)?),
        "assigned" => Some(Expected::Assigned(words.rest().join(" "))),
        "joined" => Some(Expected::Joined {
            generation: number(words.next("a generation")?)?,
            leads: words.rest().iter().map(ToString::to_string).collect(),
        }),
        _ => None,
    })
}

impl ConsumerVerb {
    /// Whether it belongs to a transaction, which cannot commit without it.
    pub(crate) fn is_transactional(&self) -> bool {
        matches!(
            self,
            ConsumerVerb::AddOffsets { .. } | ConsumerVerb::TxnOffsets { .. }
        )
    }
}

impl Clients {
    pub(crate) fn consumer_request(&mut self, client: &str, verb: &ConsumerVerb) -> Versioned {
        let suffix = self.suffix.clone();
        let own = self.client(client).consumer.clone();
        let producer = self.client(client).producer.clone();
        match verb {
            ConsumerVerb::AddOffsets { group, identity } => {
                let producer = producer.identified(identity, &suffix);
                let request = AddOffsetsToTxnRequest {
                    transactional_id: producer.transactional_id.into(),
                    producer_id: producer.id,
                    producer_epoch: producer.epoch,
                    group_id: self.wire(group).into(),
                    ..Default::default()
                };
                (request.into(), 3)
            }
            ConsumerVerb::Commit { .. } => self.commit_offsets(client, verb),
            ConsumerVerb::FetchOffsets {
                group,
                partitions,
                stable,
            } => {
                let topics = by_topic(partitions, |own| own).into_iter();
                let topics = topics.map(|(topic, parts)| OffsetFetchRequestTopics {
                    name: self.wire(topic).into(),
                    partition_indexes: parts.iter().map(|own| own.partition).collect(),
                    ..Default::default()
                });
                let group = OffsetFetchRequestGroup {
                    group_id: self.wire(group).into(),
                    topics: Some(topics.collect()),
                    ..Default::default()
                };
                let request = OffsetFetchRequest {
                    groups: vec![group],
                    require_stable: *stable,
                    ..Default::default()
                };
                (request.into(), 9)
            }
            ConsumerVerb::Heartbeat { generation } => {
                let request = HeartbeatRequest {
                    group_id: own.group.into(),
                    generation_id: generation.unwrap_or(own.generation),
                    member_id: own.member_id,
                    group_instance_id: own.instance,
                    ..Default::default()
                };
                (request.into(), 4)
            }
            ConsumerVerb::Protocol(verb) => self.protocol_request(client, verb),
            ConsumerVerb::Join { .. } => self.join_group(client, verb),
            ConsumerVerb::Leave => {
                let member = MemberIdentity {
                    member_id: own.member_id,
                    group_instance_id: own.instance,
                    ..Default::default()
                };
                let request = LeaveGroupRequest {
                    group_id: own.group.into(),
                    members: vec![member],
                    ..Default::default()
                };
                (request.into(), 5)
            }
            ConsumerVerb::Sync { .. } => self.sync_group(client, verb),
            ConsumerVerb::TxnOffsets { .. } => self.txn_offsets(client, verb),
        }
    }

    fn commit_offsets(&mut self, client: &str, verb: &ConsumerVerb) -> Versioned {
        let ConsumerVerb::Commit {
            group,
            offsets,
            simple,
            generation,
            text,
        } = verb
        else {
            return (OffsetCommitRequest::default().into(), 9);
        };
        let own = self.client(client).consumer.clone();
        let nobody = Consumer {
            generation: -1,
            ..Default::default()
        };
        let member = if *simple { nobody } else { own };
        let request = OffsetCommitRequest {
            group_id: self.wire(group).into(),
            generation_id_or_member_epoch: generation.unwrap_or(member.generation),
            member_id: member.member_id,
            group_instance_id: member.instance,
            topics: self.committed_topics(offsets, text.as_deref()),
            ..Default::default()
        };
        (request.into(), 9)
    }

    fn sync_group(&mut self, client: &str, verb: &ConsumerVerb) -> Versioned {
        let ConsumerVerb::Sync {
            assignments,
            generation,
        } = verb
        else {
            return (SyncGroupRequest::default().into(), 5);
        };
        let own = self.client(client).consumer.clone();
        let assigned = assignments.iter().map(|(name, text)| {
            let member = self.by_name.get(name).map(|client| &client.consumer);
            SyncGroupRequestAssignment {
                member_id: member.map_or(Str::EMPTY, |own| own.member_id.clone()),
                assignment: text.clone().into_bytes().into(),
                ..Default::default()
            }
        });
        let request = SyncGroupRequest {
            group_id: own.group.into(),
            generation_id: generation.unwrap_or(own.generation),
            member_id: own.member_id,
            group_instance_id: own.instance,
            protocol_type: Some("consumer".into()),
            protocol_name: own.protocol.or(Some(Str::EMPTY)),
            assignments: assigned.collect(),
            ..Default::default()
        };
        (request.into(), 5)
    }

    fn join_group(&mut self, client: &str, verb: &ConsumerVerb) -> Versioned {
        let ConsumerVerb::Join {
            group,
            protocols,
            session_ms,
            rebalance_ms,
            instance,
            version,
        } = verb
        else {
            return (JoinGroupRequest::default().into(), 9);
        };
        let group_id = self.wire(group);
        let own = &mut self.client(client).consumer;
        if own.group != group_id {
            *own = Consumer {
                group: group_id.clone(),
                ..Default::default()
            };
        }
        own.instance = instance.as_ref().map(Into::into);
        let protocol = |name: &String| JoinGroupRequestProtocol {
            name: name.into(),
            metadata: subscription().into(),
            ..Default::default()
        };
        let request = JoinGroupRequest {
            group_id: group_id.into(),
            session_timeout_ms: *session_ms,
            rebalance_timeout_ms: *rebalance_ms,
            member_id: own.member_id.clone(),
            group_instance_id: own.instance.clone(),
            protocol_type: "consumer".into(),
            protocols: protocols.iter().map(protocol).collect(),
            ..Default::default()
        };
        (request.into(), *version)
    }

    fn txn_offsets(&mut self, client: &str, verb: &ConsumerVerb) -> Versioned {
        let ConsumerVerb::TxnOffsets {
            group,
            offsets,
            member,
            generation,
            version,
            identity,
        } = verb
        else {
            return (TxnOffsetCommitRequest::default().into(), 5);
        };
        let suffix = self.suffix.clone();
        let producer = self.client(client).producer.identified(identity, &suffix);
        let member = member
            .as_ref()
            .map(|name| self.client(name).consumer.clone());
        let known = member.as_ref().map_or(-1, |member| member.generation);
        let member = member.unwrap_or_default();
        let topics = by_topic(offsets, |(partition, _)| partition).into_iter();
        let topics = topics.map(|(topic, parts)| {
            let parts = parts.into_iter();
            TxnOffsetCommitRequestTopic {
                name: self.wire(topic).into(),
                partitions: parts
                    .map(|(partition, offset)| TxnOffsetCommitRequestPartition {
                        partition_index: partition.partition,
                        committed_offset: *offset,
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            }
        });
        let request = TxnOffsetCommitRequest {
            transactional_id: producer.transactional_id.into(),
            group_id: self.wire(group).into(),
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            generation_id_or_member_epoch: generation.unwrap_or(known),
            member_id: member.member_id,
            group_instance_id: member.instance,
            topics: topics.collect(),
            ..Default::default()
        };
        (request.into(), *version)
    }

    fn committed_topics(
        &self,
        offsets: &Offsets,
        text: Option<&str>,
    ) -> Vec<OffsetCommitRequestTopic> {
        let topics = by_topic(offsets, |(partition, _)| partition).into_iter();
        let topics = topics.map(|(topic, parts)| {
            let parts = parts.into_iter();
            OffsetCommitRequestTopic {
                name: self.wire(topic).into(),
                partitions: parts
                    .map(|(partition, offset)| OffsetCommitRequestPartition {
                        partition_index: partition.partition,
                        committed_offset: *offset,
                        committed_metadata: text.map(Into::into),
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            }
        });
        topics.collect()
    }

    /// The error codes of an answer that speaks of consumer groups.
    pub(crate) fn consumer_codes(&self, response: &Response) -> Codes {
        match response {
            Response::AddOffsetsToTxn(response) => Codes::top(response.error_code),
            Response::ConsumerGroupHeartbeat(response) => Codes::top(response.error_code),
            Response::Heartbeat(response) => Codes::top(response.error_code),
            Response::JoinGroup(response) => Codes::top(response.error_code),
            Response::LeaveGroup(response) => {
                let members = response.members.iter();
                let first = members
                    .map(|own| own.error_code)
                    .find(|code| code.is_error());
                Codes::top(first.unwrap_or(response.error_code))
            }
            Response::OffsetCommit(response) => self.named(None, &response.topics, |topic| {
                let parts = topic.partitions.iter();
                (
                    &topic.name,
                    parts.map(|p| (p.partition_index, p.error_code)).collect(),
                )
            }),
            Response::OffsetFetch(response) => {
                let group = response.groups.first().cloned().unwrap_or_default();
                let topics = group.topics;
                self.named(Some(group.error_code), &topics, |topic| {
                    let parts = topic.partitions.iter();
                    (
                        &topic.name,
                        parts.map(|p| (p.partition_index, p.error_code)).collect(),
                    )
                })
            }
            Response::SyncGroup(response) => Codes::top(response.error_code),
            Response::TxnOffsetCommit(response) => self.offset_codes(response),
            _ => Codes::default(),
        }
    }

    /// Whether an answer without an error is what a step expects of a consumer group.
    pub(crate) fn compare_group(
        &self,
        expected: &Expected,
        response: &Response,
    ) -> Result<(), String> {
        match (expected, response) {
            (Expected::Assigned(wanted), Response::SyncGroup(response)) => {
                let got = String::from_utf8_lossy(&response.assignment);
                if got == *wanted {
                    return Ok(());
                }
                Err(format!("the assignment is `{got}`"))
            }
            (Expected::Joined { generation, leads }, Response::JoinGroup(response)) => {
                let got = self.names_of(response);
                if response.generation_id == *generation && got == *leads {
                    return Ok(());
                }
                let names = got.join(" ");
                Err(format!("joined {} {names}", response.generation_id))
            }
            (Expected::Member { epoch, has }, Response::ConsumerGroupHeartbeat(response)) => {
                self.compare_member(*epoch, has.as_deref(), response)
            }
            (Expected::Offsets(wanted), Response::OffsetFetch(response)) => {
                let topics = response.groups.iter().flat_map(|group| &group.topics);
                let got: Vec<(String, i64)> = topics
                    .flat_map(|topic| {
                        let parts = topic.partitions.iter();
                        let label = |index| self.label_by_name(&topic.name, index);
                        parts
                            .map(|p| (label(p.partition_index), p.committed_offset))
                            .collect::<Vec<_>>()
                    })
                    .collect();
                let wanted = wanted.iter();
                let wanted: Vec<(String, i64)> = wanted
                    .map(|(own, offset)| (own.to_string(), *offset))
                    .collect();
                if got == wanted {
                    return Ok(());
                }
                let got = got.iter().map(|(own, offset)| format!("{own} {offset}"));
                Err(format!(
                    "the offsets are {}",
                    got.collect::<Vec<_>>().join(", ")
                ))
            }
            _ => Err("the answer is of another kind".to_string()),
        }
    }

    /// The clients behind the members that a leader is told of, in the order of their names.
    fn names_of(&self, response: &JoinGroupResponse) -> Vec<String> {
        let named = |id: &Str| {
            let mut clients = self.by_name.iter();
            let found = clients.find(|(_, client)| client.consumer.member_id == *id);
            found.map_or_else(|| id.to_string(), |(name, _)| name.clone())
        };
        let members = response.members.iter();
        let mut names: Vec<String> = members.map(|own| named(&own.member_id)).collect();
        names.sort();
        names
    }
}

/// A subscription to no topic.
fn subscription() -> Vec<u8> {
    vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}
