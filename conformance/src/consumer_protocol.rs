//! Members of the consumer protocol (KIP-848) in scripts.

use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::consumer_group_heartbeat::TopicPartitions;
use ackord_proto::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use ackord_proto::str::Str;

use crate::client::Clients;
use crate::grammar::{Words, number, topic_partition};
use crate::requests::{Versioned, by_topic};
use crate::script::{EpochOption, Expected, TopicPartition};
use crate::verbs::Options;

/// The membership of a client in a group of either protocol.
#[derive(Clone, Debug, Default)]
pub(crate) struct Consumer {
    pub(crate) group: String,
    pub(crate) member_id: Str,
    pub(crate) instance: Option<Str>,
    /// Generation of a classic group; member epoch of the consumer protocol.
    pub(crate) generation: i32,
    pub(crate) protocol: Option<Str>,
}

/// What a member of the consumer protocol says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolVerb {
    /// A heartbeat that joins.
    Join(Joins),
    /// A heartbeat of a member.
    Heartbeat {
        /// `epoch=`
        epoch: Option<EpochOption>,
        /// `owns orders-0`, `owns nothing`: what it has; `None`: it does not say.
        owned: Option<Vec<TopicPartition>>,
    },
    /// A heartbeat that leaves; `epoch=-2` for a while.
    Leave {
        /// The member epoch.
        epoch: i32,
    },
}

/// What a heartbeat that joins says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joins {
    /// Group.
    pub group: String,
    /// Topics by name.
    pub topics: Vec<String>,
    /// `regex=`
    pub regex: Option<String>,
    /// `assignor=`
    pub assignor: Option<String>,
    /// `instance=`: static member.
    pub instance: Option<String>,
    /// `member=`: another member id than the name of the client.
    pub member: Option<String>,
    /// `rebalance=`: milliseconds.
    pub rebalance_ms: i32,
}

/// Reads the words behind the name of a verb; `None` for other verbs.
pub(crate) fn verb(
    name: &str,
    words: &mut Words<'_>,
    options: &mut Options<'_>,
) -> Result<Option<ProtocolVerb>, String> {
    Ok(Some(match name {
        "consumer-join" => ProtocolVerb::Join(Joins {
            group: words.name("a group")?,
            topics: words.rest().iter().map(ToString::to_string).collect(),
            regex: options.take("regex").map(ToString::to_string),
            assignor: options.take("assignor").map(ToString::to_string),
            instance: options.take("instance").map(ToString::to_string),
            member: options.take("member").map(ToString::to_string),
            rebalance_ms: options.number("rebalance")?.unwrap_or(60_000),
        }),
        "consumer-heartbeat" => ProtocolVerb::Heartbeat {
            epoch: options.epoch("epoch")?,
            owned: match words.peek() {
                Some("owns") => {
                    words.next("owns")?;
                    Some(partitions(words)?)
                }
                _ => None,
            },
        },
        "consumer-leave" => ProtocolVerb::Leave {
            epoch: options.number("epoch")?.unwrap_or(-1),
        },
        _ => return Ok(None),
    }))
}

/// `orders-0 orders-1`, or `nothing`.
fn partitions(words: &mut Words<'_>) -> Result<Vec<TopicPartition>, String> {
    match words.rest().as_slice() {
        ["nothing"] => Ok(Vec::new()),
        listed => listed.iter().map(|word| topic_partition(word)).collect(),
    }
}

/// `epoch 3`, `epoch 3 has orders-0 orders-1`, behind the first word.
pub(crate) fn expected(words: &mut Words<'_>) -> Result<Expected, String> {
    let epoch = number(words.next("an epoch")?)?;
    let has = match words.peek() {
        Some("has") => {
            words.next("has")?;
            Some(partitions(words)?)
        }
        _ => None,
    };
    words.end()?;
    Ok(Expected::Member { epoch, has })
}

impl Clients {
    pub(crate) fn protocol_request(&mut self, client: &str, verb: &ProtocolVerb) -> Versioned {
        let request = match verb {
            ProtocolVerb::Join(joins) => self.consumer_join(client, joins),
            ProtocolVerb::Heartbeat { epoch, owned } => {
                let own = self.client(client).consumer.clone();
                let owned = owned.as_ref().map(|owned| {
                    let topics = by_topic(owned, |own| own).into_iter();
                    let topics = topics.map(|(topic, parts)| TopicPartitions {
                        topic_id: self.topic_id(topic),
                        partitions: parts.iter().map(|own| own.partition).collect(),
                        ..Default::default()
                    });
                    topics.collect()
                });
                ConsumerGroupHeartbeatRequest {
                    member_epoch: match epoch {
                        Some(EpochOption::Absolute(epoch)) => i32::from(*epoch),
                        Some(EpochOption::Relative(ahead)) => own.generation + i32::from(*ahead),
                        None => own.generation,
                    },
                    topic_partitions: owned,
                    ..said_by(own)
                }
            }
            ProtocolVerb::Leave { epoch } => ConsumerGroupHeartbeatRequest {
                member_epoch: *epoch,
                ..said_by(self.client(client).consumer.clone())
            },
        };
        (request.into(), 1)
    }

    fn consumer_join(&mut self, client: &str, joins: &Joins) -> ConsumerGroupHeartbeatRequest {
        let group = self.wire(&joins.group);
        let topics = joins.topics.iter().map(|topic| Str::from(self.wire(topic)));
        let topics: Vec<Str> = topics.collect();
        let own = &mut self.client(client).consumer;
        *own = Consumer {
            group,
            member_id: joins.member.as_deref().unwrap_or(client).into(),
            instance: joins.instance.as_ref().map(Into::into),
            ..Default::default()
        };
        ConsumerGroupHeartbeatRequest {
            rebalance_timeout_ms: joins.rebalance_ms,
            subscribed_topic_names: Some(topics),
            subscribed_topic_regex: joins.regex.as_ref().map(Into::into),
            server_assignor: joins.assignor.as_ref().map(Into::into),
            topic_partitions: Some(Vec::new()),
            ..said_by(own.clone())
        }
    }

    pub(crate) fn compare_member(
        &self,
        epoch: i32,
        has: Option<&[TopicPartition]>,
        response: &ConsumerGroupHeartbeatResponse,
    ) -> Result<(), String> {
        let got = response.assignment.as_ref().map(|assignment| {
            let topics = assignment.topic_partitions.iter();
            let labels = topics.flat_map(|topic| {
                let parts = topic.partitions.iter();
                parts.map(|index| self.label_by_id(topic.topic_id, *index))
            });
            let mut labels: Vec<String> = labels.collect();
            labels.sort();
            labels
        });
        let wanted = has.map(|has| {
            let mut labels: Vec<String> = has.iter().map(ToString::to_string).collect();
            labels.sort();
            labels
        });
        if response.member_epoch == epoch && got == wanted {
            return Ok(());
        }
        let has = match got {
            None => String::new(),
            Some(none) if none.is_empty() => " has nothing".to_string(),
            Some(labels) => format!(" has {}", labels.join(" ")),
        };
        Err(format!("epoch {}{has}", response.member_epoch))
    }
}

fn said_by(own: Consumer) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: own.group.into(),
        member_id: own.member_id,
        member_epoch: 0,
        instance_id: own.instance,
        rebalance_timeout_ms: -1,
        ..Default::default()
    }
}

impl Consumer {
    /// Takes from an answer what the member has to know.
    pub(crate) fn absorb(&mut self, response: &Response) {
        match response {
            Response::JoinGroup(response) => {
                let known = response.error_code == ErrorCode::MEMBER_ID_REQUIRED;
                if known || !response.error_code.is_error() {
                    self.member_id = response.member_id.clone();
                }
                if !response.error_code.is_error() {
                    self.generation = response.generation_id;
                    self.protocol = response.protocol_name.clone();
                }
            }
            Response::ConsumerGroupHeartbeat(response) if !response.error_code.is_error() => {
                self.generation = response.member_epoch;
            }
            Response::LeaveGroup(response) if !response.error_code.is_error() => {
                self.member_id = Str::EMPTY;
            }
            _ => {}
        }
    }
}
