//! Static Hamiltonian Monte Carlo: each iteration takes a fixed number of leapfrog steps, and then accepts or rejects the end point (Neal 2011, "MCMC
//! using Hamiltonian dynamics", section 5.3.2).
//!
//! The step size of each iteration is the adapted step size times a uniform number between 0.9 and 1.1. Without this factor, a chain could be trapped
//! in an orbit with a period equal to the length of the trajectory (Neal 2011, section 5.3.3). A trajectory ends early only if the energy after a
//! step is not finite. The chain then stays where it is. It remains exact, because the reverse trajectory would contain the same step.

use crate::hamiltonian::points::PointSlot;
use crate::hamiltonian::{
    Hamiltonian, Next, STATS, Trajectory, TrajectoryContext, TrajectoryOutcome, acceptance, diverges, larger,
};
use crate::noise::Purpose;
use crate::setup::Setup;
use bnnc_abi::methods::sampling::samplers::hmc::HmcOptions;

/// The sampler of static Hamiltonian Monte Carlo.
pub type Hmc = Hamiltonian<Static>;

/// The step size of an iteration is above or below the adapted step size by at most this fraction.
const VARIATION: f64 = 0.1;

/// Creates a sampler with `options.steps` steps per iteration, at least one.
pub fn hmc(setup: &Setup<'_>, options: &HmcOptions) -> Hmc {
    let trajectory = Static {
        steps: options.steps.max(1),
        ..Static::default()
    };
    Hamiltonian::new(setup, &options.adaptation, trajectory)
}

/// A trajectory with a fixed number of steps.
#[derive(Debug, Default)]
pub struct Static {
    steps: usize,
    taken: usize,
    size: f64,
    start: PointSlot,
    end: PointSlot,
    /// The energy error with the largest magnitude among the steps so far.
    worst: f64,
    /// True if a step of the trajectory diverged.
    diverged: bool,
}

impl Trajectory for Static {
    const NAME: &'static str = "hmc";
    const STATS: &'static [&'static str] = STATS.split_at(STATS.len() - 1).0;

    fn begin(&mut self, scene: &mut TrajectoryContext<'_>, start: PointSlot, step_size: f64) -> Next {
        let uniform = scene.noise.uniform(Purpose::Length, scene.iteration, 0);
        let size = step_size * (1.0 + VARIATION * (2.0 * uniform - 1.0));
        scene.points.hold(start);
        *self = Static {
            steps: self.steps,
            taken: 0,
            size,
            start,
            end: start,
            worst: 0.0,
            diverged: false,
        };
        Next::Step { from: start, size }
    }

    fn arrive(&mut self, scene: &mut TrajectoryContext<'_>, at: PointSlot) -> Next {
        scene.points.release(self.end);
        self.end = at;
        self.taken += 1;
        let error = scene.points.energy(at) - scene.points.energy(self.start);
        self.worst = larger(self.worst, error);
        self.diverged |= diverges(error);
        if error.is_finite() && self.taken < self.steps {
            return Next::Step {
                from: at,
                size: self.size,
            };
        }
        let acceptance = acceptance(error);
        let uniform = scene.noise.uniform(Purpose::Accept, scene.iteration, 0);
        let (chosen, dropped) = if uniform < acceptance {
            (at, self.start)
        } else {
            (self.start, at)
        };
        scene.points.release(dropped);
        Next::End(TrajectoryOutcome {
            chosen,
            acceptance,
            depth: 0,
            steps: self.taken as u32,
            diverging: self.diverged,
            energy_error: self.worst,
        })
    }
}
