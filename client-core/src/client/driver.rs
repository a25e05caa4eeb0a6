//! The task that owns a client machine: its sockets, its clock, its callers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};

use futures_channel::mpsc::UnboundedReceiver;
use futures_channel::oneshot;
use futures_core::Stream;

use super::clock::{Alarm, Clock};
use super::link::{Happened, Link};
use super::runtime::Runtime;
use crate::{
    CallId, ClientEffect, ClientError, ClientInput, ConnId, Machine, NetworkEffect, NetworkInput,
};

/// Commands that are taken before the sockets are looked at again.
const COMMANDS: usize = 256;
/// Rounds before other tasks of the runtime get a turn.
const ROUNDS: usize = 32;

/// What a command gives.
pub(super) type Answer<M> = Result<<M as Machine>::Output, ClientError>;

/// What a handle tells its machine.
pub(super) enum Ask<M: Machine> {
    /// A command, and where its result goes.
    Call {
        call: CallId,
        command: M::Command,
        answer: oneshot::Sender<Answer<M>>,
    },
    /// Nobody waits for it any more; with its output, where it had ended.
    Abandon {
        call: CallId,
        output: Option<M::Output>,
    },
}

/// Drives the machine until its handle is gone.
pub(super) async fn drive<R: Runtime, M: Machine>(
    machine: M,
    asks: UnboundedReceiver<Ask<M>>,
    ended: oneshot::Sender<()>,
) {
    let mut driver = Driver::<R, M> {
        machine,
        clock: Clock::new(),
        alarm: Alarm::new(),
        asks,
        calls: BTreeMap::new(),
        links: BTreeMap::new(),
    };
    poll_fn(|context| driver.poll(context)).await;
    drop(driver);
    drop(ended);
}

/// Whether a round found something to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Busy,
    /// Nobody is left to ask for anything.
    Over,
    Quiet,
}

struct Driver<R: Runtime, M: Machine> {
    machine: M,
    clock: Clock,
    alarm: Alarm<R>,
    asks: UnboundedReceiver<Ask<M>>,
    calls: BTreeMap<CallId, oneshot::Sender<Answer<M>>>,
    links: BTreeMap<ConnId, Link<R>>,
}

impl<R: Runtime, M: Machine> Driver<R, M> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        for _ in 0..ROUNDS {
            match self.round(context) {
                Round::Busy => {}
                Round::Over => return Poll::Ready(()),
                Round::Quiet => return Poll::Pending,
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn round(&mut self, context: &mut Context<'_>) -> Round {
        let mut round = Round::Quiet;
        for _ in 0..COMMANDS {
            match Pin::new(&mut self.asks).poll_next(context) {
                Poll::Ready(Some(ask)) => self.ask(ask),
                Poll::Ready(None) => return Round::Over,
                Poll::Pending => break,
            }
            round = Round::Busy;
        }
        let conns: Vec<ConnId> = self.links.keys().copied().collect();
        for conn in conns {
            if let Some(link) = self.links.get_mut(&conn)
                && let Poll::Ready(happened) = link.poll(context)
            {
                self.happened(conn, happened);
                round = Round::Busy;
            }
        }
        let deadline = self.machine.next_deadline();
        if self.alarm.rings(&self.clock, deadline, context) {
            self.handle(ClientInput::Network(NetworkInput::Timeout));
            round = Round::Busy;
        }
        round
    }

    fn ask(&mut self, ask: Ask<M>) {
        match ask {
            Ask::Call {
                call,
                command,
                answer,
            } => {
                self.calls.insert(call, answer);
                self.handle(ClientInput::Call { call, command });
            }
            Ask::Abandon { call, output } => {
                self.calls.remove(&call);
                self.machine.abandoned(self.clock.now(), call, output);
                self.effects();
            }
        }
    }

    fn happened(&mut self, conn: ConnId, happened: Happened) {
        let input = match happened {
            Happened::Connected => NetworkInput::Connected { conn },
            Happened::ConnectFailed => {
                self.links.remove(&conn);
                NetworkInput::ConnectFailed { conn }
            }
            Happened::Frame(bytes) => NetworkInput::Frame { conn, bytes },
            Happened::Closed => {
                self.links.remove(&conn);
                NetworkInput::Closed { conn }
            }
        };
        self.handle(ClientInput::Network(input));
    }

    fn handle(&mut self, input: ClientInput<M::Command>) {
        self.machine.handle(self.clock.now(), input);
        self.effects();
    }

    fn effects(&mut self) {
        while let Some(effect) = self.machine.poll_effect() {
            match effect {
                ClientEffect::Done { call, result } => self.done(call, result),
                ClientEffect::Network(NetworkEffect::Connect { conn, endpoint }) => {
                    self.links.insert(conn, Link::open(&endpoint));
                }
                ClientEffect::Network(NetworkEffect::Send { conn, chunks }) => {
                    if let Some(link) = self.links.get_mut(&conn) {
                        link.send(chunks);
                    }
                }
                ClientEffect::Network(NetworkEffect::Close { conn }) => {
                    self.links.remove(&conn);
                }
            }
        }
    }

    fn done(&mut self, call: CallId, result: Answer<M>) {
        let Some(answer) = self.calls.remove(&call) else {
            return;
        };
        if let Err(Ok(output)) = answer.send(result) {
            self.machine.abandoned(self.clock.now(), call, Some(output));
        }
    }
}
