//! How far the broker is, for everyone who waits for it: threads and tasks.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// In this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The core recovers.
    Starting,
    /// Connections are served.
    Serving,
    /// No new connections; what is under way ends.
    Draining,
    /// The core is gone and the store closed; an error is a sentence.
    Finished(Result<(), String>),
}

/// A phase that only goes forward.
#[derive(Debug)]
pub(crate) struct PhaseCell {
    state: Mutex<(Phase, Vec<Waker>)>,
    changed: Condvar,
}

impl PhaseCell {
    pub(crate) fn new() -> Self {
        PhaseCell {
            state: Mutex::new((Phase::Starting, Vec::new())),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Phase, Vec<Waker>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self) -> Phase {
        self.lock().0.clone()
    }

    /// Goes to `phase` where that is forward.
    pub(crate) fn advance(&self, phase: Phase) {
        let mut state = self.lock();
        if state.0 < phase && !matches!(state.0, Phase::Finished(_)) {
            state.0 = phase;
            let wakers = std::mem::take(&mut state.1);
            drop(state);
            self.changed.notify_all();
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// Waits on a thread until `reached` holds or the time is over.
    pub(crate) fn wait(
        &self,
        timeout: Option<Duration>,
        reached: impl Fn(&Phase) -> bool,
    ) -> Phase {
        let state = self.lock();
        let state = match timeout {
            Some(timeout) => {
                let waited = self
                    .changed
                    .wait_timeout_while(state, timeout, |state| !reached(&state.0));
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.changed.wait_while(state, |state| !reached(&state.0));
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        state.0.clone()
    }

    /// Waits in a task.
    pub(crate) fn poll(
        &self,
        context: &mut Context<'_>,
        reached: impl Fn(&Phase) -> bool,
    ) -> Poll<()> {
        let mut state = self.lock();
        if reached(&state.0) {
            return Poll::Ready(());
        }
        if !state.1.iter().any(|waker| waker.will_wake(context.waker())) {
            state.1.push(context.waker().clone());
        }
        Poll::Pending
    }
}

pub(crate) fn is_serving(phase: &Phase) -> bool {
    *phase == Phase::Serving
}

pub(crate) fn is_stopping(phase: &Phase) -> bool {
    matches!(phase, Phase::Draining | Phase::Finished(_))
}

pub(crate) fn is_finished(phase: &Phase) -> bool {
    matches!(phase, Phase::Finished(_))
}
