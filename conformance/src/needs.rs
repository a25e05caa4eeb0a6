//! What a script asks of whoever runs it.

use crate::script::{Script, Step, Verb};

/// The configuration of a group that binds its acknowledgements to transactions.
const ACKNOWLEDGEMENT_MODE: &str = "share.acknowledgement.mode";

/// What a script asks of an arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Configurations or limits of its own.
    pub configs: bool,
    /// Steps of the clock.
    pub clock: bool,
    /// Crash or restart.
    pub crash: bool,
    /// Hold or faults of storage.
    pub storage: bool,
    /// Connections of somebody in particular.
    pub principals: bool,
    /// Acknowledgements in transactions (KIP-1289).
    pub share_acks: bool,
}

impl Script {
    /// What the steps ask of an arm.
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for line in &self.lines {
            match &line.step {
                Step::Advance { .. } => needs.clock = true,
                Step::Broker(_) | Step::Limits(_) => needs.configs = true,
                Step::Crash(_) | Step::Restart { .. } => needs.crash = true,
                Step::Storage(_) => needs.storage = true,
                Step::Client {
                    verb: Verb::Opens { .. },
                    ..
                } => needs.principals = true,
                Step::Client {
                    verb: Verb::AddShareAcks { .. } | Verb::OffsetAcks(_) | Verb::Stage { .. },
                    ..
                } => needs.share_acks = true,
                Step::Group { configs, .. } => {
                    let mode = |own: &(String, String)| own.0 == ACKNOWLEDGEMENT_MODE;
                    needs.share_acks |= configs.iter().any(mode);
                }
                _ => {}
            }
        }
        needs
    }
}
