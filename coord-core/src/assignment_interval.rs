//! `group.share.assignment.interval.ms` and `group.consumer.assignment.interval.ms` (KIP-1263): a
//! group that many members join at once computes one assignment, not one for each of them.

use ackord_machine::WallTime;

/// Milliseconds until the next assignment may be computed, 0 for now. `assigned_at` is the wall clock
/// of the last one, in milliseconds, 0 where there was none; it is stored, so a clock that was set
/// back since holds nothing up.
pub(crate) fn wait_ms(assigned_at: i64, interval_ms: i32, now: WallTime) -> i64 {
    let (since, interval) = (
        now.as_millis().saturating_sub(assigned_at),
        i64::from(interval_ms),
    );
    match assigned_at > 0 && (0..interval).contains(&since) {
        true => interval - since,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::wait_ms;
    use ackord_machine::WallTime;

    #[test]
    fn an_interval_is_waited_for_once() {
        let at = |millis| wait_ms(5000, 1000, WallTime::from_millis(millis));
        assert_eq!([5000, 5001, 5999, 6000, 9000].map(at), [1000, 999, 1, 0, 0]);
        // The clock was set back.
        assert_eq!([0, 4999].map(at), [0, 0]);
        assert_eq!(wait_ms(0, 1000, WallTime::from_millis(5)), 0);
        assert_eq!(wait_ms(5000, 0, WallTime::from_millis(5000)), 0);
    }
}
