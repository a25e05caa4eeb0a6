//! Both clocks, the seed, and the alarm of a client.

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::Context;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ackord_machine::{Deadline, MonoTime, Now, WallTime};

use super::runtime::Runtime;

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

/// The clocks of the machine; the monotonic one counts from its making.
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn new() -> Self {
        Clock(Instant::now())
    }

    pub(super) fn now(&self) -> Now {
        let micros = self.0.elapsed().as_micros();
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Now {
            mono: MonoTime::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)),
            wall: WallTime::from_millis(i64::try_from(wall.as_millis()).unwrap_or(i64::MAX)),
        }
    }
}

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A sleep of the runtime that is kept while it ends no later than the deadline: deadlines move
/// with every request, mostly away.
pub(super) struct Alarm<R> {
    /// When it ends, and the sleep until then.
    set: Option<(MonoTime, Sleep)>,
    runtime: PhantomData<fn() -> R>,
}

impl<R: Runtime> Alarm<R> {
    pub(super) fn new() -> Self {
        Alarm {
            set: None,
            runtime: PhantomData,
        }
    }

    /// Whether the deadline has come; where it has not, the task is woken when it does.
    pub(super) fn rings(
        &mut self,
        clock: &Clock,
        deadline: Option<Deadline>,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(Deadline { at, .. }) = deadline else {
            self.set = None;
            return false;
        };
        loop {
            let now = clock.now().mono;
            if at <= now {
                return true;
            }
            match &mut self.set {
                Some((ends, sleep)) if *ends <= at => match sleep.as_mut().poll(context) {
                    core::task::Poll::Pending => return false,
                    core::task::Poll::Ready(()) => self.set = None,
                },
                _ => self.set = Some((at, Box::pin(R::sleep(at.since(now))))),
            }
        }
    }
}
