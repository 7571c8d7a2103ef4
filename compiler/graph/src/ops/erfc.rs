//! `erfc x`: the complement of the error function, `1 - erf x`.

use super::erf;
use crate::example;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `erfc x`: `1 - erf x`, accurate where the result is small.
pub static ERFC: OpDef = OpDef {
    doc: "`1 - erf(x)`, accurate also where the result is small.",
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = erf::slope(b, site.args[0]);
        let down = b.mul(dy, slope);
        vec![Some(b.neg(down))]
    }),
    range: |x, _| x[0].monotone(|at| Scalar::Erfc.eval(&[at])),
    examples: || example::elementwise(&[(-2.0, 2.0)]),
    ..OpDef::scalar(Scalar::Erfc)
};
