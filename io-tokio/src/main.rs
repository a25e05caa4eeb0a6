//! `ackord`: the broker on tokio.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ackord_server::run(
        std::env::args_os(),
        ackord_server::broker,
        ackord_io_tokio::server::serve,
    )
}
