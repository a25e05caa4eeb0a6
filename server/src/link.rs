//! From the core to one connection: what to write, how much to read, when to end.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use bytes::Bytes;

/// One side fills it from the thread of the core, the other empties it from whatever task serves
/// the connection. Knows no runtime: it wakes.
#[derive(Debug, Default)]
pub(crate) struct Link {
    state: Mutex<State>,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Course {
    #[default]
    Open,
    /// What is queued goes out, then the connection ends.
    Closing,
    /// It ends at once: the core is gone.
    Cut,
}

#[derive(Debug, Default)]
struct State {
    chunks: Vec<Bytes>,
    credits: usize,
    course: Course,
    waker: Option<Waker>,
}

impl Link {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn send(&self, mut chunks: Vec<Bytes>) {
        self.change(|state| state.chunks.append(&mut chunks));
    }

    pub(crate) fn grant(&self) {
        self.change(|state| state.credits += 1);
    }

    pub(crate) fn close(&self) {
        self.change(|state| {
            if state.course == Course::Open {
                state.course = Course::Closing;
            }
        });
    }

    pub(crate) fn cut(&self) {
        self.change(|state| state.course = Course::Cut);
    }

    /// Moves what came to the connection, and wakes it when more comes.
    pub(crate) fn pull(
        &self,
        context: &mut Context<'_>,
        chunks: &mut VecDeque<Bytes>,
        credits: &mut usize,
    ) -> Course {
        let mut state = self.lock();
        chunks.extend(state.chunks.drain(..).filter(|chunk| !chunk.is_empty()));
        *credits += std::mem::take(&mut state.credits);
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => state.waker = Some(context.waker().clone()),
        }
        state.course
    }
}
