//! The delivery state of one share partition alone: a record is staged in a transaction that
//! aborts, delivered once more, and committed. `cargo run -p ackord-examples --example record_machine`

use ackord_machine::{MonoTime, StagedRange, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_share_partition::TxnOutcome::{Abort, Commit};
use ackord_share_partition::{AcquireMode, Config, LogBatch, SharePartition};

fn main() {
    let (mut partition, member) = (SharePartition::new(Config::default(), 0), "member".into());
    let log = [LogBatch { base: 0, last: 9 }];
    for (epoch, outcome) in [(0, Abort { queue_open: false }), (1, Commit)] {
        let now = MonoTime::from_millis(100);
        let got = partition.acquire(now, &member, &log, 500, 500, AcquireMode::BatchOptimized);
        let accept = StagedRange {
            first_offset: got[0].first,
            last_offset: got[0].last,
            acknowledge_type: 1,
            delivery_count: Some(got[0].delivery_count),
        };
        let owner = TxnOwner {
            producer_id: 7,
            producer_epoch: epoch,
            ordinal: 1 + i64::from(epoch),
        };
        let verdict = partition.stage(now, Some(&member), owner, ErrorCode::NONE, &[accept]);
        let held: Vec<_> = partition.pending_acks(0, 9).collect();
        partition.resolve_ranges(&held, outcome);
        println!(
            "{verdict:?}, {outcome:?}: start {}",
            partition.start_offset()
        );
    }
}
