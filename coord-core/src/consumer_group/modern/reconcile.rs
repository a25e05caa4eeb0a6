//! One member's way to what it is to have (KIP-848): first it gives up, then its epoch grows, then
//! it gets what is free.

use alloc::collections::{BTreeMap, BTreeSet};

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::Assigned;
use super::group::ConsumerGroup;
use super::member::{ConsumerMember, Current, Held, MemberState, has, overlaps};

impl ConsumerGroup {
    /// Where the member is after a heartbeat in which it says what it has; `owned` is `None` where
    /// it does not say. `topics` are those to which it subscribes: it keeps nothing of others, also
    /// where the target assignment is from before it said so.
    pub(super) fn next_current(
        &self,
        id: &Str,
        owned: Option<&Assigned>,
        topics: &BTreeSet<Uuid>,
    ) -> Option<Current> {
        let member = self.members.get(id)?;
        let current = &member.current;
        let gave_up = |held: &Held| owned.is_some_and(|owned| !overlaps(owned, held));
        let is_there = current.epoch == self.target_epoch
            && current.assigned.keys().all(|topic| topics.contains(topic));
        match current.state {
            MemberState::Stable if is_there => None,
            MemberState::UnrevokedPartitions if !gave_up(&current.revoking) => None,
            _ => {
                let next = self.towards_target(id, member, topics, gave_up);
                (next != *current).then_some(next)
            }
        }
    }

    fn towards_target(
        &self,
        id: &Str,
        member: &ConsumerMember,
        topics: &BTreeSet<Uuid>,
        gave_up: impl Fn(&Held) -> bool,
    ) -> Current {
        let current = &member.current;
        let none = Assigned::new();
        let target = self.target.get(id).unwrap_or(&none);
        let target = target.iter().filter(|(topic, _)| topics.contains(*topic));
        let target: BTreeMap<Uuid, &BTreeSet<i32>> = target.map(|(id, own)| (*id, own)).collect();
        let (mut assigned, mut revoking) = (Held::new(), Held::new());
        for (topic, partitions) in &current.assigned {
            for (partition, epoch) in partitions {
                let wanted = target.get(topic).is_some_and(|own| own.contains(partition));
                let side = if wanted { &mut assigned } else { &mut revoking };
                side.entry(*topic).or_default().insert(*partition, *epoch);
            }
        }
        if !revoking.is_empty() && !gave_up(&revoking) {
            return Current {
                state: MemberState::UnrevokedPartitions,
                assigned,
                revoking,
                ..current.clone()
            };
        }
        let mut state = MemberState::Stable;
        for (topic, partitions) in target {
            for partition in partitions {
                if has(&assigned, topic, *partition) {
                    continue;
                }
                if self.is_free_for(id, topic, *partition) {
                    let own = assigned.entry(topic).or_default();
                    own.insert(*partition, self.target_epoch);
                } else {
                    state = MemberState::UnreleasedPartitions;
                }
            }
        }
        let previous_epoch = match current.epoch == self.target_epoch {
            true => current.previous_epoch,
            false => current.epoch,
        };
        Current {
            epoch: self.target_epoch,
            previous_epoch,
            state,
            assigned,
            revoking: Held::new(),
        }
    }

    /// Nobody has it, or the member itself has just given it up.
    fn is_free_for(&self, id: &Str, topic: Uuid, partition: i32) -> bool {
        self.owner(topic, partition).is_none_or(|owner| owner == id)
    }
}
