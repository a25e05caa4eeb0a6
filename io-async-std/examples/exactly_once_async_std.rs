//! Copies a topic exactly once while things go wrong, on async-std.
//!
//! ```text
//! cargo run --release -p ackord-io-async-std --example exactly_once_async_std
//! cargo run --release -p ackord-io-async-std --example exactly_once_async_std -- --against 127.0.0.1:9092
//! ```

use std::process::ExitCode;

use ackord_examples::exactly_once;
use ackord_io_async_std::client::AsyncStd;
use ackord_io_async_std::server::serve;

fn main() -> ExitCode {
    exactly_once::main::<AsyncStd>(|run| async_std::task::block_on(run.until_done()), serve)
}
