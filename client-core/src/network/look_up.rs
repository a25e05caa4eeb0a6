//! Look-ups: descriptions of topics (Metadata) and coordinators (FindCoordinator).

use core::mem;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::metadata::MetadataRequestTopic;
use ackord_proto::messages::{
    FindCoordinatorRequest, FindCoordinatorResponse, MetadataRequest, MetadataResponse,
};
use ackord_proto::str::Str;

use super::cluster::Found;
use super::{CoordinatorKind, Failure, Network, Owner, Route, Sending, TopicCreation, backoff};

impl<T: Clone> Network<T> {
    /// Asks for the description of a topic; it appears in the cluster or as its error.
    pub(crate) fn want_topic(&mut self, topic: &Str) {
        let asked = self.metadata.under_way && self.asked.contains(topic);
        if !asked && !self.wanted.contains(topic) {
            self.wanted.insert(topic.clone());
        }
    }

    pub(super) fn described(&mut self, response: MetadataResponse) {
        let failed = response
            .topics
            .iter()
            .any(|topic| topic.error_code.is_error());
        self.cluster.learn(response);
        self.metadata.under_way = false;
        let attempts = if failed {
            self.metadata.pause.attempts + 1
        } else {
            0
        };
        self.metadata.pause.attempts = attempts;
        // Even a good answer may not be what somebody waits for (a partition too many).
        let pause = backoff::pause(backoff::FIRST_MS, attempts, &mut self.chance);
        self.metadata.pause.until = self.now.plus_millis(pause);
    }

    pub(super) fn found(
        &mut self,
        kind: CoordinatorKind,
        key: Str,
        response: FindCoordinatorResponse,
    ) {
        match self.cluster.learn_coordinator(kind, &key, response) {
            Found::Known => drop(self.coordinators.remove(&(kind, key))),
            Found::Retry(code) => self.look_up_again(kind, key, code),
            Found::Refused(code, message) => self.refuse(kind, &key, code, &message),
        }
    }

    fn look_up_again(&mut self, kind: CoordinatorKind, key: Str, code: ErrorCode) {
        for sending in &mut self.queue {
            if matches!(&sending.route, Route::Coordinator(k, of) if *k == kind && *of == key) {
                sending.last = code;
            }
        }
        let look_up = self.coordinators.entry((kind, key)).or_default();
        look_up.under_way = false;
        look_up.pause.attempts += 1;
        let pause = backoff::pause(backoff::FIRST_MS, look_up.pause.attempts, &mut self.chance);
        look_up.pause.until = self.now.plus_millis(pause);
    }

    /// Nobody will ever coordinate this key: all who wait for it fail.
    pub(super) fn refuse(
        &mut self,
        kind: CoordinatorKind,
        key: &Str,
        code: ErrorCode,
        message: &Str,
    ) {
        self.coordinators.remove(&(kind, key.clone()));
        for sending in mem::take(&mut self.queue) {
            match &sending.route {
                Route::Coordinator(k, of) if *k == kind && of == key => {
                    self.fail(sending, Failure::Refused(code, message.clone()));
                }
                _ => self.queue.push_back(sending),
            }
        }
    }

    pub(super) fn look_up_coordinator(&mut self, kind: CoordinatorKind, key: &Str) {
        let look_up = self.coordinators.entry((kind, key.clone())).or_default();
        if look_up.under_way || look_up.pause.until > self.now {
            return;
        }
        look_up.under_way = true;
        let owner = Owner::FindCoordinator(kind, key.clone());
        let body = FindCoordinatorRequest::default().into();
        let give_up_at = self.now.plus_millis(self.config.request_timeout_ms);
        let sending = Sending::owned(owner, Route::Any, body, give_up_at);
        // Version 0 knows only groups.
        self.queue.push_back(sending.versions(1..=6));
    }

    /// Says whether a request was queued.
    pub(super) fn look_up_topics(&mut self) -> bool {
        // A topic that nobody asked for yet need not wait for the pause of others.
        let rested = self.metadata.pause.until <= self.now
            || self
                .wanted
                .iter()
                .any(|topic| !self.cluster.has_heard_of(topic));
        if self.wanted.is_empty() || self.metadata.under_way || !rested {
            return false;
        }
        self.metadata.under_way = true;
        self.asked = mem::take(&mut self.wanted);
        let topics = self.asked.iter().cloned();
        let topics = topics
            .map(|name| MetadataRequestTopic {
                name: Some(name),
                ..Default::default()
            })
            .collect();
        let body = MetadataRequest {
            topics: Some(topics),
            allow_auto_topic_creation: self.config.topic_creation == TopicCreation::Allowed,
            ..Default::default()
        };
        let give_up_at = self.now.plus_millis(self.config.request_timeout_ms);
        let sending = Sending::owned(Owner::Metadata, Route::Any, body.into(), give_up_at);
        // Version 4 is the first that can leave topics uncreated.
        self.queue.push_back(sending.versions(4..=13));
        true
    }
}

pub(super) fn find_coordinator(
    version: i16,
    kind: CoordinatorKind,
    key: &Str,
) -> FindCoordinatorRequest {
    let key_type = kind.code();
    if version >= 4 {
        let coordinator_keys = [key.clone()].into();
        FindCoordinatorRequest {
            key_type,
            coordinator_keys,
            ..Default::default()
        }
    } else {
        FindCoordinatorRequest {
            key: key.clone(),
            key_type,
            ..Default::default()
        }
    }
}
