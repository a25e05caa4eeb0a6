//! Commands of an operator against a running broker: `txn` and `groups`.
//!
//! They are clients like any other: they speak to `--bootstrap`, print tables like Kafka's tools, and
//! say in a sentence what to do where something is refused.

mod groups;
mod link;
mod table;
#[cfg(test)]
mod tests;
mod txn;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use ackord_proto::kip1289;
use ackord_proto::messages::DescribePendingShareAcksResponse;

pub use groups::GroupsFlags;
pub use txn::TxnFlags;

use self::table::Table;

/// What hinders a command; a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Runs `txn` to its exit code: 0, or 1 with a sentence on standard error.
pub(crate) fn txn(flags: &TxnFlags) -> ExitCode {
    ended("txn", txn::run(flags))
}

/// Runs `groups`, as [`txn`].
pub(crate) fn groups(flags: &GroupsFlags) -> ExitCode {
    ended("groups", groups::run(flags))
}

fn ended(command: &str, done: Result<String, Refusal>) -> ExitCode {
    match done {
        Ok(text) => {
            // A reader that is gone has seen enough.
            let _ = io::stdout().lock().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(refusal) => {
            let _ = writeln!(io::stderr().lock(), "ackord {command}: {refusal}");
            ExitCode::FAILURE
        }
    }
}

/// Acknowledgements that wait for the end of a transaction, one range a line.
fn pending_table(response: &DescribePendingShareAcksResponse) -> String {
    let mut table = Table::new([
        "GROUP",
        "TOPIC",
        "PARTITION",
        "OFFSETS",
        "TYPE",
        "DELIVERY-COUNT",
        "MEMBER",
        "TRANSACTIONAL-ID",
        "PRODUCER-ID",
        "PRODUCER-EPOCH",
        "AGE-MS",
    ]);
    for own in &response.pending {
        let topic = own.topic_name.as_ref();
        let age = own.transaction_age_ms;
        table.row([
            own.group_id.to_string(),
            topic.map_or_else(|| own.topic_id.to_string(), ToString::to_string),
            own.partition_index.to_string(),
            format!("{}-{}", own.first_offset, own.last_offset),
            acknowledge_type(own.acknowledge_type).to_owned(),
            own.delivery_count.to_string(),
            known(own.member_id.as_deref()),
            known(own.transactional_id.as_deref()),
            own.producer_id.to_string(),
            own.producer_epoch.to_string(),
            known((age >= 0).then(|| age.to_string()).as_deref()),
        ]);
    }
    table.to_string()
}

fn acknowledge_type(number: i8) -> &'static str {
    match number {
        kip1289::ACKNOWLEDGE_GAP => "gap",
        kip1289::ACKNOWLEDGE_ACCEPT => "accept",
        kip1289::ACKNOWLEDGE_REJECT => "reject",
        _ => "unknown",
    }
}

/// `-` where something is not known, as Kafka's tools print it.
fn known(text: Option<&str>) -> String {
    text.unwrap_or("-").to_owned()
}
