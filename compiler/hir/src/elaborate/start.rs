//! The default start values of the parameters of posterior families.

use crate::tree::{DistItem, LocalId, ScaledStart, TypedExpr, TypedExprKind};
use crate::walk;
use bnnc_abi::manifest::Init;
use bnnc_base::shape::Shape;
use bnnc_graph::dist::{Support, TailKind};
use bnnc_graph::model::Site;

/// The default start value of a positive parameter of a family.
const START_SCALE: f64 = 0.05;

/// The default start value of a parameter that is the index of a power tail, such as the shape of a
/// gamma or inverse gamma family. With an index of 0.05, one draw in 70 of a gamma family is below the
/// smallest float of single precision, so the loss is soon infinite, and an inverse gamma family has no
/// mean. At 4, the mean, the variance and the third moment exist.
const START_INDEX: f64 = 4.0;

/// Returns the start value of a parameter that is an end of the family's values, if the other end is a
/// parameter too. Two ends that both start at zero would enclose no values, so they start where the
/// standard deviation is 0.05. If locations start at random values, the interval is random too: its ends
/// lie on different sides of zero, and each has at least half of the maximum distance from it, so that
/// no interval is narrow. `locations` is the default start of locations.
pub fn of_end(item: &DistItem, param: LocalId, locations: &Init) -> Option<Init> {
    let ends = item.ends.each_ref().map(|end| end.at.as_ref());
    if !ends.iter().flatten().all(|at| is_variable(at)) {
        return None;
    }
    let [low, high] = ends;
    let (is_low, is_high) = (is(low?, param), is(high?, param));
    let distance = 3.0f64.sqrt() * START_SCALE;
    Some(match (locations, is_low, is_high) {
        (_, false, false) => return None,
        (Init::Uniform(_, bound), true, _) => Init::Uniform(-bound, -0.5 * bound),
        (Init::Uniform(_, bound), false, _) => Init::Uniform(0.5 * bound, *bound),
        (_, true, _) => Init::Constant(-distance),
        (_, false, _) => Init::Constant(distance),
    })
}

/// Returns the start value of a positive parameter that is the index of a power tail.
pub fn of_index(item: &DistItem, param: LocalId) -> Option<Init> {
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

/// Returns the number of weights that belong to one position on an axis of weights `[out, in, ..]`, at
/// least one: the fan-in for axis 0, and the fan-out for axis 1. Returns `None` for other shapes.
fn fan(shape: &Shape, axis: usize) -> Option<f64> {
    let sizes = shape.dims().iter().enumerate().filter(|(at, _)| *at != axis);
    let count: Option<usize> = sizes.map(|(_, dim)| dim.fixed()).product();
    count
        .filter(|_| shape.rank() >= 2)
        .map(|count| count.max(1) as f64)
}

/// Returns the start value that a rule gives. Vectors, such as biases, start at zero.
pub fn scaled(rule: ScaledStart, shape: &Shape) -> Init {
    let Some((fan_in, fan_out)) = fan(shape, 0).zip(fan(shape, 1)) else {
        return Init::Constant(0.0);
    };
    match rule {
        ScaledStart::He => Init::Normal(0.0, (2.0 / fan_in).sqrt()),
        ScaledStart::LeCun => Init::Normal(0.0, fan_in.recip().sqrt()),
        ScaledStart::Glorot => {
            // The variance of a uniform variate between `-bound` and `bound` is `bound^2 / 3`.
            let bound = (6.0 / (fan_in + fan_out)).sqrt();
            Init::Uniform(-bound, bound)
        }
    }
}

/// Returns the start value that the layer of a site declares for it, `start = he`, if the parameter is the location of a family.
pub fn declared(support: Support, shape: &Shape, site: &Site) -> Option<Init> {
    let is_location = support == Support::Real && *shape == site.ty.shape;
    site.start.clone().filter(|_| is_location)
}

/// Returns the default start value of a parameter. The locations of weights `[out, in, ..]` are drawn
/// uniformly between `-b` and `b`, so that the units differ. As in the linear and convolution layers of
/// PyTorch, `b` is one over the square root of the fan-in. Other locations start at zero, and positive
/// parameters start at 0.05.
pub fn default(support: Support, shape: &Shape, site: &Shape) -> Init {
    match support {
        Support::Interval(low, high) if low == 0.0 && high.is_infinite() => Init::Constant(START_SCALE),
        Support::Interval(low, high) if low.is_finite() && high.is_finite() => {
            Init::Constant(0.5 * (low + high))
        }
        _ if shape != site => Init::Normal(0.0, 0.01),
        _ => fan(site, 0).map_or(Init::Constant(0.0), |fan_in| {
            let bound = fan_in.sqrt().recip();
            Init::Uniform(-bound, bound)
        }),
    }
}
