//! How far a connection may read ahead of what the core asks for.
//!
//! A producer has several requests on the way. Were each read only when the core asks for it, every
//! one would cost two changes of thread, and none would share an append with another. So a few small
//! frames are read early and wait beside the core (`waiting.rs`), which still gets one for each credit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many frames of a connection are read early.
const FRAMES: usize = 8;
/// So many bytes of a connection are read early; larger frames wait for their credit.
const BYTES: usize = 512 * 1024;
/// So many bytes of all connections are read early.
const BYTES_OF_ALL: usize = 32 * 1024 * 1024;

/// See the module. Bytes that were read early are counted until their credit comes.
#[derive(Debug)]
pub(crate) struct Allowance {
    credits: usize,
    /// Sizes of the frames that were passed on without a credit, the oldest first.
    early: VecDeque<usize>,
    early_bytes: usize,
    /// The core has begun to ask.
    begun: bool,
    /// Of all connections.
    total: Arc<AtomicUsize>,
    /// What this one has added to `total`.
    counted: usize,
}

impl Drop for Allowance {
    fn drop(&mut self) {
        self.total.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

impl Allowance {
    pub(crate) fn new(total: Arc<AtomicUsize>) -> Self {
        Allowance {
            credits: 0,
            early: VecDeque::new(),
            early_bytes: 0,
            begun: false,
            total,
            counted: 0,
        }
    }

    /// The core asks for so many frames more.
    pub(crate) fn grant(&mut self, credits: usize) {
        self.begun |= credits > 0;
        for _ in 0..credits {
            match self.early.pop_front() {
                Some(size) => self.early_bytes -= size,
                None => self.credits += 1,
            }
        }
    }

    /// Whether the core waits for the next frame.
    pub(crate) fn is_asked(&self) -> bool {
        self.credits > 0
    }

    /// Whether the next frame may be read, of this size where that is known.
    pub(crate) fn allows(&self, size: Option<usize>) -> bool {
        self.is_asked()
            || (self.begun
                && self.early.len() < FRAMES
                && self.early_bytes + size.unwrap_or_default() <= BYTES
                && self.total.load(Ordering::Relaxed) < BYTES_OF_ALL)
    }

    /// A frame has been passed on.
    pub(crate) fn passed(&mut self, size: usize) {
        if self.credits > 0 {
            self.credits -= 1;
        } else {
            self.early.push_back(size);
            self.early_bytes += size;
        }
    }

    /// Brings the count of all connections up to date; `partial` bytes have arrived of a frame.
    pub(crate) fn count(&mut self, partial: usize) {
        let unasked = if self.is_asked() { 0 } else { partial };
        let now = self.early_bytes + unasked;
        if now >= self.counted {
            self.total.fetch_add(now - self.counted, Ordering::Relaxed);
        } else {
            self.total.fetch_sub(self.counted - now, Ordering::Relaxed);
        }
        self.counted = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun() -> (Allowance, Arc<AtomicUsize>) {
        let total = Arc::new(AtomicUsize::new(0));
        let mut allowance = Allowance::new(total.clone());
        assert!(!allowance.allows(None), "nothing before the core is ready");
        allowance.grant(1);
        (allowance, total)
    }

    #[test]
    fn a_few_frames_are_read_early_and_credits_pay_for_them() {
        let (mut allowance, _) = begun();
        let mut passed = 0;
        while allowance.allows(Some(10)) {
            allowance.passed(10);
            passed += 1;
        }
        assert_eq!(passed, 1 + FRAMES);
        allowance.grant(2);
        assert!(!allowance.is_asked(), "both were early");
        assert!(allowance.allows(Some(10)));
        allowance.grant(FRAMES - 1);
        assert!(allowance.is_asked());
    }

    #[test]
    fn large_frames_wait_for_their_credit() {
        let (mut allowance, _) = begun();
        assert!(allowance.allows(Some(BYTES * 2)), "it is asked for");
        allowance.passed(BYTES * 2);
        assert!(!allowance.allows(Some(BYTES + 1)));
        assert!(allowance.allows(Some(BYTES)));
        allowance.passed(BYTES);
        assert!(!allowance.allows(Some(1)));
    }

    #[test]
    fn all_connections_share_a_bound() {
        let (mut first, total) = begun();
        first.passed(10);
        first.passed(100);
        first.count(20);
        assert_eq!(total.load(Ordering::Relaxed), 120);
        let mut second = Allowance::new(total.clone());
        second.grant(1);
        second.passed(10);
        assert!(second.allows(Some(10)));
        total.fetch_add(BYTES_OF_ALL, Ordering::Relaxed);
        assert!(!second.allows(Some(10)));
        second.grant(1);
        assert!(
            second.allows(Some(10)),
            "what is asked for has another bound"
        );
        total.fetch_sub(BYTES_OF_ALL, Ordering::Relaxed);
        first.grant(1);
        first.count(0);
        assert_eq!(total.load(Ordering::Relaxed), 0);
        first.passed(7);
        first.count(0);
        assert_eq!(total.load(Ordering::Relaxed), 7);
        drop(first);
        assert_eq!(total.load(Ordering::Relaxed), 0);
    }
}
