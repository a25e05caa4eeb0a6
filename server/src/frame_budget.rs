//! What the frames of all connections may take together while they arrive (Kafka's
//! `queued.max.request.bytes`), together with the requests that are under way.
//!
//! Memory is taken as bytes arrive, not as they are announced, so a size alone costs nothing. Small
//! frames never wait. Where the bound is reached the others are not read on, so that TCP slows
//! their clients down; one frame may grow past the bound all the same, else frames that are all half
//! there would wait for each other for ever. So the most is the bound, one frame, and a small frame
//! for each connection. A client that stops in the middle of a frame holds what it has sent until its
//! connection has been idle for too long (`idle.rs`).

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

/// So much a frame takes without being counted.
pub(crate) const SMALL: usize = 16 * 1024;

/// See the module.
#[derive(Debug)]
pub(crate) struct FrameBudget {
    bound: usize,
    /// So much further the frame may grow that may grow past the bound: as large as a frame may be.
    further: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Of frames that are not whole yet.
    arriving: usize,
    /// Of frames on their way to the core.
    passed: usize,
    /// Of requests that the core has not answered.
    core: usize,
    /// The one that may grow past the bound.
    ahead: Option<u64>,
    last: u64,
    /// By their tickets.
    waiting: BTreeMap<u64, Waker>,
}

impl State {
    fn used(&self) -> usize {
        self.arriving + self.under_way()
    }

    fn under_way(&self) -> usize {
        self.passed + self.core
    }

    /// Those that wait may have room now.
    fn wake(&mut self) -> Vec<Waker> {
        mem::take(&mut self.waiting).into_values().collect()
    }
}

impl FrameBudget {
    pub(crate) fn new(bound: usize, further: usize) -> Self {
        FrameBudget {
            bound,
            further,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The core has taken `handled` bytes of frames that were passed on; its requests hold `core` bytes
    /// now.
    pub(crate) fn core_holds(&self, handled: usize, core: usize) {
        let mut state = self.lock();
        let before = state.used();
        state.passed -= handled;
        state.core = core;
        let woken = if state.used() < before {
            state.wake()
        } else {
            Vec::new()
        };
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }
}

/// What one connection has taken.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<FrameBudget>,
    taken: usize,
    /// Its place among those that wait; 0: it does not.
    ticket: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back(false);
    }
}

impl Share {
    pub(crate) fn new(budget: Arc<FrameBudget>) -> Self {
        Share {
            budget,
            taken: 0,
            ticket: 0,
        }
    }

    /// Whether the frame that arrives may take `bytes` now; where not, the task is woken when it may.
    pub(crate) fn grow(&mut self, bytes: usize, context: &Context<'_>) -> bool {
        if bytes <= SMALL.max(self.taken) {
            return true;
        }
        let mut state = self.budget.lock();
        if self.ticket == 0 {
            state.last += 1;
            self.ticket = state.last;
        }
        let more = bytes - self.taken;
        let (used, bound) = (state.used().saturating_add(more), self.budget.bound);
        // Requests under way end, so the one ahead may wait for them; for frames that are half there
        // it would wait for ever.
        let room = used <= bound.saturating_add(self.budget.further) || state.under_way() == 0;
        let may = used <= bound || room && *state.ahead.get_or_insert(self.ticket) == self.ticket;
        if !may {
            state.waiting.insert(self.ticket, context.waker().clone());
            return false;
        }
        state.waiting.remove(&self.ticket);
        state.arriving += more;
        self.taken = bytes;
        true
    }

    /// The frame is whole. Returns what of it stays counted until the core has taken it: nothing where
    /// nobody has asked for it, since frames that are read early have a bound of their own.
    pub(crate) fn pass(&mut self, asked: bool) -> usize {
        let passed = if asked { self.taken } else { 0 };
        self.give_back(asked);
        passed
    }

    fn give_back(&mut self, asked: bool) {
        if self.ticket == 0 {
            return;
        }
        let (taken, ticket) = (mem::take(&mut self.taken), mem::take(&mut self.ticket));
        let mut state = self.budget.lock();
        state.arriving -= taken;
        if asked {
            state.passed += taken;
        }
        state.waiting.remove(&ticket);
        if state.ahead == Some(ticket) {
            state.ahead = None;
        }
        let woken = state.wake();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: usize = 10 * SMALL;

    fn budget() -> Arc<FrameBudget> {
        Arc::new(FrameBudget::new(BOUND, BOUND))
    }

    fn grows(share: &mut Share, bytes: usize) -> bool {
        share.grow(bytes, &Context::from_waker(Waker::noop()))
    }

    #[test]
    fn past_the_bound_one_frame_goes_on_and_small_ones_always() {
        let budget = budget();
        let share = || Share::new(budget.clone());
        let (mut first, mut second, mut third) = (share(), share(), share());
        assert!(grows(&mut first, BOUND));
        assert!(grows(&mut second, 2 * SMALL), "one may");
        assert!(!grows(&mut third, 2 * SMALL), "a second one may not");
        assert!(!grows(&mut first, BOUND + 1), "nor one that has taken much");
        assert!(grows(&mut second, BOUND), "the same one may go on");
        assert!(grows(&mut third, SMALL));
        drop(second);
        assert!(grows(&mut third, 2 * SMALL), "now it may");
        assert!(!grows(&mut first, BOUND + 1));
        drop(third);
        assert!(grows(&mut first, BOUND + 1));
        drop(first);
        assert_eq!(budget.lock().used(), 0);
        assert_eq!(budget.lock().ahead, None);
    }

    #[test]
    fn a_frame_counts_until_the_core_is_done_with_it() {
        let budget = budget();
        let (mut first, mut second) = (Share::new(budget.clone()), Share::new(budget.clone()));
        assert!(grows(&mut first, BOUND));
        let passed = first.pass(true);
        assert_eq!(passed, BOUND);
        assert!(grows(&mut second, BOUND), "one may");
        assert!(!grows(&mut first, 2 * SMALL));
        budget.core_holds(passed, BOUND);
        budget.core_holds(second.pass(true), 2 * BOUND);
        assert!(
            !grows(&mut second, 2 * SMALL),
            "not over requests under way"
        );
        budget.core_holds(0, BOUND);
        assert!(grows(&mut second, 2 * SMALL));
        assert!(!grows(&mut first, 2 * SMALL), "the request is under way");
        budget.core_holds(0, 0);
        assert!(grows(&mut first, 2 * SMALL), "it is answered");
        assert_eq!(first.pass(false), 0, "nobody asked for it");
        drop(second);
        assert_eq!(budget.lock().used(), 0);
    }

    #[test]
    fn whoever_waits_is_woken_when_there_is_room() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        use std::task::Wake;

        #[derive(Default)]
        struct Count(AtomicUsize);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }

        let budget = budget();
        let (mut first, mut second) = (Share::new(budget.clone()), Share::new(budget.clone()));
        let mut third = Share::new(budget.clone());
        assert!(grows(&mut first, BOUND) && grows(&mut second, BOUND));
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        for _ in 0..3 {
            assert!(!third.grow(BOUND, &Context::from_waker(&waker)));
        }
        assert_eq!(budget.lock().waiting.len(), 1, "it waits once");
        drop(first);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        drop(third);
        assert!(budget.lock().waiting.is_empty());
    }

    #[test]
    fn no_bound_is_one_that_is_never_reached() {
        let budget = Arc::new(FrameBudget::new(usize::MAX, BOUND));
        let mut shares: Vec<Share> = (0..3).map(|_| Share::new(budget.clone())).collect();
        assert!(shares.iter_mut().all(|share| grows(share, 1 << 40)));
    }
}
