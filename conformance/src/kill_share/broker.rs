//! A broker as a process of its own, which can be killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What a broker prints when it serves, before its address.
const READY: &str = "ackord ready on ";

/// A broker that runs.
#[derive(Debug)]
pub(super) struct BrokerProcess {
    process: Child,
    port: u16,
}

impl BrokerProcess {
    /// Starts a program on a folder and a port of loopback, 0 for any.
    pub(super) fn start(program: &[String], data: &Path, port: u16) -> Result<Self, String> {
        let (program, arguments) = program.split_first().ok_or("no broker is named")?;
        let mut process = Command::new(program)
            .args(arguments)
            .args(["--durability", "sync", "--listen"])
            .arg(format!("127.0.0.1:{port}"))
            .arg("--data-dir")
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| format!("{program} does not start: {error}"))?;
        let mut line = String::new();
        if let Some(stdout) = process.stdout.take() {
            // Nothing more is printed there, so that it may be closed.
            let read = BufReader::new(stdout).read_line(&mut line);
            read.map_err(|error| format!("{program} says nothing: {error}"))?;
        }
        let mut broker = BrokerProcess { process, port: 0 };
        let address = line.trim().strip_prefix(READY);
        let port = address.and_then(|address| address.rsplit(':').next()?.parse().ok());
        match port {
            Some(port) => broker.port = port,
            None => return Err(format!("{program} is not ready but says `{}`", line.trim())),
        }
        Ok(broker)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Ends it at once, by SIGKILL; it is gone when this returns.
    pub(super) fn kill(&mut self) {
        // It may have ended by itself, which the next start shows.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
