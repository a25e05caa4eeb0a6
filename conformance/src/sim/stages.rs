//! The oracle of acknowledgements in transactions, whichever request brings them.

use std::collections::{BTreeMap, BTreeSet};

use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;

use super::ledger::Pair;
use super::wire;

/// The first EndTxn after which a producer has another epoch.
const BUMPS_EPOCH: i16 = 5;

/// What a transaction needs before it takes acknowledgements.
enum Needs {
    /// AddShareAcksToTxn.
    Registration,
    /// Nothing: it is registered by the way.
    Nothing,
    /// That it has taken no other content for the group.
    OneContent(String, String),
}

/// What producers registered, staged and ended.
#[derive(Debug, Default)]
pub struct Stages {
    /// When a producer's EndTxn that gave it another epoch was first confirmed, in microseconds.
    ended_us: BTreeMap<Pair, u64>,
    /// When an EndTxn of a producer that keeps its epoch was confirmed last.
    kept_on_us: BTreeMap<Pair, u64>,
    /// Producers that asked for a registration.
    registered: BTreeSet<Pair>,
    /// Producers whose transaction is of version 2 because of its acknowledgements.
    joined: BTreeSet<Pair>,
    /// What was taken from a producer that keeps its epoch for a group, since its last EndTxn.
    contents: BTreeMap<(Pair, String), String>,
}

impl Stages {
    /// A request has reached the broker.
    pub fn on_request(&mut self, request: &Request) {
        if let Request::AddShareAcksToTxn(own) = request {
            let pair = (
                own.transactional_id.to_string(),
                own.producer_id,
                own.producer_epoch,
            );
            self.registered.insert(pair);
        }
    }

    /// The broker has answered; what is wrong with it.
    pub fn on_response(
        &mut self,
        arrived_us: u64,
        request: &Request,
        version: i16,
        response: &Response,
    ) -> Option<String> {
        if let (Request::AddShareAcksToTxn(own), Response::AddShareAcksToTxn(answer)) =
            (request, response)
        {
            let mut parts = answer.topics.iter().flat_map(|topic| &topic.partitions);
            let pair = (
                own.transactional_id.to_string(),
                own.producer_id,
                own.producer_epoch,
            );
            if answer.error_code == ErrorCode::NONE
                && parts.any(|part| part.error_code == ErrorCode::NONE)
            {
                self.joined.insert(pair);
            }
            return None;
        }
        let (pair, needs) = taken(request, version, response)?;
        let late = |ended: &BTreeMap<Pair, u64>| {
            ended
                .get(&pair)
                .is_some_and(|ended_us| *ended_us < arrived_us)
        };
        match needs {
            _ if late(&self.ended_us) => Some(format!("{pair:?} staged records after its end")),
            Needs::Registration if !self.registered.contains(&pair) => Some(format!(
                "{pair:?} staged records and has registered nothing"
            )),
            Needs::Registration => None,
            Needs::Nothing => {
                self.joined.insert(pair);
                None
            }
            Needs::OneContent(group, content) => {
                let ended = self.kept_on_us.get(&pair);
                if ended.is_some_and(|ended_us| arrived_us <= *ended_us) {
                    return None;
                }
                let known = self.contents.entry((pair.clone(), group));
                let known = known.or_insert_with(|| content.clone());
                (*known != content).then(|| {
                    format!("{pair:?} staged two contents in a transaction: {known}, {content}")
                })
            }
        }
    }

    /// An EndTxn was confirmed; what is wrong with that.
    pub fn ended(
        &mut self,
        now_us: u64,
        pair: &Pair,
        commit: bool,
        version: i16,
    ) -> Option<String> {
        if version >= BUMPS_EPOCH {
            self.ended_us.entry(pair.clone()).or_insert(now_us);
            return None;
        }
        self.kept_on_us.insert(pair.clone(), now_us);
        self.contents.retain(|(own, _), _| own != pair);
        (commit && self.joined.contains(pair)).then(|| {
            format!("{pair:?} committed acknowledgements, and nothing tells a late one apart")
        })
    }
}

/// Whose transaction has taken acknowledgements, if any.
fn taken(request: &Request, version: i16, response: &Response) -> Option<(Pair, Needs)> {
    let well = |code: ErrorCode| code == ErrorCode::NONE;
    match (request, response) {
        (Request::TxnShareAcknowledge(own), Response::TxnShareAcknowledge(answer)) => {
            let mut parts = answer.responses.iter().flat_map(|own| &own.partitions);
            let taken = well(answer.error_code) && parts.any(|part| well(part.error_code));
            let id = own.transactional_id.to_string();
            let pair = (id, own.producer_id, own.producer_epoch);
            taken.then_some((pair, Needs::Registration))
        }
        (Request::TxnShareAcknowledgeDraft(own), Response::TxnShareAcknowledgeDraft(answer)) => {
            let mut parts = answer.responses.iter().flat_map(|own| &own.partitions);
            let taken = well(answer.error_code) && parts.any(|part| well(part.error_code));
            let id = own.transactional_id.as_ref()?.to_string();
            let pair = (id, own.producer_id, own.producer_epoch);
            taken.then_some((pair, Needs::Nothing))
        }
        (Request::TxnOffsetCommit(own), Response::TxnOffsetCommit(answer))
            if wire::has_text(own) =>
        {
            let mut parts = answer.topics.iter().flat_map(|own| &own.partitions);
            let taken = parts.any(|part| well(part.error_code));
            let id = own.transactional_id.to_string();
            let pair = (id, own.producer_id, own.producer_epoch);
            let needs = match version >= BUMPS_EPOCH {
                true => Needs::Nothing,
                false => Needs::OneContent(own.group_id.to_string(), content(own)),
            };
            taken.then_some((pair, needs))
        }
        _ => None,
    }
}

fn content(request: &ackord_proto::messages::TxnOffsetCommitRequest) -> String {
    let parts = request.topics.iter().flat_map(|topic| &topic.partitions);
    let words = parts.map(|part| {
        let text = part.committed_metadata.as_deref().unwrap_or_default();
        format!("{} {text}", part.partition_index)
    });
    words.collect::<Vec<_>>().join(" ")
}
