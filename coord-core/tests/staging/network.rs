//! Messages between the machines, and what may happen to them.

use std::collections::VecDeque;
use std::rc::Rc;

use ackord_coord_core::log::{Marker, MarkerOutcome};
use ackord_coord_core::outbox::{Outbox, Output, ProducerEpoch, Ticket};
use ackord_coord_core::share::{EndMarker, ShareReply};
use ackord_machine::{Body, Envelope, Role};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    WriteTxnMarkersRequest, WriteTxnMarkersResponse, write_txn_markers as markers,
};

use crate::world::{World, group};

/// What happens to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is delayed, past whatever comes next.
    Hold,
    Lose,
    /// It arrives, and a copy of it is delayed.
    Repeat,
}

impl Fault {
    /// Every fault of every message of a step.
    pub(crate) fn each(messages: usize, world: &World) -> impl Iterator<Item = (usize, Fault)> {
        let faults: &[Fault] = match (world.scale.losses, world.can_hold()) {
            (true, true) => &[Fault::Lose, Fault::Hold, Fault::Repeat],
            (true, false) => &[Fault::Lose],
            (false, true) => &[Fault::Hold, Fault::Repeat],
            (false, false) => &[],
        };
        (0..messages).flat_map(|message| faults.iter().map(move |fault| (message, *fault)))
    }
}

/// A rule of the protocol that is broken on purpose, by changing a message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// A copy of a stage gets a new number, so the leader takes it for a new one.
    CopiesOfStagesLookNew,
    /// The news of an end counts as delivered when it is sent.
    EndsAreNotRepeated,
    /// A stage that was not stored is left out of the news of the end.
    LateStagesStayHeld,
    /// A transaction is verified whatever its state.
    NothingIsVerified,
    /// Ends do not say which transaction they belong to.
    OrdinalsAreForgotten,
    /// A leader of before is believed.
    OldLeadersAreBelieved,
    /// After a crash of the share coordinator leaders say that they hold nothing.
    NobodyIsAsked,
}

impl Sabotage {
    pub(crate) const ALL: [Sabotage; 7] = [
        Sabotage::CopiesOfStagesLookNew,
        Sabotage::EndsAreNotRepeated,
        Sabotage::LateStagesStayHeld,
        Sabotage::NothingIsVerified,
        Sabotage::OrdinalsAreForgotten,
        Sabotage::OldLeadersAreBelieved,
        Sabotage::NobodyIsAsked,
    ];

    /// The rule is about what comes after a crash.
    pub(crate) fn needs_a_crash(self) -> bool {
        matches!(
            self,
            Sabotage::OldLeadersAreBelieved | Sabotage::NobodyIsAsked
        )
    }
}

/// The messages of one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Network {
    queue: VecDeque<Envelope>,
    sent: usize,
    fault: Option<(usize, Fault)>,
}

impl World {
    pub(crate) fn begin_step(&mut self, fault: Option<(usize, Fault)>) {
        self.network = Network {
            fault,
            ..Network::default()
        };
    }

    /// Delivers until nothing is on its way; how many messages there were.
    pub(crate) fn end_step(&mut self) -> usize {
        while let Some(envelope) = self.network.queue.pop_front() {
            self.deliver(envelope);
        }
        self.network.sent
    }

    pub(crate) fn break_rule(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    fn send(&mut self, envelope: Envelope) {
        let envelope = self.sabotaged(envelope);
        let own = self.network.sent;
        self.network.sent += 1;
        let fault = self.network.fault.filter(|(message, _)| *message == own);
        match fault.map(|(_, fault)| fault) {
            Some(Fault::Lose) => {}
            Some(Fault::Hold) => self.held.push(envelope),
            Some(Fault::Repeat) => {
                self.held.push(envelope.clone());
                self.network.queue.push_back(envelope);
            }
            None => self.network.queue.push_back(envelope),
        }
    }

    fn sabotaged(&mut self, mut envelope: Envelope) -> Envelope {
        let Some(sabotage) = self.sabotage else {
            return envelope;
        };
        let (from, to) = (envelope.from.clone(), envelope.to.clone());
        match (sabotage, &mut envelope.body) {
            (Sabotage::EndsAreNotRepeated, Body::ResolveShareAcks(_)) => {
                let answer = Envelope {
                    from: to,
                    to: from,
                    correlation: envelope.correlation,
                    body: Body::ResolveShareAcksReply,
                };
                self.network.queue.push_back(answer);
            }
            (Sabotage::LateStagesStayHeld, Body::ResolveShareAcks(resolve)) => {
                resolve.returned.clear();
            }
            (
                Sabotage::NothingIsVerified,
                Body::AddPartitionsToTxnReply {
                    response,
                    ordinal,
                    bumps_at_end,
                    ..
                },
            ) => {
                *ordinal = (*ordinal).max(1);
                *bumps_at_end = true;
                let results = response.results_by_transaction.iter_mut();
                for partition in results
                    .flat_map(|transaction| &mut transaction.topic_results)
                    .flat_map(|topic| &mut topic.results_by_partition)
                {
                    partition.partition_error_code = ErrorCode::NONE;
                }
            }
            (Sabotage::OrdinalsAreForgotten, Body::AddPartitionsToTxnReply { ordinal, .. }) => {
                *ordinal = 0;
            }
            (Sabotage::OldLeadersAreBelieved, Body::StageShareAcksReply(reply)) => {
                reply.leader_epoch = i32::MAX;
            }
            (Sabotage::NobodyIsAsked, Body::ListShareAcksReply(held)) => held.clear(),
            _ => {}
        }
        envelope
    }

    pub(crate) fn deliver(&mut self, envelope: Envelope) {
        match envelope.to.clone() {
            Role::Tc(_) => self.with_tc(|tc, ctx, out| tc.handle_envelope(ctx.now, envelope, out)),
            Role::Sgc(_) => self.deliver_to_share_coordinator(envelope),
            Role::Leader(_) => self.deliver_to_leader(envelope),
            Role::Group(_) => panic!("nobody asks a group coordinator: {envelope:?}"),
        }
    }

    fn deliver_to_share_coordinator(&mut self, mut envelope: Envelope) {
        if let Body::WriteTxnMarkers { request, ordinal } = envelope.body {
            let response = self.mark(&request, ordinal);
            return self.send(Envelope {
                from: envelope.to,
                to: envelope.from,
                correlation: envelope.correlation,
                body: Body::WriteTxnMarkersReply(response),
            });
        }
        if let Body::AddPartitionsToTxnReply {
            response, ordinal, ..
        } = &mut envelope.body
            && let Some(producer) = self.sgc.staging_producer(envelope.correlation)
            && self.sabotage != Some(Sabotage::NothingIsVerified)
        {
            // As whoever embeds a share coordinator has to do: its log has the last word.
            Rc::make_mut(&mut self.log).set_ordinal(producer.id, *ordinal);
            if let Err(code) = self.log.check_producer(producer) {
                response.error_code = code;
            }
        }
        self.with_sgc(|sgc, now, out| sgc.handle_envelope(now, envelope, out));
    }

    fn mark(&mut self, request: &WriteTxnMarkersRequest, ordinal: i64) -> WriteTxnMarkersResponse {
        let marker = &request.markers[0];
        let producer = ProducerEpoch {
            id: marker.producer_id,
            epoch: marker.producer_epoch,
        };
        let outcome = Rc::make_mut(&mut self.log).append_marker(
            self.now,
            Marker {
                producer_id: producer.id,
                producer_epoch: producer.epoch,
                commit: marker.transaction_result,
                coordinator_epoch: marker.coordinator_epoch,
                transaction_version: marker.transaction_version,
                ordinal,
            },
        );
        if let Ok(MarkerOutcome::Appended(_)) = &outcome {
            self.all_durable();
            let ended = EndMarker {
                producer,
                commit: marker.transaction_result,
            };
            self.transaction_ends(producer.id, ended.commit);
            self.with_sgc(|sgc, now, out| sgc.complete_transaction(now, ended, ordinal, out));
        }
        let topic = &marker.topics[0];
        let partition = markers::WritableTxnMarkerPartitionResult {
            partition_index: topic.partition_indexes[0],
            error_code: outcome.err().unwrap_or(ErrorCode::NONE),
            ..Default::default()
        };
        let topic = markers::WritableTxnMarkerTopicResult {
            name: topic.name.clone(),
            partitions: vec![partition],
            ..Default::default()
        };
        let result = markers::WritableTxnMarkerResult {
            producer_id: producer.id,
            topics: vec![topic],
            ..Default::default()
        };
        WriteTxnMarkersResponse {
            markers: vec![result],
            ..Default::default()
        }
    }

    fn all_durable(&mut self) {
        let log = Rc::make_mut(&mut self.log);
        log.durable_to(log.end_offset());
    }

    fn deliver_to_leader(&mut self, mut envelope: Envelope) {
        match &mut envelope.body {
            Body::ReadShareGroupStateReply {
                response,
                pending,
                newest,
            } => {
                if self.leader.reading_group(envelope.correlation).is_none() {
                    return;
                }
                Rc::make_mut(&mut self.leader).read_covers(envelope.correlation, *newest);
                let (response, pending) = (response.clone(), pending.clone());
                self.with_leader(|leader, ctx, out| {
                    leader.loaded(ctx, &group(), &response, &pending, 0, out);
                });
            }
            Body::WriteShareGroupStateReply(response) => {
                let (response, correlation) = (response.clone(), envelope.correlation);
                self.with_leader(|leader, _, out| {
                    leader.written(correlation, &response, out);
                });
            }
            body => {
                if self.sabotage == Some(Sabotage::CopiesOfStagesLookNew)
                    && matches!(body, Body::StageShareAcks(_))
                {
                    envelope.correlation |= 1 << 50;
                    envelope.correlation += self.leader.newest_taken("g") & ((1 << 50) - 1);
                }
                self.with_leader(|leader, ctx, out| {
                    leader.coordinator_asks(ctx, envelope, out);
                });
            }
        }
    }

    /// Carries out what a machine asks for; whatever it stores is durable at once.
    pub(crate) fn carry_out<R>(&mut self, mut out: Outbox<R>, answer: fn(&mut World, Ticket, R)) {
        for output in out.take() {
            match output {
                Output::Append {
                    log,
                    records,
                    producer,
                } => {
                    if log == self.log.id() {
                        let log = Rc::make_mut(&mut self.log);
                        drop(log.append_records(self.now, &records, producer));
                        self.all_durable();
                    }
                }
                Output::Barrier | Output::Count(_) | Output::Measure { .. } => {}
                Output::Reply { ticket, reply } => answer(self, ticket, reply),
                Output::Send { envelope, .. } => self.send(envelope),
            }
        }
    }

    /// A client hears how its stage ended.
    pub(crate) fn answered(&mut self, ticket: Ticket, reply: ShareReply) {
        let ShareReply::Staged { code, .. } = reply;
        if code == ErrorCode::NONE {
            self.told_staged(ticket.slot as usize, i64::from(ticket.part));
        }
    }
}
