//! Which resources a request as a whole is about.

use ackord_proto::api::Request;
use ackord_proto::messages::ProduceRequest;
use ackord_proto::records::BatchHeader;
use ackord_proto::str::Str;

use super::needs::Right;
use crate::authorizer::{CLUSTER_NAME, Operation, ResourceType};

/// Kafka's key type of coordinators of share partitions, and since which version there are any.
const SHARE_COORDINATOR: (i8, i16) = (2, 6);
/// From here on AddPartitionsToTxn is for brokers (KIP-890).
const BATCHED_ADD_PARTITIONS: i16 = 4;

/// The resources that a right is needed on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named<'a> {
    /// All of these.
    All(&'a [Str]),
    /// Any one of its kind.
    AnyOne,
    /// This one.
    One(&'a str),
}

/// The resources that a request needs a right on; `None`: the right does not concern this request.
pub(super) fn named<'a>(request: &'a Request, version: i16, right: Right) -> Option<Named<'a>> {
    match right.resource {
        ResourceType::Cluster => {
            concerns_cluster(request, version).then_some(Named::One(CLUSTER_NAME))
        }
        ResourceType::Group => group(request).map(Named::One),
        ResourceType::Topic => topics(request),
        ResourceType::TransactionalId => {
            transactional_id(request, version, right.operation).map(Named::One)
        }
        ResourceType::DelegationToken | ResourceType::User => None,
    }
}

fn concerns_cluster(request: &Request, version: i16) -> bool {
    match request {
        Request::AddPartitionsToTxn(_) => version >= BATCHED_ADD_PARTITIONS,
        Request::FindCoordinator(request) => {
            request.key_type == SHARE_COORDINATOR.0 && version >= SHARE_COORDINATOR.1
        }
        Request::InitProducerId(request) => request.transactional_id.is_none(),
        _ => true,
    }
}

fn group(request: &Request) -> Option<&str> {
    Some(match request {
        Request::AddOffsetsToTxn(own) => &own.group_id,
        Request::AddShareAcksToTxn(own) => &own.group_id,
        Request::AlterShareGroupOffsets(own) => &own.group_id,
        Request::ConsumerGroupHeartbeat(own) => &own.group_id,
        Request::DeleteShareGroupOffsets(own) => &own.group_id,
        Request::Heartbeat(own) => &own.group_id,
        Request::JoinGroup(own) => &own.group_id,
        Request::LeaveGroup(own) => &own.group_id,
        Request::OffsetCommit(own) => &own.group_id,
        Request::OffsetDelete(own) => &own.group_id,
        Request::ShareAcknowledge(own) => own.group_id.as_ref()?,
        Request::ShareFetch(own) => own.group_id.as_ref()?,
        Request::ShareGroupHeartbeat(own) => &own.group_id,
        Request::SyncGroup(own) => &own.group_id,
        Request::TxnOffsetCommit(own) => &own.group_id,
        Request::TxnShareAcknowledge(own) => &own.group_id,
        Request::TxnShareAcknowledgeDraft(own) => &own.group_id,
        _ => return None,
    })
}

fn topics(request: &Request) -> Option<Named<'_>> {
    match request {
        Request::ConsumerGroupHeartbeat(own) => own.subscribed_topic_names.as_deref(),
        Request::ShareGroupHeartbeat(own) => own.subscribed_topic_names.as_deref(),
        Request::InitProducerId(own) => {
            return own.transactional_id.is_none().then_some(Named::AnyOne);
        }
        _ => None,
    }
    .map(Named::All)
}

fn transactional_id(request: &Request, version: i16, operation: Operation) -> Option<&str> {
    let two_phase = operation == Operation::TwoPhaseCommit;
    Some(match request {
        Request::AddOffsetsToTxn(own) => &own.transactional_id,
        Request::AddPartitionsToTxn(own) if version < BATCHED_ADD_PARTITIONS => {
            &own.v3_and_below_transactional_id
        }
        Request::AddShareAcksToTxn(own) => &own.transactional_id,
        Request::EndTxn(own) => &own.transactional_id,
        Request::InitProducerId(own) if own.enable_2pc || !two_phase => {
            own.transactional_id.as_ref()?
        }
        Request::Produce(own) if is_transactional(own) => own.transactional_id.as_ref()?,
        Request::TxnOffsetCommit(own) => &own.transactional_id,
        Request::TxnShareAcknowledge(own) => &own.transactional_id,
        // Without one it is refused like an empty one.
        Request::TxnShareAcknowledgeDraft(own) => own.transactional_id.as_deref().unwrap_or(""),
        _ => return None,
    })
}

/// Whether a batch of the request belongs to a transaction.
fn is_transactional(request: &ProduceRequest) -> bool {
    let topics = request.topic_data.iter();
    let mut batches = topics
        .flat_map(|topic| &topic.partition_data)
        .filter_map(|partition| partition.records.as_ref());
    batches.any(|records| {
        let header = BatchHeader::parse(&records.to_bytes());
        header.is_ok_and(|header| header.is_transactional())
    })
}
