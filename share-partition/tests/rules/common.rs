//! Short words for tests.

use ackord_machine::{MonoTime, PendingAck, StageVerdict, StagedRange, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{
    AckError, AckRange, AcquireMode, Acquired, Change, Config, LogBatch, SharePartition,
    StateBatch, TxnOutcome,
};

/// An abort in a group without a dead letter queue.
pub(crate) const ABORT: TxnOutcome = TxnOutcome::Abort { queue_open: false };

pub(crate) const GAP: i8 = 0;
pub(crate) const ACCEPT: i8 = 1;
pub(crate) const RELEASE: i8 = 2;
pub(crate) const REJECT: i8 = 3;
pub(crate) const RENEW: i8 = 4;

pub(crate) fn at(millis: u64) -> MonoTime {
    MonoTime::from_millis(millis)
}

pub(crate) fn owner(producer_id: i64, producer_epoch: i16) -> TxnOwner {
    TxnOwner {
        producer_id,
        producer_epoch,
        ordinal: 0,
    }
}

pub(crate) fn ack(first: i64, last: i64, types: &[i8]) -> AckRange {
    AckRange {
        first,
        last,
        types: types.to_vec(),
    }
}

pub(crate) fn staged(first_offset: i64, last_offset: i64, acknowledge_type: i8) -> StagedRange {
    StagedRange {
        first_offset,
        last_offset,
        acknowledge_type,
        delivery_count: None,
    }
}

/// A share partition, with members and time in short form.
pub(crate) struct Bench {
    pub(crate) partition: SharePartition,
    pub(crate) now: MonoTime,
}

impl Bench {
    pub(crate) fn new(config: Config) -> Self {
        Bench {
            partition: SharePartition::new(config, 0),
            now: at(0),
        }
    }

    /// `member` has fetched 0 to `last`, one log batch.
    pub(crate) fn acquired(config: Config, member: &str, last: i64) -> Self {
        let mut bench = Bench::new(config);
        bench.acquire(member, 0, last);
        bench
    }

    pub(crate) fn acquire(&mut self, member: &str, base: i64, last: i64) -> Vec<Acquired> {
        self.fetch(
            member,
            &[(base, last)],
            500,
            500,
            AcquireMode::BatchOptimized,
        )
    }

    pub(crate) fn fetch(
        &mut self,
        member: &str,
        log: &[(i64, i64)],
        max_records: i32,
        batch_size: i32,
        mode: AcquireMode,
    ) -> Vec<Acquired> {
        let log: Vec<LogBatch> = log
            .iter()
            .map(|(base, last)| LogBatch {
                base: *base,
                last: *last,
            })
            .collect();
        self.partition.acquire(
            self.now,
            &Str::from(member),
            &log,
            max_records,
            batch_size,
            mode,
        )
    }

    pub(crate) fn ack(&mut self, member: &str, ranges: &[AckRange]) -> Result<Change, AckError> {
        self.partition
            .acknowledge(self.now, &Str::from(member), ranges)
    }

    /// The error code of an acknowledgement that changes nothing.
    pub(crate) fn refused(&mut self, member: &str, ranges: &[AckRange]) -> ErrorCode {
        let before = self.show();
        let code = self
            .ack(member, ranges)
            .expect_err("it has to be refused")
            .code;
        assert_eq!(self.show(), before, "a refusal changes nothing");
        code
    }

    pub(crate) fn stage(
        &mut self,
        member: &str,
        who: TxnOwner,
        ranges: &[StagedRange],
    ) -> StageVerdict {
        self.partition.stage(
            self.now,
            Some(&Str::from(member)),
            who,
            ErrorCode::NONE,
            ranges,
        )
    }

    /// The error code of a stage that changes nothing.
    pub(crate) fn stage_refused(
        &mut self,
        member: &str,
        who: TxnOwner,
        ranges: &[StagedRange],
    ) -> ErrorCode {
        let before = self.show();
        let StageVerdict::Refused {
            code,
            whole_request,
            ..
        } = self.stage(member, who, ranges)
        else {
            panic!("it has to be refused");
        };
        assert!(!whole_request);
        assert_eq!(self.show(), before, "a refusal changes nothing");
        code
    }

    pub(crate) fn commit(&mut self, producer_id: i64, marker_epoch: i16) -> Change {
        let held = pending_of(&self.partition, producer_id, marker_epoch);
        self.partition.resolve_ranges(&held, TxnOutcome::Commit)
    }

    pub(crate) fn abort(&mut self, producer_id: i64, marker_epoch: i16) -> Change {
        let held = pending_of(&self.partition, producer_id, marker_epoch);
        self.partition.resolve_ranges(&held, ABORT)
    }

    pub(crate) fn show(&self) -> String {
        show(&self.partition)
    }
}

/// What a share coordinator tells a leader when a marker of the producer is in its log: all that it
/// staged under older epochs.
pub(crate) fn pending_of(
    partition: &SharePartition,
    producer_id: i64,
    marker_epoch: i16,
) -> Vec<PendingAck> {
    let mut held: Vec<PendingAck> = partition.pending_acks(i64::MIN, i64::MAX).collect();
    held.retain(|ack| {
        ack.owner.producer_id == producer_id && ack.owner.producer_epoch < marker_epoch
    });
    held
}

pub(crate) fn show(partition: &SharePartition) -> String {
    let ranges: Vec<String> = partition.ranges().map(|range| range.to_string()).collect();
    ranges.join("; ")
}

pub(crate) fn list(acquired: &[Acquired]) -> String {
    let ranges: Vec<String> = acquired
        .iter()
        .map(|range| format!("{}-{}@{}", range.first, range.last, range.delivery_count))
        .collect();
    ranges.join(" ")
}

pub(crate) fn batches(batches: &[StateBatch]) -> String {
    let batches: Vec<String> = batches
        .iter()
        .map(|batch| {
            format!(
                "{}-{} {} x{}",
                batch.first, batch.last, batch.state, batch.delivery_count
            )
        })
        .collect();
    batches.join("; ")
}
