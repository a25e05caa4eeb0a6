//! What the broker counts while it works.

use alloc::collections::BTreeMap;

use ackord_machine::LogAppend;
use ackord_proto::api::ApiKey;
use ackord_proto::uuid::Uuid;

use crate::metrics::Histogram;
use crate::outbox::{Counted, Measured};

/// The durations that are measured, with name and meaning.
pub(super) const DURATIONS: [(Measured, &str, &str); 2] = [
    (
        Measured::SharePrepare,
        "share_transaction_prepare_time_ms",
        "From the decision on a transaction with share acknowledgements until it is durable.",
    ),
    (
        Measured::ShareCommit,
        "share_transaction_commit_time_ms",
        "From the decision to commit share acknowledgements until everybody sees them.",
    ),
];

/// What is counted, with name and meaning.
pub(super) const COUNTED: [(Counted, &str, &str); 2] = [
    (
        Counted::ShareAbort,
        "share_transaction_abort_total",
        "Transactions with share acknowledgements that were aborted, for whatever reason.",
    ),
    (
        Counted::ShareTimeout,
        "share_transaction_timeout_total",
        "Transactions with share acknowledgements that took longer than their timeout.",
    ),
];

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Counters {
    requests: BTreeMap<(ApiKey, i16), u64>,
    traffic: BTreeMap<Uuid, Traffic>,
    prepare: Histogram,
    commit: Histogram,
    share_aborts: u64,
    share_timeouts: u64,
}

/// What went through a topic.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) records_in: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
}

impl Counters {
    pub(super) fn request(&mut self, api: ApiKey, version: i16) {
        *self.requests.entry((api, version)).or_default() += 1;
    }

    pub(super) fn requests(&self) -> impl Iterator<Item = (ApiKey, i16, u64)> {
        let requests = self.requests.iter();
        requests.map(|((api, version), count)| (*api, *version, *count))
    }

    pub(super) fn appended(&mut self, part: &LogAppend) {
        let traffic = self.traffic.entry(part.log.topic).or_default();
        let records = part.last.saturating_sub(part.base).saturating_add(1);
        traffic.records_in += u64::try_from(records).unwrap_or(0);
        traffic.bytes_in += (part.head.len() + part.body.len()) as u64;
    }

    pub(super) fn fetched(&mut self, topic: Uuid, bytes: usize) {
        self.traffic.entry(topic).or_default().bytes_out += bytes as u64;
    }

    pub(super) fn traffic(&self, topic: Uuid) -> Traffic {
        self.traffic.get(&topic).copied().unwrap_or_default()
    }

    pub(super) fn forget_topic(&mut self, topic: Uuid) {
        self.traffic.remove(&topic);
    }

    pub(super) fn count(&mut self, what: Counted) {
        *self.counted_mut(what) += 1;
    }

    pub(super) fn counted(&self, what: Counted) -> u64 {
        match what {
            Counted::ShareAbort => self.share_aborts,
            Counted::ShareTimeout => self.share_timeouts,
        }
    }

    fn counted_mut(&mut self, what: Counted) -> &mut u64 {
        match what {
            Counted::ShareAbort => &mut self.share_aborts,
            Counted::ShareTimeout => &mut self.share_timeouts,
        }
    }

    pub(super) fn measured(&mut self, what: Measured, ms: u64) {
        self.duration_mut(what).observe(ms);
    }

    pub(super) fn duration(&self, what: Measured) -> &Histogram {
        match what {
            Measured::ShareCommit => &self.commit,
            Measured::SharePrepare => &self.prepare,
        }
    }

    fn duration_mut(&mut self, what: Measured) -> &mut Histogram {
        match what {
            Measured::ShareCommit => &mut self.commit,
            Measured::SharePrepare => &mut self.prepare,
        }
    }
}
