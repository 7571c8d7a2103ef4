//! `tanh x`: the hyperbolic tangent.

use crate::example;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `tanh x`: the hyperbolic tangent.
pub static TANH: OpDef = OpDef {
    doc: "The hyperbolic tangent.",
    vjp: Vjp::Rule(|b, site, dy| {
        let square = b.mul(site.result(), site.result());
        let one = b.like(1.0, dy);
        let slope = b.sub(one, square);
        vec![Some(b.mul(dy, slope))]
    }),
    range: |x, _| x[0].monotone(f64::tanh),
    examples: || example::elementwise(&[(-2.0, 2.0)]),
    ..OpDef::scalar(Scalar::Tanh)
};
