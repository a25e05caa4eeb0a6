//! The two clocks, always passed in.

use core::fmt;
use core::time::Duration;

/// Microseconds since an epoch that the embedder chooses. Deadlines use only this clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonoTime(u64);

impl MonoTime {
    /// The epoch itself.
    pub const ZERO: MonoTime = MonoTime(0);

    /// From microseconds since the epoch.
    pub const fn from_micros(micros: u64) -> Self {
        MonoTime(micros)
    }

    /// From milliseconds since the epoch; saturates.
    pub const fn from_millis(millis: u64) -> Self {
        MonoTime(millis.saturating_mul(1000))
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// This moment plus `millis` milliseconds; a negative count adds nothing, overflow saturates.
    pub const fn plus_millis(self, millis: i64) -> Self {
        if millis <= 0 {
            return self;
        }
        MonoTime(self.0.saturating_add((millis as u64).saturating_mul(1000)))
    }

    /// Time from `earlier` to this moment; zero where `earlier` is later.
    pub const fn since(self, earlier: MonoTime) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for MonoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        write!(
            f,
            "{}:{:02}:{:02}.{:06}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            micros
        )
    }
}

/// Milliseconds since the Unix epoch, as Kafka stores them. It may jump either way, so nothing
/// waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

impl WallTime {
    /// From milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        WallTime(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// The moment of an input on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// For deadlines; never decreases from one input to the next.
    pub mono: MonoTime,
    /// For timestamps that are stored or sent.
    pub wall: WallTime,
}
