//! What an administrator asks about transactions: reading it, its requests, its answers as text.

use ackord_proto::api::Response;
use ackord_proto::messages::describe_pending_share_acks::PendingShareAck;
use ackord_proto::messages::{
    DescribePendingShareAcksRequest, DescribeProducersRequest, DescribeTransactionsRequest,
    ListTransactionsRequest, describe_producers as producers, describe_transactions as describe,
};
use ackord_proto::str::Str;

use crate::answers::Codes;
use crate::client::Clients;
use crate::grammar::{Words, number, topic_partition};
use crate::requests::{Versioned, by_topic};
use crate::script::TopicPartition;

/// What an administrator asks about transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnAdmin {
    /// DescribePendingShareAcks, of a group or a transactional id.
    DescribePending {
        /// `group:NAME`
        group: Option<String>,
        /// `txn:NAME`
        transactional_id: Option<String>,
    },
    /// DescribeProducers.
    DescribeProducers(Vec<TopicPartition>),
    /// DescribeTransactions.
    DescribeTransactions(Vec<String>),
    /// ListTransactions.
    ListTransactions {
        /// `state:NAME`
        states: Vec<String>,
        /// `producer:CLIENT`: the producer id of a client.
        producers: Vec<String>,
        /// `longer:MILLISECONDS`
        longer_than_ms: i64,
        /// `pattern:REGEX`
        pattern: Option<String>,
    },
}

/// Reads what follows the name of a client; `None` where it is something else.
pub(crate) fn verb(name: &str, words: &mut Words<'_>) -> Result<Option<TxnAdmin>, String> {
    Ok(Some(match name {
        "describe-pending" => {
            let (mut group, mut transactional_id) = (None, None);
            for word in words.rest() {
                match word.split_once(':') {
                    Some(("group", name)) => group = Some(name.to_string()),
                    Some(("txn", name)) => transactional_id = Some(name.to_string()),
                    _ => return Err(format!("`{word}` is neither group:NAME nor txn:NAME")),
                }
            }
            TxnAdmin::DescribePending {
                group,
                transactional_id,
            }
        }
        "describe-producers" => {
            let partitions = words.rest().into_iter().map(topic_partition);
            TxnAdmin::DescribeProducers(partitions.collect::<Result<_, _>>()?)
        }
        "describe-txns" => {
            let mut ids = Vec::new();
            while words.peek().is_some() {
                ids.push(words.name("a transactional id")?);
            }
            TxnAdmin::DescribeTransactions(ids)
        }
        "list-txns" => list(words)?,
        _ => return Ok(None),
    }))
}

fn list(words: &mut Words<'_>) -> Result<TxnAdmin, String> {
    let (mut states, mut producers) = (Vec::new(), Vec::new());
    let (mut longer_than_ms, mut pattern) = (-1, None);
    for word in words.rest() {
        match word.split_once(':') {
            Some(("state", state)) => states.push(state.to_string()),
            Some(("producer", client)) => producers.push(client.to_string()),
            Some(("longer", millis)) => longer_than_ms = number(millis)?,
            Some(("pattern", regex)) => pattern = Some(regex.to_string()),
            _ => return Err(format!("`{word}` is no filter of transactions")),
        }
    }
    Ok(TxnAdmin::ListTransactions {
        states,
        producers,
        longer_than_ms,
        pattern,
    })
}

impl Clients {
    pub(crate) fn txn_admin(&mut self, verb: &TxnAdmin) -> Versioned {
        match verb {
            TxnAdmin::DescribePending {
                group,
                transactional_id,
            } => {
                let wire = |name: &Option<String>| name.as_ref().map(|own| self.wire(own).into());
                let request = DescribePendingShareAcksRequest {
                    transactional_id: wire(transactional_id),
                    group_id: wire(group),
                    ..Default::default()
                };
                (request.into(), 0)
            }
            TxnAdmin::DescribeProducers(partitions) => {
                let topics = by_topic(partitions, |own| own).into_iter();
                let topics = topics.map(|(topic, parts)| producers::TopicRequest {
                    name: self.wire(topic).into(),
                    partition_indexes: parts.iter().map(|own| own.partition).collect(),
                    ..Default::default()
                });
                let request = DescribeProducersRequest {
                    topics: topics.collect(),
                    ..Default::default()
                };
                (request.into(), 0)
            }
            TxnAdmin::DescribeTransactions(ids) => {
                let request = DescribeTransactionsRequest {
                    transactional_ids: ids.iter().map(|id| self.wire(id).into()).collect(),
                    ..Default::default()
                };
                (request.into(), 0)
            }
            TxnAdmin::ListTransactions {
                states,
                producers,
                longer_than_ms,
                pattern,
            } => {
                let id = |client: &String| self.client(client).producer.id;
                let producer_id_filters = producers.iter().map(id).collect();
                let request = ListTransactionsRequest {
                    state_filters: states.iter().map(|own| own.as_str().into()).collect(),
                    producer_id_filters,
                    duration_filter: *longer_than_ms,
                    transactional_id_pattern: pattern.as_ref().map(|own| self.wire(own).into()),
                    ..Default::default()
                };
                (request.into(), 2)
            }
        }
    }

    /// The codes of an answer about transactions.
    pub(crate) fn txn_admin_codes(&self, response: &Response) -> Option<Codes> {
        Some(match response {
            Response::DescribeProducers(response) => self.named(None, &response.topics, |topic| {
                let parts = topic.partitions.iter();
                let codes = parts.map(|part| (part.partition_index, part.error_code));
                (&topic.name, codes.collect())
            }),
            Response::DescribeTransactions(response) => {
                let code = |own: &describe::TransactionState| {
                    (
                        self.plain(&own.transactional_id).to_string(),
                        own.error_code,
                    )
                };
                Codes {
                    top: None,
                    parts: response.transaction_states.iter().map(code).collect(),
                }
            }
            Response::DescribePendingShareAcks(response) => Codes::top(response.error_code),
            Response::ListTransactions(response) => Codes::top(response.error_code),
            Response::TxnShareAcknowledgeDraft(response) => {
                self.by_id(Some(response.error_code), &response.responses, |topic| {
                    let parts = topic.partitions.iter();
                    (
                        topic.topic_id,
                        parts.map(|p| (p.partition_index, p.error_code)).collect(),
                    )
                })
            }
            _ => return None,
        })
    }

    /// An answer about transactions as one line; items in order.
    pub(crate) fn txn_admin_text(&self, response: &Response) -> Option<String> {
        let mut items: Vec<String> = match response {
            Response::InitProducerId(response) if response.ongoing_txn_producer_id >= 0 => {
                let behind = response.producer_epoch - response.ongoing_txn_producer_epoch;
                let same = response.producer_id == response.ongoing_txn_producer_id;
                let id = if same { "" } else { " of another producer id" };
                vec![format!("kept epoch -{behind}{id}")]
            }
            Response::InitProducerId(_) => Vec::new(),
            Response::DescribePendingShareAcks(response) => response
                .pending
                .iter()
                .map(|own| self.pending(own))
                .chain(response.refused.iter().map(|own| {
                    let group = self.plain(&own.group_id);
                    format!("refused {group}: {}", own.reason)
                }))
                .collect(),
            Response::DescribeProducers(response) => {
                let parts = response.topics.iter().flat_map(|topic| &topic.partitions);
                parts
                    .flat_map(|part| part.active_producers.iter().map(producer))
                    .collect()
            }
            Response::DescribeTransactions(response) => {
                let states = response.transaction_states.iter();
                states.map(|own| self.transaction(own)).collect()
            }
            Response::ListTransactions(response) => {
                let own = |id: &Str| self.suffix.is_empty() || id.ends_with(self.suffix.as_str());
                let states = response.transaction_states.iter();
                let listed = states.filter(|state| own(&state.transactional_id));
                let unknown = response.unknown_state_filters.iter();
                listed
                    .map(|state| {
                        let id = self.plain(&state.transactional_id);
                        format!("{id} {}", state.transaction_state)
                    })
                    .chain(unknown.map(|name| format!("unknown {name}")))
                    .collect()
            }
            _ => return None,
        };
        items.sort();
        Some(match items.is_empty() {
            true => "nothing".to_string(),
            false => items.join(", "),
        })
    }

    /// `g orders-0 0-1 type 1 x1 m1 txn-a 3000 ms`
    fn pending(&self, own: &PendingShareAck) -> String {
        let topic = own.topic_name.as_deref().unwrap_or("deleted");
        format!(
            "{} {} {}-{} type {} x{} {} {} {} ms",
            self.plain(&own.group_id),
            self.label_by_name(topic, own.partition_index),
            own.first_offset,
            own.last_offset,
            own.acknowledge_type,
            own.delivery_count,
            own.member_id.as_deref().unwrap_or("nobody"),
            self.plain(own.transactional_id.as_deref().unwrap_or("unknown")),
            own.transaction_age_ms,
        )
    }

    /// `txn-a Ongoing timeout 60000 epoch 0 enriched-0 __share_group_state`: partitions of internal
    /// topics depend on ids that differ from run to run, so only their topic is told.
    fn transaction(&self, own: &describe::TransactionState) -> String {
        let mut text = format!(
            "{} {} timeout {} epoch {}",
            self.plain(&own.transactional_id),
            own.transaction_state,
            own.transaction_timeout_ms,
            own.producer_epoch
        );
        if own.transaction_start_time_ms >= 0 {
            text += " begun";
        }
        let topics = own.topics.iter();
        let mut labels: Vec<String> = topics
            .flat_map(|topic| {
                let label = |index: &i32| match topic.topic.starts_with("__") {
                    true => topic.topic.to_string(),
                    false => self.label_by_name(&topic.topic, *index),
                };
                topic.partitions.iter().map(label).collect::<Vec<_>>()
            })
            .collect();
        labels.sort();
        labels.dedup();
        labels
            .iter()
            .fold(text, |text, label| format!("{text} {label}"))
    }
}

/// `epoch 0 last 2 from 5`: the last sequence number, and where the open transaction began.
fn producer(own: &producers::ProducerState) -> String {
    let mut text = format!("epoch {} last {}", own.producer_epoch, own.last_sequence);
    if own.current_txn_start_offset >= 0 {
        text += &format!(" from {}", own.current_txn_start_offset);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read() {
        let read = |text: &str| verb("list-txns", &mut Words::new(text));
        let Ok(Some(TxnAdmin::ListTransactions {
            states,
            longer_than_ms,
            pattern,
            ..
        })) = read("state:Ongoing longer:5 pattern:a.*")
        else {
            panic!("not a list")
        };
        assert_eq!(states, ["Ongoing"]);
        assert_eq!((longer_than_ms, pattern.as_deref()), (5, Some("a.*")));
        assert!(read("age:5").is_err());
    }
}
