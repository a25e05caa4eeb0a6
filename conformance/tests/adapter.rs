//! Both adapters keep the four rules, and five that are broken on purpose are caught.

use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;

use ackord_conformance::adapter::{self, Breach, Probe, Rule};
use ackord_coord_core::adapter::Core;
use ackord_coord_core::{ConnId, Effect, Input};
use ackord_machine::{ApiMisuse, Completion, Deadline, Now};
use ackord_server::Host;

type Serve = fn(TcpListener, Host) -> io::Result<()>;

fn check(serve: Serve, fault: Option<Fault>) -> Vec<Breach> {
    adapter::check(move |listener, probe| {
        let args = [
            "ackord",
            "--listen",
            "127.0.0.1:0",
            "--durability",
            "memory",
        ];
        let core = Broken {
            probe,
            fault,
            kept: VecDeque::new(),
            count: 0,
        };
        ackord_server::run(
            args.map(Into::into),
            |_| Ok(core),
            |_, host| serve(listener, host),
        );
    })
}

/// What is wrong with an adapter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    DropsACompletion,
    ForgetsADeadline,
    IgnoresReadCredit,
    ReordersALog,
    SendsAfterClose,
}

/// The bad half of an adapter: it stands between the good half and the probe.
struct Broken {
    probe: Probe,
    fault: Option<Fault>,
    kept: VecDeque<Effect>,
    count: usize,
}

impl Broken {
    fn completed(&mut self, now: Now, done: Completion) -> Result<(), ApiMisuse> {
        self.count += 1;
        if self.fault == Some(Fault::DropsACompletion) && self.count == 5 {
            return Ok(());
        }
        self.probe.handle(now, Input::Completed(done))
    }

    /// The fault in what the good half carries out.
    fn twist(&mut self, effect: Effect) -> Option<Effect> {
        match (self.fault, effect) {
            // Two writes change places on their way to the store.
            (Some(Fault::ReordersALog), Effect::Store(op)) if self.count == 0 => {
                self.count = 1;
                self.kept.extend(self.probe.poll_effect());
                self.kept.push_back(Effect::Store(op));
                self.kept.pop_front()
            }
            // The socket is read as fast as it gives.
            (Some(Fault::IgnoresReadCredit), Effect::Read { conn }) => {
                self.kept.extend((0..8).map(|_| Effect::Read { conn }));
                Some(Effect::Read { conn })
            }
            // Something that the core did not ask for goes out behind the last reply.
            (Some(Fault::SendsAfterClose), Effect::Close { conn, reason }) => {
                self.kept.push_back(Effect::Close { conn, reason });
                Some(Self::more(conn))
            }
            (_, effect) => Some(effect),
        }
    }

    fn more(conn: ConnId) -> Effect {
        let chunks = vec!["what nobody asked for".into()];
        Effect::Send { conn, chunks }
    }
}

impl Core for Broken {
    fn handle(&mut self, now: Now, input: Input) -> Result<(), ApiMisuse> {
        match input {
            Input::Completed(done) => self.completed(now, done),
            input => self.probe.handle(now, input),
        }
    }

    fn poll_effect(&mut self) -> Option<Effect> {
        if let Some(effect) = self.kept.pop_front() {
            return Some(effect);
        }
        let effect = self.probe.poll_effect()?;
        self.twist(effect)
    }

    fn next_deadline(&self) -> Option<Deadline> {
        let forgets = self.fault == Some(Fault::ForgetsADeadline);
        self.probe.next_deadline().filter(|_| !forgets)
    }
}

#[test]
fn the_adapter_on_tokio_keeps_the_rules() {
    let breaches = check(ackord_io_tokio::server::serve, None);
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[test]
fn the_adapter_on_async_std_keeps_the_rules() {
    let breaches = check(ackord_io_async_std::server::serve, None);
    assert!(breaches.is_empty(), "{breaches:#?}");
}

/// The rules that an adapter with this fault breaks.
fn broken(fault: Fault) -> Vec<Rule> {
    let breaches = check(ackord_io_tokio::server::serve, Some(fault));
    let mut rules: Vec<Rule> = breaches.iter().map(|breach| breach.rule).collect();
    rules.sort();
    rules.dedup();
    rules
}

#[test]
fn an_adapter_that_drops_a_completion_is_caught() {
    assert_eq!(broken(Fault::DropsACompletion), [Rule::Storage]);
}

#[test]
fn an_adapter_that_reorders_a_log_is_caught() {
    assert_eq!(broken(Fault::ReordersALog), [Rule::Storage]);
}

#[test]
fn an_adapter_that_forgets_a_deadline_is_caught() {
    assert_eq!(broken(Fault::ForgetsADeadline), [Rule::Deadlines]);
}

#[test]
fn an_adapter_that_sends_after_close_is_caught() {
    let breaches = check(ackord_io_tokio::server::serve, Some(Fault::SendsAfterClose));
    assert!(breaches.iter().all(|breach| breach.rule == Rule::Writes));
    let seen = |breach: &Breach| breach.seen == "something was sent after a close";
    assert!(breaches.iter().any(seen), "{breaches:#?}");
}

#[test]
fn an_adapter_that_ignores_read_credit_is_caught() {
    assert!(broken(Fault::IgnoresReadCredit).contains(&Rule::Credits));
}
