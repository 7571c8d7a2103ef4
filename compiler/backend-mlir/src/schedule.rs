//! Decides where each instruction of a kernel is computed, and which loops keep reductions in registers.

use crate::approximation::is_inlined;
use bnnc_base::arena::Id;
use bnnc_base::dtype::Precision;
use bnnc_loops::analysis::staging::KernelStaging;
use bnnc_loops::analysis::sweep::{is_swept, sums};
use bnnc_loops::ir::{Inst, InstOp, Kernel, KernelOutput, LoopSize};

/// The decisions about one kernel.
pub(crate) struct Schedule {
    /// The loops and the stages that compute each instruction.
    pub staging: KernelStaging,

    /// The outputs whose sums are kept in scratch memory, with one sum per element. The list is
    /// empty if the kernel is not swept over its last two axes (see Note \[Sweeps\] in `sweep`).
    pub sums: Vec<usize>,
    /// True if the kernel is swept over its last two axes.
    pub swept: bool,
    /// For each output, the outermost axis whose loop keeps the reduction for it in a register.
    pub carried: Vec<Option<usize>>,
}

impl Schedule {
    /// Plans a kernel.
    pub fn of(kernel: &Kernel, precision: Precision) -> Schedule {
        let staging = KernelStaging::of(kernel, precision, is_called);
        let by_element = |at: &usize| kernel.outputs[*at].access.strides.last() == Some(&LoopSize::Fixed(1));
        let outputs = kernel.outputs.iter();
        let carried = outputs.map(|output| carried(kernel, &staging.depth, output));
        Schedule {
            carried: carried.collect(),
            sums: sums(kernel).into_iter().filter(by_element).collect(),
            swept: is_swept(kernel),
            staging,
        }
    }

    /// Returns an empty schedule for callers that make all decisions themselves.
    pub fn without_loops(kernel: &Kernel) -> Schedule {
        Schedule {
            staging: KernelStaging::none(kernel),
            sums: Vec::new(),
            swept: false,
            carried: vec![None; kernel.outputs.len()],
        }
    }
}

/// Returns whether the generated code computes this operation by a call of the runtime.
pub(crate) fn is_called(inst: &Inst) -> bool {
    match &inst.op {
        InstOp::Apply(scalar, _) => scalar.is_called() && !is_inlined(*scalar),
        InstOp::Noise(_) => true,
        InstOp::Const(_) | InstOp::Index(_) | InstOp::Load(_) => false,
    }
}

/// Returns the outermost axis such that the address of a reducing output changes neither along this
/// axis nor along the axes inside it. Returns `None` if such an axis does not exist, or if another
/// access uses the slot of the output.
fn carried(kernel: &Kernel, depth: &[usize], output: &KernelOutput) -> Option<usize> {
    output.combine?;
    let slot = output.access.slot;
    let mut loads = kernel.body.iter().filter_map(|inst| inst.op.load());
    let loaded = loads.any(|access| access.slot == slot);
    let outputs = kernel.outputs.iter().filter(|other| other.access.slot == slot);
    if loaded || outputs.count() > 1 {
        return None;
    }
    let moves = |stride: &LoopSize| *stride != LoopSize::Fixed(0);
    let still = output
        .access
        .strides
        .iter()
        .rposition(moves)
        .map_or(0, |axis| axis + 1);
    let computed = output.access.positions().map(|id| depth[id.index()]);
    let from = computed.fold(still, usize::max);
    (from < kernel.dims.len()).then_some(from)
}
