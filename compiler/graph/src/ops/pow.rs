//! `pow x, y`: the power.

use crate::attr::Attr;
use crate::builder::Builder;
use crate::example;
use crate::function::Value;
use crate::op::{Interval, OpCall, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `pow x, y`: the power.
pub static POW: OpDef = OpDef {
    doc: "`x ^ y`. For negative `x` it is defined only for integer `y`, and the derivative with respect to `y` is 0 where `x <= 0`.",
    vjp: Vjp::Rule(vjp),
    range,
    examples: || example::elementwise(&[(0.3, 3.0), (-2.0, 2.0)]),
    ..OpDef::scalar(Scalar::Pow)
};

fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let (x, y) = (site.args[0], site.args[1]);
    let (zero, one) = (b.like(0.0, dy), b.like(1.0, dy));
    let lower = b.sub(y, one);
    let power = b.pow(x, lower);
    let slope = b.mul(y, power);
    // Where the exponent `y` is zero, the power is constant. The formula for the slope
    // would be NaN at `x = 0`, because it computes `0 * 0^-1`.
    let constant = b.eq(y, zero);
    let slope = b.select(constant, zero, slope);
    let positive = b.lt(zero, x);
    let base = b.select(positive, x, one);
    let log = b.log(base);
    let growth = b.mul(site.result(), log);
    vec![Some(b.mul(dy, slope)), Some(b.mul(dy, growth))]
}

fn range(x: &[Interval], _: &[Attr]) -> Interval {
    let (base, exponent) = (x[0], x[1]);
    if base.is_above_zero() {
        return base.corners(exponent, f64::powf).above_zero();
    }
    let even = exponent.lo == exponent.hi && exponent.lo % 2.0 == 0.0;
    if even || base.lo >= 0.0 {
        Interval::NON_NEGATIVE
    } else {
        Interval::REALS
    }
}
