//! Equal digests for worlds that behave alike: numbers of messages and epochs of crashed machines
//! count by their order only, times by whether a lock still runs, epochs and ordinals of producers by
//! how far they are behind the current ones, and of worlds that differ in the names of producers and
//! members alone one stands for all.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use ackord_coord_core::txn::TxnState;
use ackord_machine::{Body, Envelope, PendingAck, Role, StageVerdict, TxnOwner};
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, ReadShareGroupStateResponse,
    WriteShareGroupStateRequest,
};

use crate::world::{Told, UNLIMITED_CRASHES, World};

/// Two FNV-1a hashes beside each other.
struct Hash([u64; 2]);

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            for (hash, prime) in self
                .0
                .iter_mut()
                .zip([0x100_0000_01b3, 0x9e37_79b9_7f4a_7c15])
            {
                *hash = (*hash ^ u64::from(byte)).wrapping_mul(prime).rotate_left(5);
            }
        }
        Ok(())
    }
}

/// Epochs and ordinals that are further behind than this behave alike: they are only ever compared.
const FAR_BEHIND: i64 = 3;

/// Names by their places in one of the equivalent worlds.
struct Names<'a> {
    world: &'a World,
    /// Producers swapped, members swapped.
    swapped: [bool; 2],
    numbers: Vec<u64>,
    leader_epochs: Vec<i32>,
}

impl World {
    pub(crate) fn digest(&self) -> u128 {
        let mut numbers =
            BTreeSet::from([self.sgc.newest_request(), self.leader.newest_taken("g")]);
        let mut leader_epochs = BTreeSet::from([self.leader.epoch(), self.state().leader_epoch]);
        numbers.extend(self.sgc.unanswered().map(|(number, _, _)| number));
        let mut all: Vec<&Envelope> = self.held.iter().collect();
        all.extend(self.leader.unanswered_writes());
        if let Some((number, waiting)) = self.leader.reading("g") {
            numbers.insert(number);
            all.extend(waiting);
        }
        for envelope in all {
            if !matches!(
                envelope.body,
                Body::WriteTxnMarkers { .. } | Body::WriteTxnMarkersReply(_)
            ) {
                numbers.insert(envelope.correlation);
            }
            note_epochs(&envelope.body, &mut numbers, &mut leader_epochs);
        }
        let mut names = Names {
            world: self,
            swapped: [false, false],
            numbers: numbers.into_iter().collect(),
            leader_epochs: leader_epochs.into_iter().collect(),
        };
        let producers: &[bool] = if self.scale.producers == 2 {
            &[false, true]
        } else {
            &[false]
        };
        let members: &[bool] = if self.scale.members == 2 {
            &[false, true]
        } else {
            &[false]
        };
        let mut least = u128::MAX;
        for producer in producers {
            for member in members {
                names.swapped = [*producer, *member];
                least = least.min(names.digest());
            }
        }
        least
    }
}

fn note_epochs(body: &Body, numbers: &mut BTreeSet<u64>, epochs: &mut BTreeSet<i32>) {
    match body {
        Body::ReadShareGroupState(request) => {
            epochs.insert(request.topics[0].partitions[0].leader_epoch);
        }
        Body::WriteShareGroupState(request) => {
            epochs.insert(request.topics[0].partitions[0].leader_epoch);
        }
        Body::StageShareAcksReply(reply) => {
            epochs.insert(reply.leader_epoch);
        }
        Body::ReadShareGroupStateReply { newest, .. } => {
            numbers.insert(*newest);
        }
        _ => {}
    }
}

impl Names<'_> {
    fn digest(&self) -> u128 {
        let mut hash = Hash([0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142]);
        self.write(&mut hash).expect("a hash takes everything");
        u128::from(hash.0[0]) << 64 | u128::from(hash.0[1])
    }

    fn write(&self, to: &mut Hash) -> fmt::Result {
        let world = self.world;
        self.write_transactions(to)?;
        self.write_leader(to)?;
        self.write_share_coordinator(to)?;
        for (offset, told) in world.told.iter().enumerate() {
            let live = world.locked_until[offset] > world.now.mono;
            match told {
                Told::Staged(producer) => write!(to, "S{}{live}", self.producer(*producer))?,
                other => write!(to, "{other:?}{live}")?,
            }
        }
        if world.scale.crashes != UNLIMITED_CRASHES {
            write!(to, "{:?}", world.crashes)?;
        }
        write!(to, "|")?;
        let mut held: Vec<u128> = world.held.iter().map(|it| self.one(it)).collect();
        held.sort_unstable();
        write!(to, "{held:?}")
    }

    fn write_transactions(&self, to: &mut Hash) -> fmt::Result {
        let count = self.world.scale.producers;
        for place in 0..count {
            let own = self.producer(place as i64) as usize;
            let entry = self.world.transaction(own);
            match entry.state {
                // Whoever begins anew finds both alike.
                TxnState::CompleteCommit | TxnState::CompleteAbort => write!(to, "rests")?,
                state => write!(to, "{state:?}")?,
            }
            if self.world.scale.transactions != usize::MAX {
                write!(to, "{}", self.world.begun[own])?;
            }
            let log = &self.world.log;
            let id = entry.producer_id;
            if let Some(open) = log.open_transaction(id) {
                let (epoch, ordinal) = (self.epoch(id, open.epoch), self.ordinal(id, open.ordinal));
                write!(to, " {epoch} {ordinal}")?;
            }
            let known = log.producers().find(|info| info.producer_id == id);
            let known = known.map(|info| self.epoch(id, info.producer_epoch));
            write!(to, "{known:?};")?;
        }
        Ok(())
    }

    fn write_leader(&self, to: &mut Hash) -> fmt::Result {
        let leader = &self.world.leader;
        write!(
            to,
            "L{} {}",
            self.leader_epoch(leader.epoch()),
            self.number(leader.newest_taken("g"))
        )?;
        if let Some((number, waiting)) = leader.reading("g") {
            write!(to, "R{}", self.number(number))?;
            for envelope in waiting {
                write!(to, "{}", self.one(envelope))?;
            }
        }
        let mut writes: Vec<u128> = leader.unanswered_writes().map(|it| self.one(it)).collect();
        writes.sort_unstable();
        write!(to, "{writes:?}")?;
        let Some(partition) = leader.share_partition("g") else {
            return Ok(());
        };
        write!(
            to,
            "{} {}:",
            partition.start_offset(),
            partition.end_offset()
        )?;
        for range in partition.ranges() {
            let live = range
                .deadline
                .map(|deadline| deadline > self.world.now.mono);
            write!(
                to,
                " {}-{} {} {} {:?} {live:?}",
                range.first,
                range.last,
                range.state,
                range.delivery_count,
                range.member.map(|member| self.member(member)),
            )?;
            if let Some(owner) = range.owner {
                self.write_owner(to, owner)?;
            }
        }
        Ok(())
    }

    fn write_share_coordinator(&self, to: &mut Hash) -> fmt::Result {
        let (sgc, state) = (&self.world.sgc, self.world.state());
        write!(
            to,
            "|{} {} {:?} {} {}",
            state.start_offset,
            self.leader_epoch(state.leader_epoch),
            state.deliveries,
            self.number(sgc.newest_request()),
            sgc.is_unsettled(&crate::world::key()),
        )?;
        self.write_acks(to, &state.pending)?;
        for (number, _, body) in sgc.unanswered() {
            write!(to, "{}", self.number(number))?;
            self.write_body(to, &body)?;
        }
        Ok(())
    }

    fn one(&self, envelope: &Envelope) -> u128 {
        let mut hash = Hash([1, 2]);
        let number = match &envelope.body {
            Body::WriteTxnMarkers { .. } => 0,
            // It begins with the ordinal of the transaction.
            Body::WriteTxnMarkersReply(response) => {
                let ordinal = (envelope.correlation >> 20) as i64;
                let behind = self.ordinal(response.markers[0].producer_id, ordinal);
                (behind + FAR_BEHIND) as usize
            }
            _ => self.number(envelope.correlation),
        };
        let to = match envelope.to {
            Role::Tc(_) => 't',
            Role::Sgc(_) => 's',
            _ => 'l',
        };
        write!(hash, "{to}{number}").expect("a hash takes everything");
        self.write_body(&mut hash, &envelope.body)
            .expect("a hash takes everything");
        u128::from(hash.0[0]) << 64 | u128::from(hash.0[1])
    }

    fn write_body(&self, to: &mut Hash, body: &Body) -> fmt::Result {
        match body {
            Body::AddPartitionsToTxn(request) => self.write_verification(to, request),
            Body::AddPartitionsToTxnReply {
                response,
                ordinal,
                owner,
                bumps_at_end,
            } => {
                self.write_verdict(to, response, *ordinal)?;
                write!(to, "{bumps_at_end}")?;
                owner.map_or(Ok(()), |owner| self.write_owner(to, owner))
            }
            Body::ListShareAcks { .. } => write!(to, "list"),
            Body::ListShareAcksReply(held) => self.write_acks(to, held),
            Body::ReadShareGroupState(request) => {
                let epoch = request.topics[0].partitions[0].leader_epoch;
                write!(to, "read{}", self.leader_epoch(epoch))
            }
            Body::ReadShareGroupStateReply {
                response,
                pending,
                newest,
            } => {
                write_read(to, response)?;
                write!(to, "{}", self.number(*newest))?;
                self.write_acks(to, pending)
            }
            Body::ResolveShareAcks(resolve) => {
                write!(to, "end{}{}", resolve.commit, resolve.in_order)?;
                self.write_acks(to, &resolve.ended)?;
                self.write_acks(to, &resolve.returned)
            }
            Body::ResolveShareAcksReply => write!(to, "ended"),
            Body::StageShareAcks(request) => {
                self.write_owner(to, request.owner)?;
                let member = request.member.as_ref().map(|member| self.member(member));
                write!(to, "hold{member:?}{:?}", request.ranges)
            }
            Body::StageShareAcksReply(reply) => {
                write!(to, "held{}", self.leader_epoch(reply.leader_epoch))?;
                self.write_acks(to, &reply.held)?;
                match &reply.verdict {
                    StageVerdict::Staged(new) => self.write_acks(to, new),
                    StageVerdict::Repeated => write!(to, "again"),
                    StageVerdict::Refused { code, .. } => write!(to, "{code:?}"),
                }
            }
            Body::WriteShareGroupState(request) => self.write_write(to, request),
            Body::WriteTxnMarkers { request, ordinal } => {
                let marker = &request.markers[0];
                let id = marker.producer_id;
                let (producer, commit) = (self.producer(id), marker.transaction_result);
                let epoch = self.epoch(id, marker.producer_epoch);
                let ordinal = self.ordinal(id, *ordinal);
                write!(to, "marker{producer} {epoch} {commit} {ordinal}")
            }
            Body::WriteTxnMarkersReply(response) => {
                let result = &response.markers[0];
                let producer = self.producer(result.producer_id);
                let code = result.topics[0].partitions[0].error_code;
                write!(to, "marked{producer}{code:?}")
            }
            other => write!(to, "{other:?}"),
        }
    }

    fn write_verification(&self, to: &mut Hash, it: &AddPartitionsToTxnRequest) -> fmt::Result {
        let transaction = &it.transactions[0];
        let id = transaction.producer_id;
        let (producer, epoch) = (self.producer(id), transaction.producer_epoch);
        write!(to, "verify{producer} {}", self.epoch(id, epoch))
    }

    fn write_verdict(
        &self,
        to: &mut Hash,
        response: &AddPartitionsToTxnResponse,
        ordinal: i64,
    ) -> fmt::Result {
        let result = &response.results_by_transaction[0];
        let id: i64 = result.transactional_id[1..]
            .parse()
            .expect("t and a number");
        let code = result.topic_results[0].results_by_partition[0].partition_error_code;
        let ordinal = self.ordinal(id, ordinal);
        write!(to, "verified{}{code:?}{ordinal}", self.producer(id))
    }

    fn write_write(&self, to: &mut Hash, request: &WriteShareGroupStateRequest) -> fmt::Result {
        let partition = &request.topics[0].partitions[0];
        let epoch = self.leader_epoch(partition.leader_epoch);
        write!(to, "write{epoch} {} ", partition.start_offset)?;
        for batch in &partition.state_batches {
            write!(
                to,
                "{}-{} {} {};",
                batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count
            )?;
        }
        Ok(())
    }

    fn write_acks(&self, to: &mut Hash, acks: &[PendingAck]) -> fmt::Result {
        write!(to, "[")?;
        for ack in acks {
            write!(
                to,
                "{}-{} {} {}",
                ack.first_offset, ack.last_offset, ack.acknowledge_type, ack.delivery_count
            )?;
            self.write_owner(to, ack.owner)?;
        }
        write!(to, "]")
    }

    fn write_owner(&self, to: &mut Hash, owner: TxnOwner) -> fmt::Result {
        let producer = self.producer(owner.producer_id);
        let id = owner.producer_id;
        let epoch = self.epoch(id, owner.producer_epoch);
        write!(
            to,
            "<{producer} {epoch} {}>",
            self.ordinal(id, owner.ordinal)
        )
    }

    /// How far an epoch is behind that of its producer.
    fn epoch(&self, id: i64, epoch: i16) -> i64 {
        let current = self.world.transaction(id as usize).producer_epoch;
        (i64::from(current) - i64::from(epoch)).clamp(-FAR_BEHIND, FAR_BEHIND)
    }

    /// How far an ordinal is behind that of its producer; unknown stays unknown.
    fn ordinal(&self, id: i64, ordinal: i64) -> i64 {
        let current = self.world.transaction(id as usize).start_ms;
        match ordinal {
            0 => FAR_BEHIND + 1,
            known => (current - known).clamp(-FAR_BEHIND, FAR_BEHIND),
        }
    }

    /// Producer ids are 0 and up, as are the numbers of the producers.
    fn producer(&self, id: i64) -> i64 {
        if self.swapped[0] { 1 - id } else { id }
    }

    fn member(&self, member: &str) -> usize {
        let own = usize::from(member == "m1");
        if self.swapped[1] { 1 - own } else { own }
    }

    fn number(&self, number: u64) -> usize {
        self.numbers.partition_point(|one| *one < number)
    }

    fn leader_epoch(&self, epoch: i32) -> usize {
        self.leader_epochs.partition_point(|one| *one < epoch)
    }
}

fn write_read(to: &mut Hash, response: &ReadShareGroupStateResponse) -> fmt::Result {
    let partition = &response.results[0].partitions[0];
    write!(
        to,
        "state{:?} {}",
        partition.error_code, partition.start_offset
    )?;
    for batch in &partition.state_batches {
        write!(
            to,
            " {}-{} {} {}",
            batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count
        )?;
    }
    Ok(())
}
