//! Why acknowledgements that came in a TxnOffsetCommit were refused (KIP-1289). Its response has no
//! place for a message, so the reason goes to the log, to a counter, and is kept for who asks.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;

use ackord_machine::{MonoTime, WallTime};
use ackord_proto::str::Str;

use super::Broker;

/// Transactional ids whose last refusal is kept.
const KEPT: usize = 1000;
/// The log has some refusals of each kind in so many milliseconds, then how many there were besides:
/// a client that tries again and again must not fill a disk.
const SPELL_MS: i64 = 10_000;
const SAID_IN_A_SPELL: u64 = 20;
/// Characters of a reason or a name in the log.
const SAID_CHARS: usize = 200;

/// What was wrong, in general.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RefusalKind {
    /// The group is absent or of another type.
    Group,
    /// Member id or epoch.
    Member,
    /// The group does not acknowledge in transactions.
    Mode,
    /// The transaction is over, or its producer is fenced.
    Producer,
    /// Records that the member does not hold.
    Records,
    /// The transaction does not take them: not added, or it has taken others.
    Registration,
    /// The text, or the offset beside it.
    Text,
    /// The topic or partition does not exist.
    Topic,
}

impl RefusalKind {
    pub(super) const ALL: [RefusalKind; 8] = [
        RefusalKind::Group,
        RefusalKind::Member,
        RefusalKind::Mode,
        RefusalKind::Producer,
        RefusalKind::Records,
        RefusalKind::Registration,
        RefusalKind::Text,
        RefusalKind::Topic,
    ];

    /// The label of the counter.
    pub(super) const fn label(self) -> &'static str {
        match self {
            RefusalKind::Group => "group",
            RefusalKind::Member => "member",
            RefusalKind::Mode => "mode",
            RefusalKind::Producer => "producer",
            RefusalKind::Records => "records",
            RefusalKind::Registration => "registration",
            RefusalKind::Text => "text",
            RefusalKind::Topic => "topic",
        }
    }
}

/// The last acknowledgements of a transactional id that were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckRefusal {
    /// When.
    pub at: WallTime,
    /// The group that they were for.
    pub group: Str,
    /// Why, with the partition where it concerns one.
    pub reason: String,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct AckRefusals {
    counts: BTreeMap<RefusalKind, u64>,
    last: BTreeMap<Str, AckRefusal>,
    /// The ids of `last`, the oldest first.
    order: VecDeque<Str>,
    spells: BTreeMap<RefusalKind, Spell>,
}

/// Refusals of a kind that came in one stretch of time.
#[derive(Clone, Copy, Debug)]
struct Spell {
    end: MonoTime,
    count: u64,
}

impl AckRefusals {
    pub(super) fn count(&self, kind: RefusalKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// Whether the log shall have a refusal of this kind now, and how many went unsaid before it.
    fn say(&mut self, now: MonoTime, kind: RefusalKind) -> Option<u64> {
        let new = Spell {
            end: now.plus_millis(SPELL_MS),
            count: 0,
        };
        let spell = self.spells.entry(kind).or_insert(new);
        let mut unsaid = 0;
        if now >= spell.end {
            unsaid = spell.count.saturating_sub(SAID_IN_A_SPELL);
            *spell = new;
        }
        spell.count += 1;
        (spell.count <= SAID_IN_A_SPELL).then_some(unsaid)
    }

    fn keep(&mut self, transactional_id: &Str, refusal: AckRefusal) {
        if self
            .last
            .insert(transactional_id.clone(), refusal)
            .is_some()
        {
            return;
        }
        self.order.push_back(transactional_id.clone());
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.last.remove(&oldest);
        }
    }
}

impl Broker {
    /// Why acknowledgements of this transactional id by TxnOffsetCommit were refused last; `None`
    /// where none were since the start, or where that is long ago.
    pub fn last_ack_refusal(&self, transactional_id: &str) -> Option<&AckRefusal> {
        self.ack_refusals.last.get(transactional_id)
    }

    /// One refused request.
    pub(super) fn acks_refused(
        &mut self,
        transactional_id: &Str,
        group: &Str,
        kind: RefusalKind,
        reason: String,
    ) {
        *self.ack_refusals.counts.entry(kind).or_default() += 1;
        if let Some(unsaid) = self.ack_refusals.say(self.now.mono, kind) {
            let (id, name) = (shortened(transactional_id), shortened(group));
            let why = shortened(&reason);
            let besides = match unsaid {
                0 => String::new(),
                unsaid => format!(" (and {unsaid} more of this kind before)"),
            };
            self.warn(format!(
                "acknowledgements of transactional id {id:?} for group {name:?} refused: \
                 {why}{besides}"
            ));
        }
        let refusal = AckRefusal {
            at: self.now.wall,
            group: group.clone(),
            reason,
        };
        self.ack_refusals.keep(transactional_id, refusal);
    }
}

fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(SAID_CHARS);
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_few_of_many_refusals() {
        let mut refusals = AckRefusals::default();
        let at = |millis| MonoTime::from_millis(0).plus_millis(millis);
        for _ in 0..SAID_IN_A_SPELL {
            assert_eq!(refusals.say(at(0), RefusalKind::Text), Some(0));
        }
        assert_eq!(refusals.say(at(1), RefusalKind::Text), None);
        assert_eq!(refusals.say(at(1), RefusalKind::Group), Some(0));
        assert_eq!(refusals.say(at(SPELL_MS - 1), RefusalKind::Text), None);
        assert_eq!(refusals.say(at(SPELL_MS), RefusalKind::Text), Some(2));
        assert_eq!(refusals.say(at(SPELL_MS + 1), RefusalKind::Text), Some(0));
        let long = "ü".repeat(SAID_CHARS + 1);
        assert_eq!(shortened(&long).chars().count(), SAID_CHARS);
        assert_eq!(shortened("short"), "short");
    }

    #[test]
    fn the_last_refusal_of_each_id_is_kept_for_so_many_ids() {
        let mut refusals = AckRefusals::default();
        let id = |number: usize| Str::from(format!("txn-{number}"));
        let refusal = |reason: &str| AckRefusal {
            at: WallTime::from_millis(0),
            group: Str::from("g"),
            reason: String::from(reason),
        };
        for number in 0..KEPT + 5 {
            refusals.keep(&id(number), refusal("first"));
        }
        assert_eq!((refusals.last.len(), refusals.order.len()), (KEPT, KEPT));
        assert!(!refusals.last.contains_key(&id(4)));
        refusals.keep(&id(5), refusal("second"));
        assert_eq!(refusals.last[&id(5)].reason, "second");
        assert_eq!(refusals.order.len(), KEPT);
    }
}
