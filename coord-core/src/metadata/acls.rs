//! ACLs as the cluster's log has them.

use ackord_proto::coordinator_records::{decode_key, decode_value};
use ackord_proto::uuid::Uuid;

use super::cluster::{CorruptMetadata, Metadata};
use super::records::{AccessControlEntryValue, AclKey, record};
use crate::authorizer::{Acl, Acls, Operation, PatternType, Permission, ResourceType};
use crate::outbox::StateRecord;

impl Metadata {
    /// Record that stores an ACL under an id.
    pub fn create_acl(id: Uuid, acl: &Acl) -> StateRecord {
        let value = AccessControlEntryValue {
            id,
            resource_type: acl.resource_type.code(),
            resource_name: acl.resource_name.clone(),
            pattern_type: acl.pattern_type.code(),
            principal: acl.principal.clone(),
            host: acl.host.clone(),
            operation: acl.operation.code(),
            permission_type: acl.permission.code(),
            ..Default::default()
        };
        record(&AclKey { id }, Some(&value))
    }

    /// Record that removes an ACL.
    pub fn remove_acl(id: Uuid) -> StateRecord {
        record::<_, AccessControlEntryValue>(&AclKey { id }, None)
    }
}

/// Takes a record of an ACL in.
pub(super) fn apply(acls: &mut Acls, record: &StateRecord) -> Result<(), CorruptMetadata> {
    let key: AclKey = decode_key(&record.key)?;
    match &record.value {
        None => acls.remove(key.id),
        Some(value) => {
            let value = decode_value::<AccessControlEntryValue>(value)?.0;
            let acl = acl_of(value).ok_or(CorruptMetadata::UnknownRecord)?;
            acls.insert(key.id, acl);
        }
    }
    Ok(())
}

/// `None` for a code that nobody knows.
fn acl_of(value: AccessControlEntryValue) -> Option<Acl> {
    Some(Acl {
        resource_type: ResourceType::from_code(value.resource_type)?,
        pattern_type: PatternType::from_code(value.pattern_type)?,
        resource_name: value.resource_name,
        principal: value.principal,
        host: value.host,
        operation: Operation::from_code(value.operation)?,
        permission: Permission::from_code(value.permission_type)?,
    })
}
