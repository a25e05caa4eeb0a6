//! What tests need of a running host: to turn its clock, to wait until it is at rest, to look into
//! its core, to end it at once. A host on the clocks of the machine has none of it.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::mpsc;
use std::time::Duration;

use ackord_coord_core::adapter::Core;
use ackord_coord_core::contract::{ConnId, Effect, Input};
use ackord_machine::{MonoTime, Now};

use crate::host::Host;
use crate::inbox::Item;

/// Longer than any rest takes to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// What has passed over one connection, as the core knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Frames that the core asked for.
    pub credits: u64,
    /// Frames that it got.
    pub frames: u64,
    /// Replies that it gave.
    pub replies: u64,
    /// It closes the connection, or the connection is gone.
    pub ending: bool,
    /// The connection is gone.
    pub gone: bool,
}

/// The host at rest.
#[derive(Clone, Debug)]
pub struct Rest {
    /// Its clocks.
    pub now: Now,
    /// Every connection since the start, in the order in which they were accepted.
    pub exchanges: BTreeMap<ConnId, Exchange>,
}

/// Something to do for a test.
#[derive(Clone, Debug, Default)]
pub struct Errand {
    /// Connections with the number of frames that their clients sent: rest begins when the core has
    /// them all, or asks for no more.
    pub sent: Vec<(ConnId, u64)>,
    /// Connections that their clients cut: rest begins when the core knows.
    pub cut: Vec<ConnId>,
    /// Milliseconds by which the clock is turned then, stopping at each deadline on the way.
    pub turn_millis: u64,
}

/// Runs where the core is driven.
type Look = Box<dyn FnOnce(&dyn Any, Rest) + Send>;

/// An errand under way.
pub(crate) struct Job {
    errand: Errand,
    until: Option<MonoTime>,
    look: Look,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("errand", &self.errand)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Waits until nothing is under way any more, turns the clock, waits again, and looks into the
    /// core. `None` where the host has no [manual clock](crate::Clock::manual), has ended, has a
    /// core of another type, or comes to no rest. For tests.
    pub fn errand<C: Core + Send + 'static, T: Send + 'static>(
        &self,
        errand: Errand,
        look: impl FnOnce(&C, Rest) -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, found) = mpsc::channel();
        let look: Look = Box::new(move |core, rest| {
            if let Some(core) = core.downcast_ref::<C>() {
                // Nobody waits any more after the patience is over.
                let _ = answer.send(look(core, rest));
            }
        });
        let until = None;
        self.tell(Item::Errand(Job {
            errand,
            until,
            look,
        }));
        found.recv_timeout(PATIENCE).ok()
    }

    /// Ends everything at once: no checkpoint is written, connections break off. For tests.
    pub fn crash(&self) {
        self.tell(Item::Crash);
    }
}

/// Keeps count for errands.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    exchanges: BTreeMap<ConnId, Exchange>,
    operations: usize,
    jobs: VecDeque<Job>,
}

/// What an errand wants next.
pub(crate) enum Next {
    /// Nothing: nothing is asked, or something is under way.
    Wait,
    /// Turn the clock to the next deadline, at most this far.
    Turn(MonoTime),
    /// Look.
    Look(Look, BTreeMap<ConnId, Exchange>),
}

impl Probe {
    fn exchange(&mut self, conn: ConnId) -> &mut Exchange {
        self.exchanges.entry(conn).or_default()
    }

    pub(crate) fn input(&mut self, input: &Input) {
        match input {
            Input::Closed { conn } => {
                let exchange = self.exchange(*conn);
                (exchange.ending, exchange.gone) = (true, true);
            }
            Input::Completed(_) => self.operations = self.operations.saturating_sub(1),
            Input::Frame { conn, .. } => self.exchange(*conn).frames += 1,
            Input::Opened { conn, .. } => drop(self.exchanges.entry(*conn).or_default()),
            Input::Admin(_) | Input::Sent { .. } | Input::Timeout => {}
        }
    }

    pub(crate) fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Close { conn, .. } => self.exchange(*conn).ending = true,
            Effect::Emit(_) => {}
            Effect::Read { conn } => self.exchange(*conn).credits += 1,
            Effect::Send { conn, .. } => self.exchange(*conn).replies += 1,
            Effect::Store(_) => self.operations += 1,
        }
    }

    pub(crate) fn take(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    fn is_at_rest(&self, errand: &Errand) -> bool {
        let taken = |(conn, sent): &(ConnId, u64)| {
            self.exchanges
                .get(conn)
                .is_some_and(|own| own.ending || own.frames >= *sent || own.frames == own.credits)
        };
        let gone = |conn: &ConnId| self.exchanges.get(conn).is_some_and(|own| own.gone);
        self.operations == 0 && errand.sent.iter().all(taken) && errand.cut.iter().all(gone)
    }

    /// What to do now that the inbox is empty and it is `now`.
    pub(crate) fn next(&mut self, now: Now) -> Next {
        let ready = self.jobs.front();
        if !ready.is_some_and(|job| self.is_at_rest(&job.errand)) {
            return Next::Wait;
        }
        let Some(mut job) = self.jobs.pop_front() else {
            return Next::Wait;
        };
        let millis = i64::try_from(job.errand.turn_millis).unwrap_or(i64::MAX);
        let until = *job.until.get_or_insert(now.mono.plus_millis(millis));
        if now.mono < until {
            self.jobs.push_front(job);
            return Next::Turn(until);
        }
        Next::Look(job.look, self.exchanges.clone())
    }
}
