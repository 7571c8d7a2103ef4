//! The code that all samplers with Hamiltonian trajectories share.
//!
//! A [`Hamiltonian`] searches for an initial step size, runs a [`Trajectory`] in each iteration, and adapts the step size and the metric
//! during the warm-up. A trajectory makes two decisions: where the next leapfrog step starts, and where the iteration ends.

pub mod points;

use crate::adapt::metric::Whitening;
use crate::adapt::step_size::StepSizeSearch;
use crate::adapt::{Change, Warmup};
use crate::noise::{ChainNoise, TrialStep};
use crate::saved;
use crate::seam::{Answer, Corrupt, Draw, Sampler, SamplerRequest};
use crate::setup::Setup;
use bnnc_abi::methods::sampling::Adaptation;
use points::{PointSlot, Points};
use serde::{Deserialize, Serialize};

/// The next action of a trajectory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Take a leapfrog step. With a negative step size, the step goes back in time.
    Step {
        /// The start point of the step.
        from: PointSlot,
        /// The step size.
        size: f64,
    },
    /// End the iteration.
    End(TrajectoryOutcome),
}

/// The outcome of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrajectoryOutcome {
    /// The slot of the new state. It has one hold, which passes to the caller.
    pub chosen: PointSlot,
    /// The acceptance rate that is used to adapt the step size.
    pub acceptance: f64,
    /// The number of doublings of the trajectory.
    pub depth: u32,
    /// The number of leapfrog steps. Each step needs one gradient.
    pub steps: u32,
    /// True if a step failed, or if the energy error of a step was above [`DIVERGENCE`].
    pub diverging: bool,
    /// The energy error with the largest magnitude among all steps.
    pub energy_error: f64,
}

/// If the energy error of a step is above this value, the iteration diverges, as in Stan.
pub const DIVERGENCE: f64 = 1000.0;

/// Returns whether a step with this energy error diverges. An error that is not finite is also a divergence, even if it is negative.
pub fn diverges(error: f64) -> bool {
    !error.is_finite() || error > DIVERGENCE
}

/// Returns the probability that a proposal with this energy error is accepted. If the error is not finite, the probability is 0.
pub fn acceptance(error: f64) -> f64 {
    if error.is_finite() {
        (-error).exp().min(1.0)
    } else {
        0.0
    }
}

/// Returns the error with the larger magnitude. NaN counts as the largest.
pub fn larger(before: f64, error: f64) -> f64 {
    if before.is_nan() || error.abs() <= before.abs() {
        before
    } else {
        error
    }
}

/// The state of a chain that a trajectory may use.
#[derive(Debug)]
pub struct TrajectoryContext<'a> {
    /// The points of phase space that the sampler has stored.
    pub points: &'a mut Points,
    /// The source of the chain's random numbers.
    pub noise: ChainNoise,
    /// The index of the iteration.
    pub iteration: u64,
}

/// The trajectory of one iteration.
pub trait Trajectory: Send {
    /// The name of the sampler, which is stored in its saved states.
    const NAME: &'static str;
    /// The names of the statistics that accompany each draw: a prefix of [`STATS`].
    const STATS: &'static [&'static str];

    /// Begins at a point with a fresh momentum. The caller passes its hold on the point to the trajectory.
    fn begin(&mut self, scene: &mut TrajectoryContext<'_>, start: PointSlot, step_size: f64) -> Next;

    /// Continues from the end point of the last step. The caller passes its hold on the point to the trajectory.
    fn arrive(&mut self, scene: &mut TrajectoryContext<'_>, at: PointSlot) -> Next;
}

/// The names of the statistics that can accompany each draw.
pub const STATS: &[&str] = &[
    "lp",
    "acceptance_rate",
    "step_size",
    "step_size_bar",
    "n_steps",
    "diverging",
    "energy",
    "max_energy_error",
    "tree_depth",
];

#[derive(Clone, Copy)]
enum Phase {
    /// The sampler waits for the log density at the start of the chain.
    New,
    /// The sampler waits for the end of a step in the search for a step size.
    Searching(StepSizeSearch),
    /// The sampler waits for the end of a step of a trajectory.
    Moving,
    /// The sampler has returned a draw.
    Drawn,
}

/// A sampler whose iterations are trajectories.
pub struct Hamiltonian<T> {
    trajectory: T,
    noise: ChainNoise,
    /// The factor of the log likelihood.
    scale: f64,
    iteration: u64,
    adaptation: Adaptation,
    /// The number of iterations of the warm-up.
    length: usize,
    warmup: Warmup,
    /// True if the sampler must search for a step size before the next iteration.
    search: bool,
    points: Points,
    state: PointSlot,
    phase: Phase,
    /// The end point of the current step, and the size of the step.
    step: (PointSlot, f64),
    /// The gradient at the current state. It is not whitened.
    gradient: Vec<f64>,
    stats: [f64; STATS.len()],
}

/// The data that [`Sampler::save`] writes.
#[derive(Serialize, Deserialize)]
struct Saved {
    iteration: u64,
    search: bool,
    position: Vec<f64>,
    /// The whitened gradient at the current state.
    gradient: Vec<f64>,
    log_density: f64,
    warmup: Warmup,
}

impl<T: Trajectory> Hamiltonian<T> {
    /// Creates a sampler at the start of its chain.
    pub fn new(setup: &Setup<'_>, adaptation: &Adaptation, trajectory: T) -> Hamiltonian<T> {
        let dimension = setup.start.len();
        let warmup = Warmup::new(adaptation, dimension, setup.warmup);
        let mut points = Points::new(dimension);
        let state = points.take();
        points.place(state, setup.start);
        Hamiltonian {
            trajectory,
            noise: setup.noise,
            scale: 1.0 / setup.temperature,
            iteration: 0,
            search: warmup.searches(),
            adaptation: *adaptation,
            length: setup.warmup,
            warmup,
            points,
            state,
            phase: Phase::New,
            step: (state, 0.0),
            gradient: vec![0.0; dimension],
            stats: [0.0; STATS.len()],
        }
    }

    /// Returns the state of the warm-up.
    pub fn warmup(&self) -> &Warmup {
        &self.warmup
    }

    /// Begins the next iteration, or the search for a step size before it.
    fn go_on(&mut self) -> SamplerRequest<'_> {
        if self.search {
            self.search = false;
            return self.try_step(StepSizeSearch::new(self.warmup.step_size()));
        }
        self.phase = Phase::Moving;
        self.points.refresh(self.state, self.noise, self.iteration);
        let mut scene = TrajectoryContext {
            points: &mut self.points,
            noise: self.noise,
            iteration: self.iteration,
        };
        let next = self
            .trajectory
            .begin(&mut scene, self.state, self.warmup.step_size());
        self.follow(next)
    }

    /// Takes a trial step of the search from the current state, with a fresh momentum.
    fn try_step(&mut self, search: StepSizeSearch) -> SamplerRequest<'_> {
        // The momenta of trial steps are independent of those of iterations.
        let trial = TrialStep::after(search.trials());
        self.points
            .refresh_for_trial(self.state, self.noise, (self.iteration, trial));
        self.phase = Phase::Searching(search);
        self.depart(self.state, search.step_size())
    }

    fn depart(&mut self, from: PointSlot, size: f64) -> SamplerRequest<'_> {
        let to = self.points.take();
        self.points.depart(from, to, size, self.warmup.whitening());
        self.step = (to, size);
        self.ask(to)
    }

    fn ask(&self, at: PointSlot) -> SamplerRequest<'_> {
        SamplerRequest::Gradient {
            at: self.points.position(at),
            rows: None,
            scale: self.scale,
        }
    }

    /// Continues after the caller has computed the log density at the end of the current step.
    fn arrive(&mut self, log_density: f64, gradient: &[f64]) -> SamplerRequest<'_> {
        let (to, size) = self.step;
        if let Phase::New = self.phase {
            let position = self.points.position(self.state);
            self.warmup = Warmup::with_gradients(&self.adaptation, self.length, position, gradient);
        }
        self.points
            .know(to, self.warmup.whitening(), log_density, gradient);
        match self.phase {
            Phase::New => self.go_on(),
            Phase::Searching(mut search) => {
                self.points.arrive(to, size);
                let gain = self.points.energy(self.state) - self.points.energy(to);
                self.points.release(to);
                if !search.learn(gain) {
                    return self.try_step(search);
                }
                self.warmup.restart(search.step_size());
                self.go_on()
            }
            Phase::Moving => {
                self.points.arrive(to, size);
                let mut scene = TrajectoryContext {
                    points: &mut self.points,
                    noise: self.noise,
                    iteration: self.iteration,
                };
                let next = self.trajectory.arrive(&mut scene, to);
                self.follow(next)
            }
            Phase::Drawn => unreachable!("a gradient that was not asked for"),
        }
    }

    fn follow(&mut self, next: Next) -> SamplerRequest<'_> {
        match next {
            Next::Step { from, size } => self.depart(from, size),
            Next::End(outcome) => self.end(outcome),
        }
    }

    /// Ends an iteration: stores its statistics, and adapts the step size and the metric during the warm-up.
    fn end(&mut self, outcome: TrajectoryOutcome) -> SamplerRequest<'_> {
        self.state = outcome.chosen;
        debug_assert_eq!(self.points.held(), 1, "a trajectory gives up all points but one");
        self.stats = [
            self.points.log_density(self.state),
            outcome.acceptance,
            self.warmup.step_size(),
            self.warmup.settled(),
            f64::from(outcome.steps),
            f64::from(u8::from(outcome.diverging)),
            self.points.energy(self.state),
            outcome.energy_error,
            f64::from(outcome.depth),
        ];
        let warmup = self.warmup.active();
        if warmup {
            self.learn(outcome.acceptance);
        }
        self.iteration += 1;
        self.phase = Phase::Drawn;
        SamplerRequest::Draw(Draw {
            position: self.points.position(self.state),
            warmup,
            stats: &self.stats[..T::STATS.len()],
        })
    }

    fn learn(&mut self, acceptance: f64) {
        self.gradient.copy_from_slice(self.points.gradient(self.state));
        self.warmup.whitening().unpull(&mut self.gradient);
        let position = self.points.position(self.state);
        let change = self.warmup.learn(acceptance, position, Some(&self.gradient));
        if change != Change::Step {
            let log_density = self.points.log_density(self.state);
            self.points
                .know(self.state, self.warmup.whitening(), log_density, &self.gradient);
        }
        self.search = change == Change::Order && self.warmup.searches();
    }
}

impl<T: Trajectory> Sampler for Hamiltonian<T> {
    fn advance(&mut self, answer: Answer<'_>) -> SamplerRequest<'_> {
        match (self.phase, answer) {
            (Phase::New, Answer::Go) => self.ask(self.state),
            (Phase::Drawn, Answer::Go) => self.go_on(),
            (
                _,
                Answer::Gradient {
                    log_density,
                    gradient,
                },
            ) => self.arrive(log_density, gradient),
            (_, Answer::Go | Answer::Value(_) | Answer::Differences { .. }) => {
                unreachable!("an answer to another question")
            }
        }
    }

    fn stats(&self) -> &'static [&'static str] {
        T::STATS
    }

    fn inverse_metric(&self) -> Vec<f64> {
        self.warmup.whitening().inverse_metric()
    }

    fn save(&self) -> Vec<u8> {
        let saved = Saved {
            iteration: self.iteration,
            search: self.search,
            position: self.points.position(self.state).to_vec(),
            gradient: self.points.gradient(self.state).to_vec(),
            log_density: self.points.log_density(self.state),
            warmup: self.warmup.clone(),
        };
        saved::write(T::NAME, &saved)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), Corrupt> {
        let saved: Saved = saved::read(T::NAME, bytes)?;
        let dimension = self.gradient.len();
        let fits = [&saved.position, &saved.gradient]
            .iter()
            .all(|vector| vector.len() == dimension);
        if !(fits && saved.warmup.fits(dimension)) {
            return Err(Corrupt);
        }
        self.points = Points::new(dimension);
        self.state = self.points.take();
        self.points.place(self.state, &saved.position);
        self.points
            .know(self.state, &Whitening::Unit, saved.log_density, &saved.gradient);
        self.iteration = saved.iteration;
        self.search = saved.search;
        self.warmup = saved.warmup;
        self.phase = Phase::Drawn;
        Ok(())
    }
}
