//! The machines on their nodes: what they are told, and what becomes of what they ask for.

use std::collections::BTreeMap;

use ackord_coord_core::BrokerConfig;
use ackord_coord_core::group::{GroupReply, ShareGroup, TopicInfo, Topics};
use ackord_coord_core::leader::{Leader, LeaderContext, LeaderReply, ShareLoad};
use ackord_coord_core::metadata::{SHARE_STATE_TOPIC, ShareGroupSettings};
use ackord_coord_core::outbox::{Outbox, Output};
use ackord_coord_core::share::{ShareCoordinator, ShareReply};
use ackord_coord_core::txn::{Participants, ProducerIds, TxnCoordinator, TxnCtx, TxnReply};
use ackord_machine::{LogId, Now, Role};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{AcquireMode, Config, LogBatch, Span};

use super::host::{Entry, Machine, Pending, Place};
use super::worker::{Answer, Taken};
use super::world::{Event, LOGS, ORDERS, RECORDS, STATE_PARTITIONS, World, group};

/// A locked record comes back after this.
const LOCK_MS: i64 = 4000;

struct Ids<'a>(&'a mut i64);

impl ProducerIds for Ids<'_> {
    fn next(&mut self) -> Result<i64, ErrorCode> {
        *self.0 += 1;
        Ok(*self.0)
    }
}

/// Who answers for what, and which topics there are.
pub(crate) struct Spread;

impl Participants for Spread {
    fn role(&self, topic: &str, partition: i32) -> Option<Role> {
        (topic == SHARE_STATE_TOPIC).then_some(Role::Sgc(partition))
    }
}

impl Topics for Spread {
    fn topic(&self, name: &str) -> Option<TopicInfo> {
        let partitions = LOGS.len() as i32;
        (name == "orders").then_some(TopicInfo {
            id: ORDERS,
            partitions,
        })
    }

    fn version(&self) -> u64 {
        1
    }
}

impl World<'_> {
    /// A member takes records of a partition.
    pub(crate) fn acquire(&mut self, index: usize, log: LogId) -> Vec<Taken> {
        let member = self.workers[index].member.clone();
        let most = 1 + self.workers[index].chance.below(3) as i32;
        let mut got = Vec::new();
        self.with_leader(log, |leader, ctx, out| {
            let failed = match leader.load(ctx, &group(), out) {
                ShareLoad::Failed(_) => true,
                ShareLoad::Reading => false,
                ShareLoad::Ready(partition) => {
                    let from = partition.next_fetch_offset().clamp(0, RECORDS);
                    let batches: Vec<LogBatch> = (from..RECORDS)
                        .map(|base| LogBatch { base, last: base })
                        .collect();
                    let mode = AcquireMode::RecordLimit;
                    got = partition.acquire(ctx.now.mono, &member, &batches, most, 1, mode);
                    false
                }
            };
            if failed {
                leader.forget("g", out);
            }
        });
        let mut records = Vec::new();
        for acquired in got {
            for offset in acquired.first..=acquired.last {
                self.oracle.delivered((log, offset));
                records.push(Taken {
                    log,
                    offset,
                    count: acquired.delivery_count,
                    kind: if self.workers[index].chance.percent(15) {
                        3
                    } else {
                        1
                    },
                });
            }
        }
        // An answer that is lost leaves the records to their locks.
        if self.workers[index].chance.percent(5) && self.is_faulty() {
            records.clear();
        }
        records
    }

    pub(crate) fn deadline(&mut self, place: Place) {
        match place {
            Place::Group => {
                let mut departed = Vec::new();
                self.with_group(|group, now, out| {
                    departed = group.handle_timeout(now, &Spread, out);
                });
                for member in departed {
                    for log in LOGS {
                        self.with_leader(log, |leader, ctx, out| {
                            leader.release_member(ctx, &group(), &member, out);
                        });
                    }
                }
            }
            Place::Leader(log) => self.with_leader(log, |leader, ctx, out| {
                for expired in leader.handle_timeout(ctx.now, STATE_PARTITIONS, out) {
                    leader.expire(ctx, &expired, out);
                }
            }),
            Place::Sgc(partition) => {
                self.with_sgc(partition, |sgc, now, out| sgc.handle_timeout(now, out));
            }
            Place::Tc => self.with_tc(|tc, ctx, out| tc.handle_timeout(ctx, out)),
        }
    }

    pub(crate) fn with_tc(
        &mut self,
        run: impl FnOnce(&mut TxnCoordinator, &mut TxnCtx<'_>, &mut Outbox<TxnReply>),
    ) {
        let mut out = Outbox::new();
        let host = self.hosts.get_mut(&Place::Tc).expect("it is placed");
        let Some(Machine::Tc(tc)) = &mut host.machine else {
            return;
        };
        let mut ctx = TxnCtx {
            now: self.now,
            ids: &mut Ids(&mut self.next_producer),
            participants: &Spread,
        };
        run(tc, &mut ctx, &mut out);
        self.carry_out(Place::Tc, out, Answer::Txn);
    }

    pub(crate) fn with_sgc(
        &mut self,
        partition: i32,
        run: impl FnOnce(&mut ShareCoordinator, Now, &mut Outbox<ShareReply>),
    ) {
        let mut out = Outbox::new();
        let host = self.hosts.get_mut(&Place::Sgc(partition));
        let Some(Machine::Sgc(sgc)) = host.and_then(|host| host.machine.as_mut()) else {
            return;
        };
        run(sgc, self.now, &mut out);
        self.carry_out(Place::Sgc(partition), out, Answer::Share);
    }

    pub(crate) fn with_group(
        &mut self,
        run: impl FnOnce(&mut ShareGroup, Now, &mut Outbox<GroupReply>),
    ) {
        let mut out = Outbox::new();
        let host = self.hosts.get_mut(&Place::Group).expect("it is placed");
        let Some(Machine::Group(group)) = &mut host.machine else {
            return;
        };
        run(group, self.now, &mut out);
        self.carry_out(Place::Group, out, Answer::Group);
    }

    pub(crate) fn with_leader(
        &mut self,
        log: LogId,
        run: impl FnOnce(&mut Leader, LeaderContext<'_>, &mut Outbox<LeaderReply>),
    ) {
        let mut configs: BTreeMap<Str, Str> = BTreeMap::new();
        configs.insert("share.auto.offset.reset".into(), "earliest".into());
        let settings = ShareGroupSettings::new(&BrokerConfig::default(), &configs);
        let ctx = LeaderContext {
            now: self.now,
            log_start: 0,
            high_watermark: RECORDS,
            settings: &settings,
            state_partitions: STATE_PARTITIONS,
            queue_open: false,
        };
        let mut out = Outbox::new();
        let host = self
            .hosts
            .get_mut(&Place::Leader(log))
            .expect("it is placed");
        let Some(Machine::Leader(leader)) = &mut host.machine else {
            return;
        };
        run(leader, ctx, &mut out);
        let config = Config {
            record_lock_ms: LOCK_MS,
            delivery_count_limit: 3,
            transactional: true,
            dead_letters: self.plan.has_queue,
            ..Config::default()
        };
        leader.set_config("g", &config);
        leader.arm(&group());
        let partition = leader.share_partition("g");
        let waits = partition.is_some_and(|own| own.dead_letters().next().is_some());
        let (epoch, begins) = (host.epoch, waits && !host.copies);
        host.copies |= waits;
        if begins {
            let takes = 1 + self.disk.below(40);
            self.later(takes, Event::Copies(log, epoch));
        }
        for output in out.take() {
            if let Output::Send { envelope, .. } = output {
                self.send(envelope);
            }
        }
    }

    /// Copies of all records that wait for theirs are durable; whether their leader is still there to
    /// hear of it is another matter.
    pub(crate) fn copied(&mut self, log: LogId, epoch: u32) {
        let host = &self.hosts[&Place::Leader(log)];
        let (true, Some(Machine::Leader(leader))) = (host.epoch == epoch, &host.machine) else {
            return;
        };
        let letters = leader.share_partition("g").into_iter();
        let spans: Vec<Span> = letters
            .flat_map(|own| own.dead_letters())
            .map(|letter| letter.span)
            .collect();
        for span in &spans {
            for offset in span.first..=span.last {
                self.oracle.letter((log, offset));
            }
        }
        let takes = self.disk.below(30);
        self.later(takes, Event::Copied(log, epoch, spans));
    }

    /// The leader hears of the copies.
    pub(crate) fn told_of_copies(&mut self, log: LogId, epoch: u32, spans: &[Span]) {
        let host = self.hosts.get_mut(&Place::Leader(log));
        let host = host.expect("it is placed");
        if host.epoch != epoch {
            return;
        }
        host.copies = false;
        self.with_leader(log, |leader, ctx, out| {
            leader.dead_letters_written(ctx, &group(), spans, out);
        });
    }

    pub(crate) fn carry_out<R>(
        &mut self,
        place: Place,
        mut out: Outbox<R>,
        answer: fn(R) -> Answer,
    ) {
        let now = self.now;
        let mut pending = Vec::new();
        let host = self.hosts.get_mut(&place).expect("it is placed");
        for output in out.take() {
            match output {
                Output::Append {
                    records, producer, ..
                } => {
                    drop(host.log.append_records(now, &records, producer));
                    pending.push(Pending::Append(Entry::Records(records, producer)));
                }
                Output::Barrier | Output::Count(_) | Output::Measure { .. } => {}
                Output::Reply { ticket, reply } => {
                    pending.push(Pending::Reply(ticket, answer(reply)))
                }
                Output::Send { envelope, .. } => pending.push(Pending::Send(envelope)),
            }
        }
        self.enqueue(place, pending);
    }

    pub(crate) fn enqueue(&mut self, place: Place, more: impl IntoIterator<Item = Pending>) {
        let host = self.hosts.get_mut(&place).expect("it is placed");
        host.pending.extend(more);
        self.drain(place);
    }

    /// Lets out what does not wait; begins the next append.
    pub(crate) fn drain(&mut self, place: Place) {
        loop {
            let host = self.hosts.get_mut(&place).expect("it is placed");
            match host.pending.front() {
                None => return,
                Some(Pending::Append(_)) => {
                    if !host.writing {
                        host.writing = true;
                        let epoch = host.epoch;
                        let slow = if self.disk.below(20) == 0 { 800 } else { 12 };
                        let takes = 1 + self.disk.below(slow);
                        self.later(takes, Event::Written(place, epoch));
                    }
                    return;
                }
                Some(Pending::Reply(..) | Pending::Send(_)) => {}
            }
            match host.pending.pop_front() {
                Some(Pending::Reply(ticket, answer)) => {
                    if let Some((takes, _)) = self.travel() {
                        self.later(takes, Event::Reply(ticket.slot, Box::new(answer)));
                    }
                }
                Some(Pending::Send(envelope)) => self.send(envelope),
                Some(Pending::Append(_)) | None => {}
            }
        }
    }

    pub(crate) fn written(&mut self, place: Place, epoch: u32) {
        let host = self.hosts.get_mut(&place).expect("it is placed");
        if host.epoch != epoch || !host.writing {
            return;
        }
        if let Some(landed) = host.fails.take() {
            return self.append_failed(place, landed);
        }
        host.writing = false;
        if let Some(Pending::Append(entry)) = host.pending.pop_front() {
            host.durable.push(entry.clone());
            self.is_durable(place, &entry);
        }
        self.drain(place);
    }

    /// Nobody knows what is stored: the machine is made anew of what is, and nobody is answered.
    fn append_failed(&mut self, place: Place, landed: bool) {
        self.say(|| format!("an append of {place:?} fails, landed: {landed}"));
        let host = self.hosts.get_mut(&place).expect("it is placed");
        for entry in host.crash(usize::from(landed)) {
            self.is_durable(place, &entry);
        }
        self.restart_place(place);
    }

    pub(crate) fn is_durable(&mut self, place: Place, entry: &Entry) {
        self.digest.update(format!("{place:?}{entry:?}").as_bytes());
        if let Place::Sgc(partition) = place {
            self.oracle.durable(partition, entry);
        }
    }
}
