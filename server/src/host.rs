//! A running broker.

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use ackord_coord_core::adapter::Core;
use ackord_coord_core::contract::{ConnId, Input};
use ackord_coord_core::metrics::MetricFamily;
use ackord_log_store::{LogStore, StoreEvent};
use ackord_machine::{Limits, Now};

use crate::clock::Clock;
use crate::connection::Connection;
use crate::core_driver::CoreDriver;
use crate::flags::Durability;
use crate::frame_budget::FrameBudget;
use crate::inbox::{Inbox, Item};
use crate::link::Link;
use crate::logging::Logger;
use crate::phase::{self, Phase, PhaseCell};
use crate::router::Router;
use crate::seat::Seat;
use crate::start::StartError;

/// Connections above the limit of the core that are still handed to it, so that it can refuse them
/// in its own way.
const REFUSED_AT_ONCE: usize = 64;

/// A handle to a running broker; clones are the same broker.
#[derive(Clone, Debug)]
pub struct Host {
    shared: Arc<Shared>,
}

/// What the threads and tasks of a broker have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) inbox: Inbox,
    pub(crate) seat: Seat,
    pub(crate) phase: PhaseCell,
    pub(crate) logger: Logger,
    pub(crate) frame_bytes: usize,
    /// Of all connections, see [`crate::allowance`].
    pub(crate) early_bytes: Arc<AtomicUsize>,
    pub(crate) budget: Arc<FrameBudget>,
    next: AtomicU64,
    open: AtomicUsize,
    most_open: usize,
}

impl Shared {
    pub(crate) fn new(limits: &Limits, logger: Logger) -> Self {
        Shared {
            inbox: Inbox::default(),
            seat: Seat::default(),
            phase: PhaseCell::new(),
            logger,
            frame_bytes: limits.frame_bytes,
            early_bytes: Arc::default(),
            budget: Arc::new(FrameBudget::new(limits.request_bytes, limits.frame_bytes)),
            next: AtomicU64::new(1),
            open: AtomicUsize::new(0),
            most_open: limits.connections.saturating_add(REFUSED_AT_ONCE),
        }
    }

    /// The core knows that a connection is gone.
    pub(crate) fn connection_ended(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Host {
    /// Opens the store, then starts the core that `make` gives and its thread.
    ///
    /// # Errors
    ///
    /// [`StartError`], whose text is meant for the operator.
    pub fn start<C: Core + Send + 'static>(
        dir: &Path,
        durability: Durability,
        limits: &Limits,
        logger: Logger,
        make: impl FnOnce(Now) -> Result<C, String>,
    ) -> Result<Host, StartError> {
        Self::start_at(Clock::system(), dir, durability, limits, logger, make)
    }

    /// [`Host::start`] with another clock.
    ///
    /// # Errors
    ///
    /// [`StartError`], whose text is meant for the operator.
    pub fn start_at<C: Core + Send + 'static>(
        clock: Clock,
        dir: &Path,
        durability: Durability,
        limits: &Limits,
        logger: Logger,
        make: impl FnOnce(Now) -> Result<C, String>,
    ) -> Result<Host, StartError> {
        let shared = Arc::new(Shared::new(limits, logger));
        let answered = shared.clone();
        let events = move |event| match event {
            StoreEvent::Completed(completion) => {
                let completed = Input::Completed(completion);
                answered.inbox.put([Item::Input(completed)]);
            }
            StoreEvent::Settled { idle: true } => {
                answered.turn();
            }
            StoreEvent::Settled { idle: false } => answered.inbox.call(),
            StoreEvent::Warning(text) => answered.logger.error(text),
        };
        let store = LogStore::open(dir, durability.into(), events).map_err(StartError::Store)?;
        let core = make(clock.now()).map_err(StartError::Config)?;
        let router = Router::new(store, logger);
        let driver = CoreDriver::new(core, clock, router, shared.clone(), limits.idle_ms);
        let own = shared.clone();
        let work = move || own.drive(Box::new(driver), clock);
        thread::Builder::new()
            .name("core".into())
            .spawn(work)
            .map_err(StartError::Thread)?;
        Ok(Host { shared })
    }

    /// Takes an accepted connection in; `peer` is its address without the port. `None`: too many
    /// are open, or the broker stops; drop the socket.
    pub fn open(&self, peer: String) -> Option<Connection> {
        if !phase::is_serving(&self.shared.phase.get()) {
            return None;
        }
        if self.shared.open.fetch_add(1, Ordering::Relaxed) >= self.shared.most_open {
            self.shared.connection_ended();
            self.shared.logger.warn(format_args!(
                "too many connections; one of {peer} is refused"
            ));
            return None;
        }
        let conn = ConnId(self.shared.next.fetch_add(1, Ordering::Relaxed));
        let link = Arc::new(Link::default());
        self.shared
            .logger
            .debug(format_args!("{conn} is open, from {peer}"));
        self.shared.inbox.push(Item::Opened {
            conn,
            host: peer,
            link: link.clone(),
        });
        Some(Connection::new(conn, self.shared.clone(), link))
    }

    /// Where an adapter says what it met.
    pub fn logger(&self) -> Logger {
        self.shared.logger
    }

    pub(crate) fn tell(&self, item: Item) {
        self.shared.inbox.push(item);
    }

    /// Asks for a clean stop; returns at once.
    pub fn drain(&self) {
        self.tell(Item::Drain);
    }

    /// The core's figures; `None` where it does not answer in time.
    pub(crate) fn metrics(&self, patience: Duration) -> Option<Vec<MetricFamily>> {
        let (to, answer) = sync_channel(1);
        self.tell(Item::Metrics(to));
        answer.recv_timeout(patience).ok()
    }

    /// Ends when no connection is to be accepted any more.
    pub async fn stopping(&self) {
        poll_fn(|context| self.shared.phase.poll(context, phase::is_stopping)).await;
    }

    /// Ends when the core is gone and the store is closed.
    pub async fn finished(&self) {
        poll_fn(|context| self.shared.phase.poll(context, phase::is_finished)).await;
    }

    /// Waits, on a thread, until the core has recovered; `false` where it stopped instead.
    pub fn wait_ready(&self) -> bool {
        let reached = |phase: &Phase| *phase != Phase::Starting;
        phase::is_serving(&self.shared.phase.wait(None, reached))
    }

    /// Waits, on a thread, until the store is closed or the time is over; then `None`.
    pub fn wait_finished(&self, timeout: Option<Duration>) -> Option<Result<(), String>> {
        match self.shared.phase.wait(timeout, phase::is_finished) {
            Phase::Finished(result) => Some(result),
            Phase::Starting | Phase::Serving | Phase::Draining => None,
        }
    }
}

impl From<Durability> for ackord_log_store::Durability {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Memory => ackord_log_store::Durability::Memory,
            Durability::Os => ackord_log_store::Durability::Os,
            Durability::Sync => ackord_log_store::Durability::Sync,
        }
    }
}
