//! A share group as records of `__consumer_offsets` (KIP-932, record types 10 to 15).
//!
//! What is stored changes by [`StoredGroup::apply`] alone, live and in replay. A group compares
//! itself with it after each input that may have changed something, and appends the difference.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_proto::coordinator_records::{
    ConsumerOffsetsRecord, RecordKey, RecordValue, ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue, ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue, ShareGroupMetadataKey, ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue, record_type,
};
use ackord_proto::message::DecodeError;
use ackord_proto::str::Str;

use crate::outbox::StateRecord;

/// The only version of the values.
const VERSION: i16 = 0;

/// What the log has of one share group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredGroup {
    pub(super) group: Option<ShareGroupMetadataValue>,
    pub(super) members: BTreeMap<Str, ShareGroupMemberMetadataValue>,
    pub(super) assignment: Option<ShareGroupTargetAssignmentMetadataValue>,
    pub(super) targets: BTreeMap<Str, ShareGroupTargetAssignmentMemberValue>,
    pub(super) current: BTreeMap<Str, ShareGroupCurrentMemberAssignmentValue>,
    pub(super) states: Option<ShareGroupStatePartitionMetadataValue>,
}

/// The share groups of one partition of `__consumer_offsets`.
#[derive(Clone, Debug, Default)]
pub struct StoredGroups(BTreeMap<Str, StoredGroup>);

impl StoredGroups {
    /// Takes a record in; those of other types are passed over.
    ///
    /// # Errors
    /// The record cannot be decoded; nothing changed.
    pub fn apply(&mut self, record: &StateRecord) -> Result<(), DecodeError> {
        let own = ShareGroupMemberMetadataKey::RECORD_TYPE
            ..=ShareGroupStatePartitionMetadataKey::RECORD_TYPE;
        if !own.contains(&record_type(&record.key)?) {
            return Ok(());
        }
        let record = ConsumerOffsetsRecord::decode(&record.key, record.value.as_ref())?;
        if let Some(id) = group_of(&record) {
            self.0.entry(id.clone()).or_default().apply(record);
        }
        Ok(())
    }

    /// All groups of which something is left.
    pub fn into_groups(self) -> impl Iterator<Item = (Str, StoredGroup)> {
        let nothing = StoredGroup::default();
        self.0
            .into_iter()
            .filter(move |(_, group)| *group != nothing)
    }
}

fn group_of(record: &ConsumerOffsetsRecord) -> Option<&Str> {
    use ConsumerOffsetsRecord as R;
    Some(match record {
        R::ShareGroupMemberMetadata(key, _) => &key.group_id,
        R::ShareGroupMetadata(key, _) => &key.group_id,
        R::ShareGroupTargetAssignmentMetadata(key, _) => &key.group_id,
        R::ShareGroupTargetAssignmentMember(key, _) => &key.group_id,
        R::ShareGroupCurrentMemberAssignment(key, _) => &key.group_id,
        R::ShareGroupStatePartitionMetadata(key, _) => &key.group_id,
        _ => return None,
    })
}

impl StoredGroup {
    /// Takes a record of this group in; those of other types change nothing.
    pub(super) fn apply(&mut self, record: ConsumerOffsetsRecord) {
        use ConsumerOffsetsRecord as R;
        match record {
            R::ShareGroupMemberMetadata(key, value) => put(&mut self.members, key.member_id, value),
            R::ShareGroupMetadata(_, value) => self.group = value,
            R::ShareGroupTargetAssignmentMetadata(_, value) => self.assignment = value,
            R::ShareGroupTargetAssignmentMember(key, value) => {
                put(&mut self.targets, key.member_id, value);
            }
            R::ShareGroupCurrentMemberAssignment(key, value) => {
                put(&mut self.current, key.member_id, value);
            }
            R::ShareGroupStatePartitionMetadata(_, value) => self.states = value,
            _ => {}
        }
    }

    /// Records that make `wanted` of it: in Kafka's order, first the members that are gone.
    pub(super) fn changes(&self, group_id: &Str, wanted: &StoredGroup) -> Vec<StateRecord> {
        let mut records = Vec::new();
        let group_id = group_id.clone();
        let current = |member_id: &Str| ShareGroupCurrentMemberAssignmentKey {
            group_id: group_id.clone(),
            member_id: member_id.clone(),
        };
        let target = |member_id: &Str| ShareGroupTargetAssignmentMemberKey {
            group_id: group_id.clone(),
            member_id: member_id.clone(),
        };
        let member = |member_id: &Str| ShareGroupMemberMetadataKey {
            group_id: group_id.clone(),
            member_id: member_id.clone(),
        };
        gone(&mut records, &self.current, &wanted.current, current);
        gone(&mut records, &self.targets, &wanted.targets, target);
        gone(&mut records, &self.members, &wanted.members, member);
        new(&mut records, &self.members, &wanted.members, member);
        let key = ShareGroupMetadataKey {
            group_id: group_id.clone(),
        };
        one(
            &mut records,
            &key,
            self.group.as_ref(),
            wanted.group.as_ref(),
        );
        new(&mut records, &self.targets, &wanted.targets, target);
        let key = ShareGroupTargetAssignmentMetadataKey {
            group_id: group_id.clone(),
        };
        let (old, now) = (self.assignment.as_ref(), wanted.assignment.as_ref());
        one(&mut records, &key, old, now);
        new(&mut records, &self.current, &wanted.current, current);
        let key = ShareGroupStatePartitionMetadataKey {
            group_id: group_id.clone(),
        };
        one(
            &mut records,
            &key,
            self.states.as_ref(),
            wanted.states.as_ref(),
        );
        records
    }
}

fn put<V>(values: &mut BTreeMap<Str, V>, member: Str, value: Option<V>) {
    match value {
        Some(value) => drop(values.insert(member, value)),
        None => drop(values.remove(&member)),
    }
}

fn gone<K: RecordKey, V: RecordValue + PartialEq>(
    records: &mut Vec<StateRecord>,
    old: &BTreeMap<Str, V>,
    wanted: &BTreeMap<Str, V>,
    key: impl Fn(&Str) -> K,
) {
    for (member, value) in old {
        if !wanted.contains_key(member) {
            one(records, &key(member), Some(value), None);
        }
    }
}

fn new<K: RecordKey, V: RecordValue + PartialEq>(
    records: &mut Vec<StateRecord>,
    old: &BTreeMap<Str, V>,
    wanted: &BTreeMap<Str, V>,
    key: impl Fn(&Str) -> K,
) {
    for (member, value) in wanted {
        one(records, &key(member), old.get(member), Some(value));
    }
}

/// The record that makes `wanted` of `old`, where they differ. One that cannot be written, since a
/// name in it is longer than a record can say, is left out: it is not stored then.
fn one<K: RecordKey, V: RecordValue + PartialEq>(
    records: &mut Vec<StateRecord>,
    key: &K,
    old: Option<&V>,
    wanted: Option<&V>,
) {
    if old == wanted {
        return;
    }
    let value = wanted.map(|value| (value, VERSION));
    records.extend(StateRecord::encode(key, value));
}
