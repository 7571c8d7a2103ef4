//! `lgamma x`: the logarithm of the gamma function.

use crate::attr::Attr;
use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `lgamma x`: the logarithm of the gamma function.
pub static LGAMMA: OpDef = OpDef {
    doc: "The logarithm of the absolute value of the gamma function.",
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = b.digamma(site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    range,
    examples: || example::elementwise(&[(0.3, 5.0)]),
    ..OpDef::scalar(Scalar::Lgamma)
};

/// The position of the minimum of `lgamma` on the positive reals, and a lower bound of `lgamma`
/// there.
const TROUGH: (f64, f64) = (1.461_632_144_968_362_3, -0.121_486_290_535_850);

fn range(x: &[Interval], _: &[Attr]) -> Interval {
    if x[0].lo <= 0.0 {
        return Interval::REALS;
    }
    let ends = x[0].monotone(|at| Scalar::Lgamma.eval(&[at]));
    if x[0].contains(TROUGH.0) {
        Interval::new(TROUGH.1, ends.hi)
    } else {
        ends
    }
}
