//! Bad luck: a task that makes workers abort, and drops them wherever they are.

use std::future::poll_fn;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

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
    due: bool,
    waker: Option<Waker>,
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

    fn cut(&self) {
        let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        cut.due = true;
        if let Some(waker) = cut.waker.take() {
            waker.wake();
        }
    }

    /// Ends when the worker is to be dropped.
    async fn is_cut(&self) {
        poll_fn(|context| {
            let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
            if std::mem::take(&mut cut.due) {
                return Poll::Ready(());
            }
            cut.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// The leashes of all workers.
#[derive(Clone, Debug)]
pub(super) struct Leashes {
    workers: Arc<[Leash]>,
    over: Arc<AtomicBool>,
}

impl Leashes {
    pub(super) fn new(workers: usize) -> Self {
        Leashes {
            workers: (0..workers).map(|_| Leash::default()).collect(),
            over: Arc::default(),
        }
    }

    /// Ends workers and chaos.
    pub(super) fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.workers.iter().for_each(Leash::cut);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
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
pub(super) async fn chaos<R: Runtime>(options: Options, leashes: Leashes) {
    let mut luck = Luck::new();
    let mut seen = vec![0; leashes.workers.len()];
    while !leashes.is_over() {
        R::sleep(LOOK).await;
        for (leash, seen) in leashes.workers.iter().zip(&mut seen) {
            let begun = leash.begun.load(Ordering::Relaxed);
            while *seen < begun {
                *seen += 1;
                match luck.below(100) {
                    drawn if drawn < options.aborts => leash.abort.store(true, Ordering::Relaxed),
                    drawn if drawn < options.aborts + options.losses => leash.cut(),
                    _ => {}
                }
            }
        }
    }
}

/// Runs one worker: it is dropped where its leash is cut, and begins again from nothing then and
/// after every error that ends its clients.
pub(super) async fn lead<R: Runtime>(copy: Copy<R>, number: usize, leashes: Leashes) {
    let Some(leash) = leashes.workers.get(number) else {
        return;
    };
    loop {
        let work = async { Some(copy.work(number, leash).await) };
        let cut = async {
            leash.is_cut().await;
            None
        };
        let end = super::first(work, cut).await;
        if leashes.is_over() {
            return;
        }
        match end {
            None => copy.tally().dropped(),
            Some(error) => {
                eprintln!("worker {number}: {error}; beginning again");
                R::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}
