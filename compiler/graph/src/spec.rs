//! The stages of the compiler. Each stage states which ops it allows.

use crate::attr::AttrKind;
use crate::op::{Lower, OpDef};
use std::fmt;

/// The ops that a stage allows.
#[derive(Clone, Copy)]
pub struct Spec {
    /// The name of the stage, for messages.
    pub name: &'static str,
    /// Returns whether the stage allows the op.
    pub admits: fn(&OpDef) -> bool,
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The stage of a model after elaboration. All ops are allowed.
pub const PROBABILISTIC: Spec = Spec {
    name: "probabilistic",
    admits: |_| true,
};

/// The stage of density functions. Ops with distributions are not allowed.
pub const DENSITY: Spec = Spec {
    name: "density",
    admits: |op| op.attrs.iter().all(|spec| spec.kind != AttrKind::Dist),
};

/// The stage of the input of the `lower` crate. Only scalar operations and kernels are allowed.
pub const LOWERED: Spec = Spec {
    name: "lowered",
    admits: |op| match op.lower {
        Lower::Scalar(_) | Lower::Kernel(_) => true,
        Lower::Expand(_) | Lower::Removed(_) => false,
    },
};
