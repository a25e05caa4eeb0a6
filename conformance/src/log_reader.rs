//! What a read_committed consumer makes of a Fetch.

use std::collections::BTreeSet;

use ackord_proto::messages::FetchResponse;
use ackord_proto::messages::fetch::PartitionData;
use ackord_proto::records::{BatchIter, ControlRecord, ControlType, RecordIter};

use crate::dead_letter;

/// Values of committed records, and the offset to go on from.
pub(crate) struct Committed {
    pub(crate) values: Vec<String>,
    pub(crate) next_offset: Option<i64>,
}

/// Reads a partition of an answer: aborted records and markers are dropped.
pub(crate) fn committed(part: &PartitionData) -> Result<Committed, String> {
    let mut aborted: Vec<(i64, i64)> = part
        .aborted_transactions
        .iter()
        .flatten()
        .map(|txn| (txn.first_offset, txn.producer_id))
        .collect();
    aborted.sort_unstable();
    let mut aborting = BTreeSet::new();
    let mut committed = Committed {
        values: Vec::new(),
        next_offset: None,
    };
    let bytes = part
        .records
        .as_ref()
        .map(|records| records.to_bytes())
        .unwrap_or_default();
    for batch in BatchIter::new(bytes) {
        let batch = batch.map_err(|error| error.to_string())?;
        let header = batch.header;
        committed.next_offset = Some(header.next_offset());
        while let Some((_, producer)) = aborted
            .first()
            .filter(|(first, _)| *first <= header.last_offset())
            .copied()
        {
            aborted.remove(0);
            aborting.insert(producer);
        }
        if header.is_control() {
            let control = ControlRecord::of_batch(&batch.bytes).map_err(|e| e.to_string())?;
            if control.control_type == ControlType::Abort {
                aborting.remove(&header.producer_id);
            }
            continue;
        }
        if header.is_transactional() && aborting.contains(&header.producer_id) {
            continue;
        }
        for record in RecordIter::new(&batch.bytes).map_err(|error| error.to_string())? {
            let record = record.map_err(|error| error.to_string())?;
            let text =
                dead_letter::text(record.value.as_deref(), &record.headers).unwrap_or_else(|| {
                    let value = record.value.unwrap_or_default();
                    String::from_utf8_lossy(&value).into_owned()
                });
            committed.values.push(text);
        }
    }
    Ok(committed)
}

/// The partition of an answer.
pub(crate) fn part<'a>(
    response: &'a FetchResponse,
    topic: &str,
    partition: i32,
) -> Option<&'a PartitionData> {
    let topic = response.responses.iter().find(|own| own.topic == *topic)?;
    topic
        .partitions
        .iter()
        .find(|own| own.partition_index == partition)
}

/// Committed values of one partition of an answer.
pub(crate) fn values_of(
    response: &FetchResponse,
    topic: &str,
    partition: i32,
) -> Result<Vec<String>, String> {
    match part(response, topic, partition) {
        Some(part) => committed(part).map(|committed| committed.values),
        None => Ok(Vec::new()),
    }
}

/// Whether an answer brings no committed record.
pub(crate) fn is_empty(response: &FetchResponse) -> bool {
    let parts = response
        .responses
        .iter()
        .flat_map(|topic| &topic.partitions);
    parts
        .into_iter()
        .all(|part| committed(part).is_ok_and(|own| own.values.is_empty()))
}
