//! From the core to one connection: what to write, how much to read, when to end.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use bytes::Bytes;

use crate::idle::Activity;

/// One side fills it from whatever thread drives the core, the other empties it from whatever task serves
/// the connection. Knows no runtime: it wakes.
#[derive(Debug, Default)]
pub(crate) struct Link {
    state: Mutex<State>,
    pub(crate) activity: Activity,
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
    /// The connection reads nothing before it gets a credit.
    stalled: bool,
    course: Course,
    waker: Option<Waker>,
}

impl Link {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the connection see to what changed. A reply and the credit for the next frame mostly come
    /// together, so one call serves for several changes.
    pub(crate) fn wake(&self) {
        let waker = self.lock().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Queues chunks; [`Link::wake`] has them written.
    pub(crate) fn send(&self, mut chunks: Vec<Bytes>) {
        self.lock().chunks.append(&mut chunks);
    }

    /// One more frame may be read. Whether the connection has to be woken for it: while it reads
    /// ahead, it learns of its credits soon enough.
    pub(crate) fn grant(&self) -> bool {
        let mut state = self.lock();
        state.credits += 1;
        state.stalled
    }

    /// The connection may read no more, unless there are credits that it does not know yet.
    pub(crate) fn stall(&self) -> bool {
        let mut state = self.lock();
        state.stalled = state.credits == 0;
        state.stalled
    }

    pub(crate) fn close(&self) {
        let mut state = self.lock();
        if state.course == Course::Open {
            state.course = Course::Closing;
        }
        drop(state);
        self.wake();
    }

    pub(crate) fn cut(&self) {
        self.lock().course = Course::Cut;
        self.wake();
    }

    /// Moves what came to the connection, and wakes it when more comes. Says how far the connection
    /// is, and how many frames more may be read.
    pub(crate) fn pull(
        &self,
        context: &mut Context<'_>,
        chunks: &mut VecDeque<Bytes>,
    ) -> (Course, usize) {
        let mut state = self.lock();
        chunks.extend(state.chunks.drain(..).filter(|chunk| !chunk.is_empty()));
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => state.waker = Some(context.waker().clone()),
        }
        state.stalled = false;
        (state.course, std::mem::take(&mut state.credits))
    }
}
