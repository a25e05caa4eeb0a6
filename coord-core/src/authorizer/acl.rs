//! One ACL: a principal at a host may, or may not, do something with what a pattern names.

use ackord_proto::str::Str;

/// Any resource, any host; in a principal (`User:*`) any name.
pub const WILDCARD: &str = "*";

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $code:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(i8)]
        pub enum $name {
            $($(#[$about])* $variant = $code,)*
        }

        impl $name {
            /// Kafka's code of it.
            pub const fn code(self) -> i8 {
                self as i8
            }

            /// By Kafka's code; not those that stand for any or unknown.
            pub const fn from_code(code: i8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// What is done to a resource.
    Operation {
        /// Every operation; in an ACL only.
        All = 2,
        /// Reads records, or is a member of a group.
        Read = 3,
        /// Writes records, or transactions.
        Write = 4,
        /// Creates.
        Create = 5,
        /// Deletes.
        Delete = 6,
        /// Changes.
        Alter = 7,
        /// Sees that it is there. Whoever may read, write, delete or alter may that too.
        Describe = 8,
        /// What brokers do among themselves.
        ClusterAction = 9,
        /// Sees configurations. Whoever may alter them may that too.
        DescribeConfigs = 10,
        /// Changes configurations.
        AlterConfigs = 11,
        /// Writes as an idempotent producer.
        IdempotentWrite = 12,
        /// Creates delegation tokens of a user.
        CreateTokens = 13,
        /// Sees delegation tokens of a user.
        DescribeTokens = 14,
        /// Takes part in two-phase commit (KIP-939).
        TwoPhaseCommit = 15,
    }
}

codes! {
    /// What kind of resource.
    ResourceType {
        /// A topic.
        Topic = 2,
        /// A group, of whatever type.
        Group = 3,
        /// The cluster.
        Cluster = 4,
        /// A transactional id.
        TransactionalId = 5,
        /// A delegation token.
        DelegationToken = 6,
        /// A user, as the owner of delegation tokens.
        User = 7,
    }
}

codes! {
    /// How the name of an ACL stands for resources (KIP-290).
    PatternType {
        /// The resource of this name; `*` for all.
        Literal = 3,
        /// All whose names begin with it.
        Prefixed = 4,
    }
}

codes! {
    /// Whether an ACL forbids or allows.
    Permission {
        /// Forbids; that wins.
        Deny = 2,
        /// Allows.
        Allow = 3,
    }
}

/// One ACL, without the id under which it is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acl {
    /// Kind of the resource.
    pub resource_type: ResourceType,
    /// How the name stands for resources.
    pub pattern_type: PatternType,
    /// Name or prefix of the resource; not empty.
    pub resource_name: Str,
    /// `Type:name`, such as `User:alice`; `User:*` for all users.
    pub principal: Str,
    /// Address of the peer; `*` for all.
    pub host: Str,
    /// What is done.
    pub operation: Operation,
    /// Forbidden or allowed.
    pub permission: Permission,
}
