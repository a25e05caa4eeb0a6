//! Access control: what each request needs ([`needs`]), and what becomes of one that lacks it.
//!
//! Without an authorizer nothing here is reached but one look at an `Option`. With one a request
//! passes three places: [`Broker::is_admitted`] before its handler, for what it needs as a whole;
//! [`Broker::check_each`] in the handler where that judges what the request names one by one, so
//! that the allowed goes on and the order of the answer stays; [`Broker::hide`] on its way out, for
//! what an answer may show.

mod hidden;
mod named;
mod needs;
mod refusal;
#[cfg(test)]
mod tests;

use ackord_proto::api::Request;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::ProduceRequest;
use ackord_proto::uuid::Uuid;
use alloc::string::ToString;

use super::Broker;
use super::api::Refusal;
use crate::authorizer::{CLUSTER_NAME, ResourceType};
use crate::contract::CloseReason;
use named::{Named, named};
use needs::{CREATE_CLUSTER, CREATE_TOPIC, Needs, Right, code_of};

pub(super) use needs::sentence;

/// A code of the authorizer with its sentence.
pub(super) fn told(code: ErrorCode) -> Refusal {
    (code, sentence(code).to_string())
}

impl Broker {
    /// Whether who sent the request may do what it needs as a whole; else it is answered.
    pub(super) fn is_admitted(&mut self, slot: u64, request: &Request) -> bool {
        let version = self.version(slot);
        let lacks = match needs::of(request.key()) {
            Some(needs) => self.lacks(slot, version, request, needs),
            None => Some(ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
        };
        let Some(code) = lacks else {
            return true;
        };
        match request {
            Request::Produce(ProduceRequest { acks: 0, .. }) => self.close_refused(slot, code),
            request => self.respond(slot, refusal::refused(request, version, code), None),
        }
        false
    }

    /// Nobody waits for an answer; a refusal can only be told by closing the connection.
    fn close_refused(&mut self, slot: u64, code: ErrorCode) {
        if let Some(conn) = self.connections.request(slot).map(|meta| meta.conn) {
            let what = alloc::format!("a Produce with acks=0 failed: {code}");
            let reason = CloseReason::BadRequest(what);
            self.connections.close(conn, reason, &mut self.effects);
        }
        self.end_silently(slot);
    }

    /// The code of the first thing that is missing.
    fn lacks(
        &self,
        slot: u64,
        version: i16,
        request: &Request,
        needs: &Needs,
    ) -> Option<ErrorCode> {
        needs.whole.iter().find_map(|choice| {
            let concerned = choice
                .iter()
                .filter_map(|right| Some((*right, named(request, version, *right)?)));
            let mut lacking = None;
            for (right, named) in concerned {
                if self.may_all(slot, right, &named) {
                    return None;
                }
                lacking.get_or_insert(code_of(right.resource));
            }
            lacking
        })
    }

    fn may_all(&self, slot: u64, right: Right, named: &Named<'_>) -> bool {
        match named {
            Named::All(names) => names.iter().all(|name| self.may(slot, right, name)),
            Named::AnyOne => self.may_any(slot, right),
            Named::One(name) => self.may(slot, right, name),
        }
    }

    /// Whether not everybody may do everything.
    pub(super) fn has_authorizer(&self) -> bool {
        self.authorizer.is_some()
    }

    /// Whether who sent a request has a right on a resource. A request that is gone has none.
    fn may(&self, slot: u64, right: Right, name: &str) -> bool {
        let Some(authorizer) = &self.authorizer else {
            return true;
        };
        self.connections.actor(slot).is_some_and(|actor| {
            let (acls, resource) = (self.metadata.acls(), (right.resource, name));
            authorizer.allows(acls, actor, right.operation, resource)
        })
    }

    /// Whether who sent a request has a right on any resource of its kind.
    fn may_any(&self, slot: u64, right: Right) -> bool {
        let Some(authorizer) = &self.authorizer else {
            return true;
        };
        self.connections.actor(slot).is_some_and(|actor| {
            authorizer.allows_any(self.metadata.acls(), actor, right.operation, right.resource)
        })
    }

    /// What the API of a request needs; `None` without an authorizer.
    fn needs(&self, slot: u64) -> Option<&'static Needs> {
        self.authorizer.as_ref()?;
        needs::of(self.connections.request(slot)?.api)
    }

    /// Whether a request may do what its API does with one thing that it names.
    ///
    /// # Errors
    /// The authorizer's code for this kind of resource.
    pub(super) fn check_each(
        &self,
        slot: u64,
        resource: ResourceType,
        name: &str,
    ) -> Result<(), ErrorCode> {
        let gone = self.has_authorizer() && self.connections.request(slot).is_none();
        let right = self.needs(slot).and_then(|needs| needs.each(resource));
        match right {
            Some(right) if !self.may(slot, right, name) => Err(code_of(resource)),
            None if gone => Err(code_of(resource)),
            _ => Ok(()),
        }
    }

    /// [`Broker::check_each`] of a topic.
    pub(super) fn check_topic(&self, slot: u64, name: &str) -> Result<(), ErrorCode> {
        self.check_each(slot, ResourceType::Topic, name)
    }

    /// [`Broker::check_each`] of a topic by its id. Of one that does not exist there is nothing to
    /// hide: ids are no secret.
    pub(super) fn check_topic_id(&self, slot: u64, id: Uuid) -> Result<(), ErrorCode> {
        if self.authorizer.is_none() {
            return Ok(());
        }
        match self.metadata.topic_by_id(id) {
            Some(topic) => self.check_topic(slot, &topic.name),
            None => Ok(()),
        }
    }

    /// [`Broker::check_each`] of a group.
    pub(super) fn check_group(&self, slot: u64, id: &str) -> Result<(), ErrorCode> {
        self.check_each(slot, ResourceType::Group, id)
    }

    /// [`Broker::check_topic`], where a right on the cluster will do, too.
    pub(super) fn check_topic_or_cluster(&self, slot: u64, name: &str) -> Result<(), ErrorCode> {
        match self.check_each(slot, ResourceType::Cluster, CLUSTER_NAME) {
            Ok(()) => Ok(()),
            Err(_) => self.check_topic(slot, name),
        }
    }

    /// Whether a request may have a topic created that it only asks for.
    pub(super) fn check_creation(&self, slot: u64, name: &str) -> Result<(), ErrorCode> {
        let may =
            self.may(slot, CREATE_CLUSTER, CLUSTER_NAME) || self.may(slot, CREATE_TOPIC, name);
        match may {
            true => Ok(()),
            false => Err(code_of(ResourceType::Topic)),
        }
    }

    /// Whether a request may see a resource that its answer would show.
    pub(super) fn is_shown(&self, slot: u64, resource: ResourceType, name: &str) -> bool {
        let right = self.needs(slot).and_then(|needs| needs.shown(resource));
        right.is_none_or(|right| self.may(slot, right, name))
    }
}
