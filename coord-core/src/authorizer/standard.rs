//! The rules of Kafka's StandardAuthorizer.

use ackord_proto::str::Str;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

use super::acl::{Operation, PatternType, Permission, ResourceType, WILDCARD};
use super::acls::{Acls, Rule};
use super::host;
use super::principal::Principal;

/// All users.
const ALL_USERS: &str = "User:*";

/// A name that no ACL is about, to ask what holds without one.
const NO_NAME: &str = "hardcode";

/// Who wants to do something, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor<'a> {
    /// `Type:name`.
    pub principal: &'a str,
    /// Address without port.
    pub host: &'a str,
}

/// Decides by ACLs: what is forbidden is forbidden, what is allowed is allowed, super users may do
/// everything, and all else nobody may, unless `allow.everyone.if.no.acl.found` says so for
/// resources that no ACL is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandardAuthorizer {
    super_users: BTreeSet<Str>,
    allows_without_acl: bool,
}

/// What was found for a decision.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    allowed: bool,
    denied: bool,
}

impl StandardAuthorizer {
    /// From `super.users` (`User:a;User:b`) and `allow.everyone.if.no.acl.found`.
    ///
    /// # Errors
    /// A sentence about a super user that is no principal.
    pub fn new(super_users: &str, allows_without_acl: bool) -> Result<Self, String> {
        let names = super_users.split(';').map(str::trim);
        let users = names.filter(|name| !name.is_empty()).map(|name| {
            let parsed = name.parse::<Principal>();
            parsed.map_err(|error| format!("{error} but got {name}"))?;
            Ok(Str::from(name))
        });
        Ok(StandardAuthorizer {
            super_users: users.collect::<Result<_, String>>()?,
            allows_without_acl,
        })
    }

    /// Whether somebody may do something with a resource.
    pub fn allows(
        &self,
        acls: &Acls,
        actor: Actor<'_>,
        operation: Operation,
        resource: (ResourceType, &str),
    ) -> bool {
        if self.super_users.contains(actor.principal) {
            return true;
        }
        let mut found = Found::default();
        for principal in principals_of(actor) {
            acls.for_each_rule(principal, resource, |rule| {
                if is_at(actor, rule) && covers(rule, operation) {
                    match rule.permission {
                        Permission::Allow => found.allowed = true,
                        Permission::Deny => found.denied = true,
                    }
                }
            });
        }
        match found {
            Found { denied: true, .. } => false,
            Found { allowed: true, .. } => true,
            Found { .. } => self.allows_without_acl && !acls.concern(resource.0, resource.1),
        }
    }

    /// Whether somebody may do something with any resource of a kind: an ACL allows it that no other
    /// one takes back as a whole.
    pub fn allows_any(
        &self,
        acls: &Acls,
        actor: Actor<'_>,
        operation: Operation,
        resource_type: ResourceType,
    ) -> bool {
        if self.allows(acls, actor, operation, (resource_type, NO_NAME)) {
            return true;
        }
        let rules = || {
            let principals = principals_of(actor);
            let all = principals.flat_map(|own| acls.rules_of(own, resource_type));
            all.filter(|(_, _, rule)| {
                is_at(actor, rule) && [operation, Operation::All].contains(&rule.operation)
            })
        };
        let denied = |pattern: PatternType| {
            let of_pattern = rules().filter(move |(own, _, rule)| {
                (*own, rule.permission) == (pattern, Permission::Deny)
            });
            of_pattern.map(|(_, name, _)| name).collect::<BTreeSet<_>>()
        };
        let literal = denied(PatternType::Literal);
        if literal.contains(WILDCARD) {
            return false;
        }
        let prefixed = denied(PatternType::Prefixed);
        let is_taken_back = |pattern: PatternType, name: &str| {
            (pattern == PatternType::Literal && literal.contains(name))
                || prefixed.iter().any(|prefix| name.starts_with(prefix))
        };
        rules().any(|(pattern, name, rule)| {
            rule.permission == Permission::Allow
                && ((pattern, name) == (PatternType::Literal, WILDCARD)
                    || !is_taken_back(pattern, name))
        })
    }
}

/// Those whose ACLs are somebody's.
fn principals_of(actor: Actor<'_>) -> impl Iterator<Item = &str> {
    let own = (actor.principal != ALL_USERS).then_some(actor.principal);
    own.into_iter().chain([ALL_USERS])
}

fn is_at(actor: Actor<'_>, rule: &Rule) -> bool {
    host::covers(&rule.host, actor.host)
}

/// Whether a rule is about an operation. Only what allows has implications: to forbid reading does
/// not forbid to see.
fn covers(rule: &Rule, operation: Operation) -> bool {
    use Operation as Op;
    let implied = match operation {
        Op::Describe => matches!(
            rule.operation,
            Op::Read | Op::Write | Op::Delete | Op::Alter
        ),
        Op::DescribeConfigs => rule.operation == Op::AlterConfigs,
        _ => false,
    };
    let same = rule.operation == Op::All || rule.operation == operation;
    same || (implied && rule.permission == Permission::Allow)
}

#[cfg(test)]
mod tests {
    use ackord_proto::uuid::Uuid;

    use super::super::acl::Acl;
    use super::*;

    const ALICE: Actor<'static> = Actor {
        principal: "User:alice",
        host: "10.0.0.1",
    };

    /// `+User:alice@* read topic orders`, `-... prefix ord`.
    fn acls(rules: &[(Permission, &str, &str, Operation, PatternType, &str)]) -> Acls {
        let mut acls = Acls::default();
        for (id, (permission, principal, host, operation, pattern_type, name)) in
            (1..).zip(rules.iter().copied())
        {
            let acl = Acl {
                resource_type: ResourceType::Topic,
                pattern_type,
                resource_name: Str::from(name),
                principal: Str::from(principal),
                host: Str::from(host),
                operation,
                permission,
            };
            acls.insert(Uuid([id; 16]), acl);
        }
        acls
    }

    fn may(acls: &Acls, operation: Operation, topic: &str) -> bool {
        let standard = StandardAuthorizer::default();
        standard.allows(acls, ALICE, operation, (ResourceType::Topic, topic))
    }

    use Operation as Op;
    use PatternType::{Literal, Prefixed};
    use Permission::{Allow, Deny};

    #[test]
    fn deny_wins_however_it_names_the_resource_or_the_user() {
        for (who, pattern, name) in [
            ("User:alice", Literal, "orders"),
            ("User:*", Literal, "orders"),
            ("User:alice", Literal, "*"),
            ("User:alice", Prefixed, "ord"),
        ] {
            let acls = acls(&[
                (Allow, "User:alice", "*", Op::Read, Literal, "orders"),
                (Deny, who, "*", Op::Read, pattern, name),
            ]);
            assert!(!may(&acls, Op::Read, "orders"), "{who} {pattern:?} {name}");
        }
    }

    #[test]
    fn what_is_allowed_is_allowed_by_name_prefix_or_wildcard() {
        for (who, pattern, name) in [
            ("User:alice", Literal, "orders"),
            ("User:*", Prefixed, "o"),
            ("User:*", Literal, "*"),
        ] {
            let acls = acls(&[(Allow, who, "*", Op::Write, pattern, name)]);
            assert!(may(&acls, Op::Write, "orders"), "{who} {pattern:?} {name}");
            assert!(!may(&acls, Op::Read, "orders"));
        }
        let others = acls(&[
            (Allow, "User:bob", "*", Op::Read, Literal, "orders"),
            (Allow, "User:alice", "10.0.0.2", Op::Read, Literal, "orders"),
            (Allow, "User:alice", "*", Op::Read, Literal, "order"),
            (Allow, "User:alice", "*", Op::Read, Prefixed, "orders-"),
        ]);
        assert!(!may(&others, Op::Read, "orders"));
    }

    #[test]
    fn to_allow_implies_to_describe_and_to_forbid_does_not() {
        for operation in [Op::Read, Op::Write, Op::Delete, Op::Alter, Op::All] {
            let allowed = acls(&[(Allow, "User:alice", "*", operation, Literal, "t")]);
            assert!(may(&allowed, Op::Describe, "t"), "{operation:?}");
        }
        let configs = acls(&[(Allow, "User:alice", "*", Op::AlterConfigs, Literal, "t")]);
        assert!(may(&configs, Op::DescribeConfigs, "t"));
        assert!(!may(&configs, Op::Describe, "t"));
        let forbidden = acls(&[
            (Allow, "User:alice", "*", Op::Describe, Literal, "t"),
            (Deny, "User:alice", "*", Op::Read, Literal, "t"),
        ]);
        assert!(may(&forbidden, Op::Describe, "t"));
        let nothing = acls(&[
            (Allow, "User:alice", "*", Op::Describe, Literal, "t"),
            (Deny, "User:alice", "*", Op::All, Literal, "t"),
        ]);
        assert!(!may(&nothing, Op::Describe, "t"));
    }

    #[test]
    fn super_users_may_everything_and_others_where_nothing_is_said() {
        let acls = acls(&[
            (Deny, "User:alice", "*", Op::All, Literal, "*"),
            (Allow, "User:bob", "*", Op::Read, Prefixed, "or"),
        ]);
        let own = StandardAuthorizer::new(" User:alice ;User:c=d", false).unwrap();
        assert!(own.allows(&acls, ALICE, Op::Read, (ResourceType::Topic, "orders")));
        assert!(StandardAuthorizer::new("alice", false).is_err());
        let open = StandardAuthorizer::new("", true).unwrap();
        let group = (ResourceType::Group, "g");
        assert!(open.allows(&acls, ALICE, Op::Read, group));
        assert!(!open.allows(&acls, ALICE, Op::Read, (ResourceType::Topic, "t")));
        let closed = StandardAuthorizer::default();
        assert!(!closed.allows(&acls, ALICE, Op::Read, group));
    }

    #[test]
    fn any_resource_will_do_unless_another_acl_takes_it_back() {
        let standard = StandardAuthorizer::default();
        let any =
            |rules: &[_]| standard.allows_any(&acls(rules), ALICE, Op::Write, ResourceType::Topic);
        let allow = |pattern, name| (Allow, "User:alice", "*", Op::Write, pattern, name);
        let deny = |pattern, name| (Deny, "User:alice", "*", Op::Write, pattern, name);
        assert!(!any(&[]));
        assert!(any(&[allow(Literal, "t")]));
        assert!(any(&[allow(Prefixed, "t"), deny(Literal, "t")]));
        assert!(!any(&[allow(Literal, "t"), deny(Literal, "t")]));
        assert!(!any(&[allow(Prefixed, "test"), deny(Prefixed, "te")]));
        assert!(!any(&[allow(Literal, "t"), deny(Literal, "*")]));
        assert!(any(&[allow(Literal, "*"), deny(Literal, "t")]));
        assert!(!any(&[(Allow, "User:alice", "*", Op::Read, Literal, "t")]));
    }
}
