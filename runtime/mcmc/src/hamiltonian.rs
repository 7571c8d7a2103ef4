//! Samplers that move along trajectories of a Hamiltonian: what they have in common.
//!
//! A [`Hamiltonian`] searches a step size, hands each iteration to a [`Trajectory`], and teaches the warm-up. A trajectory only
//! says from which point to take the next leapfrog step, and which point the iteration ends at.

pub mod points;

use crate::adapt::metric::Whitening;
use crate::adapt::step_size::Search;
use crate::adapt::{Change, Warmup};
use crate::noise::Noise;
use crate::registry::Setup;
use crate::saved;
use crate::seam::{Answer, Corrupt, Draw, Request, Sampler};
use bnnc_abi::sampling::Adaptation;
use points::{Points, Slot};
use serde::{Deserialize, Serialize};

/// What a trajectory wants next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// A leapfrog step; negative steps go back in time.
    Step {
        /// The point that it leaves.
        from: Slot,
        /// The step size.
        size: f64,
    },
    /// Nothing: the iteration ends.
    End(Outcome),
}

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The new state, held once.
    pub chosen: Slot,
    /// The acceptance rate that step sizes are adapted by.
    pub acceptance: f64,
    /// The number of doublings.
    pub depth: u32,
    /// The number of gradients.
    pub steps: u32,
    /// Whether a step failed or its energy error was above [`DIVERGENCE`].
    pub diverging: bool,
    /// The largest energy error, by size.
    pub energy_error: f64,
}

/// Energy errors above this are divergences, as in Stan.
pub const DIVERGENCE: f64 = 1000.0;

/// Whether an energy error is a divergence: also one that is not finite, of whichever sign.
pub fn diverges(error: f64) -> bool {
    !error.is_finite() || error > DIVERGENCE
}

/// The probability that a proposal with this energy error is accepted; none for what is not finite.
pub fn acceptance(error: f64) -> f64 {
    if error.is_finite() {
        (-error).exp().min(1.0)
    } else {
        0.0
    }
}

/// The energy error that is larger by size; one that is not a number is the largest.
pub fn larger(before: f64, error: f64) -> f64 {
    if before.is_nan() || error.abs() <= before.abs() {
        before
    } else {
        error
    }
}

/// What a trajectory may use.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The points that exist.
    pub points: &'a mut Points,
    /// The random numbers of the chain.
    pub noise: Noise,
    /// The iteration.
    pub iteration: u64,
}

/// How an iteration explores.
pub trait Trajectory: Send {
    /// Distinguishes saved states.
    const NAME: &'static str;
    /// The names of the numbers that come with draws: a part of [`STATS`] from the start.
    const STATS: &'static [&'static str];

    /// Begins at a point with a fresh momentum, held once; takes this hold.
    fn begin(&mut self, scene: &mut Scene<'_>, start: Slot, step_size: f64) -> Next;

    /// Takes the point that the last step led to, held once.
    fn arrive(&mut self, scene: &mut Scene<'_>, at: Slot) -> Next;
}

/// The numbers that come with draws.
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
    /// The density at the start is asked for.
    New,
    /// A step of the search of a step size is under way.
    Searching(Search),
    /// A step of a trajectory is under way.
    Moving,
    /// A draw was made.
    Drawn,
}

/// A sampler whose iterations are trajectories.
pub struct Hamiltonian<T> {
    trajectory: T,
    noise: Noise,
    /// What the log likelihood is multiplied by.
    scale: f64,
    iteration: u64,
    adaptation: Adaptation,
    /// Iterations of the warm-up.
    length: usize,
    warmup: Warmup,
    /// Whether a step size is to be searched before the next iteration.
    search: bool,
    points: Points,
    state: Slot,
    phase: Phase,
    /// Where the step that is under way leads, and its size.
    step: (Slot, f64),
    /// The gradient at the state, not whitened.
    gradient: Vec<f64>,
    stats: [f64; STATS.len()],
}

/// What [`Sampler::save`] writes.
#[derive(Serialize, Deserialize)]
struct Saved {
    iteration: u64,
    search: bool,
    position: Vec<f64>,
    /// Whitened.
    gradient: Vec<f64>,
    log_density: f64,
    warmup: Warmup,
}

impl<T: Trajectory> Hamiltonian<T> {
    /// A sampler at its start.
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

    /// What was learnt so far.
    pub fn warmup(&self) -> &Warmup {
        &self.warmup
    }

    /// Begins the next iteration, or the search before it.
    fn go_on(&mut self) -> Request<'_> {
        if self.search {
            self.search = false;
            return self.try_step(Search::new(self.warmup.step_size()));
        }
        self.phase = Phase::Moving;
        self.points.refresh(self.state, self.noise, self.iteration);
        let mut scene = Scene {
            points: &mut self.points,
            noise: self.noise,
            iteration: self.iteration,
        };
        let next = self
            .trajectory
            .begin(&mut scene, self.state, self.warmup.step_size());
        self.follow(next)
    }

    /// Takes one step of the search, from the state with a fresh momentum.
    fn try_step(&mut self, search: Search) -> Request<'_> {
        // Apart from the momenta of iterations, of which there are never 2^40.
        let trial = (u64::from(search.trials()) + 1) << 40;
        self.points
            .refresh(self.state, self.noise, self.iteration + trial);
        self.phase = Phase::Searching(search);
        self.depart(self.state, search.step_size())
    }

    fn depart(&mut self, from: Slot, size: f64) -> Request<'_> {
        let to = self.points.take();
        self.points.depart(from, to, size, self.warmup.whitening());
        self.step = (to, size);
        self.ask(to)
    }

    fn ask(&self, at: Slot) -> Request<'_> {
        Request::Gradient {
            at: self.points.position(at),
            rows: None,
            scale: self.scale,
        }
    }

    /// Takes the density at the end of the step that is under way.
    fn arrive(&mut self, log_density: f64, gradient: &[f64]) -> Request<'_> {
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
                let mut scene = Scene {
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

    fn follow(&mut self, next: Next) -> Request<'_> {
        match next {
            Next::Step { from, size } => self.depart(from, size),
            Next::End(outcome) => self.end(outcome),
        }
    }

    /// Ends an iteration: notes its numbers, and teaches the warm-up.
    fn end(&mut self, outcome: Outcome) -> Request<'_> {
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
        Request::Draw(Draw {
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
    fn advance(&mut self, answer: Answer<'_>) -> Request<'_> {
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
