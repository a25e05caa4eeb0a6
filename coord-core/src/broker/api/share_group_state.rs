//! Initialize, Read, Write and DeleteShareGroupState from outside (KIP-932). The machines of one
//! broker pass the same requests as messages and do not come here.

use ackord_machine::{LogId, OpId};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    DeleteShareGroupStateRequest, DeleteShareGroupStateResponse, InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse, ReadShareGroupStateRequest, ReadShareGroupStateResponse,
    ReadShareGroupStateSummaryRequest, ReadShareGroupStateSummaryResponse,
    WriteShareGroupStateRequest, WriteShareGroupStateResponse, delete_share_group_state as delete,
    initialize_share_group_state as initialize, read_share_group_state as read,
    read_share_group_state_summary as summary, write_share_group_state as write,
};
use ackord_proto::str::Str;

use super::super::Broker;
use super::super::journal::later;
use crate::group::state_partition_for;
use crate::metadata::SHARE_STATE_TOPIC;
use crate::outbox::Outbox;
use crate::share::{PENDING, ShareCoordinator, ShareKey, ShareReply, each_partition};

/// A Kafka code and what to do about it.
type Refusal = (ErrorCode, &'static str);

/// The answer for a partition that nothing was done to.
macro_rules! refused {
    ($api:ident, $data:expr, $refusal:expr) => {{
        let (error_code, why) = $refusal;
        $api::PartitionResult {
            partition: $data.partition,
            error_code,
            error_message: Some(Str::from(why)),
            ..Default::default()
        }
    }};
}

/// A partition that does not exist has no state to read or write, as one that is not initialised.
fn without_state((code, why): Refusal) -> Refusal {
    match code {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => (ErrorCode::INVALID_REQUEST, why),
        _ => (code, why),
    }
}

/// What a request does to a share partition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Changes,
    Reads,
}

impl Broker {
    pub(in crate::broker) fn initialize_share_group_state(
        &mut self,
        slot: u64,
        request: InitializeShareGroupStateRequest,
    ) {
        let mut gate = None;
        let response = each_partition!(
            request,
            InitializeShareGroupStateResponse,
            initialize::InitializeStateResult,
            |key, data| {
                self.on_share_state(&key, Access::Changes, &mut gate, |sgc, now, out| {
                    sgc.initialize(now, &key, data, out)
                })
                .unwrap_or_else(|refusal| refused!(initialize, data, refusal))
            }
        );
        self.respond(slot, response, gate);
    }

    pub(in crate::broker) fn read_share_group_state(
        &mut self,
        slot: u64,
        request: ReadShareGroupStateRequest,
    ) {
        let mut gate = None;
        let response = each_partition!(
            request,
            ReadShareGroupStateResponse,
            read::ReadStateResult,
            |key, data| {
                self.on_share_state(&key, Access::Reads, &mut gate, |sgc, _, _| {
                    sgc.read(&key, data).0
                })
                .map_err(without_state)
                .unwrap_or_else(|refusal| refused!(read, data, refusal))
            }
        );
        self.respond(slot, response, gate);
    }

    pub(in crate::broker) fn read_share_group_state_summary(
        &mut self,
        slot: u64,
        request: ReadShareGroupStateSummaryRequest,
    ) {
        let mut gate = None;
        let response = each_partition!(
            request,
            ReadShareGroupStateSummaryResponse,
            summary::ReadStateSummaryResult,
            |key, data| {
                self.on_share_state(&key, Access::Reads, &mut gate, |sgc, _, _| {
                    sgc.summary(&key, data)
                })
                .unwrap_or_else(|refusal| refused!(summary, data, refusal))
            }
        );
        self.respond(slot, response, gate);
    }

    pub(in crate::broker) fn write_share_group_state(
        &mut self,
        slot: u64,
        request: WriteShareGroupStateRequest,
    ) {
        let mut gate = None;
        let response = each_partition!(
            request,
            WriteShareGroupStateResponse,
            write::WriteStateResult,
            |key, data| {
                self.on_share_state(&key, Access::Changes, &mut gate, |sgc, now, out| {
                    sgc.write_state(now, &key, data, out)
                })
                .map_err(without_state)
                .unwrap_or_else(|refusal| refused!(write, data, refusal))
            }
        );
        self.respond(slot, response, gate);
    }

    pub(in crate::broker) fn delete_share_group_state(
        &mut self,
        slot: u64,
        request: DeleteShareGroupStateRequest,
    ) {
        let mut gate = None;
        let response = each_partition!(
            request,
            DeleteShareGroupStateResponse,
            delete::DeleteStateResult,
            |key, data| {
                self.on_share_state(&key, Access::Changes, &mut gate, |sgc, _, out| {
                    sgc.delete(&key, data.partition, out)
                })
                .unwrap_or_else(|refusal| refused!(delete, data, refusal))
            }
        );
        self.respond(slot, response, gate);
    }

    /// Changes a share partition at its coordinator; see [`Broker::on_share_state`].
    pub(super) fn change_share_state(
        &mut self,
        key: &ShareKey,
        gate: &mut Option<OpId>,
        run: impl FnOnce(&mut ShareCoordinator, ackord_machine::Now, &mut Outbox<ShareReply>),
    ) -> Result<(), Refusal> {
        self.on_share_state(key, Access::Changes, gate, run)
    }

    /// Does something with a share partition at its coordinator. What a leader has in memory of it
    /// is forgotten where it may have become wrong.
    fn on_share_state<T>(
        &mut self,
        key: &ShareKey,
        access: Access,
        gate: &mut Option<OpId>,
        run: impl FnOnce(&mut ShareCoordinator, ackord_machine::Now, &mut Outbox<ShareReply>) -> T,
    ) -> Result<T, Refusal> {
        self.check_share_key(key)?;
        self.ensure_share_state_topic();
        let (group, topic, partition) = (&key.group, key.topic, key.partition);
        let own = state_partition_for(group, topic, partition, self.share_state_partitions());
        let log = self.metadata.log(SHARE_STATE_TOPIC, own);
        let loading = (
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
            "the coordinator reads its log",
        );
        let log = log
            .filter(|log| !self.frozen.contains(log))
            .ok_or(loading)?;
        let mut done = None;
        self.with_sgc(own, None, |sgc, now, out| {
            let pending =
                sgc.has_pending(key) && !ackord_machine::planted!("row-48-reset-forgets-pending");
            done = Some(if access == Access::Changes && pending {
                Err(PENDING)
            } else {
                Ok(run(sgc, now, out))
            });
        });
        let done = done.ok_or(loading)??;
        *gate = later(*gate, later(self.journal.newest(log), self.cluster_gate()));
        if access == Access::Changes {
            let log = LogId { topic, partition };
            let keeps = ackord_machine::planted!("row-29-reset-keeps-the-old-window");
            if self.leaders.contains_key(&log) && !keeps {
                self.with_leader(log, group, None, |leader, _, out| leader.forget(group, out));
                self.wake_share_fetches(log, group);
            }
        }
        Ok(done)
    }

    fn check_share_key(&self, key: &ShareKey) -> Result<(), Refusal> {
        if key.group.is_empty() {
            return Err((ErrorCode::INVALID_REQUEST, "the group id is empty"));
        }
        if key.partition < 0 {
            return Err((ErrorCode::INVALID_REQUEST, "the partition is negative"));
        }
        let topic = self.metadata.topic_by_id(key.topic);
        if topic.is_none_or(|topic| key.partition >= topic.partitions) {
            let why = "this server does not host this topic-partition";
            return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, why));
        }
        Ok(())
    }
}
