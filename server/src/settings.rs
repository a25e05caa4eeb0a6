//! Flags, `--set` and file in one.

use std::fmt;
use std::path::PathBuf;

use ackord_machine::Limits;

use crate::address::Address;
use crate::flags::{Durability, ServeFlags};
use crate::logging::Level;
use crate::properties;

const LISTEN: &str = "127.0.0.1:9092";
const DATA_DIR: &str = "ackord-data";

/// Configurations of which the host takes care; the core may know them too.
const HOST_CONFIGS: [&str; 10] = [
    "advertised.listeners",
    "connections.max.idle.ms",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "max.connections",
    "process.roles",
    "queued.max.request.bytes",
    "socket.request.max.bytes",
];

/// What the broker runs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where to listen.
    pub listen: Address,
    /// Where operators are answered, if anywhere.
    pub admin: Option<Address>,
    /// Where everything is kept.
    pub data_dir: PathBuf,
    /// When an acknowledged write is kept.
    pub durability: Durability,
    /// Broker configurations by their Kafka names, later ones before earlier ones in weight.
    pub configs: Vec<(String, String)>,
    /// How much is logged.
    pub log_level: Level,
    /// What was given and has no effect.
    pub warnings: Vec<String>,
}

/// Settings that cannot be used; the text says where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Reads the file that the flags name, if any, and puts everything together.
    ///
    /// # Errors
    ///
    /// A sentence for the operator.
    pub fn from_flags(flags: ServeFlags) -> Result<Self, SettingsError> {
        let mut configs = match &flags.config {
            Some(path) => {
                let shown = path.display();
                let text = std::fs::read_to_string(path).map_err(|error| {
                    SettingsError(format!(
                        "the configuration file {shown} cannot be read: {error}"
                    ))
                })?;
                properties::parse(&text).map_err(|error| {
                    SettingsError(format!("the configuration file {shown} is wrong: {error}"))
                })?
            }
            None => Vec::new(),
        };
        configs.extend(flags.set.iter().cloned());
        Self::combine(flags, configs)
    }

    fn combine(
        flags: ServeFlags,
        mut configs: Vec<(String, String)>,
    ) -> Result<Self, SettingsError> {
        let mut warnings = Vec::new();
        let listener = listener(&configs, &mut warnings)?;
        normalise_advertised(&mut configs, &listener.name);
        let listen = flags.listen.or(listener.address);
        let data_dir = flags.data_dir.or_else(|| log_dir(&configs, &mut warnings));
        Ok(Settings {
            listen: match listen {
                Some(listen) => listen,
                None => LISTEN
                    .parse()
                    .map_err(|error| SettingsError(format!("{error}")))?,
            },
            admin: flags.admin,
            data_dir: data_dir.unwrap_or_else(|| DATA_DIR.into()),
            durability: flags.durability.unwrap_or_default(),
            configs,
            log_level: flags.log_level.unwrap_or(Level::Info),
            warnings,
        })
    }

    /// The limits of the core, as far as configurations set them.
    ///
    /// # Errors
    ///
    /// A number that is none.
    pub fn limits(&self) -> Result<Limits, SettingsError> {
        let mut limits = Limits::default();
        for (name, limit) in [
            ("socket.request.max.bytes", &mut limits.frame_bytes),
            ("max.connections", &mut limits.connections),
        ] {
            if let Some(text) = last(&self.configs, name) {
                let number = text.parse::<i32>().ok().filter(|number| *number > 0);
                let number = number.and_then(|number| usize::try_from(number).ok());
                *limit = number.ok_or_else(|| {
                    SettingsError(format!(
                        "{name} is {text:?}, but has to be a positive number"
                    ))
                })?;
            }
        }
        self.host_limits(&mut limits)?;
        Ok(limits)
    }

    /// Limits that 0 or less switch off.
    fn host_limits(&self, limits: &mut Limits) -> Result<(), SettingsError> {
        limits.request_bytes = match self.long("queued.max.request.bytes")? {
            None => limits.request_bytes.max(limits.frame_bytes),
            Some(bytes) => match usize::try_from(bytes) {
                Ok(bytes) if bytes > 0 => bytes,
                _ => usize::MAX,
            },
        };
        if limits.request_bytes < limits.frame_bytes {
            return Err(SettingsError(format!(
                "queued.max.request.bytes is {}, but has to be at least socket.request.max.bytes, \
                 which is {}; -1 means no bound",
                limits.request_bytes, limits.frame_bytes
            )));
        }
        if let Some(millis) = self.long("connections.max.idle.ms")? {
            limits.idle_ms = u64::try_from(millis).ok();
        }
        Ok(())
    }

    fn long(&self, name: &str) -> Result<Option<i64>, SettingsError> {
        let Some(text) = last(&self.configs, name) else {
            return Ok(None);
        };
        let number = text.parse::<i64>().map_err(|_| {
            SettingsError(format!("{name} is {text:?}, but has to be a whole number"))
        })?;
        Ok(Some(number))
    }

    /// Whether the host itself has a use for a configuration.
    pub(crate) fn is_host_config(name: &str) -> bool {
        HOST_CONFIGS.contains(&name)
    }
}

/// The value that counts: later ones win.
fn last<'a>(configs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    configs
        .iter()
        .rev()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.trim())
}

/// A listener of `listeners`: its name, and its address where one was given.
struct Listener {
    name: String,
    address: Option<Address>,
}

fn entries(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(',')
        .filter_map(|entry| entry.trim().split_once("://"))
}

/// The first plaintext listener for clients.
fn listener(
    configs: &[(String, String)],
    warnings: &mut Vec<String>,
) -> Result<Listener, SettingsError> {
    let Some(text) = last(configs, "listeners") else {
        return Ok(Listener {
            name: "PLAINTEXT".to_owned(),
            address: None,
        });
    };
    let map = last(configs, "listener.security.protocol.map").unwrap_or_default();
    let plain = |name: &str| {
        let mapped = map
            .split(',')
            .filter_map(|entry| entry.trim().split_once(':'));
        let protocol = mapped
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value)
            .next_back();
        protocol.unwrap_or(name) == "PLAINTEXT" && name != "CONTROLLER"
    };
    let mut plaintext = entries(text).filter(|(name, _)| plain(name));
    let (name, address) = plaintext.next().ok_or_else(|| {
        SettingsError(format!(
            "listeners is {text:?}, but this broker needs a listener PLAINTEXT://HOST:PORT"
        ))
    })?;
    if text.split(',').count() > 1 {
        warnings.push(format!(
            "only the first plaintext one of the listeners {text} is used"
        ));
    }
    let address = address
        .parse()
        .map_err(|error| SettingsError(format!("listeners is {text:?}: {error}")))?;
    Ok(Listener {
        name: name.to_owned(),
        address: Some(address),
    })
}

/// Leaves the one advertised listener that belongs to the listener in use.
fn normalise_advertised(configs: &mut Vec<(String, String)>, listener: &str) {
    let Some(text) = last(configs, "advertised.listeners") else {
        return;
    };
    let chosen = entries(text).find(|(name, _)| *name == listener);
    let value = chosen.map(|(_, address)| format!("PLAINTEXT://{address}"));
    if let Some(value) = value {
        configs.push(("advertised.listeners".to_owned(), value));
    }
}

/// `log.dirs`, else `log.dir`.
fn log_dir(configs: &[(String, String)], warnings: &mut Vec<String>) -> Option<PathBuf> {
    let text = last(configs, "log.dirs").or_else(|| last(configs, "log.dir"))?;
    let mut dirs = text.split(',').map(str::trim).filter(|dir| !dir.is_empty());
    let first = dirs.next()?;
    if dirs.next().is_some() {
        warnings.push(format!("only the first of the log.dirs {text} is used"));
    }
    Some(first.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(flags: ServeFlags, pairs: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let pairs = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Settings::combine(flags, pairs.collect())
    }

    #[test]
    fn nothing_given_means_the_defaults() {
        let settings = settings(ServeFlags::default(), &[]).unwrap();
        assert_eq!(settings.listen.to_string(), LISTEN);
        assert_eq!(settings.data_dir, PathBuf::from(DATA_DIR));
        assert_eq!(settings.durability, Durability::Sync);
        assert_eq!(settings.limits().unwrap(), Limits::default());
    }

    #[test]
    fn a_flag_counts_more_than_a_set_and_that_more_than_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("server.properties");
        let text = "listeners=PLAINTEXT://a:1\nlog.dirs=/one\nnum.partitions=2\n";
        std::fs::write(&file, text).unwrap();
        let set = vec![("listeners".to_owned(), "PLAINTEXT://b:2".to_owned())];
        let flags = ServeFlags {
            config: Some(file),
            set,
            ..ServeFlags::default()
        };
        let settings = Settings::from_flags(flags.clone()).unwrap();
        assert_eq!(settings.listen.to_string(), "b:2");
        assert_eq!(settings.data_dir, PathBuf::from("/one"));
        assert_eq!(last(&settings.configs, "num.partitions"), Some("2"));
        let listen = Some("c:3".parse().unwrap());
        let data_dir = Some("/two".into());
        let flags = ServeFlags {
            listen,
            data_dir,
            ..flags
        };
        let settings = Settings::from_flags(flags).unwrap();
        assert_eq!(settings.listen.to_string(), "c:3");
        assert_eq!(settings.data_dir, PathBuf::from("/two"));
    }

    #[test]
    fn a_file_that_is_absent_or_wrong_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("server.properties");
        let flags = ServeFlags {
            config: Some(file.clone()),
            ..ServeFlags::default()
        };
        let error = Settings::from_flags(flags.clone()).unwrap_err().to_string();
        assert!(
            error.contains("server.properties cannot be read"),
            "{error}"
        );
        std::fs::write(&file, "a=1\nb=\\u00\n").unwrap();
        let error = Settings::from_flags(flags).unwrap_err().to_string();
        assert!(
            error.contains("server.properties is wrong: line 2"),
            "{error}"
        );
    }

    #[test]
    fn the_plaintext_listener_is_chosen() {
        let flags = ServeFlags::default;
        let combined = settings(
            flags(),
            &[
                ("listeners", "CONTROLLER://:9093,EXTERNAL://0.0.0.0:9094"),
                (
                    "listener.security.protocol.map",
                    "CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT",
                ),
                (
                    "advertised.listeners",
                    "INTERNAL://x:1,EXTERNAL://broker.example:19094",
                ),
            ],
        )
        .unwrap();
        assert_eq!(combined.listen.to_string(), "0.0.0.0:9094");
        let advertised = last(&combined.configs, "advertised.listeners");
        assert_eq!(advertised, Some("PLAINTEXT://broker.example:19094"));
        assert_eq!(combined.warnings.len(), 1);
        let error = settings(flags(), &[("listeners", "SSL://:9093")]).unwrap_err();
        assert!(
            error.to_string().contains("PLAINTEXT://HOST:PORT"),
            "{error}"
        );
    }

    #[test]
    fn limits_follow_the_configurations() {
        let flags = ServeFlags::default;
        let small = settings(flags(), &[("socket.request.max.bytes", "1000")]).unwrap();
        assert_eq!(small.limits().unwrap().frame_bytes, 1000);
        let none = settings(
            flags(),
            &[
                ("queued.max.request.bytes", "-1"),
                ("connections.max.idle.ms", "-1"),
            ],
        );
        let none = none.unwrap().limits().unwrap();
        assert_eq!((none.request_bytes, none.idle_ms), (usize::MAX, None));
        let less = settings(flags(), &[("queued.max.request.bytes", "1000")]).unwrap();
        let error = less.limits().unwrap_err().to_string();
        assert!(error.contains("socket.request.max.bytes"), "{error}");
        let bad = settings(flags(), &[("max.connections", "-1")]).unwrap();
        assert!(
            bad.limits()
                .unwrap_err()
                .to_string()
                .contains("max.connections")
        );
    }
}
