//! Bijections from the reals onto supports, with the log determinants of their Jacobians.

use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::dist::Support;
use bnnc_graph::function::Value;
use bnnc_math::special;

/// Transforms `z` from the reals onto `support`. Returns the transformed value and the log
/// determinant of the Jacobian. The determinant covers all elements, so its logarithm is a scalar.
/// Returns `None` for integers, because no bijection maps the reals onto integers.
pub fn constrain(builder: &mut Builder, support: Support, z: Value) -> Option<(Value, Value)> {
    match support {
        Support::Real => Some((z, builder.real(0.0))),
        Support::Interval(lo, hi) => Some(interval(builder, lo, hi, z)),
        Support::Simplex => Some(simplex(builder, z)),
        Support::Ordered => Some(ordered(builder, z)),
        Support::Integers(_) => None,
    }
}

fn interval(builder: &mut Builder, lo: f64, hi: f64, z: Value) -> (Value, Value) {
    match (lo.is_finite(), hi.is_finite()) {
        (false, false) => (z, builder.real(0.0)),
        (true, false) => {
            let e = builder.exp(z);
            (offset(builder, e, lo), builder.reduce_sum_all(z))
        }
        (false, true) => {
            let e = builder.exp(z);
            let down = builder.neg(e);
            (offset(builder, down, hi), builder.reduce_sum_all(z))
        }
        (true, true) => {
            let unit = builder.sigmoid(z);
            let scaled = if hi - lo == 1.0 {
                unit
            } else {
                builder.scale(unit, hi - lo)
            };
            let flipped = builder.neg(z);
            let (below, above) = (builder.log_sigmoid(z), builder.log_sigmoid(flipped));
            let slope = builder.add(below, above);
            let slope = builder.shift(slope, (hi - lo).ln());
            (offset(builder, scaled, lo), builder.reduce_sum_all(slope))
        }
    }
}

fn offset(builder: &mut Builder, x: Value, by: f64) -> Value {
    if by == 0.0 { x } else { builder.shift(x, by) }
}

/// Transforms reals onto a simplex by the additive log-ratio map. This map is the softmax of `k`
/// logits, of which the last is zero. The log determinant of this map's Jacobian is the sum of the
/// log probabilities.
fn simplex(builder: &mut Builder, z: Value) -> (Value, Value) {
    let last = builder.rank(z) - 1;
    let mut dims = builder.ty(z).dims().to_vec();
    dims[last] = Dim::Fixed(1);
    let zero = builder.splat(0.0, &Shape(dims));
    let logits = builder.concat(&[z, zero], last);
    let log_w = builder.log_softmax(logits, last);
    (builder.exp(log_w), builder.reduce_sum_all(log_w))
}

/// Transforms reals onto ordered vectors. The first element is the first coordinate. Each later
/// element is its predecessor plus the exponential of its own coordinate.
fn ordered(builder: &mut Builder, z: Value) -> (Value, Value) {
    let last = builder.rank(z) - 1;
    let Some(size) = builder.ty(z).dims()[last].fixed().filter(|size| *size > 1) else {
        return (z, builder.real(0.0));
    };
    let window = Window::full(last + 1);
    let first = builder.slice(z, window.clone().with(last, 0, 1));
    let rest = builder.slice(z, window.with(last, 1, size));
    let gaps = builder.exp(rest);
    let steps = builder.concat(&[first, gaps], last);
    (builder.cumsum(steps, last, false), builder.reduce_sum_all(rest))
}

/// Returns the unconstrained values that [`constrain`] transforms to `value`; `None` for ordered vectors and
/// for integers.
pub fn free(builder: &mut Builder, support: Support, value: Value) -> Option<Value> {
    Some(match support {
        Support::Interval(lo, hi) => {
            let above = lo.is_finite().then(|| {
                let distance = builder.shift(value, -lo);
                builder.log(distance)
            });
            let below = hi.is_finite().then(|| {
                let negative = builder.neg(value);
                let distance = builder.shift(negative, hi);
                builder.log(distance)
            });
            match (above, below) {
                (None, None) => value,
                (Some(only), None) | (None, Some(only)) => only,
                (Some(above), Some(below)) => builder.sub(above, below),
            }
        }
        Support::Simplex => {
            let axis = builder.rank(value) - 1;
            let size = builder.ty(value).dims()[axis].fixed().unwrap_or(1);
            let logs = builder.log(value);
            let window = Window::full(axis + 1);
            let first = builder.slice(logs, window.clone().with(axis, 0, size - 1));
            let last = builder.slice(logs, window.with(axis, size - 1, size));
            let mut dims = builder.ty(logs).dims().to_vec();
            dims[axis] = Dim::Fixed(size - 1);
            let kept: Vec<Dim> = dims[..axis].to_vec();
            let last = builder.reshape(last, &Shape(kept));
            let last = builder.restore_axes(last, &Shape(dims), &[axis]);
            builder.sub(first, last)
        }
        Support::Real => value,
        Support::Ordered | Support::Integers(_) => return None,
    })
}

/// Transforms an unconstrained number, which an optimiser updates, to a variational parameter in
/// its support. Half-infinite intervals use the softplus instead of the exponential, because the
/// slope of the softplus is bounded. A large step of the optimiser therefore adds a bounded amount
/// to the parameter, and does not multiply it by a large factor.
pub fn parameter(builder: &mut Builder, support: Support, rho: Value) -> Option<Value> {
    match support {
        Support::Interval(lo, hi) if lo.is_finite() != hi.is_finite() => {
            let soft = builder.softplus(rho);
            Some(if lo.is_finite() {
                offset(builder, soft, lo)
            } else {
                let down = builder.neg(soft);
                offset(builder, down, hi)
            })
        }
        _ => constrain(builder, support, rho).map(|(value, _)| value),
    }
}

/// Applies the inverse of [`parameter`] to starting values. Vectors lie along the last axis. This
/// axis has the size `last`.
pub fn inverse_parameter(support: Support, last: usize, values: &[f64]) -> Vec<f64> {
    match support {
        Support::Interval(lo, hi) if lo.is_finite() && !hi.is_finite() => {
            values.iter().map(|w| inverse_softplus(w - lo)).collect()
        }
        Support::Interval(lo, hi) if hi.is_finite() && !lo.is_finite() => {
            values.iter().map(|w| inverse_softplus(hi - w)).collect()
        }
        _ => support.inverse(last, values),
    }
}

/// `log (exp y - 1)`, finite for every positive `y`.
fn inverse_softplus(y: f64) -> f64 {
    let y = special::max(y, f64::MIN_POSITIVE);
    y + (-(-y).exp_m1()).ln()
}

/// The bijection between an unconstrained state and a parameter of a family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// The parameter is a value of the site itself. The bijection is [`constrain`]. Draws of the
    /// site use the same bijection. The parameter values of one family can therefore start another
    /// family.
    Site(Support),
    /// The parameter is not the value of a site. The bijection is [`parameter`].
    Parameter(Support),
}

impl Scale {
    /// Returns the support of the parameter.
    pub fn support(self) -> Support {
        match self {
            Scale::Site(support) | Scale::Parameter(support) => support,
        }
    }

    /// Returns the parameter that corresponds to a state. Returns `None` if the parameter is an
    /// integer.
    pub fn value(self, builder: &mut Builder, state: Value) -> Option<Value> {
        match self {
            Scale::Site(support) => constrain(builder, support, state).map(|(value, _)| value),
            Scale::Parameter(support) => parameter(builder, support, state),
        }
    }

    /// Returns the state that corresponds to a parameter. Vectors lie along a last axis of size `last`.
    pub fn state(self, last: usize, values: &[f64]) -> Vec<f64> {
        match self {
            Scale::Site(support) => support.inverse(last, values),
            Scale::Parameter(support) => inverse_parameter(support, last, values),
        }
    }
}
