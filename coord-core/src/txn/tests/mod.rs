//! The coordinator driven by hand: calls in, outputs out, in order.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{Body, Envelope, LogId, MonoTime, Now, Role, WallTime};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::add_partitions_to_txn::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use ackord_proto::messages::write_txn_markers::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
};
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, WriteTxnMarkersResponse,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::*;
use crate::outbox::{Outbox, Output, StateRecord, Ticket};

mod add_partitions;
mod end_txn;
mod epochs;
mod init_producer_id;
mod markers;
mod random;
mod recovery;
mod state;
mod timeouts;
mod two_phase;

const LOG: LogId = LogId {
    topic: Uuid::from_bytes([9; 16]),
    partition: 7,
};
const SHARE: &str = "__share_group_state";

/// Producer ids from a number up; refuses while `dry`.
#[derive(Debug)]
struct Ids {
    next: i64,
    dry: bool,
}

impl ProducerIds for Ids {
    fn next(&mut self) -> Result<i64, ErrorCode> {
        if self.dry {
            return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        self.next += 1;
        Ok(self.next)
    }
}

/// Topics that are gone.
#[derive(Debug, Default)]
struct Gone(BTreeSet<&'static str>);

impl Participants for Gone {
    fn role(&self, topic: &str, partition: i32) -> Option<Role> {
        if self.0.contains(topic) {
            return None;
        }
        Some(match topic {
            SHARE => Role::Sgc(partition),
            _ => Role::Leader(LogId {
                topic: topic_id(topic),
                partition,
            }),
        })
    }
}

fn topic_id(topic: &str) -> Uuid {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(topic.bytes()) {
        *to = from;
    }
    Uuid::from_bytes(bytes)
}

/// A coordinator, its log, and what it sent and has not been answered.
struct World {
    tc: TxnCoordinator,
    /// Gets each record when it is appended: replay must equal the live coordinator.
    replica: TxnCoordinator,
    log: Vec<StateRecord>,
    sent: Vec<Envelope>,
    replies: BTreeMap<u64, TxnReply>,
    /// What came out, in order, for tests about order.
    trace: Vec<&'static str>,
    now: Now,
    ids: Ids,
    gone: Gone,
    slot: u64,
}

/// A producer id and epoch.
type Pair = (i64, i16);

impl World {
    fn new() -> World {
        let tc = TxnCoordinator::new(7, LOG, TxnConfig::default());
        World {
            replica: tc.clone(),
            tc,
            log: Vec::new(),
            sent: Vec::new(),
            replies: BTreeMap::new(),
            trace: Vec::new(),
            now: Now {
                mono: MonoTime::ZERO,
                wall: WallTime::from_millis(1_000_000),
            },
            ids: Ids {
                next: 1000,
                dry: false,
            },
            gone: Gone::default(),
            slot: 0,
        }
    }

    /// One call with everything it may need; its outputs are absorbed.
    fn call(
        &mut self,
        f: impl FnOnce(&mut TxnCoordinator, &mut TxnCtx<'_>, Ticket, &mut Outbox<TxnReply>),
    ) -> u64 {
        self.slot += 1;
        let ticket = Ticket {
            slot: self.slot,
            part: 0,
        };
        let mut out = Outbox::new();
        let mut ctx = TxnCtx {
            now: self.now,
            ids: &mut self.ids,
            participants: &self.gone,
        };
        f(&mut self.tc, &mut ctx, ticket, &mut out);
        for output in out.take() {
            match output {
                Output::Append {
                    log,
                    records,
                    producer,
                } => {
                    assert_eq!((log, producer), (LOG, None));
                    for record in &records {
                        self.replica.apply(record).expect("own record");
                    }
                    self.log.extend(records);
                    self.trace.push("append");
                }
                Output::Barrier => self.trace.push("barrier"),
                Output::Count(_) | Output::Measure { .. } => {}
                Output::Reply { ticket, reply } => {
                    assert_eq!(
                        self.replies.insert(ticket.slot, reply),
                        None,
                        "answered twice"
                    );
                    self.trace.push("reply");
                }
                Output::Send { envelope, chained } => {
                    self.trace.push(if chained { "chained" } else { "send" });
                    self.sent.push(envelope);
                }
            }
        }
        assert_same(&self.tc, &self.replica);
        self.slot
    }

    fn init_as(&mut self, id: &str, pair: Pair, version: i16) -> Result<Pair, ErrorCode> {
        let request = InitProducerIdRequest {
            transactional_id: Some(id.into()),
            transaction_timeout_ms: 60_000,
            producer_id: pair.0,
            producer_epoch: pair.1,
            ..Default::default()
        };
        self.init_with(request, version)
    }

    fn init_with(
        &mut self,
        request: InitProducerIdRequest,
        version: i16,
    ) -> Result<Pair, ErrorCode> {
        let slot = self
            .call(|tc, ctx, ticket, out| tc.init_producer_id(ctx, ticket, &request, version, out));
        match self.replies.remove(&slot) {
            Some(TxnReply::InitProducerId {
                error,
                producer_id,
                producer_epoch,
                ..
            }) => pair_or(error, producer_id, producer_epoch),
            other => panic!("no answer to InitProducerId: {other:?}"),
        }
    }

    /// InitProducerId of a producer that starts.
    fn init(&mut self, id: &str) -> Result<Pair, ErrorCode> {
        self.init_as(id, (-1, -1), 5)
    }

    fn add_with(
        &mut self,
        id: &str,
        pair: Pair,
        version: i16,
        kind: AddKind,
        partitions: &[(&str, i32)],
    ) -> ErrorCode {
        let request = AddPartitions {
            version,
            kind,
            transactional_id: id.into(),
            producer_id: pair.0,
            producer_epoch: pair.1,
            partitions: partitions
                .iter()
                .map(|(topic, n)| (Str::from(*topic), *n))
                .collect(),
        };
        let slot =
            self.call(|tc, ctx, ticket, out| tc.add_partitions(ctx.now, ticket, request, out));
        match self.replies.remove(&slot) {
            Some(TxnReply::AddPartitions { error }) => error,
            other => panic!("no answer to AddPartitions: {other:?}"),
        }
    }

    /// A client of transaction version 1 adds partitions.
    fn add(&mut self, id: &str, pair: Pair, partitions: &[(&str, i32)]) -> ErrorCode {
        self.add_with(id, pair, 3, AddKind::Partitions, partitions)
    }

    /// A client adds share state partitions.
    fn add_acks(&mut self, id: &str, pair: Pair, partitions: &[i32]) -> ErrorCode {
        let partitions: Vec<_> = partitions.iter().map(|n| (SHARE, *n)).collect();
        self.add_with(id, pair, 0, AddKind::ShareAcks, &partitions)
    }

    /// A leader or share coordinator registers or verifies partitions of one topic; codes and ordinal.
    fn register(
        &mut self,
        from: Role,
        id: &str,
        pair: Pair,
        verify_only: bool,
        topic: &str,
        partitions: &[i32],
    ) -> (Vec<ErrorCode>, i64) {
        let transaction = AddPartitionsToTxnTransaction {
            transactional_id: id.into(),
            producer_id: pair.0,
            producer_epoch: pair.1,
            verify_only,
            topics: vec![AddPartitionsToTxnTopic {
                name: topic.into(),
                partitions: partitions.to_vec(),
                ..Default::default()
            }],
            ..Default::default()
        };
        let body = Body::AddPartitionsToTxn(AddPartitionsToTxnRequest {
            transactions: vec![transaction],
            ..Default::default()
        });
        let envelope = Envelope {
            from: from.clone(),
            to: Role::Tc(7),
            correlation: 77,
            body,
        };
        self.call(|tc, ctx, _, out| tc.handle_envelope(ctx.now, envelope, out));
        let answer = self.sent.pop().expect("answer");
        assert_eq!(
            (&answer.from, &answer.to, answer.correlation),
            (&Role::Tc(7), &from, 77)
        );
        let Body::AddPartitionsToTxnReply {
            response, ordinal, ..
        } = answer.body
        else {
            panic!("{:?}", answer.body)
        };
        let codes = response.results_by_transaction[0].topic_results[0]
            .results_by_partition
            .iter()
            .map(|result| result.partition_error_code)
            .collect();
        (codes, ordinal)
    }

    /// The implicit registration of a leader for a client of transaction version 2.
    fn produce(&mut self, id: &str, pair: Pair, topic: &str, partition: i32) -> ErrorCode {
        let from = Gone::default().role(topic, partition).expect("topic");
        self.register(from, id, pair, false, topic, &[partition]).0[0]
    }

    /// EndTxn without looking at the answer; its slot.
    fn end(&mut self, id: &str, pair: Pair, version: i16, committed: bool) -> u64 {
        let request = EndTxnRequest {
            transactional_id: id.into(),
            producer_id: pair.0,
            producer_epoch: pair.1,
            committed,
            ..Default::default()
        };
        self.call(|tc, ctx, ticket, out| tc.end_txn(ctx, ticket, &request, version, out))
    }

    /// EndTxn, all markers written, and its answer.
    fn end_now(
        &mut self,
        id: &str,
        pair: Pair,
        version: i16,
        committed: bool,
    ) -> Result<Pair, ErrorCode> {
        let slot = self.end(id, pair, version, committed);
        self.write_markers();
        self.ended(slot).expect("answered")
    }

    /// The answer to an EndTxn, if there is one.
    fn ended(&mut self, slot: u64) -> Option<Result<Pair, ErrorCode>> {
        self.replies.remove(&slot).map(|reply| match reply {
            TxnReply::EndTxn {
                error,
                producer_id,
                producer_epoch,
            } => pair_or(error, producer_id, producer_epoch),
            other => panic!("not an answer to EndTxn: {other:?}"),
        })
    }

    fn answer(&mut self, envelope: &Envelope, error: ErrorCode) {
        let reply = marker_reply(envelope, error);
        self.call(|tc, ctx, _, out| tc.handle_envelope(ctx.now, reply, out));
    }

    /// Every participant writes its marker and says so.
    fn write_markers(&mut self) {
        for envelope in core::mem::take(&mut self.sent) {
            self.answer(&envelope, ErrorCode::NONE);
        }
    }

    fn advance(&mut self, millis: i64) {
        self.now.mono = self.now.mono.plus_millis(millis);
        self.now.wall = WallTime::from_millis(self.now.wall.as_millis() + millis);
        self.call(|tc, ctx, _, out| tc.handle_timeout(ctx, out));
    }

    fn state(&self, id: &str) -> TxnState {
        self.tc.transaction(id).expect("known id").state
    }

    fn pair(&self, id: &str) -> Pair {
        let transaction = self.tc.transaction(id).expect("known id");
        (transaction.producer_id, transaction.producer_epoch)
    }

    /// A new process over the first `records` of the log: nothing sent or waiting survives.
    fn restart_at(&mut self, records: usize) {
        let mut tc = TxnCoordinator::new(7, LOG, self.tc.config);
        self.log.truncate(records);
        for record in &self.log {
            tc.apply(record).expect("own record");
        }
        self.replica = tc.clone();
        self.tc = tc;
        self.sent.clear();
        self.replies.clear();
        self.call(|tc, ctx, _, out| tc.recovered(ctx, out));
    }

    fn restart(&mut self) {
        self.restart_at(self.log.len());
    }
}

fn pair_or(error: ErrorCode, producer_id: i64, producer_epoch: i16) -> Result<Pair, ErrorCode> {
    match error {
        ErrorCode::NONE => Ok((producer_id, producer_epoch)),
        error => {
            assert_eq!((producer_id, producer_epoch), (-1, -1));
            Err(error)
        }
    }
}

fn assert_same(a: &TxnCoordinator, b: &TxnCoordinator) {
    assert!(
        a.entries().eq(b.entries()),
        "replay differs from the live coordinator"
    );
    for (id, entry) in a.entries() {
        assert_eq!(b.id_of_producer(entry.producer_id), Some(id));
    }
}

/// What a participant answers to a marker.
fn marker_reply(envelope: &Envelope, error: ErrorCode) -> Envelope {
    let Body::WriteTxnMarkers { request, .. } = &envelope.body else {
        panic!("not a marker: {:?}", envelope.body)
    };
    let markers = request
        .markers
        .iter()
        .map(|marker| WritableTxnMarkerResult {
            producer_id: marker.producer_id,
            topics: marker
                .topics
                .iter()
                .map(|topic| WritableTxnMarkerTopicResult {
                    name: topic.name.clone(),
                    partitions: topic
                        .partition_indexes
                        .iter()
                        .map(|index| WritableTxnMarkerPartitionResult {
                            partition_index: *index,
                            error_code: error,
                            ..Default::default()
                        })
                        .collect(),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        });
    Envelope {
        from: envelope.to.clone(),
        to: envelope.from.clone(),
        correlation: envelope.correlation,
        body: Body::WriteTxnMarkersReply(WriteTxnMarkersResponse {
            markers: markers.collect(),
            ..Default::default()
        }),
    }
}

/// Producer id, epoch, commit, transaction version and ordinal of a marker.
fn marker_of(envelope: &Envelope) -> (i64, i16, bool, i8, i64) {
    let Body::WriteTxnMarkers { request, ordinal } = &envelope.body else {
        panic!("not a marker: {:?}", envelope.body)
    };
    let marker = &request.markers[0];
    assert_eq!((request.markers.len(), marker.coordinator_epoch), (1, 0));
    (
        marker.producer_id,
        marker.producer_epoch,
        marker.transaction_result,
        marker.transaction_version,
        *ordinal,
    )
}
