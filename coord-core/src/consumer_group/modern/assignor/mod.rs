//! Who is to have which partitions: the assignors that the coordinator has.

mod range;
mod uniform;

use alloc::collections::{BTreeMap, BTreeSet};

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::Assigned;

/// An assignor by its name in `group.consumer.assignors` (KIP-848).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assignor {
    /// Each member gets neighbouring partitions of each topic, so that partitions of the same number
    /// of different topics meet at one member.
    Range,
    /// Members get as many partitions as each other, and keep what they have where that allows it.
    Uniform,
}

impl Assignor {
    /// By its name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "range" => Some(Assignor::Range),
            "uniform" => Some(Assignor::Uniform),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Assignor::Range => "range",
            Assignor::Uniform => "uniform",
        }
    }

    /// Assigns all partitions of the topics to which anyone subscribes. Every member is in the
    /// result. Equal inputs give equal results.
    pub(super) fn assign(
        self,
        subscribers: &BTreeMap<Str, Subscriber<'_>>,
        topics: &BTreeMap<Uuid, i32>,
    ) -> BTreeMap<Str, Assigned> {
        match self {
            Assignor::Range => range::assign(subscribers, topics),
            Assignor::Uniform => uniform::assign(subscribers, topics),
        }
    }
}

/// What an assignor knows of a member.
#[derive(Clone, Debug)]
pub(super) struct Subscriber<'a> {
    pub(super) instance: Option<&'a Str>,
    /// Subscribed topics that exist.
    pub(super) topics: BTreeSet<Uuid>,
    /// What it was to have before.
    pub(super) before: Option<&'a Assigned>,
}

#[cfg(test)]
mod tests;
