//! Scripts and golden vectors that say what the broker has to do.
//!
//! * [`script`]: the language of the scripts in `scripts/`, the executable text of KIP-1289.
//! * [`run`]: runs a script against an [`arm`]: the cores in this process ([`core_arm`]), or a
//!   server behind a socket ([`tcp_arm`]).
//! * [`client_speech`]: which scripts applications can say by the API of a client library.
//! * [`memory_store`]: a store that holds, fails and loses operations on command.
//! * [`transcript`]: what a run looks like, for snapshots.
//! * [`adapter`]: proof that an adapter keeps the rules of the cores.
//! * [`faults`]: the same scripts with a fault at each append.
//! * [`kill_share`]: share consumers under SIGKILL, with an account of every record.
//! * [`live`]: work on a broker that others kill and restart, with an account at the end.
//! * [`sim`]: a whole broker with many clients, and everything that can go wrong between them.
//! * [`codecs`]: batches of every codec for others to read.
//! * [`vectors`]: bytes of Apache Kafka against our codecs.

pub mod acl_admin;
pub mod adapter;
mod answers;
pub mod arm;
pub mod caller;
mod client;
pub mod client_speech;
pub mod codecs;
mod compaction;
pub mod consumer_groups;
pub mod consumer_protocol;
pub mod core_arm;
pub mod core_view;
pub mod dead_letter;
mod facts;
pub mod faults;
pub mod frame_stream;
mod grammar;
mod group_admin;
pub mod kill_share;
pub mod live;
mod log_reader;
pub mod memory_store;
mod needs;
mod offset_acks;
mod requests;
pub mod run;
pub mod script;
mod settle;
mod share_requests;
pub mod sim;
pub mod start_faults;
mod steps;
pub mod tcp_arm;
pub mod traffic;
pub mod transcript;
pub mod txn_admin;
pub mod vectors;
mod verbs;
