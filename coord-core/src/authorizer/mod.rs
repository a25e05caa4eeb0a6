//! Who may do what: ACLs, and how Kafka's StandardAuthorizer reads them (KIP-11, KIP-290, KIP-801).
//!
//! [`Acls`] are part of the cluster's metadata; a [`StandardAuthorizer`] is what the broker's
//! configuration makes of them. It decides on an operation on one resource for whoever speaks on a
//! connection: a [`Principal`] at an address. What each request needs is in `broker/access`.

mod acl;
mod acls;
mod filter;
mod host;
mod principal;
mod standard;

pub use acl::{Acl, Operation, PatternType, Permission, ResourceType, WILDCARD};
pub use acls::Acls;
pub use filter::{AclFilter, UnknownFilter};
pub use host::check_address_range;
pub use principal::{InvalidPrincipal, Principal};
pub use standard::{Actor, StandardAuthorizer};

/// The name of the one resource of type [`ResourceType::Cluster`].
pub const CLUSTER_NAME: &str = "kafka-cluster";
