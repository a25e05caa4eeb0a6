//! Records of the coordinators, and structures inside bytes fields.

use ackord_proto::coordinator_records::{
    self as internal, ConsumerOffsetsRecord, RecordKey, RecordValue, ShareGroupStateRecord,
    TransactionStateRecord,
};
use ackord_proto::embedded::{self, Embedded};
use ackord_proto::printer::Printer;

use super::{Row, Verdict, show};

/// Reads and writes a key and a value of known types.
fn key_and_value<K: RecordKey, V: RecordValue>(row: &Row<'_>) -> Verdict {
    let bytes = row.bytes("key_hex")?;
    let key: K = internal::decode_key(&bytes).map_err(show)?;
    if internal::encode_key(&key).map_err(show)? != bytes {
        return Err("other bytes of the key".to_owned());
    }
    print_record(row)?;
    if row.cell("value_hex") == "null" {
        return Ok(Some(()));
    }
    let bytes = row.bytes("value_hex")?;
    let (value, version) = internal::decode_value::<V>(&bytes).map_err(show)?;
    if version != row.number::<i16>("value_version")? {
        return Err(format!("version {version}"));
    }
    match internal::encode_value(&value, version).map_err(show)? {
        encoded if encoded == bytes => Ok(Some(())),
        encoded => Err(format!("other bytes of the value: {encoded:02x?}")),
    }
}

/// Each record of a known topic can be printed, under its name.
fn print_record(row: &Row<'_>) -> Result<(), String> {
    let key = row.bytes("key_hex")?;
    let value = match row.cell("value_hex") {
        "null" => None,
        _ => Some(row.bytes("value_hex")?),
    };
    let print = match row.cell("topic") {
        "__consumer_offsets" => ConsumerOffsetsRecord::print,
        "__share_group_state" => ShareGroupStateRecord::print,
        _ => TransactionStateRecord::print,
    };
    let mut printer = Printer::default();
    print(&key, value.as_ref(), &mut printer).map_err(show)?;
    match printer.finish() {
        text if text.starts_with("unknown") => Err(text),
        _ => Ok(()),
    }
}

/// The check for each record type.
macro_rules! coordinator_records {
    ($($topic:literal $record_type:literal: $key:ident, $value:ident;)*) => {
        pub(super) fn coordinator_record(row: &Row<'_>) -> Verdict {
            match (row.cell("topic"), row.cell("record_type")) {
                $(($topic, $record_type) => {
                    key_and_value::<internal::$key, internal::$value>(row)
                })*
                _ => Ok(None),
            }
        }
    };
}

coordinator_records! {
    "__transaction_state" "0": TransactionLogKey, TransactionLogValue;
    "__share_group_state" "0": ShareSnapshotKey, ShareSnapshotValue;
    "__share_group_state" "1": ShareUpdateKey, ShareUpdateValue;
    "__consumer_offsets" "0": LegacyOffsetCommitKey, LegacyOffsetCommitValue;
    "__consumer_offsets" "1": OffsetCommitKey, OffsetCommitValue;
    "__consumer_offsets" "2": GroupMetadataKey, GroupMetadataValue;
    "__consumer_offsets" "3": ConsumerGroupMetadataKey, ConsumerGroupMetadataValue;
    "__consumer_offsets" "4": ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue;
    "__consumer_offsets" "5": ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue;
    "__consumer_offsets" "6": ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue;
    "__consumer_offsets" "7": ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue;
    "__consumer_offsets" "8": ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue;
    "__consumer_offsets" "10": ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue;
    "__consumer_offsets" "11": ShareGroupMetadataKey, ShareGroupMetadataValue;
    "__consumer_offsets" "12": ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue;
    "__consumer_offsets" "13": ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue;
    "__consumer_offsets" "14": ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue;
    "__consumer_offsets" "15": ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue;
    "__consumer_offsets" "16": ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue;
    "__consumer_offsets" "17": StreamsGroupMetadataKey, StreamsGroupMetadataValue;
    "__consumer_offsets" "19": StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue;
    "__consumer_offsets" "20": StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue;
    "__consumer_offsets" "21": StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue;
    "__consumer_offsets" "22": StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue;
    "__consumer_offsets" "23": StreamsGroupTopologyKey, StreamsGroupTopologyValue;
}

/// Reads and writes a structure with its version before it.
fn structure<E: Embedded>(row: &Row<'_>) -> Verdict {
    let bytes = row.bytes("hex")?;
    let (value, version) = embedded::decode::<E>(&bytes).map_err(show)?;
    if version != row.number::<i16>("version")? {
        return Err(format!("version {version}"));
    }
    if value.to_text(version).is_empty() {
        return Err("prints as nothing".to_owned());
    }
    match embedded::encode(&value, version).map_err(show)? {
        encoded if encoded == bytes => Ok(Some(())),
        encoded => Err(format!("other bytes: {encoded:02x?}")),
    }
}

pub(super) fn embedded(row: &Row<'_>) -> Verdict {
    match row.cell("name") {
        "ConsumerProtocolSubscription" => structure::<embedded::ConsumerProtocolSubscription>(row),
        "ConsumerProtocolAssignment" => structure::<embedded::ConsumerProtocolAssignment>(row),
        "DefaultPrincipalData" => structure::<embedded::DefaultPrincipalData>(row),
        "AbortedTxn" => structure::<embedded::AbortedTxn>(row),
        "ControlRecordTypeSchema" => structure::<embedded::ControlRecordTypeSchema>(row),
        "EndTxnMarker" => structure::<embedded::EndTxnMarker>(row),
        _ => Ok(None),
    }
}
