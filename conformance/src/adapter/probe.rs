//! The core that watches its adapter.

use std::collections::{BTreeMap, VecDeque};

use ackord_coord_core::adapter::Core;
use ackord_coord_core::{CloseReason, ConnId, Effect, Event, Input};
use ackord_machine::{ApiMisuse, Deadline, DeadlineReason, MonoTime, Now, StorageOp};
use bytes::Bytes;

use super::language::{Verb, farewell};
use super::storage_case::StorageCase;
use super::watch::Watch;
use super::{Book, Rule};

/// Chunks of this size make up what a connection is sent at its end.
const FAREWELL_CHUNK: usize = 48 * 1024;

/// A core for the adapter under test. It is driven as a broker is.
#[derive(Debug)]
pub struct Probe {
    watch: Watch,
    effects: VecDeque<Effect>,
    names: BTreeMap<String, ConnId>,
    held: BTreeMap<String, (ConnId, Bytes)>,
    timers: BTreeMap<(MonoTime, ConnId), Bytes>,
    waiting: Vec<(ConnId, Verb, Bytes)>,
    storage: Option<(ConnId, StorageCase)>,
}

impl Probe {
    pub(super) fn new(book: Book) -> Self {
        Probe {
            watch: Watch::new(book),
            effects: VecDeque::from([Effect::Emit(Event::Ready)]),
            names: BTreeMap::new(),
            held: BTreeMap::new(),
            timers: BTreeMap::new(),
            waiting: Vec::new(),
            storage: None,
        }
    }

    fn grant(&mut self, conn: ConnId) {
        self.watch.grant(conn);
        self.effects.push_back(Effect::Read { conn });
    }

    fn send(&mut self, conn: ConnId, chunks: Vec<Bytes>) {
        let bytes = chunks.iter().map(Bytes::len).sum();
        self.watch.sending(conn, bytes);
        self.effects.push_back(Effect::Send { conn, chunks });
    }

    /// Sends a reply as a frame in uneven chunks, then asks for the next request.
    fn answer(&mut self, conn: ConnId, reply: &Bytes) {
        if !self.watch.listens(conn) {
            return;
        }
        let size = u32::try_from(reply.len()).unwrap_or(u32::MAX);
        let size = Bytes::copy_from_slice(&size.to_be_bytes());
        let (one, two) = (reply.len() / 7, reply.len() / 2);
        let chunks = vec![
            size.slice(..3),
            size.slice(3..),
            reply.slice(..one),
            Bytes::new(),
            reply.slice(one..two),
            reply.slice(two..),
        ];
        self.send(conn, chunks);
        self.grant(conn);
    }

    fn frame(&mut self, now: Now, conn: ConnId, bytes: Bytes) {
        if !self.watch.frame(conn) || !self.watch.listens(conn) {
            return;
        }
        let Some(verb) = Verb::parse(&bytes) else {
            let seen = "a frame came that nobody sent";
            return self.watch.note(Rule::Credits, seen);
        };
        match verb {
            Verb::Bye(kibibytes) => self.bye(conn, kibibytes),
            Verb::Echo => self.answer(conn, &bytes),
            Verb::Flushed(_) | Verb::Gone(_) => self.waiting.push((conn, verb, bytes)),
            Verb::Hold(name) => drop(self.held.insert(name, (conn, bytes))),
            Verb::Name(name) => {
                self.names.insert(name, conn);
                self.answer(conn, &bytes);
            }
            Verb::Release(name) => {
                if let Some((held, reply)) = self.held.remove(&name) {
                    self.answer(held, &reply);
                }
                self.answer(conn, &bytes);
            }
            Verb::Store => {
                let mut case = StorageCase::default();
                let ops = case.begin();
                self.storage = Some((conn, case));
                self.issue(ops);
            }
            Verb::Timer(millis) => {
                let at = now.mono.plus_millis(millis);
                self.timers.insert((at, conn), bytes);
            }
        }
    }

    fn bye(&mut self, conn: ConnId, kibibytes: usize) {
        let all = Bytes::from(farewell(kibibytes));
        let mut rest = all.clone();
        while !rest.is_empty() {
            let chunk = rest.split_to(FAREWELL_CHUNK.min(rest.len()));
            self.send(conn, vec![chunk]);
        }
        self.watch.closing(conn);
        let reason = CloseReason::Draining;
        self.effects.push_back(Effect::Close { conn, reason });
    }

    fn issue(&mut self, ops: Vec<StorageOp>) {
        for op in ops {
            self.watch.issue(&op);
            self.effects.push_back(Effect::Store(op));
        }
    }

    fn completed(&mut self, done: ackord_machine::Completion) {
        if !self.watch.completed(&done) {
            return;
        }
        let Some((conn, case)) = &mut self.storage else {
            return;
        };
        let (conn, step) = (*conn, case.completed(done));
        if let Some(seen) = step.wrong {
            self.watch.note(Rule::Storage, seen);
        }
        self.issue(step.next);
        if step.over {
            self.storage = None;
            self.answer(conn, &Bytes::from_static(b"store done"));
        }
    }

    /// Only a timeout fires them: other inputs must not hide a deadline that is forgotten.
    fn timers(&mut self, now: Now) {
        while let Some(entry) = self.timers.first_entry()
            && entry.key().0 <= now.mono
        {
            let conn = entry.key().1;
            let reply = entry.remove();
            self.answer(conn, &reply);
        }
    }

    /// Answers what has come about.
    fn advance(&mut self) {
        let (names, watch) = (&self.names, &self.watch);
        let is_ready = |(_, verb, _): &(ConnId, Verb, Bytes)| match verb {
            Verb::Flushed(name) => names.get(name).is_none_or(|conn| watch.is_flushed(*conn)),
            Verb::Gone(name) => names.get(name).is_some_and(|conn| watch.is_gone(*conn)),
            _ => true,
        };
        let (ready, waiting): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(is_ready);
        self.waiting = waiting;
        for (conn, _, reply) in ready {
            self.answer(conn, &reply);
        }
    }
}

impl Core for Probe {
    fn handle(&mut self, now: Now, input: Input) -> Result<(), ApiMisuse> {
        self.watch.clock(now.mono);
        match input {
            Input::Admin(_) => self.effects.push_back(Effect::Emit(Event::Drained)),
            Input::Closed { conn } => self.watch.closed(conn),
            Input::Completed(done) => self.completed(done),
            Input::Frame { conn, bytes } => self.frame(now, conn, bytes),
            Input::Opened { conn, .. } => {
                self.watch.opened(conn);
                self.grant(conn);
            }
            Input::Sent { conn, bytes } => self.watch.sent(conn, bytes),
            Input::Timeout => self.timers(now),
        }
        self.advance();
        Ok(())
    }

    fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    fn next_deadline(&self) -> Option<Deadline> {
        let (at, _) = self.timers.keys().next()?;
        Some(Deadline {
            at: *at,
            reason: DeadlineReason::FetchWait,
        })
    }
}
