//! What consumers of the classic protocol say to each other, as far as the group coordinator reads
//! and writes it: `ConsumerProtocolSubscription` and `ConsumerProtocolAssignment`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_proto::str::Str;
use bytes::Bytes;

/// The protocol type of consumer groups.
pub(super) const CONSUMER: &str = "consumer";

/// Partitions by topic name.
pub(super) type NamedPartitions = BTreeMap<Str, BTreeSet<i32>>;

/// From this version on a subscription says what the member has.
const FIRST_WITH_OWNED: i16 = 1;
/// From this version on it says in which generation, from the next on its rack.
const FIRST_WITH_GENERATION: i16 = 2;
const FIRST_WITH_RACK: i16 = 3;

/// A subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) version: i16,
    pub(super) topics: BTreeSet<Str>,
    pub(super) owned: NamedPartitions,
    pub(super) rack: Option<Str>,
}

/// The topics of a subscription; `None` where the bytes are no subscription.
pub(super) fn topics(subscription: &Bytes) -> Option<BTreeSet<Str>> {
    let mut reader = Reader(subscription);
    reader.version()?;
    reader.topics()
}

/// A whole subscription; `None` where the bytes are none.
pub(super) fn read(subscription: &Bytes) -> Option<Subscription> {
    let mut reader = Reader(subscription);
    let version = reader.version()?;
    let topics = reader.topics()?;
    reader.skip_user_data()?;
    let mut read = Subscription {
        version,
        topics,
        ..Subscription::default()
    };
    if version >= FIRST_WITH_OWNED {
        read.owned = reader.partitions()?;
    }
    if version >= FIRST_WITH_GENERATION {
        reader.number()?;
    }
    if version >= FIRST_WITH_RACK {
        read.rack = reader.nullable_string()?;
    }
    Some(read)
}

/// The partitions of an assignment; `None` where the bytes are none.
pub(super) fn read_assignment(assignment: &Bytes) -> Option<NamedPartitions> {
    let mut reader = Reader(assignment);
    reader.version()?;
    reader.partitions()
}

/// An assignment, in the version of the member's subscription.
pub(super) fn write_assignment(version: i16, partitions: &NamedPartitions) -> Bytes {
    let length = |count: usize| i32::try_from(count).unwrap_or(i32::MAX).to_be_bytes();
    let mut bytes = Vec::new();
    bytes.extend(version.to_be_bytes());
    bytes.extend(length(partitions.len()));
    for (topic, indexes) in partitions {
        bytes.extend(i16::try_from(topic.len()).unwrap_or(i16::MAX).to_be_bytes());
        bytes.extend(topic.as_bytes());
        bytes.extend(length(indexes.len()));
        bytes.extend(indexes.iter().flat_map(|index| index.to_be_bytes()));
    }
    // No user data.
    bytes.extend((-1_i32).to_be_bytes());
    Bytes::from(bytes)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<i32> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(i32::from_be_bytes(*number))
    }

    fn short(&mut self) -> Option<i16> {
        let (number, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(i16::from_be_bytes(*number))
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn version(&mut self) -> Option<i16> {
        self.short().filter(|version| *version >= 0)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn string(&mut self) -> Option<Str> {
        let length = usize::try_from(self.short()?).ok()?;
        let text = core::str::from_utf8(self.bytes(length)?).ok()?;
        Some(Str::from(text))
    }

    /// `Some(None)` is null.
    fn nullable_string(&mut self) -> Option<Option<Str>> {
        if let Some(rest) = self.0.strip_prefix(&(-1_i16).to_be_bytes()) {
            self.0 = rest;
            return Some(None);
        }
        self.string().map(Some)
    }

    fn topics(&mut self) -> Option<BTreeSet<Str>> {
        let count = self.count()?;
        let mut topics = BTreeSet::new();
        for _ in 0..count {
            topics.insert(self.string()?);
        }
        Some(topics)
    }

    fn partitions(&mut self) -> Option<NamedPartitions> {
        let count = self.count()?;
        let mut partitions = NamedPartitions::new();
        for _ in 0..count {
            let topic = self.string()?;
            let indexes = self.count()?;
            let own = partitions.entry(topic).or_default();
            for _ in 0..indexes {
                own.insert(self.number()?);
            }
        }
        Some(partitions)
    }

    fn skip_user_data(&mut self) -> Option<()> {
        let length = self.number()?.max(0);
        self.bytes(usize::try_from(length).ok()?).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_read_and_damage_is_none() {
        let good = Bytes::from_static(b"\0\x01\0\0\0\x02\0\x01a\0\x02bc\xff\xff\xff\xff");
        let found = topics(&good).unwrap();
        assert_eq!(found, [Str::from("a"), Str::from("bc")].into());
        for length in 0..10 {
            assert_eq!(topics(&good.slice(..length)), None, "{length}");
        }
        assert_eq!(topics(&Bytes::from_static(b"\0\0\xff\xff\xff\xff")), None);
        assert_eq!(
            topics(&Bytes::from_static(b"\0\0\0\0\0\0")),
            Some(BTreeSet::new())
        );
    }

    #[test]
    fn a_subscription_says_what_its_member_has() {
        let bytes = Bytes::from_static(
            b"\0\x03\0\0\0\x01\0\x01a\xff\xff\xff\xff\
              \0\0\0\x01\0\x01a\0\0\0\x02\0\0\0\0\0\0\0\x05\0\0\0\x07\0\x01r",
        );
        let read_back = read(&bytes).unwrap();
        assert_eq!(read_back.version, 3);
        assert_eq!(read_back.owned, [(Str::from("a"), [0, 5].into())].into());
        assert_eq!(read_back.rack, Some(Str::from("r")));
        for length in 0..bytes.len() {
            assert_eq!(read(&bytes.slice(..length)), None, "{length}");
        }
    }

    #[test]
    fn an_assignment_is_read_as_it_was_written() {
        let partitions: NamedPartitions = [
            (Str::from("a"), [0, 5].into()),
            (Str::from("bc"), [1].into()),
        ]
        .into();
        let bytes = write_assignment(1, &partitions);
        assert_eq!(read_assignment(&bytes), Some(partitions));
        assert_eq!(read_assignment(&bytes.slice(..9)), None);
    }
}
