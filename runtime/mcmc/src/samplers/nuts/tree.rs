//! The trees of a doubling, and the U-turn criterion. This criterion ends a trajectory.

use crate::hamiltonian::TrajectoryContext;
use crate::hamiltonian::points::{PointSlot, Points};
use crate::noise::Purpose;
use crate::vector::{dot, log_sum, sum_scaled};

/// The first and the last point of a tree, in the order in which they were reached.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    pub first: PointSlot,
    pub last: PointSlot,
}

/// A tree of `2^depth` consecutive points of a trajectory. The tree holds the slots of its two ends and of the chosen point.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    pub depth: u32,
    pub ends: Ends,
    pub chosen: PointSlot,
    /// The logarithm of the sum of the weights `exp(-energy error)`.
    pub log_weight: f64,
}

/// The stack of trees of the current doubling, in order of decreasing depth: see Note \[Doubling\] in [`crate::samplers::nuts`].
#[derive(Debug)]
pub struct Trees {
    stack: Vec<Tree>,
    /// The sum of the momenta of each tree in the stack. For a tree with a single point, the entry is not written, because the sum is the
    /// momentum of this point.
    momenta: Vec<Vec<f64>>,
    dimension: usize,
    /// The number of times that this iteration has chosen randomly between two trees.
    choices: usize,
}

impl Trees {
    /// Creates an empty stack.
    pub fn new(dimension: usize) -> Trees {
        Trees {
            stack: Vec::new(),
            momenta: Vec::new(),
            dimension,
            choices: 0,
        }
    }

    /// Releases all trees, and resets the number of choices to zero.
    pub fn clear(&mut self, points: &mut Points) {
        for tree in self.stack.drain(..) {
            for slot in [tree.ends.first, tree.ends.last, tree.chosen] {
                points.release(slot);
            }
        }
        self.choices = 0;
    }

    /// Returns the depth of the tree if the stack holds exactly one tree.
    pub fn depth(&self) -> Option<u32> {
        match self.stack.as_slice() {
            [tree] => Some(tree.depth),
            _ => None,
        }
    }

    /// Removes and returns the tree on top of the stack.
    pub fn pop(&mut self) -> Option<Tree> {
        self.stack.pop()
    }

    /// Returns the sum of momenta of the bottom tree in the stack, which must have more than one point.
    pub fn momentum(&self) -> &[f64] {
        &self.momenta[0]
    }

    /// Pushes a point, and merges trees of equal depth. Exactly one of the conditions must hold at the point. Returns
    /// true if a merged tree turns back.
    pub fn push(&mut self, scene: &mut TrajectoryContext<'_>, at: PointSlot, log_weight: f64) -> bool {
        scene.points.hold(at);
        scene.points.hold(at);
        self.stack.push(Tree {
            depth: 0,
            ends: Ends { first: at, last: at },
            chosen: at,
            log_weight,
        });
        if self.momenta.len() < self.stack.len() {
            self.momenta.push(vec![0.0; self.dimension]);
        }
        while let [.., before, last] = self.stack.as_slice()
            && before.depth == last.depth
        {
            if self.merge(scene) {
                return true;
            }
        }
        false
    }

    /// Merges the two trees on top of the stack. Returns true if the merged tree turns back.
    fn merge(&mut self, scene: &mut TrajectoryContext<'_>) -> bool {
        let (Some(new), Some(old)) = (self.stack.pop(), self.stack.pop()) else {
            unreachable!("two trees were seen");
        };
        let log_weight = log_sum(old.log_weight, new.log_weight);
        let uniform = scene
            .noise
            .uniform(Purpose::Choice, scene.iteration, self.choices);
        self.choices += 1;
        let (chosen, dropped) = if uniform < (new.log_weight - log_weight).exp() {
            (new.chosen, old.chosen)
        } else {
            (old.chosen, new.chosen)
        };
        let place = self.stack.len();
        let (below, above) = self.momenta.split_at_mut(place + 1);
        let turning = if old.depth == 0 {
            turns_single(scene.points, old.ends.first, new.ends.first, &mut below[place])
        } else {
            turns(scene.points, old.ends, &mut below[place], new.ends, &above[0])
        };
        for slot in [dropped, old.ends.last, new.ends.first] {
            scene.points.release(slot);
        }
        self.stack.push(Tree {
            depth: old.depth + 1,
            ends: Ends {
                first: old.ends.first,
                last: new.ends.last,
            },
            chosen,
            log_weight,
        });
        turning
    }
}

/// Returns whether a trajectory of two neighbouring points turns back. The trajectory turns back if the sum of the momenta points against one of
/// the momenta. Writes the sum to `sum`.
pub fn turns_single(points: &Points, first: PointSlot, last: PointSlot, sum: &mut [f64]) -> bool {
    let (first, last) = (points.momentum(first), points.momentum(last));
    sum_scaled(sum, first, 1.0, last);
    !(dot(sum, first) > 0.0 && dot(sum, last) > 0.0)
}

/// Returns whether the union of two neighbouring trees turns back. Three sequences of points are checked. The first consists of both trees, the
/// second of the first tree and the nearest point of the second tree, and the third of the second tree and the nearest point of the first tree.
/// The union turns back if, for one of these sequences, the sum of all momenta points against the momentum at either end (Betancourt 2017,
/// appendix A.4.2). The last two sequences detect periodic orbits that the first sequence misses. Adds `second_sum` to `first_sum`.
pub fn turns(points: &Points, first: Ends, first_sum: &mut [f64], second: Ends, second_sum: &[f64]) -> bool {
    let momenta = [first.first, first.last, second.first, second.last].map(|slot| points.momentum(slot));
    let whole = first_sum.len() / LANES * LANES;
    let mut products = [[0.0; LANES]; 6];
    for at in (0..whole).step_by(LANES) {
        add_products(
            &mut products,
            &momenta.map(|momentum| &momentum[at..]),
            &mut first_sum[at..],
            &second_sum[at..],
        );
    }
    for at in whole..first_sum.len() {
        let single = |values: &[f64]| [values[at], 0.0, 0.0, 0.0];
        let padded = momenta.map(single);
        let mut sum = single(first_sum);
        add_products(
            &mut products,
            &padded.each_ref().map(|values| values.as_slice()),
            &mut sum,
            &single(second_sum),
        );
        first_sum[at] = sum[0];
    }
    let ahead = |lanes: &[f64; LANES]| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) > 0.0;
    !products.iter().all(ahead)
}

/// The number of elements that are processed together in one vector.
const LANES: usize = 4;

/// For some elements, adds their terms to the six dot products of [`turns`], and adds the second sum of momenta to the first.
fn add_products(
    products: &mut [[f64; LANES]; 6],
    [start, middle, next, end]: &[&[f64]; 4],
    first_sum: &mut [f64],
    second_sum: &[f64],
) {
    let lanes = |values: &[f64]| std::array::from_fn::<f64, LANES, _>(|lane| values[lane]);
    let [start, middle, next, end] = [lanes(start), lanes(middle), lanes(next), lanes(end)];
    let (first, second) = (lanes(first_sum), lanes(second_sum));
    for lane in 0..LANES {
        let both = first[lane] + second[lane];
        let reaching = first[lane] + next[lane];
        let reached = second[lane] + middle[lane];
        products[0][lane] += both * start[lane];
        products[1][lane] += both * end[lane];
        products[2][lane] += reaching * start[lane];
        products[3][lane] += reaching * next[lane];
        products[4][lane] += reached * middle[lane];
        products[5][lane] += reached * end[lane];
        first_sum[lane] = both;
    }
}
