//! The random numbers of a chain. A number depends only on the seed, the inference block, the chain, the purpose and the iteration, not on the order
//! of calls.

use bnnc_math::philox;

/// The purpose of a random number. Numbers of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Numbers for the momentum, the proposal or the diffusion.
    Motion,
    /// Numbers that decide whether a proposal is accepted.
    Accept,
    /// Numbers that decide whether a trajectory is doubled forwards or backwards in time.
    Direction,
    /// Numbers that choose a state of a trajectory.
    Choice,
    /// Numbers that choose the rows of the batches whose losses are compared.
    Rows,
    /// Numbers that choose the rows of the batch whose gradient determines the proposal.
    GradientRows,
    /// Numbers that choose the start of the chain.
    Start,
    /// Numbers that vary the step sizes and path lengths.
    Length,
}

/// The index of a trial step in a search for a step size. The index is between 1 and 2^24 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialStep(u32);

impl TrialStep {
    /// The largest index of a trial step. Trial steps with different indices have different random numbers.
    const MOST: u32 = (1 << 24) - 1;

    /// Returns the index of a trial step that comes after `others` earlier trial steps.
    pub fn after(others: u32) -> TrialStep {
        TrialStep(others.saturating_add(1).min(TrialStep::MOST))
    }
}

/// The source of random numbers of one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainNoise {
    key: u64,
}

impl ChainNoise {
    /// Creates the source of random numbers for one chain of an inference block.
    pub fn new(seed: u64, infer: &str, chain: usize) -> ChainNoise {
        ChainNoise {
            key: philox::key(seed, &format!("chain/{infer}/{chain}")),
        }
    }

    /// Returns the coordinates of an iteration: three words. The first word holds the purpose in its low byte, and bits 40 to 63 of the iteration in
    /// the other bytes. The second word holds bits 32 to 39 of the iteration in its low byte. Its other bytes are zero here;
    /// [`ChainNoise::trial_coordinates`] stores the trial step in them. The third word holds bits 0 to 31 of the iteration.
    fn coordinates(purpose: Purpose, iteration: u64) -> [u32; 3] {
        let above = (iteration >> 40) as u32;
        let middle = u32::from((iteration >> 32) as u8);
        [purpose as u32 | (above << 8), middle, iteration as u32]
    }

    /// Returns the coordinates for the momentum of a trial step before an iteration. These coordinates differ from those of every iteration and
    /// every other trial step.
    fn trial_coordinates(iteration: u64, trial: TrialStep) -> [u32; 3] {
        let [purpose, middle, low] = ChainNoise::coordinates(Purpose::Motion, iteration);
        [purpose, middle | (trial.0 << 8), low]
    }

    /// Returns a uniform number in (0, 1).
    pub fn uniform(self, purpose: Purpose, iteration: u64, element: usize) -> f64 {
        philox::uniform(
            self.key,
            ChainNoise::coordinates(purpose, iteration),
            element as u64,
        )
    }

    /// Fills a slice with independent standard normal numbers.
    pub fn normals(self, purpose: Purpose, iteration: u64, out: &mut [f64]) {
        self.fill(ChainNoise::coordinates(purpose, iteration), out);
    }

    /// Fills a slice with independent standard normal numbers for a trial step that precedes an
    /// iteration.
    pub fn trial_normals(self, iteration: u64, trial: TrialStep, out: &mut [f64]) {
        self.fill(ChainNoise::trial_coordinates(iteration, trial), out);
    }

    fn fill(self, coordinates: [u32; 3], out: &mut [f64]) {
        for (block, four) in out.chunks_mut(4).enumerate() {
            let words = philox::words(self.key, coordinates, 4 * block as u64);
            let (first, second) = (philox::pair(words[0], words[1]), philox::pair(words[2], words[3]));
            for (to, from) in four.iter_mut().zip([first.0, first.1, second.0, second.1]) {
                *to = from;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn normals_agree_with_the_streams() {
        let noise = ChainNoise::new(3, "gold", 1);
        let mut out = [0.0; 7];
        noise.normals(Purpose::Motion, 9, &mut out);
        for (at, value) in out.iter().enumerate() {
            let want = philox::normal(noise.key, ChainNoise::coordinates(Purpose::Motion, 9), at as u64);
            assert_eq!(*value, want);
        }
    }

    /// Returns 0, the numbers with a single bit set, and the numbers with all bits set. If two fields of the coordinates shared a bit, some of these
    /// numbers would lead to equal coordinates.
    fn edges<T: From<u8> + std::ops::Shl<u32, Output = T> + std::ops::Not<Output = T>>(bits: u32) -> Vec<T> {
        let single = (0..bits).map(|bit| T::from(1) << bit);
        single.chain([T::from(0), !T::from(0)]).collect()
    }

    #[test]
    fn no_trial_shares_coordinates_with_an_iteration_or_another_trial() {
        let mut seen = HashSet::new();
        let purposes = [Purpose::Motion, Purpose::Accept, Purpose::Length];
        for iteration in edges::<u64>(64) {
            for purpose in purposes {
                assert!(
                    seen.insert(ChainNoise::coordinates(purpose, iteration)),
                    "{iteration}"
                );
            }
            for trial in edges::<u32>(24)
                .into_iter()
                .filter(|number| *number < TrialStep::MOST)
            {
                let coordinates = ChainNoise::trial_coordinates(iteration, TrialStep::after(trial));
                assert!(seen.insert(coordinates), "{iteration} {trial}");
            }
        }
    }

    /// For iterations below 2^40, the second word is the high half of the iteration, and the third word is the low half. A trial step adds a
    /// multiple of 2^40. Published draws depend on these coordinates.
    #[test]
    fn ordinary_iterations_have_the_numbers_of_their_halves() {
        for iteration in [0, 9, u64::from(u32::MAX), (1 << 40) - 1] {
            let halves = |number: u64| [0, (number >> 32) as u32, number as u32];
            assert_eq!(
                ChainNoise::coordinates(Purpose::Motion, iteration),
                halves(iteration)
            );
            for trial in [0, 1, 60] {
                let wanted = halves(iteration + ((u64::from(trial) + 1) << 40));
                let found = ChainNoise::trial_coordinates(iteration, TrialStep::after(trial));
                assert_eq!(found, wanted, "{iteration} {trial}");
            }
        }
    }

    #[test]
    fn chains_and_purposes_have_different_numbers() {
        let of = |chain, purpose| ChainNoise::new(3, "gold", chain).uniform(purpose, 0, 0);
        assert_ne!(of(0, Purpose::Motion), of(1, Purpose::Motion));
        assert_ne!(of(0, Purpose::Motion), of(0, Purpose::Accept));
    }
}
