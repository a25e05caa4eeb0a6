//! Messages between the machines of one broker, and what the machines ask for.

use ackord_machine::{Body, Envelope, LogId, OpId, ResolveShareAcks, Role, StageShareAcks};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    WriteTxnMarkersRequest, WriteTxnMarkersResponse, write_txn_markers as markers,
};
use ackord_proto::str::Str;
use alloc::vec;
use alloc::vec::Vec;

use super::Broker;
use super::journal::{Gate, Gated, later};
use crate::group::{GroupReply, ShareGroup, partition_for_id};
use crate::leader::{Leader, LeaderContext, LeaderReply};
use crate::log::{Marker, MarkerOutcome};
use crate::metadata::{
    ClusterParticipants, Metadata, OFFSETS_TOPIC, SHARE_STATE_TOPIC, TXN_STATE_TOPIC,
};
use crate::outbox::{Outbox, Output, ProducerEpoch};
use crate::share::{EndMarker, ShareCoordinator, ShareReply};
use crate::txn::{TxnCoordinator, TxnCtx, TxnReply};

impl Broker {
    /// Hands a message to the machine it is for.
    pub(super) fn deliver(&mut self, envelope: Envelope, gate: Option<OpId>) {
        if self.is_unknown(&envelope.to) {
            // Whoever sent it sends it again.
            return;
        }
        match envelope.to.clone() {
            Role::Group(id) => self.with_group(&id, gate, |group, now, metadata, out| {
                group.handle_envelope(now, envelope, metadata, out);
            }),
            Role::Leader(log) => self.deliver_to_leader(log, envelope, gate),
            Role::Sgc(partition) => match envelope.body {
                Body::WriteTxnMarkers { .. } => self.mark(envelope, gate),
                Body::AddPartitionsToTxnReply { .. } => {
                    let envelope = self.stage_verified(partition, envelope);
                    self.with_sgc(partition, gate, |sgc, now, out| {
                        sgc.handle_envelope(now, envelope, out);
                    });
                }
                _ => {
                    if let Body::WriteShareGroupState(request) = &envelope.body {
                        let topics = request.topics.iter();
                        let written = topics.map(|topic| topic.partitions.len()).sum();
                        self.share_counters.state_written(written);
                    }
                    self.with_sgc(partition, gate, |sgc, now, out| {
                        sgc.handle_envelope(now, envelope, out);
                    });
                }
            },
            Role::Tc(partition) => self.with_tc(partition, gate, |tc, ctx, out| {
                tc.handle_envelope(ctx.now, envelope, out);
            }),
        }
    }

    /// Whether the state of a coordinator is being read back.
    fn is_unknown(&self, role: &Role) -> bool {
        let log = match role {
            Role::Sgc(partition) => self.metadata.log(SHARE_STATE_TOPIC, *partition),
            Role::Tc(partition) => self.metadata.log(TXN_STATE_TOPIC, *partition),
            Role::Group(_) | Role::Leader(_) => None,
        };
        log.is_some_and(|log| self.frozen.contains(&log))
    }

    /// The log of a share coordinator learns which transaction a stage belongs to, so that a marker
    /// of another one cannot end it; and it has the last word, should the transaction have ended
    /// there already.
    fn stage_verified(&mut self, partition: i32, mut envelope: Envelope) -> Envelope {
        let sgc = self.sgcs.get(&partition);
        let producer = sgc.and_then(|sgc| sgc.staging_producer(envelope.correlation));
        let log = self.metadata.log(SHARE_STATE_TOPIC, partition);
        let log = log.and_then(|log| self.logs.get_mut(&log));
        if let (Some(producer), Some(log)) = (producer, log)
            && let Body::AddPartitionsToTxnReply {
                response,
                ordinal,
                owner,
                ..
            } = &mut envelope.body
        {
            // Where InitProducerId kept the transaction, the client has another pair (KIP-939).
            let producer = owner.map_or(producer, |owner| ProducerEpoch {
                id: owner.producer_id,
                epoch: owner.producer_epoch,
            });
            log.set_ordinal(producer.id, *ordinal);
            if let Err(code) = log.check_producer(producer) {
                response.error_code = code;
            }
        }
        envelope
    }

    fn deliver_to_leader(&mut self, log: LogId, envelope: Envelope, gate: Option<OpId>) {
        match &envelope.body {
            Body::AddPartitionsToTxnReply {
                response, ordinal, ..
            } => {
                let (response, ordinal) = (response.clone(), *ordinal);
                let correlation = envelope.correlation;
                if !self.offsets_verified(correlation, &response, ordinal, gate) {
                    self.produce_verified(correlation, &response, ordinal, gate);
                }
            }
            Body::ReadShareGroupStateReply {
                response,
                pending,
                newest,
            } => {
                let (response, pending) = (response.clone(), pending.clone());
                if let Some(leader) = self.leaders.get_mut(&log) {
                    leader.read_covers(envelope.correlation, *newest);
                }
                self.share_state_read(log, envelope.correlation, response, pending, gate);
            }
            Body::ListShareAcks { group }
            | Body::ResolveShareAcks(ResolveShareAcks { group, .. })
            | Body::StageShareAcks(StageShareAcks { group, .. }) => {
                let group = group.clone();
                let ends = matches!(envelope.body, Body::ResolveShareAcks(_));
                let mut available = false;
                self.with_leader(log, &group, gate, |leader, ctx, out| {
                    available = leader.coordinator_asks(ctx, envelope, out);
                });
                if ends {
                    self.resume_dead_letters(log, &group);
                }
                if available {
                    self.wake_share_fetches(log, &group);
                }
            }
            Body::WriteShareGroupStateReply(response) => {
                let (response, correlation) = (response.clone(), envelope.correlation);
                let mut dropped = None;
                let leader = self.leaders.get(&log);
                let group = leader.and_then(|leader| leader.writing_group(correlation));
                let Some(group) = group.cloned() else {
                    return;
                };
                self.with_leader(log, &group, gate, |leader, _, out| {
                    dropped = leader.written(correlation, &response, out);
                });
                if let Some(group) = dropped {
                    self.wake_share_fetches(log, &group);
                }
            }
            Body::WriteTxnMarkers { .. } => self.mark(envelope, gate),
            Body::AddPartitionsToTxn(_)
            | Body::DeleteShareGroupState(_)
            | Body::DeleteShareGroupStateReply(_)
            | Body::InitializeShareGroupState(_)
            | Body::InitializeShareGroupStateReply(_)
            | Body::ListShareAcksReply(_)
            | Body::ReadShareGroupState(_)
            | Body::ResolveShareAcksReply
            | Body::StageShareAcksReply(_)
            | Body::WriteShareGroupState(_)
            | Body::WriteTxnMarkersReply(_) => {}
        }
    }

    /// Appends the markers that a transaction coordinator sends, and answers it.
    fn mark(&mut self, envelope: Envelope, gate: Option<OpId>) {
        let Body::WriteTxnMarkers { request, ordinal } = envelope.body else {
            return;
        };
        let (response, own) = self.write_markers(&request, ordinal);
        let reply = Envelope {
            from: envelope.to,
            to: envelope.from,
            correlation: envelope.correlation,
            body: Body::WriteTxnMarkersReply(response),
        };
        self.inbox.push_back((reply, later(gate, own)));
    }

    /// Appends markers; returns the append to wait for.
    fn write_markers(
        &mut self,
        request: &WriteTxnMarkersRequest,
        ordinal: i64,
    ) -> (WriteTxnMarkersResponse, Option<OpId>) {
        let mut gate = None;
        let mut results = Vec::with_capacity(request.markers.len());
        for marker in &request.markers {
            let mut topics = Vec::with_capacity(marker.topics.len());
            for topic in &marker.topics {
                let mut partitions = Vec::with_capacity(topic.partition_indexes.len());
                for &partition_index in &topic.partition_indexes {
                    let written = self.write_marker(marker, &topic.name, partition_index, ordinal);
                    let error_code = match written {
                        Ok(own) => {
                            gate = later(gate, own);
                            ErrorCode::NONE
                        }
                        Err(code) => code,
                    };
                    partitions.push(markers::WritableTxnMarkerPartitionResult {
                        partition_index,
                        error_code,
                        ..Default::default()
                    });
                }
                let name = topic.name.clone();
                topics.push(markers::WritableTxnMarkerTopicResult {
                    name,
                    partitions,
                    ..Default::default()
                });
            }
            let producer_id = marker.producer_id;
            results.push(markers::WritableTxnMarkerResult {
                producer_id,
                topics,
                ..Default::default()
            });
        }
        (
            WriteTxnMarkersResponse {
                markers: results,
                ..Default::default()
            },
            gate,
        )
    }

    pub(super) fn write_marker(
        &mut self,
        marker: &markers::WritableTxnMarker,
        topic: &str,
        partition: i32,
        ordinal: i64,
    ) -> Result<Option<OpId>, ErrorCode> {
        let log_id = self
            .metadata
            .log(topic, partition)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        if self.frozen.contains(&log_id) {
            return Err(ErrorCode::NOT_LEADER_OR_FOLLOWER);
        }
        let now = self.now;
        let log = self
            .logs
            .get_mut(&log_id)
            .ok_or(ErrorCode::NOT_LEADER_OR_FOLLOWER)?;
        let outcome = log.append_marker(
            now,
            Marker {
                producer_id: marker.producer_id,
                producer_epoch: marker.producer_epoch,
                commit: marker.transaction_result,
                coordinator_epoch: marker.coordinator_epoch,
                transaction_version: marker.transaction_version,
                ordinal,
            },
        )?;
        match outcome {
            MarkerOutcome::AlreadyDone => return Ok(self.journal.newest(log_id)),
            MarkerOutcome::Appended(part) => {
                self.append_part(part);
            }
        }
        if topic == OFFSETS_TOPIC {
            self.with_gc(partition, |gc, _, _| {
                gc.complete_transaction(marker.producer_id, marker.transaction_result);
            });
        }
        if topic == SHARE_STATE_TOPIC {
            self.plan_share_upkeep();
            let producer = ProducerEpoch {
                id: marker.producer_id,
                epoch: marker.producer_epoch,
            };
            let ended = EndMarker {
                producer,
                commit: marker.transaction_result,
            };
            let gate = self.journal.newest(log_id);
            self.with_sgc(partition, gate, |sgc, now, out| {
                sgc.complete_transaction(now, ended, ordinal, out);
            });
        }
        Ok(self.journal.newest(log_id))
    }

    /// Runs something on a transaction coordinator and carries out what it asks for.
    pub(super) fn with_tc(
        &mut self,
        partition: i32,
        gate: Option<OpId>,
        run: impl FnOnce(&mut TxnCoordinator, &mut TxnCtx<'_>, &mut Outbox<TxnReply>),
    ) {
        let Some(log) = self.metadata.log(TXN_STATE_TOPIC, partition) else {
            return;
        };
        let Some(tc) = self.tcs.get_mut(&partition) else {
            return;
        };
        let mut out = Outbox::new();
        let mut ctx = TxnCtx {
            now: self.now,
            ids: &mut self.producer_ids,
            participants: &ClusterParticipants {
                metadata: &self.metadata,
                frozen: &self.frozen,
            },
        };
        run(tc, &mut ctx, &mut out);
        if let Some(reserved) = self.producer_ids.take_reservation() {
            self.append_cluster(&[Metadata::reserve_producer_ids(reserved)]);
        }
        self.carry_out(
            out,
            later(gate, self.journal.newest(log)),
            Broker::transaction_reply,
        );
        self.arm_tc(partition);
    }

    /// Runs something on a share coordinator and carries out what it asks for.
    pub(super) fn with_sgc(
        &mut self,
        partition: i32,
        gate: Option<OpId>,
        run: impl FnOnce(&mut ShareCoordinator, ackord_machine::Now, &mut Outbox<ShareReply>),
    ) {
        let Some(log) = self.metadata.log(SHARE_STATE_TOPIC, partition) else {
            return;
        };
        let Some(sgc) = self.sgcs.get_mut(&partition) else {
            return;
        };
        let mut out = Outbox::new();
        run(sgc, self.now, &mut out);
        if out.appends() {
            self.plan_share_upkeep();
        }
        self.carry_out(
            out,
            later(gate, self.journal.newest(log)),
            Broker::share_reply,
        );
        self.arm_sgc(partition);
    }

    /// Runs something on the leader of a partition and carries out what it asks for.
    pub(super) fn with_leader(
        &mut self,
        log: LogId,
        group: &Str,
        gate: Option<OpId>,
        run: impl FnOnce(&mut Leader, LeaderContext<'_>, &mut Outbox<LeaderReply>),
    ) {
        let settings = self.share_settings(group);
        let Some(data) = self.logs.get(&log) else {
            return;
        };
        let ctx = LeaderContext {
            now: self.now,
            log_start: data.start_offset(),
            high_watermark: data.high_watermark(),
            settings: &settings,
            state_partitions: self.share_state_partitions(),
            queue_open: settings.dead_letters && self.is_queue_open(group),
        };
        let leader = self.leaders.entry(log).or_insert_with(|| Leader::new(log));
        let mut out = Outbox::new();
        run(leader, ctx, &mut out);
        leader.drop_unused(ctx, group, &mut out);
        leader.arm(group);
        let waits = leader
            .share_partition(group)
            .is_some_and(|partition| partition.archiving_count() > 0);
        if waits {
            self.dead_letters.wait(log, group);
        }
        self.carry_out(out, gate, Broker::leader_reply);
        self.arm_leader(log);
    }

    /// Runs something on a share group, stores what changed, and carries out what it asks for
    /// behind that. Nothing happens while the group is read back.
    pub(super) fn with_group(
        &mut self,
        id: &Str,
        gate: Option<OpId>,
        run: impl FnOnce(&mut ShareGroup, ackord_machine::Now, &Metadata, &mut Outbox<GroupReply>),
    ) {
        let partition = partition_for_id(id, self.offsets_partitions());
        if self.is_gc_frozen(partition) {
            return;
        }
        let log = self.metadata.log(OFFSETS_TOPIC, partition);
        let Some(group) = self.groups.get_mut(id) else {
            return;
        };
        let mut out = Outbox::new();
        run(group, self.now, &self.metadata, &mut out);
        let departed = group.take_departed();
        let unassigned = group.take_unassigned();
        if let Some(log) = log {
            out.append_first(log, group.unstored());
        }
        let gate = later(gate, self.gc_gate(partition));
        self.carry_out(out, gate, Broker::group_reply);
        for member in departed {
            self.member_departed(id, &member);
        }
        for log in unassigned {
            self.abandon_unused(log, id);
        }
        self.arm_group(id);
    }

    pub(super) fn carry_out<R>(
        &mut self,
        mut out: Outbox<R>,
        gate: Option<OpId>,
        reply: fn(&mut Broker, crate::outbox::Ticket, R, Option<OpId>),
    ) {
        let mut gate = gate;
        for output in out.take() {
            match output {
                Output::Append {
                    log,
                    records,
                    producer,
                } => {
                    let now = self.now;
                    if let Some(data) = self.logs.get_mut(&log) {
                        let part = data.append_records(now, &records, producer);
                        let sgc = self.sgcs.get_mut(&log.partition);
                        if let Some(sgc) = sgc.filter(|sgc| sgc.log() == log) {
                            sgc.appended_at(part.base, &records);
                        }
                        gate = later(gate, Some(self.append_part(part)));
                    }
                }
                Output::Barrier => self.journal.close(&mut self.effects),
                Output::Count(what) => self.counters.count(what),
                Output::Measure { what, since } => match self.journal.gate(gate) {
                    Gate::Open => self.measured(what, since),
                    Gate::Shut(gate) => self.journal.hold(gate, Gated::Measure { what, since }),
                    Gate::Failed => {}
                },
                Output::Reply {
                    ticket,
                    reply: answer,
                } => reply(self, ticket, answer, gate),
                Output::Send { envelope, chained } => match self.journal.gate(gate) {
                    Gate::Shut(gate) if !chained => {
                        self.journal.hold(gate, Gated::Envelope(envelope));
                    }
                    _ => self.inbox.push_back((envelope, gate)),
                },
            }
        }
    }

    /// What an envelope becomes whose append failed: the sender's answer says so.
    pub(super) fn failed_envelope(&mut self, envelope: Envelope) {
        let body = match envelope.body {
            Body::WriteShareGroupStateReply(mut response) => {
                for partition in response
                    .results
                    .iter_mut()
                    .flat_map(|topic| &mut topic.partitions)
                {
                    partition.error_code = ErrorCode::KAFKA_STORAGE_ERROR;
                }
                Body::WriteShareGroupStateReply(response)
            }
            Body::InitializeShareGroupStateReply(mut response) => {
                for partition in response
                    .results
                    .iter_mut()
                    .flat_map(|topic| &mut topic.partitions)
                {
                    partition.error_code = ErrorCode::KAFKA_STORAGE_ERROR;
                }
                Body::InitializeShareGroupStateReply(response)
            }
            Body::ReadShareGroupStateReply {
                mut response,
                pending: _,
                newest,
            } => {
                for partition in response
                    .results
                    .iter_mut()
                    .flat_map(|topic| &mut topic.partitions)
                {
                    partition.error_code = ErrorCode::KAFKA_STORAGE_ERROR;
                }
                Body::ReadShareGroupStateReply {
                    response,
                    pending: vec![],
                    newest,
                }
            }
            // The others are sent again by whoever waits for them.
            _ => return,
        };
        self.inbox.push_back((Envelope { body, ..envelope }, None));
    }
}
