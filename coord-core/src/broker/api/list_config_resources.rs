//! ListConfigResources: what can have configurations (KIP-1142); version 0 lists client metrics.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::list_config_resources::ConfigResource;
use ackord_proto::messages::{ListConfigResourcesRequest, ListConfigResourcesResponse};
use ackord_proto::str::Str;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::super::Broker;
use crate::metadata::resource;

/// Log levels of a broker cannot be configured here.
const BROKER_LOGGER: i8 = 8;
/// There are no subscriptions to client metrics here.
const CLIENT_METRICS: i8 = 16;

const ALL: [i8; 5] = [
    resource::TOPIC,
    resource::BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    resource::GROUP,
];

impl Broker {
    pub(in crate::broker) fn list_config_resources(
        &mut self,
        slot: u64,
        request: ListConfigResourcesRequest,
    ) {
        let mut asked = request.resource_types;
        if self.version(slot) == 0 {
            asked = Vec::from([CLIENT_METRICS]);
        } else if asked.is_empty() {
            asked = ALL.to_vec();
        }
        let mut response = ListConfigResourcesResponse::default();
        if !asked.iter().all(|kind| ALL.contains(kind)) {
            response.error_code = ErrorCode::UNSUPPORTED_VERSION;
            return self.respond(slot, response, None);
        }
        for kind in ALL.into_iter().filter(|kind| asked.contains(kind)) {
            let names = self.config_resources(kind).into_iter();
            response
                .config_resources
                .extend(names.map(|name| ConfigResource {
                    resource_name: name,
                    resource_type: kind,
                    ..Default::default()
                }));
        }
        self.respond(slot, response, self.cluster_gate());
    }

    fn config_resources(&self, kind: i8) -> Vec<Str> {
        match kind {
            resource::TOPIC => self
                .metadata
                .topics()
                .map(|topic| topic.name.clone())
                .collect(),
            resource::BROKER => Vec::from([Str::from(self.config.node_id().to_string())]),
            resource::GROUP => self.metadata.configured(resource::GROUP).cloned().collect(),
            _ => Vec::new(),
        }
    }
}
