//! A request that names the same things again and again is answered as if it named each once: a short
//! request must not ask for a long answer.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// The things that a request names, each once, by what makes two of them the same.
pub(super) fn once_by<T, K: Ord>(mut named: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut seen = BTreeSet::new();
    named.retain(|one| seen.insert(key(one)));
    named
}

/// [`once_by`] for things that are the same when they are equal.
pub(super) fn once<T: Ord + Clone>(named: Vec<T>) -> Vec<T> {
    once_by(named, T::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equals_stays_in_its_place() {
        assert_eq!(once(alloc::vec![3, 1, 3, 2, 1]), [3, 1, 2]);
        let pairs = alloc::vec![("a", 1), ("b", 2), ("a", 3)];
        assert_eq!(once_by(pairs, |pair| pair.0), [("a", 1), ("b", 2)]);
    }
}
