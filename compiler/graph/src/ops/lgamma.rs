//! `lgamma x`: the logarithm of the gamma function.

use crate::attr::Attr;
use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `lgamma x`: the logarithm of the gamma function.
pub static LGAMMA: OpDef = OpDef {
    name: "lgamma",
    doc: "The logarithm of `|Gamma(x)|`.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Lgamma, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = b.digamma(site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    batch: Batch::Elementwise,
    range,
    lower: Lower::Scalar(Scalar::Lgamma),
    examples: || example::elementwise(&[(0.3, 5.0)]),
};

/// The position at which `lgamma` has its minimum on the positive reals, and a lower bound of this minimum.
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
