//! The dead letter queue of share groups (KIP-1191): copies of records that a group gives up.
//!
//! The copy and the record's ARCHIVED are one append, so that a restart neither loses nor doubles a
//! copy. Until then the record is ARCHIVING, which is stored too: what a restart interrupts is taken
//! up again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ackord_machine::{LogId, MonoTime, OpKind, StorageFault, StoredBatch};
use ackord_proto::records::{BatchHeader, MAX_DECOMPRESSED, Records, UnpackBudget};
use ackord_proto::str::Str;
use ackord_share_partition::{DeadLetter, Span};
use bytes::Bytes;

use super::Broker;
use super::dead_letter_copy::{Copies, Origin, Sources};
use super::dead_letter_topic::{QueueTopic, Unwritable};
use super::journal::{Pending, ReadFor};
use super::timing::TimerKey;
use crate::group::state_partition_for;
use crate::log::{Produced, ReadResult, TxnCheck};
use crate::share::{ShareKey, ShareState};

/// A share partition: the log, and the group.
type Share = (LogId, Str);

const RETRY_MS: i64 = 1000;
/// A queue that cannot be written is looked at again when a configuration or a topic changes, and
/// so often, as room in it can come from elsewhere.
const CLOSED_RETRY_MS: i64 = 30_000;
/// Bytes of copies that one step makes; the rest is for the next one.
const STEP_BYTES: usize = 4 << 20;

/// Dead letters since the start of the broker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeadLetterCounts {
    /// Copies that were appended to a dead letter queue.
    pub written: u64,
    /// Records that were archived without a copy, because their group has no queue any more.
    pub failed: u64,
}

/// Where the copies of a share partition's records stand.
#[derive(Debug)]
enum Stage {
    /// To be made in this step.
    Due,
    /// To be tried again at the next deadline.
    Later,
    /// The store reads the records from this offset on.
    Reading(i64),
    /// What it read from there.
    Read(i64, Vec<Bytes>),
}

/// Share partitions with records that wait for their copies.
#[derive(Debug, Default)]
pub(super) struct DeadLetters {
    stages: BTreeMap<Share, Stage>,
    due: BTreeSet<Share>,
    reads: BTreeMap<u64, Share>,
    last_read: u64,
    /// Bytes of copies in this step.
    bytes: usize,
    wake_at: Option<MonoTime>,
    counts: DeadLetterCounts,
    /// What each group was last said to wait for.
    warned: BTreeMap<Str, String>,
}

impl DeadLetters {
    /// A share partition has records that wait; whatever is under way for it goes on.
    pub(super) fn wait(&mut self, log: LogId, group: &Str) {
        let share = (log, group.clone());
        if !self.stages.contains_key(&share) {
            self.due.insert(share.clone());
            self.stages.insert(share, Stage::Due);
        }
    }

    /// The next share partition whose copies are to be made in this step.
    fn next_due(&mut self) -> Option<(LogId, Str)> {
        self.due.pop_first()
    }

    /// A new step begins.
    pub(super) fn begin_step(&mut self) {
        self.bytes = 0;
    }

    /// The time to try again has come, or what a queue depends on has changed.
    pub(super) fn retry(&mut self) {
        self.wake_at = None;
        for (share, stage) in &mut self.stages {
            if matches!(stage, Stage::Later) {
                *stage = Stage::Due;
                self.due.insert(share.clone());
            }
        }
    }

    /// Where nothing waits any more, what comes next is worth a warning again.
    fn forget_warnings(&mut self) {
        if self.stages.is_empty() {
            self.warned.clear();
        }
    }

    fn set(&mut self, share: Share, stage: Stage) {
        if matches!(stage, Stage::Due | Stage::Read(..)) {
            self.due.insert(share.clone());
        }
        self.stages.insert(share, stage);
    }

    fn read_done(&mut self, share: Share, chunks: Vec<Bytes>) {
        if let Some(Stage::Reading(from)) = self.stages.get(&share) {
            let from = *from;
            self.set(share, Stage::Read(from, chunks));
        }
    }

    fn begin_read(&mut self, share: Share, from: i64) -> u64 {
        self.last_read += 1;
        self.reads.insert(self.last_read, share.clone());
        self.set(share, Stage::Reading(from));
        self.last_read
    }
}

impl Broker {
    /// Dead letters since the start.
    pub fn dead_letter_counts(&self) -> DeadLetterCounts {
        self.dead_letters.counts
    }

    /// The share partition whose copies are to be made next, in this step.
    pub(super) fn next_dead_letters(&mut self) -> Option<(LogId, Str)> {
        self.is_serving().then(|| self.dead_letters.next_due())?
    }

    /// Makes copies of one share partition's records. Nothing else may be under way in the step, so
    /// that the copies and the state that goes with them share one append.
    pub(super) fn write_dead_letters(&mut self, log: LogId, group: &Str) {
        let share = (log, group.clone());
        let (from, read) = match self.dead_letters.stages.remove(&share) {
            Some(Stage::Read(from, chunks)) => (from, Some(chunks)),
            _ => (i64::MIN, None),
        };
        let partition = self
            .leaders
            .get(&log)
            .and_then(|leader| leader.share_partition(group));
        let letters: Vec<DeadLetter> = partition.map_or_else(Vec::new, |partition| {
            // Others that came while the store was reading have their turn afterwards.
            let read = Span::new(from, i64::MAX);
            let letters = partition.dead_letters().filter_map(|letter| {
                let span = letter.span.within(read)?;
                Some(DeadLetter { span, ..letter })
            });
            letters.collect()
        });
        if letters.is_empty() {
            return self.dead_letters.forget_warnings();
        }
        if self.dead_letters.bytes >= STEP_BYTES {
            return self.write_later(share, 0);
        }
        match self.queue_topic(group, log.partition) {
            Err(Unwritable::Now) => self.write_later(share, RETRY_MS),
            Err(Unwritable::Until(why)) => self.wait_for_queue(share, why),
            Err(Unwritable::Unset) => self.give_up_dead_letters(&share, &letters),
            // Its state is being read back, and the share partition after it.
            Ok(_) if self.is_sgc_frozen(group, log) => self.write_later(share, RETRY_MS),
            Ok(topic) => self.copy_dead_letters(share, &letters, read, topic),
        }
    }

    fn write_later(&mut self, share: Share, after_ms: i64) {
        self.dead_letters.set(share, Stage::Later);
        let at = self.now.mono.plus_millis(after_ms);
        let at = self.dead_letters.wake_at.map_or(at, |own| own.min(at));
        self.dead_letters.wake_at = Some(at);
        self.timers.arm(TimerKey::DeadLetters, at);
    }

    /// The records stay ARCHIVING until their queue can be written. Says so once for each group and
    /// cause.
    fn wait_for_queue(&mut self, share: Share, why: String) {
        let (log, group) = (share.0, share.1.clone());
        self.write_later(share, CLOSED_RETRY_MS);
        if self.dead_letters.warned.get(&group) != Some(&why) {
            let name = self.source_name(log);
            self.warn(format!(
                "group {group}: records of {name}-{} wait for their copies in the dead letter \
                 queue: {why}",
                log.partition
            ));
            self.dead_letters.warned.insert(group, why);
        }
    }

    /// Nobody wants copies any more.
    fn give_up_dead_letters(&mut self, share: &Share, letters: &[DeadLetter]) {
        let spans: Vec<Span> = letters.iter().map(|letter| letter.span).collect();
        if !self.archive_dead_letters(share, &spans) {
            return;
        }
        let records: i64 = spans.iter().map(|span| span.len()).sum();
        self.dead_letters.counts.failed += u64::try_from(records).unwrap_or_default();
        self.dead_letters.forget_warnings();
        let ((log, group), name) = (share, self.source_name(share.0));
        let first = spans.first().map_or(-1, |span| span.first);
        self.warn(format!(
            "group {group}: records of {name}-{} from offset {first} on ({records} in all) are \
             archived without a copy: the group has no dead letter queue any more",
            log.partition
        ));
    }

    fn source_name(&self, log: LogId) -> Str {
        let topic = self.metadata.topic_by_id(log.topic);
        topic.map_or_else(Str::default, |topic| topic.name.clone())
    }

    /// Copies what can be copied at once, and comes back for the rest.
    fn copy_dead_letters(
        &mut self,
        share: Share,
        letters: &[DeadLetter],
        read: Option<Vec<Bytes>>,
        topic: QueueTopic,
    ) {
        let (log, group) = (share.0, share.1.clone());
        let sources = match self.sources(&share, letters, read, topic.max_message_bytes) {
            Some(sources) => sources,
            None => return,
        };
        let queue = match self.open_queue(&topic, log.partition) {
            Ok(queue) => queue,
            Err(why) => return self.wait_for_queue(share, why),
        };
        let name = self.source_name(log);
        let origin = Origin {
            topic: &name,
            partition: log.partition,
            group: &group,
        };
        let timestamp = self.now.wall.as_millis();
        let copies = Copies::make(
            &origin,
            timestamp,
            letters,
            &sources,
            topic.max_message_bytes,
        );
        let header = match self.check_copies(queue, &copies) {
            Ok(header) => header,
            Err(why) => {
                self.share_counters.dead_letters_failed(&group);
                return self.wait_for_queue(share, format!("topic {}: {why}", topic.name));
            }
        };
        if !self.archive_dead_letters(&share, &copies.spans) {
            return;
        }
        for offset in &copies.cut {
            self.warn(format!(
                "group {group}: the dead letter of {name}-{} offset {offset} has no key and value: \
                 with them it is larger than max.message.bytes of {}",
                log.partition, topic.name
            ));
        }
        self.append_copies(queue, &group, &header, copies);
        self.dead_letters.warned.remove(&group);
        self.dead_letters.wait(log, &group);
    }

    /// The records to copy, as far as one read gives them; `None` where the store is asked for them.
    fn sources(
        &mut self,
        share: &Share,
        letters: &[DeadLetter],
        read: Option<Vec<Bytes>>,
        max_bytes: usize,
    ) -> Option<Sources> {
        let first = letters.first().map(|letter| letter.span.first)?;
        if !self.share_settings(&share.1).dead_letter_copy {
            return Some(Sources::none());
        }
        let chunks = match read {
            Some(chunks) => chunks,
            None => {
                let data = self.logs.get(&share.0)?;
                let from = first.max(data.start_offset());
                match data.read(from, max_bytes, data.high_watermark()) {
                    ReadResult::Hot(chunks) => chunks,
                    ReadResult::Empty | ReadResult::OutOfRange => Vec::new(),
                    ReadResult::Cold => {
                        self.read_dead_letters(share.clone(), first, from, max_bytes);
                        return None;
                    }
                }
            }
        };
        let bytes = Records::from(chunks).to_bytes();
        Some(Sources::of_batches(bytes, letters, max_bytes))
    }

    fn read_dead_letters(&mut self, share: Share, first: i64, from: i64, max_bytes: usize) {
        let log = share.0;
        let read = self.dead_letters.begin_read(share, first);
        let kind = OpKind::Read {
            log,
            from,
            max_bytes,
        };
        let pending = Pending::Read(ReadFor::DeadLetters { read });
        self.journal.issue(kind, pending, &mut self.effects);
    }

    /// The store has read records that are to be copied.
    pub(super) fn dead_letters_read(
        &mut self,
        read: u64,
        batches: Result<Vec<StoredBatch>, StorageFault>,
    ) {
        let Some(share) = self.dead_letters.reads.remove(&read) else {
            return;
        };
        match (batches, self.logs.get(&share.0)) {
            (Ok(batches), Some(data)) => {
                let chunks = data.cut(batches, data.high_watermark(), usize::MAX);
                self.dead_letters.read_done(share, chunks);
            }
            (Ok(_), None) => {
                self.dead_letters.stages.remove(&share);
            }
            (Err(fault), _) => {
                self.warn(format!(
                    "reading records for a dead letter queue failed: {fault}"
                ));
                self.write_later(share, RETRY_MS);
            }
        }
    }

    /// Has the share coordinator store that the records are done. `false`: it does not take the
    /// write, the share partition is read again, and the records still wait.
    fn archive_dead_letters(&mut self, (log, group): &Share, spans: &[Span]) -> bool {
        let mut available = false;
        self.with_leader(*log, group, None, |leader, ctx, out| {
            available = leader.dead_letters_written(ctx, group, spans, out);
        });
        self.deliver_all();
        if available {
            self.wake_share_fetches(*log, group);
        }
        let leader = self.leaders.get(log);
        leader.is_some_and(|leader| leader.share_partition(group).is_some())
            // With the last of its records stored it may have been dropped.
            || !self
                .share_state(*log, group)
                .is_some_and(ShareState::has_dead_letters)
    }

    /// Whether the queue takes the copies, before anything says that they are there.
    fn check_copies(&self, queue: LogId, copies: &Copies) -> Result<BatchHeader, String> {
        let data = self.logs.get(&queue).ok_or("it is gone")?;
        let refused = |error| format!("{error}");
        let mut budget = UnpackBudget::new(MAX_DECOMPRESSED);
        data.check_client(self.now, &copies.batch, &mut budget)
            .map_err(refused)
    }

    fn append_copies(&mut self, queue: LogId, group: &Str, header: &BatchHeader, copies: Copies) {
        let (now, batch) = (self.now, copies.batch);
        let Some(data) = self.logs.get_mut(&queue) else {
            return;
        };
        // Checked before, and without a producer nothing is a repetition.
        if let Ok(Produced::Appended { part, .. }) =
            data.append_checked(now, header, &batch, TxnCheck::Unverified)
        {
            self.append_part(part);
            self.dead_letters.bytes += batch.len();
            let records: i64 = copies.spans.iter().map(|span| span.len()).sum();
            let records = u64::try_from(records).unwrap_or_default();
            self.dead_letters.counts.written += records;
            self.share_counters.dead_letters_written(group, records);
        }
    }

    fn share_state(&self, log: LogId, group: &Str) -> Option<&ShareState> {
        let count = self.share_state_partitions();
        let own = state_partition_for(group, log.topic, log.partition, count);
        self.sgcs.get(&own)?.state(&ShareKey {
            group: group.clone(),
            topic: log.topic,
            partition: log.partition,
        })
    }

    /// Loads a share partition whose stored state has records that wait, unless it is loaded.
    pub(super) fn resume_dead_letters(&mut self, log: LogId, group: &Str) {
        let leader = self.leaders.get(&log);
        if leader.is_some_and(|leader| leader.share_partition(group).is_some()) {
            return;
        }
        let waits = self
            .share_state(log, group)
            .is_some_and(ShareState::has_dead_letters);
        if waits && self.logs.contains_key(&log) {
            self.with_leader(log, group, None, |leader, ctx, out| {
                leader.load(ctx, group, out);
            });
        }
    }

    /// The same for all share partitions of a share coordinator, whose state has just been read.
    pub(super) fn resume_all_dead_letters(&mut self, partition: i32) {
        let Some(sgc) = self.sgcs.get(&partition) else {
            return;
        };
        let waiting: Vec<Share> = sgc
            .states()
            .filter(|(_, state)| state.has_dead_letters())
            .map(|(key, _)| {
                let (topic, partition) = (key.topic, key.partition);
                (LogId { topic, partition }, key.group.clone())
            })
            .collect();
        for (log, group) in waiting {
            self.resume_dead_letters(log, &group);
        }
    }
}
