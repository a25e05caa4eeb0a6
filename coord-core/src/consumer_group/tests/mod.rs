//! The coordinator alone: what is replayed equals what wrote it.

use ackord_machine::{Entropy, LogId, MonoTime, Now, WallTime};
use ackord_proto::messages::JoinGroupRequest;
use ackord_proto::messages::join_group::JoinGroupRequestProtocol;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

mod consumer_protocol;
mod migration;

use super::*;
use crate::group::TopicInfo;
use crate::outbox::{Outbox, Output, ProducerEpoch, StateRecord, Ticket};

const LOG: LogId = LogId {
    topic: Uuid([1; 16]),
    partition: 0,
};

/// A cluster for tests: topics by name.
#[derive(Clone, Debug, Default)]
struct World {
    topics: BTreeMap<Str, TopicInfo>,
    version: u64,
    config: ConsumerGroupConfig,
    assignment_interval_ms: i32,
}

impl ClusterView for World {
    fn consumer_group(&self, _: &str) -> ConsumerGroupConfig {
        ConsumerGroupConfig {
            assignment_interval_ms: self.assignment_interval_ms,
            ..self.config.clone()
        }
    }

    fn topic(&self, name: &str) -> Option<TopicInfo> {
        self.topics.get(name).copied()
    }

    fn topic_name(&self, id: Uuid) -> Option<Str> {
        let mut topics = self.topics.iter();
        topics
            .find(|(_, info)| info.id == id)
            .map(|(name, _)| name.clone())
    }

    fn topic_names(&self) -> Vec<Str> {
        self.topics.keys().cloned().collect()
    }

    fn version(&self) -> u64 {
        self.version
    }
}

/// What a log holds: records with their producer, or the end of a transaction.
enum Logged {
    Records(Vec<StateRecord>, Option<ProducerEpoch>),
    Marker(i64, bool),
}

struct Bench {
    gc: GroupCoordinator,
    log: Vec<Logged>,
    now: Now,
    chance: Entropy,
}

impl Bench {
    fn new() -> Bench {
        let config = GroupCoordinatorConfig {
            initial_rebalance_delay_ms: 0,
            retention_ms: 5000,
            retention_check_ms: 700,
            ..Default::default()
        };
        Bench {
            gc: GroupCoordinator::new(LOG, config),
            log: Vec::new(),
            now: Now {
                mono: MonoTime::from_millis(1),
                wall: WallTime::from_millis(1_000_000),
            },
            chance: Entropy::from_seed([3; 32]),
        }
    }

    fn run(&mut self, run: impl FnOnce(&mut GroupCoordinator, Now, &mut Outbox<ClassicReply>)) {
        let mut out = Outbox::new();
        run(&mut self.gc, self.now, &mut out);
        for output in out.take() {
            if let Output::Append {
                records, producer, ..
            } = output
            {
                self.log.push(Logged::Records(records, producer));
            }
        }
    }

    fn time_is_up(&mut self, cluster: &World) {
        let mut chance = self.chance.clone();
        self.run(|gc, now, out| {
            let ctx = GroupCtx {
                now,
                chance: &mut chance,
                cluster,
            };
            gc.handle_timeout(&ctx, out);
        });
    }

    fn end(&mut self, producer: i64, commit: bool) {
        self.gc.complete_transaction(producer, commit);
        self.log.push(Logged::Marker(producer, commit));
    }

    /// Another coordinator from the snapshot `from` and the log behind it.
    fn replayed(&self, snapshot: &[StateRecord], from: usize) -> GroupCoordinator {
        let mut copy = GroupCoordinator::new(LOG, self.gc.config.clone());
        for record in snapshot {
            copy.apply(record, None).unwrap();
        }
        for logged in &self.log[from..] {
            match logged {
                Logged::Records(records, producer) => {
                    for record in records {
                        copy.apply(record, *producer).unwrap();
                    }
                }
                Logged::Marker(producer, commit) => {
                    copy.replay_end_transaction_marker(*producer, *commit);
                }
            }
        }
        copy.recovered(&GroupCtx {
            now: self.now,
            chance: &mut self.chance.clone(),
            cluster: &World::default(),
        });
        copy
    }

    fn step(&mut self) {
        let group = Str::from(format!("g{}", self.chance.below(3)));
        let request = CommitRequest {
            group: group.clone(),
            member: Str::EMPTY,
            instance: None,
            generation: -1,
            partitions: vec![CommittedPartition {
                topic: Str::from(format!("t{}", self.chance.below(2))),
                topic_id: Uuid::ZERO,
                partition: 0,
                offset: self.chance.below(1000) as i64,
                leader_epoch: -1,
                metadata: None,
            }],
        };
        let producer = ProducerEpoch {
            id: self.chance.below(3) as i64,
            epoch: 0,
        };
        match self.chance.below(12) {
            0..=2 => self.run(|gc, now, out| {
                let _ = gc.commit_offsets(now, 9, &request, -1, out);
            }),
            3..=5 => self.run(|gc, now, out| {
                let _ = gc.stage_offsets(now, producer, &request, out);
            }),
            6 => self.end(producer.id, true),
            7 => self.end(producer.id, false),
            8 => self.run(|gc, _, out| {
                let _ = gc.delete_group(&group, out);
            }),
            9 => self.run(|gc, _, out| gc.topic_deleted("t0", out)),
            10 => {
                let mut chance = self.chance.clone();
                self.chance.next_u64();
                self.run(|gc, now, out| {
                    let mut ctx = GroupCtx {
                        now,
                        chance: &mut chance,
                        cluster: &World::default(),
                    };
                    let ticket = Ticket { slot: 1, part: 0 };
                    let client = Client::default();
                    gc.join_group(&mut ctx, ticket, 2, &joining(&group), &client, out);
                });
            }
            _ => {
                self.now.mono = self.now.mono.plus_millis(500);
                self.now.wall = WallTime::from_millis(self.now.wall.as_millis() + 500);
                self.time_is_up(&World::default());
            }
        }
    }
}

fn joining(group: &Str) -> JoinGroupRequest {
    let protocol = JoinGroupRequestProtocol {
        name: Str::from("range"),
        ..Default::default()
    };
    JoinGroupRequest {
        group_id: group.clone(),
        session_timeout_ms: 6000,
        rebalance_timeout_ms: 6000,
        protocol_type: Str::from("consumer"),
        protocols: vec![protocol],
        ..Default::default()
    }
}

/// Offsets that a client can see, and what waits.
fn seen(gc: &GroupCoordinator) -> Vec<alloc::string::String> {
    let groups = (0..3).map(|own| format!("g{own}"));
    groups
        .flat_map(|group| {
            [false, true].map(|stable| {
                let topics = ["t0", "t1"].map(|topic| (Str::from(topic), vec![0]));
                let these = OffsetSelection::These(topics.into());
                format!("{group} {:?}", gc.fetch_offsets(&group, &these, stable))
            })
        })
        .collect()
}

#[test]
fn a_replay_and_a_checkpoint_give_what_was_there() {
    for seed in 0..20 {
        let mut bench = Bench::new();
        bench.chance = Entropy::from_seed([seed; 32]);
        let mut checkpoint = (Vec::new(), 0);
        for step in 0..300 {
            bench.step();
            if step % 37 == 0 {
                checkpoint = (bench.gc.snapshot(), bench.log.len());
            }
            let whole = bench.replayed(&[], 0);
            let rest = bench.replayed(&checkpoint.0, checkpoint.1);
            assert_eq!(seen(&whole), seen(&bench.gc), "seed {seed} step {step}");
            assert_eq!(seen(&rest), seen(&bench.gc), "seed {seed} step {step}");
        }
    }
}
