//! ListTransactions: the transactional ids that the coordinators here know (KIP-664, KIP-994,
//! KIP-1152).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::list_transactions::TransactionState;
use ackord_proto::messages::{ListTransactionsRequest, ListTransactionsResponse};
use ackord_proto::str::Str;
use alloc::vec::Vec;
use regex::{Regex, RegexBuilder};

use super::super::Broker;
use super::super::journal::later;
use crate::txn::{TxnDescription, TxnState};

/// The most bytes that a compiled pattern of a client may take.
const PATTERN_BYTES: usize = 1 << 20;

/// What a listed transaction has to be; an empty list asks for nothing.
struct Filter {
    states: Vec<TxnState>,
    /// Some names of states were given, known or not.
    by_state: bool,
    producer_ids: Vec<i64>,
    /// Only what has been under way for longer, in milliseconds; below 0: no matter how long.
    longer_than_ms: i64,
    pattern: Option<Regex>,
}

impl Broker {
    pub(in crate::broker) fn list_transactions(
        &mut self,
        slot: u64,
        request: ListTransactionsRequest,
    ) {
        let refuse = |error_code| ListTransactionsResponse {
            error_code,
            ..Default::default()
        };
        let mut partitions = self.tcs.keys();
        if partitions.any(|partition| self.is_tc_frozen(*partition)) {
            let response = refuse(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
            return self.respond(slot, response, None);
        }
        let (filter, unknown_state_filters) = match Filter::new(&request) {
            Ok(filter) => filter,
            Err(code) => return self.respond(slot, refuse(code), None),
        };
        let now_ms = self.now.wall.as_millis();
        let mut transaction_states = Vec::new();
        let mut gate = None;
        for (partition, tc) in &self.tcs {
            gate = later(gate, self.tc_gate(*partition));
            let fit = tc.transactions().filter(|txn| filter.fits(txn, now_ms));
            transaction_states.extend(fit.map(|txn| TransactionState {
                transactional_id: Str::from(txn.transactional_id),
                producer_id: txn.producer_id,
                transaction_state: Str::from(txn.state.name()),
                ..Default::default()
            }));
        }
        let response = ListTransactionsResponse {
            unknown_state_filters,
            transaction_states,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }
}

impl Filter {
    /// The filter, and the names that are no states. Pattern as in RE2, over the whole id.
    fn new(request: &ListTransactionsRequest) -> Result<(Filter, Vec<Str>), ErrorCode> {
        let mut unknown = Vec::new();
        let mut states = Vec::new();
        for name in &request.state_filters {
            match TxnState::ALL.iter().find(|state| *state.name() == **name) {
                Some(state) => states.push(*state),
                None => unknown.push(name.clone()),
            }
        }
        let text = request.transactional_id_pattern.as_deref();
        let pattern = text.filter(|text| !text.is_empty()).map(whole_match);
        let filter = Filter {
            states,
            by_state: !request.state_filters.is_empty(),
            producer_ids: request.producer_id_filters.clone(),
            longer_than_ms: request.duration_filter,
            pattern: pattern.transpose()?,
        };
        Ok((filter, unknown))
    }

    fn fits(&self, txn: &TxnDescription<'_>, now_ms: i64) -> bool {
        let id = txn.producer_id;
        (!self.by_state || self.states.contains(&txn.state))
            && (self.producer_ids.is_empty() || self.producer_ids.contains(&id))
            && (self.longer_than_ms < 0
                || now_ms.saturating_sub(txn.start_ms) > self.longer_than_ms)
            && (self.pattern.as_ref()).is_none_or(|pattern| pattern.is_match(txn.transactional_id))
    }
}

/// A pattern that has to match all of a text.
fn whole_match(pattern: &str) -> Result<Regex, ErrorCode> {
    // By itself first: `a)|(b` must not become a pattern by what is put around it.
    let build = |pattern: &str| {
        let mut builder = RegexBuilder::new(pattern);
        let built = builder.size_limit(PATTERN_BYTES).nest_limit(100).build();
        built.map_err(|_| ErrorCode::INVALID_REGULAR_EXPRESSION)
    };
    build(pattern)?;
    build(&alloc::format!("^(?:{pattern})$"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_ids_and_bad_ones_are_refused() {
        let matches = |pattern: &str, id: &str| whole_match(pattern).map(|own| own.is_match(id));
        assert_eq!(matches("app-.*", "app-7"), Ok(true));
        assert_eq!(matches("app", "app-7"), Ok(false));
        assert_eq!(matches("a|app-7", "app-7"), Ok(true));
        assert_eq!(matches("(?i)APP-\\d", "app-7"), Ok(true));
        let too_large = "(((a{99}){99}){99}){99}";
        for bad in ["a)|(b", "[", "*", "a(?=b)", too_large] {
            assert_eq!(
                matches(bad, "app-7"),
                Err(ErrorCode::INVALID_REGULAR_EXPRESSION),
                "{bad}"
            );
        }
    }
}
