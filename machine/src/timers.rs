//! Deadlines by key.

use alloc::collections::BTreeMap;

use crate::MonoTime;

/// At most one deadline for each key. Equal moments leave in the order in which they were armed.
#[derive(Clone, Debug)]
pub struct Timers<K> {
    by_time: BTreeMap<(MonoTime, u64), K>,
    by_key: BTreeMap<K, (MonoTime, u64)>,
    armed: u64,
}

impl<K: Ord + Clone> Timers<K> {
    /// No deadlines.
    pub const fn new() -> Self {
        Timers {
            by_time: BTreeMap::new(),
            by_key: BTreeMap::new(),
            armed: 0,
        }
    }

    /// Sets the deadline of `key`, in place of the one it had. The same moment again changes nothing.
    pub fn arm(&mut self, key: K, at: MonoTime) {
        if self.by_key.get(&key).is_some_and(|(old, _)| *old == at) {
            return;
        }
        self.cancel(&key);
        self.armed += 1;
        self.by_time.insert((at, self.armed), key.clone());
        self.by_key.insert(key, (at, self.armed));
    }

    /// Sets the deadline of `key`, or removes it where there is none.
    pub fn set(&mut self, key: K, at: Option<MonoTime>) {
        match at {
            Some(at) => self.arm(key, at),
            None => self.cancel(&key),
        }
    }

    /// Removes the deadline of `key`, if it has one.
    pub fn cancel(&mut self, key: &K) {
        if let Some(slot) = self.by_key.remove(key) {
            self.by_time.remove(&slot);
        }
    }

    /// Whether `key` has a deadline.
    pub fn is_armed(&self, key: &K) -> bool {
        self.by_key.contains_key(key)
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<(MonoTime, &K)> {
        self.by_time.iter().next().map(|((at, _), key)| (*at, key))
    }

    /// Removes and returns the earliest key whose deadline has come.
    pub fn pop_due(&mut self, now: MonoTime) -> Option<K> {
        let entry = self.by_time.first_entry()?;
        if entry.key().0 > now {
            return None;
        }
        let key = entry.remove();
        self.by_key.remove(&key);
        Some(key)
    }
}

impl<K: Ord + Clone> Default for Timers<K> {
    fn default() -> Self {
        Timers::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arming_again_replaces_and_ties_keep_their_order() {
        let mut timers = Timers::new();
        let at = MonoTime::from_millis;
        timers.arm('a', at(5));
        timers.arm('b', at(5));
        timers.arm('c', at(1));
        timers.arm('c', at(9));
        timers.cancel(&'x');
        assert_eq!(timers.pop_due(at(4)), None);
        assert_eq!(timers.pop_due(at(7)), Some('a'));
        assert_eq!(timers.pop_due(at(7)), Some('b'));
        assert_eq!(timers.pop_due(at(7)), None);
        assert_eq!(timers.next(), Some((at(9), &'c')));
        timers.set('c', None);
        assert_eq!(timers.next(), None);
    }
}
