//! How far the copy is: a bar on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

const TEMPLATE: &str = "{bar:40} {pos} of {len} copied, {msg} aborted, {elapsed}";

/// Lines come at most so often.
const PAUSE: Duration = Duration::from_secs(1);

/// See the module.
pub(super) enum Progress {
    Bar(ProgressBar),
    Lines { records: u64, said: Instant },
}

impl Progress {
    pub(super) fn new(records: u64) -> Self {
        if !io::stdout().is_terminal() {
            let said = Instant::now();
            return Progress::Lines { records, said };
        }
        let bar = ProgressBar::new(records);
        bar.set_draw_target(indicatif::ProgressDrawTarget::stdout());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Progress::Bar(bar)
    }

    pub(super) fn show(&mut self, copied: u64, aborted: u64) {
        match self {
            Progress::Bar(bar) => {
                bar.set_message(aborted.to_string());
                bar.set_position(copied);
            }
            Progress::Lines { records, said } if said.elapsed() > PAUSE => {
                *said = Instant::now();
                println!("copied {copied} of {records}, {aborted} aborted");
            }
            Progress::Lines { .. } => {}
        }
    }

    /// A line of its own.
    pub(super) fn note(&self, text: &str) {
        match self {
            Progress::Bar(bar) => bar.suspend(|| eprintln!("{text}")),
            Progress::Lines { .. } => eprintln!("{text}"),
        }
    }

    pub(super) fn end(self) {
        if let Progress::Bar(bar) = self {
            bar.finish();
        }
    }
}
