//! Messages between the machines and with clients, and what may happen to them.

use ackord_coord_core::group::ClientInfo;
use ackord_coord_core::log::{Marker, MarkerOutcome};
use ackord_coord_core::outbox::{ProducerEpoch, Ticket};
use ackord_coord_core::share::EndMarker;
use ackord_machine::{Body, Envelope, LogId, Role};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    WriteTxnMarkersRequest, WriteTxnMarkersResponse, write_txn_markers as markers,
};

use super::host::{Entry, Machine, Pending, Place};
use super::machines::Spread;
use super::worker::Ask;
use super::world::{Event, World, group};

/// A rule that is broken on purpose, by changing a message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// The news of an end counts as delivered when it is sent, whatever becomes of it.
    EndsAreNotRepeated,
    /// After a crash of a share coordinator leaders say that they hold nothing.
    NobodyIsAsked,
    /// A transaction is verified whatever its state, and the log of the share coordinator not asked.
    NothingIsVerified,
    /// A leader of before is believed.
    OldLeadersAreBelieved,
}

impl Sabotage {
    /// All of them.
    pub const ALL: [Sabotage; 4] = [
        Sabotage::EndsAreNotRepeated,
        Sabotage::NobodyIsAsked,
        Sabotage::NothingIsVerified,
        Sabotage::OldLeadersAreBelieved,
    ];
}

impl World<'_> {
    /// How long a message takes, and whether a copy arrives later: `None` where it is lost.
    pub(crate) fn travel(&mut self) -> Option<(u64, Option<u64>)> {
        let number = self.messages;
        self.messages += 1;
        // Always as many draws.
        let takes = 1 + self.net.below(15);
        let (kind, late, hit) = (
            self.net.below(21),
            self.net.below(6000),
            self.net.below(1000),
        );
        let spared = self.without.net.contains(&(0, number));
        if !self.is_faulty() || hit >= self.plan.net_permille || spared {
            return Some((takes, None));
        }
        self.net_faults.push((0, number));
        match kind {
            0..=6 => None,
            7..=12 => Some((takes, Some(takes + late))),
            _ => Some((takes + late * 2 / 3, None)),
        }
    }

    pub(crate) fn send(&mut self, mut envelope: Envelope) {
        if let Some(sabotage) = self.sabotage {
            self.spoil(sabotage, &mut envelope);
        }
        if let Some((log, node)) = self.leaves_with(&envelope) {
            // Nothing is asked again before a second is over.
            let takes = 100 + self.net.below(900);
            self.later(takes, Event::Message(Box::new(envelope)));
            return self.move_leader(log, node);
        }
        if let Some((takes, copy)) = self.travel() {
            if let Some(again) = copy {
                self.later(again, Event::Message(Box::new(envelope.clone())));
            }
            self.later(takes, Event::Message(Box::new(envelope)));
        }
    }

    /// The partition whose leader moves when it has sent this, and the node that it moves to.
    fn leaves_with(&mut self, envelope: &Envelope) -> Option<(LogId, u64)> {
        let (Role::Leader(log), Body::StageShareAcksReply(_)) = (&envelope.from, &envelope.body)
        else {
            return None;
        };
        if !self.is_faulty() {
            return None;
        }
        let host = self.hosts.get_mut(&Place::Leader(*log))?;
        Some((*log, host.moves_to.take()?))
    }

    pub(crate) fn spoil(&mut self, sabotage: Sabotage, envelope: &mut Envelope) {
        match (sabotage, &mut envelope.body) {
            (Sabotage::EndsAreNotRepeated, Body::ResolveShareAcks(_)) => {
                let answer = Envelope {
                    from: envelope.to.clone(),
                    to: envelope.from.clone(),
                    correlation: envelope.correlation,
                    body: Body::ResolveShareAcksReply,
                };
                self.later(1, Event::Message(Box::new(answer)));
            }
            (Sabotage::NobodyIsAsked, Body::ListShareAcksReply(held)) => held.clear(),
            (
                Sabotage::NothingIsVerified,
                Body::AddPartitionsToTxnReply {
                    response,
                    bumps_at_end,
                    ..
                },
            ) => {
                *bumps_at_end = true;
                let results = response.results_by_transaction.iter_mut();
                for partition in results
                    .flat_map(|transaction| &mut transaction.topic_results)
                    .flat_map(|topic| &mut topic.results_by_partition)
                {
                    partition.partition_error_code = ErrorCode::NONE;
                }
            }
            (Sabotage::OldLeadersAreBelieved, Body::StageShareAcksReply(reply)) => {
                reply.leader_epoch = i32::MAX;
            }
            _ => {}
        }
    }

    /// A client sends a request.
    pub(crate) fn ask(&mut self, index: usize, place: Place, slot: u64, ask: Ask) {
        // Whenever it arrives it aborts what is prepared then (KIP-939).
        let begins_anew =
            matches!(&ask, Ask::Init(own) if own.enable_2pc && !own.keep_prepared_txn);
        if let Some((takes, copy)) = self.travel() {
            let (takes, copy) = match begins_anew {
                true => (takes.min(15), None),
                false => (takes, copy),
            };
            if let Some(again) = copy {
                let ask = Box::new(ask.clone());
                self.later(again, Event::Ask(index, place, slot, ask));
            }
            self.later(takes, Event::Ask(index, place, slot, Box::new(ask)));
        }
    }

    pub(crate) fn arrives(&mut self, index: usize, place: Place, slot: u64, ask: Ask) {
        self.tickets += 1;
        let ticket = Ticket {
            slot: self.tickets,
            part: 0,
        };
        self.asked.insert(ticket.slot, (index, slot, ask.clone()));
        match ask {
            Ask::Add(add) => {
                self.with_tc(|tc, ctx, out| tc.add_partitions(ctx.now, ticket, add, out))
            }
            Ask::End(end) => self.with_tc(|tc, ctx, out| tc.end_txn(ctx, ticket, &end, 5, out)),
            Ask::Heartbeat(request) => self.with_group(|group, now, out| {
                let client = ClientInfo {
                    client_id: "app".into(),
                    host: "host".into(),
                };
                group.heartbeat(now, ticket, &request, client, &Spread, out);
            }),
            Ask::Init(request) => {
                self.with_tc(|tc, ctx, out| tc.init_producer_id(ctx, ticket, &request, 6, out));
            }
            Ask::Stage(command) => {
                let Place::Sgc(partition) = place else { return };
                self.with_sgc(partition, |sgc, now, out| {
                    sgc.stage(now, ticket, command, out)
                });
            }
        }
    }

    pub(crate) fn deliver(&mut self, envelope: Envelope) {
        match envelope.to.clone() {
            Role::Group(_) => self.with_group(|group, now, out| {
                group.handle_envelope(now, envelope, &Spread, out);
            }),
            Role::Leader(log) => self.deliver_to_leader(log, envelope),
            Role::Sgc(partition) => self.deliver_to_share_coordinator(partition, envelope),
            Role::Tc(_) => self.with_tc(|tc, ctx, out| tc.handle_envelope(ctx.now, envelope, out)),
        }
    }

    pub(crate) fn deliver_to_share_coordinator(&mut self, partition: i32, mut envelope: Envelope) {
        let place = Place::Sgc(partition);
        let host = self.hosts.get_mut(&place).expect("it is placed");
        let Some(Machine::Sgc(sgc)) = &host.machine else {
            return;
        };
        match &mut envelope.body {
            Body::WriteTxnMarkers { request, ordinal } => {
                let (request, ordinal) = (request.clone(), *ordinal);
                let response = self.mark(partition, &request, ordinal);
                let answer = Envelope {
                    from: envelope.to,
                    to: envelope.from,
                    correlation: envelope.correlation,
                    body: Body::WriteTxnMarkersReply(response),
                };
                return self.enqueue(place, [Pending::Send(answer)]);
            }
            Body::AddPartitionsToTxnReply {
                response, ordinal, ..
            } => {
                if let Some(producer) = sgc.staging_producer(envelope.correlation)
                    && self.sabotage != Some(Sabotage::NothingIsVerified)
                {
                    host.log.set_ordinal(producer.id, *ordinal);
                    if let Err(code) = host.log.check_producer(producer) {
                        response.error_code = code;
                    }
                }
            }
            _ => {}
        }
        self.with_sgc(partition, |sgc, now, out| {
            sgc.handle_envelope(now, envelope, out)
        });
    }

    pub(crate) fn mark(
        &mut self,
        partition: i32,
        request: &WriteTxnMarkersRequest,
        ordinal: i64,
    ) -> WriteTxnMarkersResponse {
        let now = self.now;
        let own = &request.markers[0];
        let marker = Marker {
            producer_id: own.producer_id,
            producer_epoch: own.producer_epoch,
            commit: own.transaction_result,
            coordinator_epoch: own.coordinator_epoch,
            transaction_version: own.transaction_version,
            ordinal,
        };
        let place = Place::Sgc(partition);
        let host = self.hosts.get_mut(&place).expect("it is placed");
        let outcome = host.log.append_marker(now, marker);
        if let Ok(MarkerOutcome::Appended(_)) = &outcome {
            self.enqueue(place, [Pending::Append(Entry::Marker(marker))]);
            let ended = EndMarker {
                producer: ProducerEpoch {
                    id: marker.producer_id,
                    epoch: marker.producer_epoch,
                },
                commit: marker.commit,
            };
            self.commits += u64::from(marker.commit);
            self.with_sgc(partition, |sgc, now, out| {
                sgc.complete_transaction(now, ended, ordinal, out)
            });
        }
        let told = markers::WritableTxnMarkerPartitionResult {
            partition_index: partition,
            error_code: outcome.err().unwrap_or(ErrorCode::NONE),
            ..Default::default()
        };
        let topic = markers::WritableTxnMarkerTopicResult {
            name: own.topics[0].name.clone(),
            partitions: vec![told],
            ..Default::default()
        };
        let result = markers::WritableTxnMarkerResult {
            producer_id: marker.producer_id,
            topics: vec![topic],
            ..Default::default()
        };
        WriteTxnMarkersResponse {
            markers: vec![result],
            ..Default::default()
        }
    }

    pub(crate) fn deliver_to_leader(&mut self, log: LogId, envelope: Envelope) {
        match envelope.body {
            Body::ReadShareGroupStateReply {
                response,
                pending,
                newest,
            } => self.with_leader(log, |leader, ctx, out| {
                if leader.reading_group(envelope.correlation).is_some() {
                    leader.read_covers(envelope.correlation, newest);
                    leader.loaded(ctx, &group(), &response, &pending, 0, out);
                }
            }),
            Body::WriteShareGroupStateReply(response) => self.with_leader(log, |leader, _, out| {
                leader.written(envelope.correlation, &response, out);
            }),
            _ => self.with_leader(log, |leader, ctx, out| {
                leader.coordinator_asks(ctx, envelope, out);
            }),
        }
    }
}
