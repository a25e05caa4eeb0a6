//! Everything that the core is told, in one queue, and whose turn it is to tell it.
//!
//! Whoever puts something in never waits. The queue is bounded by what may be under way: see the
//! crate. The core has one driver at a time; whoever enters takes all that waits, and what comes
//! meanwhile is left to the core's own thread.

use std::collections::VecDeque;
use std::mem;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ackord_coord_core::contract::{ConnId, Input};
use ackord_coord_core::metrics::MetricFamily;
use ackord_machine::MonoTime;
use bytes::Bytes;

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
    /// A frame for the core.
    Frame {
        conn: ConnId,
        bytes: Bytes,
        /// What of it the budget counts until the core has taken it.
        counted: usize,
    },
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
    pub(crate) fn discard(self) {
        if let Item::Opened { link, .. } = self {
            link.cut();
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    queue: Mutex<Queue>,
    /// The core's own thread waits here.
    called: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    /// Someone drives the core.
    driven: bool,
    /// The core has ended: its own thread has to close it.
    ended: bool,
    /// Nobody will drive the core any more.
    shut: bool,
    /// When the core wants a turn although nothing comes.
    alarm: Option<MonoTime>,
    /// The core's own thread looks again at this time; `None`: not by itself.
    asleep_until: Option<MonoTime>,
}

impl Queue {
    /// What whoever drives the core from now on is to tell it.
    fn enter(&mut self) -> VecDeque<Item> {
        self.driven = true;
        mem::take(&mut self.items)
    }

    /// Nobody drives the core, and something waits.
    fn calls(&self) -> bool {
        !self.driven && !self.items.is_empty()
    }

    /// The core's own thread would sleep through the alarm.
    fn oversleeps(&self) -> bool {
        let wakes_before = |at| self.asleep_until.is_some_and(|until| until <= at);
        self.alarm.is_some_and(|at| !wakes_before(at))
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something in, for the core's own thread.
    pub(crate) fn push(&self, item: Item) {
        self.put([item]);
        self.call();
    }

    /// Puts things in and wakes nobody: `enter` or `call` has to follow.
    pub(crate) fn put(&self, items: impl IntoIterator<Item = Item>) {
        let mut queue = self.lock();
        if queue.shut {
            drop(queue);
            return items.into_iter().for_each(Item::discard);
        }
        queue.items.extend(items);
    }

    /// Has the core's own thread see to what waits, unless someone drives the core, who does that
    /// on leaving.
    pub(crate) fn call(&self) {
        if self.lock().calls() {
            self.called.notify_one();
        }
    }

    /// For the core's own thread, before anyone else: enters even where nothing waits.
    pub(crate) fn begin(&self) -> Option<VecDeque<Item>> {
        Some(self.lock().enter())
    }

    /// What to tell the core now; the caller drives it until it leaves. `None`: someone drives it
    /// already, or nothing waits.
    pub(crate) fn enter(&self) -> Option<VecDeque<Item>> {
        let mut queue = self.lock();
        (queue.calls() && !queue.ended).then(|| queue.enter())
    }

    /// The caller drives the core no longer.
    pub(crate) fn leave(&self, alarm: Option<MonoTime>, ended: bool) {
        let mut queue = self.lock();
        queue.driven = false;
        queue.alarm = alarm;
        queue.ended |= ended;
        let call = queue.ended || queue.calls() || queue.oversleeps();
        drop(queue);
        if call {
            self.called.notify_one();
        }
    }

    /// For the core's own thread: enters once something waits or the alarm is due, `until` which it
    /// is so long. `None`: the core has ended.
    pub(crate) fn wait(
        &self,
        until: impl Fn(MonoTime) -> Option<Duration>,
    ) -> Option<VecDeque<Item>> {
        let mut queue = self.lock();
        loop {
            if queue.driven {
                // Who drives it calls for what is left.
                queue.asleep_until = None;
                queue = self.sleep(queue, None);
                continue;
            }
            if queue.ended {
                return None;
            }
            let timeout = queue.alarm.and_then(&until);
            if queue.calls() || timeout.is_some_and(|timeout| timeout.is_zero()) {
                return Some(queue.enter());
            }
            queue.asleep_until = queue.alarm;
            queue = self.sleep(queue, timeout);
        }
    }

    fn sleep<'a>(
        &self,
        queue: MutexGuard<'a, Queue>,
        timeout: Option<Duration>,
    ) -> MutexGuard<'a, Queue> {
        match timeout {
            Some(timeout) => {
                let slept = self.called.wait_timeout(queue, timeout);
                slept.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self
                .called
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// The core is gone: what is there and what still comes is nobody's.
    pub(crate) fn shut(&self) {
        let mut queue = self.lock();
        queue.shut = true;
        let items = mem::take(&mut queue.items);
        drop(queue);
        items.into_iter().for_each(Item::discard);
    }

    /// Nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().items.is_empty()
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

    #[test]
    fn the_core_has_one_driver_at_a_time() {
        let never = |_| None;
        let inbox = Inbox::default();
        assert!(inbox.enter().is_none(), "nothing waits");
        inbox.put([Item::Drain]);
        assert_eq!(inbox.enter().map(|items| items.len()), Some(1));
        inbox.put([Item::Drain, Item::Crash]);
        assert!(inbox.enter().is_none(), "someone drives it");
        inbox.leave(None, false);
        assert_eq!(inbox.wait(never).map(|items| items.len()), Some(2));
        inbox.leave(None, true);
        inbox.put([Item::Drain]);
        assert!(inbox.enter().is_none(), "it has ended");
        assert!(inbox.wait(never).is_none(), "it has ended");
    }

    #[test]
    fn the_alarm_is_for_the_thread_of_the_core() {
        let alarm = MonoTime::from_millis(7);
        let inbox = Inbox::default();
        inbox.put([Item::Drain]);
        assert!(inbox.enter().is_some());
        inbox.leave(Some(alarm), false);
        let due = |at| (at == alarm).then_some(Duration::ZERO);
        assert_eq!(inbox.wait(due).map(|items| items.len()), Some(0));
    }

    #[test]
    fn only_an_earlier_alarm_wakes_the_thread_of_the_core() {
        let at = MonoTime::from_millis;
        let asleep = |until, alarm| Queue {
            asleep_until: until,
            alarm,
            ..Queue::default()
        };
        assert!(asleep(None, Some(at(5))).oversleeps());
        assert!(asleep(Some(at(6)), Some(at(5))).oversleeps());
        assert!(!asleep(Some(at(5)), Some(at(5))).oversleeps());
        assert!(!asleep(Some(at(4)), Some(at(5))).oversleeps());
        assert!(!asleep(Some(at(4)), None).oversleeps());
    }
}
