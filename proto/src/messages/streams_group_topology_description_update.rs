//! StreamsGroupTopologyDescriptionUpdate (key 93): describes the topology of a streams group in full.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 93, request, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupTopologyDescriptionUpdateRequest {
    /// The group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
    /// The epoch of the topology.
    pub topology_epoch: i32,
    /// The topology in full.
    pub topology_description: TopologyDescription,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A topology in full.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopologyDescription {
    /// The parts of the topology.
    pub subtopologies: Vec<TopologyDescriptionSubtopology>,
    /// The global stores.
    pub global_stores: Vec<TopologyDescriptionGlobalStore>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A part of a topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopologyDescriptionSubtopology {
    /// The part of the topology.
    pub subtopology_id: Str,
    /// The nodes.
    pub nodes: Vec<TopologyDescriptionNode>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A node of a topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopologyDescriptionNode {
    /// The name.
    pub name: Str,
    /// 1 source, 2 processor, 3 sink.
    pub node_type: i8,
    /// The topics that are read.
    pub source_topics: Vec<Str>,
    /// The topic that is written; null where there is none.
    pub sink_topic: Option<Str>,
    /// The state stores.
    pub stores: Vec<Str>,
    /// The nodes behind this one.
    pub successors: Vec<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A global store.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopologyDescriptionGlobalStore {
    /// The node that reads the topic.
    pub source: TopologyDescriptionNode,
    /// The node that updates the store.
    pub processor: TopologyDescriptionNode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 93, response, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupTopologyDescriptionUpdateResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
