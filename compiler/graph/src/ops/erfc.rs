//! `erfc x`: the complement of the error function, `1 - erf x`.

use super::erf;
use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `erfc x`: `1 - erf x`, accurate where it is small.
pub static ERFC: OpDef = OpDef {
    name: "erfc",
    doc: "`1 - erf x`, accurate also where the result is small.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Erfc, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = erf::slope(b, site.args[0]);
        let down = b.mul(dy, slope);
        vec![Some(b.neg(down))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(|at| Scalar::Erfc.eval(&[at])),
    lower: Lower::Scalar(Scalar::Erfc),
    examples: || example::elementwise(&[(-2.0, 2.0)]),
};
