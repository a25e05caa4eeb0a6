//! The task that owns a client machine: its sockets, its clock, its callers.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ackord_client_core::{
    CallId, ClientEffect, ClientError, ClientInput, Machine, NetworkEffect, NetworkInput,
};
use ackord_machine::{Deadline, MonoTime, Now, WallTime};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::link::Link;

/// Events of sockets that wait for the machine; readers pause when they are full.
const EVENTS: usize = 64;

type Answer<M> = Result<<M as Machine>::Output, ClientError>;

/// A command and where its result goes.
struct Ask<M: Machine> {
    command: M::Command,
    answer: oneshot::Sender<Answer<M>>,
}

/// The caller's end of a machine that a task drives.
pub(super) struct Handle<M: Machine> {
    asks: mpsc::UnboundedSender<Ask<M>>,
    driver: JoinHandle<()>,
}

impl<M> Handle<M>
where
    M: Machine + Send + 'static,
    M::Command: Send + 'static,
    M::Output: Send + 'static,
{
    /// Spawns the task on the runtime that this is called in.
    pub(super) fn new(machine: M) -> Self {
        let (asks, receiver) = mpsc::unbounded_channel();
        Handle {
            asks,
            driver: tokio::spawn(drive(machine, receiver)),
        }
    }

    /// Hands the command over at once; the future only waits for the result, and dropping it
    /// changes nothing but that nobody hears of it.
    pub(super) fn call(
        &self,
        command: M::Command,
    ) -> impl Future<Output = Answer<M>> + Send + use<M> {
        let (answer, result) = oneshot::channel();
        let sent = self.asks.send(Ask { command, answer });
        async move {
            sent.map_err(|_| ClientError::Closed)?;
            result.await.unwrap_or(Err(ClientError::Closed))
        }
    }

    /// Sends the command that closes and waits until the task and its sockets are gone.
    pub(super) async fn close(self, command: M::Command) -> Result<(), ClientError> {
        let result = self.call(command).await;
        drop(self.asks);
        let _ = self.driver.await;
        result.map(|_| ())
    }
}

impl<M: Machine> std::fmt::Debug for Handle<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// A seed from the keys that the standard library draws for its hash maps.
pub(super) fn random_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    for (index, word) in (0_u64..).zip(seed.chunks_exact_mut(8)) {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(index);
        word.copy_from_slice(&hasher.finish().to_le_bytes());
    }
    seed
}

struct Clock {
    start: Instant,
}

impl Clock {
    fn now(&self) -> Now {
        let micros = self.start.elapsed().as_micros();
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Now {
            mono: MonoTime::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)),
            wall: WallTime::from_millis(i64::try_from(wall.as_millis()).unwrap_or(i64::MAX)),
        }
    }

    async fn reach(&self, deadline: Option<Deadline>) {
        match deadline {
            Some(deadline) => {
                let after = Duration::from_micros(deadline.at.as_micros());
                tokio::time::sleep_until(self.start + after).await;
            }
            None => std::future::pending().await,
        }
    }
}

async fn drive<M: Machine>(mut machine: M, mut asks: mpsc::UnboundedReceiver<Ask<M>>) {
    let clock = Clock {
        start: Instant::now(),
    };
    let (sender, mut events) = mpsc::channel(EVENTS);
    let mut links = BTreeMap::new();
    let mut calls: BTreeMap<CallId, oneshot::Sender<Answer<M>>> = BTreeMap::new();
    let mut next_call = 0;
    loop {
        let deadline = machine.next_deadline();
        let input = tokio::select! {
            Some(event) = events.recv() => ClientInput::Network(event),
            ask = asks.recv() => match ask {
                Some(Ask { command, answer }) => {
                    let call = CallId(next_call);
                    next_call += 1;
                    calls.insert(call, answer);
                    ClientInput::Call { call, command }
                }
                // Nobody is left to ask for anything.
                None => return,
            },
            () = clock.reach(deadline) => ClientInput::Network(NetworkInput::Timeout),
        };
        machine.handle(clock.now(), input);
        while let Some(effect) = machine.poll_effect() {
            match effect {
                ClientEffect::Done { call, result } => {
                    if let Some(answer) = calls.remove(&call) {
                        let _ = answer.send(result);
                    }
                }
                ClientEffect::Network(NetworkEffect::Connect { conn, endpoint }) => {
                    links.insert(conn, Link::open(conn, endpoint, sender.clone()));
                }
                ClientEffect::Network(NetworkEffect::Send { conn, chunks }) => {
                    if let Some(link) = links.get(&conn) {
                        link.send(chunks);
                    }
                }
                ClientEffect::Network(NetworkEffect::Close { conn }) => drop(links.remove(&conn)),
            }
        }
    }
}
