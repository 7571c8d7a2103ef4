//! `stop_gradient x`: the operand itself, with derivative zero.

use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, KernelKind, Lower, OpDef, Vjp};

/// The operand itself, with derivative zero.
pub static STOP_GRADIENT: OpDef = OpDef {
    name: "stop_gradient",
    doc: "The operand itself, with a derivative of zero.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::same_as_first,
    eval: Some(|x, _| x[0].clone()),
    vjp: Vjp::Zero("its purpose is to stop gradients"),
    batch: Batch::Elementwise,
    range: |x, _| x[0],
    lower: Lower::Kernel(KernelKind::StopGradient),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
};
