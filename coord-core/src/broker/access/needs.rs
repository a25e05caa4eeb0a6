//! What each API needs: one table, as in KafkaApis and ControllerApis of Kafka 4.4.

use ackord_proto::api::ApiKey;
use ackord_proto::error_code::ErrorCode;

use crate::authorizer::{Operation, ResourceType};

/// An operation on a kind of resource; which one is in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::broker) struct Right {
    pub(super) operation: Operation,
    pub(super) resource: ResourceType,
}

/// What an API needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    pub(super) api: ApiKey,
    /// For the request as a whole: of each line one. Without it nothing is done.
    pub(super) whole: &'static [&'static [Right]],
    /// For each thing that it names: the others go on.
    pub(super) each: &'static [Right],
    /// For each thing that its answer shows without having been asked for it by name.
    pub(super) shown: &'static [Right],
}

impl Needs {
    /// What the API needs for each resource of this kind.
    pub(super) fn each(&self, resource: ResourceType) -> Option<Right> {
        self.each
            .iter()
            .copied()
            .find(|own| own.resource == resource)
    }

    /// What its answer needs to show a resource of this kind.
    pub(super) fn shown(&self, resource: ResourceType) -> Option<Right> {
        let mut all = self.shown.iter().copied();
        all.find(|own| own.resource == resource)
    }

    const fn whole(mut self, whole: &'static [&'static [Right]]) -> Self {
        self.whole = whole;
        self
    }

    const fn of_each(mut self, each: &'static [Right]) -> Self {
        self.each = each;
        self
    }

    const fn shows(mut self, shown: &'static [Right]) -> Self {
        self.shown = shown;
        self
    }
}

const fn right(operation: Operation, resource: ResourceType) -> Right {
    Right {
        operation,
        resource,
    }
}

use Operation as Op;
use ResourceType::{Cluster, Group, Topic, TransactionalId};

const ALTER_CLUSTER: Right = right(Op::Alter, Cluster);
const ALTER_CONFIGS_CLUSTER: Right = right(Op::AlterConfigs, Cluster);
const ALTER_CONFIGS_GROUP: Right = right(Op::AlterConfigs, Group);
const ALTER_CONFIGS_TOPIC: Right = right(Op::AlterConfigs, Topic);
const ALTER_TOPIC: Right = right(Op::Alter, Topic);
const CLUSTER_ACTION: Right = right(Op::ClusterAction, Cluster);
pub(super) const CREATE_CLUSTER: Right = right(Op::Create, Cluster);
pub(super) const CREATE_TOPIC: Right = right(Op::Create, Topic);
const DELETE_CLUSTER: Right = right(Op::Delete, Cluster);
const DELETE_GROUP: Right = right(Op::Delete, Group);
const DELETE_TOPIC: Right = right(Op::Delete, Topic);
pub(super) const DESCRIBE_CLUSTER: Right = right(Op::Describe, Cluster);
const DESCRIBE_CONFIGS_CLUSTER: Right = right(Op::DescribeConfigs, Cluster);
const DESCRIBE_CONFIGS_GROUP: Right = right(Op::DescribeConfigs, Group);
const DESCRIBE_CONFIGS_TOPIC: Right = right(Op::DescribeConfigs, Topic);
const DESCRIBE_GROUP: Right = right(Op::Describe, Group);
const DESCRIBE_TOPIC: Right = right(Op::Describe, Topic);
const DESCRIBE_TXN: Right = right(Op::Describe, TransactionalId);
const IDEMPOTENT_WRITE: Right = right(Op::IdempotentWrite, Cluster);
const READ_GROUP: Right = right(Op::Read, Group);
const READ_TOPIC: Right = right(Op::Read, Topic);
const TWO_PHASE_COMMIT: Right = right(Op::TwoPhaseCommit, TransactionalId);
const WRITE_TOPIC: Right = right(Op::Write, Topic);
const WRITE_TXN: Right = right(Op::Write, TransactionalId);

const fn of_api(api: ApiKey) -> Needs {
    Needs {
        api,
        whole: &[],
        each: &[],
        shown: &[],
    }
}

/// Everything that is served. Where a line of `whole` concerns only some requests, [`super::named`]
/// says which: a Produce without transactional batches names no transactional id.
const NEEDS: &[Needs] = &[
    // Data.
    of_api(ApiKey::Produce)
        .whole(&[&[WRITE_TXN]])
        .of_each(&[WRITE_TOPIC]),
    // A follower needs the second.
    of_api(ApiKey::Fetch).of_each(&[READ_TOPIC, CLUSTER_ACTION]),
    of_api(ApiKey::ListOffsets).of_each(&[DESCRIBE_TOPIC]),
    of_api(ApiKey::DeleteRecords).of_each(&[DELETE_TOPIC]),
    // The cluster. A topic that Metadata creates needs CREATE of either, see `check_creation`.
    of_api(ApiKey::ApiVersions),
    of_api(ApiKey::Metadata)
        .of_each(&[DESCRIBE_TOPIC])
        .shows(&[DESCRIBE_TOPIC]),
    of_api(ApiKey::DescribeCluster),
    of_api(ApiKey::DescribeTopicPartitions).of_each(&[DESCRIBE_TOPIC]),
    // The last: for coordinators of share partitions, of the request as a whole.
    of_api(ApiKey::FindCoordinator)
        .whole(&[&[CLUSTER_ACTION]])
        .of_each(&[DESCRIBE_GROUP, DESCRIBE_TXN]),
    // Topics, configurations, ACLs. With a right of the cluster none of the topic is needed.
    of_api(ApiKey::CreateTopics)
        .of_each(&[CREATE_CLUSTER, CREATE_TOPIC])
        .shows(&[DESCRIBE_CONFIGS_TOPIC]),
    of_api(ApiKey::DeleteTopics)
        .of_each(&[DELETE_CLUSTER, DELETE_TOPIC])
        .shows(&[DESCRIBE_TOPIC]),
    of_api(ApiKey::CreatePartitions).of_each(&[ALTER_TOPIC]),
    of_api(ApiKey::DescribeConfigs).of_each(&[
        DESCRIBE_CONFIGS_CLUSTER,
        DESCRIBE_CONFIGS_GROUP,
        DESCRIBE_CONFIGS_TOPIC,
    ]),
    of_api(ApiKey::IncrementalAlterConfigs).of_each(&[
        ALTER_CONFIGS_CLUSTER,
        ALTER_CONFIGS_GROUP,
        ALTER_CONFIGS_TOPIC,
    ]),
    of_api(ApiKey::ListConfigResources).whole(&[&[DESCRIBE_CONFIGS_CLUSTER]]),
    of_api(ApiKey::DescribeAcls).whole(&[&[DESCRIBE_CLUSTER]]),
    of_api(ApiKey::CreateAcls).whole(&[&[ALTER_CLUSTER]]),
    of_api(ApiKey::DeleteAcls).whole(&[&[ALTER_CLUSTER]]),
    // Groups and their offsets.
    of_api(ApiKey::JoinGroup).whole(&[&[READ_GROUP]]),
    of_api(ApiKey::SyncGroup).whole(&[&[READ_GROUP]]),
    of_api(ApiKey::Heartbeat).whole(&[&[READ_GROUP]]),
    of_api(ApiKey::LeaveGroup).whole(&[&[READ_GROUP]]),
    // Of all topics that it subscribes to by name; those of a pattern that are not shown are left out.
    of_api(ApiKey::ConsumerGroupHeartbeat)
        .whole(&[&[READ_GROUP], &[DESCRIBE_TOPIC]])
        .shows(&[DESCRIBE_TOPIC]),
    of_api(ApiKey::OffsetCommit)
        .whole(&[&[READ_GROUP]])
        .of_each(&[READ_TOPIC]),
    of_api(ApiKey::OffsetFetch)
        .of_each(&[DESCRIBE_GROUP, DESCRIBE_TOPIC])
        .shows(&[DESCRIBE_TOPIC]),
    of_api(ApiKey::OffsetDelete)
        .whole(&[&[DELETE_GROUP]])
        .of_each(&[READ_TOPIC]),
    of_api(ApiKey::ListGroups).shows(&[DESCRIBE_CLUSTER, DESCRIBE_GROUP]),
    of_api(ApiKey::DescribeGroups).of_each(&[DESCRIBE_GROUP]),
    of_api(ApiKey::ConsumerGroupDescribe)
        .of_each(&[DESCRIBE_GROUP])
        .shows(&[DESCRIBE_TOPIC]),
    // With DESCRIBE_TXN a refusal names the transaction that is in the way; so do those below.
    of_api(ApiKey::DeleteGroups)
        .of_each(&[DELETE_GROUP])
        .shows(&[DESCRIBE_TXN]),
    // Share groups.
    of_api(ApiKey::ShareGroupHeartbeat).whole(&[&[READ_GROUP], &[DESCRIBE_TOPIC]]),
    of_api(ApiKey::ShareGroupDescribe)
        .of_each(&[DESCRIBE_GROUP])
        .shows(&[DESCRIBE_TOPIC]),
    of_api(ApiKey::ShareFetch)
        .whole(&[&[READ_GROUP]])
        .of_each(&[READ_TOPIC]),
    of_api(ApiKey::ShareAcknowledge)
        .whole(&[&[READ_GROUP]])
        .of_each(&[READ_TOPIC]),
    of_api(ApiKey::DescribeShareGroupOffsets)
        .of_each(&[DESCRIBE_GROUP, DESCRIBE_TOPIC])
        .shows(&[DESCRIBE_TOPIC]),
    of_api(ApiKey::AlterShareGroupOffsets)
        .whole(&[&[READ_GROUP]])
        .of_each(&[READ_TOPIC])
        .shows(&[DESCRIBE_TXN]),
    of_api(ApiKey::DeleteShareGroupOffsets)
        .whole(&[&[DELETE_GROUP]])
        .of_each(&[READ_TOPIC])
        .shows(&[DESCRIBE_TXN]),
    of_api(ApiKey::InitializeShareGroupState).whole(&[&[CLUSTER_ACTION]]),
    of_api(ApiKey::ReadShareGroupState).whole(&[&[CLUSTER_ACTION]]),
    of_api(ApiKey::WriteShareGroupState).whole(&[&[CLUSTER_ACTION]]),
    of_api(ApiKey::DeleteShareGroupState).whole(&[&[CLUSTER_ACTION]]),
    of_api(ApiKey::ReadShareGroupStateSummary).whole(&[&[CLUSTER_ACTION]]),
    // Transactions. The last line is of a producer without a transactional id: any topic will do.
    of_api(ApiKey::InitProducerId).whole(&[
        &[WRITE_TXN],
        &[TWO_PHASE_COMMIT],
        &[IDEMPOTENT_WRITE, WRITE_TOPIC],
    ]),
    // Clients up to version 3, brokers from 4 on.
    of_api(ApiKey::AddPartitionsToTxn)
        .whole(&[&[WRITE_TXN], &[CLUSTER_ACTION]])
        .of_each(&[WRITE_TOPIC]),
    of_api(ApiKey::AddOffsetsToTxn).whole(&[&[WRITE_TXN], &[READ_GROUP]]),
    of_api(ApiKey::EndTxn).whole(&[&[WRITE_TXN]]),
    of_api(ApiKey::WriteTxnMarkers).whole(&[&[CLUSTER_ACTION, ALTER_CLUSTER]]),
    of_api(ApiKey::TxnOffsetCommit)
        .whole(&[&[WRITE_TXN], &[READ_GROUP]])
        .of_each(&[READ_TOPIC]),
    of_api(ApiKey::DescribeProducers).of_each(&[READ_TOPIC]),
    of_api(ApiKey::DescribeTransactions)
        .of_each(&[DESCRIBE_TXN])
        .shows(&[DESCRIBE_TOPIC]),
    of_api(ApiKey::ListTransactions).shows(&[DESCRIBE_TXN]),
    // KIP-1289, and what of it Kafka has no answer for.
    of_api(ApiKey::AddShareAcksToTxn)
        .whole(&[&[WRITE_TXN], &[READ_GROUP]])
        .of_each(&[READ_TOPIC]),
    of_api(ApiKey::TxnShareAcknowledge)
        .whole(&[&[WRITE_TXN], &[READ_GROUP]])
        .of_each(&[READ_TOPIC]),
    of_api(ApiKey::TxnShareAcknowledgeDraft)
        .whole(&[&[WRITE_TXN], &[READ_GROUP]])
        .of_each(&[READ_TOPIC]),
    of_api(ApiKey::DescribePendingShareAcks).shows(&[DESCRIBE_GROUP, DESCRIBE_TOPIC, DESCRIBE_TXN]),
];

/// What an API needs; `None` for one that nobody has written down, which nobody may use then.
pub(super) fn of(api: ApiKey) -> Option<&'static Needs> {
    NEEDS.iter().find(|needs| needs.api == api)
}

/// What somebody is told who lacks a right on a resource of this kind.
pub(in crate::broker) const fn code_of(resource: ResourceType) -> ErrorCode {
    match resource {
        ResourceType::Topic => ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ResourceType::Group => ErrorCode::GROUP_AUTHORIZATION_FAILED,
        ResourceType::Cluster => ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
        ResourceType::TransactionalId => ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ResourceType::DelegationToken | ResourceType::User => {
            ErrorCode::DELEGATION_TOKEN_AUTHORIZATION_FAILED
        }
    }
}

/// Kafka's sentence for such a code.
pub(in crate::broker) fn sentence(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => "Topic authorization failed.",
        ErrorCode::GROUP_AUTHORIZATION_FAILED => "Group authorization failed.",
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED => "Cluster authorization failed.",
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => {
            "Transactional Id authorization failed."
        }
        _ => "Authorization failed.",
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::api::api_versions::SERVED;
    use super::*;

    #[test]
    fn each_api_that_is_served_has_one_line() {
        for api in SERVED {
            let lines = NEEDS.iter().filter(|needs| needs.api == api).count();
            assert_eq!(lines, 1, "{}", api.name());
        }
        assert_eq!(NEEDS.len(), SERVED.len());
    }
}
