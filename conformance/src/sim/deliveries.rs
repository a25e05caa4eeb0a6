//! The oracle of share groups: who holds which record, how often it was delivered, and that what
//! is done stays done.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::share_fetch;
use ackord_proto::uuid::Uuid;

use super::ledger::{Partition, ShareRecord};
use super::wire;

/// Group and member.
pub type Member = (String, String);

/// What is known of one record of a share group.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Largest delivery count seen.
    pub most: i16,
    /// Every answer with it.
    seen: Vec<Seen>,
    holder: Option<Holder>,
    /// When somebody acknowledged it last: a transaction (version 0 names no member and takes it from
    /// any), or its own member, maybe with a late copy.
    asked_us: Option<u64>,
    /// Types of plain accepts, rejects and gaps that were sent for it.
    pub given: BTreeSet<i8>,
    /// The type with which a plain acknowledgement ended it, as its answer says.
    pub settled: Option<i8>,
    /// A plain accept or reject was answered with success: with which type.
    pub plain: Option<i8>,
    /// The transaction whose confirmed commit ended it.
    pub committed: Option<usize>,
}

/// A delivery in an answer that has left.
#[derive(Clone, Copy, Debug)]
struct Seen {
    count: i16,
    era: u64,
    left_us: u64,
}

impl Record {
    /// The delivery count that a later one contradicts: a smaller one, or below `limit` the same in
    /// the same era. Answers to requests that waited at the same time leave in any order, when what they
    /// wait for is stored or read.
    fn contradicts(
        &self,
        count: i16,
        era: Option<u64>,
        arrived_us: u64,
        limit: i16,
    ) -> Option<i16> {
        let contradicts = |seen: &&Seen| match count.cmp(&seen.count) {
            Ordering::Less => seen.left_us < arrived_us,
            Ordering::Equal => count < limit && era == Some(seen.era),
            Ordering::Greater => false,
        };
        self.seen.iter().rev().find(contradicts).map(|it| it.count)
    }
}

#[derive(Clone, Debug)]
struct Holder {
    member: String,
    /// It holds the record at least until then,
    surely_until_us: u64,
    /// and at most until then.
    until_us: u64,
    era: u64,
}

/// Everything that share groups delivered.
#[derive(Debug, Default)]
pub struct Deliveries {
    /// By group, partition and offset.
    pub records: BTreeMap<ShareRecord, Record>,
    /// Members by the connections they used.
    members: BTreeMap<u64, BTreeSet<Member>>,
    /// Records under lock by member.
    held: BTreeMap<Member, BTreeSet<ShareRecord>>,
    /// When a member last let go of all it had: what it got before, on whatever connection, is free.
    gone_us: BTreeMap<Member, u64>,
    /// Milliseconds of an acquisition lock.
    pub lock_ms: u64,
    /// The delivery count limit.
    pub limit: i16,
    pub(super) problems: Vec<String>,
    /// Group and topic whose offsets an administrator touched.
    pub(super) reset: BTreeSet<(String, String)>,
    /// Acknowledgements of records that somebody else held, or nobody any more, by connection.
    intrusions: BTreeSet<(u64, ShareRecord)>,
    /// Acknowledgements of records below the start offset, which change nothing, by connection.
    silent: BTreeSet<(u64, ShareRecord)>,
    /// Groups acknowledge in transactions only.
    pub transactional: bool,
    /// Where share partitions start, as was seen last.
    pub starts: BTreeMap<(String, Partition), i64>,
    /// Records that were seen with as many deliveries as there may be.
    pub at_limit: BTreeSet<ShareRecord>,
    /// The era, as was seen last.
    pub era: u64,
    /// Deliveries in all.
    pub count: u64,
}

impl Deliveries {
    pub(super) fn member_gone(&mut self, now_us: u64, member: &Member) {
        self.gone_us.insert(member.clone(), now_us);
        for key in self.held.remove(member).unwrap_or_default() {
            if let Some(record) = self.records.get_mut(&key)
                && record
                    .holder
                    .as_ref()
                    .is_some_and(|own| own.member == member.1)
            {
                record.holder = None;
            }
        }
    }

    /// A connection is gone, at the broker.
    pub fn closed(&mut self, now_us: u64, conn: u64) {
        for member in self.members.remove(&conn).unwrap_or_default() {
            self.member_gone(now_us, &member);
        }
    }

    pub(super) fn on_request(
        &mut self,
        now_us: u64,
        conn: u64,
        request: &Request,
        names: &BTreeMap<Uuid, String>,
    ) {
        if let Some((member, closes)) = wire::share_member(request) {
            self.members.entry(conn).or_default().insert(member.clone());
            if closes {
                self.member_gone(now_us, &member);
            }
        }
        for (group, member, id, partition, offset, kind) in wire::acks(request) {
            let Some(topic) = names.get(&id) else {
                continue;
            };
            let key = (group, (topic.clone(), partition), offset);
            let start = self.starts.get(&(key.0.clone(), key.1.clone()));
            let below = start.is_some_and(|start| offset < *start);
            let reset = self.is_reset(&key);
            let record = self.records.entry(key.clone()).or_default();
            let plain = wire::share_member(request).is_some();
            // In transactional mode, letting go of what somebody else has is no news.
            let settles = self.transactional && kind == 2;
            let intrudes = record.holder.as_ref().is_some_and(|own| {
                let other = own.member != member && own.surely_until_us > now_us;
                let late = own.member == member && own.until_us < now_us;
                own.era == self.era && (other || late)
            });
            if plain && below {
                self.silent.insert((conn, key.clone()));
            } else {
                self.silent.remove(&(conn, key.clone()));
            }
            if plain && intrudes && !below && !reset && !settles {
                self.intrusions.insert((conn, key));
            } else {
                self.intrusions.remove(&(conn, key));
            }
            match kind {
                4 => {
                    if let Some(holder) = record
                        .holder
                        .as_mut()
                        .filter(|own| own.member == member && own.until_us >= now_us)
                    {
                        holder.until_us = holder.until_us.max(now_us + self.lock_ms * 1000);
                    }
                }
                _ => record.holder = None,
            }
            record.asked_us = Some(now_us);
            if plain && matches!(kind, 0 | 1 | 3) {
                record.given.insert(kind);
            }
        }
    }

    /// Returns values that were delivered, by group.
    pub(super) fn on_response(
        &mut self,
        (arrived_us, now_us): (u64, u64),
        conn: u64,
        era: u64,
        request: &Request,
        response: &Response,
        names: &BTreeMap<Uuid, String>,
    ) -> Vec<(String, String)> {
        for (group, _, id, partition, offset, kind) in wire::acks(request) {
            let Some(topic) = names.get(&id) else {
                continue;
            };
            if wire::ack_code(response, id, partition) != Some(ErrorCode::NONE) {
                continue;
            }
            let key = (group, (topic.clone(), partition), offset);
            let intrudes = self.intrusions.remove(&(conn, key.clone()));
            let silent = self.silent.remove(&(conn, key.clone()));
            if intrudes && matches!(kind, 1..=3) {
                self.problems.push(format!(
                    "{key:?} was acknowledged by somebody who does not hold it"
                ));
            }
            if matches!(kind, 1 | 3) {
                let record = self.records.entry(key).or_default();
                record.plain.get_or_insert(kind);
                if !silent {
                    record.settled.get_or_insert(kind);
                }
            }
        }
        let mut values = Vec::new();
        if let (Request::ShareFetch(request), Response::ShareFetch(response)) = (request, response)
        {
            let group = request.group_id.as_ref().map_or("", |group| group.as_str());
            let member = request
                .member_id
                .as_ref()
                .map_or("", |member| member.as_str());
            let member = (group.to_string(), member.to_string());
            for topic in &response.responses {
                let Some(name) = names.get(&topic.topic_id) else {
                    continue;
                };
                for part in &topic.partitions {
                    let partition = (name.clone(), part.partition_index);
                    self.delivered((arrived_us, now_us), conn, era, &member, &partition, part);
                    let bytes = part.records.as_ref().map(|records| records.to_bytes());
                    let acquired = |offset: i64| {
                        let mut ranges = part.acquired_records.iter();
                        ranges.any(|own| own.first_offset <= offset && offset <= own.last_offset)
                    };
                    for (offset, value) in wire::values(&bytes.unwrap_or_default()) {
                        if acquired(offset) {
                            values.push((group.to_string(), value));
                        }
                    }
                }
            }
        }
        values
    }

    fn is_reset(&self, key: &ShareRecord) -> bool {
        self.reset.contains(&(key.0.clone(), key.1.0.clone()))
    }

    fn delivered(
        &mut self,
        (arrived_us, now_us): (u64, u64),
        conn: u64,
        era: u64,
        member: &Member,
        partition: &Partition,
        part: &share_fetch::PartitionData,
    ) {
        let mut before = -1;
        for range in &part.acquired_records {
            if range.first_offset <= before || range.last_offset < range.first_offset {
                self.problems.push(format!(
                    "{member:?} acquired ranges out of order: {:?}",
                    part.acquired_records
                ));
            }
            before = range.last_offset;
            for offset in range.first_offset..=range.last_offset {
                let key = (member.0.clone(), partition.clone(), offset);
                self.deliver(
                    (arrived_us, now_us),
                    conn,
                    era,
                    member,
                    key,
                    range.delivery_count,
                );
            }
        }
    }

    fn deliver(
        &mut self,
        (arrived_us, now_us): (u64, u64),
        conn: u64,
        era: u64,
        member: &Member,
        key: ShareRecord,
        count: i16,
    ) {
        self.count += 1;
        let reset = self.is_reset(&key);
        let (limit, lock_us) = (self.limit, self.lock_ms * 1000);
        let alive = self
            .members
            .get(&conn)
            .is_some_and(|own| own.contains(member));
        // A state that was read back since the request came is another era.
        let current = era == self.era;
        let record = self.records.entry(key.clone()).or_default();
        let mut problem = None;
        if !reset {
            if let Some(txn) = record.committed {
                problem = Some(format!("delivered again after T{txn} was committed"));
            } else if record.plain.is_some() {
                problem =
                    Some("delivered again after its acknowledgement was confirmed".to_string());
            } else if count > limit || count < 1 {
                problem = Some(format!("delivery count {count}, the limit is {limit}"));
            } else if let Some(before) =
                record.contradicts(count, current.then_some(era), arrived_us, limit)
            {
                problem = Some(format!("delivery count {before} came before {count}"));
            }
            let other = record.holder.as_ref().filter(|own| {
                current && own.era == era && own.surely_until_us > now_us && own.member != member.1
            });
            if let Some(other) = other {
                problem = Some(format!("two hold it: {} and {}", other.member, member.1));
            }
        }
        record.seen.push(Seen {
            count,
            era,
            left_us: now_us,
        });
        record.most = record.most.max(count);
        // It may have been taken, or let go, between the delivery and its answer.
        let gone = self.gone_us.get(member).copied();
        let untaken = record.asked_us.max(gone) < Some(arrived_us);
        record.holder = (alive && untaken).then(|| Holder {
            member: member.1.clone(),
            surely_until_us: arrived_us + lock_us,
            until_us: now_us + lock_us,
            era,
        });
        if let Some(problem) = problem {
            self.problems
                .push(format!("{key:?} to {}: {problem}", member.1));
        }
        if alive {
            self.held.entry(member.clone()).or_default().insert(key);
        }
    }

    pub(super) fn committed(&mut self, txn: usize, staged: &BTreeMap<ShareRecord, i8>) {
        for key in staged.keys() {
            let reset = self.is_reset(key);
            let record = self.records.entry(key.clone()).or_default();
            record.holder = None;
            if let Some(other) = record.committed.filter(|other| *other != txn && !reset) {
                self.problems
                    .push(format!("{key:?} was committed by T{other} and T{txn}"));
            }
            record.committed = Some(txn);
        }
    }
}
