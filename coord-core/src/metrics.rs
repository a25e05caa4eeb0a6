//! Figures for operators: what a scrape of the broker finds.
//!
//! Names are those of Kafka's own metrics as its JMX exporter writes them for Prometheus: type and name in
//! small letters, a meter `...PerSec` as the counter `..._total`. Those of KIP-1289 have the names of the
//! KIP with `_` for `-`. Counters of a share partition begin anew when its state is loaded again.

use alloc::string::String;
use alloc::vec::Vec;

/// Metrics of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricFamily {
    /// Name.
    pub name: &'static str,
    /// What it says, in one sentence.
    pub help: &'static str,
    /// How to read the samples.
    pub kind: MetricKind,
    /// One for each combination of labels.
    pub samples: Vec<Sample>,
}

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution.
    Histogram,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Label names and values.
    pub labels: Vec<(&'static str, String)>,
    /// The figure.
    pub value: SampleValue,
}

/// What a sample holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleValue {
    /// Of a counter or a gauge.
    Number(i64),
    /// Of a histogram.
    Distribution(Histogram),
}

/// How often a duration fell into which range, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By the bound of [`Histogram::BOUNDS_MS`] that is the first not below it; the last one is for
    /// everything above.
    counts: [u64; Self::BOUNDS_MS.len() + 1],
    sum_ms: u64,
}

impl Histogram {
    /// Upper bounds of the ranges.
    pub const BOUNDS_MS: [u64; 12] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 30_000];

    /// Adds one duration.
    pub fn observe(&mut self, ms: u64) {
        let above = Self::BOUNDS_MS.len();
        let at = Self::BOUNDS_MS.iter().position(|bound| ms <= *bound);
        if let Some(count) = self.counts.get_mut(at.unwrap_or(above)) {
            *count += 1;
        }
        self.sum_ms = self.sum_ms.saturating_add(ms);
    }

    /// Bound and number of durations that were not above it, ascending; `None` for the one without a
    /// bound.
    pub fn cumulative(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = Self::BOUNDS_MS.into_iter().map(Some).chain([None]);
        let mut below = 0_u64;
        bounds.zip(self.counts).map(move |(bound, count)| {
            below += count;
            (bound, below)
        })
    }

    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum in milliseconds.
    pub const fn sum_ms(&self) -> u64 {
        self.sum_ms
    }
}

impl MetricFamily {
    /// Without a sample yet.
    pub const fn new(kind: MetricKind, name: &'static str, help: &'static str) -> Self {
        MetricFamily {
            name,
            help,
            kind,
            samples: Vec::new(),
        }
    }

    /// Adds a figure.
    pub fn push(&mut self, labels: Vec<(&'static str, String)>, value: i64) {
        let value = SampleValue::Number(value);
        self.samples.push(Sample { labels, value });
    }

    /// With one figure that has no labels.
    pub fn single(mut self, value: i64) -> Self {
        self.push(Vec::new(), value);
        self
    }

    /// With one distribution that has no labels.
    pub fn distribution(mut self, histogram: &Histogram) -> Self {
        self.samples.push(Sample {
            labels: Vec::new(),
            value: SampleValue::Distribution(histogram.clone()),
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_every_range_that_holds_it() {
        let mut histogram = Histogram::default();
        for ms in [0, 1, 2, 30_000, 30_001] {
            histogram.observe(ms);
        }
        let counts: Vec<_> = histogram.cumulative().collect();
        assert_eq!(counts[0], (Some(1), 2));
        assert_eq!(counts[1], (Some(2), 3));
        assert_eq!(counts[11], (Some(30_000), 4));
        assert_eq!(counts[12], (None, 5));
        assert_eq!((histogram.count(), histogram.sum_ms()), (5, 60_004));
    }
}
