//! One share partition at its leader: being read, or ready.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ackord_machine::{Envelope, MonoTime, PendingAck};
use ackord_proto::error_code::ErrorCode;
use ackord_share_partition::{SharePartition, Span};

/// What a fetch finds.
#[derive(Debug)]
pub enum ShareLoad<'a> {
    /// The share coordinator refused the read; the next use tries again.
    Failed(ErrorCode),
    /// Wait for the share coordinator.
    Reading,
    /// Loaded.
    Ready(&'a mut SharePartition),
}

/// A share partition and where its state is.
#[derive(Clone, Debug)]
pub(super) struct Share {
    pub(super) phase: Phase,
    /// What the share coordinator has asked for while the state is read.
    pub(super) waiting: Vec<Envelope>,
    /// The newest number of the share coordinator that was taken. It numbers what it sends, so what
    /// is not above is an old copy.
    pub(super) newest: u64,
    /// A member fetches from it.
    pub(super) in_use: bool,
    /// Delivered offsets at which the log has no record but a marker, ascending.
    holes: Vec<Span>,
}

#[derive(Clone, Debug)]
pub(super) enum Phase {
    Failed(ErrorCode),
    Reading {
        correlation: u64,
    },
    Ready {
        partition: Box<SharePartition>,
        state_epoch: i32,
    },
}

impl Share {
    pub(super) fn reading(correlation: u64) -> Self {
        let phase = Phase::Reading { correlation };
        Share {
            phase,
            waiting: Vec::new(),
            newest: 0,
            in_use: false,
            holes: Vec::new(),
        }
    }

    /// Notes where the log has no record; what the start offset has passed is forgotten.
    pub(super) fn note_holes(&mut self, found: &[Span]) {
        let start = self.ready().map_or(0, SharePartition::start_offset);
        self.holes.retain(|hole| hole.last >= start);
        for hole in found {
            if let Err(place) = self.holes.binary_search(hole) {
                self.holes.insert(place, *hole);
            }
        }
    }

    /// The share partition, if it is loaded, with the known holes of its log.
    pub(super) fn ready_with_holes(&mut self) -> Option<(&mut SharePartition, &[Span])> {
        match &mut self.phase {
            Phase::Ready { partition, .. } => Some((partition, &self.holes)),
            Phase::Failed(_) | Phase::Reading { .. } => None,
        }
    }

    pub(super) fn ready(&self) -> Option<&SharePartition> {
        match &self.phase {
            Phase::Ready { partition, .. } => Some(partition),
            Phase::Failed(_) | Phase::Reading { .. } => None,
        }
    }

    pub(super) fn ready_mut(&mut self) -> Option<&mut SharePartition> {
        match &mut self.phase {
            Phase::Ready { partition, .. } => Some(partition),
            Phase::Failed(_) | Phase::Reading { .. } => None,
        }
    }

    pub(super) fn load(&mut self) -> ShareLoad<'_> {
        match &mut self.phase {
            Phase::Failed(code) => ShareLoad::Failed(*code),
            Phase::Reading { .. } => ShareLoad::Reading,
            Phase::Ready { partition, .. } => ShareLoad::Ready(partition),
        }
    }

    pub(super) fn state_epoch(&self) -> i32 {
        match &self.phase {
            Phase::Ready { state_epoch, .. } => *state_epoch,
            Phase::Failed(_) | Phase::Reading { .. } => 0,
        }
    }

    /// What transactions hold of a range.
    pub(super) fn pending(&self, first: i64, last: i64) -> Vec<PendingAck> {
        self.ready().map_or(Vec::new(), |partition| {
            partition.pending_acks(first, last).collect()
        })
    }

    pub(super) fn note(&mut self, number: u64) {
        self.newest = self.newest.max(number);
    }

    /// Whether nobody holds anything of it, and nothing waits for a dead letter queue: that is written
    /// by who has it loaded.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
            && match &self.phase {
                Phase::Failed(_) => true,
                Phase::Reading { .. } => false,
                Phase::Ready { partition, .. } => {
                    partition.next_expiry().is_none()
                        && partition.pending_count() == 0
                        && partition.archiving_count() == 0
                }
            }
    }

    pub(super) fn next_lock(&self) -> Option<MonoTime> {
        self.ready().and_then(SharePartition::next_expiry)
    }

    /// The read that is not answered yet.
    pub(super) fn read_under_way(&self) -> Option<u64> {
        match &self.phase {
            Phase::Reading { correlation } => Some(*correlation),
            Phase::Failed(_) | Phase::Ready { .. } => None,
        }
    }
}
