//! CreateAcls, DeleteAcls and DescribeAcls (KIP-140, KIP-290): who may do what.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_acls::{AclCreation, AclCreationResult};
use ackord_proto::messages::delete_acls::{
    DeleteAclsFilter, DeleteAclsFilterResult, DeleteAclsMatchingAcl,
};
use ackord_proto::messages::describe_acls::{AclDescription, DescribeAclsResource};
use ackord_proto::messages::{
    CreateAclsRequest, CreateAclsResponse, DeleteAclsRequest, DeleteAclsResponse,
    DescribeAclsRequest, DescribeAclsResponse,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::super::Broker;
use crate::authorizer::{
    Acl, AclFilter, CLUSTER_NAME, Operation, PatternType, Permission, ResourceType, UnknownFilter,
    check_address_range,
};
use crate::contract::CloseReason;
use crate::metadata::Metadata;

/// Kafka's code of what is unknown, in each of its enumerations.
const UNKNOWN: i8 = 0;
/// The most ACLs that one request may delete, as in Kafka.
const MOST_DELETED: usize = 10_000;

impl Broker {
    pub(in crate::broker) fn create_acls(&mut self, slot: u64, request: CreateAclsRequest) {
        let unknown = |own: &AclCreation| {
            [
                own.resource_type,
                own.resource_pattern_type,
                own.operation,
                own.permission_type,
            ]
            .contains(&UNKNOWN)
        };
        if request.creations.iter().any(unknown) {
            return self.refuse_unknown(slot, "CreateAcls");
        }
        if self.authorizer.is_none() {
            let result = AclCreationResult {
                error_code: ErrorCode::SECURITY_DISABLED,
                error_message: Some(Str::from("No Authorizer is configured.")),
                ..Default::default()
            };
            let results = vec![result; request.creations.len()];
            let response = CreateAclsResponse {
                results,
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        let mut new = BTreeSet::new();
        let mut results = Vec::with_capacity(request.creations.len());
        for creation in request.creations {
            let mut result = AclCreationResult::default();
            match acl_of(creation) {
                Ok(acl) if self.metadata.acls().contains(&acl) => {}
                Ok(acl) => drop(new.insert(acl)),
                Err((code, why)) => {
                    result.error_code = code;
                    result.error_message = Some(Str::from(why));
                }
            }
            results.push(result);
        }
        let records: Vec<_> = new
            .iter()
            .map(|acl| Metadata::create_acl(self.chance.uuid(), acl))
            .collect();
        if !records.is_empty() {
            self.append_cluster(&records);
        }
        let response = CreateAclsResponse {
            results,
            ..Default::default()
        };
        self.respond(slot, response, self.cluster_gate());
    }

    pub(in crate::broker) fn delete_acls(&mut self, slot: u64, request: DeleteAclsRequest) {
        let unknown = |own: &DeleteAclsFilter| {
            [
                own.resource_type_filter,
                own.pattern_type_filter,
                own.operation,
                own.permission_type,
            ]
            .contains(&UNKNOWN)
        };
        if request.filters.iter().any(unknown) {
            return self.refuse_unknown(slot, "DeleteAcls");
        }
        let refused = |error_code, why: &str| DeleteAclsFilterResult {
            error_code,
            error_message: Some(Str::from(why)),
            ..Default::default()
        };
        if self.authorizer.is_none() {
            let result = refused(ErrorCode::SECURITY_DISABLED, "No Authorizer is configured.");
            let filter_results = vec![result; request.filters.len()];
            return self.respond_deleted(slot, filter_results);
        }
        let mut gone = BTreeSet::new();
        let mut filter_results = Vec::with_capacity(request.filters.len());
        for filter in &request.filters {
            filter_results.push(match filter_of_deletion(filter) {
                Ok(filter) => self.matching(&filter, &mut gone),
                Err(UnknownFilter::Pattern) => {
                    refused(ErrorCode::INVALID_REQUEST, "Unknown patternFilter.")
                }
                Err(UnknownFilter::Entry) => {
                    refused(ErrorCode::INVALID_REQUEST, "Unknown entryFilter.")
                }
            });
        }
        if gone.len() > MOST_DELETED {
            let why = format!(
                "Cannot remove more than {MOST_DELETED} acls in a single delete operation."
            );
            let result = refused(ErrorCode::INVALID_REQUEST, &why);
            return self.respond_deleted(slot, vec![result; request.filters.len()]);
        }
        let records: Vec<_> = gone.into_iter().map(Metadata::remove_acl).collect();
        if !records.is_empty() {
            self.append_cluster(&records);
        }
        self.respond_deleted(slot, filter_results);
    }

    fn respond_deleted(&mut self, slot: u64, filter_results: Vec<DeleteAclsFilterResult>) {
        let response = DeleteAclsResponse {
            filter_results,
            ..Default::default()
        };
        self.respond(slot, response, self.cluster_gate());
    }

    /// The ACLs that a filter matches; their ids are added to `gone`.
    fn matching(&self, filter: &AclFilter, gone: &mut BTreeSet<Uuid>) -> DeleteAclsFilterResult {
        let all = self.metadata.acls().iter();
        let matching = all.filter(|(acl, _)| filter.matches(acl)).map(|(acl, id)| {
            gone.insert(id);
            DeleteAclsMatchingAcl {
                resource_type: acl.resource_type.code(),
                resource_name: acl.resource_name.clone(),
                pattern_type: acl.pattern_type.code(),
                principal: acl.principal.clone(),
                host: acl.host.clone(),
                operation: acl.operation.code(),
                permission_type: acl.permission.code(),
                ..Default::default()
            }
        });
        DeleteAclsFilterResult {
            matching_acls: matching.collect(),
            ..Default::default()
        }
    }

    pub(in crate::broker) fn describe_acls(&mut self, slot: u64, request: DescribeAclsRequest) {
        let codes = [
            request.resource_type_filter,
            request.pattern_type_filter,
            request.operation,
            request.permission_type,
        ];
        if codes.contains(&UNKNOWN) {
            return self.refuse_unknown(slot, "DescribeAcls");
        }
        if self.authorizer.is_none() {
            let response = DescribeAclsResponse {
                error_code: ErrorCode::SECURITY_DISABLED,
                error_message: Some(Str::from("No Authorizer is configured on the broker")),
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        // What nobody knows matches nothing.
        let filter = filter_of_description(request).ok();
        let matches = |acl: &Acl| filter.as_ref().is_some_and(|filter| filter.matches(acl));
        let mut resources: BTreeMap<_, Vec<AclDescription>> = BTreeMap::new();
        for (acl, _) in self.metadata.acls().iter().filter(|(acl, _)| matches(acl)) {
            let resource = (acl.resource_type, acl.pattern_type, &acl.resource_name);
            resources.entry(resource).or_default().push(AclDescription {
                principal: acl.principal.clone(),
                host: acl.host.clone(),
                operation: acl.operation.code(),
                permission_type: acl.permission.code(),
                ..Default::default()
            });
        }
        let resources = resources.into_iter();
        let resources =
            resources.map(
                |((resource_type, pattern_type, name), acls)| DescribeAclsResource {
                    resource_type: resource_type.code(),
                    resource_name: name.clone(),
                    pattern_type: pattern_type.code(),
                    acls,
                    ..Default::default()
                },
            );
        let response = DescribeAclsResponse {
            resources: resources.collect(),
            ..Default::default()
        };
        self.respond(slot, response, self.cluster_gate());
    }

    /// A request that says that it does not know what it means is none, as in Kafka.
    fn refuse_unknown(&mut self, slot: u64, api: &str) {
        if let Some(conn) = self.connections.request(slot).map(|meta| meta.conn) {
            let what = format!("{api} contains UNKNOWN elements");
            let reason = CloseReason::BadRequest(what);
            self.connections.close(conn, reason, &mut self.effects);
        }
    }
}

fn filter_of_deletion(filter: &DeleteAclsFilter) -> Result<AclFilter, UnknownFilter> {
    AclFilter::new(
        (
            filter.resource_type_filter,
            filter.resource_name_filter.clone(),
            filter.pattern_type_filter,
        ),
        (
            filter.principal_filter.clone(),
            filter.host_filter.clone(),
            filter.operation,
            filter.permission_type,
        ),
    )
}

fn filter_of_description(request: DescribeAclsRequest) -> Result<AclFilter, UnknownFilter> {
    AclFilter::new(
        (
            request.resource_type_filter,
            request.resource_name_filter,
            request.pattern_type_filter,
        ),
        (
            request.principal_filter,
            request.host_filter,
            request.operation,
            request.permission_type,
        ),
    )
}

/// How Kafka prints a code that cannot be in an ACL.
fn printed(code: i8) -> &'static str {
    match code {
        1 => "ANY",
        2 => "MATCH",
        _ => "UNKNOWN",
    }
}

/// The ACL that a request asks for.
fn acl_of(own: AclCreation) -> Result<Acl, (ErrorCode, String)> {
    let invalid = |why: String| (ErrorCode::INVALID_REQUEST, why);
    let bad = |what: &str, code: i8| invalid(format!("Invalid {what} {}", printed(code)));
    let cluster = own.resource_type == ResourceType::Cluster.code();
    if cluster && own.resource_name != CLUSTER_NAME {
        let why = format!("The only valid name for the CLUSTER resource is {CLUSTER_NAME}");
        return Err(invalid(why));
    }
    if own.resource_name.is_empty() {
        return Err(invalid("Invalid empty resource name".to_string()));
    }
    let resource_type = ResourceType::from_code(own.resource_type);
    let pattern_type = PatternType::from_code(own.resource_pattern_type);
    let operation = Operation::from_code(own.operation);
    let permission = Permission::from_code(own.permission_type);
    let acl = Acl {
        resource_type: resource_type.ok_or_else(|| bad("resourceType", own.resource_type))?,
        pattern_type: pattern_type.ok_or_else(|| bad("patternType", own.resource_pattern_type))?,
        resource_name: own.resource_name,
        operation: operation.ok_or_else(|| bad("operation", own.operation))?,
        permission: permission.ok_or_else(|| bad("permissionType", own.permission_type))?,
        principal: own.principal,
        host: own.host,
    };
    if !acl.principal.contains(':') {
        return Err(invalid(format!(
            "Could not parse principal from `{}` (no colon is present separating the principal \
             type from the principal name)",
            acl.principal
        )));
    }
    check_host(&acl.host)?;
    Ok(acl)
}

/// An address, a range of addresses, or `*`. What has no slash is compared as it is.
fn check_host(host: &str) -> Result<(), (ErrorCode, String)> {
    let invalid = |why| Err((ErrorCode::INVALID_REQUEST, why));
    if host.is_empty() {
        return invalid("Host pattern cannot be null or empty".to_string());
    }
    if !host.contains('/') {
        return Ok(());
    }
    check_address_range(host).or_else(|why| {
        let why = format!("Invalid CIDR notation '{host}': {why}");
        invalid(why)
    })
}
