//! For those who write an adapter: the loop, the four rules, and what goes wrong where one is
//! broken.
//!
//! An adapter is the part of a program that does what a [`Core`] decides: it owns the sockets, the
//! clock and the store. Two are in this project (tokio and async-std), and the example `embed` is
//! one of 150 lines on plain threads. Any other runtime, or none, will do.
//!
//! # The loop
//!
//! One thread or task owns the core. It waits for something to happen, tells the core, carries out
//! whatever the core asks for, and waits again:
//!
//! ```
//! use ackord_coord_core::adapter::Core;
//! use ackord_coord_core::{Effect, Input};
//! use ackord_machine::{Deadline, Now};
//!
//! fn step(core: &mut impl Core, now: Now, input: Input, mut carry_out: impl FnMut(Effect)) -> Option<Deadline> {
//!     if let Err(misuse) = core.handle(now, input) {
//!         // A bug of the adapter. The core has changed nothing.
//!         eprintln!("{misuse}");
//!     }
//!     while let Some(effect) = core.poll_effect() {
//!         carry_out(effect);
//!     }
//!     // When to come back with `Input::Timeout`, should nothing happen before.
//!     core.next_deadline()
//! }
//! ```
//!
//! A new core has effects before its first input: it reads back what is stored. Connections can be
//! opened at once; their first credit comes with [`Event::Ready`](crate::Event::Ready).
//!
//! # The four rules
//!
//! **1. Every storage operation ends once, in the order of its log.** An operation is done when it
//! is durable; all parts of an append or none; none before its `after`. Exactly one
//! [`Input::Completed`] tells how it went. Changes of one log end in their order, and a read sees all
//! changes before it and ends after them; later changes may overtake a slow read.
//!
//! *Broken:* a lost completion parks a reply, and everything behind it, for ever; a log out of order
//! is refused at the next start, or read back as another history than the one that was promised; an
//! operation before its `after` can make a transaction visible that was never decided.
//! Where it is not known whether a write has landed, say
//! [`Indeterminate`](ackord_machine::StorageFault::Indeterminate), and the core reads the log back:
//! a guess would double records or lose them.
//!
//! **2. The core is called no later than its deadline.** Ask for [`Core::next_deadline`] again after
//! every call: it moves both ways. [`Now::mono`](ackord_machine::Now) never goes back, and both clocks
//! are read after the wait, not before it.
//!
//! *Broken:* locks of records never run out, transactions stay open past their timeout and hold back
//! every read_committed reader, long polls hang, dead members keep their partitions.
//!
//! **3. Bytes leave in order, and a closed connection is silent.** The chunks of
//! [`Effect::Send`] go out whole, in the order of the effects, and [`Input::Sent`] says how many
//! bytes left; of a few kilobytes on a connection with a credit it may do so along with whatever
//! comes next. After [`Effect::Close`] what is queued still goes out, then the connection ends.
//! [`Input::Closed`] comes once for every connection, whoever closed it, and nothing about the
//! connection after it. A [`ConnId`](crate::ConnId) is never used twice.
//!
//! *Broken:* clients take the answer to one request for that to another; without `Sent` a
//! connection counts as clogged and is read no more; without `Closed` its fetches, sessions and
//! buffers stay for ever; an id that is used again gets the replies of its predecessor.
//!
//! **4. One frame for each credit.** [`Effect::Read`] asks for one frame. Without a credit the socket
//! is not read, so that TCP slows the client down. Some read-ahead is fine if it has a bound.
//!
//! *Broken:* a client that sends faster than it is served fills the memory of the process: the
//! limits of the core hold only for what it has asked for.
//!
//! # The proof
//!
//! `ackord_conformance::adapter` runs an adapter around a core that watches it: each rule has its
//! cases, and adapters that are broken on purpose show that the cases bite.

use alloc::vec::Vec;

use ackord_machine::{ApiMisuse, Deadline, Now};

use crate::broker::Broker;
use crate::contract::{Effect, Input};
use crate::metrics::MetricFamily;

/// What an adapter drives. [`Broker`] is one; tests of adapters have others.
pub trait Core {
    /// Tells it what happened.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] where the adapter broke the contract; nothing has changed then.
    fn handle(&mut self, now: Now, input: Input) -> Result<(), ApiMisuse>;

    /// The next thing to do, until there is none.
    fn poll_effect(&mut self) -> Option<Effect>;

    /// When to call again with [`Input::Timeout`] at the latest.
    fn next_deadline(&self) -> Option<Deadline>;

    /// Bytes of the requests that are under way. An adapter that bounds what arrives adds them to it.
    fn request_bytes(&self) -> usize {
        0
    }

    /// Figures for operators. An adapter without a page for them never asks.
    fn metrics(&self, now: Now) -> Vec<MetricFamily> {
        let _ = now;
        Vec::new()
    }
}

impl Core for Broker {
    fn handle(&mut self, now: Now, input: Input) -> Result<(), ApiMisuse> {
        Broker::handle(self, now, input)
    }

    fn poll_effect(&mut self) -> Option<Effect> {
        Broker::poll_effect(self)
    }

    fn next_deadline(&self) -> Option<Deadline> {
        Broker::next_deadline(self)
    }

    fn request_bytes(&self) -> usize {
        Broker::request_bytes(self)
    }

    fn metrics(&self, now: Now) -> Vec<MetricFamily> {
        Broker::metrics(self, now)
    }
}
