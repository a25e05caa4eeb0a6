//! FindCoordinator: on one node every coordinator is here (KIP-699, KIP-932).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::find_coordinator::Coordinator;
use ackord_proto::messages::{FindCoordinatorRequest, FindCoordinatorResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::format;
use alloc::string::String;

use super::super::Broker;
use super::super::access::sentence;
use crate::authorizer::ResourceType;

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
const SHARE: i8 = 2;

/// From here on a request names several keys.
const FIRST_BATCHED: i16 = 4;
/// From here on share partitions have coordinators.
const FIRST_WITH_SHARE: i16 = 6;

impl Broker {
    pub(in crate::broker) fn find_coordinator(
        &mut self,
        slot: u64,
        request: FindCoordinatorRequest,
    ) {
        let Some(version) = self.connections.request(slot).map(|meta| meta.version) else {
            return;
        };
        let key_type = request.key_type;
        let response = if version < FIRST_BATCHED {
            let found = self.coordinator_of((slot, version), key_type, &request.key);
            FindCoordinatorResponse {
                error_code: found.error_code,
                error_message: told(&found),
                node_id: found.node_id,
                host: found.host,
                port: found.port,
                ..Default::default()
            }
        } else {
            let keys = request.coordinator_keys.iter();
            let coordinators = keys.map(|key| self.coordinator_of((slot, version), key_type, key));
            FindCoordinatorResponse {
                coordinators: coordinators.collect(),
                ..Default::default()
            }
        };
        self.respond(slot, response, self.cluster_gate());
    }

    fn coordinator_of(
        &mut self,
        (slot, version): (u64, i16),
        key_type: i8,
        key: &Str,
    ) -> Coordinator {
        let resource = match key_type {
            GROUP => Some(ResourceType::Group),
            TRANSACTION => Some(ResourceType::TransactionalId),
            _ => None,
        };
        let allowed = resource.map_or(Ok(()), |own| self.check_each(slot, own, key));
        if let Err(error_code) = allowed {
            return Coordinator {
                key: key.clone(),
                node_id: -1,
                port: -1,
                error_code,
                ..Default::default()
            };
        }
        match check(version, key_type, key) {
            Ok(()) => {
                match key_type {
                    SHARE => self.ensure_share_state_topic(),
                    GROUP => self.ensure_offsets_topic(),
                    TRANSACTION => self.ensure_transaction_topic(),
                    _ => {}
                }
                Coordinator {
                    key: key.clone(),
                    node_id: self.config.node_id(),
                    host: Str::from(self.config.host()),
                    port: self.config.port(),
                    error_message: Some(Str::EMPTY),
                    ..Default::default()
                }
            }
            Err(why) => Coordinator {
                key: key.clone(),
                node_id: -1,
                port: -1,
                error_code: ErrorCode::INVALID_REQUEST,
                error_message: Some(Str::from(why)),
                ..Default::default()
            },
        }
    }
}

/// What an answer about one key says besides its code.
fn told(found: &Coordinator) -> Option<Str> {
    let text = match (found.error_code, &found.error_message) {
        (ErrorCode::NONE, _) => Str::from("NONE"),
        (_, Some(why)) => why.clone(),
        (code, None) => Str::from(sentence(code)),
    };
    Some(text)
}

fn check(version: i16, key_type: i8, key: &str) -> Result<(), String> {
    match key_type {
        GROUP | TRANSACTION => Ok(()),
        SHARE if version < FIRST_WITH_SHARE => Err(format!(
            "coordinators of share partitions are found from version {FIRST_WITH_SHARE} on"
        )),
        SHARE => check_share_key(key),
        _ => Err(format!("Unknown coordinator type {key_type}")),
    }
}

/// `groupId:topicId:partition`; a group id may contain colons.
fn check_share_key(key: &str) -> Result<(), String> {
    let mut parts = key.rsplitn(3, ':');
    let partition = parts.next().and_then(|text| text.parse::<i32>().ok());
    let topic = parts.next().and_then(|text| text.parse::<Uuid>().ok());
    let group = parts.next().filter(|group| !group.trim().is_empty());
    match (group, topic, partition) {
        (Some(_), Some(_), Some(0..)) => Ok(()),
        _ => Err(format!(
            "Invalid key format: expected - groupId:topicId:partition, found - {key}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_keys_are_group_topic_and_partition() {
        let id = "AAAAAAAAAAAAAAAAAAAAAQ";
        for good in [format!("g:{id}:0"), format!("a:b:{id}:12")] {
            assert_eq!(check_share_key(&good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "g",
            "g:x:0",
            ":AAAAAAAAAAAAAAAAAAAAAQ:0",
            "AAAAAAAAAAAAAAAAAAAAAQ:0",
        ] {
            assert!(check_share_key(bad).is_err(), "{bad}");
        }
        for bad in [format!("g:{id}:-1"), format!("g:{id}:x"), format!("g:{id}")] {
            assert!(check_share_key(&bad).is_err(), "{bad}");
        }
    }
}
