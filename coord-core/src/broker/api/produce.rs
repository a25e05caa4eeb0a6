//! Produce (key 0).

use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{Body, Envelope, LogId, OpId, Role};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, ProduceRequest, ProduceResponse,
    add_partitions_to_txn as add, produce as message,
};
use ackord_proto::records::{BatchHeader, Compression, MAX_DECOMPRESSED, UnpackBudget};
use ackord_proto::str::Str;
use bytes::Bytes;

use super::super::Broker;
use super::super::gather::{Gather, Missing};
use crate::contract::CloseReason;
use crate::group::partition_for_id;
use crate::log::{AppendError, Produced, TxnCheck};

/// First version whose producers have the broker add partitions to the transaction (KIP-890).
const ADDS_PARTITIONS: i16 = 12;
/// First version whose producers may use zstd (KIP-110).
const KNOWS_ZSTD: i16 = 7;
/// First version that knows TRANSACTION_ABORTABLE.
const KNOWS_ABORTABLE: i16 = 11;

/// The partitions of a request with what became of them.
#[derive(Debug)]
pub(in crate::broker) struct ProduceGather {
    acks: i16,
    topics: Vec<message::TopicProduceResponse>,
    missing: Missing,
    unpacked: UnpackBudget,
}

impl ProduceGather {
    pub(in crate::broker) fn missing(&mut self) -> &mut Missing {
        &mut self.missing
    }
}

/// A transactional batch that waits for the transaction coordinator.
#[derive(Debug)]
pub(in crate::broker) struct Verification {
    slot: u64,
    place: (usize, usize),
    log: LogId,
    producer_id: i64,
    batch: Bytes,
    version: i16,
}

/// One partition's outcome.
struct Outcome {
    code: ErrorCode,
    message: Option<Str>,
    base: i64,
    log_append_time: i64,
    log_start: i64,
    /// The record that is wrong, by its place in the batch.
    record: Option<i32>,
}

impl Outcome {
    fn refused(code: ErrorCode, message: &str) -> Self {
        let message = (!message.is_empty()).then(|| Str::from(message));
        Outcome {
            code,
            message,
            base: -1,
            log_append_time: -1,
            log_start: -1,
            record: None,
        }
    }
}

impl From<AppendError> for Outcome {
    fn from(error: AppendError) -> Self {
        Outcome {
            record: error.record,
            ..Outcome::refused(error.code, &error.reason)
        }
    }
}

impl Broker {
    pub(super) fn produce(&mut self, slot: u64, request: ProduceRequest) {
        let version = self.version(slot);
        let mut gather = ProduceGather {
            acks: request.acks,
            topics: request.topic_data.iter().map(empty_topic).collect(),
            missing: Missing::default(),
            // As much as a request may bring that is not packed.
            unpacked: UnpackBudget::new(self.config.size("socket.request.max.bytes")),
        };
        gather.missing.one_more();
        self.gathers.insert(slot, Gather::Produce(gather));
        for (topic_place, topic) in request.topic_data.iter().enumerate() {
            for (place, partition) in topic.partition_data.iter().enumerate() {
                let place = (topic_place, place);
                self.expect_produced(slot);
                if let Some(outcome) =
                    self.produce_one(slot, place, version, &request, topic, partition)
                {
                    self.produced(slot, place, outcome, None);
                }
            }
        }
        self.produce_progress(slot);
    }

    /// Appends one partition's batch; `None` where the transaction is verified first.
    fn produce_one(
        &mut self,
        slot: u64,
        place: (usize, usize),
        version: i16,
        request: &ProduceRequest,
        topic: &message::TopicProduceData,
        partition: &message::PartitionProduceData,
    ) -> Option<Outcome> {
        if !matches!(request.acks, -1..=1) {
            let message = "acks must be -1, 0 or 1";
            return Some(Outcome::refused(ErrorCode::INVALID_REQUIRED_ACKS, message));
        }
        let log = match self.produce_target(slot, version, topic, partition.index) {
            Ok(log) => log,
            Err(code) => return Some(Outcome::refused(code, "")),
        };
        let batch = partition.records.as_ref().map(|records| records.to_bytes());
        let Some(batch) = batch.filter(|batch| !batch.is_empty()) else {
            let message = "the partition has no record batch";
            return Some(Outcome::refused(ErrorCode::INVALID_RECORD, message));
        };
        let header = match BatchHeader::parse(&batch) {
            Ok(header) => header,
            Err(error) => {
                return Some(Outcome::refused(
                    error.error_code(),
                    &alloc::format!("{error}"),
                ));
            }
        };
        // Before anything else of the batch, its checksum too. Fetch is not restricted: Kafka sends
        // zstd in every version since 4.0.
        if version < KNOWS_ZSTD && header.compression() == Compression::Zstd {
            let message = "zstd needs version 7 of Produce";
            return Some(Outcome::refused(
                ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
                message,
            ));
        }
        if !header.is_transactional() {
            return self.append_produced(slot, place, log, &batch, TxnCheck::Unverified);
        }
        let Some(id) = &request.transactional_id else {
            // Kafka's code: nobody may write for an id that is not named.
            let message = "a transactional batch needs a transactional id";
            let code = ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
            return Some(Outcome::refused(code, message));
        };
        let open = self
            .logs
            .get(&log)
            .and_then(|log| log.open_transaction(header.producer_id));
        if open.is_some_and(|open| open.epoch == header.producer_epoch) {
            return self.append_produced(slot, place, log, &batch, check_of(version));
        }
        let waiting = Verification {
            slot,
            place,
            log,
            producer_id: header.producer_id,
            batch,
            version,
        };
        self.verify_produce(waiting, id, &header)
    }

    fn produce_target(
        &self,
        slot: u64,
        version: i16,
        topic: &message::TopicProduceData,
        partition: i32,
    ) -> Result<LogId, ErrorCode> {
        let found = match version {
            13.. => {
                self.check_topic_id(slot, topic.topic_id)?;
                let found = self.metadata.topic_by_id(topic.topic_id);
                found.ok_or(ErrorCode::UNKNOWN_TOPIC_ID)?
            }
            _ => {
                self.check_topic(slot, &topic.name)?;
                let found = self.metadata.topic(&topic.name);
                found.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?
            }
        };
        if found.is_internal() {
            return Err(ErrorCode::INVALID_TOPIC_EXCEPTION);
        }
        if !(0..found.partitions).contains(&partition) {
            return Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        }
        let log = LogId {
            topic: found.id,
            partition,
        };
        self.readable_log(log).map(|_| log)
    }

    /// Asks the transaction coordinator whether the partition belongs to the transaction, or has it
    /// added.
    fn verify_produce(
        &mut self,
        waiting: Verification,
        id: &Str,
        header: &BatchHeader,
    ) -> Option<Outcome> {
        let tc = partition_for_id(id, self.transaction_partitions());
        if !self.tcs.contains_key(&tc) || self.is_tc_frozen(tc) {
            let code = ErrorCode::NOT_ENOUGH_REPLICAS;
            return Some(Outcome::refused(
                code,
                "the transaction coordinator is not available",
            ));
        }
        let name = self.metadata.topic_by_id(waiting.log.topic)?.name.clone();
        let topic = add::AddPartitionsToTxnTopic {
            name,
            partitions: vec![waiting.log.partition],
            ..Default::default()
        };
        let transaction = add::AddPartitionsToTxnTransaction {
            transactional_id: id.clone(),
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            verify_only: waiting.version < ADDS_PARTITIONS,
            topics: vec![topic],
            ..Default::default()
        };
        let request = AddPartitionsToTxnRequest {
            transactions: vec![transaction],
            ..Default::default()
        };
        let correlation = self.next_correlation();
        let envelope = Envelope {
            from: Role::Leader(waiting.log),
            to: Role::Tc(tc),
            correlation,
            body: Body::AddPartitionsToTxn(request),
        };
        self.verifications.insert(correlation, waiting);
        self.inbox.push_back((envelope, None));
        None
    }

    /// The transaction coordinator's verdict on a batch.
    pub(in crate::broker) fn produce_verified(
        &mut self,
        correlation: u64,
        response: &AddPartitionsToTxnResponse,
        ordinal: i64,
        gate: Option<OpId>,
    ) {
        let Some(waiting) = self.verifications.remove(&correlation) else {
            return;
        };
        let Verification {
            slot,
            place,
            log,
            producer_id,
            batch,
            version,
        } = waiting;
        let mut code = verdict(response);
        if ackord_machine::planted!("row-43-late-produce-opens-a-transaction") {
            code = ErrorCode::NONE;
        }
        let outcome = if code != ErrorCode::NONE {
            let code = client_code(code, version);
            Some(Outcome::refused(
                code,
                "the partition is not in an ongoing transaction",
            ))
        } else if self.frozen.contains(&log) {
            Some(Outcome::refused(ErrorCode::NOT_LEADER_OR_FOLLOWER, ""))
        } else if let Some(data) = self.logs.get_mut(&log) {
            data.set_ordinal(producer_id, ordinal);
            self.append_produced(slot, place, log, &batch, check_of(version))
        } else {
            Some(Outcome::refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ""))
        };
        if let Some(outcome) = outcome {
            self.produced(slot, place, outcome, gate);
        }
        self.produce_progress_of_part(slot);
    }

    /// Appends a batch; `None` when its outcome is noted already.
    fn append_produced(
        &mut self,
        slot: u64,
        place: (usize, usize),
        log_id: LogId,
        batch: &Bytes,
        check: TxnCheck,
    ) -> Option<Outcome> {
        let now = self.now;
        let mut alone = UnpackBudget::new(MAX_DECOMPRESSED);
        let budget = match self.gathers.get_mut(&slot) {
            Some(Gather::Produce(gather)) => &mut gather.unpacked,
            _ => &mut alone,
        };
        let log = self.logs.get_mut(&log_id)?;
        let log_start = log.start_offset();
        match log.append_client_charged(now, batch, check, budget) {
            Err(error) => Some(error.into()),
            Ok(Produced::Duplicate { base, .. }) => {
                let gate = self.journal.newest(log_id);
                let outcome = Outcome {
                    code: ErrorCode::NONE,
                    message: None,
                    base,
                    log_append_time: -1,
                    log_start,
                    record: None,
                };
                self.produced(slot, place, outcome, gate);
                None
            }
            Ok(Produced::Appended {
                base,
                part,
                log_append_time,
                ..
            }) => {
                let gate = self.append_part(part);
                let outcome = Outcome {
                    code: ErrorCode::NONE,
                    message: None,
                    base,
                    log_append_time: log_append_time.unwrap_or(-1),
                    log_start,
                    record: None,
                };
                self.produced(slot, place, outcome, Some(gate));
                None
            }
        }
    }

    /// The outcome of what still waits will not come: its coordinator is being read back.
    pub(in crate::broker) fn abandon_produce(&mut self, slot: u64, gather: ProduceGather) {
        let response = ProduceResponse {
            responses: gather.topics,
            ..Default::default()
        };
        match gather.acks {
            0 => self.end_silently(slot),
            _ => self.respond_whole(slot, response, gather.missing),
        }
    }

    fn expect_produced(&mut self, slot: u64) {
        if let Some(Gather::Produce(gather)) = self.gathers.get_mut(&slot) {
            gather.missing.one_more();
        }
    }

    fn produced(
        &mut self,
        slot: u64,
        (topic, partition): (usize, usize),
        outcome: Outcome,
        gate: Option<OpId>,
    ) {
        let Some(Gather::Produce(gather)) = self.gathers.get_mut(&slot) else {
            return;
        };
        gather.missing.arrived(gate);
        let result = gather
            .topics
            .get_mut(topic)
            .and_then(|topic| topic.partition_responses.get_mut(partition));
        if let Some(result) = result {
            result.error_code = outcome.code;
            let wrong = outcome
                .record
                .map(|batch_index| message::BatchIndexAndErrorMessage {
                    batch_index,
                    batch_index_error_message: outcome.message.clone(),
                    ..Default::default()
                });
            result.record_errors = wrong.into_iter().collect();
            result.error_message = outcome.message;
            result.base_offset = outcome.base;
            result.log_append_time_ms = outcome.log_append_time;
            result.log_start_offset = outcome.log_start;
        }
    }

    /// All partitions were looked at once; answers where none is left waiting.
    fn produce_progress(&mut self, slot: u64) {
        if let Some(Gather::Produce(gather)) = self.gathers.get_mut(&slot) {
            gather.missing.arrived(None);
        }
        self.produce_progress_of_part(slot);
    }

    fn produce_progress_of_part(&mut self, slot: u64) {
        let Some(Gather::Produce(gather)) = self.gathers.get(&slot) else {
            return;
        };
        if !gather.missing.is_complete() {
            return;
        }
        let Some(Gather::Produce(gather)) = self.gathers.remove(&slot) else {
            return;
        };
        if gather.acks != 0 {
            let response = ProduceResponse {
                responses: gather.topics,
                ..Default::default()
            };
            return self.respond_whole(slot, response, gather.missing);
        }
        // Nobody waits for an answer; a failure can only be told by closing the connection.
        let failed = gather
            .topics
            .iter()
            .flat_map(|topic| &topic.partition_responses)
            .find(|partition| partition.error_code != ErrorCode::NONE)
            .map(|partition| partition.error_code);
        if let (Some(code), Some(meta)) = (failed, self.connections.request(slot)) {
            let conn = meta.conn;
            let what = alloc::format!("a Produce with acks=0 failed: {code}");
            self.connections
                .close(conn, CloseReason::BadRequest(what), &mut self.effects);
        }
        self.end_silently(slot);
    }
}

fn empty_topic(topic: &message::TopicProduceData) -> message::TopicProduceResponse {
    message::TopicProduceResponse {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partition_responses: topic
            .partition_data
            .iter()
            .map(|partition| message::PartitionProduceResponse {
                index: partition.index,
                // Until the partition has its outcome.
                error_code: ErrorCode::NOT_ENOUGH_REPLICAS,
                base_offset: -1,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

fn check_of(version: i16) -> TxnCheck {
    if version >= ADDS_PARTITIONS {
        TxnCheck::Version2
    } else {
        TxnCheck::Version1
    }
}

pub(super) fn verdict(response: &AddPartitionsToTxnResponse) -> ErrorCode {
    response
        .results_by_transaction
        .iter()
        .flat_map(|transaction| &transaction.topic_results)
        .flat_map(|topic| &topic.results_by_partition)
        .next()
        .map_or(ErrorCode::INVALID_TXN_STATE, |result| {
            result.partition_error_code
        })
}

/// What a producer of this version understands; codes of the coordinator become ones that a
/// producer retries.
fn client_code(code: ErrorCode, version: i16) -> ErrorCode {
    match code {
        ErrorCode::CONCURRENT_TRANSACTIONS if version >= ADDS_PARTITIONS => code,
        ErrorCode::CONCURRENT_TRANSACTIONS
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::NOT_COORDINATOR => ErrorCode::NOT_ENOUGH_REPLICAS,
        ErrorCode::TRANSACTION_ABORTABLE if version < KNOWS_ABORTABLE => {
            ErrorCode::INVALID_TXN_STATE
        }
        ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
        other => other,
    }
}
