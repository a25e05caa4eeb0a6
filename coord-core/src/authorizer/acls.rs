//! All ACLs of a cluster, so ordered that a decision looks only at those that concern it.

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::collections::{BTreeMap, BTreeSet};

use super::acl::{Acl, Operation, PatternType, Permission, ResourceType, WILDCARD};

/// What an ACL names: kind of resource, how its name is meant, the name.
type Pattern = (ResourceType, PatternType, Str);

/// What an ACL says of a principal and a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    pub(super) host: Str,
    pub(super) operation: Operation,
    pub(super) permission: Permission,
}

/// The ACLs of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acls {
    by_id: BTreeMap<Uuid, Acl>,
    ids: BTreeMap<Acl, Uuid>,
    /// Of each principal what is said of each pattern.
    by_principal: BTreeMap<Str, BTreeMap<Pattern, BTreeSet<Rule>>>,
    /// How many ACLs name a pattern, whoever they are about.
    patterns: BTreeMap<Pattern, usize>,
}

impl Acls {
    /// All, in the order of their resources.
    pub fn iter(&self) -> impl Iterator<Item = (&Acl, Uuid)> {
        self.ids.iter().map(|(acl, id)| (acl, *id))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Whether there is one that says exactly this.
    pub fn contains(&self, acl: &Acl) -> bool {
        self.ids.contains_key(acl)
    }

    /// Adds an ACL under an id. One that is there already, by its id or by what it says, goes first.
    pub fn insert(&mut self, id: Uuid, acl: Acl) {
        self.remove(id);
        if let Some(same) = self.ids.get(&acl).copied() {
            self.remove(same);
        }
        let pattern = pattern_of(&acl);
        *self.patterns.entry(pattern.clone()).or_default() += 1;
        self.by_principal
            .entry(acl.principal.clone())
            .or_default()
            .entry(pattern)
            .or_default()
            .insert(rule_of(&acl));
        self.ids.insert(acl.clone(), id);
        self.by_id.insert(id, acl);
    }

    /// Removes an ACL.
    pub fn remove(&mut self, id: Uuid) {
        let Some(acl) = self.by_id.remove(&id) else {
            return;
        };
        self.ids.remove(&acl);
        let pattern = pattern_of(&acl);
        if let Some(count) = self.patterns.get_mut(&pattern) {
            *count -= 1;
            if *count == 0 {
                self.patterns.remove(&pattern);
            }
        }
        let Some(own) = self.by_principal.get_mut(&acl.principal) else {
            return;
        };
        if let Some(rules) = own.get_mut(&pattern) {
            rules.remove(&rule_of(&acl));
            if rules.is_empty() {
                own.remove(&pattern);
            }
        }
        if own.is_empty() {
            self.by_principal.remove(&acl.principal);
        }
    }

    /// Whether any ACL is about the resource, whoever it speaks of.
    pub(super) fn concern(&self, resource_type: ResourceType, name: &str) -> bool {
        let mut found = false;
        for_each_match(&self.patterns, resource_type, name, |_| found = true);
        found
    }

    /// Everything that is said of a principal and a resource.
    pub(super) fn for_each_rule(
        &self,
        principal: &str,
        (resource_type, name): (ResourceType, &str),
        mut each: impl FnMut(&Rule),
    ) {
        if let Some(own) = self.by_principal.get(principal) {
            for_each_match(own, resource_type, name, |rules| {
                rules.iter().for_each(&mut each);
            });
        }
    }

    /// What is said of a principal and all patterns of a kind of resource.
    pub(super) fn rules_of(
        &self,
        principal: &str,
        resource_type: ResourceType,
    ) -> impl Iterator<Item = (PatternType, &str, &Rule)> {
        let own = self.by_principal.get(principal).into_iter().flatten();
        let of_type = own.filter(move |((own, ..), _)| *own == resource_type);
        of_type.flat_map(|((_, pattern, name), rules)| {
            rules.iter().map(|rule| (*pattern, name.as_str(), rule))
        })
    }
}

fn pattern_of(acl: &Acl) -> Pattern {
    let name = acl.resource_name.clone();
    (acl.resource_type, acl.pattern_type, name)
}

fn rule_of(acl: &Acl) -> Rule {
    Rule {
        host: acl.host.clone(),
        operation: acl.operation,
        permission: acl.permission,
    }
}

/// Everything under a pattern that stands for the resource: its name, `*`, each of its prefixes.
///
/// Of prefixes only those are looked at that share a beginning with the name: the greatest that is
/// not behind it either is one, or says how much of the name the next one can have at most.
fn for_each_match<T>(
    all: &BTreeMap<Pattern, T>,
    resource_type: ResourceType,
    name: &str,
    mut each: impl FnMut(&T),
) {
    let literal = |name: &str| (resource_type, PatternType::Literal, Str::from(name));
    let named = (name != WILDCARD)
        .then(|| all.get(&literal(name)))
        .flatten();
    named
        .into_iter()
        .chain(all.get(&literal(WILDCARD)))
        .for_each(&mut each);
    let prefixed = |name: &str| (resource_type, PatternType::Prefixed, Str::from(name));
    let first = prefixed("");
    let mut end = name.len();
    while end > 0 {
        let bound = prefixed(name.get(..end).unwrap_or_default());
        let Some(((_, _, prefix), found)) = all.range(&first..=&bound).next_back() else {
            return;
        };
        let shared = shared_length(name, prefix);
        let next = if shared == prefix.len() {
            each(found);
            shared.saturating_sub(1)
        } else {
            shared
        };
        end = (0..=next)
            .rev()
            .find(|at| name.is_char_boundary(*at))
            .unwrap_or_default();
    }
}

/// How many bytes two texts begin with in common.
fn shared_length(a: &str, b: &str) -> usize {
    let both = a.bytes().zip(b.bytes());
    both.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;

    fn acl(pattern_type: PatternType, name: &str) -> Acl {
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

    /// Names of the patterns that stand for a topic.
    fn found(prefixes: &[&str], name: &str) -> Vec<String> {
        let all = prefixes.iter().map(|prefix| {
            let pattern = (
                ResourceType::Topic,
                PatternType::Prefixed,
                Str::from(*prefix),
            );
            (pattern, String::from(*prefix))
        });
        let all: BTreeMap<Pattern, String> = all.collect();
        let mut found = Vec::new();
        for_each_match(&all, ResourceType::Topic, name, |own| {
            found.push(own.clone());
        });
        found
    }

    #[test]
    fn every_prefix_is_found_and_nothing_else() {
        let all = ["a", "ab", "abc", "abd", "ac", "b", "é", "éé", "abcde"];
        assert_eq!(found(&all, "abcd"), ["abc", "ab", "a"]);
        assert_eq!(found(&all, "abz"), ["ab", "a"]);
        assert_eq!(found(&all, "z"), [""; 0]);
        assert_eq!(found(&all, ""), [""; 0]);
        assert_eq!(found(&all, "ééa"), ["éé", "é"]);
        assert_eq!(found(&all, "éè"), ["é"]);
    }

    #[test]
    fn the_search_agrees_with_looking_at_all() {
        // Every word of up to four letters over two of them, as prefix and as name.
        let mut words: Vec<String> = Vec::from([String::new()]);
        for at in 0..15 {
            for letter in ["a", "b"] {
                words.push(format!("{}{letter}", words[at]));
            }
        }
        words.remove(0);
        for step in 1..5 {
            let prefixes: Vec<&str> = words.iter().step_by(step).map(String::as_str).collect();
            for name in &words {
                let mut expected: Vec<&str> = prefixes
                    .iter()
                    .copied()
                    .filter(|prefix| name.starts_with(prefix))
                    .collect();
                expected.sort_by_key(|prefix| core::cmp::Reverse(prefix.len()));
                assert_eq!(found(&prefixes, name), expected, "{name}");
            }
        }
    }

    #[test]
    fn what_was_removed_leaves_nothing_behind() {
        let mut acls = Acls::default();
        acls.insert(Uuid([1; 16]), acl(PatternType::Literal, "orders"));
        acls.insert(Uuid([2; 16]), acl(PatternType::Prefixed, "ord"));
        // The same under another id, another under the same id.
        acls.insert(Uuid([3; 16]), acl(PatternType::Literal, "orders"));
        acls.insert(Uuid([2; 16]), acl(PatternType::Prefixed, "or"));
        assert_eq!(acls.len(), 2);
        assert!(acls.contains(&acl(PatternType::Prefixed, "or")));
        assert!(!acls.contains(&acl(PatternType::Prefixed, "ord")));
        for id in 1..=3 {
            acls.remove(Uuid([id; 16]));
        }
        assert_eq!(acls, Acls::default());
    }
}
