//! When a connection is idle (Kafka's `connections.max.idle.ms`): nothing has passed over it for so long,
//! and it is the client who has to do something. Kafka counts the time of a request that is under
//! way as idle too.

use std::sync::atomic::{AtomicBool, Ordering};

use ackord_machine::MonoTime;

/// Connections are looked at so often within the time.
const LOOKS: u64 = 8;

/// What a connection says of itself.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    passed: AtomicBool,
    waits: AtomicBool,
}

impl Activity {
    /// Bytes have passed.
    pub(crate) fn passed(&self) {
        self.passed.store(true, Ordering::Relaxed);
    }

    /// Whether it is the broker who has to do something.
    pub(crate) fn waits(&self, waits: bool) {
        self.waits.store(waits, Ordering::Relaxed);
    }

    /// Whether it was not idle since the last look.
    pub(crate) fn look(&self) -> bool {
        self.passed.swap(false, Ordering::Relaxed) || self.waits.load(Ordering::Relaxed)
    }
}

/// When to look at the connections again.
#[derive(Debug)]
pub(crate) struct Looks {
    idle_ms: i64,
    next: MonoTime,
}

impl Looks {
    /// `None` where no connection is ever idle.
    pub(crate) fn new(idle_ms: Option<u64>, now: MonoTime) -> Option<Self> {
        let idle_ms = i64::try_from(idle_ms?).unwrap_or(i64::MAX);
        let mut looks = Looks { idle_ms, next: now };
        looks.plan(now);
        Some(looks)
    }

    fn plan(&mut self, now: MonoTime) {
        let every = self.idle_ms.unsigned_abs() / LOOKS;
        self.next = now.plus_millis(i64::try_from(every).unwrap_or(i64::MAX).max(1));
    }

    pub(crate) fn next(&self) -> MonoTime {
        self.next
    }

    /// Where it is time to look: connections that were not seen since then have been idle for too
    /// long.
    pub(crate) fn due(&mut self, now: MonoTime) -> Option<i64> {
        if now < self.next {
            return None;
        }
        self.plan(now);
        Some(self.idle_ms)
    }
}
