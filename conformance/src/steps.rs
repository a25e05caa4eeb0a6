//! Carrying out one step.

use ackord_proto::api::{Request, RequestHeader, Response, encode_request_frame};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_topics::{CreatableTopic, CreatableTopicConfig};
use ackord_proto::messages::delete_topics::DeleteTopicState;
use ackord_proto::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use ackord_proto::messages::{
    CreateTopicsRequest, DeleteTopicsRequest, IncrementalAlterConfigsRequest,
};

use crate::answers::{Codes, listed};
use crate::arm::{Arm, Received, ShareView, StateRange, Taken};
use crate::client::{Clients, Outstanding};
use crate::consumer_groups::ConsumerVerb;
use crate::core_view::state_name;
use crate::log_reader;
use crate::script::{Expected, Fact, Pairs, StateItem, Step, TopicPartition, Verb};
use crate::transcript::decode_response;

/// The connection of the runner itself.
const ADMIN: &str = "admin";
/// The group configuration that names a topic.
pub(crate) const DEAD_LETTER_TOPIC: &str = "errors.deadletterqueue.topic.name";
/// The connection that reads what is visible.
pub(crate) const READER: &str = "reader";
/// Resource type of a group in IncrementalAlterConfigs.
const GROUP_RESOURCE: i8 = 32;
/// Heartbeats until a member has its partitions.
const JOIN_ROUNDS: usize = 100;

/// A script under way: the arm, the clients, and what the last answer was.
pub(crate) struct Session<'a> {
    pub(crate) arm: &'a mut dyn Arm,
    pub(crate) clients: Clients,
    configs: Pairs,
    limits: Pairs,
    started: bool,
    /// The codes of the last answer to a client; `None` where no answer came.
    pub(crate) answered: Option<Codes>,
    pub(crate) notes: Vec<String>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(arm: &'a mut dyn Arm) -> Self {
        let clients = Clients::new(arm.suffix());
        Session {
            arm,
            clients,
            configs: Vec::new(),
            limits: Vec::new(),
            started: false,
            answered: None,
            notes: Vec::new(),
        }
    }

    /// Carries out a step.
    ///
    /// # Errors
    /// What is not as it has to be.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        self.answered = None;
        match step {
            Step::Broker(configs) => {
                self.configs.extend(configs.iter().cloned());
                return if self.started {
                    Err("the broker runs".to_string())
                } else {
                    Ok(())
                };
            }
            Step::Limits(limits) => {
                self.limits.extend(limits.iter().cloned());
                return if self.started {
                    Err("the broker runs".to_string())
                } else {
                    Ok(())
                };
            }
            _ => {}
        }
        if !self.started {
            self.started = true;
            self.arm.start(&self.configs, &self.limits)?;
        }
        match (self.arm.take(step)?, step) {
            (Taken::No, _) => self.by_requests(step),
            (Taken::Topic(id), Step::Topic { name, .. }) => {
                self.clients.learn_topic(name, id);
                Ok(())
            }
            (Taken::Topic(_) | Taken::Yes, _) => Ok(()),
        }
    }

    fn by_requests(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Advance { millis } => self.arm.advance(*millis),
            Step::Broker(_) | Step::Limits(_) => Ok(()),
            Step::Client {
                client,
                verb,
                expected,
            } => self.client_step(client, verb, expected),
            Step::Crash(keep) => {
                self.arm.crash(*keep)?;
                self.connections_lost();
                Ok(())
            }
            Step::DeleteTopic { name, code } => self.delete_topic(name, *code),
            Step::Expect(fact) => self.check(fact),
            Step::Group { name, configs } => self.configure_group(name, configs),
            Step::Restart { wall_shift_ms } => self.arm.restart(*wall_shift_ms),
            Step::Storage(step) => self.arm.storage(step),
            Step::Topic {
                name,
                partitions,
                configs,
            } => self.create_topic(name, *partitions, configs),
        }
    }

    /// Every client finds its connection gone.
    pub(crate) fn connections_lost(&mut self) {
        for client in self.clients.by_name.values_mut() {
            client.connection_lost();
        }
    }

    fn client_step(
        &mut self,
        client: &str,
        verb: &Verb,
        expected: &Expected,
    ) -> Result<(), String> {
        match verb {
            Verb::Answer => return self.take_answer(client, expected),
            Verb::Begin => return Ok(()),
            Verb::SessionEpoch(epoch) => {
                self.clients.client(client).member.session_epoch = *epoch;
                return Ok(());
            }
            Verb::Copy(from) => {
                let producer = self.clients.client(from).producer.clone();
                self.clients.client(client).producer = producer;
                return Ok(());
            }
            Verb::Disconnect => {
                self.arm.disconnect(client)?;
                self.clients.client(client).connection_lost();
                return Ok(());
            }
            Verb::Join { .. } if *expected == Expected::Success => return self.join(client, verb),
            _ => {}
        }
        let (mut request, version) = self.clients.request(client, verb)?;
        if let (Request::ShareFetch(request), Expected::Acquired(_)) = (&mut request, expected) {
            request.max_wait_ms = request.max_wait_ms.max(self.arm.patience_ms());
        }
        self.send(client, request, version)?;
        self.take_answer(client, expected)
    }

    fn join(&mut self, client: &str, verb: &Verb) -> Result<(), String> {
        let (request, version) = self.clients.request(client, verb)?;
        self.send(client, request, version)?;
        self.take_answer(client, &Expected::Success)?;
        let heartbeat = Verb::Heartbeat {
            epoch: None,
            topics: Vec::new(),
        };
        for _ in 0..JOIN_ROUNDS {
            let member = &self.clients.client(client).member;
            if member.assigned || member.topics.is_empty() {
                return Ok(());
            }
            self.arm.pause();
            let (request, version) = self.clients.request(client, &heartbeat)?;
            self.send(client, request, version)?;
            self.take_answer(client, &Expected::Success)?;
        }
        Err("the member gets no partitions".to_string())
    }

    pub(crate) fn send(
        &mut self,
        client: &str,
        request: Request,
        version: i16,
    ) -> Result<(), String> {
        let own = self.clients.client(client);
        own.correlation += 1;
        let header = RequestHeader {
            api_key: request.key(),
            api_version: version,
            correlation_id: own.correlation,
            client_id: Some(client.into()),
            unknown_tags: Default::default(),
        };
        let frame = encode_request_frame(&header, &request).or_else(|error| {
            // A version that does not exist is sent with the body of the last one.
            let last = *request.key().versions().end();
            if version <= last {
                return Err(error.to_string());
            }
            Ok(frame_of_unknown_version(&header, &request, last))
        })?;
        own.last_request = Some((request.clone(), version));
        let correlation = own.correlation;
        own.outstanding.push_back(Outstanding {
            request,
            version,
            correlation,
        });
        self.arm.send(client, &frame)
    }

    fn take_answer(&mut self, client: &str, expected: &Expected) -> Result<(), String> {
        if *expected == Expected::Waiting {
            if !self.arm.sees_waiting() {
                self.notes
                    .push("not visible here: that no answer comes yet".to_string());
            }
            return match self.arm.poll(client) {
                Received::Waiting => Ok(()),
                Received::Closed => Err("the connection is closed".to_string()),
                Received::Frame(_) => Err("the answer is there already".to_string()),
            };
        }
        let frame = match (self.arm.receive(client)?, expected) {
            (Received::Frame(frame), _) => frame,
            (Received::Closed, expected) => {
                self.clients.client(client).connection_lost();
                return match expected {
                    Expected::Closed | Expected::Anything => Ok(()),
                    _ => Err("the connection is closed".to_string()),
                };
            }
            (Received::Waiting, _) => return Err("no answer came".to_string()),
        };
        let outstanding = self.clients.client(client).outstanding.pop_front();
        let Outstanding {
            request,
            version,
            correlation,
        } = outstanding.ok_or("an answer came to no request")?;
        if frame.first_chunk().map(|bytes| i32::from_be_bytes(*bytes)) != Some(correlation) {
            return Err("the answer belongs to another request".to_string());
        }
        // A version that does not exist is answered in the last one that does.
        let version = version.min(*request.key().versions().end());
        let response = decode_response(request.key(), version, &frame)?;
        self.answered = Some(self.clients.codes(&response));
        self.clients.absorb(client, &request, &response);
        self.clients.compare(expected, &request, &response)
    }

    /// Takes answers that nobody asked for any more.
    pub(crate) fn drain(&mut self, client: &str) {
        while !self.clients.client(client).outstanding.is_empty() {
            match self.arm.poll(client) {
                Received::Frame(_) => drop(self.clients.client(client).outstanding.pop_front()),
                Received::Closed => return self.clients.client(client).connection_lost(),
                Received::Waiting => return,
            }
        }
    }

    /// Sends a request of the runner itself and takes its answer.
    pub(crate) fn ask(
        &mut self,
        client: &str,
        request: Request,
        version: i16,
    ) -> Result<Response, String> {
        let key = request.key();
        self.send(client, request, version)?;
        let received = self.arm.receive(client)?;
        self.clients.client(client).outstanding.pop_front();
        match received {
            Received::Frame(frame) => decode_response(key, version, &frame),
            Received::Closed | Received::Waiting => {
                self.clients.client(client).connection_lost();
                Err(format!("{} got no answer", key.name()))
            }
        }
    }

    fn create_topic(&mut self, name: &str, partitions: i32, configs: &Pairs) -> Result<(), String> {
        let config = |(name, value): &(String, String)| CreatableTopicConfig {
            name: name.into(),
            value: Some(value.into()),
            ..Default::default()
        };
        let topic = CreatableTopic {
            name: self.clients.wire(name).into(),
            num_partitions: partitions,
            replication_factor: -1,
            configs: configs.iter().map(config).collect(),
            ..Default::default()
        };
        let request = CreateTopicsRequest {
            topics: vec![topic],
            ..Default::default()
        };
        let Response::CreateTopics(response) = self.ask(ADMIN, request.into(), 7)? else {
            return Err("no answer of CreateTopics".to_string());
        };
        let topic = response.topics.first().ok_or("CreateTopics says nothing")?;
        if topic.error_code.is_error() {
            return Err(format!("the topic is not created: {}", topic.error_code));
        }
        self.clients.learn_topic(name, topic.topic_id);
        Ok(())
    }

    fn delete_topic(&mut self, name: &str, code: ErrorCode) -> Result<(), String> {
        let state = DeleteTopicState {
            name: Some(self.clients.wire(name).into()),
            ..Default::default()
        };
        let request = DeleteTopicsRequest {
            topics: vec![state],
            timeout_ms: 30_000,
            ..Default::default()
        };
        let Response::DeleteTopics(response) = self.ask(ADMIN, request.into(), 6)? else {
            return Err("no answer of DeleteTopics".to_string());
        };
        match response
            .responses
            .iter()
            .find(|topic| topic.error_code != code)
        {
            Some(topic) => Err(format!("the deletion ends in {}", topic.error_code)),
            None => Ok(()),
        }
    }

    fn configure_group(&mut self, name: &str, configs: &Pairs) -> Result<(), String> {
        let config = |(name, value): &(String, String)| {
            let value = if name == DEAD_LETTER_TOPIC {
                self.clients.wire(value)
            } else {
                value.clone()
            };
            AlterableConfig {
                name: name.into(),
                config_operation: 0,
                value: Some(value.into()),
                ..Default::default()
            }
        };
        let resource = AlterConfigsResource {
            resource_type: GROUP_RESOURCE,
            resource_name: self.clients.wire(name).into(),
            configs: configs.iter().map(config).collect(),
            ..Default::default()
        };
        let request = IncrementalAlterConfigsRequest {
            resources: vec![resource],
            ..Default::default()
        };
        let Response::IncrementalAlterConfigs(response) = self.ask(ADMIN, request.into(), 1)?
        else {
            return Err("no answer of IncrementalAlterConfigs".to_string());
        };
        match response
            .responses
            .iter()
            .find(|own| own.error_code.is_error())
        {
            Some(own) => Err(format!("the group is not configured: {}", own.error_code)),
            None => Ok(()),
        }
    }

    fn check(&mut self, fact: &Fact) -> Result<(), String> {
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
                if view.start == *offset {
                    return Ok(());
                }
                Err(format!("the share partition starts at {}", view.start))
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

/// The header as it is, and a body that the broker must not even look at.
fn frame_of_unknown_version(
    header: &RequestHeader,
    request: &Request,
    last: i16,
) -> Vec<bytes::Bytes> {
    let known = RequestHeader {
        api_version: last,
        ..header.clone()
    };
    let chunks = encode_request_frame(&known, request).unwrap_or_default();
    let mut whole: Vec<u8> = chunks
        .iter()
        .flat_map(|chunk| chunk.iter().copied())
        .collect();
    // Size and key come first.
    if let Some(version) = whole.get_mut(6..8) {
        version.copy_from_slice(&header.api_version.to_be_bytes());
    }
    vec![whole.into()]
}
