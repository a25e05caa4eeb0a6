//! The only chance of a run: one generator, forked for each part of the world, so that taking one
//! part away does not change the draws of another.

use ackord_machine::Entropy;

/// Draws of one part of the world.
#[derive(Clone, Debug)]
pub struct Chance(Entropy);

impl Chance {
    /// Of a run.
    pub fn of_seed(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Chance(Entropy::from_seed(bytes))
    }

    /// Of a part of it.
    pub fn fork(&self, label: &str) -> Self {
        Chance(self.0.fork(label))
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// A number from `low` to `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high.saturating_sub(low) + 1)
    }

    /// True in `percent` of a hundred cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.0.below(100) < percent
    }

    /// One of `from`, which is not empty.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let place = usize::try_from(self.below(from.len() as u64)).unwrap_or_default();
        from[place].clone()
    }

    /// Seed of a broker.
    pub fn seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        for chunk in seed.chunks_exact_mut(8) {
            chunk.copy_from_slice(&self.0.next_u64().to_le_bytes());
        }
        seed
    }
}
