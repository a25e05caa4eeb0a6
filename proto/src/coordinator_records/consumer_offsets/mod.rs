//! `__consumer_offsets`: committed offsets and groups of every kind.

use bytes::Bytes;

use super::{RecordKey, RecordValue, decode_key, decode_optional, record_type, records_of};
use crate::message::DecodeError;
use crate::printer::Printer;

pub mod classic_group;
pub mod consumer_group;
pub mod offset_commit;
pub mod share_group;
pub mod streams_group;

pub use classic_group::{GroupMetadataKey, GroupMetadataValue};
pub use consumer_group::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue, ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue, ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue, ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue, ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
};
pub use offset_commit::{
    LegacyOffsetCommitKey, LegacyOffsetCommitValue, OffsetCommitKey, OffsetCommitValue,
};
pub use share_group::{
    ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue, ShareGroupMetadataKey,
    ShareGroupMetadataValue, ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue, ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue, ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue, TopicInfo, TopicPartitions, TopicPartitionsInfo,
};
pub use streams_group::{
    StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue, StreamsGroupMetadataKey,
    StreamsGroupMetadataValue, StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue, StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue, StreamsGroupTopologyKey, StreamsGroupTopologyValue,
};

records_of! {
    /// A record of `__consumer_offsets`.
    ConsumerOffsetsRecord {
        LegacyOffsetCommit = 0: LegacyOffsetCommitKey, LegacyOffsetCommitValue;
        OffsetCommit = 1: OffsetCommitKey, OffsetCommitValue;
        GroupMetadata = 2: GroupMetadataKey, GroupMetadataValue;
        ConsumerGroupMetadata = 3: ConsumerGroupMetadataKey, ConsumerGroupMetadataValue;
        ConsumerGroupPartitionMetadata = 4: ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue;
        ConsumerGroupMemberMetadata = 5: ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue;
        ConsumerGroupTargetAssignmentMetadata = 6: ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue;
        ConsumerGroupTargetAssignmentMember = 7: ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue;
        ConsumerGroupCurrentMemberAssignment = 8: ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue;
        ShareGroupMemberMetadata = 10: ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue;
        ShareGroupMetadata = 11: ShareGroupMetadataKey, ShareGroupMetadataValue;
        ShareGroupTargetAssignmentMetadata = 12: ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue;
        ShareGroupTargetAssignmentMember = 13: ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue;
        ShareGroupCurrentMemberAssignment = 14: ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue;
        ShareGroupStatePartitionMetadata = 15: ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue;
        ConsumerGroupRegularExpression = 16: ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue;
        StreamsGroupMetadata = 17: StreamsGroupMetadataKey, StreamsGroupMetadataValue;
        StreamsGroupMemberMetadata = 19: StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue;
        StreamsGroupTargetAssignmentMetadata = 20: StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue;
        StreamsGroupTargetAssignmentMember = 21: StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue;
        StreamsGroupCurrentMemberAssignment = 22: StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue;
        StreamsGroupTopology = 23: StreamsGroupTopologyKey, StreamsGroupTopologyValue;
    }
}
