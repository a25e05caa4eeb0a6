//! Everything that the thread of the core is told, in one queue.
//!
//! Whoever puts something in never waits. The queue is bounded by what may be under way: see the
//! crate.

use std::collections::VecDeque;
use std::mem;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ackord_coord_core::contract::{ConnId, Input};
use ackord_coord_core::metrics::MetricFamily;

use crate::link::Link;
use crate::probe::Job;

/// One thing to know.
#[derive(Debug)]
pub(crate) enum Item {
    /// A test wants the broker to end at once.
    Crash,
    /// An operator wants the broker to stop.
    Drain,
    /// An operator wants the core's figures.
    Metrics(SyncSender<Vec<MetricFamily>>),
    /// Something to do for a test.
    Errand(Job),
    /// For the core.
    Input(Input),
    /// A connection was accepted.
    Opened {
        conn: ConnId,
        host: String,
        link: Arc<Link>,
    },
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    items: Mutex<VecDeque<Item>>,
    filled: Condvar,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Item>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, item: Item) {
        let mut items = self.lock();
        let was_empty = items.is_empty();
        items.push_back(item);
        drop(items);
        if was_empty {
            self.filled.notify_one();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Everything that is there, once something is or the time is over.
    pub(crate) fn take(&self, timeout: Option<Duration>) -> VecDeque<Item> {
        let mut items = self.lock();
        if items.is_empty() {
            items = match timeout {
                Some(timeout) => {
                    let waited = self.filled.wait_timeout(items, timeout);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .filled
                    .wait(items)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
        mem::take(&mut items)
    }
}
