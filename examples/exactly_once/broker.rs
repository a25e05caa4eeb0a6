//! A broker of the example's own: this program once more, as another process.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The first argument of a process that is the broker.
const ROLE: &str = "its-own-broker";

/// Groups notice soon that a worker was dropped, and give its partitions to others.
const SETTINGS: [&str; 4] = [
    "group.share.min.session.timeout.ms=5000",
    "group.share.session.timeout.ms=5000",
    "group.share.min.heartbeat.interval.ms=1000",
    "group.share.heartbeat.interval.ms=1000",
];

/// The arguments of the broker, where this process is one.
pub(super) fn arguments() -> Option<Vec<OsString>> {
    let mut args = std::env::args_os();
    let program = args.next()?;
    let role = args.next()?;
    (role == ROLE).then(|| std::iter::once(program).chain(args).collect())
}

/// A broker process that ends with this value.
#[derive(Debug)]
pub(super) struct OwnBroker {
    process: Child,
    address: String,
}

impl OwnBroker {
    pub(super) fn start() -> Result<Self, String> {
        let program = std::env::current_exe();
        let program = program.map_err(|error| format!("this program is not found: {error}"))?;
        let mut command = Command::new(program);
        command.args([ROLE, "--listen", "127.0.0.1:0", "--durability", "memory"]);
        for setting in SETTINGS {
            command.args(["--set", setting]);
        }
        let process = command.stdout(Stdio::piped()).spawn();
        let mut process = process.map_err(|error| format!("no broker can be started: {error}"))?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            // What went wrong stands on standard error; here it is an empty line.
            let _ = BufReader::new(output).read_line(&mut line);
        }
        let address = line
            .trim()
            .strip_prefix("ackord ready on ")
            .map(str::to_string);
        let mut own = OwnBroker {
            process,
            address: String::new(),
        };
        own.address = address.ok_or("the broker did not start")?;
        Ok(own)
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for OwnBroker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
