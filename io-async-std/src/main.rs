//! `ackord-async-std`: the broker on async-std.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ackord_server::run(
        std::env::args_os(),
        ackord_server::broker,
        ackord_io_async_std::server::serve,
    )
}
