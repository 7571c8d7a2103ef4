//! Decides where each instruction of a kernel is computed, and which loops keep reductions in registers.

use crate::approximation::is_inlined;
use bnnc_base::arena::Id;
use bnnc_base::dtype::Precision;
use bnnc_loops::analysis::motion::{depths, live};
use bnnc_loops::analysis::staging::{self, BLOCK, BlockStage, BlockStaging, row_length};
use bnnc_loops::analysis::sweep::{is_swept, sums};
use bnnc_loops::ir::{Inst, InstId, InstOp, Kernel, KernelOutput, LoopSize};

/// The decisions about one kernel.
pub(crate) struct Schedule {
    /// The number of enclosing loops of each instruction.
    pub depth: Vec<usize>,
    /// For each instruction, whether an output depends on it.
    pub live: Vec<bool>,
    /// The stages of the innermost loop.
    pub stages: Vec<BlockStage>,
    /// For each instruction, the scratch slot that holds a block of its values.
    pub home: Vec<Option<usize>>,
    /// The number of scratch slots.
    pub homes: usize,
    /// If a block contains several whole rows, their number and the length of one row.
    pub tile: Option<(i64, i64)>,
    /// The outputs whose sums are kept in scratch memory, with one sum per element. The list is
    /// empty if the kernel is not swept over its last two axes (see Note \[Sweeps\] in `sweep`).
    pub sums: Vec<usize>,
    /// True if the kernel is swept over its last two axes.
    pub swept: bool,
    /// For each output, the outermost axis whose loop keeps the output's reduction in a register.
    pub carried: Vec<Option<usize>>,
}

impl Schedule {
    /// Plans a kernel.
    pub fn of(kernel: &Kernel, precision: Precision) -> Schedule {
        let (depth, live) = (depths(kernel), live(kernel));
        let plan = BlockStaging::of(kernel, (&depth, &live), precision, is_called);
        let (stages, home, homes) = plan.finish();
        let tile = row_length(kernel)
            .filter(|_| stages.len() > 1)
            .map(|length| (BLOCK / length, length));
        let swept = is_swept(kernel);
        let by_element = |at: &usize| kernel.outputs[*at].access.strides.last() == Some(&LoopSize::Fixed(1));
        let sums = match swept {
            true => sums(kernel).into_iter().filter(by_element).collect(),
            false => Vec::new(),
        };
        let carried = kernel
            .outputs
            .iter()
            .map(|output| carried(kernel, &depth, output))
            .collect();
        Schedule {
            depth,
            live,
            stages,
            home,
            homes,
            tile,
            sums,
            swept,
            carried,
        }
    }

    /// Returns a schedule without decisions, for callers that make all decisions themselves.
    pub fn without_loops(kernel: &Kernel) -> Schedule {
        let count = kernel.body.len();
        Schedule {
            depth: vec![0; count],
            live: vec![false; count],
            stages: Vec::new(),
            home: vec![None; count],
            homes: 0,
            tile: None,
            sums: Vec::new(),
            swept: false,
            carried: vec![None; kernel.outputs.len()],
        }
    }

    /// For each instruction, returns whether the loop of a stage uses it, directly or indirectly.
    pub fn needs(&self, kernel: &Kernel, stage: usize) -> Vec<bool> {
        staging::needs(kernel, (&self.depth, &self.live), &self.stages, stage)
    }

    /// For each instruction, returns whether it is in `roots` or a root uses it. Indirect uses
    /// count only if they lead through values that are computed outside the innermost loop.
    pub fn closure(&self, kernel: &Kernel, roots: &[InstId]) -> Vec<bool> {
        staging::closure(kernel, &self.depth, roots)
    }
}

/// Returns whether generated code calls the runtime for this operation.
pub(crate) fn is_called(inst: &Inst) -> bool {
    match &inst.op {
        InstOp::Apply(scalar, _) => scalar.is_called() && !is_inlined(*scalar),
        InstOp::Noise { .. } => true,
        InstOp::Const(_) | InstOp::Index(_) | InstOp::Load(_) => false,
    }
}

/// Returns an axis along which the address of a reducing output does not change. The address does
/// not change along the axes inside it either. Of all such axes, the outermost is returned. Returns
/// `None` if no such axis exists, or if another access uses the slot of the output.
fn carried(kernel: &Kernel, depth: &[usize], output: &KernelOutput) -> Option<usize> {
    output.combine?;
    let slot = output.access.slot;
    let loaded = kernel
        .body
        .iter()
        .any(|inst| matches!(&inst.op, InstOp::Load(access) if access.slot == slot));
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
    let computed = output
        .access
        .dynamic
        .iter()
        .map(|dynamic| depth[dynamic.index.index()]);
    let from = computed.fold(still, usize::max);
    (from < kernel.dims.len()).then_some(from)
}
