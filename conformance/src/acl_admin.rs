//! Who may do what: reading the steps about ACLs, their requests, their answers as text.

use ackord_coord_core::authorizer::{
    CLUSTER_NAME, Operation, PatternType, Permission, ResourceType,
};
use ackord_proto::api::Response;
use ackord_proto::messages::create_acls::AclCreation;
use ackord_proto::messages::delete_acls::DeleteAclsFilter;
use ackord_proto::messages::{CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest};
use ackord_proto::str::Str;

use crate::answers::Codes;
use crate::client::Clients;
use crate::grammar::Words;
use crate::requests::Versioned;

/// Kafka's code for "whatever it is".
const ANY: i8 = 1;
/// The version of the three requests.
const VERSION: i16 = 3;

/// Operations by the names that scripts give them.
const OPERATIONS: [(&str, Operation); 12] = [
    ("all", Operation::All),
    ("read", Operation::Read),
    ("write", Operation::Write),
    ("create", Operation::Create),
    ("delete", Operation::Delete),
    ("alter", Operation::Alter),
    ("describe", Operation::Describe),
    ("cluster-action", Operation::ClusterAction),
    ("describe-configs", Operation::DescribeConfigs),
    ("alter-configs", Operation::AlterConfigs),
    ("idempotent-write", Operation::IdempotentWrite),
    ("two-phase-commit", Operation::TwoPhaseCommit),
];

/// Kinds of resources by the names that scripts give them.
const RESOURCES: [(&str, ResourceType); 4] = [
    ("topic", ResourceType::Topic),
    ("group", ResourceType::Group),
    ("cluster", ResourceType::Cluster),
    ("txn", ResourceType::TransactionalId),
];

/// `topic orders`, `topic ord*`, `topic *`, `cluster`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    kind: ResourceType,
    pattern: PatternType,
    name: String,
}

/// Which ACLs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    principal: Option<String>,
    resource: Option<Resource>,
}

/// A step about ACLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AclAdmin {
    /// CreateAcls.
    Create {
        /// Allowed or forbidden.
        permission: Permission,
        /// `User:alice`
        principal: String,
        /// What is done, one ACL for each.
        operations: Vec<Operation>,
        /// To what.
        resource: Resource,
        /// `host=`: from where.
        host: String,
    },
    /// DeleteAcls.
    Delete(Which),
    /// DescribeAcls.
    List(Which),
}

/// Reads what follows the name of a client; `None` where it is something else.
pub(crate) fn verb(
    name: &str,
    words: &mut Words<'_>,
    host: impl FnOnce() -> Option<String>,
) -> Result<Option<AclAdmin>, String> {
    let permission = match name {
        "allow" => Permission::Allow,
        "deny" => Permission::Deny,
        "delete-acls" => return which(words).map(AclAdmin::Delete).map(Some),
        "list-acls" => return which(words).map(AclAdmin::List).map(Some),
        _ => return Ok(None),
    };
    let principal = words.name("a principal such as User:alice")?;
    let names = words.next("operations such as read,write")?.split(',');
    let operations = names.map(|name| {
        let found = OPERATIONS.iter().find(|(own, _)| *own == name);
        found.map(|(_, operation)| *operation)
    });
    let operations: Option<Vec<_>> = operations.collect();
    Ok(Some(AclAdmin::Create {
        permission,
        principal,
        operations: operations.ok_or("there is no such operation")?,
        resource: resource(words)?,
        host: host().unwrap_or_else(|| "*".to_string()),
    }))
}

fn resource(words: &mut Words<'_>) -> Result<Resource, String> {
    let word = words.next("a resource such as topic orders")?;
    let kind = RESOURCES.iter().find(|(own, _)| *own == word);
    let (_, kind) = *kind.ok_or_else(|| format!("there is no resource `{word}`"))?;
    let name = match kind {
        ResourceType::Cluster => CLUSTER_NAME.to_string(),
        _ => words.name("the name of the resource")?,
    };
    let (pattern, name) = match name.strip_suffix('*') {
        Some(prefix) if !prefix.is_empty() => (PatternType::Prefixed, prefix.to_string()),
        _ => (PatternType::Literal, name),
    };
    Ok(Resource {
        kind,
        pattern,
        name,
    })
}

fn which(words: &mut Words<'_>) -> Result<Which, String> {
    let mut which = Which::default();
    if words.peek().is_some_and(|word| word.contains(':')) {
        which.principal = Some(words.name("a principal")?);
    }
    if words.peek().is_some() {
        which.resource = Some(resource(words)?);
    }
    Ok(which)
}

impl Clients {
    pub(crate) fn acl_admin(&self, verb: &AclAdmin) -> Versioned {
        match verb {
            AclAdmin::Create {
                permission,
                principal,
                operations,
                resource,
                host,
            } => {
                let creation = |operation: &Operation| AclCreation {
                    resource_type: resource.kind.code(),
                    resource_name: self.pattern_name(resource),
                    resource_pattern_type: resource.pattern.code(),
                    principal: principal.into(),
                    host: host.into(),
                    operation: operation.code(),
                    permission_type: permission.code(),
                    ..Default::default()
                };
                let request = CreateAclsRequest {
                    creations: operations.iter().map(creation).collect(),
                    ..Default::default()
                };
                (request.into(), VERSION)
            }
            AclAdmin::Delete(which) => {
                let DescribeAclsRequest {
                    resource_type_filter,
                    resource_name_filter,
                    pattern_type_filter,
                    principal_filter,
                    ..
                } = self.filter(which);
                let filter = DeleteAclsFilter {
                    resource_type_filter,
                    resource_name_filter,
                    pattern_type_filter,
                    principal_filter,
                    operation: ANY,
                    permission_type: ANY,
                    ..Default::default()
                };
                let request = DeleteAclsRequest {
                    filters: vec![filter],
                    ..Default::default()
                };
                (request.into(), VERSION)
            }
            AclAdmin::List(which) => (self.filter(which).into(), VERSION),
        }
    }

    /// The name that goes over the wire; a prefix stays one.
    fn pattern_name(&self, resource: &Resource) -> Str {
        let whole = resource.pattern == PatternType::Literal
            && resource.kind != ResourceType::Cluster
            && resource.name != "*";
        match whole {
            true => self.wire(&resource.name).into(),
            false => resource.name.as_str().into(),
        }
    }

    fn filter(&self, which: &Which) -> DescribeAclsRequest {
        let resource = which.resource.as_ref();
        DescribeAclsRequest {
            resource_type_filter: resource.map_or(ANY, |own| own.kind.code()),
            resource_name_filter: resource.map(|own| self.pattern_name(own)),
            pattern_type_filter: resource.map_or(ANY, |own| own.pattern.code()),
            principal_filter: which.principal.as_ref().map(Into::into),
            operation: ANY,
            permission_type: ANY,
            ..Default::default()
        }
    }

    /// The codes of an answer about ACLs.
    pub(crate) fn acl_codes(&self, response: &Response) -> Option<Codes> {
        Some(match response {
            Response::CreateAcls(response) => {
                let results = response.results.iter().enumerate();
                let parts = results.map(|(at, own)| (at.to_string(), own.error_code));
                Codes {
                    top: None,
                    parts: parts.collect(),
                }
            }
            Response::DeleteAcls(response) => {
                let results = response.filter_results.iter().enumerate();
                let parts = results.map(|(at, own)| (at.to_string(), own.error_code));
                Codes {
                    top: None,
                    parts: parts.collect(),
                }
            }
            Response::DescribeAcls(response) => Codes::top(response.error_code),
            _ => return None,
        })
    }

    /// The ACLs of an answer as one line, in order: `allow User:alice read topic orders`.
    pub(crate) fn acl_text(&self, response: &Response) -> Option<String> {
        let mut lines: Vec<String> = match response {
            Response::DeleteAcls(response) => {
                let results = response.filter_results.iter();
                let acls = results.flat_map(|own| &own.matching_acls);
                acls.map(|own| {
                    let resource = (own.resource_type, own.pattern_type, &own.resource_name);
                    let entry = (&own.principal, &own.host);
                    self.acl_line(resource, entry, (own.operation, own.permission_type))
                })
                .collect()
            }
            Response::DescribeAcls(response) => {
                let resources = response.resources.iter();
                resources
                    .flat_map(|resource| {
                        let named = (
                            resource.resource_type,
                            resource.pattern_type,
                            &resource.resource_name,
                        );
                        resource.acls.iter().map(move |own| {
                            let entry = (&own.principal, &own.host);
                            self.acl_line(named, entry, (own.operation, own.permission_type))
                        })
                    })
                    .collect()
            }
            _ => return None,
        };
        lines.sort();
        Some(match lines.is_empty() {
            true => "nothing".to_string(),
            false => lines.join(", "),
        })
    }

    fn acl_line(
        &self,
        (kind, pattern, name): (i8, i8, &Str),
        (principal, host): (&Str, &Str),
        (operation, permission): (i8, i8),
    ) -> String {
        let word = match Permission::from_code(permission) {
            Some(Permission::Allow) => "allow",
            Some(Permission::Deny) => "deny",
            None => "unknown",
        };
        let operations = OPERATIONS.iter();
        let mut named = operations.filter(|(_, own)| own.code() == operation);
        let operation = named.next().map_or("unknown", |(name, _)| name);
        let mut resources = RESOURCES.iter().filter(|(_, own)| own.code() == kind);
        let resource = resources.next().map_or("unknown", |(name, _)| name);
        let mut text = format!("{word} {principal} {operation} {resource}");
        if kind != ResourceType::Cluster.code() {
            text += &format!(" {}", self.plain(name));
        }
        if pattern == PatternType::Prefixed.code() {
            text += "*";
        }
        if *host != "*" {
            text += &format!(" from {host}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_names_prefixes_or_all() {
        let read = |text: &str| resource(&mut Words::new(text)).map(|own| (own.pattern, own.name));
        let all = |pattern, name: &str| Ok((pattern, name.to_string()));
        assert_eq!(read("topic orders"), all(PatternType::Literal, "orders"));
        assert_eq!(read("group ord*"), all(PatternType::Prefixed, "ord"));
        assert_eq!(read("txn *"), all(PatternType::Literal, "*"));
        assert_eq!(read("cluster"), all(PatternType::Literal, CLUSTER_NAME));
        assert!(read("user alice").is_err());
        let which = which(&mut Words::new("User:alice")).unwrap();
        assert_eq!(which.principal.as_deref(), Some("User:alice"));
        assert!(verb("allow", &mut Words::new("User:a fly topic t"), || None).is_err());
    }
}
