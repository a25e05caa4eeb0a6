//! Running scripts: one on one arm, or all of a folder.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::arm::Arm;
use crate::core_arm::CoreArm;
use crate::script::Script;
use crate::steps::Session;
use crate::tcp_arm::{Peer, TcpArm};
use crate::transcript::Digest;

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Each step with what it caused.
    pub transcript: String,
    /// The digest of everything after each step.
    pub digests: Vec<Digest>,
    /// The first step that went wrong, and how; the run ends there.
    pub failure: Option<String>,
}

/// Runs a script.
pub fn run(script: &Script, arm: &mut dyn Arm) -> Run {
    let mut run = Run {
        transcript: format!("# {}\n", script.title),
        ..Default::default()
    };
    let mut digest = Digest::default();
    let mut session = Session::new(arm);
    for line in &script.lines {
        let _ = writeln!(run.transcript, "\n{}", line.text);
        let outcome = session.step(&line.step);
        let mut said = session.arm.take_log();
        said.extend(session.notes.drain(..).map(|note| format!("  {note}")));
        for text in said {
            digest.update(text.as_bytes());
            run.transcript.push_str(&text);
            run.transcript.push('\n');
        }
        run.digests.push(digest);
        if let Err(error) = outcome {
            let failure = format!("line {}, `{}`: {error}", line.number, line.text);
            let _ = writeln!(run.transcript, "FAILED: {error}");
            run.failure = Some(failure);
            break;
        }
    }
    run
}

/// Runs a script twice on the cores; the runs have to be equal in every byte.
pub fn run_on_cores(script: &Script) -> Run {
    let once = || {
        let mut arm = CoreArm::default();
        let run = run(script, &mut arm);
        (run, arm.digest())
    };
    let ((mut first, bytes), (second, bytes_again)) = (once(), once());
    if first.failure.is_none() && (first != second || bytes != bytes_again) {
        let step = first
            .digests
            .iter()
            .zip(&second.digests)
            .position(|(a, b)| a != b);
        let line = step.and_then(|index| script.lines.get(index));
        let at = line.map_or("in bytes that the text does not show".to_string(), |line| {
            format!("from line {}, `{}`", line.number, line.text)
        });
        first.failure = Some(format!("two runs differ {at}"));
    }
    first
}

/// The count at the end of the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// As they should be.
    pub passed: usize,
    /// Not as they should be.
    pub failed: usize,
    /// Not run, with the reason printed.
    pub skipped: usize,
}

/// Runs files and folders of scripts (`.txt`), on the cores or on a server, and prints how each
/// went; the transcript too where it failed or `show` asks for it.
pub fn run_paths(paths: &[PathBuf], against: Option<&str>, show: bool) -> Tally {
    let mut tally = Tally::default();
    let peer = match against.map(Peer::of).transpose() {
        Ok(peer) => peer.unwrap_or_default(),
        Err(error) => {
            println!("FAILED {error}");
            tally.failed += 1;
            return tally;
        }
    };
    for path in paths.iter().flat_map(|path| script_files(path)) {
        let name = path.display();
        let script = match load(&path) {
            Ok(script) => script,
            Err(error) => {
                println!("FAILED {name}: {error}");
                tally.failed += 1;
                continue;
            }
        };
        let run = match against {
            None => run_on_cores(&script),
            Some(address) => {
                let mut arm = TcpArm::new(address).of_peer(peer);
                let differs = script.not_on_kafka.as_deref();
                let refused = arm.refuses(script.needs());
                if let Some(reason) = refused.or(differs.filter(|_| peer == Peer::Kafka)) {
                    println!("skipped {name}: {reason}");
                    tally.skipped += 1;
                    continue;
                }
                run(&script, &mut arm)
            }
        };
        match run.failure {
            None => {
                if show {
                    println!("{}", run.transcript);
                }
                println!("passed {name}");
                tally.passed += 1;
            }
            Some(failure) => {
                println!("{}\nFAILED {name}: {failure}", run.transcript);
                tally.failed += 1;
            }
        }
    }
    tally
}

/// Reads a script from a file.
///
/// # Errors
/// A sentence.
pub fn load(path: &Path) -> Result<Script, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    Script::parse(&text)
}

/// A file itself, or all scripts below a folder in the order of their names.
pub fn script_files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else {
        return vec![path.to_path_buf()];
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_dir() || path.extension().is_some_and(|own| own == "txt"));
    paths.sort();
    paths.iter().flat_map(|path| script_files(path)).collect()
}
