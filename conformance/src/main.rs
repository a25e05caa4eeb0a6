//! `ackord-conformance`: scripts and golden vectors from the command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use ackord_conformance::faults::sweep::{self, Extent};
use ackord_conformance::sim::command as sim;
use ackord_conformance::{codecs, kill_share, live, run, vectors};
use clap::{Args, Parser, Subcommand};

/// Checks a broker, or the cores that it is made of, against what the specification says.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs scripts (files or folders) on the cores, or on a running broker.
    Scripts {
        /// The broker; without it the cores in this process.
        #[arg(long, value_name = "HOST:PORT")]
        against: Option<String>,
        /// Prints the transcripts of scripts that pass, too.
        #[arg(long)]
        show: bool,
        /// Files and folders.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Appends a batch of each codec, made by our builder, to partition 0 of a topic.
    Codecs {
        /// The broker.
        #[arg(long, value_name = "HOST:PORT")]
        against: String,
        /// The topic.
        #[arg(long)]
        topic: String,
        /// The number of records in each batch.
        #[arg(long, default_value_t = 50)]
        records: i64,
    },
    /// Runs scripts with a fault at each of their storage operations, and with a second one in what
    /// follows: what they say does not hold then, but what transactions promise does.
    Faults {
        /// Of all faults only one in so many.
        #[arg(long, value_name = "N")]
        one_in: Option<usize>,
        /// Threads; 0: one for each core.
        #[arg(long, default_value_t = 0)]
        threads: usize,
        /// Files and folders.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Kills a broker, again and again, while share consumers work, and keeps account.
    KillShare(KillShare),
    /// Works on a running broker, whatever others do to it meanwhile, and keeps account.
    Live(Live),
    /// Runs the cores under every fault: each seed is a run, the same each time.
    Sim {
        /// One seed, or A..B (without B).
        #[arg(long, default_value = "0..200")]
        seeds: String,
        /// Only this workload.
        #[arg(long)]
        workload: Option<String>,
        /// What is left out, as a failing run prints it.
        #[arg(long)]
        without: Option<String>,
        /// A fault that is planted on purpose, or `all`: each has to be found.
        #[arg(long)]
        planted: Option<String>,
        /// Prints what was said in each run.
        #[arg(long)]
        show: bool,
        /// Threads; 0: one for each core.
        #[arg(long, default_value_t = 0)]
        threads: usize,
    },
    /// Checks tables of golden bytes (files or folders) against the codecs.
    Vectors {
        /// Files and folders.
        #[arg(required = true, value_name = "FILE")]
        paths: Vec<PathBuf>,
    },
}

#[derive(Args, Debug)]
struct KillShare {
    /// How often it is killed.
    #[arg(long, default_value_t = 20)]
    kills: u32,
    /// Share consumers.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    members: u32,
    /// Partitions of their topic.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(i32).range(1..=10_000))]
    partitions: i32,
    /// Names the run; any other one without it.
    #[arg(long)]
    seed: Option<u64>,
    /// An empty folder for the broker's data.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The program of the broker and its arguments.
    #[arg(required = true, value_name = "BROKER", trailing_var_arg = true)]
    broker: Vec<String>,
}

impl KillShare {
    fn run(self) -> Result<(usize, usize), String> {
        let clean = kill_share::run(&kill_share::Options {
            broker: self.broker,
            kills: self.kills,
            members: self.members,
            partitions: self.partitions,
            seed: self.seed.unwrap_or_else(any_seed),
            data: self.data,
        })?;
        Ok((usize::from(clean), usize::from(!clean)))
    }
}

#[derive(Args, Debug)]
struct Live {
    /// The broker.
    #[arg(long, value_name = "HOST:PORT")]
    against: String,
    /// Records to copy or to consume.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..))]
    records: u32,
    /// Members of the share group.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    workers: u32,
    /// Partitions of each topic.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(i32).range(1..=10_000))]
    partitions: i32,
    /// What is done.
    #[arg(long, value_enum, default_value_t = live::Mode::Transactional)]
    mode: live::Mode,
    /// Names the run; any other one without it.
    #[arg(long)]
    seed: Option<u64>,
}

impl Live {
    fn run(self) -> Result<(usize, usize), String> {
        live::run(&live::Options {
            against: self.against,
            records: self.records,
            workers: self.workers,
            partitions: self.partitions,
            mode: self.mode,
            seed: self.seed.unwrap_or_else(any_seed),
        })
    }
}

fn any_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::from(since.unwrap_or_default().subsec_nanos())
}

/// What passed, failed and was skipped; a sentence is printed and counts as a failure.
fn counted(result: Result<(usize, usize), String>) -> (usize, usize, usize) {
    match result {
        Ok((passed, failed)) => (passed, failed, 0),
        Err(sentence) => {
            println!("{sentence}");
            (0, 1, 0)
        }
    }
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    // A golden vector that nobody understood has not been checked.
    let all_count = matches!(command, Command::Vectors { .. });
    // Nothing was run, nothing is shown.
    let some_count = matches!(command, Command::Scripts { .. } | Command::Vectors { .. });
    let (passed, failed, skipped) = match command {
        Command::Scripts {
            against,
            show,
            paths,
        } => {
            let tally = run::run_paths(&paths, against.as_deref(), show);
            (tally.passed, tally.failed, tally.skipped)
        }
        Command::Codecs {
            against,
            topic,
            records,
        } => {
            let produced = codecs::produce(&against, &topic, records);
            counted(produced.map(|()| (codecs::CODECS.len(), 0)))
        }
        Command::Faults {
            one_in,
            threads,
            paths,
        } => {
            let extent = one_in.map_or(Extent::Whole, Extent::OneIn);
            counted(sweep::run_paths(&paths, extent, threads))
        }
        Command::KillShare(own) => counted(own.run()),
        Command::Live(own) => counted(own.run()),
        Command::Sim {
            seeds,
            workload,
            without,
            planted,
            show,
            threads,
        } => {
            let options = sim::Options {
                seeds,
                workload,
                without,
                planted,
                show,
                threads,
            };
            counted(sim::sim(&options))
        }
        Command::Vectors { paths } => {
            let tally = vectors::run(&paths);
            (tally.passed, tally.failed, tally.skipped)
        }
    };
    match skipped {
        0 => println!("{passed} passed, {failed} failed"),
        skipped => println!("{passed} passed, {failed} failed, {skipped} skipped"),
    }
    let nothing = (some_count && passed == 0) || (all_count && skipped > 0);
    if failed == 0 && !nothing {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
