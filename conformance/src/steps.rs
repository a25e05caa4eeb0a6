//! Carrying out one step.

use std::collections::BTreeSet;

use ackord_machine::LogId;
use ackord_proto::api::{Request, RequestHeader, Response, encode_request_frame};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_topics::{CreatableTopic, CreatableTopicConfig};
use ackord_proto::messages::delete_topics::DeleteTopicState;
use ackord_proto::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use ackord_proto::messages::{
    CreateTopicsRequest, DeleteTopicsRequest, IncrementalAlterConfigsRequest,
};
use ackord_proto::str::Str;

use crate::answers::Codes;
use crate::arm::{Arm, Received, Taken};
use crate::client::{Clients, Outstanding};
use crate::script::{AcquiredSpan, Expected, Pairs, Step, StorageStep, Verb};
use crate::transcript::decode_response;

/// The connection of the runner itself.
pub(crate) const ADMIN: &str = "admin";
/// The group configuration that names a topic.
pub(crate) const DEAD_LETTER_TOPIC: &str = "errors.deadletterqueue.topic.name";
/// The connection that reads what is visible.
pub(crate) const READER: &str = "reader";
/// Resource type of a group in IncrementalAlterConfigs.
const GROUP_RESOURCE: i8 = 32;
/// Heartbeats until a member has its partitions.
const JOIN_ROUNDS: usize = 300;

/// A script under way: the arm, the clients, and what the last answer was.
pub(crate) struct Session<'a> {
    pub(crate) arm: &'a mut dyn Arm,
    pub(crate) clients: Clients,
    configs: Pairs,
    limits: Pairs,
    started: bool,
    /// Coordinators that were found: type and key.
    pub(crate) found: BTreeSet<(i8, Str)>,
    /// The codes of the last answer to a client; `None` where no answer came.
    pub(crate) answered: Option<Codes>,
    /// The offset of the first record that the last Produce appended, where one did.
    pub(crate) base_offset: Option<i64>,
    /// What the last answer lacked of the records that the step wants, where it brought some of
    /// them and no others.
    pub(crate) lacking: Option<Vec<AcquiredSpan>>,
    pub(crate) notes: Vec<String>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(arm: &'a mut dyn Arm) -> Self {
        let clients = Clients::new(arm.suffix(), arm.wall_start_ms());
        Session {
            arm,
            clients,
            configs: Vec::new(),
            limits: Vec::new(),
            started: false,
            found: BTreeSet::new(),
            answered: None,
            base_offset: None,
            lacking: None,
            notes: Vec::new(),
        }
    }

    /// Carries out a step.
    ///
    /// # Errors
    /// What is not as it has to be.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        self.answered = None;
        self.base_offset = None;
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
            Step::Storage(StorageStep::Compact { partition, gone }) => {
                let topic = self.clients.topic_id(&partition.topic);
                let partition = partition.partition;
                self.arm.compact(LogId { topic, partition }, gone)
            }
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
            Verb::Opens { principal, host } => {
                self.clients.client(client).connection_lost();
                return self.arm.opens_as(client, principal, host.as_deref());
            }
            Verb::Copy(from) => {
                self.clients.copy(client, from);
                return Ok(());
            }
            Verb::Disconnect => {
                self.arm.disconnect(client)?;
                self.clients.client(client).connection_lost();
                self.let_it_be_noticed();
                return Ok(());
            }
            Verb::Join { .. } if *expected == Expected::Success => return self.join(client, verb),
            _ => {}
        }
        self.exchange(client, verb, expected)?;
        if matches!(verb, Verb::AclAdmin(_)) {
            self.let_it_be_noticed();
        }
        Ok(())
    }

    fn join(&mut self, client: &str, verb: &Verb) -> Result<(), String> {
        self.exchange(client, verb, &Expected::Success)?;
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
            self.exchange(client, &heartbeat, &Expected::Success)?;
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

    pub(crate) fn take_answer(&mut self, client: &str, expected: &Expected) -> Result<(), String> {
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
        self.base_offset = base_offset(&response);
        self.lacking = match (expected, &response) {
            (Expected::Acquired(spans), Response::ShareFetch(response)) => {
                let (missing, besides) = self.clients.missing(spans, &request, response);
                let wanted: i64 = spans.iter().map(|span| span.last - span.first + 1).sum();
                let part = i64::try_from(missing.len()).is_ok_and(|missing| missing < wanted);
                (besides.is_empty() && part).then_some(missing)
            }
            _ => None,
        };
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
        self.let_it_be_noticed();
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
            None => {
                self.let_it_be_noticed();
                Ok(())
            }
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
}

fn base_offset(response: &Response) -> Option<i64> {
    let Response::Produce(response) = response else {
        return None;
    };
    let mut parts = response
        .responses
        .iter()
        .flat_map(|topic| &topic.partition_responses);
    let part = parts.next().filter(|part| !part.error_code.is_error())?;
    Some(part.base_offset)
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
