//! What the network does to a request.

use ackord_proto::api::Request;

use super::chance::Chance;
use super::wire;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives, and so does the answer.
    Arrives,
    /// The connection breaks before it arrives; the same bytes arrive later all the same.
    Late,
    /// The connection breaks before it arrives.
    Lost,
    /// It arrives twice, the second time later and on another connection.
    Repeated,
    /// The connection breaks before the answer arrives.
    ReplyLost,
}

/// Everything drawn for a request, always the same number of draws.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// What becomes of it.
    pub fate: Fate,
    /// Microseconds to the broker.
    pub takes_us: u64,
    /// Microseconds until a connection without an answer breaks.
    pub short_us: u64,
    /// Microseconds until late bytes arrive.
    pub late_us: u64,
}

/// Draws for a request.
pub fn fate(net: &mut Chance, request: &Request, version: i16, permille: u64) -> Draw {
    let hit = net.below(1000) < permille;
    let kind = net.below(10);
    let slow = net.below(100);
    let takes_us = net.below(2000) + if slow == 0 { 400_000 } else { 0 };
    let short_us = [0, 500, 3000, 40_000, 1_500_000][usize::try_from(net.below(5)).unwrap_or(0)];
    let late_us =
        [300, 4000, 60_000, 900_000, 8_000_000][usize::try_from(net.below(5)).unwrap_or(0)];
    let fate = match kind {
        _ if !hit => Fate::Arrives,
        0 | 1 => Fate::Lost,
        2..=4 => Fate::ReplyLost,
        5..=7 if may_be_late(request, version) => Fate::Repeated,
        8 | 9 if may_be_late(request, version) => Fate::Late,
        _ => Fate::ReplyLost,
    };
    Draw {
        fate,
        takes_us,
        short_us,
        late_us,
    }
}

/// Before transaction version 2 nothing tells a late request from one of the next transaction; that
/// is known, and the reason for version 2 (KIP-890). Acknowledgements by text are safe there all the
/// same. Who begins anew with two-phase commit aborts what was prepared, whenever that arrives
/// (KIP-939).
fn may_be_late(request: &Request, version: i16) -> bool {
    match request {
        Request::AddOffsetsToTxn(_) | Request::AddPartitionsToTxn(_) => false,
        Request::EndTxn(_) => version >= 5,
        Request::InitProducerId(own) => !own.enable_2pc || own.keep_prepared_txn,
        Request::TxnOffsetCommit(own) => version >= 5 || wire::has_text(own),
        Request::Produce(own) => version >= 12 || own.transactional_id.is_none(),
        _ => true,
    }
}
