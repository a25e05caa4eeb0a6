//! ConsumerGroupHeartbeat (key 68): joining and staying.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ackord_proto::coordinator_records::ConsumerGroupMemberMetadataValue;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use ackord_proto::str::Str;

use super::ConsumerGroupConfig;
use super::change::{Change, Subscriptions};
use super::group::ConsumerGroup;
use super::member::{
    ConsumerMember, Current, LEFT_FOR_NOW, from_the_wire, is_within, on_the_wire, same_partitions,
};
use super::records::ConsumerRecord;
use super::regex::{TopicPattern, complaint};
use crate::consumer_group::classic_group::GroupState;
use crate::consumer_group::coordinator::{ClassicReply, Client, GroupCoordinator, GroupCtx};
use crate::outbox::Outbox;

/// Member epoch of a heartbeat that joins, or joins again.
const JOIN: i32 = 0;
/// Member epoch of a heartbeat that leaves for good.
pub(super) const LEAVE: i32 = -1;
/// From this version on clients choose their member id (KIP-1082).
const MEMBER_ID_OF_CLIENT: i16 = 1;
/// The longest string that fits in the key of a record, in bytes.
const LONGEST_NAME: usize = 0x7fff;

/// Why a heartbeat is refused.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

pub(super) fn refusal(code: ErrorCode, message: impl Into<String>) -> Refusal {
    let message = message.into();
    Refusal { code, message }
}

impl Refusal {
    fn response(self) -> ConsumerGroupHeartbeatResponse {
        ConsumerGroupHeartbeatResponse {
            error_code: self.code,
            error_message: Some(Str::from(self.message)),
            ..Default::default()
        }
    }
}

/// The place in the group that a heartbeat is for.
enum Seat {
    /// A member with this id, new or not.
    Own(Str),
    /// That of a static member that left and comes back.
    Of(Str),
}

impl GroupCoordinator {
    /// A heartbeat of the consumer protocol (KIP-848): joins (epoch 0), stays, or leaves (-1, and -2
    /// for a static member that comes back). INVALID_REQUEST, UNSUPPORTED_ASSIGNOR,
    /// INVALID_REGULAR_EXPRESSION, GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID,
    /// FENCED_MEMBER_EPOCH: join again; UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID: another member
    /// has the static name.
    pub fn consumer_heartbeat(
        &mut self,
        ctx: &mut GroupCtx<'_>,
        version: i16,
        request: &ConsumerGroupHeartbeatRequest,
        client: &Client,
        out: &mut Outbox<ClassicReply>,
    ) -> ConsumerGroupHeartbeatResponse {
        let config = ctx.cluster.consumer_group(&request.group_id);
        let done = check_request(version, request, &config).and_then(|()| {
            if request.member_epoch < JOIN {
                return self.leave_consumer_group(ctx, request, out);
            }
            let seat = self.seat(ctx, request, &config)?;
            self.ensure_consumer_group(ctx.now, &request.group_id, ctx.cluster, out);
            Ok(self.stay(ctx, request, client, &config, seat, out))
        });
        done.unwrap_or_else(Refusal::response)
    }

    /// Finds the place that the heartbeat is for, or says why there is none.
    fn seat(
        &self,
        ctx: &mut GroupCtx<'_>,
        request: &ConsumerGroupHeartbeatRequest,
        config: &ConsumerGroupConfig,
    ) -> Result<Seat, Refusal> {
        let (id, joins) = (&request.group_id, request.member_epoch == JOIN);
        let Some(group) = self.consumer_group(id) else {
            let taken = self.group(id).is_some_and(|classic| {
                classic.state() != GroupState::Empty && !(joins && classic.can_upgrade(config))
            });
            let message = match (taken, joins) {
                (false, true) => return Ok(Seat::Own(member_id(ctx, request))),
                (true, _) => format!("Group {id} is not a consumer group."),
                (false, false) => format!("Consumer group {id} not found."),
            };
            return Err(refusal(ErrorCode::GROUP_ID_NOT_FOUND, message));
        };
        let seat = match &request.instance_id {
            Some(instance) => group.static_seat(request, instance)?,
            None => None,
        };
        let is_member = group.members.contains_key(&request.member_id);
        if seat.is_none() && joins && !is_member && group.members.len() >= config.max_size {
            let message = format!(
                "The consumer group has reached its maximum capacity of {} members.",
                config.max_size
            );
            return Err(refusal(ErrorCode::GROUP_MAX_SIZE_REACHED, message));
        }
        if !joins {
            group.check_member(id, request)?;
        }
        Ok(seat.map_or_else(|| Seat::Own(member_id(ctx, request)), Seat::Of))
    }

    /// The heartbeat is accepted.
    fn stay(
        &mut self,
        ctx: &mut GroupCtx<'_>,
        request: &ConsumerGroupHeartbeatRequest,
        client: &Client,
        config: &ConsumerGroupConfig,
        seat: Seat,
        out: &mut Outbox<ClassicReply>,
    ) -> ConsumerGroupHeartbeatResponse {
        let group_id = &request.group_id;
        let member_id = match &seat {
            Seat::Own(id) => id.clone(),
            Seat::Of(old) => {
                self.cancel_member_timers(group_id, old);
                member_id(ctx, request)
            }
        };
        let cluster = ctx.cluster;
        let owned = request.topic_partitions.as_deref().map(from_the_wire);
        let moved = self.change(ctx.now, group_id, out, |change| {
            if let Seat::Of(old) = &seat {
                change.replace(old, &member_id);
            }
            let before = change.current_of(&member_id);
            let subscriptions = change.listen(&member_id, request, client);
            change.refresh(cluster, subscriptions);
            change.begin();
            change.assign(cluster, config);
            change.reconcile(&member_id, owned.as_ref(), cluster);
            (before, change.current_of(&member_id))
        });
        let (before, after) = moved.unwrap_or_default();
        self.arm_session(ctx.now, group_id, &member_id, config.session_timeout_ms);
        self.follow_revocation(ctx.now, group_id, &member_id, &before, &after);
        let tell = is_full(request) || !same_partitions(&before.assigned, &after.assigned);
        ConsumerGroupHeartbeatResponse {
            member_id: Some(member_id),
            member_epoch: after.epoch,
            heartbeat_interval_ms: config.heartbeat_interval_ms,
            assignment: tell.then(|| on_the_wire(&after.assigned)),
            ..Default::default()
        }
    }
}

impl ConsumerGroup {
    /// The static member whose place is taken over; `None` where the member has its own.
    fn static_seat(
        &self,
        request: &ConsumerGroupHeartbeatRequest,
        instance: &Str,
    ) -> Result<Option<Str>, Refusal> {
        let (asker, current) = (&request.member_id, self.static_members.get(instance));
        if request.member_epoch != JOIN {
            self.check_instance(asker, instance)?;
            return Ok(None);
        }
        let Some(current) = current else {
            return Ok(None);
        };
        // The answer to its join was lost. Kafka has it wait for the end of its session here.
        if current == asker {
            return Ok(None);
        }
        let member = self.members.get(current);
        // One that came by JoinGroup is replaced as there.
        if member.is_some_and(|member| member.current.epoch != LEFT_FOR_NOW && !member.is_classic())
        {
            return Err(refusal(
                ErrorCode::UNRELEASED_INSTANCE_ID,
                format!(
                    "Static member {asker} with instance id {instance} cannot join the group \
                     because the instance id is owned by {current} member."
                ),
            ));
        }
        Ok(Some(current.clone()))
    }

    /// Whether the static name is that of the member.
    pub(super) fn check_instance(&self, member: &Str, instance: &Str) -> Result<(), Refusal> {
        match self.static_members.get(instance) {
            None => Err(refusal(
                ErrorCode::UNKNOWN_MEMBER_ID,
                format!("Instance id {instance} is unknown."),
            )),
            Some(current) if current != member => Err(refusal(
                ErrorCode::FENCED_INSTANCE_ID,
                format!(
                    "Static member {member} with instance id {instance} was fenced by member \
                     {current}."
                ),
            )),
            Some(_) => Ok(()),
        }
    }

    /// The member of this id, or why there is none.
    pub(super) fn known(&self, group: &Str, member: &Str) -> Result<&ConsumerMember, Refusal> {
        self.members.get(member).ok_or_else(|| {
            refusal(
                ErrorCode::UNKNOWN_MEMBER_ID,
                format!("Member {member} is not a member of group {group}."),
            )
        })
    }

    /// The epoch is the member's, or the one before and the answer with the new one was lost: then
    /// the member has nothing that it is not to have.
    fn check_member(
        &self,
        group: &Str,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<(), Refusal> {
        let current = &self.known(group, &request.member_id)?.current;
        let (received, own) = (request.member_epoch, current.epoch);
        let repeats = || {
            let owned = request.topic_partitions.as_deref().map(from_the_wire);
            received == current.previous_epoch
                && owned.is_some_and(|owned| is_within(&owned, &current.assigned))
        };
        let than = match received.cmp(&own) {
            core::cmp::Ordering::Equal => return Ok(()),
            core::cmp::Ordering::Less if repeats() => return Ok(()),
            core::cmp::Ordering::Less => "smaller",
            core::cmp::Ordering::Greater => "greater",
        };
        Err(refusal(
            ErrorCode::FENCED_MEMBER_EPOCH,
            format!(
                "The consumer group member has a {than} member epoch ({received}) than the one \
                 known by the group coordinator ({own}). The member must abandon all its \
                 partitions and rejoin."
            ),
        ))
    }
}

impl Change<'_> {
    pub(super) fn current_of(&self, member: &Str) -> Current {
        let member = self.group.members.get(member);
        member
            .map(|member| member.current.clone())
            .unwrap_or_default()
    }

    /// Takes over what the member says about itself.
    fn listen(
        &mut self,
        id: &Str,
        request: &ConsumerGroupHeartbeatRequest,
        client: &Client,
    ) -> Subscriptions {
        let before = self.group.members.get(id).map(|member| &member.said);
        let mut said = before.cloned().unwrap_or_default();
        update(&mut said.instance_id, &request.instance_id);
        update(&mut said.rack_id, &request.rack_id);
        update(&mut said.server_assignor, &request.server_assignor);
        if request.rebalance_timeout_ms != -1 {
            said.rebalance_timeout_ms = request.rebalance_timeout_ms;
        }
        if let Some(names) = &request.subscribed_topic_names {
            said.subscribed_topic_names = sorted(names);
        }
        if let Some(pattern) = &request.subscribed_topic_regex {
            said.subscribed_topic_regex = Some(pattern.clone()).filter(|text| !text.is_empty());
        }
        said.client_id = client.id.clone();
        said.client_host = client.host.clone();
        said.classic_member_metadata = None;
        let known = before.is_some();
        let none = ConsumerGroupMemberMetadataValue::default();
        let before = before.unwrap_or(&none);
        let same = said.subscribed_topic_names == before.subscribed_topic_names
            && said.subscribed_topic_regex == before.subscribed_topic_regex;
        if !known || said != *before {
            self.put(ConsumerRecord::Member(id.clone(), Some(said)));
        }
        match same {
            true => Subscriptions::Same,
            false => Subscriptions::Changed,
        }
    }
}

fn update(own: &mut Option<Str>, said: &Option<Str>) {
    if said.is_some() {
        own.clone_from(said);
    }
}

pub(super) fn sorted(names: &[Str]) -> Vec<Str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    names
}

/// The member's own id, or one for a client of the version that is given one.
fn member_id(ctx: &mut GroupCtx<'_>, request: &ConsumerGroupHeartbeatRequest) -> Str {
    match request.member_id.is_empty() {
        true => Str::from(ctx.chance.uuid().to_string()),
        false => request.member_id.clone(),
    }
}

/// Everything that does not have to be said is: the member does not know what it was told last.
fn is_full(request: &ConsumerGroupHeartbeatRequest) -> bool {
    let subscribes =
        request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some();
    request.member_epoch == JOIN
        || (request.rebalance_timeout_ms != -1 && subscribes && request.topic_partitions.is_some())
}

fn check_request(
    version: i16,
    request: &ConsumerGroupHeartbeatRequest,
    config: &ConsumerGroupConfig,
) -> Result<(), Refusal> {
    let (epoch, owned) = (request.member_epoch, request.topic_partitions.as_ref());
    let is_empty = |text: &Option<Str>| text.as_ref().is_some_and(|text| text.is_empty());
    let pattern = request.subscribed_topic_regex.as_ref();
    let needs_id = version >= MEMBER_ID_OF_CLIENT || epoch != JOIN;
    let names = [Some(&request.group_id), Some(&request.member_id), pattern];
    let message = if needs_id && request.member_id.is_empty() {
        "MemberId can't be empty."
    } else if request.group_id.is_empty() {
        "GroupId can't be empty."
    } else if is_empty(&request.instance_id) {
        "InstanceId can't be empty."
    } else if is_empty(&request.rack_id) {
        "RackId can't be empty."
    } else if epoch == JOIN && request.rebalance_timeout_ms == -1 {
        "RebalanceTimeoutMs must be provided in first request."
    } else if epoch == JOIN && owned.is_none_or(|owned| !owned.is_empty()) {
        "TopicPartitions must be empty when (re-)joining."
    } else if epoch == JOIN && request.subscribed_topic_names.is_none() && pattern.is_none() {
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    } else if epoch == LEFT_FOR_NOW && request.instance_id.is_none() {
        "InstanceId can't be null."
    } else if epoch < LEFT_FOR_NOW {
        "MemberEpoch is invalid."
    } else if names
        .into_iter()
        .flatten()
        .any(|name| name.len() > LONGEST_NAME)
    {
        "GroupId, MemberId and SubscribedTopicRegex have at most 32767 bytes."
    } else {
        check_assignor(request, config)?;
        return check_pattern(pattern);
    };
    Err(refusal(ErrorCode::INVALID_REQUEST, message))
}

fn check_assignor(
    request: &ConsumerGroupHeartbeatRequest,
    config: &ConsumerGroupConfig,
) -> Result<(), Refusal> {
    let Some(asked) = &request.server_assignor else {
        return Ok(());
    };
    let supported: Vec<&str> = config.assignors.iter().map(|own| own.name()).collect();
    if supported.contains(&asked.as_str()) {
        return Ok(());
    }
    let message = format!(
        "ServerAssignor {asked} is not supported. Supported assignors: {}.",
        supported.join(", ")
    );
    Err(refusal(ErrorCode::UNSUPPORTED_ASSIGNOR, message))
}

fn check_pattern(pattern: Option<&Str>) -> Result<(), Refusal> {
    let Some(text) = pattern else { return Ok(()) };
    match TopicPattern::new(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(refusal(
            ErrorCode::INVALID_REGULAR_EXPRESSION,
            complaint(text, error),
        )),
    }
}
