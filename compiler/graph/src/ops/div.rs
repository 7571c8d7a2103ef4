//! `div x, y`: the quotient.

use crate::example;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `div x, y`: the quotient.
pub static DIV: OpDef = OpDef {
    doc: "`x / y`, of reals.",
    vjp: Vjp::Rule(|b, site, dy| {
        let over = b.div(dy, site.args[1]);
        let scaled = b.mul(over, site.result());
        vec![Some(over), Some(b.neg(scaled))]
    }),
    range: |x, _| x[0].over(x[1]),
    examples: || example::elementwise(&[(-3.0, 3.0), (0.5, 3.0)]),
    ..OpDef::scalar(Scalar::Div)
};
