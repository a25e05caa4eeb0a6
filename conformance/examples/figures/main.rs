//! Figures of scale: what a fetch or a transaction costs when much else is there, and how long a
//! start takes with much in flight.
//!
//! `cargo run --release -p ackord-conformance --example figures -- PART`
//!
//! | part | what |
//! |---|---|
//! | `fetches` | members, groups, records in flight: cost of a share fetch at a size and at ten times the size |
//! | `transactions` | the same for transactions, by what is in them |
//! | `transaction WHAT` | one line of that alone, for a profiler: `record`, `offset`, or a number of acknowledgements |
//! | `live PROGRAM DIR` | a server with its data in DIR: commits beside a bare sync of the same disk and beside plain acknowledgements, a hundred at a time beside one |
//! | `restart PROGRAM DIR` | a server that is killed with a million records in flight |
//!
//! The first two run the cores in this process and count only the broker's own work: the median, so
//! that a busy machine does little to the ratios.

mod fetches;
mod live;
mod peer;
mod plain;
mod report;
mod speech;
mod transaction;
mod transactions;

use peer::Fallible;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["fetches"] => fetches::run(),
        ["transactions"] => transactions::run(),
        ["transaction", what] => transactions::one(what),
        ["live", program, dir] => live::commits(program, dir),
        ["restart", program, dir] => live::restart(program, dir),
        _ => Err("figures fetches | transactions | live PROGRAM DIR | restart PROGRAM DIR".into()),
    }
}
