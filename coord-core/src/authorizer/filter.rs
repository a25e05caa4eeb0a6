//! Which ACLs somebody asks for (DescribeAcls, DeleteAcls).

use ackord_proto::str::Str;

use super::acl::{Acl, Operation, PatternType, Permission, ResourceType, WILDCARD};

/// Kafka's code for "whatever it is", in each of its enumerations.
const ANY: i8 = 1;
/// Kafka's code of a pattern type: every pattern that stands for the name.
const MATCH: i8 = 2;

/// How the name of a filter is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternFilter {
    Any,
    Match,
    Only(PatternType),
}

/// What ACLs have to be; `None` asks for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclFilter {
    resource_type: Option<ResourceType>,
    resource_name: Option<Str>,
    pattern: PatternFilter,
    principal: Option<Str>,
    host: Option<Str>,
    operation: Option<Operation>,
    permission: Option<Permission>,
}

/// Which part of a filter has a code that nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFilter {
    /// Principal, host, operation or permission.
    Entry,
    /// Type, name or pattern of the resource.
    Pattern,
}

/// A code of the wire, where [`ANY`] asks for nothing.
fn wanted<T>(code: i8, known: Option<T>) -> Result<Option<T>, ()> {
    match known {
        Some(known) => Ok(Some(known)),
        None if code == ANY => Ok(None),
        None => Err(()),
    }
}

impl AclFilter {
    /// From the codes of a request: type, name and pattern of the resource, then principal, host,
    /// operation and permission.
    ///
    /// # Errors
    /// A code that is not known.
    pub fn new(
        (resource_type, resource_name, pattern): (i8, Option<Str>, i8),
        (principal, host, operation, permission): (Option<Str>, Option<Str>, i8, i8),
    ) -> Result<Self, UnknownFilter> {
        let of_pattern = |()| UnknownFilter::Pattern;
        let of_entry = |()| UnknownFilter::Entry;
        let pattern = match (pattern, PatternType::from_code(pattern)) {
            (_, Some(only)) => PatternFilter::Only(only),
            (ANY, None) => PatternFilter::Any,
            (MATCH, None) => PatternFilter::Match,
            _ => return Err(UnknownFilter::Pattern),
        };
        Ok(AclFilter {
            resource_type: wanted(resource_type, ResourceType::from_code(resource_type))
                .map_err(of_pattern)?,
            resource_name,
            pattern,
            principal,
            host,
            operation: wanted(operation, Operation::from_code(operation)).map_err(of_entry)?,
            permission: wanted(permission, Permission::from_code(permission)).map_err(of_entry)?,
        })
    }

    /// Whether an ACL is as wanted.
    pub fn matches(&self, acl: &Acl) -> bool {
        fn fits<T: PartialEq>(wanted: &Option<T>, own: &T) -> bool {
            wanted.as_ref().is_none_or(|wanted| wanted == own)
        }
        fits(&self.resource_type, &acl.resource_type)
            && self.names(acl)
            && fits(&self.principal, &acl.principal)
            && fits(&self.host, &acl.host)
            && fits(&self.operation, &acl.operation)
            && fits(&self.permission, &acl.permission)
    }

    fn names(&self, acl: &Acl) -> bool {
        if let PatternFilter::Only(only) = self.pattern
            && only != acl.pattern_type
        {
            return false;
        }
        let Some(name) = &self.resource_name else {
            return true;
        };
        let same = *name == acl.resource_name;
        match (self.pattern, acl.pattern_type) {
            (PatternFilter::Any | PatternFilter::Only(_), _) => same,
            (PatternFilter::Match, PatternType::Literal) => same || acl.resource_name == WILDCARD,
            (PatternFilter::Match, PatternType::Prefixed) => {
                name.starts_with(acl.resource_name.as_str())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_topic(pattern_type: PatternType, name: &str) -> Acl {
        Acl {
            resource_type: ResourceType::Topic,
            pattern_type,
            resource_name: Str::from(name),
            principal: Str::from("User:alice"),
            host: Str::from("*"),
            operation: Operation::Read,
            permission: Permission::Allow,
        }
    }

    fn filter(name: Option<&str>, pattern: i8) -> AclFilter {
        let name = name.map(Str::from);
        AclFilter::new((2, name, pattern), (None, None, 1, 1)).expect("known codes")
    }

    #[test]
    fn a_name_is_compared_as_the_pattern_type_says() {
        let all = [
            on_topic(PatternType::Literal, "orders"),
            on_topic(PatternType::Literal, "*"),
            on_topic(PatternType::Prefixed, "ord"),
            on_topic(PatternType::Prefixed, "orders"),
        ];
        let found = |name, pattern| -> Vec<bool> {
            let filter = filter(name, pattern);
            all.iter().map(|acl| filter.matches(acl)).collect()
        };
        assert_eq!(found(Some("orders"), 1), [true, false, false, true]);
        assert_eq!(found(Some("orders"), 2), [true, true, true, true]);
        assert_eq!(found(Some("orders"), 3), [true, false, false, false]);
        assert_eq!(found(Some("orders"), 4), [false, false, false, true]);
        assert_eq!(found(None, 4), [false, false, true, true]);
        assert_eq!(found(Some("ordinary"), 2), [false, true, true, false]);
    }

    #[test]
    fn unknown_codes_are_told_apart() {
        let of = |resource, pattern, operation, permission| {
            AclFilter::new(
                (resource, None, pattern),
                (None, None, operation, permission),
            )
            .err()
        };
        assert_eq!(of(99, 1, 1, 1), Some(UnknownFilter::Pattern));
        assert_eq!(of(1, 0, 1, 1), Some(UnknownFilter::Pattern));
        assert_eq!(of(1, 1, 99, 1), Some(UnknownFilter::Entry));
        assert_eq!(of(1, 1, 1, 0), Some(UnknownFilter::Entry));
        assert_eq!(of(1, 1, 1, 1), None);
    }

    use alloc::vec::Vec;
}
