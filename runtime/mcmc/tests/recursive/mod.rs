//! The no-U-turn sampler as the papers describe it. This implementation is recursive, uses the coordinates of the target, and stores a momentum
//! for each point. It makes the same random choices as the sampler under test, and can have a deliberate defect.

use bnnc_mcmc::noise::{ChainNoise, Purpose};
use bnnc_mcmc::seam::Target;

/// A deliberate defect of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// The checks across subtrees are omitted. With this defect, the sampler differs from the sampler under test, but is still exact.
    NoChecksAcross,
    /// A state is chosen from a trajectory with equal weights.
    EqualWeights,
    /// A doubling that turned back may still replace the state.
    TurnedTaken,
    /// The momentum is not fully refreshed: 0.6 of the old momentum is added to the new momentum.
    MomentumKept,
}

#[derive(Clone)]
struct Point {
    position: Vec<f64>,
    momentum: Vec<f64>,
    gradient: Vec<f64>,
    log_density: f64,
}

struct Tree {
    first: Point,
    last: Point,
    chosen: Point,
    log_weight: f64,
    sum: Vec<f64>,
}

/// The outcome of one iteration.
#[derive(Debug)]
pub struct Moved {
    pub position: Vec<f64>,
    pub depth: usize,
    pub steps: usize,
    pub acceptance: f64,
}

/// A sampler with a diagonal mass matrix.
pub struct Recursive<'a> {
    pub target: &'a mut dyn Target,
    pub noise: ChainNoise,
    pub step_size: f64,
    pub max_depth: usize,
    /// The diagonal of the inverse mass matrix.
    pub inverse_mass: Vec<f64>,
    pub mistake: Mistake,
    iteration: u64,
    energy: f64,
    choices: usize,
    steps: usize,
    acceptance: f64,
    kept: Vec<f64>,
}

fn plus(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(a, b)| a + b).collect()
}

impl<'a> Recursive<'a> {
    pub fn new(
        target: &'a mut dyn Target,
        noise: ChainNoise,
        step_size: f64,
        inverse_mass: Vec<f64>,
    ) -> Recursive<'a> {
        Recursive {
            target,
            noise,
            step_size,
            max_depth: 10,
            kept: vec![0.0; inverse_mass.len()],
            inverse_mass,
            mistake: Mistake::None,
            iteration: 0,
            energy: 0.0,
            choices: 0,
            steps: 0,
            acceptance: 0.0,
        }
    }

    fn energy(&self, point: &Point) -> f64 {
        let kinetic: f64 = (point.momentum.iter().zip(&self.inverse_mass))
            .map(|(momentum, inverse)| 0.5 * momentum * momentum * inverse)
            .sum();
        kinetic - point.log_density
    }

    fn point(&mut self, position: Vec<f64>, momentum: Vec<f64>) -> Point {
        let mut gradient = vec![0.0; position.len()];
        let log_density = self.target.gradient(&position, None, 1.0, &mut gradient);
        Point {
            position,
            momentum,
            gradient,
            log_density,
        }
    }

    fn leapfrog(&mut self, from: &Point, step: f64) -> Point {
        let mut momentum = from.momentum.clone();
        for (momentum, slope) in momentum.iter_mut().zip(&from.gradient) {
            *momentum += 0.5 * step * slope;
        }
        let position = (0..momentum.len())
            .map(|at| from.position[at] + step * self.inverse_mass[at] * momentum[at])
            .collect();
        let mut to = self.point(position, momentum);
        for (momentum, slope) in to.momentum.iter_mut().zip(&to.gradient) {
            *momentum += 0.5 * step * slope;
        }
        to
    }

    /// Returns whether a part of a trajectory may grow further, because it has not turned back at either end. `sum` is the sum of its momenta.
    fn goes_on(&self, sum: &[f64], first: &Point, last: &Point) -> bool {
        [first, last].iter().all(|end| {
            let product: f64 = (0..sum.len())
                .map(|at| self.inverse_mass[at] * end.momentum[at] * sum[at])
                .sum();
            product > 0.0
        })
    }

    /// Returns whether the union of two neighbouring trees may grow further, because it has not turned back.
    fn union_goes_on(&self, first: &Tree, second: &Tree) -> bool {
        let across = self.goes_on(
            &plus(&first.sum, &second.first.momentum),
            &first.first,
            &second.first,
        ) && self.goes_on(
            &plus(&second.sum, &first.last.momentum),
            &first.last,
            &second.last,
        );
        self.goes_on(&plus(&first.sum, &second.sum), &first.first, &second.last)
            && (across || self.mistake == Mistake::NoChecksAcross)
    }

    fn grow(&mut self, depth: usize, from: &Point, step: f64) -> Result<Tree, Option<Point>> {
        if depth == 0 {
            let point = self.leapfrog(from, step);
            let error = self.energy(&point) - self.energy;
            self.steps += 1;
            self.acceptance += if error.is_nan() {
                0.0
            } else {
                (-error).exp().min(1.0)
            };
            if error.is_nan() || error > 1000.0 {
                return Err(None);
            }
            let equal = self.mistake == Mistake::EqualWeights;
            return Ok(Tree {
                first: point.clone(),
                last: point.clone(),
                sum: point.momentum.clone(),
                chosen: point,
                log_weight: if equal { 0.0 } else { -error },
            });
        }
        let first = self.grow(depth - 1, from, step)?;
        let second = self.grow(depth - 1, &first.last, step)?;
        let goes_on = self.union_goes_on(&first, &second);
        let log_weight = first.log_weight.max(second.log_weight)
            + (-(first.log_weight - second.log_weight).abs()).exp().ln_1p();
        let uniform = self.noise.uniform(Purpose::Choice, self.iteration, self.choices);
        self.choices += 1;
        let chosen = if uniform < (second.log_weight - log_weight).exp() {
            second.chosen
        } else {
            first.chosen
        };
        if !goes_on {
            return Err(Some(chosen));
        }
        Ok(Tree {
            sum: plus(&first.sum, &second.sum),
            first: first.first,
            last: second.last,
            chosen,
            log_weight,
        })
    }

    /// Runs one iteration that starts at `position`.
    pub fn transition(&mut self, position: &[f64], iteration: u64) -> Moved {
        (self.iteration, self.choices, self.steps, self.acceptance) = (iteration, 0, 0, 0.0);
        let mut momentum = vec![0.0; position.len()];
        self.noise.normals(Purpose::Motion, iteration, &mut momentum);
        if self.mistake == Mistake::MomentumKept {
            momentum = momentum
                .iter()
                .zip(&self.kept)
                .map(|(new, old)| new + 0.6 * old)
                .collect();
        }
        for (momentum, inverse) in momentum.iter_mut().zip(&self.inverse_mass) {
            *momentum /= inverse.sqrt();
        }
        let start = self.point(position.to_vec(), momentum);
        self.energy = self.energy(&start);
        let mut whole = Tree {
            first: start.clone(),
            last: start.clone(),
            sum: start.momentum.clone(),
            chosen: start,
            log_weight: 0.0,
        };
        let mut depth = 0;
        while depth < self.max_depth {
            let forward = self.noise.uniform(Purpose::Direction, iteration, depth) < 0.5;
            let (from, step) = if forward {
                (&whole.last, self.step_size)
            } else {
                (&whole.first, -self.step_size)
            };
            let from = from.clone();
            let tree = match self.grow(depth, &from, step) {
                Ok(tree) => tree,
                Err(Some(chosen)) if self.mistake == Mistake::TurnedTaken => {
                    whole.chosen = chosen;
                    break;
                }
                Err(_) => break,
            };
            let uniform = self.noise.uniform(Purpose::Accept, iteration, depth);
            let taken = uniform < (tree.log_weight - whole.log_weight).exp();
            depth += 1;
            // `early` is the tree that comes first in time, and `late` is the other tree.
            let (early, late) = if forward {
                (whole, tree)
            } else {
                let reversed = Tree {
                    first: tree.last,
                    last: tree.first,
                    ..tree
                };
                (reversed, whole)
            };
            let goes_on = self.union_goes_on(&early, &late);
            let log_weight = early.log_weight.max(late.log_weight)
                + (-(early.log_weight - late.log_weight).abs()).exp().ln_1p();
            let chosen = if forward == taken {
                late.chosen
            } else {
                early.chosen
            };
            whole = Tree {
                sum: plus(&early.sum, &late.sum),
                first: early.first,
                last: late.last,
                chosen,
                log_weight,
            };
            if !goes_on {
                break;
            }
        }
        self.kept.clone_from(&whole.chosen.momentum);
        Moved {
            position: whole.chosen.position,
            depth,
            steps: self.steps,
            acceptance: self.acceptance / self.steps.max(1) as f64,
        }
    }
}
