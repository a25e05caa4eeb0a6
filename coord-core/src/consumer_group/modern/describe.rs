//! ConsumerGroupDescribe (key 69).

use alloc::format;

use ackord_proto::messages::consumer_group_describe::{
    Assignment, DescribedGroup, Member, TopicPartitions,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::Assigned;
use super::assignor::Assignor;
use super::group::ConsumerGroup;
use super::member::{ConsumerMember, Held};

/// A member that came by JoinGroup.
const CLASSIC: i8 = 0;
/// A member of the consumer protocol.
const CONSUMER: i8 = 1;

impl ConsumerGroup {
    /// The group as ConsumerGroupDescribe shows it. `name` is what the topic of an id is called;
    /// deleted topics are left out.
    pub fn described(
        &self,
        id: &Str,
        default: Assignor,
        name: &dyn Fn(Uuid) -> Option<Str>,
    ) -> DescribedGroup {
        let members = self.members.iter();
        let members = members.map(|(id, member)| self.described_member(id, member, name));
        DescribedGroup {
            group_id: id.clone(),
            group_state: Str::from(format!("{}", self.state())),
            group_epoch: self.epoch,
            assignment_epoch: self.target_epoch,
            assignor_name: Str::from(self.preferred_assignor(default).name()),
            members: members.collect(),
            ..Default::default()
        }
    }

    fn described_member(
        &self,
        id: &Str,
        member: &ConsumerMember,
        name: &dyn Fn(Uuid) -> Option<Str>,
    ) -> Member {
        let said = &member.said;
        let none = Assigned::new();
        let target = self.target.get(id).unwrap_or(&none);
        Member {
            member_id: id.clone(),
            instance_id: said.instance_id.clone(),
            rack_id: said.rack_id.clone(),
            member_epoch: member.current.epoch,
            client_id: said.client_id.clone(),
            client_host: said.client_host.clone(),
            subscribed_topic_names: said.subscribed_topic_names.clone(),
            subscribed_topic_regex: said.subscribed_topic_regex.clone(),
            assignment: held(&member.current.assigned, name),
            target_assignment: assigned(target, name),
            member_type: match member.is_classic() {
                true => CLASSIC,
                false => CONSUMER,
            },
            ..Default::default()
        }
    }
}

fn held(held: &Held, name: &dyn Fn(Uuid) -> Option<Str>) -> Assignment {
    let partitions = |(topic, partitions): (&Uuid, &alloc::collections::BTreeMap<i32, i32>)| {
        (*topic, partitions.keys().copied().collect())
    };
    assigned(&held.iter().map(partitions).collect(), name)
}

fn assigned(assigned: &Assigned, name: &dyn Fn(Uuid) -> Option<Str>) -> Assignment {
    let topics = assigned.iter().filter_map(|(topic, partitions)| {
        Some(TopicPartitions {
            topic_id: *topic,
            topic_name: name(*topic)?,
            partitions: partitions.iter().copied().collect(),
            ..Default::default()
        })
    });
    Assignment {
        topic_partitions: topics.collect(),
        ..Default::default()
    }
}
