//! Groups of the consumer protocol under whatever order of heartbeats, lost answers, deaths, topics
//! that come and go, and restarts: a partition never has two members, and the group gets there.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};

use ackord_proto::messages::consumer_group_heartbeat::TopicPartitions;
use ackord_proto::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};

use super::*;
use ackord_proto::error_code::ErrorCode;

type Partitions = BTreeSet<(Uuid, i32)>;

fn group_id() -> Str {
    Str::from("g")
}

/// A consumer as it stands on its machine: it may believe less than the coordinator, never more.
#[derive(Clone, Debug, Default)]
struct Consumer {
    id: Str,
    instance: Option<Str>,
    epoch: i32,
    owned: Partitions,
    /// It was told to give these up and has not yet.
    leaving: Partitions,
    /// The next heartbeat says everything.
    full: bool,
    pattern: bool,
    topics: Vec<Str>,
    assignor: Option<Str>,
}

impl Consumer {
    fn request(&self, version: i16) -> ConsumerGroupHeartbeatRequest {
        let full = self.full || self.epoch == 0;
        let owned = on_wire(&self.owned.union(&self.leaving).copied().collect());
        ConsumerGroupHeartbeatRequest {
            group_id: group_id(),
            member_id: self.id.clone(),
            member_epoch: self.epoch,
            instance_id: self.instance.clone(),
            rebalance_timeout_ms: if full { 5000 } else { -1 },
            subscribed_topic_names: (full && !self.pattern).then(|| self.topics.clone()),
            subscribed_topic_regex: (full && self.pattern && version > 0).then(|| Str::from("t.*")),
            server_assignor: self.assignor.clone().filter(|_| full),
            topic_partitions: Some(owned),
            ..Default::default()
        }
    }

    fn take(&mut self, response: &ConsumerGroupHeartbeatResponse) {
        match response.error_code {
            ErrorCode::NONE => {}
            // It has to abandon all and join again.
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID => {
                self.reset();
                return;
            }
            _ => return,
        }
        self.epoch = response.member_epoch;
        self.full = false;
        if let Some(assignment) = &response.assignment {
            let told: Partitions = assignment
                .topic_partitions
                .iter()
                .flat_map(|topic| {
                    topic
                        .partitions
                        .iter()
                        .map(|index| (topic.topic_id, *index))
                })
                .collect();
            self.leaving.extend(self.owned.difference(&told).copied());
            self.leaving.retain(|partition| !told.contains(partition));
            self.owned = told;
        }
    }

    fn reset(&mut self) {
        (self.epoch, self.full) = (0, true);
        self.owned.clear();
        self.leaving.clear();
    }
}

fn on_wire(owned: &Partitions) -> Vec<TopicPartitions> {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in owned {
        topics.entry(*topic).or_default().push(*partition);
    }
    topics
        .into_iter()
        .map(|(topic_id, partitions)| TopicPartitions {
            topic_id,
            partitions,
            ..Default::default()
        })
        .collect()
}

struct Run {
    bench: Bench,
    world: World,
    consumers: Vec<Consumer>,
    trace: Vec<String>,
}

impl Run {
    fn new(seed: u8) -> Run {
        let mut bench = Bench::new();
        bench.chance = Entropy::from_seed([seed; 32]);
        let mut run = Run {
            bench,
            world: World::default(),
            consumers: Vec::new(),
            trace: Vec::new(),
        };
        run.world.config.assignors = vec![Assignor::Uniform, Assignor::Range];
        run.set_topic("t1", 3);
        run.set_topic("t2", 2);
        for number in 0..4_u8 {
            let topics = match number {
                0 => vec![Str::from("t1")],
                _ => vec![Str::from("t1"), Str::from("t2")],
            };
            run.consumers.push(Consumer {
                id: Str::from(format!("m{number}")),
                instance: (number == 3).then(|| Str::from("i3")),
                full: true,
                pattern: number == 2,
                topics,
                ..Default::default()
            });
        }
        run
    }

    fn set_topic(&mut self, name: &str, partitions: i32) {
        self.world.version += 1;
        let fresh = Uuid([u8::try_from(self.world.version).unwrap_or(255); 16]);
        let known = self.world.topics.get(name).map(|info| info.id);
        let id = known.unwrap_or(fresh);
        let info = TopicInfo { id, partitions };
        self.world.topics.insert(Str::from(name), info);
    }

    fn say(&mut self, request: &ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse {
        let mut response = ConsumerGroupHeartbeatResponse::default();
        let mut chance = self.bench.chance.clone();
        self.bench.chance.next_u64();
        let world = self.world.clone();
        self.bench.run(|gc, now, out| {
            let mut ctx = GroupCtx {
                now,
                chance: &mut chance,
                cluster: &world,
            };
            let client = Client::default();
            response = gc.consumer_heartbeat(&mut ctx, 1, request, &client, out);
        });
        response
    }

    fn heartbeat(&mut self, index: usize, lose: bool) {
        let request = self.consumers[index].request(1);
        let response = self.say(&request);
        self.trace.push(format!(
            "{} epoch {} -> {} epoch {}{}",
            request.member_id,
            request.member_epoch,
            response.error_code,
            response.member_epoch,
            if lose { " lost" } else { "" }
        ));
        if lose {
            // A client whose request got no answer says everything next time.
            self.consumers[index].full = true;
        } else {
            self.consumers[index].take(&response);
        }
        self.check();
    }

    fn step(&mut self) {
        let chance = &mut self.bench.chance;
        let index = usize::try_from(chance.below(4)).unwrap_or_default();
        match chance.below(20) {
            0..=8 => self.heartbeat(index, false),
            9 | 10 => self.heartbeat(index, true),
            11..=13 => {
                // It gives up what it was told to give up.
                self.consumers[index].leaving.clear();
            }
            14 => {
                // It dies and comes back, knowing nothing; what it had it does no more.
                self.consumers[index].reset();
                if self.consumers[index].instance.is_some() {
                    self.leave(index, -2);
                    let name = format!("m3-{}", self.trace.len());
                    self.consumers[index].id = Str::from(name);
                }
            }
            15 => {
                self.consumers[index].reset();
                self.leave(index, -1);
            }
            16 => {
                let count = i32::try_from(self.bench.chance.below(5)).unwrap_or_default();
                let count = count.max(self.world.topics["t1"].partitions.min(4));
                self.set_topic("t1", count);
            }
            17 => {
                if self.world.topics.remove("t2").is_none() {
                    self.set_topic("t2", 2);
                }
                self.world.version += 1;
            }
            18 => {
                self.pass(3000);
            }
            _ => self.restart(),
        }
        self.check();
    }

    fn leave(&mut self, index: usize, epoch: i32) {
        let consumer = &self.consumers[index];
        let request = ConsumerGroupHeartbeatRequest {
            group_id: group_id(),
            member_id: consumer.id.clone(),
            member_epoch: epoch,
            instance_id: consumer.instance.clone(),
            rebalance_timeout_ms: -1,
            ..Default::default()
        };
        let response = self.say(&request);
        let id = request.member_id;
        self.trace
            .push(format!("{id} leaves {epoch} -> {}", response.error_code));
    }

    fn pass(&mut self, millis: i64) {
        let bench = &mut self.bench;
        bench.now.mono = bench.now.mono.plus_millis(millis);
        bench.now.wall = WallTime::from_millis(bench.now.wall.as_millis() + millis);
        self.trace.push(format!("{millis} ms pass"));
        let world = self.world.clone();
        self.bench.time_is_up(&world);
        // Whoever was taken out is not there any more; it notices with its next heartbeat, and its
        // time to work on is over before others begin.
        let group = self.bench.gc.consumer_group("g").cloned();
        for consumer in &mut self.consumers {
            let known = group
                .as_ref()
                .is_some_and(|group| group.members().any(|id| *id == consumer.id));
            if !known {
                consumer.owned.clear();
                consumer.leaving.clear();
            }
        }
    }

    fn restart(&mut self) {
        let copy = self.bench.replayed(&[], 0);
        assert_eq!(
            copy.consumer_group("g"),
            self.bench.gc.consumer_group("g"),
            "{:#?}",
            self.trace
        );
        self.bench.gc = copy;
        self.trace.push("restart".to_string());
    }

    /// Nobody works on what another may work on, and the coordinator knows of everything that is
    /// worked on.
    fn check(&self) {
        let mut seen = BTreeSet::new();
        for consumer in &self.consumers {
            for partition in consumer.owned.union(&consumer.leaving) {
                assert!(
                    seen.insert(*partition),
                    "{partition:?} has two members: {:#?}",
                    self.trace
                );
            }
        }
        let mut checkpoint = GroupCoordinator::new(LOG, self.bench.gc.config.clone());
        for record in self.bench.gc.snapshot() {
            checkpoint.apply(&record, None).unwrap();
        }
        assert_eq!(
            checkpoint.consumer_group("g"),
            self.bench.gc.consumer_group("g")
        );
    }

    /// Faults stop, everybody keeps on: each member ends up with what it is to have, all partitions
    /// are taken, and nothing changes any more.
    fn settle(&mut self) {
        for _ in 0..8 {
            for index in 0..self.consumers.len() {
                self.heartbeat(index, false);
                self.consumers[index].leaving.clear();
            }
        }
        let group = self.bench.gc.consumer_group("g").unwrap();
        assert_eq!(
            group.state(),
            ConsumerGroupState::Stable,
            "{:#?}",
            self.trace
        );
        let all: Partitions = self
            .consumers
            .iter()
            .flat_map(|consumer| consumer.owned.iter().copied())
            .collect();
        let wanted = self.world.topics.values();
        let wanted = wanted.flat_map(|info| (0..info.partitions).map(|index| (info.id, index)));
        assert_eq!(all, wanted.collect(), "{:#?}", self.trace);
        let appended = self.bench.log.len();
        for index in 0..self.consumers.len() {
            self.heartbeat(index, false);
        }
        assert_eq!(
            self.bench.log.len(),
            appended,
            "a steady group writes nothing"
        );
    }
}

impl Run {
    /// All leave: nothing is due in the group any more.
    fn end(&mut self) {
        for index in 0..self.consumers.len() {
            self.leave(index, -1);
        }
        let group = self.bench.gc.consumer_group("g").unwrap();
        assert_eq!(group.state(), ConsumerGroupState::Empty);
        assert_eq!(group.assignment_epoch(), group.epoch());
        self.restart();
    }
}

#[test]
fn no_partition_ever_has_two_members_and_the_group_gets_there() {
    for seed in 0..60 {
        let mut run = Run::new(seed);
        run.bench.gc.config.retention_check_ms = 1_000_000;
        for _ in 0..250 {
            run.step();
        }
        run.settle();
        run.end();
    }
}
