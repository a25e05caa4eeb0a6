//! What has to be true between two steps: facts, and the state of share partitions behind them.

use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;

use crate::answers::listed;
use crate::arm::{ShareView, StateRange};
use crate::consumer_groups::ConsumerVerb;
use crate::core_view::state_name;
use crate::log_reader;
use crate::script::{Fact, StateItem, TopicPartition};
use crate::steps::{ADMIN, READER, Session};

impl Session<'_> {
    pub(crate) fn check_once(&mut self, fact: &Fact) -> Result<(), String> {
        match fact {
            Fact::Metric {
                name,
                labels,
                value,
            } => match self.arm.metric(name, labels) {
                Some(found) if found == *value => Ok(()),
                Some(found) => Err(format!("it is {found}")),
                None => {
                    self.notes.push(format!("not visible here: {name}"));
                    Ok(())
                }
            },
            Fact::NothingOpen => match self.arm.open_items() {
                Some(open) if open.is_empty() => Ok(()),
                Some(open) => Err(open.join("; ")),
                None => {
                    self.notes
                        .push("not visible here: what is open".to_string());
                    Ok(())
                }
            },
            Fact::Start {
                group,
                partition,
                offset,
            } => {
                let view = self.share_view(group, partition)?;
                let start = view.first_open();
                if start == *offset {
                    return Ok(());
                }
                Err(format!("the share partition starts at {start}"))
            }
            Fact::States {
                group,
                partition,
                items,
            } => {
                let view = self.share_view(group, partition)?;
                items
                    .iter()
                    .try_for_each(|item| self.check_states(&view, item))
            }
            Fact::Transaction { id, state } => {
                match self.arm.transaction_state(&self.clients.wire(id)) {
                    Some(own) if own == *state => Ok(()),
                    Some(own) => Err(format!("{id} is {own}")),
                    None => {
                        self.notes
                            .push(format!("not visible here: the state of {id}"));
                        Ok(())
                    }
                }
            }
            Fact::Visible { partition, values } => {
                let got = self.visible(partition)?;
                if got == *values {
                    return Ok(());
                }
                Err(format!("{partition} has {}", listed(&got)))
            }
        }
    }

    /// What a read_committed consumer gets from the start of a partition.
    pub(crate) fn visible(&mut self, partition: &TopicPartition) -> Result<Vec<String>, String> {
        let name = self.clients.wire(&partition.topic);
        let (mut from, mut values) = (0, Vec::new());
        loop {
            let request = self.clients.fetch(std::slice::from_ref(partition), from, 0);
            let Response::Fetch(response) = self.ask(READER, request.into(), 12)? else {
                return Err("no answer of Fetch".to_string());
            };
            let Some(part) = log_reader::part(&response, &name, partition.partition) else {
                return Err(format!("Fetch does not speak of {partition}"));
            };
            if part.error_code != ErrorCode::NONE {
                return Err(format!("Fetch of {partition}: {}", part.error_code));
            }
            let committed = log_reader::committed(part)?;
            // Dead letters name topics and groups as they are on the wire.
            let suffix = &self.clients.suffix;
            values.extend(committed.values.into_iter().map(|value| {
                if suffix.is_empty() {
                    value
                } else {
                    value.replace(suffix.as_str(), "")
                }
            }));
            match committed.next_offset {
                Some(next) if next > from => from = next,
                _ => return Ok(values),
            }
        }
    }

    /// The committed offset of a consumer group; -1 for none.
    pub(crate) fn committed_offset(
        &mut self,
        group: &str,
        partition: &TopicPartition,
    ) -> Result<i64, String> {
        let verb = ConsumerVerb::FetchOffsets {
            group: group.to_string(),
            partitions: vec![partition.clone()],
            stable: true,
        };
        let (request, version) = self.clients.consumer_request(READER, &verb);
        let Response::OffsetFetch(response) = self.ask(READER, request, version)? else {
            return Err("no answer of OffsetFetch".to_string());
        };
        let mut topics = response.groups.iter().flat_map(|group| &group.topics);
        let part = topics.next().and_then(|topic| topic.partitions.first());
        let part = part.ok_or("OffsetFetch says nothing")?;
        match part.error_code {
            ErrorCode::NONE => Ok(part.committed_offset),
            code => Err(format!("OffsetFetch of {partition}: {code}")),
        }
    }

    pub(crate) fn share_view(
        &mut self,
        group: &str,
        partition: &TopicPartition,
    ) -> Result<ShareView, String> {
        let topic = self.clients.topic_id(&partition.topic);
        let wire = self.clients.wire(group);
        if let Some(view) = self.arm.share_view(&wire, topic, partition.partition) {
            return Ok(view);
        }
        let request = self.clients.read_state(group, topic, partition.partition);
        let Response::ReadShareGroupState(response) = self.ask(ADMIN, request.into(), 0)? else {
            return Err("no answer of ReadShareGroupState".to_string());
        };
        let mut parts = response.results.iter().flat_map(|topic| &topic.partitions);
        let part = parts.next().ok_or("ReadShareGroupState says nothing")?;
        if part.error_code.is_error() {
            return Err(format!("ReadShareGroupState: {}", part.error_code));
        }
        let range =
            |batch: &ackord_proto::messages::read_share_group_state::StateBatch| StateRange {
                first: batch.first_offset,
                last: batch.last_offset,
                state: state_name(batch.delivery_state).to_string(),
                delivery_count: batch.delivery_count,
            };
        let ranges = part.state_batches.iter().map(range).collect();
        Ok(ShareView {
            start: part.start_offset.max(0),
            ranges,
            shows_held: false,
        })
    }

    fn check_states(&mut self, view: &ShareView, item: &StateItem) -> Result<(), String> {
        let held = matches!(item.state.as_str(), "ACQUIRED" | "TX_PENDING");
        if !view.shows_held
            && let Some(count) = item.count
        {
            let StateItem { first, last, .. } = item;
            self.notes.push(format!(
                "not visible here: that {first}-{last} have count={count}"
            ));
        }
        if !view.shows_held && held && view.state_of(item.first).0 == "AVAILABLE" {
            let StateItem {
                first, last, state, ..
            } = item;
            self.notes
                .push(format!("not visible here: that {first}-{last} are {state}"));
            return Ok(());
        }
        for offset in item.first..=item.last {
            let (state, count) = view.state_of(offset);
            let same = match item.state.as_str() {
                "DONE" => view.is_done(offset),
                // Below the start offset only the end of a record is known, not which.
                "ACKNOWLEDGED" | "ARCHIVED" => state == "DONE" || state == item.state,
                other => state == other,
            };
            // The count of an available record is stored only once it came back.
            let counted = item.count.is_none_or(|own| count == Some(own));
            if !same || (view.shows_held && !counted) {
                let count = count.map_or(String::new(), |count| format!(" count={count}"));
                return Err(format!("offset {offset} is {state}{count}"));
            }
        }
        Ok(())
    }
}
