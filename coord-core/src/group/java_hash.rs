//! Which partition of an internal topic a key belongs to.
//!
//! Clients and tools compute the same numbers, so they have to be Java's.

use core::fmt::{self, Write};

use ackord_proto::uuid::Uuid;

/// `String.hashCode` of Java: over UTF-16 units, wrapping.
pub fn java_hash(text: &str) -> i32 {
    let mut hash = JavaHash(0);
    hash.add(text);
    hash.0
}

/// The hash of what was written so far, so that a text that is only hashed is never put together.
struct JavaHash(i32);

impl JavaHash {
    fn add(&mut self, text: &str) {
        self.0 = text.encode_utf16().fold(self.0, |hash, unit| {
            hash.wrapping_mul(31).wrapping_add(i32::from(unit))
        });
    }
}

impl Write for JavaHash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text);
        Ok(())
    }
}

/// The partition of `__consumer_offsets` (for a group id) or of `__transaction_state` (for a
/// transactional id) that holds `id`, of `partitions` many. 0 where there are none.
pub fn partition_for_id(id: &str, partitions: i32) -> i32 {
    partition_for_hash(java_hash(id), partitions)
}

fn partition_for_hash(hash: i32, partitions: i32) -> i32 {
    // As Kafka does: the one number without a positive twin counts as 0.
    let positive = hash.checked_abs().unwrap_or(0);
    positive.checked_rem(partitions).unwrap_or(0)
}

/// The partition of `__share_group_state` that holds a share partition, of `partitions` many
/// (KIP-932: by the text `group:topicId:partition`).
pub fn state_partition_for(group: &str, topic: Uuid, partition: i32, partitions: i32) -> i32 {
    let mut hash = JavaHash(0);
    hash.add(group);
    // Writing into a hash cannot fail.
    let _ = write!(hash, ":{topic}:{partition}");
    partition_for_hash(hash.0, partitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_java() {
        assert_eq!(java_hash(""), 0);
        assert_eq!(java_hash("abc"), 96_354);
        // 'ü' is one unit, the crab two: 55358 and 56704.
        assert_eq!(java_hash("ü"), 252);
        assert_eq!(java_hash("🦀"), 55_358 * 31 + 56_704);
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
    }

    #[test]
    fn the_partition_is_never_negative() {
        assert_eq!(partition_for_id("polygenelubricants", 50), 0);
        assert_eq!(partition_for_id("abc", 50), 4);
        assert_eq!(java_hash("share-group"), -1_035_553_007);
        assert_eq!(partition_for_id("share-group", 50), 7);
        assert_eq!(partition_for_id("abc", 0), 0);
        assert_eq!(partition_for_id("abc", -1), 0);
    }

    #[test]
    fn a_share_partition_is_found_by_group_topic_id_and_partition() {
        let topic = Uuid::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        let found: [i32; 4] = core::array::from_fn(|partition| {
            state_partition_for(
                "g1",
                topic,
                i32::try_from(partition).unwrap_or_default(),
                50,
            )
        });
        assert_eq!(found, [8, 7, 6, 5]);
    }
}
