//! SIGTERM and SIGINT, on a thread of their own: no adapter needs the signals of its runtime.

use std::io;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::host::Host;

/// After this time the process ends, whatever hangs. What was acknowledged is durable already.
const PATIENCE: Duration = Duration::from_millis(1900);

/// Signals from here on are kept for [`Stops::watch`].
pub(crate) struct Stops(Signals);

impl Stops {
    pub(crate) fn catch() -> io::Result<Self> {
        Signals::new([SIGINT, SIGTERM]).map(Stops)
    }

    /// Stops the host on the first signal.
    pub(crate) fn watch(mut self, host: Host) -> io::Result<()> {
        let work = move || {
            if let Some(signal) = self.0.forever().next() {
                host.logger()
                    .info(format_args!("signal {signal}: stopping"));
                host.drain();
                if host.wait_finished(Some(PATIENCE)).is_none() {
                    host.logger().warn("the stop hangs and is cut short");
                    std::process::exit(0);
                }
            }
        };
        thread::Builder::new()
            .name("signals".into())
            .spawn(work)
            .map(|_| ())
    }
}
