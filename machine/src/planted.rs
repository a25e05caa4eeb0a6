//! Faults that are planted on purpose, to show that the simulator's oracle finds them.
//!
//! Without the feature `planted`, which only `ackord-conformance` asks for, [`planted!`](crate::planted)
//! is the constant `false`, and nothing of it is left in a build. With it, one fault at most is
//! chosen for the whole process.

#[cfg(feature = "planted")]
pub use chosen::{NAMES, choose, index, is};

/// Whether the fault of this name is planted: `false`, unless the feature `planted` is on and the
/// fault was chosen. A name that is not in the list does not compile with the feature.
#[cfg(not(feature = "planted"))]
#[macro_export]
macro_rules! planted {
    ($name:literal) => {
        false
    };
}

/// Whether the fault of this name is planted: `false`, unless the feature `planted` is on and the
/// fault was chosen. A name that is not in the list does not compile with the feature.
#[cfg(feature = "planted")]
#[macro_export]
macro_rules! planted {
    ($name:literal) => {{
        const FAULT: u8 = $crate::planted::index($name);
        $crate::planted::is(FAULT)
    }};
}

#[cfg(feature = "planted")]
mod chosen {
    use core::sync::atomic::{AtomicU8, Ordering};

    /// Number of the chosen fault, from 1; 0: none.
    static CHOSEN: AtomicU8 = AtomicU8::new(0);

    /// All faults, named after the public bug reports whose root cause each repeats.
    pub const NAMES: &[&str] = &[
        "row-01-failed-write-is-not-rolled-back",
        "row-02-released-below-the-log-start",
        "row-03-start-offset-goes-back-on-load",
        "row-04-fetch-begins-below-the-start-offset",
        "row-05-gaps-count-as-done-on-load",
        "row-06-limit-not-checked-on-acquire",
        "row-07-count-falls-when-a-session-ends",
        "row-11-neighbours-stored-as-one-state",
        "row-17-one-wake-up-swallows-the-others",
        "row-20-riding-acks-wake-nobody",
        "row-21-credit-not-returned-on-an-error",
        "row-22-lock-without-an-owner",
        "row-23-lock-without-a-clock",
        "row-26-failed-write-answered-with-success",
        "row-29-reset-keeps-the-old-window",
        "row-31-applied-at-write-and-again",
        "row-33-snapshot-without-open-transactions",
        "row-34-snapshot-without-staged-offsets",
        "row-35-stable-offset-one-too-far",
        "row-38-pending-not-handed-over",
        "row-41-failed-load-starts-at-nothing",
        "row-42-late-end-decides-the-next",
        "row-43-late-produce-opens-a-transaction",
        "row-44-late-registration-counts",
        "row-45-refused-marker-counts-as-written",
        "row-46-end-answered-before-the-markers",
        "row-47-marker-not-repeated",
        "row-48-reset-forgets-pending",
        "row-49-only-acks-is-nothing",
        "row-55-timeout-not-armed",
        "row-56-marker-ends-other-producers",
        "row-57-stage-not-verified",
        "row-58-requests-dropped-while-loading",
        "row-59-abort-keeps-the-count",
        "row-60-stage-counts-ranges",
        "row-61-session-end-frees-staged-records",
        "row-63-epoch-runs-over",
        "row-64-previous-epoch-not-stored",
        "row-69-length-is-believed",
        "row-74-close-keeps-records",
        "row-76-acks-on-epoch-0-vanish",
        "row-77-old-connection-closes-the-new-session",
        "row-78-acks-without-a-session-vanish",
    ];

    /// Number of a fault, from 1. Not in the list: does not compile where it is a constant.
    pub const fn index(name: &str) -> u8 {
        let mut number = 0;
        while number < NAMES.len() {
            if equal(NAMES[number].as_bytes(), name.as_bytes()) {
                return number as u8 + 1;
            }
            number += 1;
        }
        panic!("no fault of this name is in the list")
    }

    const fn equal(a: &[u8], b: &[u8]) -> bool {
        let mut at = 0;
        while at < a.len() && at < b.len() && a[at] == b[at] {
            at += 1;
        }
        at == a.len() && at == b.len()
    }

    /// Chooses a fault for the whole process; 0 chooses none.
    pub fn choose(fault: u8) {
        CHOSEN.store(fault, Ordering::Relaxed);
    }

    /// Whether a fault is the chosen one.
    pub fn is(fault: u8) -> bool {
        CHOSEN.load(Ordering::Relaxed) == fault
    }
}
