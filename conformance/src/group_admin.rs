//! What an administrator asks about groups: reading it, its requests, its answers as text.

use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AlterShareGroupOffsetsRequest, ConsumerGroupDescribeRequest, DeleteGroupsRequest,
    DeleteShareGroupOffsetsRequest, DescribeGroupsRequest, DescribeShareGroupOffsetsRequest,
    ListGroupsRequest, ShareGroupDescribeRequest, alter_share_group_offsets as alter,
    consumer_group_describe, delete_share_group_offsets as delete,
    describe_share_group_offsets as describe, share_group_describe,
};
use ackord_proto::str::Str;

use crate::answers::Codes;
use crate::client::Clients;
use crate::grammar::{Words, number, topic_partition};
use crate::requests::{Versioned, by_topic};
use crate::script::{GroupAdmin, TopicPartition};

/// Reads what follows the name of a client; `None` where it is something else.
pub(crate) fn verb(name: &str, words: &mut Words<'_>) -> Result<Option<GroupAdmin>, String> {
    Ok(Some(match name {
        "alter-offsets" => {
            let group = words.name("a group")?;
            let mut offsets = Vec::new();
            while words.peek().is_some() {
                offsets.push((words.partition()?, number(words.next("an offset")?)?));
            }
            GroupAdmin::AlterOffsets { group, offsets }
        }
        "delete-groups" => GroupAdmin::DeleteGroups(strings(words)),
        "delete-offsets" => GroupAdmin::DeleteOffsets {
            group: words.name("a group")?,
            topics: strings(words),
        },
        "describe-classic" => GroupAdmin::DescribeClassic(strings(words)),
        "describe-consumer" => GroupAdmin::DescribeConsumer(strings(words)),
        "describe-groups" => GroupAdmin::DescribeGroups(strings(words)),
        "describe-offsets" => GroupAdmin::DescribeOffsets {
            group: words.name("a group")?,
            partitions: words
                .rest()
                .into_iter()
                .map(topic_partition)
                .collect::<Result<_, _>>()?,
        },
        "list-groups" => {
            let (mut states, mut types) = (Vec::new(), Vec::new());
            for word in words.rest() {
                match word.split_once(':') {
                    Some(("state", state)) => states.push(state.to_string()),
                    Some(("type", kind)) => types.push(kind.to_string()),
                    _ => return Err(format!("`{word}` is neither state:NAME nor type:NAME")),
                }
            }
            GroupAdmin::ListGroups { states, types }
        }
        _ => return Ok(None),
    }))
}

fn strings(words: &mut Words<'_>) -> Vec<String> {
    let empty = |word: &&str| {
        if *word == "''" {
            String::new()
        } else {
            (*word).to_string()
        }
    };
    words.rest().iter().map(empty).collect()
}

fn texts(words: &[String]) -> Vec<Str> {
    words.iter().map(|word| word.as_str().into()).collect()
}

impl Clients {
    pub(crate) fn group_admin(&self, verb: &GroupAdmin) -> Versioned {
        let wire = |name: &String| Str::from(self.wire(name));
        let all = |names: &[String]| names.iter().map(wire).collect();
        match verb {
            GroupAdmin::AlterOffsets { group, offsets } => {
                (self.alter_offsets(group, offsets).into(), 0)
            }
            GroupAdmin::DeleteGroups(groups) => {
                let request = DeleteGroupsRequest {
                    groups_names: all(groups),
                    ..Default::default()
                };
                (request.into(), 3)
            }
            GroupAdmin::DeleteOffsets { group, topics } => {
                let topic = |name| delete::DeleteShareGroupOffsetsRequestTopic {
                    topic_name: wire(name),
                    ..Default::default()
                };
                let request = DeleteShareGroupOffsetsRequest {
                    group_id: wire(group),
                    topics: topics.iter().map(topic).collect(),
                    ..Default::default()
                };
                (request.into(), 0)
            }
            GroupAdmin::DescribeClassic(groups) => {
                let request = DescribeGroupsRequest {
                    groups: all(groups),
                    ..Default::default()
                };
                (request.into(), 6)
            }
            GroupAdmin::DescribeConsumer(groups) => {
                let request = ConsumerGroupDescribeRequest {
                    group_ids: all(groups),
                    ..Default::default()
                };
                (request.into(), 1)
            }
            GroupAdmin::DescribeGroups(groups) => {
                let request = ShareGroupDescribeRequest {
                    group_ids: all(groups),
                    include_authorized_operations: true,
                    ..Default::default()
                };
                (request.into(), 1)
            }
            GroupAdmin::DescribeOffsets { group, partitions } => {
                (self.describe_offsets(group, partitions).into(), 1)
            }
            GroupAdmin::ListGroups { states, types } => {
                let request = ListGroupsRequest {
                    states_filter: texts(states),
                    types_filter: texts(types),
                    ..Default::default()
                };
                (request.into(), 5)
            }
        }
    }

    fn alter_offsets(
        &self,
        group: &str,
        offsets: &[(TopicPartition, i64)],
    ) -> AlterShareGroupOffsetsRequest {
        let topics = by_topic(offsets, |(own, _)| own).into_iter();
        let part =
            |(own, offset): &(TopicPartition, i64)| alter::AlterShareGroupOffsetsRequestPartition {
                partition_index: own.partition,
                start_offset: *offset,
                ..Default::default()
            };
        let topics = topics.map(|(topic, parts)| alter::AlterShareGroupOffsetsRequestTopic {
            topic_name: self.wire(topic).into(),
            partitions: parts.into_iter().map(part).collect(),
            ..Default::default()
        });
        AlterShareGroupOffsetsRequest {
            group_id: self.wire(group).into(),
            topics: topics.collect(),
            ..Default::default()
        }
    }

    fn describe_offsets(
        &self,
        group: &str,
        partitions: &[TopicPartition],
    ) -> DescribeShareGroupOffsetsRequest {
        let topics = by_topic(partitions, |own| own).into_iter();
        let topics = topics.map(
            |(topic, parts)| describe::DescribeShareGroupOffsetsRequestTopic {
                topic_name: self.wire(topic).into(),
                partitions: parts.iter().map(|own| own.partition).collect(),
                ..Default::default()
            },
        );
        let group = describe::DescribeShareGroupOffsetsRequestGroup {
            group_id: self.wire(group).into(),
            topics: (!partitions.is_empty()).then(|| topics.collect()),
            ..Default::default()
        };
        DescribeShareGroupOffsetsRequest {
            groups: vec![group],
            ..Default::default()
        }
    }

    /// The name in the script.
    pub(crate) fn plain<'a>(&self, name: &'a str) -> &'a str {
        name.strip_suffix(self.suffix.as_str()).unwrap_or(name)
    }

    /// The codes of an answer about groups.
    pub(crate) fn group_admin_codes(&self, response: &Response) -> Option<Codes> {
        let group = |id: &Str, code: ErrorCode| (self.plain(id).to_string(), code);
        macro_rules! coded {
            ($groups:expr) => {{
                let groups = $groups.iter();
                groups
                    .map(|own| group(&own.group_id, own.error_code))
                    .collect()
            }};
        }
        let (top, parts) = match response {
            Response::AlterShareGroupOffsets(response) => {
                let topics = response.responses.iter();
                let parts = topics.flat_map(|topic| {
                    let code = |p: &alter::AlterShareGroupOffsetsResponsePartition| {
                        let label = self.label_by_name(&topic.topic_name, p.partition_index);
                        (label, p.error_code)
                    };
                    topic.partitions.iter().map(code).collect::<Vec<_>>()
                });
                (Some(response.error_code), parts.collect())
            }
            Response::DeleteGroups(response) => (None, coded!(response.results)),
            Response::DeleteShareGroupOffsets(response) => {
                let topics = response.responses.iter();
                // It names no partitions; each topic counts as its first one.
                let codes =
                    topics.map(|own| (self.label_by_name(&own.topic_name, 0), own.error_code));
                (Some(response.error_code), codes.collect())
            }
            Response::ConsumerGroupDescribe(response) => (None, coded!(response.groups)),
            Response::DescribeGroups(response) => (None, coded!(response.groups)),
            Response::ShareGroupDescribe(response) => (None, coded!(response.groups)),
            Response::DescribeShareGroupOffsets(response) => {
                let mut codes = Vec::new();
                for own in &response.groups {
                    codes.push(group(&own.group_id, own.error_code));
                    for topic in &own.topics {
                        codes.extend(topic.partitions.iter().map(|p| {
                            let label = self.label_by_name(&topic.topic_name, p.partition_index);
                            (label, p.error_code)
                        }));
                    }
                }
                (None, codes)
            }
            Response::ListGroups(response) => (Some(response.error_code), Vec::new()),
            _ => return None,
        };
        Some(Codes { top, parts })
    }

    /// An answer about groups as one line; items in order.
    pub(crate) fn group_admin_text(&self, response: &Response) -> Option<String> {
        let mut items: Vec<String> = match response {
            Response::DescribeShareGroupOffsets(response) => {
                let topics = response.groups.iter().flat_map(|group| &group.topics);
                let offsets = topics.flat_map(|topic| {
                    let text = |p: &describe::DescribeShareGroupOffsetsResponsePartition| {
                        let label = self.label_by_name(&topic.topic_name, p.partition_index);
                        format!("{label} {} lag {}", p.start_offset, p.lag)
                    };
                    topic.partitions.iter().map(text).collect::<Vec<_>>()
                });
                offsets.collect()
            }
            Response::ListGroups(response) => {
                let own = |id: &Str| self.suffix.is_empty() || id.ends_with(self.suffix.as_str());
                let groups = response.groups.iter().filter(|group| own(&group.group_id));
                let text = |group: &ackord_proto::messages::list_groups::ListedGroup| {
                    let (kind, state) = (&group.group_type, &group.group_state);
                    format!("{} {kind} {state}", self.plain(&group.group_id))
                };
                groups.map(text).collect()
            }
            Response::ConsumerGroupDescribe(response) => response
                .groups
                .iter()
                .map(|group| self.described_consumer(group))
                .collect(),
            Response::DescribeGroups(response) => {
                let text = |group: &ackord_proto::messages::describe_groups::DescribedGroup| {
                    format!("{} {}", self.plain(&group.group_id), group.group_state)
                };
                response.groups.iter().map(text).collect()
            }
            Response::ShareGroupDescribe(response) => response
                .groups
                .iter()
                .map(|group| self.described(group))
                .collect(),
            _ => return None,
        };
        items.sort();
        Some(if items.is_empty() {
            "nothing".to_string()
        } else {
            items.join(", ")
        })
    }

    /// `g Reconciling uniform epoch 3 k1 at 2 orders-0 orders-1 to orders-0 k2 at 3 nothing to orders-1`
    fn described_consumer(&self, group: &consumer_group_describe::DescribedGroup) -> String {
        let listed = |assignment: &consumer_group_describe::Assignment| {
            let topics = assignment.topic_partitions.iter();
            let mut words: Vec<String> = topics
                .flat_map(|topic| {
                    let label = |index: &i32| self.label_by_name(&topic.topic_name, *index);
                    topic.partitions.iter().map(label).collect::<Vec<_>>()
                })
                .collect();
            words.sort();
            match words.is_empty() {
                true => "nothing".to_string(),
                false => words.join(" "),
            }
        };
        let mut text = format!("{} {}", self.plain(&group.group_id), group.group_state);
        text = format!("{text} {} epoch {}", group.assignor_name, group.group_epoch);
        for member in &group.members {
            let (has, target) = (
                listed(&member.assignment),
                listed(&member.target_assignment),
            );
            text = format!(
                "{text} {} at {} {has}",
                member.member_id, member.member_epoch
            );
            if member.member_type == 0 {
                text.push_str(" classic");
            }
            if has != target {
                text = format!("{text} to {target}");
            }
        }
        text
    }

    /// `g Stable simple m1 orders-0 orders-1 m2`
    fn described(&self, group: &share_group_describe::DescribedGroup) -> String {
        let mut text = format!("{} {}", self.plain(&group.group_id), group.group_state);
        if !group.assignor_name.is_empty() {
            text = format!("{text} {}", group.assignor_name);
        }
        let mut members: Vec<String> = Vec::new();
        for member in &group.members {
            let topics = member.assignment.topic_partitions.iter();
            let mut words: Vec<String> = topics
                .flat_map(|topic| {
                    let label = |index: &i32| self.label_by_name(&topic.topic_name, *index);
                    topic.partitions.iter().map(label).collect::<Vec<_>>()
                })
                .collect();
            words.sort();
            words.insert(0, member.member_id.to_string());
            members.push(words.join(" "));
        }
        members.sort();
        members
            .iter()
            .fold(text, |text, member| format!("{text} {member}"))
    }
}

/// Whether an answer says what a script wants it to say.
pub(crate) fn says(wanted: &str, found: Option<String>) -> Result<(), String> {
    match found {
        Some(found) if found == wanted => Ok(()),
        Some(found) => Err(format!("the answer says {found}")),
        None => Err("the answer is of another kind".to_string()),
    }
}
