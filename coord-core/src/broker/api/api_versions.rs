//! ApiVersions: what this broker understands (KIP-35, KIP-584, KIP-511, KIP-1242).

use core::ops::RangeInclusive;

use ackord_proto::api::ApiKey;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::api_versions::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
use ackord_proto::messages::{ApiVersionsRequest, ApiVersionsResponse};
use ackord_proto::str::Str;
use alloc::vec;
use alloc::vec::Vec;

use super::super::Broker;
use crate::metadata::BrokerConfig;

/// A feature: name, lowest and highest supported level, finalized level.
const FEATURES: [(&str, i16, i16, i16); 4] = [
    // 1: groups of the consumer protocol (KIP-848).
    ("group.version", 0, 1, 1),
    // Clients do not look at it; tools print it. 30 is 4.3-IV0.
    ("metadata.version", 7, 30, 30),
    ("share.version", 0, 2, 2),
    // From 2 on the Java producer leaves registering to the broker (KIP-890).
    ("transaction.version", 0, 2, 2),
];

/// The APIs that have a handler, by key: these are announced, all others are refused.
pub(in crate::broker) const SERVED: [ApiKey; 55] = [
    ApiKey::Produce,
    ApiKey::Fetch,
    ApiKey::ListOffsets,
    ApiKey::Metadata,
    ApiKey::OffsetCommit,
    ApiKey::OffsetFetch,
    ApiKey::FindCoordinator,
    ApiKey::JoinGroup,
    ApiKey::Heartbeat,
    ApiKey::LeaveGroup,
    ApiKey::SyncGroup,
    ApiKey::DescribeGroups,
    ApiKey::ListGroups,
    ApiKey::ApiVersions,
    ApiKey::CreateTopics,
    ApiKey::DeleteTopics,
    ApiKey::DeleteRecords,
    ApiKey::InitProducerId,
    ApiKey::AddPartitionsToTxn,
    ApiKey::AddOffsetsToTxn,
    ApiKey::EndTxn,
    ApiKey::WriteTxnMarkers,
    ApiKey::TxnOffsetCommit,
    ApiKey::DescribeAcls,
    ApiKey::CreateAcls,
    ApiKey::DeleteAcls,
    ApiKey::DescribeConfigs,
    ApiKey::DeleteGroups,
    ApiKey::CreatePartitions,
    ApiKey::IncrementalAlterConfigs,
    ApiKey::OffsetDelete,
    ApiKey::DescribeCluster,
    ApiKey::DescribeProducers,
    ApiKey::DescribeTransactions,
    ApiKey::ListTransactions,
    ApiKey::ListConfigResources,
    ApiKey::DescribeTopicPartitions,
    ApiKey::ConsumerGroupHeartbeat,
    ApiKey::ConsumerGroupDescribe,
    ApiKey::ShareGroupHeartbeat,
    ApiKey::ShareGroupDescribe,
    ApiKey::ShareFetch,
    ApiKey::ShareAcknowledge,
    ApiKey::InitializeShareGroupState,
    ApiKey::ReadShareGroupState,
    ApiKey::WriteShareGroupState,
    ApiKey::DeleteShareGroupState,
    ApiKey::ReadShareGroupStateSummary,
    ApiKey::DescribeShareGroupOffsets,
    ApiKey::AlterShareGroupOffsets,
    ApiKey::DeleteShareGroupOffsets,
    ApiKey::AddShareAcksToTxn,
    ApiKey::TxnShareAcknowledge,
    ApiKey::TxnShareAcknowledgeDraft,
    ApiKey::DescribePendingShareAcks,
];

/// Whether the broker has a handler for the API, and may use it.
pub(in crate::broker) fn is_served(api: ApiKey, config: &BrokerConfig) -> bool {
    let unstable = api == ApiKey::TxnShareAcknowledgeDraft;
    SERVED.contains(&api) && (!unstable || config.boolean("unstable.api.versions.enable"))
}

/// Never changes, as the features never do; clients ignore levels whose epoch is not above -1.
const FEATURES_EPOCH: i64 = 0;

/// Below this version of the response, Java clients refuse a feature that begins at level 0.
const FIRST_WITH_LEVEL_ZERO: i16 = 4;

/// The versions of an API that the broker announces; requests outside of them are refused.
/// InitProducerId v6 is for two-phase commit (KIP-939).
pub(in crate::broker) fn advertised(api: ApiKey, config: &BrokerConfig) -> RangeInclusive<i16> {
    match api {
        ApiKey::InitProducerId if config.boolean("transaction.two.phase.commit.enable") => {
            api.versions()
        }
        _ => api.announced_versions(),
    }
}

impl Broker {
    pub(in crate::broker) fn api_versions(&mut self, slot: u64, request: ApiVersionsRequest) {
        let Some(version) = self.connections.request(slot).map(|meta| meta.version) else {
            return;
        };
        let response = match self.check_client(version, &request) {
            Ok(()) => everything(version, &self.config),
            Err(error_code) => ApiVersionsResponse {
                error_code,
                ..Default::default()
            },
        };
        self.respond(slot, response, None);
    }

    /// Answers an ApiVersions of a version that is too new, in the oldest form and with the versions
    /// that would do, so that the client can step down.
    pub(in crate::broker) fn unsupported_api_versions(&mut self, slot: u64) {
        self.connections.set_version(slot, 0);
        let response = ApiVersionsResponse {
            error_code: ErrorCode::UNSUPPORTED_VERSION,
            api_keys: vec![announce(ApiKey::ApiVersions, &self.config)],
            ..Default::default()
        };
        self.respond(slot, response, None);
    }

    fn check_client(&self, version: i16, request: &ApiVersionsRequest) -> Result<(), ErrorCode> {
        let named = is_client_name(&request.client_software_name)
            && is_client_name(&request.client_software_version);
        if version >= 3 && !named {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        let other_cluster = request
            .cluster_id
            .as_ref()
            .is_some_and(|id| id != self.metadata.cluster_id());
        let other_node = request.node_id != -1 && request.node_id != self.config.node_id();
        if version >= 5 && (other_cluster || other_node) {
            return Err(ErrorCode::REBOOTSTRAP_REQUIRED);
        }
        Ok(())
    }
}

/// Letters and digits, with hyphens and dots between them (KIP-511).
fn is_client_name(name: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}

fn announce(api: ApiKey, config: &BrokerConfig) -> ApiVersion {
    let versions = advertised(api, config);
    ApiVersion {
        api_key: api.key(),
        min_version: *versions.start(),
        max_version: *versions.end(),
        ..Default::default()
    }
}

fn everything(version: i16, config: &BrokerConfig) -> ApiVersionsResponse {
    let sayable = |min: i16| version >= FIRST_WITH_LEVEL_ZERO || min > 0;
    let supported: Vec<SupportedFeatureKey> = FEATURES
        .iter()
        .filter(|(_, min, ..)| sayable(*min))
        .map(|&(name, min_version, max_version, _)| SupportedFeatureKey {
            name: Str::from(name),
            min_version,
            max_version,
            ..Default::default()
        })
        .collect();
    let finalized = FEATURES
        .iter()
        .map(|&(name, .., level)| FinalizedFeatureKey {
            name: Str::from(name),
            max_version_level: level,
            min_version_level: level,
            ..Default::default()
        });
    ApiVersionsResponse {
        api_keys: SERVED
            .into_iter()
            .filter(|api| is_served(*api, config))
            .map(|api| announce(api, config))
            .collect(),
        supported_features: supported,
        finalized_features_epoch: FEATURES_EPOCH,
        finalized_features: finalized.collect(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_names_are_judged_as_by_kafka() {
        for good in ["apache-kafka-java", "4.4.0", "x", "a-1.b"] {
            assert!(is_client_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", ".a", "a b", "ä", "a_b"] {
            assert!(!is_client_name(bad), "{bad}");
        }
    }

    #[test]
    fn produce_and_init_producer_id_are_announced_otherwise_than_served() {
        let config = BrokerConfig::default();
        assert_eq!(advertised(ApiKey::Produce, &config), 0..=13);
        assert_eq!(advertised(ApiKey::InitProducerId, &config), 0..=5);
        assert_eq!(advertised(ApiKey::Fetch, &config), ApiKey::Fetch.versions());
        let two_phase = [("transaction.two.phase.commit.enable", "true")];
        let config = BrokerConfig::from_pairs(two_phase).unwrap();
        assert_eq!(advertised(ApiKey::InitProducerId, &config), 0..=6);
    }

    #[test]
    fn features_that_begin_at_zero_are_left_out_below_version_4() {
        let names = |version: i16| -> Vec<Str> {
            everything(version, &BrokerConfig::default())
                .supported_features
                .into_iter()
                .map(|feature| feature.name)
                .collect()
        };
        assert_eq!(names(3), ["metadata.version"]);
        assert_eq!(
            names(4),
            [
                "group.version",
                "metadata.version",
                "share.version",
                "transaction.version"
            ]
        );
        let all = everything(3, &BrokerConfig::default());
        assert_eq!(all.finalized_features.len(), 4);
    }
}
