//! Initialize, Read, Write and DeleteShareGroupState (KIP-932), for one partition of one topic at a
//! time.

use alloc::vec::Vec;

use ackord_machine::{LogId, Now, PendingAck, WallTime};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::kip1289::TX_PENDING;
use ackord_proto::messages::{
    DeleteShareGroupStateRequest, DeleteShareGroupStateResponse, InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse, ReadShareGroupStateRequest, ReadShareGroupStateResponse,
    WriteShareGroupStateRequest, WriteShareGroupStateResponse, delete_share_group_state as delete,
    initialize_share_group_state as initialize, read_share_group_state as read,
    read_share_group_state_summary as summary, write_share_group_state as write,
};
use ackord_proto::str::Str;

use super::coordinator::{ShareCoordinator, ShareReply};
use super::delivery_ranges::Delivery;
use super::each_partition::each_partition;
use super::records::{self, ShareUpdate};
use super::state::{ShareKey, ShareState};
use crate::outbox::Outbox;

/// A Kafka code and what to do about it.
type Refusal = (ErrorCode, &'static str);

impl ShareCoordinator {
    /// Begins a share partition. One that has begun under the same or a newer state epoch stays as
    /// it is, so a repeated request is harmless.
    pub fn initialize(
        &mut self,
        now: Now,
        key: &ShareKey,
        data: &initialize::PartitionData,
        out: &mut Outbox<ShareReply>,
    ) -> initialize::PartitionResult {
        let answer = |(code, message): Refusal| initialize::PartitionResult {
            partition: data.partition,
            error_code: code,
            error_message: (code != ErrorCode::NONE).then(|| Str::from(message)),
            ..Default::default()
        };
        if data.partition < 0 || data.state_epoch < 0 || data.start_offset < -1 {
            return answer((
                ErrorCode::INVALID_REQUEST,
                "negative partition, epoch or offset",
            ));
        }
        if let Some(state) = self.states.get(key) {
            if state.state_epoch > data.state_epoch {
                return answer((
                    ErrorCode::FENCED_STATE_EPOCH,
                    "a newer state epoch is stored",
                ));
            }
            let forgets = ackord_machine::planted!("row-48-reset-forgets-pending");
            if !state.pending.is_empty() && !forgets {
                return answer(PENDING);
            }
        }
        let state = ShareState::initial(data.state_epoch, data.start_offset, now.wall.as_millis());
        self.append_snapshot(key, &state, now.wall, out);
        answer((ErrorCode::NONE, ""))
    }

    /// Begins a share partition for a group's first use: one that has begun stays as it is.
    fn initialize_once(
        &mut self,
        now: Now,
        key: &ShareKey,
        data: &initialize::PartitionData,
        out: &mut Outbox<ShareReply>,
    ) -> initialize::PartitionResult {
        if self.states.contains_key(key) {
            return initialize::PartitionResult {
                partition: data.partition,
                ..Default::default()
            };
        }
        self.initialize(now, key, data, out)
    }

    /// Reads a share partition for its leader, with the ranges that transactions hold and whose
    /// they are. Those appear among the state batches too, for whoever asks from outside.
    pub fn read(
        &mut self,
        key: &ShareKey,
        data: &read::PartitionData,
    ) -> (read::PartitionResult, Vec<PendingAck>) {
        let refuse = |code, message| {
            let result = read::PartitionResult {
                partition: data.partition,
                error_code: code,
                error_message: Some(Str::from(message)),
                start_offset: -1,
                ..Default::default()
            };
            (result, Vec::new())
        };
        let Some(state) = self.states.get(key) else {
            return refuse(
                ErrorCode::INVALID_REQUEST,
                "the share partition is not initialised",
            );
        };
        if data.leader_epoch < 0 {
            return refuse(ErrorCode::INVALID_REQUEST, "the leader epoch is negative");
        }
        if data.leader_epoch < state.leader_epoch {
            return refuse(
                ErrorCode::FENCED_LEADER_EPOCH,
                "a newer leader epoch is stored",
            );
        }
        let batch =
            |(first_offset, last_offset, delivery): (i64, i64, Delivery)| read::StateBatch {
                first_offset,
                last_offset,
                delivery_state: delivery.state,
                delivery_count: delivery.count,
                ..Default::default()
            };
        let mut shown = state.deliveries.clone();
        for range in &state.pending {
            let held = Delivery {
                count: range.delivery_count,
                state: TX_PENDING,
            };
            shown.merge(range.first_offset, range.last_offset, held);
        }
        let result = read::PartitionResult {
            partition: data.partition,
            state_epoch: state.state_epoch,
            start_offset: state.start_offset,
            state_batches: shown.iter().map(batch).collect(),
            ..Default::default()
        };
        (result, state.pending.clone())
    }

    /// A leader of a newer epoch reads: what older ones still write is refused from now on.
    fn note_leader(&mut self, key: &ShareKey, epoch: i32, out: &mut Outbox<ShareReply>) {
        if let Some(state) = self.states.get(key).filter(|it| it.leader_epoch < epoch) {
            let mut update = ShareUpdate::of_leader(epoch);
            update.snapshot_epoch = state.snapshot_epoch;
            self.append(alloc::vec![records::update(key, update)], None, out);
        }
    }

    /// What is known of a share partition without its records (KIP-1226); -1 where it has no state.
    pub fn summary(
        &self,
        key: &ShareKey,
        data: &summary::PartitionData,
    ) -> summary::PartitionResult {
        let state = self.states.get(key);
        summary::PartitionResult {
            partition: data.partition,
            state_epoch: state.map_or(0, |state| state.state_epoch),
            leader_epoch: state.map_or(0, |state| state.leader_epoch),
            start_offset: state.map_or(-1, |state| state.start_offset),
            delivery_complete_count: state.map_or(-1, |state| state.deliveries.terminal_count()),
            ..Default::default()
        }
    }

    /// Stores what became of records.
    pub fn write_state(
        &mut self,
        now: Now,
        key: &ShareKey,
        data: &write::PartitionData,
        out: &mut Outbox<ShareReply>,
    ) -> write::PartitionResult {
        let refusal = self.check_write(key, data).err();
        if refusal.is_none() {
            let update = ShareUpdate::of_write(data);
            self.write(now, key, update, out);
        }
        let (code, message) = refusal.unwrap_or((ErrorCode::NONE, ""));
        write::PartitionResult {
            partition: data.partition,
            error_code: code,
            error_message: refusal.map(|_| Str::from(message)),
            ..Default::default()
        }
    }

    fn check_write(&self, key: &ShareKey, data: &write::PartitionData) -> Result<(), Refusal> {
        let Some(state) = self.states.get(key) else {
            return Err((
                ErrorCode::INVALID_REQUEST,
                "the share partition is not initialised",
            ));
        };
        if data.partition < 0 || data.leader_epoch < 0 || data.state_epoch < 0 {
            return Err((ErrorCode::INVALID_REQUEST, "negative partition or epoch"));
        }
        if data.leader_epoch < state.leader_epoch {
            return Err((
                ErrorCode::FENCED_LEADER_EPOCH,
                "a newer leader epoch is stored",
            ));
        }
        if data.state_epoch < state.state_epoch {
            return Err((
                ErrorCode::FENCED_STATE_EPOCH,
                "a newer state epoch is stored",
            ));
        }
        let valid = |batch: &write::StateBatch| {
            batch.first_offset >= 0
                && batch.first_offset <= batch.last_offset
                && matches!(batch.delivery_state, 0 | 2 | 3 | 4)
                && batch.delivery_count >= 0
        };
        if !data.state_batches.iter().all(valid) {
            return Err((ErrorCode::INVALID_REQUEST, "a state batch is malformed"));
        }
        Ok(())
    }

    /// Forgets a share partition. One that is not there is forgotten already.
    pub fn delete(
        &mut self,
        key: &ShareKey,
        partition: i32,
        out: &mut Outbox<ShareReply>,
    ) -> delete::PartitionResult {
        if self.states.contains_key(key) {
            self.append(alloc::vec![records::tombstone(key)], None, out);
        }
        delete::PartitionResult {
            partition,
            ..Default::default()
        }
    }

    /// Forgets all share partitions of a deleted partition; markers find nothing there any more.
    pub fn delete_topic(&mut self, log: LogId, out: &mut Outbox<ShareReply>) {
        let gone = |key: &&ShareKey| key.topic == log.topic && key.partition == log.partition;
        let gone: Vec<ShareKey> = self.states.keys().filter(gone).cloned().collect();
        let tombstones = gone.iter().map(records::tombstone).collect();
        self.append(tombstones, None, out);
        for key in &gone {
            self.drop_requests_of(key, out);
        }
    }

    /// Whether a transaction holds records of the share partition.
    pub fn has_pending(&self, key: &ShareKey) -> bool {
        self.states
            .get(key)
            .is_some_and(|state| !state.pending.is_empty())
    }

    fn append_snapshot(
        &mut self,
        key: &ShareKey,
        state: &ShareState,
        now: WallTime,
        out: &mut Outbox<ShareReply>,
    ) {
        self.append(alloc::vec![records::snapshot(key, state, now)], None, out);
    }

    pub(super) fn initialize_all(
        &mut self,
        now: Now,
        request: &InitializeShareGroupStateRequest,
        out: &mut Outbox<ShareReply>,
    ) -> InitializeShareGroupStateResponse {
        each_partition!(
            request,
            InitializeShareGroupStateResponse,
            initialize::InitializeStateResult,
            |key, data| self.initialize_once(now, &key, data, out)
        )
    }

    pub(super) fn read_all(
        &mut self,
        request: &ReadShareGroupStateRequest,
        out: &mut Outbox<ShareReply>,
    ) -> (ReadShareGroupStateResponse, Vec<PendingAck>) {
        let mut all_pending = Vec::new();
        let response = each_partition!(
            request,
            ReadShareGroupStateResponse,
            read::ReadStateResult,
            |key, data| {
                let (result, pending) = self.read(&key, data);
                self.note_leader(&key, data.leader_epoch, out);
                all_pending.extend(pending);
                result
            }
        );
        (response, all_pending)
    }

    pub(super) fn write_all(
        &mut self,
        now: Now,
        request: &WriteShareGroupStateRequest,
        out: &mut Outbox<ShareReply>,
    ) -> WriteShareGroupStateResponse {
        each_partition!(
            request,
            WriteShareGroupStateResponse,
            write::WriteStateResult,
            |key, data| self.write_state(now, &key, data, out)
        )
    }

    pub(super) fn delete_all(
        &mut self,
        request: &DeleteShareGroupStateRequest,
        out: &mut Outbox<ShareReply>,
    ) -> DeleteShareGroupStateResponse {
        each_partition!(
            request,
            DeleteShareGroupStateResponse,
            delete::DeleteStateResult,
            |key, data| self.delete(&key, data.partition, out)
        )
    }
}

/// A transaction holds records of the share partition.
pub(crate) const PENDING: Refusal = (
    ErrorCode::INVALID_TXN_STATE,
    "a transaction holds records of this share partition; end it first",
);
