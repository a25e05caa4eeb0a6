//! The only source of chance.

use ackord_proto::uuid::Uuid;

/// A small seeded generator (xoshiro256**). Components take a [fork](Entropy::fork) each, so one
/// more draw in one of them does not shift the others.
#[derive(Clone, Debug)]
pub struct Entropy {
    state: [u64; 4],
}

impl Entropy {
    /// From a seed; equal seeds give equal sequences.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        let mut state = [0; 4];
        for (word, bytes) in state.iter_mut().zip(seed.chunks_exact(8)) {
            let mut raw = [0; 8];
            raw.copy_from_slice(bytes);
            *word = u64::from_le_bytes(raw);
        }
        Entropy::from_state(state)
    }

    /// A generator of its own for the component named `label`.
    pub fn fork(&self, label: &str) -> Entropy {
        // FNV-1a of the label, spread over the state by splitmix64.
        let mut mix = label
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        let mut state = self.state;
        for word in &mut state {
            *word ^= splitmix64(&mut mix);
        }
        Entropy::from_state(state)
    }

    fn from_state(mut state: [u64; 4]) -> Entropy {
        let mut mix = state
            .iter()
            .fold(0, |all: u64, word| all.rotate_left(17) ^ word);
        for word in &mut state {
            // All zero is the one state that this generator never leaves.
            *word = word.wrapping_add(splitmix64(&mut mix)) | 1;
        }
        Entropy { state }
    }

    /// 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `bound`; 0 where `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A random (version 4) id that is neither of Kafka's reserved ids and, as Kafka's, does not
    /// begin with a dash in its text form.
    pub fn uuid(&mut self) -> Uuid {
        loop {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&self.next_u64().to_be_bytes());
            bytes[8..].copy_from_slice(&self.next_u64().to_be_bytes());
            bytes[6] = bytes[6] & 0x0f | 0x40;
            bytes[8] = bytes[8] & 0x3f | 0x80;
            if bytes[0] >> 2 != 0b11_1110 {
                return Uuid::from_bytes(bytes);
            }
        }
    }
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences_and_forks_differ() {
        let mut a = Entropy::from_seed([7; 32]);
        let mut b = Entropy::from_seed([7; 32]);
        assert_eq!(a.next_u64(), b.next_u64());
        assert_ne!(a.fork("txn").next_u64(), a.fork("share").next_u64());
        assert_eq!(a.fork("txn").next_u64(), b.fork("txn").next_u64());
    }

    #[test]
    fn a_bound_is_never_reached() {
        let mut chance = Entropy::from_seed([0; 32]);
        assert!((0..1000).all(|_| chance.below(3) < 3));
        assert_eq!(chance.below(0), 0);
    }

    #[test]
    fn ids_are_version_four_and_distinct() {
        let mut chance = Entropy::from_seed([1; 32]);
        let (one, two) = (chance.uuid(), chance.uuid());
        assert_ne!(one, two);
        assert_eq!(one.to_bytes()[6] >> 4, 4);
    }
}
