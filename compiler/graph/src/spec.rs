//! The stages of the compiler, with the ops that each admits explicitly.

use crate::attr::AttrKind;
use crate::op::{Lower, OpDef};
use std::fmt;

/// The ops that a stage admits.
#[derive(Clone, Copy)]
pub struct Spec {
    /// The stage, for messages.
    pub name: &'static str,
    /// Returns whether the op may occur.
    pub admits: fn(&OpDef) -> bool,
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A model after elaboration: all ops.
pub const PROBABILISTIC: Spec = Spec {
    name: "probabilistic",
    admits: |_| true,
};

/// Density functions: no ops with distributions.
pub const DENSITY: Spec = Spec {
    name: "density",
    admits: |op| op.attrs.iter().all(|spec| spec.kind != AttrKind::Dist),
};

/// The input of the `lower` crate: scalar operations and kernels only.
pub const LOWERED: Spec = Spec {
    name: "lowered",
    admits: |op| match op.lower {
        Lower::Scalar(_) | Lower::Kernel(_) => true,
        Lower::Expand(_) | Lower::Removed(_) => false,
    },
};
