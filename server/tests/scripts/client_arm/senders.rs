//! What producers and their applications do.

use ackord_client_core::client::{Producer, ProducerRecord};
use ackord_client_core::{ClientError, ProducerConfig, ShareAcknowledgements, ShareGroupMetadata};
use ackord_conformance::client_speech::is_fencing;
use ackord_conformance::script::{AckSpans, Expected, TopicPartition, Verb};
use ackord_proto::error_code::ErrorCode;
use bytes::Bytes;

use super::members::acknowledge_type;
use super::{ClientArm, Entered, Sender, said};

impl<R: Entered> ClientArm<R> {
    pub(super) fn init(
        &mut self,
        client: &str,
        transactional_id: &str,
        timeout_ms: i32,
        expected: &Expected,
    ) -> Result<(), String> {
        if matches!(expected, Expected::Code(code) if code.is_retriable()) {
            // The client tries again by itself; the step that succeeds is all of it.
            return Ok(());
        }
        let mut config = ProducerConfig::new(self.bootstrap()?, transactional_id);
        config.transaction_timeout_ms = timeout_ms;
        let (producer, result) = R::block_on(async {
            let producer = Producer::new(config);
            let result = producer.init_transactions().await;
            (producer, result)
        });
        let registration = None;
        self.senders.insert(
            client.to_string(),
            Sender {
                producer,
                registration,
            },
        );
        compare(result, expected)
    }

    pub(super) fn transaction(
        &mut self,
        client: &str,
        verb: &Verb,
        expected: &Expected,
    ) -> Result<(), String> {
        let stage = match verb {
            Verb::Stage { member, acks, .. } => Some(self.acknowledgements(member, acks)?),
            _ => None,
        };
        let sender = self.senders.get_mut(client).ok_or("no such producer")?;
        let producer = &sender.producer;
        let result = match verb {
            Verb::AddShareAcks { .. } => {
                sender.registration = Some(expected.clone());
                return Ok(());
            }
            Verb::Begin => R::block_on(producer.begin_transaction()),
            Verb::EndTxn { commit: true, .. } => R::block_on(producer.commit_transaction()),
            Verb::EndTxn { .. } => R::block_on(producer.abort_transaction()),
            Verb::Send {
                partition, values, ..
            } => R::block_on(send(producer, partition, values)),
            _ => {
                let (acks, group) = stage.ok_or("nothing to stage")?;
                let result = R::block_on(producer.send_share_acks_to_transaction(acks, group));
                match sender.registration.take() {
                    // The call registers first; where that is refused it stages nothing.
                    Some(Expected::Code(code)) => return compare(result, &Expected::Code(code)),
                    _ => result,
                }
            }
        };
        compare(result, expected)
    }

    /// What the application polled at these offsets.
    pub(super) fn acknowledgements(
        &self,
        member: &str,
        acks: &AckSpans,
    ) -> Result<(ShareAcknowledgements, ShareGroupMetadata), String> {
        let member = self.members.get(member).ok_or("no such member")?;
        let mut all = ShareAcknowledgements::new();
        for (partition, spans) in acks {
            for span in spans {
                let kinds = span.types.iter().cycle();
                for (offset, kind) in (span.first..=span.last).zip(kinds) {
                    let record = member.record(partition, offset)?;
                    all.acknowledge(record, acknowledge_type(*kind)?);
                }
            }
        }
        Ok((all, member.group.clone()))
    }
}

/// The result of a call, against what the script expects of the requests that it makes.
pub(super) fn compare(result: Result<(), ClientError>, expected: &Expected) -> Result<(), String> {
    let codes: Vec<ErrorCode> = match expected {
        Expected::Success => vec![],
        Expected::Code(code) => vec![*code],
        Expected::Parts(parts) => parts.iter().map(|(_, code)| *code).collect(),
        Expected::Anything => return Ok(()),
        other => return Err(format!("{other:?} is no result of a call")),
    };
    match result {
        Ok(()) if codes.is_empty() => Ok(()),
        Ok(()) => Err("the call succeeded".to_string()),
        // Which of the two codes a request gets depends on whom it asks.
        Err(ClientError::Fenced { .. }) if codes.iter().any(|code| is_fencing(*code)) => Ok(()),
        Err(error) if codes.contains(&error.code()) => Ok(()),
        Err(error) => Err(said(error)),
    }
}

async fn send<R: Entered>(
    producer: &Producer<R>,
    to: &TopicPartition,
    values: &[String],
) -> Result<(), ClientError> {
    let mut sent = Vec::new();
    for value in values {
        let value = Bytes::copy_from_slice(value.as_bytes());
        let mut record = ProducerRecord::new(to.topic.as_str(), value);
        record.partition = Some(to.partition);
        sent.push(producer.send(record));
    }
    for sent in sent {
        sent.await?;
    }
    Ok(())
}
