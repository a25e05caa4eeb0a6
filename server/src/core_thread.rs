//! The thread that owns the core.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use ackord_coord_core::adapter::Core;
use ackord_coord_core::contract::{AdminCommand, Event, Input};
use ackord_machine::{Deadline, DeadlineReason, MonoTime, Now};

use crate::clock::Clock;
use crate::host::Shared;
use crate::inbox::Item;
use crate::phase::Phase;
use crate::probe::{Next, Probe, Rest};
use crate::router::Router;

/// A clean stop takes no longer than this before the store is closed.
const DRAIN_MILLIS: i64 = 1500;
/// So many inputs are handled before their effects are carried out.
const BATCH: usize = 256;

/// See the module.
pub(crate) struct CoreThread<C> {
    core: C,
    clock: Clock,
    router: Router,
    shared: Arc<Shared>,
    course: Course,
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

impl<C: Core + Send + 'static> CoreThread<C> {
    pub(crate) fn new(core: C, clock: Clock, router: Router, shared: Arc<Shared>) -> Self {
        CoreThread {
            core,
            clock,
            router,
            shared,
            course: Course::Running,
            probe: clock.is_manual().then(Probe::default),
        }
    }

    /// Drives the core until the end, then closes the store.
    pub(crate) fn run(mut self) -> Result<(), String> {
        self.effects(self.clock.now());
        let result = loop {
            if let Course::Ended(result) = &self.course {
                break result.clone();
            }
            let mut items = self.shared.inbox.take(self.timeout());
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
        };
        self.router.close();
        result
    }

    /// Tells the core that a deadline has passed, if one has.
    fn due(&mut self, now: Now) {
        let next = self.core.next_deadline();
        if next.is_some_and(|deadline| deadline.at <= now.mono) {
            self.input(now, Input::Timeout);
            self.effects(now);
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

    /// How long to sleep; `None` means until something comes.
    fn timeout(&self) -> Option<Duration> {
        let own = match self.course {
            Course::Draining { until } | Course::Flushing { until } => Some(Deadline {
                at: until,
                reason: DeadlineReason::EffectsQueued,
            }),
            Course::Running | Course::Ended(_) => None,
        };
        let next = self.core.next_deadline().into_iter().chain(own).min();
        next.and_then(|deadline| self.clock.until(deadline))
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
            Item::Input(Input::Frame { conn, bytes }) => {
                if let Some(frame) = self.router.arrived(conn, bytes) {
                    self.input(now, frame);
                }
            }
            Item::Input(input) => self.input(now, input),
            Item::Opened { conn, host, link } => {
                if let Course::Flushing { .. } = self.course {
                    link.close();
                }
                self.router.opened(conn, link);
                self.input(now, Input::Opened { conn, host });
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
