//! Which partition a key belongs to, as Kafka's own clients decide it.

/// Kafka's 32-bit murmur2 of a key (seed 0x9747b28c).
pub fn murmur2(key: &[u8]) -> i32 {
    const M: u32 = 0x5bd1_e995;
    // Kafka hashes the low 32 bits of the length, as Java's int.
    let mut hash = 0x9747_b28c_u32 ^ (key.len() as u32);
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k = (k ^ (k >> 24)).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    if !rest.is_empty() {
        let tail = rest
            .iter()
            .rev()
            .fold(0, |all: u32, byte| (all << 8) | u32::from(*byte));
        hash = (hash ^ tail).wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    (hash ^ (hash >> 15)).cast_signed()
}

/// The partition of `key` among `partitions`; 0 where there are none.
pub fn partition_for_key(key: &[u8], partitions: i32) -> i32 {
    (murmur2(key) & i32::MAX)
        .checked_rem(partitions)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_java_client() {
        assert_eq!(murmur2(b"21"), -973_932_308);
        assert_eq!(murmur2(b"foobar"), -790_332_482);
        assert_eq!(murmur2(b"a-little-bit-long-string"), -985_981_536);
        assert_eq!(murmur2(b"a-little-bit-longer-string"), -1_486_304_829);
        assert_eq!(
            murmur2(b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8"),
            -58_897_971
        );
        assert_eq!(murmur2(b"abc"), 479_470_107);
    }

    #[test]
    fn a_partition_is_in_range() {
        for partitions in 1..20 {
            assert!((0..partitions).contains(&partition_for_key(b"foobar", partitions)));
        }
        assert_eq!(partition_for_key(b"foobar", 0), 0);
    }
}
