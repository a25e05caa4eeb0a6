//! The broker's own configuration.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::config_def::{self, BROKER_CONFIGS};
use super::config_kind;
use super::settings::GroupBounds;
use crate::authorizer::StandardAuthorizer;

/// The only authorizer that there is here.
const STANDARD_AUTHORIZER: &str = "org.apache.kafka.metadata.authorizer.StandardAuthorizer";

/// Broker configuration by Kafka's names, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerConfig {
    values: BTreeMap<&'static str, String>,
    unknown: Vec<String>,
    host: String,
    port: i32,
}

impl Default for BrokerConfig {
    fn default() -> Self {
        let (values, unknown) = (BTreeMap::new(), Vec::new());
        BrokerConfig {
            values,
            unknown,
            host: "127.0.0.1".to_string(),
            port: 9092,
        }
    }
}

impl BrokerConfig {
    /// From names and values; later ones win. Names that have no effect here are collected in
    /// [`BrokerConfig::unknown`].
    ///
    /// # Errors
    /// A sentence that names the first value that is not allowed.
    pub fn from_pairs<I, K, V>(pairs: I) -> Result<Self, String>
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<str>,
        V: Into<String>,
    {
        let mut config = BrokerConfig::default();
        for (name, value) in pairs {
            let Some(def) = config_def::find(BROKER_CONFIGS, name.as_ref()) else {
                config.unknown.push(name.as_ref().to_string());
                continue;
            };
            let value: String = value.into();
            def.check(&value)?;
            config.values.insert(def.name, value.trim().to_string());
        }
        config.check_advertised()?;
        config.check_group_defaults()?;
        config.authorizer()?;
        Ok(config)
    }

    /// What `authorizer.class.name`, `super.users` and `allow.everyone.if.no.acl.found` ask for;
    /// `None`: everybody may do everything.
    ///
    /// # Errors
    /// A sentence about an authorizer that does not exist here, or a super user that is no principal.
    pub fn authorizer(&self) -> Result<Option<StandardAuthorizer>, String> {
        let open = self.boolean("allow.everyone.if.no.acl.found");
        match self.text("authorizer.class.name") {
            "" => Ok(None),
            STANDARD_AUTHORIZER => {
                let standard = StandardAuthorizer::new(self.text("super.users"), open);
                let why = |why| format!("Invalid value for configuration super.users: {why}");
                standard.map(Some).map_err(why)
            }
            other => Err(format!(
                "Invalid value {other} for configuration authorizer.class.name: \
                 only {STANDARD_AUTHORIZER} is there"
            )),
        }
    }

    /// What holds where a group asks for nothing lies within the bounds of what it may ask for, and
    /// heartbeats come more than once in a session timeout.
    fn check_group_defaults(&self) -> Result<(), String> {
        for def in BROKER_CONFIGS {
            let (name, own) = (def.name, def.name.strip_prefix("group."));
            let Some((bounds, (kind, suffix))) =
                own.and_then(|own| Some((self.group_bounds(own)?, own.split_once('.')?)))
            else {
                continue;
            };
            let bound = |which| format!("group.{kind}.{which}.{suffix}");
            let (low, high) = (bound("min"), bound("max"));
            let value = self.number(name);
            let (wrong, than, bound) = match value {
                _ if bounds.high < bounds.low => (high.as_str(), "greater", &low),
                value if value < bounds.low => (name, "greater", &low),
                value if value > bounds.high => (name, "less", &high),
                _ => continue,
            };
            return Err(format!("{wrong} must be {than} than or equal to {bound}"));
        }
        for kind in ["consumer", "share"] {
            let heartbeat = format!("group.{kind}.heartbeat.interval.ms");
            let session = format!("group.{kind}.session.timeout.ms");
            if self.number(&heartbeat) >= self.number(&session) {
                return Err(format!("{heartbeat} must be less than {session}"));
            }
        }
        Ok(())
    }

    fn check_advertised(&mut self) -> Result<(), String> {
        let text = self.text("advertised.listeners").to_string();
        if text.is_empty() {
            return Ok(());
        }
        let bare = text
            .split_once("://")
            .map_or(text.as_str(), |(_, rest)| rest);
        let parsed = bare.rsplit_once(':').and_then(|(host, port)| {
            let port = port.parse::<u16>().ok()?;
            (!host.is_empty()).then(|| (host.to_string(), i32::from(port)))
        });
        let Some((host, port)) = parsed else {
            return Err(format!(
                "Invalid value {text} for configuration advertised.listeners: \
                 expected PLAINTEXT://HOST:PORT"
            ));
        };
        (self.host, self.port) = (host, port);
        Ok(())
    }

    /// Names that were given and have no effect.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// Where clients are told to connect, unless `advertised.listeners` says so already.
    pub fn set_advertised(&mut self, host: &str, port: u16) {
        if self.text("advertised.listeners").is_empty() {
            (self.host, self.port) = (host.to_string(), i32::from(port));
        }
    }

    /// Host that clients connect to.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port that clients connect to.
    pub fn port(&self) -> i32 {
        self.port
    }

    /// The value of a configuration of the table; its default where none is set.
    pub fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(value) => value,
            None => config_def::find(BROKER_CONFIGS, name).map_or("", |def| def.default),
        }
    }

    /// Whether a value was set.
    pub fn is_set(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// A number of the table.
    pub fn number(&self, name: &str) -> i64 {
        self.text(name).parse().unwrap_or_default()
    }

    /// Whether a configuration of the table is `true`.
    pub fn boolean(&self, name: &str) -> bool {
        config_kind::parse_boolean(self.text(name)) == Some(true)
    }

    /// A 32-bit number of the table.
    pub fn int(&self, name: &str) -> i32 {
        i32::try_from(self.number(name)).unwrap_or(i32::MAX)
    }

    /// A size of the table.
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.number(name)).unwrap_or_default()
    }

    /// `node.id`, or `broker.id` where only that is set.
    pub fn node_id(&self) -> i32 {
        let old = self.is_set("broker.id") && !self.is_set("node.id");
        self.int(if old { "broker.id" } else { "node.id" })
    }

    /// Bounds that the broker sets to what a group may ask for.
    pub fn group_bounds(&self, name: &str) -> Option<GroupBounds> {
        let (kind, suffix) = name.split_once('.')?;
        let low = format!("group.{kind}.min.{suffix}");
        let high = format!("group.{kind}.max.{suffix}");
        config_def::find(BROKER_CONFIGS, &low)?;
        config_def::find(BROKER_CONFIGS, &high)?;
        Some(GroupBounds {
            low: self.number(&low),
            high: self.number(&high),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_values_win_and_unknown_names_are_reported() {
        let pairs = [
            ("num.partitions", "3"),
            ("zookeeper.connect", "x"),
            ("num.partitions", "4"),
        ];
        let config = BrokerConfig::from_pairs(pairs).unwrap();
        assert_eq!(config.int("num.partitions"), 4);
        assert_eq!(config.unknown(), ["zookeeper.connect"]);
        assert_eq!(config.number("transaction.max.timeout.ms"), 900_000);
    }

    #[test]
    fn defaults_of_groups_lie_within_their_bounds() {
        let refused =
            |pairs: &[(&str, &str)]| BrokerConfig::from_pairs(pairs.iter().copied()).unwrap_err();
        let session = "group.share.session.timeout.ms";
        let below = refused(&[(session, "1000")]);
        let rule = "must be greater than or equal to group.share.min.session.timeout.ms";
        assert_eq!(below, format!("{session} {rule}"));
        let above = refused(&[("group.share.record.lock.duration.ms", "70000")]);
        let rule_above = "must be less than or equal to group.share.max.record.lock.duration.ms";
        assert_eq!(
            above,
            format!("group.share.record.lock.duration.ms {rule_above}")
        );
        let crossed = refused(&[("group.share.min.session.timeout.ms", "70000")]);
        assert_eq!(
            crossed,
            format!("group.share.max.session.timeout.ms {rule}")
        );
        let slow = refused(&[
            ("group.share.min.session.timeout.ms", "4000"),
            (session, "4000"),
        ]);
        assert_eq!(
            slow,
            format!("group.share.heartbeat.interval.ms must be less than {session}")
        );
        let both = [
            ("group.share.min.session.timeout.ms", "9000"),
            (session, "9000"),
        ];
        assert!(BrokerConfig::from_pairs(both).is_ok());
    }

    #[test]
    fn a_bad_value_is_refused_with_its_name() {
        let error = BrokerConfig::from_pairs([("num.partitions", "0")]).unwrap_err();
        assert!(
            error.contains("num.partitions") && error.contains("at least 1"),
            "{error}"
        );
        assert!(BrokerConfig::from_pairs([("advertised.listeners", "nowhere")]).is_err());
    }

    #[test]
    fn the_standard_authorizer_is_the_only_one() {
        let name = "authorizer.class.name";
        assert_eq!(BrokerConfig::default().authorizer(), Ok(None));
        let standard = [(name, STANDARD_AUTHORIZER), ("super.users", "User:admin")];
        let config = BrokerConfig::from_pairs(standard).unwrap();
        let expected = StandardAuthorizer::new("User:admin", false).unwrap();
        assert_eq!(config.authorizer(), Ok(Some(expected)));
        let other = BrokerConfig::from_pairs([(name, "kafka.security.authorizer.AclAuthorizer")]);
        assert!(other.unwrap_err().contains(STANDARD_AUTHORIZER));
        let nobody = [(name, STANDARD_AUTHORIZER), ("super.users", "admin")];
        let refused = BrokerConfig::from_pairs(nobody).unwrap_err();
        assert!(refused.contains("super.users"), "{refused}");
    }

    #[test]
    fn advertised_listeners_hold_against_the_bound_address() {
        let pairs = [("advertised.listeners", "PLAINTEXT://broker.example:19092")];
        let mut config = BrokerConfig::from_pairs(pairs).unwrap();
        config.set_advertised("127.0.0.1", 1);
        assert_eq!((config.host(), config.port()), ("broker.example", 19092));
    }
}
