//! Merges neighbouring axes if every access passes through them with a single stride, so that
//! innermost loops are long.

use crate::ir::{InstOp, Kernel, LoopSize};

/// Returns the kernel with as few axes as possible. Also returns the number of iterations of the
/// new outermost axis that replace one iteration of the original outermost axis.
pub fn collapse(kernel: &Kernel) -> (Kernel, i64) {
    let mut merged = kernel.clone();
    let mut factor = 1;
    for axis in (0..kernel.dims.len().saturating_sub(1)).rev() {
        if let Some(inner) = mergeable(&merged, axis) {
            merge(&mut merged, axis, inner);
            if axis == 0 {
                factor = inner;
            }
        }
    }
    (merged, factor)
}

/// Returns the size of the axis after `axis`. Returns `None` if the two axes cannot be merged.
fn mergeable(kernel: &Kernel, axis: usize) -> Option<i64> {
    let LoopSize::Fixed(inner) = kernel.dims[axis + 1] else {
        return None;
    };
    let outer_is_known = matches!(kernel.dims[axis], LoopSize::Fixed(_));
    let single = kernel.dims[axis] == LoopSize::Fixed(1) || inner == 1;
    let walks_as_one = |strides: &[LoopSize]| match (strides[axis], strides[axis + 1]) {
        (LoopSize::Fixed(outer), LoopSize::Fixed(step)) => single || outer == step * inner,
        _ => single,
    };
    let is_indexed = |of: u32| of as usize == axis || of as usize == axis + 1;
    let indexed = kernel
        .body
        .iter()
        .any(|inst| matches!(inst.op, InstOp::Index(of) if is_indexed(of)));
    let fits = (outer_is_known || axis == 0) && inner > 0 && !indexed && kernel.strides().all(walks_as_one);
    fits.then_some(inner)
}

fn merge(kernel: &mut Kernel, axis: usize, inner: i64) {
    for id in kernel.body.ids() {
        if let InstOp::Index(of) = &mut kernel.body[id].op
            && *of as usize > axis
        {
            *of -= 1;
        }
    }
    // The stride of an axis of size 1 does not matter, so the merged axis has the stride of the
    // other axis.
    let dropped = if inner == 1 { axis + 1 } else { axis };
    kernel.change_strides(|strides| {
        strides.remove(dropped);
    });
    if let LoopSize::Fixed(outer) = kernel.dims[axis] {
        kernel.dims[axis] = LoopSize::Fixed(outer * inner);
    }
    kernel.dims.remove(axis + 1);
}
