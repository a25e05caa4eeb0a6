//! What is left over when everything is done: records that a group has not finished, transactions
//! that are open, and acknowledgements that wait for one.

use ackord_proto::api::Response;
use ackord_proto::kip1289::DESCRIBE_PENDING_SHARE_ACKS_KEY;
use ackord_proto::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsRequestTopic,
};
use ackord_proto::messages::{
    DescribePendingShareAcksRequest, DescribeShareGroupOffsetsRequest, ListTransactionsRequest,
};

use super::presence::api_versions;
use crate::caller::Caller;

/// The states of a transaction in which nothing is open.
const AT_REST: [&str; 4] = ["Empty", "CompleteCommit", "CompleteAbort", "Dead"];

/// Partitions that a group is not done with, in words.
///
/// # Errors
/// The broker does not say.
pub(crate) fn lag(
    address: &str,
    group: &str,
    topic: &str,
    partitions: i32,
) -> Result<Vec<String>, String> {
    let topic = DescribeShareGroupOffsetsRequestTopic {
        topic_name: topic.into(),
        partitions: (0..partitions).collect(),
        ..Default::default()
    };
    let group = DescribeShareGroupOffsetsRequestGroup {
        group_id: group.into(),
        topics: Some(vec![topic]),
        ..Default::default()
    };
    let request = DescribeShareGroupOffsetsRequest {
        groups: vec![group],
        ..Default::default()
    };
    let mut caller = Caller::connect(address, "live")?;
    let Response::DescribeShareGroupOffsets(response) = caller.call(request, 1)? else {
        return Err("no answer of DescribeShareGroupOffsets".to_string());
    };
    let failed = response
        .groups
        .iter()
        .find(|group| group.error_code.is_error());
    if let Some(group) = failed {
        return Err(format!("DescribeShareGroupOffsets: {}", group.error_code));
    }
    let topics = response.groups.iter().flat_map(|group| &group.topics);
    let parts: Vec<_> = topics.flat_map(|topic| &topic.partitions).collect();
    if let Some(part) = parts.iter().find(|part| part.error_code.is_error()) {
        return Err(format!("DescribeShareGroupOffsets: {}", part.error_code));
    }
    let left = parts.iter().filter(|part| part.lag != 0);
    let left = left.map(|part| {
        format!(
            "partition {} at {} lags by {}",
            part.partition_index, part.start_offset, part.lag
        )
    });
    Ok(left.collect())
}

/// Transactions of ids with this prefix that have not ended, in words.
///
/// # Errors
/// The broker does not say.
pub(super) fn transactions(address: &str, prefix: &str) -> Result<Vec<String>, String> {
    let mut caller = Caller::connect(address, "live")?;
    let request = ListTransactionsRequest::default();
    let Response::ListTransactions(response) = caller.call(request, 0)? else {
        return Err("no answer of ListTransactions".to_string());
    };
    if response.error_code.is_error() {
        return Err(format!("ListTransactions: {}", response.error_code));
    }
    let own = response.transaction_states.iter();
    let own = own.filter(|state| state.transactional_id.as_str().starts_with(prefix));
    let open = own.filter(|state| !AT_REST.contains(&state.transaction_state.as_str()));
    let open =
        open.map(|state| format!("{} is {}", state.transactional_id, state.transaction_state));
    Ok(open.collect())
}

/// Acknowledgements of a group that wait for the end of a transaction, in words; none where the
/// broker cannot be asked, because the question is ours and no part of Kafka.
///
/// # Errors
/// The broker does not say.
pub(super) fn acknowledgements(address: &str, group: &str) -> Result<Vec<String>, String> {
    if !advertises(address, DESCRIBE_PENDING_SHARE_ACKS_KEY)? {
        return Ok(Vec::new());
    }
    let request = DescribePendingShareAcksRequest {
        group_id: Some(group.into()),
        ..Default::default()
    };
    let mut caller = Caller::connect(address, "live")?;
    let Response::DescribePendingShareAcks(response) = caller.call(request, 0)? else {
        return Err("no answer of DescribePendingShareAcks".to_string());
    };
    if response.error_code.is_error() {
        return Err(format!("DescribePendingShareAcks: {}", response.error_code));
    }
    let pending = response.pending.iter();
    let pending = pending.map(|held| {
        format!(
            "{}@{}-{} waits for producer {}",
            held.partition_index, held.first_offset, held.last_offset, held.producer_id
        )
    });
    Ok(pending.collect())
}

/// Whether a broker says that it has an API.
///
/// # Errors
/// It does not answer.
pub(super) fn advertises(address: &str, key: i16) -> Result<bool, String> {
    let versions = api_versions(address)?;
    Ok(versions.api_keys.iter().any(|own| own.api_key == key))
}
