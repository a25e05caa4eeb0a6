//! The topics in a consumer's subscription: what the group coordinator reads of what is otherwise
//! between the clients (`ConsumerProtocolSubscription`).

use alloc::collections::BTreeSet;

use ackord_proto::str::Str;
use bytes::Bytes;

/// The protocol type of consumer groups.
pub(super) const CONSUMER: &str = "consumer";

/// The topics of a subscription; `None` where the bytes are no subscription.
pub(super) fn topics(subscription: &Bytes) -> Option<BTreeSet<Str>> {
    let rest = &**subscription;
    let (version, rest) = rest.split_first_chunk::<2>()?;
    if i16::from_be_bytes(*version) < 0 {
        return None;
    }
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_be_bytes(*count)).ok()?;
    let mut topics = BTreeSet::new();
    for _ in 0..count {
        let (length, tail) = rest.split_first_chunk::<2>()?;
        let length = usize::try_from(i16::from_be_bytes(*length)).ok()?;
        let (name, tail) = tail.split_at_checked(length)?;
        topics.insert(Str::from(core::str::from_utf8(name).ok()?));
        rest = tail;
    }
    Some(topics)
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
}
