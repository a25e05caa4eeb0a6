//! Where the broker is placed: clients, oracle and shrinker know only this.

use ackord_coord_core::Broker;
use ackord_coord_core::contract::ConnId;
use ackord_machine::{LogId, Now};
use bytes::Bytes;

use crate::script::{AppendFault, Keep};

/// What leaves a cluster for its clients.
#[derive(Clone, Debug)]
pub enum Output {
    /// The connection is closed.
    Closed(ConnId),
    /// A whole reply without its size.
    Frame(ConnId, Bytes),
}

/// What can happen to the machines of a cluster.
#[derive(Clone, Copy, Debug)]
pub enum NodeFault {
    /// The process ends; of what was asked of its store this much becomes durable.
    Crash(Keep),
    /// One of the appends to come fails: so many after the next.
    FailAppend(usize, AppendFault),
    /// The next append to the log of topics, configurations and producer ids fails.
    FailCluster(AppendFault),
    /// So many of the next readings back of a log fail, while the machine serves.
    FailLoads(usize),
    /// No append and no reading back fails that was going to.
    Heal,
    /// The store completes nothing, or goes on.
    Hold(bool),
    /// The process starts again.
    Restart,
}

/// Brokers, their stores, and whatever is between them.
pub trait Cluster {
    /// A connection is there.
    fn open(&mut self, now: Now, conn: ConnId);
    /// A request without its size arrived.
    fn frame(&mut self, now: Now, conn: ConnId, bytes: Bytes);
    /// A connection is gone.
    fn close(&mut self, now: Now, conn: ConnId);
    /// When [`step`](Cluster::step) has something to do, in microseconds.
    fn next_at(&self) -> Option<u64>;
    /// Does what is due.
    fn step(&mut self, now: Now);
    /// What has left since the last call, in order.
    fn outputs(&mut self) -> Vec<Output>;
    /// Something goes wrong, or right again.
    fn fault(&mut self, now: Now, fault: NodeFault);
    /// Counts what may have taken state back that was decided and not durable: crashes and failed
    /// appends.
    fn era(&self) -> u64;
    /// Nothing is under way.
    fn is_idle(&self) -> bool;
    /// Something that was asked for may never be done: a store is held, a machine is down.
    fn is_stopped(&self) -> bool;
    /// Appends a record to a log of a store while its machine is down.
    fn amend(&mut self, log: LogId, key: &[u8], value: &[u8]);
    /// The machines that run.
    fn brokers(&self) -> Vec<&Broker>;
    /// Where nothing is under way: every machine again, built anew from what is stored.
    fn rebuilt(&self, now: Now) -> Option<Vec<Broker>>;
    /// Takes broken rules of the contract, and the bytes that went to the store.
    fn problems(&mut self) -> Vec<String>;
    /// A digest of all effects so far.
    fn digest(&self) -> u64;
}
