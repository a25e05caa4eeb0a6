//! Comparing an answer with what a step expects.

use std::fmt::Write;

use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::ShareFetchResponse;

use crate::client::Clients;
use crate::group_admin::says;
use crate::log_reader;
use crate::script::{AcquiredSpan, Expected, TopicPartition};

/// Index and code of each partition of a topic.
macro_rules! coded {
    ($partitions:expr, $index:ident) => {
        $partitions
            .iter()
            .map(|part| (part.$index, part.error_code))
            .collect()
    };
}

/// A record that a fetch brought: partition, offset, delivery count.
pub(crate) type AcquiredRecord = (String, i64, i16);

/// The error codes of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Codes {
    /// `None` where the answer has no code at its top.
    pub(crate) top: Option<ErrorCode>,
    /// By partition, as scripts write them.
    pub(crate) parts: Vec<(String, ErrorCode)>,
}

impl Codes {
    pub(crate) fn top(code: ErrorCode) -> Self {
        Codes {
            top: Some(code),
            parts: Vec::new(),
        }
    }

    /// No error anywhere.
    pub(crate) fn is_success(&self) -> bool {
        !self.top.is_some_and(ErrorCode::is_error)
            && !self.parts.iter().any(|(_, code)| code.is_error())
    }
}

impl std::fmt::Display for Codes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(top) = self.top {
            write!(f, "{top}")?;
        }
        for (label, code) in self.parts.iter().filter(|(_, code)| code.is_error()) {
            write!(f, " {label}: {code}")?;
        }
        if self.is_success() && self.top.is_none() {
            f.write_str("NONE")?;
        }
        Ok(())
    }
}

impl Clients {
    /// The error codes of an answer, wherever they are.
    pub(crate) fn codes(&self, response: &Response) -> Codes {
        match response {
            Response::InitProducerId(response) => Codes::top(response.error_code),
            Response::EndTxn(response) => Codes::top(response.error_code),
            Response::ShareGroupHeartbeat(response) => Codes::top(response.error_code),
            Response::CreatePartitions(response) => {
                let first = response.results.first();
                Codes::top(first.map_or(ErrorCode::UNKNOWN_SERVER_ERROR, |topic| topic.error_code))
            }
            Response::DeleteRecords(response) => self.named(None, &response.topics, |topic| {
                (&topic.name, coded!(topic.partitions, partition_index))
            }),
            Response::Produce(response) => self.named(None, &response.responses, |topic| {
                (&topic.name, coded!(topic.partition_responses, index))
            }),
            Response::Fetch(response) => {
                self.named(Some(response.error_code), &response.responses, |topic| {
                    (&topic.topic, coded!(topic.partitions, partition_index))
                })
            }
            Response::AddPartitionsToTxn(response) => {
                let older = response.results_by_topic_v3_and_below.iter();
                let newer = response.results_by_transaction.iter();
                let newer = newer.flat_map(|transaction| &transaction.topic_results);
                let topics: Vec<_> = older.chain(newer).collect();
                self.named(None, &topics, |topic| {
                    let parts = topic.results_by_partition.iter();
                    let code = parts.map(|p| (p.partition_index, p.partition_error_code));
                    (&topic.name, code.collect())
                })
            }
            Response::AddShareAcksToTxn(response) => {
                self.named(Some(response.error_code), &response.topics, |topic| {
                    (&topic.name, coded!(topic.partitions, partition_index))
                })
            }
            Response::WriteTxnMarkers(response) => {
                let topics: Vec<_> = response
                    .markers
                    .iter()
                    .flat_map(|own| &own.topics)
                    .collect();
                self.named(None, &topics, |topic| {
                    (&topic.name, coded!(topic.partitions, partition_index))
                })
            }
            other => self.codes_by_id(other),
        }
    }

    fn codes_by_id(&self, response: &Response) -> Codes {
        match response {
            Response::TxnShareAcknowledge(response) => {
                self.by_id(Some(response.error_code), &response.responses, |topic| {
                    (topic.topic_id, coded!(topic.partitions, partition_index))
                })
            }
            Response::ShareAcknowledge(response) => {
                self.by_id(Some(response.error_code), &response.responses, |topic| {
                    (topic.topic_id, coded!(topic.partitions, partition_index))
                })
            }
            Response::ShareFetch(response) => {
                self.by_id(Some(response.error_code), &response.responses, |topic| {
                    let code = |part: &ackord_proto::messages::share_fetch::PartitionData| {
                        let own = part.error_code;
                        let code = if own.is_error() {
                            own
                        } else {
                            part.acknowledge_error_code
                        };
                        (part.partition_index, code)
                    };
                    (topic.topic_id, topic.partitions.iter().map(code).collect())
                })
            }
            Response::WriteShareGroupState(response) => {
                self.by_id(None, &response.results, |topic| {
                    (topic.topic_id, coded!(topic.partitions, partition))
                })
            }
            Response::DeleteShareGroupState(response) => {
                self.by_id(None, &response.results, |topic| {
                    (topic.topic_id, coded!(topic.partitions, partition))
                })
            }
            Response::ReadShareGroupState(response) => {
                self.by_id(None, &response.results, |topic| {
                    (topic.topic_id, coded!(topic.partitions, partition))
                })
            }
            other => match self.group_admin_codes(other) {
                Some(codes) => codes,
                None => match self.txn_admin_codes(other) {
                    Some(codes) => codes,
                    None => match self.acl_codes(other) {
                        Some(codes) => codes,
                        None => self.consumer_codes(other),
                    },
                },
            },
        }
    }

    pub(crate) fn named<'a, T>(
        &self,
        top: Option<ErrorCode>,
        topics: &'a [T],
        parts: impl Fn(&'a T) -> (&'a ackord_proto::str::Str, Vec<(i32, ErrorCode)>),
    ) -> Codes {
        let labelled = topics.iter().flat_map(|topic| {
            let (name, parts) = parts(topic);
            let label = |(index, code)| (self.label_by_name(name, index), code);
            parts.into_iter().map(label).collect::<Vec<_>>()
        });
        Codes {
            top,
            parts: labelled.collect(),
        }
    }

    pub(crate) fn by_id<T>(
        &self,
        top: Option<ErrorCode>,
        topics: &[T],
        parts: impl Fn(&T) -> (ackord_proto::uuid::Uuid, Vec<(i32, ErrorCode)>),
    ) -> Codes {
        let labelled = topics.iter().flat_map(|topic| {
            let (id, parts) = parts(topic);
            let label = |(index, code)| (self.label_by_id(id, index), code);
            parts.into_iter().map(label).collect::<Vec<_>>()
        });
        Codes {
            top,
            parts: labelled.collect(),
        }
    }

    /// Whether an answer is what a step expects.
    ///
    /// # Errors
    /// What came, in a sentence.
    pub(crate) fn compare(
        &self,
        expected: &Expected,
        request: &Request,
        response: &Response,
    ) -> Result<(), String> {
        let codes = self.codes(response);
        let fits = match expected {
            Expected::Anything => true,
            Expected::Closed | Expected::Waiting => false,
            Expected::Code(code) => match codes.top {
                Some(top) => top == *code,
                None => !codes.parts.is_empty() && codes.parts.iter().all(|(_, own)| own == code),
            },
            Expected::Parts(parts) => {
                let wanted = |label: &String| {
                    let named = parts.iter().find(|(own, _)| own.to_string() == *label);
                    named.map_or(ErrorCode::NONE, |(_, code)| *code)
                };
                let there = |own: &TopicPartition| {
                    codes
                        .parts
                        .iter()
                        .any(|(label, _)| *label == own.to_string())
                };
                !codes.top.is_some_and(ErrorCode::is_error)
                    && codes
                        .parts
                        .iter()
                        .all(|(label, code)| *code == wanted(label))
                    && parts.iter().all(|(own, _)| there(own))
            }
            Expected::Success => codes.is_success(),
            Expected::Says(wanted) if codes.is_success() => {
                let text = self.group_admin_text(response);
                let text = text.or_else(|| self.txn_admin_text(response));
                return says(wanted, text.or_else(|| self.acl_text(response)));
            }
            Expected::Says(_) => false,
            Expected::Assigned(_)
            | Expected::Joined { .. }
            | Expected::Member { .. }
            | Expected::Offsets(_) => {
                if codes.is_success() {
                    return self.compare_group(expected, response);
                }
                false
            }
            Expected::Acquired(_) | Expected::Nothing | Expected::Values(_) => {
                if codes.is_success() {
                    return self.compare_records(expected, request, response);
                }
                false
            }
        };
        if fits {
            Ok(())
        } else {
            Err(format!("the answer is {codes}"))
        }
    }

    fn compare_records(
        &self,
        expected: &Expected,
        request: &Request,
        response: &Response,
    ) -> Result<(), String> {
        match (expected, response) {
            (Expected::Acquired(spans), Response::ShareFetch(response)) => {
                self.compare_acquired(spans, request, response)
            }
            (Expected::Nothing, Response::ShareFetch(response)) => {
                self.compare_acquired(&[], request, response)
            }
            (Expected::Nothing, Response::Fetch(response)) => {
                let empty = log_reader::is_empty(response);
                if empty {
                    Ok(())
                } else {
                    Err("records came".to_string())
                }
            }
            (Expected::Values(wanted), Response::Fetch(response)) => {
                for (partition, values) in wanted {
                    let name = self.wire(&partition.topic);
                    let got = log_reader::values_of(response, &name, partition.partition)?;
                    if got != *values {
                        return Err(format!("{partition} has {}", listed(&got)));
                    }
                }
                Ok(())
            }
            _ => Err("the answer is of another kind".to_string()),
        }
    }

    fn compare_acquired(
        &self,
        wanted: &[AcquiredSpan],
        request: &Request,
        response: &ShareFetchResponse,
    ) -> Result<(), String> {
        let got = self.acquired(response);
        let (missing, left) = self.missing(wanted, request, response);
        if missing.is_empty() && left.is_empty() {
            return Ok(());
        }
        let mut text = "the fetch acquired".to_string();
        if got.is_empty() {
            text += " nothing";
        }
        for (label, offset, count) in got {
            let _ = write!(text, " {label}@{offset} x{count}");
        }
        Err(text)
    }

    /// The records that an answer brings: partition, offset, delivery count.
    fn acquired(&self, response: &ShareFetchResponse) -> Vec<AcquiredRecord> {
        let mut got = Vec::new();
        for topic in &response.responses {
            for part in &topic.partitions {
                let label = self.label_by_id(topic.topic_id, part.partition_index);
                for range in &part.acquired_records {
                    let offsets = range.first_offset..=range.last_offset;
                    got.extend(offsets.map(|o| (label.clone(), o, range.delivery_count)));
                }
            }
        }
        got
    }

    /// What an answer lacks of the wanted records, and what it brings besides.
    pub(crate) fn missing(
        &self,
        wanted: &[AcquiredSpan],
        request: &Request,
        response: &ShareFetchResponse,
    ) -> (Vec<AcquiredSpan>, Vec<AcquiredRecord>) {
        let (mut missing, mut left) = (Vec::new(), self.acquired(response));
        for span in wanted {
            let label = match &span.partition {
                Some(partition) => partition.to_string(),
                None => self.only_partition(request),
            };
            for offset in span.first..=span.last {
                let found = left.iter().position(|(own, at, count)| {
                    *own == label && *at == offset && span.count.is_none_or(|own| own == *count)
                });
                match found {
                    Some(index) => drop(left.remove(index)),
                    None => missing.push(AcquiredSpan {
                        first: offset,
                        last: offset,
                        ..span.clone()
                    }),
                }
            }
        }
        (missing, left)
    }

    fn only_partition(&self, request: &Request) -> String {
        let Request::ShareFetch(request) = request else {
            return String::new();
        };
        let first = request.topics.first().and_then(|topic| {
            topic
                .partitions
                .first()
                .map(|part| (topic.topic_id, part.partition_index))
        });
        first.map_or(String::new(), |(topic, partition)| {
            self.label_by_id(topic, partition)
        })
    }
}

/// Values for people.
pub(crate) fn listed(values: &[String]) -> String {
    if values.is_empty() {
        "nothing".to_string()
    } else {
        values.join(" ")
    }
}
