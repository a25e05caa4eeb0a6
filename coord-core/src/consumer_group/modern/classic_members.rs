//! Members of the classic protocol in a consumer group (KIP-848): JoinGroup, SyncGroup, Heartbeat and
//! LeaveGroup drive the same reconciliation as heartbeats of the consumer protocol do. The member's
//! epoch is its generation, and the coordinator is its leader.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ackord_machine::Now;
use ackord_proto::coordinator_records::ConsumerGroupMemberMetadataValue;
use ackord_proto::coordinator_records::consumer_group::{ClassicMemberMetadata, ClassicProtocol};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::leave_group::MemberIdentity;
use ackord_proto::messages::{
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest, SyncGroupResponse,
};
use ackord_proto::str::Str;
use bytes::Bytes;

use super::change::{Change, Subscriptions};
use super::member::{ConsumerMember, MemberState};
use super::migration::{classic_assignment, with_ids};
use super::records::ConsumerRecord;
use super::{ClusterView, ConsumerGroup};
use crate::consumer_group::coordinator::{ClassicReply, Client, GroupCoordinator, GroupCtx, Timer};
use crate::consumer_group::subscription::{self, CONSUMER, Subscription};
use crate::outbox::Outbox;

/// From this version on a dynamic member gets its id before it joins (KIP-394).
const KNOWS_MEMBER_ID: i16 = 4;

impl GroupCoordinator {
    /// JoinGroup to a consumer group: INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED,
    /// MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    pub(in crate::consumer_group) fn join_consumer_group(
        &mut self,
        ctx: &mut GroupCtx<'_>,
        version: i16,
        request: &JoinGroupRequest,
        client: &Client,
        out: &mut Outbox<ClassicReply>,
    ) -> JoinGroupResponse {
        let id = &request.group_id;
        let refuse = |error_code, member_id: &Str| JoinGroupResponse {
            error_code,
            member_id: member_id.clone(),
            ..JoinGroupResponse::default()
        };
        let seat = self.classic_seat(ctx, version, request, client);
        let (old, member, said) = match seat {
            Ok(seat) => seat,
            Err((code, member)) => return refuse(code, &member),
        };
        if let Some(old) = &old {
            self.cancel_member_timers(id, old);
        }
        let cluster = ctx.cluster;
        let config = cluster.consumer_group(id);
        let owned = with_ids(&said.owned, cluster);
        let epoch = self.change(ctx.now, id, out, |change| {
            if let Some(old) = &old {
                change.replace(old, &member);
            }
            let subscriptions = change.hear_join(&member, version, request, client, &said);
            change.refresh(cluster, subscriptions);
            change.assign(cluster, &config);
            change.reconcile(&member, Some(&owned), cluster);
            change.current_of(&member).epoch
        });
        self.arm_session(ctx.now, id, &member, request.session_timeout_ms);
        // It is to ask for its assignment.
        self.expect_from(ctx.now, id, &member, request.rebalance_timeout_ms);
        JoinGroupResponse {
            generation_id: epoch.unwrap_or_default(),
            protocol_type: Some(Str::from(CONSUMER)),
            protocol_name: request.protocols.first().map(|first| first.name.clone()),
            member_id: member,
            ..JoinGroupResponse::default()
        }
    }

    /// Whose place the member takes, under which id, and what it says.
    fn classic_seat(
        &self,
        ctx: &mut GroupCtx<'_>,
        version: i16,
        request: &JoinGroupRequest,
        client: &Client,
    ) -> Result<(Option<Str>, Str, Subscription), (ErrorCode, Str)> {
        let asked = &request.member_id;
        let group = self.consumer_group(&request.group_id);
        let group = group.ok_or((ErrorCode::UNKNOWN_MEMBER_ID, asked.clone()))?;
        let config = ctx.cluster.consumer_group(&request.group_id);
        let first = request.protocols.first();
        let said = first.and_then(|first| subscription::read(&first.metadata));
        let said = said.filter(|_| group.supports_classic(request));
        let said = said.ok_or((ErrorCode::INCONSISTENT_GROUP_PROTOCOL, asked.clone()))?;
        let instance = request.group_instance_id.as_ref();
        let named = instance.and_then(|own| group.static_members.get(own));
        let is_member = group.members.contains_key(asked);
        if !is_member && named.is_none() && group.members.len() >= config.max_size {
            return Err((ErrorCode::GROUP_MAX_SIZE_REACHED, Str::EMPTY));
        }
        let name = instance.unwrap_or(&client.id);
        if !asked.is_empty() {
            // Ids of dynamic members are given out without being noted.
            return match (instance, named) {
                (None, _) => Ok((None, asked.clone(), said)),
                (Some(_), Some(named)) if named == asked => Ok((None, asked.clone(), said)),
                (Some(_), Some(_)) => Err((ErrorCode::FENCED_INSTANCE_ID, asked.clone())),
                (Some(_), None) => Err((ErrorCode::UNKNOWN_MEMBER_ID, asked.clone())),
            };
        }
        let new = self.new_member_id(&request.group_id, name, ctx.chance);
        match instance {
            None if version >= KNOWS_MEMBER_ID => Err((ErrorCode::MEMBER_ID_REQUIRED, new)),
            _ => Ok((named.cloned(), new, said)),
        }
    }

    /// SyncGroup to a consumer group: the assignment of the member's epoch, or UNKNOWN_MEMBER_ID,
    /// FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
    pub(in crate::consumer_group) fn sync_consumer_group(
        &mut self,
        now: Now,
        request: &SyncGroupRequest,
        cluster: &dyn ClusterView,
    ) -> SyncGroupResponse {
        let config = cluster.consumer_group(&request.group_id);
        let synced = self.check_classic_sync(request).map(|(member, group)| {
            let epoch = group.reachable_epoch(config.assignment_interval_ms, now.wall);
            let behind = epoch > member.current.epoch;
            let rejoins = behind && member.current.state != MemberState::UnrevokedPartitions;
            match rejoins {
                true => Err(member.said.rebalance_timeout_ms),
                false => Ok((
                    classic_assignment(member, &|topic| cluster.topic_name(topic)),
                    session_ms(member),
                )),
            }
        });
        let (id, member) = (&request.group_id, &request.member_id);
        let refused = |error_code| SyncGroupResponse {
            error_code,
            ..SyncGroupResponse::default()
        };
        match synced {
            Err(code) => refused(code),
            Ok(Err(rebalance_ms)) => {
                self.expect_if_not_yet(now, id, member, rebalance_ms);
                refused(ErrorCode::REBALANCE_IN_PROGRESS)
            }
            Ok(Ok((assignment, session_ms))) => {
                self.expect_nothing(id, member);
                self.arm_session(now, id, member, session_ms);
                SyncGroupResponse {
                    protocol_type: request.protocol_type.clone(),
                    protocol_name: request.protocol_name.clone(),
                    assignment,
                    ..SyncGroupResponse::default()
                }
            }
        }
    }

    fn check_classic_sync(
        &self,
        request: &SyncGroupRequest,
    ) -> Result<(&ConsumerMember, &ConsumerGroup), ErrorCode> {
        let group = self.consumer_group(&request.group_id);
        let group = group.ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        let instance = request.group_instance_id.as_ref();
        let member = group.classic_member(&request.member_id, instance)?;
        if member.current.epoch != request.generation_id {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        let own = member.said.classic_member_metadata.as_ref();
        let own = own.and_then(|own| own.supported_protocols.first());
        let kind = request.protocol_type.as_ref();
        let name = request.protocol_name.as_ref();
        let other_kind = kind.is_some_and(|kind| kind != CONSUMER);
        match other_kind || name.is_some_and(|name| own.is_none_or(|own| own.name != *name)) {
            true => Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL),
            false => Ok((member, group)),
        }
    }

    /// Heartbeat to a consumer group: REBALANCE_IN_PROGRESS where the member is to join again, since
    /// there is a new assignment, or one can be made, something to give up, or something that became
    /// free.
    pub(in crate::consumer_group) fn heartbeat_consumer_group(
        &mut self,
        now: Now,
        request: &HeartbeatRequest,
        cluster: &dyn ClusterView,
    ) -> ErrorCode {
        let (id, member_id) = (&request.group_id, &request.member_id);
        let Some(group) = self.consumer_group(id) else {
            return ErrorCode::UNKNOWN_MEMBER_ID;
        };
        let instance = request.group_instance_id.as_ref();
        let member = match group.classic_member(member_id, instance) {
            Ok(member) if member.current.epoch == request.generation_id => member,
            Ok(_) => return ErrorCode::ILLEGAL_GENERATION,
            Err(code) => return code,
        };
        let interval_ms = cluster.consumer_group(id).assignment_interval_ms;
        let rejoins = member.current.epoch < group.reachable_epoch(interval_ms, now.wall)
            || match member.current.state {
                MemberState::Stable => false,
                MemberState::UnrevokedPartitions => true,
                MemberState::UnreleasedPartitions => group.can_get_the_rest(member_id),
            };
        let rebalance_ms = member.said.rebalance_timeout_ms;
        let session_ms = session_ms(member);
        self.arm_session(now, id, member_id, session_ms);
        match rejoins {
            true => {
                self.expect_if_not_yet(now, id, member_id, rebalance_ms);
                ErrorCode::REBALANCE_IN_PROGRESS
            }
            false => ErrorCode::NONE,
        }
    }

    /// LeaveGroup to a consumer group, for members of either protocol. One code for each.
    pub(in crate::consumer_group) fn leave_by_request(
        &mut self,
        now: Now,
        id: &Str,
        members: &[MemberIdentity],
        cluster: &dyn ClusterView,
        out: &mut Outbox<ClassicReply>,
    ) -> Vec<ErrorCode> {
        let Some(group) = self.consumer_group(id) else {
            return Vec::new();
        };
        let found = members.iter().map(|identity| group.leaving(identity));
        let found: Vec<Result<Str, ErrorCode>> = found.collect();
        let leaving: BTreeSet<Str> = found.iter().flatten().cloned().collect();
        if !leaving.is_empty() {
            let leaving: Vec<Str> = leaving.into_iter().collect();
            self.fence_members(now, id, &leaving, out);
            self.downgrade_if_classic(now, id, cluster, out);
        }
        let codes = found.into_iter();
        codes
            .map(|found| found.err().unwrap_or(ErrorCode::NONE))
            .collect()
    }

    /// The member is to do something within this time: join, ask for its assignment, give up.
    fn expect_from(&mut self, now: Now, group: &Str, member: &Str, timeout_ms: i32) {
        let at = now.mono.plus_millis(i64::from(timeout_ms.max(0)));
        let timer = Timer::Revocation(group.clone(), member.clone());
        self.timers.arm(timer, at);
    }

    fn expect_if_not_yet(&mut self, now: Now, group: &Str, member: &Str, timeout_ms: i32) {
        let timer = Timer::Revocation(group.clone(), member.clone());
        if !self.timers.is_armed(&timer) {
            self.expect_from(now, group, member, timeout_ms);
        }
    }

    fn expect_nothing(&mut self, group: &Str, member: &Str) {
        let timer = Timer::Revocation(group.clone(), member.clone());
        self.timers.cancel(&timer);
    }
}

/// How long a classic member may be silent.
pub(super) fn session_ms(member: &ConsumerMember) -> i32 {
    let own = member.said.classic_member_metadata.as_ref();
    own.map_or(0, |own| own.session_timeout_ms)
}

impl ConsumerGroup {
    /// Whether the member is a consumer with a protocol that all other classic members have too.
    fn supports_classic(&self, request: &JoinGroupRequest) -> bool {
        let others = self.members.iter().filter_map(|(id, member)| {
            let own = member.said.classic_member_metadata.as_ref()?;
            (*id != request.member_id).then_some(&own.supported_protocols)
        });
        let mut asked = request.protocols.iter();
        request.protocol_type == CONSUMER
            && asked.any(|asked| {
                let mut others = others.clone();
                others.all(|own| own.iter().any(|own| own.name == asked.name))
            })
    }

    /// The member, where it is a classic one.
    fn classic_member(
        &self,
        id: &Str,
        instance: Option<&Str>,
    ) -> Result<&ConsumerMember, ErrorCode> {
        if let Some(instance) = instance {
            match self.static_members.get(instance) {
                None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                Some(current) if current != id => return Err(ErrorCode::FENCED_INSTANCE_ID),
                Some(_) => {}
            }
        }
        let member = self.members.get(id).filter(|member| member.is_classic());
        member.ok_or(ErrorCode::UNKNOWN_MEMBER_ID)
    }

    /// The member that leaves, of either protocol.
    fn leaving(&self, identity: &MemberIdentity) -> Result<Str, ErrorCode> {
        let asked = &identity.member_id;
        let id = match &identity.group_instance_id {
            None => asked,
            Some(instance) => match self.static_members.get(instance) {
                None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                // An operator names a static member by its name alone.
                Some(named) if asked.is_empty() || named == asked => named,
                Some(_) => return Err(ErrorCode::FENCED_INSTANCE_ID),
            },
        };
        match self.members.contains_key(id) {
            true => Ok(id.clone()),
            false => Err(ErrorCode::UNKNOWN_MEMBER_ID),
        }
    }

    /// Whether nobody has any more what the member waits for.
    fn can_get_the_rest(&self, id: &Str) -> bool {
        let target = self.target.get(id).into_iter().flatten();
        let mut wanted =
            target.flat_map(|(topic, indexes)| indexes.iter().map(|index| (*topic, *index)));
        wanted.all(|(topic, index)| self.owner(topic, index).is_none_or(|owner| owner == id))
    }
}

impl Change<'_> {
    /// Takes over what a JoinGroup says.
    fn hear_join(
        &mut self,
        id: &Str,
        version: i16,
        request: &JoinGroupRequest,
        client: &Client,
        said: &Subscription,
    ) -> Subscriptions {
        let before = self.group.members.get(id).map(|member| member.said.clone());
        let protocols = request.protocols.iter().map(|own| ClassicProtocol {
            name: own.name.clone(),
            metadata: Bytes::copy_from_slice(&own.metadata),
            ..Default::default()
        });
        let now = ConsumerGroupMemberMetadataValue {
            instance_id: request.group_instance_id.clone(),
            rack_id: said.rack.clone(),
            client_id: client.id.clone(),
            client_host: client.host.clone(),
            subscribed_topic_names: said.topics.iter().cloned().collect(),
            subscribed_topic_regex: None,
            // Version 0 has one timeout for both.
            rebalance_timeout_ms: match version {
                0 => request.session_timeout_ms,
                _ => request.rebalance_timeout_ms,
            },
            server_assignor: None,
            classic_member_metadata: Some(ClassicMemberMetadata {
                session_timeout_ms: request.session_timeout_ms,
                supported_protocols: protocols.collect(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let same = before.as_ref().is_some_and(|before| {
            before.subscribed_topic_names == now.subscribed_topic_names
                && before.subscribed_topic_regex.is_none()
        });
        if before.as_ref() != Some(&now) {
            self.put(ConsumerRecord::Member(id.clone(), Some(now)));
        }
        match same {
            true => Subscriptions::Same,
            false => Subscriptions::Changed,
        }
    }
}
