//! Copies a topic exactly once while things go wrong, on tokio.
//!
//! ```text
//! cargo run --release -p ackord-io-tokio --example exactly_once
//! cargo run --release -p ackord-io-tokio --example exactly_once -- --against 127.0.0.1:9092
//! ```

use std::process::ExitCode;

use ackord_examples::exactly_once;
use ackord_io_tokio::client::Tokio;
use ackord_io_tokio::server::serve;
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    exactly_once::main::<Tokio>(
        |run| {
            let runtime = Runtime::new().map_err(|error| format!("no runtime: {error}"))?;
            runtime.block_on(run.until_done())
        },
        serve,
    )
}
