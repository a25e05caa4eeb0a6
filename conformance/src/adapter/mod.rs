//! Proof that an adapter keeps the four rules of [`ackord_coord_core::adapter`].
//!
//! The adapter serves a [`Probe`] in place of a broker. The probe is a core that talks a small
//! language of its own, watches everything that it is told, and asks for storage, deadlines, writes
//! and closes; the cases play its clients over loopback. An adapter that passes keeps the rules as
//! far as they can be seen from both of its sides.
//!
//! ```no_run
//! use ackord_conformance::adapter::{self, Probe};
//! use std::net::TcpListener;
//!
//! fn serve(listener: TcpListener, probe: Probe) {
//!     // The adapter under test: accept, and drive the probe as it would drive a broker.
//! #   let _ = (listener, probe);
//! }
//!
//! let breaches = adapter::check(serve);
//! assert!(breaches.is_empty(), "{breaches:#?}");
//! ```

mod cases;
mod client;
mod language;
mod probe;
mod storage_case;
mod watch;

use std::fmt;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

pub use probe::Probe;

/// A rule of [`ackord_coord_core::adapter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Every storage operation ends once, in the order of its log.
    Storage,
    /// The core is called no later than its deadline.
    Deadlines,
    /// Bytes leave in order, and a closed connection is silent.
    Writes,
    /// One frame for each credit.
    Credits,
}

/// What an adapter did that it must not do, or did not do that it must.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    /// The rule.
    pub rule: Rule,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.seen)
    }
}

/// Breaches found so far; probe and cases both add to it.
#[derive(Clone, Debug, Default)]
struct Book(Arc<Mutex<Vec<Breach>>>);

impl Book {
    fn note(&self, rule: Rule, seen: impl Into<String>) {
        let seen = seen.into();
        let mut breaches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Once is enough: a broken adapter repeats itself.
        if !breaches.iter().any(|known| known.seen == seen) {
            breaches.push(Breach { rule, seen });
        }
    }

    fn read(&self) -> Vec<Breach> {
        let breaches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        breaches.clone()
    }
}

/// Runs all cases against an adapter. `serve` is called on a thread of its own with a listener of
/// loopback and the core to drive; it need not return, and what it started is left behind.
///
/// Breaches are in the order in which they were seen. Cases wait a few seconds for what does not
/// come, so a broken adapter takes longer than one that passes.
///
/// # Panics
///
/// Where no port of loopback can be listened on.
pub fn check(serve: impl FnOnce(TcpListener, Probe) + Send + 'static) -> Vec<Breach> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback");
    let address = listener.local_addr().expect("a bound listener");
    let book = Book::default();
    let probe = Probe::new(book.clone());
    thread::spawn(move || serve(listener, probe));
    cases::run(address, &book);
    book.read()
}
