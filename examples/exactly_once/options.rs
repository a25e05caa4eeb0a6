//! The command line.

use ackord_client_core::Endpoint;
use clap::Parser;

/// Copies a topic exactly once while things go wrong.
///
/// Several workers read one topic as one share group, transform each record, and commit their
/// output and their acknowledgements together; a chaos task makes some abort and drops others in
/// the middle of whatever they do. The broker may be killed and restarted meanwhile. At the end the
/// output is read with read_committed and the account printed.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// A running broker; without it the example starts its own, which keeps nothing.
    #[arg(long, value_name = "HOST:PORT")]
    pub against: Option<String>,
    /// Records to copy.
    #[arg(long, default_value_t = 10_000)]
    pub records: u64,
    /// Workers of the share group.
    #[arg(long, default_value_t = 4)]
    pub workers: usize,
    /// Partitions of both topics.
    #[arg(long, default_value_t = 4)]
    pub partitions: i32,
    /// Records of one transaction.
    #[arg(long, default_value_t = 50)]
    pub batch: i32,
    /// Transactions in a hundred that abort.
    #[arg(long, default_value_t = 10)]
    pub aborts: u64,
    /// Transactions in a hundred whose worker is dropped.
    #[arg(long, default_value_t = 2)]
    pub losses: u64,
    /// Transactions in a hundred whose worker goes on beside a successor with its transactional id.
    #[arg(long, default_value_t = 0)]
    pub zombies: u64,
    /// Prefix of topics, group and transactional ids.
    #[arg(long, default_value = "copy")]
    pub name: String,
    /// Seconds after which the copy counts as hung.
    #[arg(long, default_value_t = 300)]
    pub limit: u64,
}

impl Options {
    pub(super) fn bootstrap(&self) -> Result<[Endpoint; 1], String> {
        let address = self.against.as_deref().unwrap_or("127.0.0.1:9092");
        let endpoint = address.parse();
        endpoint
            .map(|endpoint| [endpoint])
            .map_err(|_| format!("{address} is no HOST:PORT"))
    }

    /// The topic that is copied.
    pub fn input(&self) -> String {
        format!("{}-in", self.name)
    }

    /// The topic of the copies.
    pub fn output(&self) -> String {
        format!("{}-out", self.name)
    }
}
