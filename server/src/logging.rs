//! Lines on standard error: time, level, text.

use std::fmt;
use std::io::Write;

use clap::ValueEnum;

use crate::clock;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Level {
    /// The broker cannot do its work.
    Error,
    /// A person should look at it.
    Warn,
    /// What an operator wants to know of a normal day.
    Info,
    /// One line for each connection.
    Debug,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Error => "ERROR",
            Level::Warn => "WARN ",
            Level::Info => "INFO ",
            Level::Debug => "DEBUG",
        }
    }
}

/// Writes lines of a level and above.
#[derive(Clone, Copy, Debug)]
pub struct Logger {
    level: Level,
}

impl Logger {
    /// A logger that drops what matters less than `level`.
    pub fn new(level: Level) -> Self {
        Logger { level }
    }

    /// Writes one line. A standard error that is gone stops nothing.
    pub fn log(&self, level: Level, text: impl fmt::Display) {
        if level <= self.level {
            let time = Timestamp(clock::wall_millis());
            let line = format!("{time} {} {text}\n", level.name());
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    /// See [`Level::Error`].
    pub fn error(&self, text: impl fmt::Display) {
        self.log(Level::Error, text);
    }

    /// See [`Level::Warn`].
    pub fn warn(&self, text: impl fmt::Display) {
        self.log(Level::Warn, text);
    }

    /// See [`Level::Info`].
    pub fn info(&self, text: impl fmt::Display) {
        self.log(Level::Info, text);
    }

    /// See [`Level::Debug`].
    pub fn debug(&self, text: impl fmt::Display) {
        self.log(Level::Debug, text);
    }
}

/// Milliseconds since the Unix epoch as `2026-01-31T23:59:59.999Z`.
struct Timestamp(i64);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY: i64 = 86_400_000;
        let (days, millis) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, day) = date(days);
        let (hour, minute) = (millis / 3_600_000, millis / 60_000 % 60);
        let (second, milli) = (millis / 1000 % 60, millis % 1000);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
        )
    }
}

/// Year, month and day of a day counted from 1970-01-01. Years are taken to begin in March, so the
/// leap day is the last of its year.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let since_march_of_year_0 = days + 719_468;
    let era = since_march_of_year_0.div_euclid(DAYS_OF_400_YEARS);
    let day = since_march_of_year_0.rem_euclid(DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let next_year = i64::from(month <= 2);
    (400 * era + year + next_year, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(millis).to_string(), text);
        }
    }
}
