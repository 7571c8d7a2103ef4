//! Where each instruction is computed: under how many loops, and in which stage of the innermost one.

use crate::access::{Motion, motion};
use crate::isa::Lanes;
use crate::staging::{BLOCK, Stage, Staging, is_array_noise, operands, row_length};
use crate::sweep;
use bnnc_abi::plan::Storage;
use bnnc_base::arena::Id;
use bnnc_base::dtype::{DType, Precision};
use bnnc_loops::ir::{Access, InstId, InstOp, Kernel, Size};

/// Decisions for one kernel.
pub(crate) struct Schedule {
    /// Per instruction: the number of loops around it.
    pub depth: Vec<usize>,
    /// Per instruction: whether an output needs it.
    pub live: Vec<bool>,
    /// Whether the innermost loop handles vectors.
    pub vector: bool,
    /// How many vectors one iteration handles.
    pub unroll: usize,
    /// The stages of the innermost loop.
    pub stages: Vec<Stage>,
    /// Per instruction: the scratch slot that holds a block of its values. Operands of calls that have none are loads
    /// whose elements the call reads where they lie.
    pub home: Vec<Option<usize>>,
    /// The number of scratch slots.
    pub homes: usize,
    /// Elements of a block, where there is more than one stage.
    pub block: i64,
    /// Rows and their length, where blocks hold several whole rows.
    pub tile: Option<(i64, i64)>,
    /// Per instruction: whether vectors need it in every lane, though it is computed outside the innermost loop.
    pub splat: Vec<bool>,
    /// The outputs that are summed in scratch memory, where the last two axes are swept.
    pub sums: Vec<usize>,
}

impl Schedule {
    /// Plans a kernel.
    pub fn of(kernel: &Kernel, precision: Precision) -> Schedule {
        let depth = depths(kernel);
        let live = live(kernel);
        let vector = is_vectorisable(kernel, (&depth, &live), precision);
        let plan = Staging::of(kernel, (&depth, &live), precision);
        let (stages, home, homes) = plan.finish();
        let longest = stages.iter().map(|stage| stage.body.len()).max().unwrap_or(0);
        let unroll = match longest {
            0..=14 => 4,
            15..=40 => 2,
            _ => 1,
        };
        let vectors = innermost_size(kernel).map_or(i64::MAX, |size| size / lanes(precision));
        let unroll = if vectors < unroll { 1 } else { unroll as usize };
        let tile = row_length(kernel)
            .filter(|_| stages.len() > 1)
            .map(|length| (BLOCK / length, length));
        let splat = splats(kernel, &stages)
            .into_iter()
            .map(|wanted| wanted && vector)
            .collect();
        let sums = match sweep::is_swept(kernel) {
            true => sweep::sums(kernel),
            false => Vec::new(),
        };
        Schedule {
            depth,
            live,
            vector,
            unroll,
            stages,
            home,
            homes,
            block: BLOCK,
            tile,
            splat,
            sums,
        }
    }

    /// What the loop of a stage uses, directly or not, per instruction.
    pub fn needs(&self, kernel: &Kernel, stage: usize) -> Vec<bool> {
        let mut roots = self.stages[stage].body.clone();
        roots.extend(&self.stages[stage].store);
        if stage + 1 == self.stages.len() {
            roots.extend(kernel.outputs.iter().map(|output| output.value));
        }
        let accesses = kernel
            .body
            .ids()
            .filter(|id| self.live[id.index()])
            .map(|id| &kernel.body[id]);
        let loads = accesses.filter(|inst| matches!(inst.op, InstOp::Load(_)));
        roots.extend(loads.flat_map(operands));
        roots.extend(
            kernel
                .outputs
                .iter()
                .flat_map(|output| &output.access.dynamic)
                .map(|dynamic| dynamic.index),
        );
        self.closure(kernel, &roots)
    }

    /// What `roots` use outside the innermost loop, directly or not, and they themselves.
    pub fn closure(&self, kernel: &Kernel, roots: &[InstId]) -> Vec<bool> {
        let mut needed = vec![false; kernel.body.len()];
        roots.iter().for_each(|id| needed[id.index()] = true);
        for id in kernel.body.ids().rev() {
            // What other stages compute inside the loop is read from scratch.
            if needed[id.index()] && (self.is_hoisted(kernel, id) || roots.contains(&id)) {
                operands(&kernel.body[id])
                    .iter()
                    .for_each(|operand| needed[operand.index()] = true);
            }
        }
        needed
    }

    /// Whether `id` is computed outside the innermost loop.
    pub fn is_hoisted(&self, kernel: &Kernel, id: InstId) -> bool {
        self.depth[id.index()] < kernel.dims.len()
    }
}

/// The size of the innermost axis where it is known. A launch may be given less of an outermost one.
pub(crate) fn innermost_size(kernel: &Kernel) -> Option<i64> {
    match kernel.dims.last() {
        Some(Size::Fixed(size)) => Some(*size),
        Some(Size::Slot(_)) | None => None,
    }
}

fn splats(kernel: &Kernel, stages: &[Stage]) -> Vec<bool> {
    let mut wanted = vec![false; kernel.body.len()];
    let operands = stages
        .iter()
        .flat_map(|stage| &stage.body)
        .flat_map(|id| operands(&kernel.body[*id]));
    let stored = stages.iter().flat_map(|stage| stage.store.iter().copied());
    let outputs = kernel.outputs.iter().map(|output| output.value);
    operands
        .chain(stored)
        .chain(outputs)
        .for_each(|id| wanted[id.index()] = true);
    wanted
}

fn lanes(precision: Precision) -> i64 {
    Lanes::vector(precision).count()
}

fn depths(kernel: &Kernel) -> Vec<usize> {
    let mut depths = vec![0; kernel.body.len()];
    let moved = |strides: &[Size]| {
        strides
            .iter()
            .rposition(|s| *s != Size::Fixed(0))
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

fn live(kernel: &Kernel) -> Vec<bool> {
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

fn is_vectorisable(kernel: &Kernel, (depth, live): (&[usize], &[bool]), precision: Precision) -> bool {
    let rank = kernel.dims.len();
    let short = innermost_size(kernel).is_some_and(|size| size < lanes(precision));
    let varies = |id: InstId| depth[id.index()] == rank;
    let ints = precision == Precision::F32;
    let fixed_place = |access: &Access| access.dynamic.iter().all(|dynamic| !varies(dynamic.index));
    let inside = kernel
        .body
        .ids()
        .filter(|id| live[id.index()] && varies(*id))
        .all(|id| {
            let inst = &kernel.body[id];
            (inst.dtype != DType::Int || ints)
                && match &inst.op {
                    InstOp::Load(access) => {
                        motion(kernel, access, precision) == Motion::Unit && fixed_place(access)
                    }
                    InstOp::Noise { .. } => is_array_noise(inst, varies),
                    InstOp::Const(_) | InstOp::Index(_) | InstOp::Apply(..) => true,
                }
        });
    let outputs = kernel.outputs.iter().all(|output| {
        let int = kernel.slots[output.access.slot as usize] == Storage::Int;
        let motion = match motion(kernel, &output.access, precision) {
            Motion::Unit => true,
            Motion::Still => output.combine.is_some(),
            Motion::Moving => false,
        };
        motion && fixed_place(&output.access) && (!int || ints)
    });
    !short && inside && outputs
}
