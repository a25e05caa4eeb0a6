//! Groups that a transaction of version 1 has added (AddOffsetsToTxn), with the acknowledgements
//! that it has taken for them through TxnOffsetCommit (KIP-1289).
//!
//! There a producer keeps its epoch, so a late request of the last transaction looks like one of
//! this. A transaction therefore takes one content for a group, and only after it has added that
//! group: a late one can at worst make its successor abort. Kept in memory only; after a restart
//! nothing new is taken.

use alloc::collections::BTreeMap;

use ackord_proto::str::Str;

use super::coordinator::TxnCoordinator;
use super::state::TxnState;

/// The groups of one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OffsetGroups {
    /// It was ongoing at a start: what it had taken before is not known.
    recovered: bool,
    by_group: BTreeMap<Str, Content>,
}

/// What a transaction has taken for a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing yet.
    Nothing,
    /// The one with this digest, which is kept in its place: it may be long.
    Taken(u128),
    /// It is not known any more.
    Unknown,
}

/// What a content is to the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetContent {
    /// The one that it takes, or the same again.
    Taken,
    /// It has taken another one.
    Other,
    /// The group was not added, or that was before a restart: only what is staged already can be
    /// repeated.
    NotAdded,
}

impl TxnCoordinator {
    /// AddOffsetsToTxn has added a group to the ongoing transaction.
    pub fn note_offset_group(&mut self, transactional_id: &Str, group: &Str) {
        let Some(entry) = self.entry(transactional_id) else {
            return;
        };
        if entry.state != TxnState::Ongoing {
            return;
        }
        let has_share_acks = entry.has_share_acks();
        let id = transactional_id.clone();
        let groups = self.offset_groups.entry(id).or_default();
        let first = match groups.recovered && has_share_acks {
            true => Content::Unknown,
            false => Content::Nothing,
        };
        groups.by_group.entry(group.clone()).or_insert(first);
    }

    /// The transaction was ongoing when the log was replayed.
    pub(super) fn recover_offset_groups(&mut self, transactional_id: &Str) {
        let groups = OffsetGroups {
            recovered: true,
            ..Default::default()
        };
        self.offset_groups.insert(transactional_id.clone(), groups);
    }

    /// Offers what a TxnOffsetCommit below version 5 holds for a group.
    pub fn take_offset_content(
        &mut self,
        transactional_id: &str,
        group: &str,
        content: &[u8],
    ) -> OffsetContent {
        let content = digest(content);
        let groups = self.offset_groups.get_mut(transactional_id);
        match groups.and_then(|groups| groups.by_group.get_mut(group)) {
            None | Some(Content::Unknown) => OffsetContent::NotAdded,
            Some(Content::Taken(taken)) if *taken == content => OffsetContent::Taken,
            Some(Content::Taken(_)) => OffsetContent::Other,
            Some(nothing) => {
                *nothing = Content::Taken(content);
                OffsetContent::Taken
            }
        }
    }
}

/// FNV-1a of 128 bits: tells the contents of one producer from each other.
fn digest(content: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let step = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
    content.iter().fold(BASIS, step)
}
