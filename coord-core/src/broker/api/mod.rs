//! One file for each API; here a frame finds its handler.

mod acls;
pub(super) mod add_offsets_to_txn;
pub(super) mod add_partitions_to_txn;
pub(super) mod add_share_acks_to_txn;
pub(super) mod api_versions;
mod consumer_group_describe;
mod consumer_group_heartbeat;
mod create_partitions;
mod create_topics;
pub(super) mod delayed_share_fetch;
mod delete_groups;
pub(super) mod delete_records;
mod delete_topics;
mod describe_cluster;
mod describe_configs;
mod describe_pending_share_acks;
mod describe_producers;
mod describe_topic_partitions;
mod describe_transactions;
mod end_txn;
pub(super) mod fetch;
mod find_coordinator;
mod heartbeat;
mod incremental_alter_configs;
mod init_producer_id;
mod join_group;
mod leave_group;
mod list_config_resources;
mod list_groups;
pub(super) mod list_offsets;
mod list_transactions;
mod metadata;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod once;
pub(super) mod produce;
pub(super) mod share_acknowledge;
mod share_chunks;
mod share_common;
pub(super) mod share_fetch;
mod share_group_describe;
mod share_group_heartbeat;
mod share_group_offsets;
mod share_group_state;
pub(super) mod share_start;
mod sync_group;
#[cfg(test)]
mod tests_admin;
#[cfg(test)]
mod tests_consumer_groups;
#[cfg(test)]
mod tests_dead_letters;
#[cfg(test)]
mod tests_groups;
#[cfg(test)]
mod tests_produce;
#[cfg(test)]
mod tests_rollover;
#[cfg(test)]
mod tests_share_fetch;
#[cfg(test)]
mod tests_share_state_log;
mod topic_creation;
pub(super) mod txn_offset_acks;
pub(super) mod txn_offset_commit;
pub(super) mod txn_share_acknowledge;
mod txn_share_acknowledge_draft;
mod write_txn_markers;

use alloc::format;

use ackord_proto::api::{ApiKey, Request, RequestHeader};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{AddShareAcksToTxnResponse, TxnShareAcknowledgeResponse};
use ackord_proto::reader::Reader;
use bytes::Bytes;

pub(super) use topic_creation::Refusal;

use super::connections::RequestMeta;
use super::{Broker, Phase};
use crate::contract::{CloseReason, ConnId};
use crate::metadata::CLUSTER_LOG;

impl Broker {
    /// Takes a request frame. What cannot be understood closes the connection, as in Kafka.
    pub(super) fn frame(&mut self, conn: ConnId, bytes: Bytes) {
        self.connections.frame_arrived(conn);
        if !self.connections.listens(conn) || !matches!(self.phase, Phase::Serving) {
            return;
        }
        if self.frozen.contains(&CLUSTER_LOG) {
            return self.park(conn, bytes);
        }
        let size = bytes.len();
        if ackord_machine::planted!("row-69-length-is-believed")
            && let Some(last) = bytes.last_chunk::<4>()
        {
            // Room for so much is not to be had, and to ask for it is a panic.
            let claimed = usize::try_from(i32::from_be_bytes(*last)).unwrap_or(0);
            if claimed > size {
                drop(alloc::vec::Vec::<u8>::with_capacity(usize::MAX));
            }
        }
        let mut reader = Reader::new(bytes);
        let header = match RequestHeader::decode(&mut reader) {
            Ok(header) => header,
            Err(error) => return self.refuse(conn, CloseReason::BadRequest(format!("{error}"))),
        };
        let (api, version) = (header.api_key, header.api_version);
        if !api_versions::is_served(api, &self.config) {
            let what = format!("{} is not served here", api.name());
            return self.refuse(conn, CloseReason::BadRequest(what));
        }
        let slot = self.connections.begin(
            RequestMeta {
                conn,
                api,
                version,
                correlation_id: header.correlation_id,
                client_id: header.client_id.unwrap_or_default(),
            },
            size,
        );
        let advertised = api_versions::advertised(api, &self.config);
        if !advertised.contains(&version) || !api.versions().contains(&version) {
            match api {
                ApiKey::ApiVersions => return self.unsupported_api_versions(slot),
                ApiKey::AddShareAcksToTxn | ApiKey::TxnShareAcknowledge => {
                    return self.unsupported_by_kip1289(slot, api);
                }
                _ => {}
            }
            let what = format!("{} has no version {version} here", api.name());
            return self.refuse(conn, CloseReason::BadRequest(what));
        }
        match Request::decode(api, version, &mut reader) {
            Ok(request) => {
                self.counters.request(api, version);
                if self.authorizer.is_none() || self.is_admitted(slot, &request) {
                    self.dispatch(slot, request);
                }
            }
            Err(error) => {
                let what = format!("{} v{version}: {error}", api.name());
                self.refuse(conn, CloseReason::BadRequest(what));
            }
        }
        self.read_more(conn);
    }

    /// Topics, configurations and producer ids are unknown now; the log is back soon. One request for
    /// each connection waits, since a connection is not read meanwhile.
    fn park(&mut self, conn: ConnId, bytes: Bytes) {
        if self.request_bytes() + bytes.len() > self.limits.request_bytes {
            return self.refuse(conn, CloseReason::StorageFailed);
        }
        self.parked.push_back((conn, bytes));
    }

    /// The cluster's own log is back, or will not come back soon: requests that waited for it go on,
    /// or their connections are closed so that the clients try again.
    pub(super) fn unpark(&mut self) {
        let back = !self.frozen.contains(&CLUSTER_LOG);
        for (conn, bytes) in core::mem::take(&mut self.parked) {
            let drops = ackord_machine::planted!("row-58-requests-dropped-while-loading");
            if drops || !self.connections.listens(conn) {
                continue;
            }
            if back {
                self.frame(conn, bytes);
            } else {
                self.refuse(conn, CloseReason::StorageFailed);
            }
        }
    }

    /// Our own two APIs may grow versions that an older broker has not: their clients are told, in
    /// the newest version that is known here.
    fn unsupported_by_kip1289(&mut self, slot: u64, api: ApiKey) {
        self.connections.set_version(slot, *api.versions().end());
        let error_code = ErrorCode::UNSUPPORTED_VERSION;
        if api == ApiKey::AddShareAcksToTxn {
            let response = AddShareAcksToTxnResponse {
                error_code,
                ..Default::default()
            };
            self.respond(slot, response, None);
        } else {
            let response = TxnShareAcknowledgeResponse {
                error_code,
                ..Default::default()
            };
            self.respond(slot, response, None);
        }
    }

    fn refuse(&mut self, conn: ConnId, reason: CloseReason) {
        self.connections.close(conn, reason, &mut self.effects);
    }

    fn dispatch(&mut self, slot: u64, request: Request) {
        match request {
            Request::CreateAcls(request) => self.create_acls(slot, request),
            Request::DeleteAcls(request) => self.delete_acls(slot, request),
            Request::DescribeAcls(request) => self.describe_acls(slot, request),
            Request::AlterShareGroupOffsets(request) => {
                self.alter_share_group_offsets(slot, request);
            }
            Request::ApiVersions(request) => self.api_versions(slot, request),
            Request::ConsumerGroupDescribe(request) => self.consumer_group_describe(slot, request),
            Request::ConsumerGroupHeartbeat(request) => {
                self.consumer_group_heartbeat(slot, request);
            }
            Request::CreatePartitions(request) => self.create_partitions(slot, request),
            Request::CreateTopics(request) => self.create_topics(slot, request),
            Request::DeleteGroups(request) => self.delete_groups(slot, request),
            Request::DeleteShareGroupOffsets(request) => {
                self.delete_share_group_offsets(slot, request);
            }
            Request::DeleteRecords(request) => self.delete_records(slot, request),
            Request::DeleteShareGroupState(request) => self.delete_share_group_state(slot, request),
            Request::DeleteTopics(request) => self.delete_topics(slot, request),
            Request::DescribeCluster(request) => self.describe_cluster(slot, request),
            Request::DescribeConfigs(request) => self.describe_configs(slot, request),
            Request::DescribeGroups(request) => self.describe_groups(slot, request),
            Request::DescribeShareGroupOffsets(request) => {
                self.describe_share_group_offsets(slot, request);
            }
            Request::DescribeTopicPartitions(request) => {
                self.describe_topic_partitions(slot, request);
            }
            Request::Fetch(request) => self.fetch(slot, request),
            Request::FindCoordinator(request) => self.find_coordinator(slot, request),
            Request::Heartbeat(request) => self.heartbeat(slot, request),
            Request::IncrementalAlterConfigs(request) => {
                self.incremental_alter_configs(slot, request);
            }
            Request::InitializeShareGroupState(request) => {
                self.initialize_share_group_state(slot, request);
            }
            Request::ListConfigResources(request) => self.list_config_resources(slot, request),
            Request::JoinGroup(request) => self.join_group(slot, request),
            Request::LeaveGroup(request) => self.leave_group(slot, request),
            Request::ListGroups(request) => self.list_groups(slot, request),
            Request::ListOffsets(request) => self.list_offsets(slot, request),
            Request::Metadata(request) => self.metadata(slot, request),
            Request::OffsetCommit(request) => self.offset_commit(slot, request),
            Request::OffsetDelete(request) => self.offset_delete(slot, request),
            Request::OffsetFetch(request) => self.offset_fetch(slot, request),
            Request::Produce(request) => self.produce(slot, request),
            Request::ReadShareGroupState(request) => self.read_share_group_state(slot, request),
            Request::ReadShareGroupStateSummary(request) => {
                self.read_share_group_state_summary(slot, request);
            }
            Request::ShareAcknowledge(request) => self.share_acknowledge(slot, request),
            Request::ShareFetch(request) => self.share_fetch(slot, request),
            Request::ShareGroupDescribe(request) => self.share_group_describe(slot, request),
            Request::ShareGroupHeartbeat(request) => self.share_group_heartbeat(slot, request),
            Request::SyncGroup(request) => self.sync_group(slot, request),
            Request::WriteShareGroupState(request) => self.write_share_group_state(slot, request),
            other => self.dispatch_transactional(slot, other),
        }
    }

    /// What belongs to transactions.
    fn dispatch_transactional(&mut self, slot: u64, request: Request) {
        match request {
            Request::AddOffsetsToTxn(request) => self.add_offsets_to_txn(slot, request),
            Request::AddPartitionsToTxn(request) => self.add_partitions_to_txn(slot, request),
            Request::AddShareAcksToTxn(request) => self.add_share_acks_to_txn(slot, request),
            Request::DescribePendingShareAcks(request) => {
                self.describe_pending_share_acks(slot, request);
            }
            Request::DescribeProducers(request) => self.describe_producers(slot, request),
            Request::DescribeTransactions(request) => self.describe_transactions(slot, request),
            Request::EndTxn(request) => self.end_txn(slot, request),
            Request::InitProducerId(request) => self.init_producer_id(slot, request),
            Request::ListTransactions(request) => self.list_transactions(slot, request),
            Request::TxnOffsetCommit(request) => self.txn_offset_commit(slot, request),
            Request::TxnShareAcknowledge(request) => self.txn_share_acknowledge(slot, request),
            Request::TxnShareAcknowledgeDraft(request) => {
                self.txn_share_acknowledge_draft(slot, request);
            }
            Request::WriteTxnMarkers(request) => self.write_txn_markers_request(slot, request),
            // Not served, so not announced either.
            other => {
                let Some(conn) = self.connections.request(slot).map(|meta| meta.conn) else {
                    return;
                };
                let what = format!("{} is not served here", other.key().name());
                self.refuse(conn, CloseReason::BadRequest(what));
            }
        }
    }
}
