//! Bad luck: a task that makes workers abort, and drops them wherever they are.

use std::future::poll_fn;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use ackord_client_core::ClientError;
use ackord_client_core::client::Runtime;

use super::copy::Copy;
use super::options::Options;

/// How often the chaos task looks what the workers have begun.
const LOOK: Duration = Duration::from_millis(5);

/// What the chaos task holds of one worker.
#[derive(Debug, Default)]
pub(super) struct Leash {
    begun: AtomicU64,
    abort: AtomicBool,
    cut: Mutex<Cut>,
}

#[derive(Debug, Default)]
struct Cut {
    due: Option<Fate>,
    waker: Option<Waker>,
}

/// What becomes of a worker whose leash is cut.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It is dropped.
    Lost,
    /// It goes on, and its successor has the same transactional id.
    Zombie,
}

impl Leash {
    /// The worker has begun a transaction.
    pub(super) fn begun(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the transaction that is open shall be aborted.
    pub(super) fn take_abort(&self) -> bool {
        self.abort.swap(false, Ordering::Relaxed)
    }

    fn cut(&self, fate: Fate) {
        let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        cut.due = Some(fate);
        if let Some(waker) = cut.waker.take() {
            waker.wake();
        }
    }

    /// Ends when the worker is to have a successor.
    async fn is_cut(&self) -> Fate {
        poll_fn(|context| {
            let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(fate) = cut.due.take() {
                return Poll::Ready(fate);
            }
            cut.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// The leashes of all workers.
#[derive(Clone, Debug)]
pub struct Leashes {
    workers: Arc<[Arc<Leash>]>,
    over: Arc<AtomicBool>,
    hopeless: Arc<OnceLock<String>>,
}

impl Leashes {
    /// One for each worker.
    pub fn new(workers: usize) -> Self {
        Leashes {
            workers: (0..workers).map(|_| Arc::default()).collect(),
            over: Arc::default(),
            hopeless: Arc::default(),
        }
    }

    /// Why no worker will ever do it: the broker cannot.
    pub fn hopeless(&self) -> Option<String> {
        self.hopeless.get().cloned()
    }

    /// Ends workers and chaos.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
        for leash in self.workers.iter() {
            leash.cut(Fate::Lost);
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Starts the workers of a copy, and their bad luck.
    pub fn let_loose<R: Runtime>(&self, copy: &Copy<R>) {
        for number in 0..self.workers.len() {
            R::spawn(lead(copy.clone(), number, self.clone()));
        }
        R::spawn(chaos::<R>(copy.options().clone(), self.clone()));
    }
}

/// A small generator, so that no crate is needed for a few kinds of bad luck.
struct Luck(u64);

impl Luck {
    fn new() -> Self {
        Luck(RandomState::new().build_hasher().finish() | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Draws a fate for each transaction that was begun.
async fn chaos<R: Runtime>(options: Options, leashes: Leashes) {
    let mut luck = Luck::new();
    let mut seen = vec![0; leashes.workers.len()];
    while !leashes.is_over() {
        R::sleep(LOOK).await;
        for (leash, seen) in leashes.workers.iter().zip(&mut seen) {
            let begun = leash.begun.load(Ordering::Relaxed);
            while *seen < begun {
                *seen += 1;
                let lost = options.aborts + options.losses;
                match luck.below(100) {
                    drawn if drawn < options.aborts => leash.abort.store(true, Ordering::Relaxed),
                    drawn if drawn < lost => leash.cut(Fate::Lost),
                    drawn if drawn < lost + options.zombies => leash.cut(Fate::Zombie),
                    _ => {}
                }
            }
        }
    }
}

/// Runs one worker: where its leash is cut, it is dropped or left to itself, and another one begins
/// from nothing then and after every error that ends its clients, but where the broker lacks what it
/// needs.
async fn lead<R: Runtime>(copy: Copy<R>, number: usize, leashes: Leashes) {
    let Some(leash) = leashes.workers.get(number) else {
        return;
    };
    loop {
        let mut work = Box::pin(worker(copy.clone(), number, Arc::clone(leash)));
        let cut = async { Err(leash.is_cut().await) };
        let end = super::first(async { Ok(work.as_mut().await) }, cut).await;
        if leashes.is_over() {
            return;
        }
        match end {
            Err(Fate::Lost) => copy.tally().dropped(),
            Err(Fate::Zombie) => {
                copy.tally().doubled();
                let over = leashes.clone();
                R::spawn(async move {
                    // Its successor fences it: nothing that it does from then on may count.
                    let fenced = work.await;
                    if !over.is_over() {
                        eprintln!("worker {number}, the former one: {fenced}");
                    }
                });
            }
            Ok(error @ ClientError::Unsupported { .. }) => {
                let _ = leashes.hopeless.set(error.to_string());
                return;
            }
            Ok(error) => {
                eprintln!("worker {number}: {error}; beginning again");
                R::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

async fn worker<R: Runtime>(copy: Copy<R>, number: usize, leash: Arc<Leash>) -> ClientError {
    copy.work(number, &leash).await
}
