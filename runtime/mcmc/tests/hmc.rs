//! Static Hamiltonian Monte Carlo samples known distributions. The same checks detect incorrect variants of the sampler.
#![allow(clippy::unwrap_used)]

mod chains;
mod targets;

use bnnc_abi::methods::sampling::Transition;
use bnnc_abi::methods::sampling::samplers::hmc::HmcOptions;
use bnnc_mcmc::hamiltonian::points::PointSlot;
use bnnc_mcmc::hamiltonian::{Hamiltonian, Next, STATS, Trajectory, TrajectoryContext, TrajectoryOutcome};
use bnnc_mcmc::samplers::hmc::hmc;
use bnnc_mcmc::seam::Sampler;
use chains::{Density, Drawn, Length, draws};
use targets::{
    METRICS, adapted, check, fixed, furthest, no_divergences, normal_means, place, run, unadapted,
};

const LENGTH: Length = Length {
    warmup: 500,
    draws: 8000,
};

/// A normal distribution of two correlated quantities. Its precision matrix is `[[2, -1], [-1, 1]]`, and its covariance is
/// the inverse, `[[1, 1], [1, 2]]`.
fn pair(at: &[f64], gradient: &mut [f64]) -> f64 {
    gradient[0] = at[1] - 2.0 * at[0];
    gradient[1] = at[0] - at[1];
    0.5 * (at[0] * gradient[0] + at[1] * gradient[1])
}

fn covariance() -> Vec<Vec<f64>> {
    vec![vec![1.0, 1.0], vec![1.0, 2.0]]
}

#[test]
fn moments_of_a_correlated_normal_are_exact() {
    for metric in METRICS {
        let transition = Transition::Hmc(HmcOptions {
            steps: 5,
            adaptation: adapted(metric),
        });
        let draws = run(&transition, &mut Density(pair), &[3.0, -3.0], LENGTH);
        check(&draws, &normal_means(&[0.0; 2], &covariance()));
        no_divergences(&draws);
        let acceptance = draws
            .iter()
            .map(|draw| draw.stats[place("acceptance_rate")])
            .sum::<f64>()
            / draws.len() as f64;
        assert!((acceptance - 0.8).abs() < 0.15, "{acceptance}");
    }
}

/// If the step size did not vary, a trajectory as long as the period of the target's orbits would always return to its
/// start.
#[test]
fn periodic_orbits_do_not_trap_the_chain() {
    let mut round = Density(|at: &[f64], gradient: &mut [f64]| {
        gradient[0] = -at[0];
        -0.5 * at[0] * at[0]
    });
    let transition = Transition::Hmc(HmcOptions {
        steps: 40,
        adaptation: fixed(std::f64::consts::TAU / 40.0),
    });
    let length = Length {
        warmup: 0,
        draws: 8000,
    };
    check(
        &run(&transition, &mut round, &[3.0], length),
        &normal_means(&[0.0], &[vec![1.0]]),
    );
}

/// On a standard normal target, the second difference of three successive positions of a leapfrog trajectory is the squared
/// step size times the negative middle position, whatever the momentum is. Therefore, the draw before a trajectory of two
/// steps and the two positions at which this trajectory requests gradients show the step size of the iteration.
#[test]
fn the_step_size_varies_by_a_tenth_in_either_direction() {
    const SIZE: f64 = 0.5;
    let mut met = Vec::new();
    let mut round = Density(|at: &[f64], gradient: &mut [f64]| {
        met.push(at[0]);
        gradient[0] = -at[0];
        -0.5 * at[0] * at[0]
    });
    let transition = Transition::Hmc(HmcOptions {
        steps: 2,
        adaptation: fixed(SIZE),
    });
    let length = Length {
        warmup: 0,
        draws: 4000,
    };
    let drawn = run(&transition, &mut round, &[1.0], length);
    let starts = std::iter::once(1.0).chain(drawn.iter().map(|draw| draw.position[0]));
    // The first gradient is the gradient at the start.
    let trajectories = met[1..].chunks_exact(2).zip(starts);
    let factors: Vec<f64> = trajectories
        .filter(|(steps, _)| steps[0].abs() > 1e-3)
        .map(|(steps, start)| ((2.0 * steps[0] - steps[1] - start) / steps[0]).sqrt() / SIZE)
        .collect();
    assert!(factors.len() > 3900, "{}", factors.len());
    let (least, most) = factors
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), factor| {
            (least.min(*factor), most.max(*factor))
        });
    // The second difference loses fewer than 6 of 16 digits.
    assert!((0.9 - 1e-6..0.901).contains(&least), "{least}");
    assert!((1.099..1.1 + 1e-6).contains(&most), "{most}");
    // The standard deviation of a uniform number between 0.9 and 1.1 is 0.0577. The bound is five standard errors.
    let mean = factors.iter().sum::<f64>() / factors.len() as f64;
    assert!((mean - 1.0).abs() < 5.0 * 0.0577 / 3900.0_f64.sqrt(), "{mean}");
}

/// A deliberate defect of a trajectory.
#[derive(Clone, Copy)]
enum Mistake {
    /// The trajectory is correct.
    None,
    /// Every proposal is accepted.
    NoMetropolis,
    /// Every iteration uses the same momentum.
    NoRefreshment,
    /// The acceptance probability ignores the momentum.
    NoKineticEnergy,
}

/// A trajectory of three steps. It may have a deliberate defect.
struct Three {
    mistake: Mistake,
    start: PointSlot,
    end: PointSlot,
    taken: usize,
    size: f64,
}

impl Trajectory for Three {
    const NAME: &'static str = "three";
    const STATS: &'static [&'static str] = STATS;

    fn begin(&mut self, scene: &mut TrajectoryContext<'_>, start: PointSlot, step_size: f64) -> Next {
        if let Mistake::NoRefreshment = self.mistake {
            scene.points.refresh(start, scene.noise, 0);
        }
        scene.points.hold(start);
        (self.start, self.end, self.taken, self.size) = (start, start, 0, step_size);
        Next::Step {
            from: start,
            size: step_size,
        }
    }

    fn arrive(&mut self, scene: &mut TrajectoryContext<'_>, at: PointSlot) -> Next {
        scene.points.release(self.end);
        self.end = at;
        self.taken += 1;
        if self.taken < 3 {
            return Next::Step {
                from: at,
                size: self.size,
            };
        }
        let points = &*scene.points;
        let error = match self.mistake {
            Mistake::NoMetropolis => 0.0,
            Mistake::NoKineticEnergy => points.log_density(self.start) - points.log_density(at),
            Mistake::None | Mistake::NoRefreshment => points.energy(at) - points.energy(self.start),
        };
        let uniform = scene
            .noise
            .uniform(bnnc_mcmc::noise::Purpose::Accept, scene.iteration, 0);
        let (chosen, dropped) = if uniform < (-error).exp() {
            (at, self.start)
        } else {
            (self.start, at)
        };
        scene.points.release(dropped);
        Next::End(TrajectoryOutcome {
            chosen,
            acceptance: 1.0,
            depth: 0,
            steps: 3,
            diverging: false,
            energy_error: error,
        })
    }
}

/// Runs a chain with a deliberate defect. Returns the largest difference between a moment of the draws and its exact value,
/// in standard errors.
fn distance(mistake: Mistake) -> f64 {
    let adaptation = fixed(0.8);
    let transition = Transition::Hmc(HmcOptions { steps: 3, adaptation });
    let trajectory = Three {
        mistake,
        start: PointSlot::default(),
        end: PointSlot::default(),
        taken: 0,
        size: 0.0,
    };
    let mut sampler = Hamiltonian::new(&unadapted(&transition, &[0.5, 0.5], 0), &adaptation, trajectory);
    let draws = draws(&mut sampler, &mut Density(pair), 8000);
    furthest(&draws, &normal_means(&[0.0; 2], &covariance())).0
}

#[test]
fn mistakes_are_detected() {
    assert!(distance(Mistake::None) < 5.0);
    for mistake in [
        Mistake::NoMetropolis,
        Mistake::NoRefreshment,
        Mistake::NoKineticEnergy,
    ] {
        let seen = distance(mistake);
        assert!(seen > 10.0, "{seen}");
    }
}

/// Points where the density cannot be computed are rejected, and the chain continues. The target is a normal distribution
/// truncated at 1.
#[test]
fn points_without_density_are_rejected() {
    let mut cut = Density(|at: &[f64], gradient: &mut [f64]| {
        gradient[0] = -at[0];
        if at[0] > 1.0 {
            f64::NAN
        } else {
            -0.5 * at[0] * at[0]
        }
    });
    // The mean of a standard normal quantity that is truncated to values below 1 is `-phi(1) / Phi(1)`.
    let means = [targets::Mean::new(
        "mean",
        -0.241_970_724_519 / 0.841_344_746_069,
        |at: &[f64]| at[0],
    )];
    for transition in [
        Transition::Hmc(HmcOptions {
            steps: 3,
            adaptation: fixed(0.5),
        }),
        targets::nuts(fixed(0.5)),
    ] {
        let length = Length {
            warmup: 0,
            draws: 20_000,
        };
        let draws = run(&transition, &mut cut, &[0.0], length);
        assert!(draws.iter().all(|draw| draw.position[0] <= 1.0));
        check(&draws, &means);
        let diverging = |draw: &&Drawn| draw.stats[place("diverging")] == 1.0;
        assert!(draws.iter().filter(diverging).count() > 1000);
    }
}

#[test]
fn statistics_of_draws_match_their_names() {
    let adaptation = fixed(0.5);
    let transition = Transition::Hmc(HmcOptions { steps: 3, adaptation });
    let mut sampler = hmc(
        &unadapted(&transition, &[0.0; 2], 0),
        &HmcOptions { steps: 3, adaptation },
    );
    let draw = draws(&mut sampler, &mut Density(pair), 1).remove(0);
    assert_eq!(sampler.stats().len(), draw.stats.len());
    assert!(!sampler.stats().contains(&"tree_depth"));
    assert_eq!(draw.stats[place("n_steps")], 3.0);
    let log_density = pair(&draw.position, &mut [0.0; 2]);
    assert_eq!(draw.stats[place("lp")], log_density);
    assert!(draw.stats[place("energy")] >= -log_density);
}
