//! Groups that change their protocol while members are in them (KIP-848).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::leave_group::MemberIdentity;
use ackord_proto::messages::sync_group::SyncGroupRequestAssignment;
use ackord_proto::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, HeartbeatRequest,
    JoinGroupResponse, SyncGroupRequest, SyncGroupResponse,
};
use bytes::Bytes;

use super::super::subscription::{NamedPartitions, read_assignment, write_assignment};
use super::*;

fn partitions(indexes: &[i32]) -> NamedPartitions {
    match indexes {
        [] => NamedPartitions::new(),
        indexes => [(Str::from("t"), indexes.iter().copied().collect())].into(),
    }
}

/// A subscription to `t` in version 1: what the member has.
fn subscription(owned: &[i32]) -> Bytes {
    let mut bytes = b"\0\x01\0\0\0\x01\0\x01t\xff\xff\xff\xff".to_vec();
    // An assignment between its version and its user data is a list of partitions.
    let owned = write_assignment(0, &partitions(owned));
    bytes.extend(&owned[2..owned.len() - 4]);
    Bytes::from(bytes)
}

struct Migration {
    bench: Bench,
    world: World,
}

impl Migration {
    fn new(policy: MigrationPolicy) -> Migration {
        let mut world = World::default();
        let id = Uuid([7; 16]);
        let info = TopicInfo { id, partitions: 4 };
        world.topics.insert(Str::from("t"), info);
        world.config.migration_policy = policy;
        let bench = Bench::new();
        Migration { bench, world }
    }

    /// Asks the coordinator, and checks that a replay gives what is there.
    fn ask<T>(
        &mut self,
        run: impl FnOnce(&mut GroupCoordinator, &mut GroupCtx<'_>, &mut Outbox<ClassicReply>) -> T,
    ) -> (T, Vec<ClassicReply>) {
        let mut out = Outbox::new();
        let mut ctx = GroupCtx {
            now: self.bench.now,
            chance: &mut self.bench.chance,
            cluster: &self.world,
        };
        let done = run(&mut self.bench.gc, &mut ctx, &mut out);
        let mut replies = Vec::new();
        for output in out.take() {
            match output {
                Output::Append {
                    records, producer, ..
                } => self.bench.log.push(Logged::Records(records, producer)),
                Output::Reply { reply, .. } => replies.push(reply),
                _ => {}
            }
        }
        let copy = self.bench.replayed(&[], 0);
        assert_eq!(copy.consumer_group("g"), self.bench.gc.consumer_group("g"));
        (done, replies)
    }

    fn join(&mut self, id: &str, owned: &[i32]) -> Option<JoinGroupResponse> {
        let protocol = JoinGroupRequestProtocol {
            name: Str::from("cooperative-sticky"),
            metadata: subscription(owned),
            ..Default::default()
        };
        let request = JoinGroupRequest {
            group_id: Str::from("g"),
            member_id: Str::from(id),
            session_timeout_ms: 6000,
            rebalance_timeout_ms: 9000,
            protocol_type: Str::from("consumer"),
            protocols: vec![protocol],
            ..Default::default()
        };
        let ticket = Ticket { slot: 1, part: 0 };
        let client = Client::default();
        let ((), replies) =
            self.ask(|gc, ctx, out| gc.join_group(ctx, ticket, 9, &request, &client, out));
        replies.into_iter().find_map(|reply| match reply {
            ClassicReply::Join(response) => Some(response),
            ClassicReply::Sync(_) => None,
        })
    }

    /// A new member in a group of which it is the only one, with all partitions.
    fn begin(&mut self) -> Str {
        let id = self.join("", &[]).unwrap().member_id;
        let joined = self.join(&id, &[]).unwrap();
        assert_eq!(
            (joined.error_code, joined.generation_id),
            (ErrorCode::NONE, 1)
        );
        let all = write_assignment(0, &partitions(&[0, 1, 2, 3]));
        let synced = self.sync(&id, 1, Some(all));
        assert_eq!(synced.error_code, ErrorCode::NONE);
        id
    }

    fn sync(&mut self, id: &str, generation: i32, all: Option<Bytes>) -> SyncGroupResponse {
        let assignments = all
            .into_iter()
            .map(|assignment| SyncGroupRequestAssignment {
                member_id: Str::from(id),
                assignment,
                ..Default::default()
            });
        let request = SyncGroupRequest {
            group_id: Str::from("g"),
            member_id: Str::from(id),
            generation_id: generation,
            protocol_type: Some(Str::from("consumer")),
            protocol_name: Some(Str::from("cooperative-sticky")),
            assignments: assignments.collect(),
            ..Default::default()
        };
        let ticket = Ticket { slot: 2, part: 0 };
        let ((), replies) = self.ask(|gc, ctx, out| gc.sync_group(ctx, ticket, 5, &request, out));
        match replies.into_iter().next() {
            Some(ClassicReply::Sync(response)) => response,
            other => panic!("{other:?}"),
        }
    }

    fn beat(&mut self, id: &str, generation: i32) -> ErrorCode {
        let request = HeartbeatRequest {
            group_id: Str::from("g"),
            member_id: Str::from(id),
            generation_id: generation,
            ..Default::default()
        };
        self.ask(|gc, ctx, out| gc.heartbeat(ctx, &request, out)).0
    }

    fn consumer(&mut self, epoch: i32, owned: &[i32]) -> ConsumerGroupHeartbeatResponse {
        let joins = epoch == 0;
        let topic_id = Uuid([7; 16]);
        let owned = (!owned.is_empty()).then(|| {
            vec![
                ackord_proto::messages::consumer_group_heartbeat::TopicPartitions {
                    topic_id,
                    partitions: owned.to_vec(),
                    ..Default::default()
                },
            ]
        });
        let request = ConsumerGroupHeartbeatRequest {
            group_id: Str::from("g"),
            member_id: Str::from("m"),
            member_epoch: epoch,
            rebalance_timeout_ms: if joins { 9000 } else { -1 },
            subscribed_topic_names: joins.then(|| vec![Str::from("t")]),
            topic_partitions: owned.or(Some(Vec::new())),
            ..Default::default()
        };
        let client = Client::default();
        self.ask(|gc, ctx, out| gc.consumer_heartbeat(ctx, 1, &request, &client, out))
            .0
    }

    fn pass(&mut self, millis: i64) {
        self.bench.now.mono = self.bench.now.mono.plus_millis(millis);
        self.ask(|gc, ctx, out| gc.handle_timeout(ctx, out));
    }
}

fn has(response: &ConsumerGroupHeartbeatResponse) -> Vec<i32> {
    let assignment = response.assignment.clone().unwrap_or_default();
    let topics = assignment.topic_partitions.into_iter();
    topics.flat_map(|topic| topic.partitions).collect()
}

#[test]
fn a_classic_group_takes_a_member_of_the_consumer_protocol_and_goes_back() {
    let mut group = Migration::new(MigrationPolicy::Bidirectional);
    let k1 = group.begin();
    assert_eq!(group.beat(&k1, 1), ErrorCode::NONE);

    // The other one comes; it gets nothing before the classic member has given it up.
    let joined = group.consumer(0, &[]);
    assert_eq!(
        (joined.error_code, joined.member_epoch),
        (ErrorCode::NONE, 2)
    );
    assert!(has(&joined).is_empty());
    assert_eq!(group.beat(&k1, 1), ErrorCode::REBALANCE_IN_PROGRESS);
    let rejoined = group.join(&k1, &[0, 1, 2, 3]).unwrap();
    assert_eq!(
        (rejoined.error_code, rejoined.generation_id),
        (ErrorCode::NONE, 1)
    );
    let synced = group.sync(&k1, 1, None);
    assert_eq!(
        read_assignment(&synced.assignment),
        Some(partitions(&[0, 1]))
    );
    assert!(group.consumer(2, &[]).assignment.is_none());
    assert_eq!(
        group.beat(&k1, 1),
        ErrorCode::REBALANCE_IN_PROGRESS,
        "to say that it did"
    );
    assert_eq!(group.join(&k1, &[0, 1]).unwrap().generation_id, 2);
    let synced = group.sync(&k1, 2, None);
    assert_eq!(
        read_assignment(&synced.assignment),
        Some(partitions(&[0, 1]))
    );
    assert_eq!(group.beat(&k1, 2), ErrorCode::NONE);
    assert_eq!(has(&group.consumer(2, &[])), [2, 3]);

    // A restart in between: the classic member is there still.
    let copy = group.bench.replayed(&[], 0);
    group.bench.gc = copy;
    assert_eq!(group.beat(&k1, 2), ErrorCode::NONE);
    assert_eq!(group.beat(&k1, 1), ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(
        group.beat("m", 2),
        ErrorCode::UNKNOWN_MEMBER_ID,
        "not a classic member"
    );

    // The last one of the consumer protocol leaves: a classic group that rebalances.
    assert_eq!(group.consumer(-1, &[]).member_epoch, -1);
    assert!(group.bench.gc.consumer_group("g").is_none());
    let classic = group.bench.gc.group("g").unwrap();
    assert_eq!(classic.state(), GroupState::PreparingRebalance);
    let generation = classic.generation();
    let joined = group.join(&k1, &[0, 1]).unwrap();
    assert_eq!(joined.generation_id, generation + 1);
    assert_eq!((&joined.leader, joined.members.len()), (&k1, 1));
}

#[test]
fn an_eager_member_gives_up_before_it_joins() {
    let mut group = Migration::new(MigrationPolicy::Upgrade);
    let k1 = group.begin();
    group.consumer(0, &[]);
    assert_eq!(group.join(&k1, &[]).unwrap().generation_id, 2);
    assert_eq!(has(&group.consumer(2, &[])), [2, 3]);
    let synced = group.sync(&k1, 2, None);
    assert_eq!(
        read_assignment(&synced.assignment),
        Some(partitions(&[0, 1]))
    );

    // Another classic member comes to the consumer group.
    let k2 = group.join("", &[]).unwrap();
    assert_eq!(k2.error_code, ErrorCode::MEMBER_ID_REQUIRED);
    let k2 = k2.member_id;
    assert_eq!(group.join(&k2, &[]).unwrap().generation_id, 3);
    assert_eq!(group.sync(&k2, 3, None).error_code, ErrorCode::NONE);
    assert_eq!(group.beat(&k2, 3), ErrorCode::NONE, "it waits");
    assert_eq!(group.beat(&k1, 2), ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(group.join(&k1, &[]).unwrap().generation_id, 3);
    assert_eq!(group.sync(&k1, 3, None).error_code, ErrorCode::NONE);
    let kept = group.consumer(2, &[2, 3]);
    group.consumer(2, &has(&kept));
    assert_eq!(
        group.beat(&k2, 3),
        ErrorCode::REBALANCE_IN_PROGRESS,
        "something became free"
    );
    group.join(&k2, &[]);
    let synced = group.sync(&k2, 3, None);
    let indexes = read_assignment(&synced.assignment).unwrap();
    assert_eq!(indexes.values().map(|own| own.len()).sum::<usize>(), 1);

    // This policy has no way back.
    group.consumer(-1, &[]);
    assert!(group.bench.gc.consumer_group("g").is_some());
    let leaving = MemberIdentity {
        member_id: k2,
        ..Default::default()
    };
    let left = group.ask(|gc, ctx, out| gc.leave_group(ctx, &Str::from("g"), &[leaving], out));
    assert_eq!(left.0.unwrap()[0].error_code, ErrorCode::NONE);
    assert_eq!(
        group
            .bench
            .gc
            .consumer_group("g")
            .unwrap()
            .members()
            .count(),
        1
    );
}

#[test]
fn a_classic_member_that_does_not_join_in_time_is_out() {
    let mut group = Migration::new(MigrationPolicy::Bidirectional);
    let k1 = group.begin();
    group.consumer(0, &[]);
    for _ in 0..3 {
        assert_eq!(group.beat(&k1, 1), ErrorCode::REBALANCE_IN_PROGRESS);
        group.pass(2900);
    }
    group.pass(1000);
    assert_eq!(group.beat(&k1, 1), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(has(&group.consumer(2, &[])), [0, 1, 2, 3]);
}

#[test]
fn where_the_policy_forbids_it_a_group_keeps_its_protocol() {
    for policy in [MigrationPolicy::Disabled, MigrationPolicy::Downgrade] {
        let mut group = Migration::new(policy);
        let k1 = group.begin();
        let refused = group.consumer(0, &[]);
        assert_eq!(refused.error_code, ErrorCode::GROUP_ID_NOT_FOUND);
        assert_eq!(group.beat(&k1, 1), ErrorCode::NONE);
    }
}
