//! The no-U-turn sampler. Trajectories double until they turn back (Hoffman and Gelman 2014). The next state of the chain is chosen from
//! the trajectory with multinomial weights
//! (Betancourt 2017, "A conceptual introduction to Hamiltonian Monte Carlo", appendix A). The sampler also makes the checks across subtrees
//! that Stan introduced in version 2.21.
//!
//! Note \[Doubling\]. A doubling of depth `d` adds a tree of `2^d` new points. The tree is built without recursion, like a binary counter.
//! Each point is pushed on a stack as a tree of depth 0. While the two trees on top of the stack have the same depth, they are merged into
//! one. When the stack holds a single tree of depth `d`, this tree is added to the trajectory.

mod tree;

use crate::hamiltonian::points::PointSlot;
use crate::hamiltonian::{
    Hamiltonian, Next, STATS, Trajectory, TrajectoryContext, TrajectoryOutcome, acceptance, diverges, larger,
};
use crate::noise::Purpose;
use crate::setup::Setup;
use crate::vector::log_sum;
use bnnc_abi::methods::sampling::samplers::nuts::NutsOptions;
use tree::{Ends, Trees, turns};

/// The no-U-turn sampler.
pub type Nuts = Hamiltonian<Doubling>;

/// Creates a sampler of trajectories with at most `2^max_depth` points.
pub fn nuts(setup: &Setup<'_>, options: &NutsOptions) -> Nuts {
    let trajectory = Doubling::new(options.max_depth, setup.start.len());
    Hamiltonian::new(setup, &options.adaptation, trajectory)
}

/// A trajectory that grows by doubling: see Note \[Doubling\].
#[derive(Debug)]
pub struct Doubling {
    max_depth: u32,
    step_size: f64,
    /// The energy at the start of the trajectory.
    energy: f64,
    /// The earliest point, the latest point, and the point that is chosen so far.
    left: PointSlot,
    right: PointSlot,
    chosen: PointSlot,
    /// The logarithm of the total weight of all points in the trajectory.
    log_weight: f64,
    /// The sum of the momenta of all points in the trajectory.
    momentum: Vec<f64>,
    depth: u32,
    forward: bool,
    /// The stack of trees of the current doubling.
    trees: Trees,
    steps: u32,
    acceptance: f64,
    /// The energy error with the largest magnitude among the steps so far.
    worst: f64,
    /// True if a step of the trajectory diverged.
    diverged: bool,
}

impl Doubling {
    fn new(max_depth: usize, dimension: usize) -> Doubling {
        Doubling {
            max_depth: u32::try_from(max_depth).unwrap_or(u32::MAX),
            step_size: 0.0,
            energy: 0.0,
            left: PointSlot::default(),
            right: PointSlot::default(),
            chosen: PointSlot::default(),
            log_weight: 0.0,
            momentum: vec![0.0; dimension],
            depth: 0,
            forward: true,
            trees: Trees::new(dimension),
            steps: 0,
            acceptance: 0.0,
            worst: 0.0,
            diverged: false,
        }
    }

    /// Begins a doubling in a random direction: forward or backward in time.
    fn double(&mut self, scene: &mut TrajectoryContext<'_>) -> Next {
        if self.depth >= self.max_depth {
            return self.end(scene);
        }
        let uniform = scene
            .noise
            .uniform(Purpose::Direction, scene.iteration, self.depth as usize);
        self.forward = uniform < 0.5;
        self.step_from(if self.forward { self.right } else { self.left })
    }

    fn step_from(&self, from: PointSlot) -> Next {
        let size = if self.forward {
            self.step_size
        } else {
            -self.step_size
        };
        Next::Step { from, size }
    }

    /// Adds the tree of a complete doubling to the trajectory. Returns false if the longer trajectory turns back.
    fn join(&mut self, scene: &mut TrajectoryContext<'_>) -> bool {
        let Some(tree) = self.trees.pop() else {
            unreachable!("a doubling has a tree");
        };
        // The new tree is chosen with a higher probability than its weight requires. The chain then moves further and remains exact.
        let uniform = scene
            .noise
            .uniform(Purpose::Accept, scene.iteration, self.depth as usize);
        let dropped = if uniform < (tree.log_weight - self.log_weight).exp() {
            std::mem::replace(&mut self.chosen, tree.chosen)
        } else {
            tree.chosen
        };
        self.log_weight = log_sum(self.log_weight, tree.log_weight);
        self.depth += 1;
        let (outer, inner) = if self.forward {
            (self.left, self.right)
        } else {
            (self.right, self.left)
        };
        let points = &mut *scene.points;
        let own = Ends {
            first: outer,
            last: inner,
        };
        let new = tree.ends;
        let single = self.depth == 1;
        let turning = if single {
            tree::turns_single(points, own.first, new.first, &mut self.momentum)
        } else {
            turns(points, own, &mut self.momentum, new, self.trees.momentum())
        };
        for slot in [dropped, inner, new.first] {
            points.release(slot);
        }
        *(if self.forward {
            &mut self.right
        } else {
            &mut self.left
        }) = new.last;
        !turning
    }

    fn end(&mut self, scene: &mut TrajectoryContext<'_>) -> Next {
        self.trees.clear(scene.points);
        scene.points.release(self.left);
        scene.points.release(self.right);
        Next::End(TrajectoryOutcome {
            chosen: self.chosen,
            acceptance: self.acceptance / f64::from(self.steps.max(1)),
            depth: self.depth,
            steps: self.steps,
            diverging: self.diverged,
            energy_error: self.worst,
        })
    }
}

impl Trajectory for Doubling {
    const NAME: &'static str = "nuts";
    const STATS: &'static [&'static str] = STATS;

    fn begin(&mut self, scene: &mut TrajectoryContext<'_>, start: PointSlot, step_size: f64) -> Next {
        self.step_size = step_size;
        self.energy = scene.points.energy(start);
        (self.left, self.right, self.chosen) = (start, start, start);
        scene.points.hold(start);
        scene.points.hold(start);
        (self.log_weight, self.depth, self.steps) = (0.0, 0, 0);
        (self.acceptance, self.worst, self.diverged) = (0.0, 0.0, false);
        self.double(scene)
    }

    fn arrive(&mut self, scene: &mut TrajectoryContext<'_>, at: PointSlot) -> Next {
        let error = scene.points.energy(at) - self.energy;
        self.steps += 1;
        self.acceptance += acceptance(error);
        self.worst = larger(self.worst, error);
        self.diverged |= diverges(error);
        if diverges(error) {
            scene.points.release(at);
            return self.end(scene);
        }
        if self.trees.push(scene, at, -error) {
            return self.end(scene);
        }
        if self.trees.depth() != Some(self.depth) {
            return self.step_from(at);
        }
        if self.join(scene) {
            self.double(scene)
        } else {
            self.end(scene)
        }
    }
}
