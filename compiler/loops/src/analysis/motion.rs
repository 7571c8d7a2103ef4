//! Finds how values and addresses in a kernel depend on the kernel's axes.

use crate::ir::{Access, Inst, InstId, InstOp, Kernel, KernelOutput, LoopSize};
use bnnc_abi::plan::Storage;
use bnnc_base::arena::Id;
use bnnc_base::dtype::Precision;

/// How an address changes along the innermost axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// The address does not change.
    Still,
    /// The address moves by one real per iteration. All accesses with this motion use the same byte
    /// counter.
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

/// Returns the size of the innermost axis, if it is known. A launch may cover only a part of this
/// axis if the kernel does not have other axes.
pub fn innermost_size(kernel: &Kernel) -> Option<i64> {
    match kernel.dims.last() {
        Some(LoopSize::Fixed(size)) => Some(*size),
        Some(LoopSize::Slot(_)) | None => None,
    }
}

/// Returns, for each instruction and each axis, whether the value of the instruction varies along
/// the axis.
pub fn varies(kernel: &Kernel) -> Vec<Vec<bool>> {
    let mut varies: Vec<Vec<bool>> = Vec::with_capacity(kernel.body.len());
    for inst in kernel.body.iter() {
        let mut own = vec![false; kernel.dims.len()];
        if let InstOp::Index(axis) = inst.op {
            own[axis as usize] = true;
        }
        for (own, stride) in own.iter_mut().zip(inst.op.strides().unwrap_or_default()) {
            *own = *stride != LoopSize::Fixed(0);
        }
        for operand in inst.op.operands() {
            let inherited = &varies[operand.index()];
            own.iter_mut()
                .zip(inherited)
                .for_each(|(own, other)| *own |= other);
        }
        varies.push(own);
    }
    varies
}

/// For each instruction, returns the number of loops that must surround it.
pub fn depths(kernel: &Kernel) -> Vec<usize> {
    let innermost = |axes: &Vec<bool>| axes.iter().rposition(|varies| *varies);
    let depth = |axes| innermost(axes).map_or(0, |axis| axis + 1);
    varies(kernel).iter().map(depth).collect()
}

/// For each instruction, returns whether one of the outputs needs it.
pub fn needed<'a>(kernel: &Kernel, outputs: impl IntoIterator<Item = &'a KernelOutput>) -> Vec<bool> {
    let roots = outputs.into_iter().flat_map(KernelOutput::operands);
    used_by(kernel, roots, |_| true)
}

/// For each instruction, returns whether it is in `roots`, or whether an instruction uses it that is itself
/// marked and for which `passes` holds.
pub(super) fn used_by(
    kernel: &Kernel,
    roots: impl IntoIterator<Item = InstId>,
    passes: impl Fn(InstId) -> bool,
) -> Vec<bool> {
    let mut used = vec![false; kernel.body.len()];
    roots.into_iter().for_each(|id| used[id.index()] = true);
    for id in kernel.body.ids().rev() {
        if used[id.index()] && passes(id) {
            let operands = kernel.body[id].op.operands();
            operands.iter().for_each(|operand| used[operand.index()] = true);
        }
    }
    used
}

/// Returns every size that a kernel uses: its trip counts, and the sizes in loads, noise and outputs.
pub fn sizes(kernel: &Kernel) -> Vec<LoopSize> {
    let access = |access: &Access| {
        let dynamic = access.dynamic.iter();
        let dynamic = dynamic.flat_map(|dynamic| [dynamic.stride, dynamic.limit]);
        let offset = std::iter::once(access.offset);
        access
            .strides
            .iter()
            .copied()
            .chain(offset)
            .chain(dynamic)
            .collect()
    };
    let inst = |inst: &Inst| match &inst.op {
        InstOp::Load(load) => access(load),
        InstOp::Noise(noise) => [noise.strides.as_slice(), &[noise.key, noise.offset]].concat(),
        InstOp::Const(_) | InstOp::Index(_) | InstOp::Apply(..) => Vec::new(),
    };
    let mut sizes = kernel.dims.clone();
    sizes.extend(kernel.body.iter().flat_map(inst));
    sizes.extend(kernel.outputs.iter().flat_map(|output| access(&output.access)));
    sizes
}
