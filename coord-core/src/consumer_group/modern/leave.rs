//! Leaving a consumer group, and the way of a group from one protocol to the other.

use alloc::format;

use ackord_machine::Now;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use ackord_proto::str::Str;

use super::ClusterView;
use super::heartbeat::{LEAVE, Refusal, refusal};
use super::member::{Current, Held, LEFT_FOR_NOW};
use super::records::ConsumerRecord;
use crate::consumer_group::classic_group::ClassicGroup;
use crate::consumer_group::coordinator::{ClassicReply, GroupCoordinator, GroupCtx};
use crate::consumer_group::records::group_tombstone;
use crate::outbox::Outbox;

impl GroupCoordinator {
    pub(super) fn leave_consumer_group(
        &mut self,
        ctx: &GroupCtx<'_>,
        request: &ConsumerGroupHeartbeatRequest,
        out: &mut Outbox<ClassicReply>,
    ) -> Result<ConsumerGroupHeartbeatResponse, Refusal> {
        let now = ctx.now;
        let (id, member) = (&request.group_id, &request.member_id);
        let group = self.consumer_group(id).ok_or_else(|| {
            let message = match self.groups.contains_key(id) {
                true => format!("Group {id} is not a consumer group."),
                false => format!("Group {id} not found."),
            };
            refusal(ErrorCode::GROUP_ID_NOT_FOUND, message)
        })?;
        if let Some(instance) = &request.instance_id {
            group.check_instance(member, instance)?;
        }
        group.known(id, member)?;
        if request.member_epoch == LEFT_FOR_NOW {
            self.change(now, id, out, |change| {
                // What it has stays its own until its session ends.
                let left = Current {
                    epoch: LEFT_FOR_NOW,
                    revoking: Held::new(),
                    ..change.current_of(member)
                };
                change.put(ConsumerRecord::Current(member.clone(), Some(left)));
            });
        } else {
            self.fence_members(now, id, core::slice::from_ref(member), out);
            self.downgrade_if_classic(now, id, ctx.cluster, out);
        }
        Ok(ConsumerGroupHeartbeatResponse {
            member_id: Some(member.clone()),
            member_epoch: match request.member_epoch {
                LEFT_FOR_NOW => LEFT_FOR_NOW,
                _ => LEAVE,
            },
            ..Default::default()
        })
    }

    /// Takes members out of their consumer group.
    pub(super) fn fence_members(
        &mut self,
        now: Now,
        group: &Str,
        members: &[Str],
        out: &mut Outbox<ClassicReply>,
    ) {
        for member in members {
            self.cancel_member_timers(group, member);
        }
        self.change(now, group, out, |change| {
            for member in members {
                change.remove(member);
            }
            change.bump();
            if change.group.is_empty() {
                change.target_is_made(0);
            }
        });
    }

    /// Makes the group one of the consumer protocol where it is not yet: a new one, or a classic one,
    /// with the members that are in it. Its offsets stay.
    pub(super) fn ensure_consumer_group(
        &mut self,
        now: Now,
        id: &Str,
        cluster: &dyn ClusterView,
        out: &mut Outbox<ClassicReply>,
    ) {
        if self.consumer_group(id).is_some() {
            return;
        }
        let classic = self.group(id);
        if classic.is_some_and(|classic| !classic.members.is_empty()) {
            return self.upgrade(now, id, cluster, out);
        }
        let group = self.group_mut(id);
        let stored = group.stored.is_some();
        group.classic = ClassicGroup::new(now.wall.as_millis());
        group.consumer = Some(Default::default());
        group.seen_metadata = None;
        if stored {
            self.append(group_tombstone(id).into_iter().collect(), None, out);
        }
        self.check_retention(now);
    }

    /// A classic member comes to a consumer group without members: it is a classic group from now
    /// on. Its offsets stay.
    pub(in crate::consumer_group) fn become_classic_group(
        &mut self,
        now: Now,
        id: &Str,
        out: &mut Outbox<ClassicReply>,
    ) {
        let Some(group) = self.groups.get_mut(id) else {
            return;
        };
        let Some(consumer) = &group.consumer else {
            return;
        };
        let records = consumer.tombstones();
        let records = records
            .iter()
            .filter_map(|record| super::encode(id, record));
        let records = records.collect();
        group.classic = ClassicGroup::new(now.wall.as_millis());
        self.append(records, None, out);
    }
}
