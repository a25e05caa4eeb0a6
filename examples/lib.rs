//! Programs that embed the cores without an async runtime: `embed`, a broker on plain threads, and
//! `record_machine`, the delivery state of one share partition alone. [`exactly_once`] is the body
//! of the example of that name, which each adapter has.
#![forbid(unsafe_code)]

pub mod exactly_once;
