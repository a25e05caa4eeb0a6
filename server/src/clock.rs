//! Both clocks, read in one place.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ackord_machine::{Deadline, MonoTime, Now, WallTime};

/// Samples the clocks. Its monotonic epoch is the moment of its creation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Clock {
            epoch: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Now {
        let micros = u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(u64::MAX);
        Now {
            mono: MonoTime::from_micros(micros),
            wall: WallTime::from_millis(wall_millis()),
        }
    }

    /// How long to wait for a deadline.
    pub(crate) fn until(&self, deadline: Deadline) -> Duration {
        deadline.at.since(self.now().mono)
    }
}

/// Milliseconds since the Unix epoch; negative before it.
pub(crate) fn wall_millis() -> i64 {
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => millis(since),
        Err(before) => -millis(before.duration()),
    }
}
