//! What clients were told, entered into the account.

use ackord_proto::error_code::ErrorCode;

use super::{Account, ShareRecord, Told};
use crate::answers::Codes;
use crate::consumer_groups::ConsumerVerb;
use crate::offset_acks::OffsetAcks;
use crate::script::{AckSpans, GroupAdmin, TopicPartition, Verb};

impl Account {
    /// Enters what a client was told.
    pub(super) fn note(&mut self, client: &str, verb: &Verb, told: &Told) {
        let codes = told.codes.as_ref();
        let well = codes.is_some_and(Codes::is_success);
        match verb {
            Verb::Consumer(ConsumerVerb::Commit { group, offsets, .. }) => {
                let keys = offsets.iter().map(|(own, _)| (group.clone(), own.clone()));
                self.plain_offsets.extend(keys);
                return;
            }
            Verb::Consumer(verb) if verb.is_transactional() => {}
            // What follows is not in it.
            Verb::EndTxn { .. } if well => {
                self.current.remove(client);
                return;
            }
            Verb::Send { .. }
            | Verb::OffsetAcks(_)
            | Verb::Stage { .. }
            | Verb::AddShareAcks { .. }
            | Verb::AddPartitions { .. } => {}
            Verb::GroupAdmin(admin) => return self.note_admin(admin, codes),
            Verb::DeleteState { group, .. } | Verb::WriteState { group, .. }
                if codes.is_none_or(Codes::is_success) =>
            {
                self.excluded.insert(group.clone());
                return;
            }
            _ => return,
        }
        let Some(index) = self.current.get(client).copied() else {
            return;
        };
        let transaction = &mut self.transactions[index];
        transaction.doomed |= told.failed;
        match verb {
            Verb::Send {
                partition, values, ..
            } if well => {
                let offsets = told.base_offset.unwrap_or_default()..;
                let outputs = values
                    .iter()
                    .zip(offsets)
                    .map(|(value, offset)| (partition.clone(), value.clone(), offset));
                transaction.outputs.extend(outputs);
            }
            Verb::Consumer(ConsumerVerb::TxnOffsets { group, offsets, .. }) if well => {
                let own = offsets.iter();
                let own = own.map(|(own, offset)| ((group.clone(), own.clone()), *offset));
                transaction.offsets.extend(own);
            }
            Verb::OffsetAcks(OffsetAcks { group, acks, .. }) | Verb::Stage { group, acks, .. } => {
                if codes.is_some() {
                    let heard = records_of(group, acks, |_| true);
                    self.unheard.retain(|own| !heard.contains(own));
                }
                for (partition, spans) in acks {
                    if codes.is_some_and(|codes| took(codes, partition)) {
                        let offsets = spans.iter().flat_map(|span| span.first..=span.last);
                        let record = |offset| (group.clone(), partition.clone(), offset);
                        transaction.staged.extend(offsets.map(record));
                    }
                }
            }
            _ => {}
        }
    }

    /// Whoever changes a group from outside decides over its records, unless refused because the
    /// group is in use.
    fn note_admin(&mut self, admin: &GroupAdmin, codes: Option<&Codes>) {
        let refusal = ErrorCode::NON_EMPTY_GROUP;
        let refused = codes.is_some_and(|codes| {
            codes.top == Some(refusal) || codes.parts.iter().any(|(_, code)| *code == refusal)
        });
        if refused {
            return;
        }
        match admin {
            GroupAdmin::AlterOffsets { group, .. } | GroupAdmin::DeleteOffsets { group, .. } => {
                self.excluded.insert(group.clone());
            }
            GroupAdmin::DeleteGroups(groups) => self.excluded.extend(groups.iter().cloned()),
            GroupAdmin::DescribeClassic(_)
            | GroupAdmin::DescribeConsumer(_)
            | GroupAdmin::DescribeGroups(_)
            | GroupAdmin::DescribeOffsets { .. }
            | GroupAdmin::ListGroups { .. } => {}
        }
    }

    /// Acknowledgements that are sent now: who hears no answer does not know what became of them.
    pub(super) fn note_acknowledgements(&mut self, client: &str, verb: &Verb) {
        let own = self.groups.get(client).cloned().unwrap_or_default();
        let (group, acks, plain) = match verb {
            Verb::Ack(acks) | Verb::Fetch { acks, .. } => (&own, acks, true),
            Verb::OffsetAcks(OffsetAcks { group, acks, .. }) | Verb::Stage { group, acks, .. } => {
                (group, acks, false)
            }
            _ => return,
        };
        if let Verb::OffsetAcks(OffsetAcks { text: Some(_), .. }) = verb {
            // What it acknowledges, if anything, only the broker reads.
            self.excluded.insert(group.clone());
        }
        self.settled
            .extend(records_of(group, acks, |kind| matches!(kind, 0 | 1)));
        if plain {
            self.plain
                .extend(records_of(group, acks, |kind| !matches!(kind, 2 | 4)));
        }
    }

    /// A request waits for its answer, which may never come.
    pub(super) fn note_awaited(&mut self, verb: &Verb) {
        if let Verb::OffsetAcks(OffsetAcks { group, acks, .. }) | Verb::Stage { group, acks, .. } =
            verb
        {
            self.unheard.extend(records_of(group, acks, |_| true));
        }
    }

    pub(super) fn note_queue(&mut self, group: &str, topic: &str) {
        let good = self.queues.contains_key(topic) && topic.starts_with("dlq.");
        let queue = good.then(|| topic.to_string());
        let known = self.queued.entry(group.to_string());
        let known = known.or_insert_with(|| queue.clone());
        if *known != queue {
            *known = None;
        }
    }
}

/// Whether a stage took the ranges of a partition.
fn took(codes: &Codes, partition: &TopicPartition) -> bool {
    let label = partition.to_string();
    let mut own = codes
        .parts
        .iter()
        .filter(|(name, _)| *name == label)
        .peekable();
    !codes.top.is_some_and(ErrorCode::is_error)
        && own.peek().is_some()
        && own.all(|(_, code)| *code == ErrorCode::NONE)
}

/// Records of acknowledgements with such a type among their own.
fn records_of(group: &str, acks: &AckSpans, wanted: impl Fn(i8) -> bool) -> Vec<ShareRecord> {
    let mut records = Vec::new();
    for (partition, spans) in acks {
        let wanted = spans
            .iter()
            .filter(|span| span.types.iter().any(|kind| wanted(*kind)));
        for offset in wanted.flat_map(|span| span.first..=span.last) {
            records.push((group.to_string(), partition.clone(), offset));
        }
    }
    records
}
