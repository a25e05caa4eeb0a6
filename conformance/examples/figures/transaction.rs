//! One producer's transactions: records, and offsets or acknowledgements with them.

use std::fmt;

use ackord_proto::messages::add_share_acks_to_txn::AddShareAcksToTxnTopic;
use ackord_proto::messages::txn_offset_commit::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ackord_proto::messages::txn_share_acknowledge::{
    AcknowledgementBatch, TxnShareAcknowledgePartition, TxnShareAcknowledgeTopic,
};
use ackord_proto::messages::{
    AddShareAcksToTxnRequest, EndTxnRequest, InitProducerIdRequest, TxnOffsetCommitRequest,
    TxnShareAcknowledgeRequest,
};
use ackord_proto::records::BatchBuilder;
use ackord_proto::str::Str;

use crate::peer::{Fallible, Peer, take};
use crate::speech::{self, Member, Topic};

const TIMEOUT_MS: i32 = 60_000;
const ACCEPT: i8 = 1;
const REJECT: i8 = 3;

/// What a transaction has besides its record.
#[derive(Clone, Copy)]
pub(crate) enum Load {
    Nothing,
    /// The offset of a consumer group.
    Offset,
    /// So many acknowledgements, one range for each record.
    Acks(i32, Kinds),
    /// The same in the text of a TxnOffsetCommit.
    Text(i32, Kinds),
}

impl Load {
    /// How many records a member must hold.
    pub(crate) fn acks(self) -> i32 {
        match self {
            Load::Nothing | Load::Offset => 0,
            Load::Acks(count, _) | Load::Text(count, _) => count,
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Nothing => f.write_str("nothing"),
            Load::Offset => f.write_str("an offset"),
            Load::Acks(count, kinds) => write!(f, "{count} {kinds}"),
            Load::Text(count, kinds) => write!(f, "{count} {kinds}, by TxnOffsetCommit"),
        }
    }
}

/// What the acknowledgements say.
#[derive(Clone, Copy)]
pub(crate) enum Kinds {
    /// All records are accepted.
    Accepts,
    /// Every second one is rejected: no two neighbours can be taken together.
    Mixed,
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kinds::Accepts => "accepted",
            Kinds::Mixed => "accepted and rejected in turn",
        })
    }
}

impl Kinds {
    fn of(self, offset: i64) -> i8 {
        match self {
            Kinds::Mixed if offset % 2 == 1 => REJECT,
            Kinds::Accepts | Kinds::Mixed => ACCEPT,
        }
    }
}

/// A transactional producer.
pub(crate) struct Producer {
    conn: usize,
    transactional_id: Str,
    id: i64,
    epoch: i16,
    sequence: i32,
}

impl Producer {
    pub(crate) fn new(peer: &mut impl Peer, name: &str) -> Fallible<Self> {
        let conn = peer.connect()?;
        let transactional_id = Str::from(name);
        let request = InitProducerIdRequest {
            transactional_id: Some(transactional_id.clone()),
            transaction_timeout_ms: TIMEOUT_MS,
            ..Default::default()
        };
        let response = take!(peer.ask(conn, 5, request), InitProducerId);
        match response.error_code.is_error() {
            true => Err(format!("{response:?}").into()),
            false => Ok(Producer {
                conn,
                transactional_id,
                id: response.producer_id,
                epoch: response.producer_epoch,
                sequence: 0,
            }),
        }
    }

    /// Sends one record and what comes with it, all that the member holds, and waits for none of the
    /// answers before all have been sent.
    pub(crate) fn fill(
        &mut self,
        peer: &mut impl Peer,
        output: &Topic,
        load: Load,
        acknowledged: (&mut Member, &Topic),
    ) -> Fallible<()> {
        let more = self.send(peer, output, load, acknowledged)?;
        self.filled(peer, more)
    }

    /// Sends the same and waits for nothing; how many answers come besides that of the record.
    pub(crate) fn send(
        &mut self,
        peer: &mut impl Peer,
        output: &Topic,
        load: Load,
        (member, input): (&mut Member, &Topic),
    ) -> Fallible<usize> {
        let mut builder = BatchBuilder::new(0)
            .producer(self.id, self.epoch, self.sequence)
            .transactional();
        builder.push(1_700_000_000_000, None, Some(b"output"));
        self.sequence += 1;
        let mut request = speech::produce_request(output, [(0, builder.build())].into_iter());
        request.transactional_id = Some(self.transactional_id.clone());
        peer.send(self.conn, 12, request.into())?;
        Ok(match load {
            Load::Nothing => 0,
            Load::Offset => {
                let request = self.offsets("consumers", output, "");
                peer.send(self.conn, 5, request.into())?;
                1
            }
            Load::Acks(_, kinds) => {
                peer.send(self.conn, 0, self.register(member, input).into())?;
                peer.send(self.conn, 1, self.stage(member, input, kinds).into())?;
                2
            }
            Load::Text(_, kinds) => {
                let text = text(member, kinds);
                let request = self.offsets(&member.group, input, &text);
                peer.send(self.conn, 5, request.into())?;
                1
            }
        })
    }

    /// Takes the answers of what was sent.
    pub(crate) fn filled(&mut self, peer: &mut impl Peer, more: usize) -> Fallible<()> {
        speech::check_produced(&take!(peer.answer(self.conn), Produce))?;
        for _ in 0..more {
            use ackord_proto::api::Response;
            let response = peer.answer(self.conn)?;
            let refused = match &response {
                Response::TxnOffsetCommit(done) => done
                    .topics
                    .iter()
                    .flat_map(|topic| &topic.partitions)
                    .any(|partition| partition.error_code.is_error()),
                Response::AddShareAcksToTxn(done) => {
                    done.error_code.is_error()
                        || done
                            .topics
                            .iter()
                            .flat_map(|topic| &topic.partitions)
                            .any(|partition| partition.error_code.is_error())
                }
                Response::TxnShareAcknowledge(done) => {
                    done.error_code.is_error()
                        || done
                            .responses
                            .iter()
                            .flat_map(|topic| &topic.partitions)
                            .any(|partition| partition.error_code.is_error())
                }
                _ => true,
            };
            if refused {
                return Err(format!("refused: {response:?}").into());
            }
        }
        Ok(())
    }

    fn offsets(&self, group: &str, topic: &Topic, text: &str) -> TxnOffsetCommitRequest {
        let partition = TxnOffsetCommitRequestPartition {
            partition_index: 0,
            committed_offset: 1,
            committed_metadata: Some(Str::from(text)),
            ..Default::default()
        };
        let topic = TxnOffsetCommitRequestTopic {
            name: topic.name.clone(),
            partitions: vec![partition],
            ..Default::default()
        };
        TxnOffsetCommitRequest {
            transactional_id: self.transactional_id.clone(),
            group_id: Str::from(group),
            producer_id: self.id,
            producer_epoch: self.epoch,
            topics: vec![topic],
            ..Default::default()
        }
    }

    fn register(&self, member: &Member, input: &Topic) -> AddShareAcksToTxnRequest {
        let mut partitions: Vec<i32> = member.held.iter().map(|held| held.partition).collect();
        partitions.dedup();
        let topic = AddShareAcksToTxnTopic {
            name: input.name.clone(),
            partitions,
            ..Default::default()
        };
        AddShareAcksToTxnRequest {
            transactional_id: self.transactional_id.clone(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            group_id: member.group.clone(),
            topics: vec![topic],
            ..Default::default()
        }
    }

    /// One range for each record, as from a client that merges nothing.
    fn stage(
        &self,
        member: &mut Member,
        input: &Topic,
        kinds: Kinds,
    ) -> TxnShareAcknowledgeRequest {
        let mut partitions: Vec<TxnShareAcknowledgePartition> = Vec::new();
        for held in std::mem::take(&mut member.held) {
            let ranges = (held.first..=held.last).map(|offset| AcknowledgementBatch {
                first_offset: offset,
                last_offset: offset,
                delivery_count: held.delivery,
                acknowledge_types: kinds.of(offset).into(),
                ..Default::default()
            });
            match partitions.last_mut() {
                Some(last) if last.partition == held.partition => {
                    last.acknowledgement_batches.extend(ranges);
                }
                _ => partitions.push(TxnShareAcknowledgePartition {
                    partition: held.partition,
                    acknowledgement_batches: ranges.collect(),
                    ..Default::default()
                }),
            }
        }
        let topic = TxnShareAcknowledgeTopic {
            topic_id: input.id,
            partitions,
            ..Default::default()
        };
        TxnShareAcknowledgeRequest {
            group_id: member.group.clone(),
            transactional_id: self.transactional_id.clone(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            member_id: member.id.clone(),
            member_epoch: member.epoch,
            topics: vec![topic],
            ..Default::default()
        }
    }

    pub(crate) fn commit(&mut self, peer: &mut impl Peer) -> Fallible<()> {
        self.send_commit(peer)?;
        self.committed(peer)
    }

    /// Commits and waits for nothing.
    pub(crate) fn send_commit(&mut self, peer: &mut impl Peer) -> Fallible<()> {
        let request = EndTxnRequest {
            transactional_id: self.transactional_id.clone(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            committed: true,
            ..Default::default()
        };
        peer.send(self.conn, 5, request.into())
    }

    /// Takes the answer of the commit.
    pub(crate) fn committed(&mut self, peer: &mut impl Peer) -> Fallible<()> {
        let response = take!(peer.answer(self.conn), EndTxn);
        if response.error_code.is_error() {
            return Err(format!("{response:?}").into());
        }
        if (response.producer_id, response.producer_epoch) != (self.id, self.epoch) {
            self.sequence = 0;
        }
        (self.id, self.epoch) = (response.producer_id, response.producer_epoch);
        Ok(())
    }
}

/// What the member holds of one partition, as a client writes it: neighbours of a kind together.
fn text(member: &mut Member, kinds: Kinds) -> String {
    let mut accepts = String::new();
    let mut rejects = String::new();
    for held in std::mem::take(&mut member.held) {
        let count = held.delivery;
        match kinds {
            Kinds::Accepts => accepts += &format!(",{}-{}@{count}", held.first, held.last),
            Kinds::Mixed => {
                for offset in held.first..=held.last {
                    let ranges = match kinds.of(offset) {
                        REJECT => &mut rejects,
                        _ => &mut accepts,
                    };
                    *ranges += &format!(",{offset}@{count}");
                }
            }
        }
    }
    let kind = |name: &str, ranges: &str| {
        let ranges = ranges.strip_prefix(',');
        ranges.map(|ranges| format!("{name}={ranges}"))
    };
    let kinds: Vec<String> = [kind("accept", &accepts), kind("reject", &rejects)]
        .into_iter()
        .flatten()
        .collect();
    format!("acks:{}", kinds.join(";"))
}
