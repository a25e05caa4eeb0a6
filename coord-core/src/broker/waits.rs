//! Fetches that wait for data.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::LogId;
use ackord_proto::error_code::ErrorCode;

use super::api::delayed_share_fetch::ShareFetchWait;
use super::api::fetch::FetchWait;
use super::gather::Missing;

/// What waits.
#[derive(Debug)]
pub(super) enum WaitKind {
    Fetch(FetchWait),
    ShareFetch(ShareFetchWait),
    /// A ShareFetch whose refusal waits, so that the client does not ask again at once.
    ShareRefused(ErrorCode),
}

#[derive(Debug)]
struct Wait {
    logs: Vec<LogId>,
    /// Bytes that have to come before it is worth looking again.
    missing: usize,
    kind: WaitKind,
}

/// Waiting requests, by slot and by the logs they wait for.
#[derive(Debug, Default)]
pub(super) struct WaitTable {
    waits: BTreeMap<u64, Wait>,
    by_log: BTreeMap<LogId, BTreeSet<u64>>,
}

impl WaitTable {
    pub(super) fn insert(&mut self, slot: u64, logs: Vec<LogId>, missing: usize, kind: WaitKind) {
        for log in &logs {
            self.by_log.entry(*log).or_default().insert(slot);
        }
        self.waits.insert(
            slot,
            Wait {
                logs,
                missing,
                kind,
            },
        );
    }

    pub(super) fn remove(&mut self, slot: u64) -> Option<WaitKind> {
        let wait = self.waits.remove(&slot)?;
        for log in &wait.logs {
            if let Some(slots) = self.by_log.get_mut(log) {
                slots.remove(&slot);
                if slots.is_empty() {
                    self.by_log.remove(log);
                }
            }
        }
        Some(wait.kind)
    }

    /// What the answers of waiting ShareFetches depend on.
    pub(super) fn appends(&mut self) -> impl Iterator<Item = &mut Missing> {
        self.waits
            .values_mut()
            .filter_map(|wait| match &mut wait.kind {
                WaitKind::ShareFetch(wait) => Some(wait.appends()),
                WaitKind::Fetch(_) | WaitKind::ShareRefused(_) => None,
            })
    }

    /// Counts what came; wakes those that have enough.
    pub(super) fn appended(&mut self, log: LogId, bytes: usize, woken: &mut BTreeSet<u64>) {
        let Some(slots) = self.by_log.get(&log) else {
            return;
        };
        for slot in slots {
            let Some(wait) = self.waits.get_mut(slot) else {
                continue;
            };
            wait.missing = wait.missing.saturating_sub(bytes);
            if wait.missing == 0 {
                woken.insert(*slot);
            }
        }
    }

    /// Everything that waits for a log.
    pub(super) fn on(&self, log: LogId) -> impl Iterator<Item = u64> + '_ {
        self.by_log.get(&log).into_iter().flatten().copied()
    }

    /// ShareFetches of a group that wait for a log.
    pub(super) fn share_fetches<'a>(
        &'a self,
        log: LogId,
        group: &'a str,
    ) -> impl Iterator<Item = u64> + 'a {
        self.on(log).filter(move |slot| {
            let kind = self.waits.get(slot).map(|wait| &wait.kind);
            matches!(kind, Some(WaitKind::ShareFetch(wait)) if wait.group() == group)
        })
    }
}
