//! One member of a classic group.

use alloc::vec::Vec;

use ackord_proto::coordinator_records::classic_group::MemberMetadata;
use ackord_proto::messages::join_group::JoinGroupRequestProtocol;
use ackord_proto::str::Str;
use bytes::Bytes;

use crate::outbox::Ticket;

/// A protocol that a member can speak, in its order of preference, and what it says in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Protocol {
    pub(super) name: Str,
    pub(super) metadata: Bytes,
}

/// Copies what outlives the request out of its frame.
pub(super) fn protocols_of(asked: &[JoinGroupRequestProtocol]) -> Vec<Protocol> {
    asked
        .iter()
        .map(|protocol| Protocol {
            name: protocol.name.clone(),
            metadata: Bytes::copy_from_slice(&protocol.metadata),
        })
        .collect()
}

/// What a member waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    /// The other members: its JoinGroup.
    Join(Ticket),
    /// Nothing.
    Nothing,
    /// The leader: its SyncGroup.
    Sync(Ticket),
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) instance_id: Option<Str>,
    pub(super) client_id: Str,
    pub(super) client_host: Str,
    pub(super) rebalance_timeout_ms: i32,
    pub(super) session_timeout_ms: i32,
    pub(super) protocols: Vec<Protocol>,
    pub(super) assignment: Bytes,
    pub(super) awaits: Awaits,
    /// It has not had an answer to its first JoinGroup, so it does not know its id.
    pub(super) is_new: bool,
}

impl Member {
    pub(super) fn is_static(&self) -> bool {
        self.instance_id.is_some()
    }

    pub(super) fn awaits_join(&self) -> bool {
        matches!(self.awaits, Awaits::Join(_))
    }

    /// Whether it is there without having sent a heartbeat: it waits for the coordinator. A new
    /// member may be a client that is long gone.
    pub(super) fn is_excused(&self) -> bool {
        !self.is_new && self.awaits != Awaits::Nothing
    }

    pub(super) fn supports(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|own| own.name == protocol)
    }

    /// Whether a JoinGroup says the same as the one before.
    pub(super) fn matches(&self, asked: &[JoinGroupRequestProtocol]) -> bool {
        self.protocols.len() == asked.len()
            && self
                .protocols
                .iter()
                .zip(asked)
                .all(|(own, asked)| own.name == asked.name && own.metadata == asked.metadata)
    }

    /// What it says in a protocol.
    pub(super) fn metadata(&self, protocol: &str) -> Bytes {
        let found = self.protocols.iter().find(|own| own.name == protocol);
        found.map(|own| own.metadata.clone()).unwrap_or_default()
    }

    pub(super) fn stored(&self, id: &Str, protocol: &str) -> MemberMetadata {
        MemberMetadata {
            member_id: id.clone(),
            group_instance_id: self.instance_id.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            rebalance_timeout: self.rebalance_timeout_ms,
            session_timeout: self.session_timeout_ms,
            subscription: self.metadata(protocol),
            assignment: self.assignment.clone(),
            ..MemberMetadata::default()
        }
    }

    /// As a stored generation has it. Records before version 1 have no rebalance timeout.
    pub(super) fn restored(stored: &MemberMetadata, protocol: &Str) -> Member {
        let rebalance_timeout_ms = match stored.rebalance_timeout {
            -1 => stored.session_timeout,
            timeout => timeout,
        };
        Member {
            instance_id: stored.group_instance_id.clone(),
            client_id: stored.client_id.clone(),
            client_host: stored.client_host.clone(),
            rebalance_timeout_ms,
            session_timeout_ms: stored.session_timeout,
            protocols: alloc::vec![Protocol {
                name: protocol.clone(),
                metadata: stored.subscription.clone(),
            }],
            assignment: stored.assignment.clone(),
            awaits: Awaits::Nothing,
            is_new: false,
        }
    }
}
