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

impl Item {
    /// Nobody will take it: a connection that waits for the core would wait for ever.
    fn discard(self) {
        if let Item::Opened { link, .. } = self {
            link.cut();
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    /// The thread of the core is gone.
    shut: bool,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, item: Item) {
        self.push_all([item]);
    }

    /// Several things at once wake the thread of the core once.
    pub(crate) fn push_all(&self, items: impl IntoIterator<Item = Item>) {
        let mut queue = self.lock();
        if queue.shut {
            drop(queue);
            return items.into_iter().for_each(Item::discard);
        }
        let was_empty = queue.items.is_empty();
        queue.items.extend(items);
        let filled = was_empty && !queue.items.is_empty();
        drop(queue);
        if filled {
            self.filled.notify_one();
        }
    }

    /// The thread of the core is gone: what is there and what still comes is nobody's.
    pub(crate) fn shut(&self) {
        let mut queue = self.lock();
        queue.shut = true;
        let items = mem::take(&mut queue.items);
        drop(queue);
        items.into_iter().for_each(Item::discard);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().items.is_empty()
    }

    /// Everything that is there, once something is or the time is over.
    pub(crate) fn take(&self, timeout: Option<Duration>) -> VecDeque<Item> {
        let mut queue = self.lock();
        if queue.items.is_empty() {
            queue = match timeout {
                Some(timeout) => {
                    let waited = self.filled.wait_timeout(queue, timeout);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .filled
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
        mem::take(&mut queue.items)
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;
    use crate::link::Course;

    fn opened(inbox: &Inbox) -> Arc<Link> {
        let link = Arc::new(Link::default());
        inbox.push(Item::Opened {
            conn: ConnId(1),
            host: "127.0.0.1".into(),
            link: link.clone(),
        });
        link
    }

    fn course(link: &Link) -> Course {
        let mut context = Context::from_waker(Waker::noop());
        link.pull(&mut context, &mut VecDeque::new()).0
    }

    #[test]
    fn connections_do_not_wait_for_a_core_that_is_gone() {
        let inbox = Inbox::default();
        let before = opened(&inbox);
        assert_eq!(course(&before), Course::Open);
        inbox.shut();
        assert_eq!(course(&before), Course::Cut);
        assert_eq!(course(&opened(&inbox)), Course::Cut);
        assert!(inbox.is_empty());
    }
}
