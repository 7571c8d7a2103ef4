//! Finds how values and addresses in a kernel depend on the kernel's axes.

use super::staging::operands;
use crate::ir::{Access, InstOp, Kernel, LoopSize};
use bnnc_abi::plan::Storage;
use bnnc_base::arena::Id;
use bnnc_base::dtype::Precision;

/// How an address changes along the innermost axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// The address does not change.
    Still,
    /// The address moves by one real per iteration. All accesses with this motion share a single
    /// byte counter.
    Unit,
    /// The address moves by another stride, or by a stride that is known only at run time.
    Moving,
}

/// Returns the motion of `access` along the innermost axis.
pub fn motion(kernel: &Kernel, access: &Access, precision: Precision) -> Motion {
    match access.strides.last() {
        Some(LoopSize::Fixed(0)) => Motion::Still,
        Some(LoopSize::Fixed(1)) if element_bytes(kernel, access, precision) == precision.bytes() as i64 => {
            Motion::Unit
        }
        _ => Motion::Moving,
    }
}

/// Returns the bytes per element of the accessed buffer.
pub fn element_bytes(kernel: &Kernel, access: &Access, precision: Precision) -> i64 {
    match kernel.slots[access.slot as usize] {
        Storage::Real => precision.bytes() as i64,
        Storage::Int => 4,
    }
}

/// Returns the size of the innermost axis, if this size is known. If the kernel has only this axis,
/// a launch may cover only a part of it.
pub fn innermost_size(kernel: &Kernel) -> Option<i64> {
    match kernel.dims.last() {
        Some(LoopSize::Fixed(size)) => Some(*size),
        Some(LoopSize::Slot(_)) | None => None,
    }
}

/// For each instruction, returns the number of loops that must surround it.
pub fn depths(kernel: &Kernel) -> Vec<usize> {
    let mut depths = vec![0; kernel.body.len()];
    let moved = |strides: &[LoopSize]| {
        strides
            .iter()
            .rposition(|s| *s != LoopSize::Fixed(0))
            .map_or(0, |axis| axis + 1)
    };
    for id in kernel.body.ids() {
        let inst = &kernel.body[id];
        let own = match &inst.op {
            InstOp::Const(_) | InstOp::Apply(..) => 0,
            InstOp::Index(axis) => *axis as usize + 1,
            InstOp::Load(access) => moved(&access.strides),
            InstOp::Noise { strides, .. } => moved(strides),
        };
        let inherited = operands(inst)
            .iter()
            .map(|operand| depths[operand.index()])
            .max()
            .unwrap_or(0);
        depths[id.index()] = own.max(inherited);
    }
    depths
}

/// For each instruction, returns whether an output needs it.
pub fn live(kernel: &Kernel) -> Vec<bool> {
    let mut live = vec![false; kernel.body.len()];
    for output in &kernel.outputs {
        live[output.value.index()] = true;
        output
            .access
            .dynamic
            .iter()
            .for_each(|dynamic| live[dynamic.index.index()] = true);
    }
    for id in kernel.body.ids().rev() {
        if live[id.index()] {
            operands(&kernel.body[id])
                .iter()
                .for_each(|operand| live[operand.index()] = true);
        }
    }
    live
}

/// Returns every size that a kernel uses: its trip counts, and the sizes in loads, noise and outputs.
pub fn sizes(kernel: &Kernel) -> Vec<LoopSize> {
    let access = |access: &Access| {
        let computed = access.dynamic.iter();
        let computed = computed.flat_map(|dynamic| [dynamic.stride, dynamic.limit]);
        access
            .strides
            .iter()
            .copied()
            .chain([access.offset])
            .chain(computed)
            .collect::<Vec<LoopSize>>()
    };
    let mut sizes = kernel.dims.clone();
    for inst in kernel.body.iter() {
        match &inst.op {
            InstOp::Load(load) => sizes.extend(access(load)),
            InstOp::Noise {
                key, offset, strides, ..
            } => sizes.extend(strides.iter().chain([key, offset])),
            InstOp::Const(_) | InstOp::Index(_) | InstOp::Apply(..) => {}
        }
    }
    let outputs = kernel.outputs.iter();
    sizes.extend(outputs.flat_map(|output| access(&output.access)));
    sizes
}
