//! A member of a share group: joins, fetches, keeps its session.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    ShareAcknowledgeRequest, ShareFetchRequest, ShareFetchResponse, ShareGroupHeartbeatRequest,
    share_acknowledge as acknowledge, share_fetch,
};
use ackord_proto::uuid::Uuid;

use super::INPUT;
use crate::sim::ctx::{Ctx, Lost};
use crate::sim::wire;
use crate::sim_call;

/// A record that a member was given.
#[derive(Clone, Debug)]
pub struct Got {
    /// Partition of the input topic.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// Delivery count.
    pub count: i16,
    /// Its value; none where the offset holds no record.
    pub value: Option<String>,
}

/// Acknowledgements: partition, first and last offset, type.
pub type Acks = Vec<(i32, i64, i64, i8)>;

/// A member.
#[derive(Clone, Debug)]
pub struct Member {
    ctx: Ctx,
    /// Group.
    pub group: String,
    /// Member id.
    pub id: String,
    /// Member epoch.
    pub epoch: i32,
    session: i32,
    lives: u32,
}

impl Member {
    /// Not in the group yet.
    pub fn new(ctx: &Ctx, group: &str) -> Self {
        Member {
            ctx: ctx.clone(),
            group: group.to_string(),
            id: String::new(),
            epoch: 0,
            session: 0,
            lives: 0,
        }
    }

    fn topic(&self) -> Uuid {
        self.ctx.ledger.borrow().id(INPUT)
    }

    /// Joins as somebody new.
    pub async fn join(&mut self) {
        self.lives += 1;
        self.id = format!("{}-{}", self.ctx.name, self.lives);
        self.session = 0;
        loop {
            match self.heartbeat(0).await {
                Ok(ErrorCode::NONE) => return,
                _ if self.ctx.stopping() && self.lives > 50 => return,
                _ => self.ctx.sleep(100).await,
            }
        }
    }

    /// Says that it is there; joins again where nobody knows it.
    pub async fn stay(&mut self) {
        let code = self.heartbeat(self.epoch).await;
        let gone = [
            ErrorCode::UNKNOWN_MEMBER_ID,
            ErrorCode::FENCED_MEMBER_EPOCH,
            ErrorCode::GROUP_ID_NOT_FOUND,
        ];
        if code.is_ok_and(|code| gone.contains(&code)) {
            self.join().await;
        }
    }

    /// Leaves.
    pub async fn leave(&mut self) {
        let _ = self.heartbeat(-1).await;
    }

    async fn heartbeat(&mut self, epoch: i32) -> Result<ErrorCode, Lost> {
        let request = ShareGroupHeartbeatRequest {
            group_id: self.group.as_str().into(),
            member_id: self.id.as_str().into(),
            member_epoch: epoch,
            subscribed_topic_names: (epoch == 0).then(|| vec![INPUT.into()]),
            ..Default::default()
        };
        let response = sim_call!(self.ctx, ShareGroupHeartbeat v 1, request)?;
        if response.error_code == ErrorCode::NONE {
            self.epoch = response.member_epoch;
        }
        Ok(response.error_code)
    }

    /// Fetches; acknowledgements ride along where the session has begun. What came of those is
    /// told for the first partition that has any.
    pub async fn fetch(
        &mut self,
        partitions: i32,
        acks: &Acks,
        most: i32,
        wait_ms: i32,
    ) -> Result<Vec<Got>, Lost> {
        let first = self.session == 0;
        // Nothing can be acknowledged before the session has begun, and careless clients do.
        let careless = self.ctx.percent(10);
        let topic_id = self.topic();
        let part = |partition: i32| {
            let own = acks
                .iter()
                .filter(|ack| ack.0 == partition && (!first || careless));
            let batches =
                own.map(
                    |(_, first_offset, last_offset, kind)| share_fetch::AcknowledgementBatch {
                        first_offset: *first_offset,
                        last_offset: *last_offset,
                        acknowledge_types: vec![*kind],
                        ..Default::default()
                    },
                );
            share_fetch::FetchPartition {
                partition_index: partition,
                acknowledgement_batches: batches.collect(),
                ..Default::default()
            }
        };
        let topic = share_fetch::FetchTopic {
            topic_id,
            partitions: (0..partitions).map(part).collect(),
            ..Default::default()
        };
        let renews = acks.iter().any(|ack| ack.3 == 4);
        let request = ShareFetchRequest {
            group_id: Some(self.group.as_str().into()),
            member_id: Some(self.id.as_str().into()),
            share_session_epoch: self.session,
            max_wait_ms: if renews { 0 } else { wait_ms },
            min_bytes: i32::from(!renews),
            max_bytes: if renews { 0 } else { 1 << 20 },
            max_records: if renews { 0 } else { most },
            batch_size: if renews { 0 } else { most },
            share_acquire_mode: 1,
            is_renew_ack: renews,
            topics: vec![topic],
            ..Default::default()
        };
        let response = match sim_call!(self.ctx, ShareFetch v 2, request) {
            Ok(response) => response,
            Err(lost) => {
                self.lost();
                return Err(lost);
            }
        };
        if !self.proceed(response.error_code) {
            return Ok(Vec::new());
        }
        Ok(got(&response))
    }

    /// Acknowledges; a code for each partition.
    pub async fn acknowledge(&mut self, acks: &Acks) -> Result<ErrorCode, Lost> {
        let mut parts: Vec<acknowledge::AcknowledgePartition> = Vec::new();
        for (partition, first_offset, last_offset, kind) in acks {
            let batch = acknowledge::AcknowledgementBatch {
                first_offset: *first_offset,
                last_offset: *last_offset,
                acknowledge_types: vec![*kind],
                ..Default::default()
            };
            match parts
                .iter_mut()
                .find(|own| own.partition_index == *partition)
            {
                Some(own) => own.acknowledgement_batches.push(batch),
                None => parts.push(acknowledge::AcknowledgePartition {
                    partition_index: *partition,
                    acknowledgement_batches: vec![batch],
                    ..Default::default()
                }),
            }
        }
        let topic = acknowledge::AcknowledgeTopic {
            topic_id: self.topic(),
            partitions: parts,
            ..Default::default()
        };
        let epoch = self.session;
        let request = ShareAcknowledgeRequest {
            group_id: Some(self.group.as_str().into()),
            member_id: Some(self.id.as_str().into()),
            share_session_epoch: epoch,
            is_renew_ack: acks.iter().any(|ack| ack.3 == 4),
            topics: if acks.is_empty() {
                Vec::new()
            } else {
                vec![topic]
            },
            ..Default::default()
        };
        let response = match sim_call!(self.ctx, ShareAcknowledge v 2, request) {
            Ok(response) => response,
            Err(lost) => {
                self.lost();
                return Err(lost);
            }
        };
        self.proceed(response.error_code);
        let parts = response
            .responses
            .iter()
            .flat_map(|topic| &topic.partitions);
        let worst = parts
            .map(|part| part.error_code)
            .find(|code| code.is_error());
        Ok(worst.unwrap_or(response.error_code))
    }

    /// Closes its session.
    pub async fn close_session(&mut self, acks: &Acks) {
        self.session = -1;
        let _ = self.acknowledge(acks).await;
        self.session = 0;
    }

    /// The session is gone with the connection; stubborn clients go on as if it were not.
    fn lost(&mut self) {
        if self.ctx.percent(70) {
            self.session = 0;
        }
    }

    fn proceed(&mut self, code: ErrorCode) -> bool {
        let well = code == ErrorCode::NONE;
        self.session = if well && self.session >= 0 {
            self.session + 1
        } else {
            0
        };
        well
    }

    /// Takes another connection; the session ends with the old one.
    pub async fn hang_up(&mut self) {
        self.lost();
        self.ctx.hang_up().await;
    }
}

fn got(response: &ShareFetchResponse) -> Vec<Got> {
    let mut all = Vec::new();
    for part in response
        .responses
        .iter()
        .flat_map(|topic| &topic.partitions)
    {
        let bytes = part.records.as_ref().map(|records| records.to_bytes());
        let values = wire::values(&bytes.unwrap_or_default());
        for range in &part.acquired_records {
            for offset in range.first_offset..=range.last_offset {
                let value = values.iter().find(|(own, _)| *own == offset);
                all.push(Got {
                    partition: part.partition_index,
                    offset,
                    count: range.delivery_count,
                    value: value.map(|(_, value)| value.clone()),
                });
            }
        }
    }
    all
}
