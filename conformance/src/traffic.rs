//! What went over the connections of a broker: requests that wait for an answer, and deliveries.

use std::collections::BTreeMap;

use ackord_proto::api::{ApiKey, Request, RequestHeader, Response};
use ackord_proto::messages::ShareFetchResponse;
use ackord_proto::reader::Reader;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

use crate::transcript::decode_response;

/// A share partition: group, topic, partition.
pub type ShareKey = (Str, Uuid, i32);

#[derive(Debug)]
struct Pending {
    api: ApiKey,
    version: i16,
    /// Of a ShareFetch.
    group: Option<Str>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Traffic {
    pending: BTreeMap<(String, i32), Pending>,
    delivered: BTreeMap<ShareKey, BTreeMap<i64, i16>>,
}

impl Traffic {
    /// A request frame without its size.
    pub(crate) fn request(&mut self, client: &str, frame: &Bytes) {
        let mut reader = Reader::new(frame.clone());
        let Ok(header) = RequestHeader::decode(&mut reader) else {
            return;
        };
        let (api, version) = (header.api_key, header.api_version);
        let mut group = None;
        match api {
            ApiKey::Produce | ApiKey::ShareFetch => {
                match Request::decode(api, version, &mut reader) {
                    // Nobody wants an answer.
                    Ok(Request::Produce(request)) if request.acks == 0 => return,
                    Ok(Request::ShareFetch(request)) => group = request.group_id,
                    _ => {}
                }
            }
            _ => {}
        }
        let pending = Pending {
            api,
            version,
            group,
        };
        self.pending
            .insert((client.to_string(), header.correlation_id), pending);
    }

    /// A response frame without its size, as it leaves the broker.
    pub(crate) fn response(&mut self, client: &str, frame: &Bytes) {
        let Some(correlation) = frame.first_chunk().map(|own| i32::from_be_bytes(*own)) else {
            return;
        };
        let pending = self.pending.remove(&(client.to_string(), correlation));
        let Some(Pending {
            api,
            version,
            group: Some(group),
        }) = pending
        else {
            return;
        };
        if let Ok(Response::ShareFetch(response)) = decode_response(api, version, frame) {
            self.deliver(&group, &response);
        }
    }

    fn deliver(&mut self, group: &Str, response: &ShareFetchResponse) {
        for topic in &response.responses {
            for part in &topic.partitions {
                let key = (group.clone(), topic.topic_id, part.partition_index);
                for range in &part.acquired_records {
                    let counts = self.delivered.entry(key.clone()).or_default();
                    for offset in range.first_offset..=range.last_offset {
                        let most = counts.entry(offset).or_default();
                        *most = range.delivery_count.max(*most);
                    }
                }
            }
        }
    }

    /// The connection of a client is gone.
    pub(crate) fn closed(&mut self, client: &str) {
        self.pending.retain(|(own, _), _| own != client);
    }

    /// All connections are gone.
    pub(crate) fn all_closed(&mut self) {
        self.pending.clear();
    }

    /// Requests on connections that are open and without an answer.
    pub fn unanswered(&self) -> Vec<String> {
        let unanswered = self.pending.iter();
        unanswered
            .map(|((client, _), own)| format!("{client}'s {}", own.api.name()))
            .collect()
    }

    /// Largest delivery count of each record that was sent to a member.
    pub fn delivered(&self) -> &BTreeMap<ShareKey, BTreeMap<i64, i16>> {
        &self.delivered
    }
}
