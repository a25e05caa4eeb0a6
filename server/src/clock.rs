//! Both clocks, read in one place.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ackord_machine::{MonoTime, Now, WallTime};

/// Where the core has its time from.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Source);

#[derive(Clone, Copy, Debug)]
enum Source {
    /// Stands still until it is turned.
    Manual(Now),
    /// The clocks of the machine; the monotonic one counts from here.
    System(Instant),
}

impl Clock {
    /// The clocks of the machine. The monotonic epoch is this moment.
    pub fn system() -> Self {
        Clock(Source::System(Instant::now()))
    }

    /// Stands still at `start`; only [`Host::errand`](crate::Host::errand) turns it. For tests.
    pub fn manual(start: Now) -> Self {
        Clock(Source::Manual(start))
    }

    pub(crate) fn is_manual(&self) -> bool {
        matches!(self.0, Source::Manual(_))
    }

    pub(crate) fn now(&self) -> Now {
        match self.0 {
            Source::Manual(now) => now,
            Source::System(epoch) => Now {
                mono: MonoTime::from_micros(
                    u64::try_from(epoch.elapsed().as_micros()).unwrap_or(u64::MAX),
                ),
                wall: WallTime::from_millis(wall_millis()),
            },
        }
    }

    /// How long to wait until `at`; `None` until something else comes.
    pub(crate) fn until(&self, at: MonoTime) -> Option<Duration> {
        match self.0 {
            Source::Manual(_) => None,
            Source::System(_) => Some(at.since(self.now().mono)),
        }
    }

    /// Turns a manual clock forward to `mono`, the wall clock by as many milliseconds.
    pub(crate) fn turn(&mut self, mono: MonoTime) {
        if let Source::Manual(now) = &mut self.0 {
            let mono = mono.max(now.mono);
            let passed = mono.as_micros() / 1000 - now.mono.as_micros() / 1000;
            let passed = i64::try_from(passed).unwrap_or(i64::MAX);
            let wall = now.wall.as_millis().saturating_add(passed);
            *now = Now {
                mono,
                wall: WallTime::from_millis(wall),
            };
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_it_is_turned_and_never_back() {
        let start = Now {
            mono: MonoTime::from_micros(1500),
            wall: WallTime::from_millis(70),
        };
        let mut clock = Clock::manual(start);
        assert_eq!(clock.now(), start);
        clock.turn(MonoTime::from_micros(3400));
        let later = clock.now();
        assert_eq!((later.mono.as_micros(), later.wall.as_millis()), (3400, 72));
        clock.turn(MonoTime::ZERO);
        assert_eq!(clock.now(), later);
    }
}
