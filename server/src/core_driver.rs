//! One turn of the core: what it is told, what it asks for, how a stop goes on.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use ackord_coord_core::adapter::Core;
use ackord_coord_core::contract::{AdminCommand, Event, Input};
use ackord_machine::{MonoTime, Now};

use crate::clock::Clock;
use crate::host::Shared;
use crate::idle::Looks;
use crate::inbox::Item;
use crate::phase::Phase;
use crate::probe::{Next, Probe, Rest};
use crate::router::Router;

/// A clean stop takes no longer than this before the store is closed.
const DRAIN_MILLIS: i64 = 1500;
/// So many inputs are handled before their effects are carried out.
const BATCH: usize = 256;

/// What whoever drives the core needs of it.
pub(crate) trait Turns: Send {
    /// Before anything has come: what the core asks for by itself.
    fn begin(&mut self);

    /// Handles what came, then what is due.
    fn turn(&mut self, items: &mut VecDeque<Item>);

    /// When there is something to do although nothing comes.
    fn alarm(&self) -> Option<MonoTime>;

    /// There are no more turns.
    fn has_ended(&self) -> bool;

    /// Ends the core because of `why`.
    fn fail(&mut self, why: String);

    /// Closes the store, and says how it ended. Not from a thread of the store.
    fn close(self: Box<Self>) -> Result<(), String>;
}

/// See the module.
pub(crate) struct CoreDriver<C> {
    core: C,
    clock: Clock,
    router: Router,
    shared: Arc<Shared>,
    course: Course,
    looks: Option<Looks>,
    /// Bytes of frames that the budget counts and the core has taken.
    handled: usize,
    /// Only where the clock is turned by hand.
    probe: Option<Probe>,
}

/// How far a stop is.
#[derive(Clone, Debug)]
enum Course {
    Running,
    /// The core finishes what is under way.
    Draining {
        until: MonoTime,
    },
    /// The core has finished; replies go out to the connections that are left.
    Flushing {
        until: MonoTime,
    },
    Ended(Result<(), String>),
}

impl<C: Core + Send + 'static> Turns for CoreDriver<C> {
    fn begin(&mut self) {
        self.effects(self.clock.now());
    }

    fn turn(&mut self, items: &mut VecDeque<Item>) {
        let mut now = self.clock.now();
        while !items.is_empty() {
            let batch = items.len().min(BATCH);
            items.drain(..batch).for_each(|item| self.item(now, item));
            self.effects(now);
            now = self.clock.now();
        }
        self.due(now);
        self.advance(now);
        self.errands();
    }

    fn alarm(&self) -> Option<MonoTime> {
        let own = match self.course {
            Course::Draining { until } | Course::Flushing { until } => Some(until),
            Course::Running | Course::Ended(_) => None,
        };
        let look = self.looks.as_ref().map(Looks::next);
        let next = self.core.next_deadline().map(|deadline| deadline.at);
        next.into_iter().chain(own).chain(look).min()
    }

    fn has_ended(&self) -> bool {
        matches!(self.course, Course::Ended(_))
    }

    fn fail(&mut self, why: String) {
        self.course = Course::Ended(Err(why));
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        self.router.close();
        match self.course {
            Course::Ended(result) => result,
            Course::Running | Course::Draining { .. } | Course::Flushing { .. } => Ok(()),
        }
    }
}

impl<C: Core + Send + 'static> CoreDriver<C> {
    pub(crate) fn new(
        core: C,
        clock: Clock,
        router: Router,
        shared: Arc<Shared>,
        idle_ms: Option<u64>,
    ) -> Self {
        CoreDriver {
            core,
            clock,
            router,
            shared,
            course: Course::Running,
            looks: Looks::new(idle_ms, clock.now().mono),
            handled: 0,
            probe: clock.is_manual().then(Probe::default),
        }
    }

    /// Tells the core that a deadline has passed, if one has.
    fn due(&mut self, now: Now) {
        let next = self.core.next_deadline();
        if next.is_some_and(|deadline| deadline.at <= now.mono) {
            self.input(now, Input::Timeout);
            self.effects(now);
        }
        let looks = self.looks.as_mut();
        if let Some(idle_ms) = looks.and_then(|looks| looks.due(now.mono)) {
            self.router.end_idle(now.mono, idle_ms);
        }
    }

    /// Does what tests ask for, as far as that is possible now.
    fn errands(&mut self) {
        while self.shared.inbox.is_empty() {
            let now = self.clock.now();
            let Some(probe) = &mut self.probe else { return };
            match probe.next(now) {
                Next::Wait => return,
                Next::Turn(until) => {
                    let next = self.core.next_deadline().map(|deadline| deadline.at);
                    self.clock.turn(next.map_or(until, |at| at.min(until)));
                    self.due(self.clock.now());
                }
                Next::Look(look, exchanges) => {
                    let core: &dyn Any = &self.core;
                    look(core, Rest { now, exchanges });
                }
            }
        }
    }

    fn item(&mut self, now: Now, item: Item) {
        match item {
            Item::Crash => self.course = Course::Ended(Ok(())),
            Item::Drain => self.drain(now),
            Item::Errand(job) => {
                if let Some(probe) = &mut self.probe {
                    probe.take(job);
                }
            }
            // Who asked may have gone.
            Item::Metrics(to) => drop(to.try_send(self.core.metrics(now))),
            Item::Input(Input::Closed { conn }) => {
                self.router.closed(conn);
                self.input(now, Input::Closed { conn });
                self.shared.connection_ended();
            }
            Item::Frame {
                conn,
                bytes,
                counted,
            } => {
                self.handled += counted;
                if let Some(frame) = self.router.arrived(conn, bytes) {
                    self.input(now, frame);
                }
            }
            Item::Input(input) => self.input(now, input),
            Item::Opened { conn, host, link } => {
                if let Course::Flushing { .. } = self.course {
                    link.close();
                }
                self.router.opened(now.mono, conn, link);
                self.input(now, Input::opened(conn, host));
            }
        }
    }

    fn input(&mut self, now: Now, input: Input) {
        if let Some(probe) = &mut self.probe {
            probe.input(&input);
        }
        if let Err(misuse) = self.core.handle(now, input) {
            self.shared
                .logger
                .error(format_args!("the core refused an input: {misuse}"));
        }
    }

    /// Carries out what the core asks for, and gives it the frames that are there already.
    fn effects(&mut self, now: Now) {
        loop {
            while let Some(effect) = self.core.poll_effect() {
                if let Some(probe) = &mut self.probe {
                    probe.effect(&effect);
                }
                if let Some(event) = self.router.route(effect) {
                    self.event(now, event);
                }
            }
            let Some(frame) = self.router.asked() else {
                break;
            };
            self.input(now, frame);
        }
        self.router.flush();
        let handled = std::mem::take(&mut self.handled);
        self.shared
            .budget
            .core_holds(handled, self.core.request_bytes());
    }

    fn event(&mut self, now: Now, event: Event) {
        match event {
            Event::Drained => self.flush(now),
            Event::Ready => self.shared.phase.advance(Phase::Serving),
            Event::RecoveryFailed(what) => {
                self.course = Course::Ended(Err(format!(
                    "the stored state cannot be used ({what}); restore the data directory from a \
                     copy, or move it away to start with an empty one"
                )));
            }
            Event::Warning(text) => self.shared.logger.warn(text),
        }
    }

    fn drain(&mut self, now: Now) {
        if let Course::Running = self.course {
            self.course = Course::Draining {
                until: now.mono.plus_millis(DRAIN_MILLIS),
            };
            self.shared.phase.advance(Phase::Draining);
            self.input(now, Input::Admin(AdminCommand::Drain));
        }
    }

    fn flush(&mut self, now: Now) {
        let until = match self.course {
            Course::Draining { until } => until,
            Course::Running => now.mono.plus_millis(DRAIN_MILLIS),
            Course::Flushing { .. } | Course::Ended(_) => return,
        };
        self.course = Course::Flushing { until };
        self.router.close_all();
    }

    /// Ends a stop that is complete or takes too long.
    fn advance(&mut self, now: Now) {
        let (until, complete) = match self.course {
            Course::Draining { until } => (until, false),
            Course::Flushing { until } => (until, !self.router.has_connections()),
            Course::Running | Course::Ended(_) => return,
        };
        if complete {
            self.course = Course::Ended(Ok(()));
        } else if until <= now.mono {
            self.shared
                .logger
                .warn("the clean stop took too long and is cut short");
            self.course = Course::Ended(Ok(()));
        }
    }
}
