//! Who drives the core.
//!
//! A change of thread costs more than most requests. So whoever has something to tell the core and
//! finds nobody driving it takes a turn itself: the task of a connection with the frames it has
//! read, a thread of the store with what it has completed where no work waits for it. The core's own
//! thread has the rest: deadlines, what came while someone else drove, the beginning and the end.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;
use crate::core_driver::Turns;
use crate::host::Shared;
use crate::inbox::Item;
use crate::phase::Phase;

/// Where the core is while it can be driven. Only who has entered through the inbox touches it.
#[derive(Default)]
pub(crate) struct Seat(Mutex<Option<Box<dyn Turns>>>);

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").finish_non_exhaustive()
    }
}

impl Seat {
    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Turns>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// The work of the core's own thread, from the beginning to the end.
    pub(crate) fn drive(&self, mut core: Box<dyn Turns>, clock: Clock) {
        // Nothing is told before the core has begun.
        let mut items = self.inbox.begin();
        guarded(&mut *core, |core| core.begin());
        *self.seat.lock() = Some(core);
        while let Some(told) = items {
            self.tell(told);
            items = self.inbox.wait(|at| clock.until(at));
        }
        let core = self.seat.lock().take();
        let result = core.map_or(Ok(()), |core| core.close());
        self.inbox.shut();
        self.phase.advance(Phase::Finished(result));
    }

    /// Takes a turn if something waits and nobody drives the core. Whether it did.
    pub(crate) fn turn(&self) -> bool {
        let items = self.inbox.enter();
        let entered = items.is_some();
        items.into_iter().for_each(|items| self.tell(items));
        entered
    }

    /// One turn, by whoever has entered.
    fn tell(&self, mut items: VecDeque<Item>) {
        let mut seat = self.seat.lock();
        let Some(core) = &mut *seat else { return };
        if !core.has_ended() {
            guarded(&mut **core, |core| core.turn(&mut items));
        }
        let (alarm, ended) = (core.alarm(), core.has_ended());
        drop(seat);
        // What a core that has ended did not take.
        items.into_iter().for_each(Item::discard);
        self.inbox.leave(alarm, ended);
    }
}

/// A panic of the core ends it.
fn guarded(core: &mut dyn Turns, work: impl FnOnce(&mut dyn Turns)) {
    let worked = catch_unwind(AssertUnwindSafe(|| work(core)));
    worked.unwrap_or_else(|panic| core.fail(panicked(&*panic)));
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!(
        "the core stopped because of a mistake in it ({}); what was acknowledged is kept, start \
         the broker again and report this",
        text.unwrap_or("no text")
    )
}
