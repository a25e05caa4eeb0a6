//! ShareFetch (key 78): its session and the acknowledgements that ride along. What comes then is in
//! [`delayed_share_fetch`](super::delayed_share_fetch).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::{LogId, OpId};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{ShareFetchRequest, ShareFetchResponse};
use ackord_proto::str::Str;
use ackord_share_partition::AcquireMode;

use super::super::Broker;
use super::super::gather::{Gather, Missing};
use super::super::share_sessions::{Existence, FINAL_EPOCH};
use super::super::timing::TimerKey;
use super::super::waits::WaitKind;
use super::delayed_share_fetch::{PartitionAnswer, ShareFetchWait, Terms};
use super::share_common::{
    PartitionAcks, acks_of, check_types, group_and_member, of_each_partition,
};
use crate::outbox::Ticket;

/// A request whose acknowledgements are under way.
#[derive(Debug)]
pub(in crate::broker) struct ShareFetchAcks {
    terms: Terms,
    acked: Vec<LogId>,
    answers: BTreeMap<LogId, PartitionAnswer>,
    missing: Missing,
}

impl ShareFetchAcks {
    pub(in crate::broker) fn missing(&mut self) -> &mut Missing {
        &mut self.missing
    }

    fn has_refused(&self, log: LogId) -> bool {
        let ack = self.answers.get(&log).and_then(|own| own.ack.as_ref());
        ack.is_some_and(|(code, _)| *code != ErrorCode::NONE)
    }

    pub(in crate::broker) fn arrived(
        &mut self,
        part: u32,
        code: ErrorCode,
        message: Option<Str>,
        gate: Option<OpId>,
    ) {
        self.missing.arrived(gate);
        if let Some(log) = self.acked.get(part as usize) {
            self.answers.entry(*log).or_default().ack = Some((code, message));
        }
    }
}

impl Broker {
    pub(super) fn share_fetch(&mut self, slot: u64, request: ShareFetchRequest) {
        let version = self.version(slot);
        let terms = match self.begin_share_session(slot, &request) {
            Ok(terms) => terms,
            Err(code @ ErrorCode::SHARE_SESSION_LIMIT_REACHED) if request.max_wait_ms > 0 => {
                let wait_ms = i64::from(request.max_wait_ms);
                let at = self.now.mono.plus_millis(wait_ms);
                self.timers.arm(TimerKey::Wait(slot), at);
                let kind = WaitKind::ShareRefused(code);
                return self.waits.insert(slot, Vec::new(), usize::MAX, kind);
            }
            Err(code) => return self.refuse_share_fetch(slot, code),
        };
        let vanish = request.share_session_epoch == 0
            && ackord_machine::planted!("row-76-acks-on-epoch-0-vanish");
        let acks = acks_of!(request.topics).filter(|acks| !acks.ranges.is_empty() && !vanish);
        let acks: Vec<PartitionAcks> = of_each_partition(acks);
        let answers = match terms.last {
            true => BTreeMap::new(),
            false => self.failed_partitions(slot, &request),
        };
        let mut gather = ShareFetchAcks {
            terms,
            acked: acks.iter().map(|acks| acks.id).collect(),
            answers,
            missing: Missing::default(),
        };
        if vanish {
            for log in wanted(&request) {
                let answer = gather.answers.entry(log).or_default();
                answer.ack = Some((ErrorCode::NONE, None));
            }
        }
        // One more than there are, so that nothing is fetched before all were asked.
        (0..=acks.len()).for_each(|_| gather.missing.one_more());
        let (group, member) = (gather.terms.group.clone(), gather.terms.member.clone());
        self.gathers.insert(slot, Gather::ShareFetch(gather));
        for (part, acks) in acks.iter().enumerate() {
            let ticket = Ticket {
                slot,
                part: u32::try_from(part).unwrap_or(u32::MAX),
            };
            let types = check_types(&acks.ranges, version, request.is_renew_ack);
            self.acknowledge(ticket, &group, &member, acks, types);
        }
        if let Some(Gather::ShareFetch(mut gather)) = self.gathers.remove(&slot) {
            let done = acks.iter().filter(|acks| !gather.has_refused(acks.id));
            let gate = self.share_state_gate(&group, done.map(|acks| acks.id));
            gather.missing.arrived(gate);
            self.share_fetch_progress(slot, gather);
        }
    }

    pub(in crate::broker) fn refuse_share_fetch(&mut self, slot: u64, error_code: ErrorCode) {
        let response = ShareFetchResponse {
            error_code,
            ..Default::default()
        };
        self.respond(slot, response, None);
    }

    /// Checks the request and takes its session forward.
    fn begin_share_session(
        &mut self,
        slot: u64,
        request: &ShareFetchRequest,
    ) -> Result<Terms, ErrorCode> {
        let (group, member) =
            group_and_member(request.group_id.as_ref(), request.member_id.as_ref())?;
        let mode = match request.share_acquire_mode {
            0 => AcquireMode::BatchOptimized,
            1 => AcquireMode::RecordLimit,
            _ => return Err(ErrorCode::INVALID_REQUEST),
        };
        let wants_records = request.max_wait_ms != 0
            || request.min_bytes != 0
            || request.max_bytes != 0
            || request.max_records != 0;
        if request.is_renew_ack && wants_records {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        // The first request of a session has nothing to acknowledge.
        let acknowledges = acks_of!(request.topics).any(|acks| !acks.ranges.is_empty());
        let vanish = ackord_machine::planted!("row-76-acks-on-epoch-0-vanish");
        if request.share_session_epoch == 0 && acknowledges && !vanish {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        let meta = self
            .connections
            .request(slot)
            .ok_or(ErrorCode::UNKNOWN_SERVER_ERROR)?;
        let (conn, epoch) = (meta.conn, request.share_session_epoch);
        let added: Vec<_> = wanted(request)
            .into_iter()
            .map(|log| (log, self.existence(log)))
            .collect();
        if epoch == 0 {
            let limit = self.config.size("group.share.max.share.sessions");
            self.share_sessions
                .open(conn, &group, &member, &added, limit)?;
        } else {
            self.share_sessions.proceed(&group, &member, epoch)?;
            self.share_sessions
                .change(&group, &member, &added, &forgotten(request));
        }
        let fetch_max = self.config.size("fetch.max.bytes");
        let max_bytes = usize::try_from(request.max_bytes)
            .unwrap_or_default()
            .min(fetch_max);
        let last = epoch == FINAL_EPOCH;
        Ok(Terms {
            session: self.share_sessions.id(&group, &member),
            group,
            member,
            first: epoch == 0,
            last,
            acks_only: last
                || request.is_renew_ack
                || request.max_bytes <= 0
                || request.max_records <= 0,
            deadline: self.now.mono.plus_millis(i64::from(request.max_wait_ms)),
            max_bytes,
            max_records: request.max_records,
            batch_size: request.batch_size,
            mode,
        })
    }

    /// Partitions of a request that do not exist or may not be read are named in its answer.
    fn failed_partitions(
        &self,
        slot: u64,
        request: &ShareFetchRequest,
    ) -> BTreeMap<LogId, PartitionAnswer> {
        let named = wanted(request).into_iter();
        let failed = named.filter_map(|log| {
            let allowed = self.check_topic_id(slot, log.topic);
            let code = allowed.and_then(|()| self.existence(log).check()).err()?;
            Some((log, PartitionAnswer::failed(code)))
        });
        failed.collect()
    }

    /// The partitions that a session fetches now; those that do not exist or may not be read have an
    /// answer in `answers`.
    fn readable_partitions(
        &mut self,
        slot: u64,
        terms: &Terms,
        answers: &mut BTreeMap<LogId, PartitionAnswer>,
    ) -> Vec<LogId> {
        let mut logs = Vec::new();
        for (log, before) in self.share_sessions.rotated(&terms.group, &terms.member) {
            let existence = match self.existence(log) {
                // The session knows the name of a topic that went.
                Existence::NoTopic if before != Existence::NoTopic => Existence::NoPartition,
                now => now,
            };
            let allowed = self.check_topic_id(slot, log.topic);
            match allowed.and_then(|()| existence.check()) {
                Ok(()) => logs.push(log),
                Err(code) => answers.entry(log).or_default().code = code,
            }
        }
        if terms.acks_only {
            logs.clear();
        }
        self.share_sessions
            .fetches(&terms.group, &terms.member, &logs);
        logs
    }

    /// Goes on to the records once all acknowledgements have their outcome.
    pub(in crate::broker) fn share_fetch_progress(&mut self, slot: u64, acks: ShareFetchAcks) {
        if !acks.missing.is_complete() {
            self.gathers.insert(slot, Gather::ShareFetch(acks));
            return;
        }
        let ShareFetchAcks {
            terms,
            mut answers,
            missing,
            ..
        } = acks;
        let logs = match terms.last {
            true => Vec::new(),
            false => self.readable_partitions(slot, &terms, &mut answers),
        };
        let failed = |answer: &&PartitionAnswer| answer.code != ErrorCode::NONE;
        let failed = answers.values().filter(failed).count();
        if terms.last
            && let Some(session) = self.share_sessions.close(&terms.group, &terms.member)
            && !ackord_machine::planted!("row-74-close-keeps-records")
        {
            self.release_session(&session);
        }
        let wait = ShareFetchWait {
            terms,
            logs,
            failed,
            answers,
            appends: missing,
            reading: Vec::new(),
            has_read: Vec::new(),
            woken: false,
        };
        self.look_for_records(slot, wait);
    }
}

fn wanted(request: &ShareFetchRequest) -> Vec<LogId> {
    let topics = request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(move |partition| LogId {
            topic: topic.topic_id,
            partition: partition.partition_index,
        })
    });
    topics.collect()
}

fn forgotten(request: &ShareFetchRequest) -> Vec<LogId> {
    let topics = request.forgotten_topics_data.iter().flat_map(|topic| {
        topic.partitions.iter().map(move |&partition| LogId {
            topic: topic.topic_id,
            partition,
        })
    });
    topics.collect()
}
