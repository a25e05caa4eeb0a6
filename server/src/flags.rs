//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::address::Address;
use crate::commands::{GroupsFlags, TxnFlags};
use crate::decode::DecodeFlags;
use crate::logging::Level;

/// A Kafka-compatible broker whose share groups acknowledge inside transactions.
#[derive(Clone, Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do; nothing means `serve`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of `serve`.
    #[command(flatten)]
    pub serve: ServeFlags,
}

/// What the program can do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Run the broker (the default)
    Serve(ServeFlags),
    /// Print a frame, record batches or a golden vector from standard input, field by field
    Decode(DecodeFlags),
    /// List, describe and abort transactions of a running broker
    Txn(TxnFlags),
    /// Describe share groups of a running broker, and what transactions hold of them
    Groups(GroupsFlags),
}

/// Flags of the broker. A flag counts more than `--set`, that more than the file.
#[derive(Args, Clone, Debug, Default)]
pub struct ServeFlags {
    /// Address to listen on; port 0 takes any free one [default: 127.0.0.1:9092]
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<Address>,
    /// Directory that keeps everything [default: ackord-data]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// When an acknowledged write is kept [default: sync]
    #[arg(long, value_enum)]
    pub durability: Option<Durability>,
    /// Configuration in the format of Kafka's server.properties
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A broker configuration by its Kafka name; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Address of the page of metrics, `/metrics`, for Prometheus [default: none]
    #[arg(long, value_name = "HOST:PORT")]
    pub admin: Option<Address>,
    /// How much is logged on standard error [default: info]
    #[arg(long, value_enum)]
    pub log_level: Option<Level>,
}

/// When an acknowledged write is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// After it was synced to the disk
    #[default]
    Sync,
    /// After it was given to the operating system: a loss of power may take it
    Os,
    /// Never: everything is gone with the process
    Memory,
}

impl Cli {
    /// The command, also where nothing names it.
    pub fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Serve(self.serve))
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        Some(_) | None => Err("expected KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(args: &[&str]) -> Result<ServeFlags, clap::Error> {
        let cli = Cli::try_parse_from(std::iter::once(&"ackord").chain(args))?;
        match cli.into_command() {
            Command::Serve(flags) => Ok(flags),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_stand_with_and_without_the_command() {
        for args in [
            &[
                "--listen",
                "[::1]:0",
                "--set",
                "a=b=c",
                "--set",
                "d=",
                "--durability",
                "os",
            ][..],
            &[
                "serve",
                "--listen",
                "[::1]:0",
                "--set",
                "a=b=c",
                "--set=d=",
                "--durability=os",
            ][..],
        ] {
            let flags = flags(args).unwrap();
            assert_eq!(flags.listen.unwrap().to_string(), "[::1]:0");
            let pairs = [
                ("a".to_owned(), "b=c".to_owned()),
                ("d".to_owned(), String::new()),
            ];
            assert_eq!(flags.set, pairs);
            assert_eq!(flags.durability, Some(Durability::Os));
        }
    }

    #[test]
    fn bad_flags_end_with_two() {
        for args in [
            &["--listen", "nowhere"][..],
            &["--set", "novalue"],
            &["--durability", "maybe"],
            &["--unknown"],
            &["dance"],
            &["--listen", "a:1", "serve"],
            &["decode", "--response", "3"],
            &["txn"],
            &["txn", "abort"],
            &["txn", "list", "--bootstrap", "nowhere"],
            &["groups", "describe", "g", "--all"],
            &["decode", "--request", "--response", "3", "1"],
        ] {
            assert_eq!(flags(args).unwrap_err().exit_code(), 2, "{args:?}");
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
