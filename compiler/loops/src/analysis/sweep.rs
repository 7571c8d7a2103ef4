//! Recognises kernels that sum functions of noise over draws, and orders the axes of these kernels.

use super::staging::row_length;
use crate::ir::{InstOp, Kernel, KernelOutput, LoopSize};
use bnnc_abi::plan::{Combine, Storage};

/// Returns the kernel, and the axis that is divided among launches. In a swept kernel, the axis of
/// draws is placed before the axis of elements.
pub fn order(kernel: Kernel) -> (Kernel, usize) {
    let rank = kernel.dims.len();
    if rank < 2 || is_swept(&kernel) {
        return (kernel, 0);
    }
    let swapped = swapped(&kernel, rank - 2);
    // A tile consists of whole rows, so a short axis cannot be divided.
    let divisible = rank > 2 || row_length(&swapped).is_none();
    match divisible && is_swept(&swapped) {
        true => (swapped, usize::from(rank == 2)),
        false => (kernel, 0),
    }
}

/// Returns whether a kernel is swept. A swept kernel generates noise along the innermost axis, and
/// one of its outputs sums over the second-to-last axis. The noise depends on the second-to-last
/// axis only through its coordinates.
pub fn is_swept(kernel: &Kernel) -> bool {
    let makes_noise = kernel.body.iter().any(|inst| match &inst.op {
        InstOp::Noise(noise) => {
            matches!(
                noise.strides.as_slice(),
                [.., LoopSize::Fixed(0), LoopSize::Fixed(1)]
            )
        }
        InstOp::Const(_) | InstOp::Index(_) | InstOp::Load(_) | InstOp::Apply(..) => false,
    });
    makes_noise && kernel.outputs.iter().any(|output| is_sum(kernel, output))
}

/// Returns whether an output sums over the second-to-last axis, and scratch memory can hold the
/// sum.
fn is_sum(kernel: &Kernel, output: &KernelOutput) -> bool {
    let still = matches!(
        output.access.strides.as_slice(),
        [.., LoopSize::Fixed(0), LoopSize::Fixed(0 | 1)]
    );
    let is_real = kernel.slots[output.access.slot as usize] == Storage::Real;
    still && is_real && output.combine == Some(Combine::Sum) && output.access.dynamic.is_empty()
}

/// Returns a copy of the kernel that has `axis` and the next axis exchanged.
fn swapped(kernel: &Kernel, axis: usize) -> Kernel {
    let mut kernel = kernel.clone();
    kernel.dims.swap(axis, axis + 1);
    for id in kernel.body.ids() {
        match &mut kernel.body[id].op {
            InstOp::Index(of) if *of as usize == axis => *of += 1,
            InstOp::Index(of) if *of as usize == axis + 1 => *of -= 1,
            _ => {}
        }
    }
    kernel.change_strides(|strides| strides.swap(axis, axis + 1));
    kernel
}

/// Returns the outputs that are summed in scratch memory. The list is empty if the kernel is not swept.
pub fn sums(kernel: &Kernel) -> Vec<usize> {
    let all = 0..kernel.outputs.len();
    let swept = is_swept(kernel);
    all.filter(|at| swept && is_sum(kernel, &kernel.outputs[*at]))
        .collect()
}
