//! The assignor `range`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::{Assigned, Subscriber};

/// Topic by topic its partitions in as many runs as there are subscribers, the first ones longer by
/// one where that does not come out even. Static members stand in the order of their instance ids,
/// so that one that comes back under another member id gets the same again.
pub(super) fn assign(
    subscribers: &BTreeMap<Str, Subscriber<'_>>,
    topics: &BTreeMap<Uuid, i32>,
) -> BTreeMap<Str, Assigned> {
    let mut ordered: Vec<(&Str, &Subscriber<'_>)> = subscribers.iter().collect();
    ordered.sort_by_key(|(id, member)| (member.instance.is_none(), member.instance, *id));
    let members = subscribers.keys();
    let mut assigned: BTreeMap<Str, Assigned> =
        members.map(|id| (id.clone(), Assigned::new())).collect();
    for (topic, partitions) in topics {
        let subscribed: Vec<&Str> = ordered
            .iter()
            .filter(|(_, member)| member.topics.contains(topic))
            .map(|(id, _)| *id)
            .collect();
        let Ok(count) = i32::try_from(subscribed.len()) else {
            continue;
        };
        let (Some(least), Some(longer)) =
            (partitions.checked_div(count), partitions.checked_rem(count))
        else {
            continue;
        };
        let mut next = 0;
        for (index, id) in (0..count).zip(subscribed) {
            let end = next + least + i32::from(index < longer);
            if next < end
                && let Some(own) = assigned.get_mut(id)
            {
                own.entry(*topic).or_default().extend(next..end);
            }
            next = end;
        }
    }
    assigned
}
