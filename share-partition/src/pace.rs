//! How many records of a suspect batch are delivered at once, so that one bad record does not take
//! its neighbours to the delivery limit (as Kafka does since 4.2).

/// What one fetch takes of one batch.
///
/// A record is suspect once it was delivered half of the limit times. The first suspect record
/// halves the size of the batch, as it was acquired first, once for each delivery from there on; so
/// many records of it are delivered, those before it included. Where more came before it, it sets no
/// bound. A record at its last attempt comes alone.
pub(crate) struct Pace {
    limit: i32,
    size: i64,
    taken: i64,
    most: Option<i64>,
}

impl Pace {
    /// For a batch of `size` records, of which none is taken.
    pub(crate) fn new(limit: i16, size: i64) -> Self {
        Pace {
            limit: i32::from(limit),
            size,
            taken: 0,
            most: None,
        }
    }

    const fn threshold(&self) -> i32 {
        let half = (self.limit + 1) / 2;
        if half < 2 { 2 } else { half }
    }

    /// Whether a record with this count is suspect.
    pub(crate) fn is_suspect(&self, count: i16) -> bool {
        i32::from(count) >= self.threshold()
    }

    fn is_last_attempt(&self, count: i16) -> bool {
        self.limit > 2 && i32::from(count) >= self.limit - 1
    }

    /// How many records with this count may come next.
    pub(crate) fn allowance(&mut self, count: i16) -> i64 {
        if self.is_last_attempt(count) {
            return i64::from(self.taken == 0);
        }
        if self.is_suspect(count) && self.most.is_none() {
            let halvings = i32::from(count) - self.threshold() + 1;
            let halvings = u32::try_from(halvings).unwrap_or(0).min(62);
            self.most = Some((self.size >> halvings).max(1));
        }
        match self.most {
            Some(most) if self.taken < most => most - self.taken,
            _ => i64::MAX,
        }
    }

    /// `records` were taken.
    pub(crate) fn took(&mut self, records: i64) {
        self.taken = self.taken.saturating_add(records);
    }

    /// Whether nothing may come after a record with this count.
    pub(crate) fn is_over(&self, count: i16) -> bool {
        self.is_last_attempt(count) || self.most == Some(self.taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(size: i64, count: i16, limit: i16) -> i64 {
        Pace::new(limit, size).allowance(count)
    }

    #[test]
    fn a_suspect_batch_halves_and_ends_as_single_records() {
        let all = i64::MAX;
        let sizes = [0, 2, 3, 4, 5].map(|count| first(100, count, 5));
        assert_eq!(sizes, [all, all, 50, 1, 1]);
        let sizes = [4, 5, 6, 7, 8, 9].map(|count| first(100, count, 10));
        assert_eq!(sizes, [all, 50, 25, 12, 6, 1]);
        assert_eq!(first(2, 3, 5), 1);
    }

    #[test]
    fn the_smallest_limits_begin_with_the_second_delivery() {
        let sizes = [(1, 2), (2, 2), (1, 1)].map(|(count, limit)| first(8, count, limit));
        assert_eq!(sizes, [i64::MAX, 4, i64::MAX]);
    }

    #[test]
    fn the_bound_counts_what_came_before_the_first_suspect() {
        let mut pace = Pace::new(5, 8);
        assert_eq!(pace.allowance(1), i64::MAX);
        pace.took(3);
        assert_eq!(pace.allowance(3), 1);
        pace.took(1);
        assert!(pace.is_over(3));
        // Kafka's bound is met exactly or never.
        let mut pace = Pace::new(5, 8);
        pace.took(5);
        assert_eq!(pace.allowance(3), i64::MAX);
        pace.took(1);
        assert!(!pace.is_over(3));
        // The last attempt waits for the next fetch.
        assert_eq!(pace.allowance(4), 0);
    }
}
