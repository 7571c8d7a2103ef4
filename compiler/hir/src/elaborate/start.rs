//! The default start values of the parameters of posterior families.

use bnnc_abi::manifest::Init;
use bnnc_base::shape::Shape;
use bnnc_graph::dist::Support;

/// The default start value of a positive parameter of a family.
const START_SCALE: f64 = 0.05;

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
