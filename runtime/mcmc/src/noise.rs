//! The random numbers of a chain. They are functions of seed, inference block, chain, purpose and iteration, and do not depend on the order of calls.

use bnnc_math::philox;

/// The purpose of a random number. Numbers of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The momentum, the proposal or the diffusion.
    Motion,
    /// The acceptance of a proposal.
    Accept,
    /// The direction of a doubling.
    Direction,
    /// The choice among states of a trajectory.
    Choice,
    /// The rows of the batches whose losses are compared.
    Rows,
    /// The rows of the batch whose gradient makes the proposal.
    GradientRows,
    /// The start of the chain.
    Start,
    /// Random variation of step sizes and path lengths.
    Length,
}

/// The source of random numbers of one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainNoise {
    key: u64,
}

impl ChainNoise {
    /// Returns the source of a chain of an inference block.
    pub fn new(seed: u64, infer: &str, chain: usize) -> ChainNoise {
        ChainNoise {
            key: philox::key(seed, &format!("chain/{infer}/{chain}")),
        }
    }

    fn coordinates(purpose: Purpose, iteration: u64) -> [u32; 3] {
        [purpose as u32, (iteration >> 32) as u32, iteration as u32]
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
        let coordinates = ChainNoise::coordinates(purpose, iteration);
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

    #[test]
    fn chains_and_purposes_have_different_numbers() {
        let of = |chain, purpose| ChainNoise::new(3, "gold", chain).uniform(purpose, 0, 0);
        assert_ne!(of(0, Purpose::Motion), of(1, Purpose::Motion));
        assert_ne!(of(0, Purpose::Motion), of(0, Purpose::Accept));
    }
}
