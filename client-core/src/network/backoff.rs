//! How long to wait before the next attempt.

use ackord_machine::Entropy;
use ackord_proto::error_code::ErrorCode;

/// Longest pause in milliseconds (Kafka: retry.backoff.max.ms, reconnect.backoff.max.ms).
const MAX_MS: i64 = 1000;

/// First pause in milliseconds (Kafka: retry.backoff.ms).
pub(super) const FIRST_MS: i64 = 100;

/// First pause where only a commit has to end, as Kafka's producer takes it.
const SHORT_MS: i64 = 20;

/// First pause before a new connection (Kafka: reconnect.backoff.ms).
pub(crate) const RECONNECT_MS: i64 = 50;

/// The first pause after this code, in milliseconds.
pub(crate) fn first_pause(code: ErrorCode) -> i64 {
    if code == ErrorCode::CONCURRENT_TRANSACTIONS {
        SHORT_MS
    } else {
        FIRST_MS
    }
}

/// The pause after so many failed attempts, doubled each time and spread by a fifth.
pub(crate) fn pause(first_ms: i64, attempts: u32, chance: &mut Entropy) -> i64 {
    let doubled = first_ms
        .saturating_mul(1 << attempts.saturating_sub(1).min(10))
        .min(MAX_MS);
    let spread = doubled / 5;
    doubled - spread + (chance.below(2 * spread.unsigned_abs() + 1)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit() {
        let mut chance = Entropy::from_seed([1; 32]);
        for attempts in 0..40 {
            let pause = pause(100, attempts, &mut chance);
            assert!((80..=1200).contains(&pause), "{pause}");
            assert!(attempts < 6 || pause >= 800, "{pause}");
        }
    }
}
