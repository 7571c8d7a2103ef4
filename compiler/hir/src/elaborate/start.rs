//! The default start values of the parameters of posterior families.

use crate::tree::{DistItem, LocalId, TypedExpr, TypedExprKind};
use crate::walk;
use bnnc_abi::manifest::Init;
use bnnc_base::shape::Shape;
use bnnc_graph::dist::{Support, TailKind};

/// The default start value of a positive parameter of a family.
const START_SCALE: f64 = 0.05;

/// The default start value of a parameter that is the index of a power tail, such as the shape of a
/// gamma or inverse gamma family. With an index of 0.05, a gamma family has most of its mass below
/// the smallest float, and an inverse gamma family has no mean: the loss is then not finite. At 4,
/// the mean, the variance and the third moment exist.
const START_INDEX: f64 = 4.0;

/// Returns the start value of a parameter that is the index of a power tail or, together with another
/// parameter, an end of the family's values. Two ends that both start at zero would enclose no values,
/// so they start where the standard deviation is 0.05. If locations start at random values, the interval
/// has a random centre and a random width. `locations` is the default start of locations.
pub fn of_tails_and_ends(item: &DistItem, param: LocalId, locations: &Init) -> Option<Init> {
    let [is_low, is_high] =
        [0, 1].map(|end: usize| item.ends[end].at.as_ref().is_some_and(|at| is(at, param)));
    let are_free = item
        .ends
        .iter()
        .all(|end| end.at.as_ref().is_some_and(is_variable));
    if (is_low || is_high) && are_free {
        let (near, far) = match locations {
            Init::Uniform(_, bound) => (0.5 * bound, *bound),
            _ => (3.0f64.sqrt() * START_SCALE, 3.0f64.sqrt() * START_SCALE),
        };
        return Some(match (is_low, near < far) {
            (true, true) => Init::Uniform(-far, -near),
            (true, false) => Init::Constant(-near),
            (false, true) => Init::Uniform(near, far),
            (false, false) => Init::Constant(near),
        });
    }
    let mut tails = item.ends.iter().filter_map(|end| end.tail.as_ref());
    let is_index = tails.any(|(kind, numbers)| {
        let mut uses = |number: &TypedExpr| walk::any(number, &mut |part| is(part, param));
        *kind == TailKind::Power && numbers.iter().any(&mut uses)
    });
    is_index.then_some(Init::Constant(START_INDEX))
}

/// Returns whether an expression is this variable.
fn is(expr: &TypedExpr, variable: LocalId) -> bool {
    matches!(&expr.kind, TypedExprKind::Local(local) if *local == variable)
}

/// Returns whether an expression is a variable.
fn is_variable(expr: &TypedExpr) -> bool {
    matches!(&expr.kind, TypedExprKind::Local(_))
}

/// Returns the default start value of a parameter. The locations of a weight matrix are drawn
/// uniformly between `-b` and `b`, so that the units differ. As in the linear layers of PyTorch,
/// `b` is one over the square root of the fan-in. Other locations start at zero, and
/// positive parameters start at 0.05.
pub fn default(support: Support, shape: &Shape, site: &Shape) -> Init {
    match support {
        Support::Interval(low, high) if low == 0.0 && high.is_infinite() => Init::Constant(START_SCALE),
        Support::Interval(low, high) if low.is_finite() && high.is_finite() => {
            Init::Constant(0.5 * (low + high))
        }
        _ if shape != site => Init::Normal(0.0, 0.01),
        _ => match (site.rank(), site.dims().last().and_then(|dim| dim.fixed())) {
            (2.., Some(fan_in)) => {
                let bound = 1.0 / (fan_in.max(1) as f64).sqrt();
                Init::Uniform(-bound, bound)
            }
            _ => Init::Constant(0.0),
        },
    }
}
