//! Splits an innermost loop that calls array primitives into stages.
//!
//! Note \[Stages\]. Array primitives process whole blocks. If the body of an innermost loop calls
//! primitives, the loop is therefore split into stages. For each block of the innermost axis, the
//! loop of stage 0 computes the operands of the first calls and stores them in scratch memory. The
//! first calls follow, then stage 1, and so on. The last stage writes the outputs. Every value is
//! computed as late as possible: in the first stage that needs it. Loads are repeated in each stage
//! that uses them. Any other value that several stages use is stored in scratch memory. If the
//! innermost axis is short, a block is a tile of several whole rows. Each call then processes many
//! elements even though the axis is short.

use super::motion::{Motion, depths, innermost_size, motion, needed, used_by};
use crate::ir::{Inst, InstId, InstOp, Kernel, LoopSize};
use bnnc_base::arena::Id;
use bnnc_base::dtype::{DType, Precision};

/// The largest number of elements of a block.
pub const BLOCK: i64 = 256;

/// One loop over a block, and the calls that follow it.
#[derive(Default)]
pub struct BlockStage {
    /// The instructions in the loop, in order.
    pub body: Vec<InstId>,
    /// The values that the loop stores in scratch memory.
    pub store: Vec<InstId>,
    /// The calls that follow the loop.
    pub calls: Vec<InstId>,
}

/// Returns the length of a row if a block consists of several rows, and `None` otherwise.
pub fn row_length(kernel: &Kernel) -> Option<i64> {
    innermost_size(kernel).filter(|size| kernel.dims.len() > 1 && (1..=BLOCK / 2).contains(size))
}

/// Returns the operands that a call reads as blocks.
fn block_operands(inst: &Inst) -> &[InstId] {
    match &inst.op {
        InstOp::Const(_) | InstOp::Index(_) | InstOp::Load(_) => &[],
        InstOp::Apply(_, operands) => operands,
        InstOp::Noise(noise) => noise.shape.as_slice(),
    }
}

/// Returns whether the elements of a noise stream are adjacent along the innermost axis.
pub fn is_array_noise(inst: &Inst, varies: impl Fn(InstId) -> bool) -> bool {
    match &inst.op {
        InstOp::Noise(noise) => {
            let adjacent = noise.strides.last() == Some(&LoopSize::Fixed(1));
            adjacent && !noise.coordinates.iter().any(|id| varies(*id))
        }
        InstOp::Const(_) | InstOp::Index(_) | InstOp::Load(_) | InstOp::Apply(..) => false,
    }
}

/// Returns whether each row begins in memory where the previous row ends.
pub fn rows_adjoin(strides: &[LoopSize], length: i64) -> bool {
    strides.len() > 1 && strides[strides.len() - 2] == LoopSize::Fixed(length)
}

/// Where each instruction of a kernel is computed: inside which loops, and in which stage of the innermost
/// loop.
pub struct KernelStaging {
    /// The number of enclosing loops of each instruction.
    pub depth: Vec<usize>,
    /// For each instruction, whether an output depends on it.
    pub live: Vec<bool>,
    /// The stages of the innermost loop.
    pub stages: Vec<BlockStage>,
    /// For each instruction, the scratch slot that holds a block of its values. If an operand of a
    /// call does not have a slot, it is a load, and the call reads the elements directly from the
    /// buffer.
    pub home: Vec<Option<usize>>,
    /// The number of scratch slots.
    pub homes: usize,
    /// If a block contains several whole rows, their number and the length of one row.
    pub tile: Option<(i64, i64)>,
}

impl KernelStaging {
    /// Plans a kernel. `is_called` returns whether an instruction is a call of a runtime primitive.
    pub fn of(kernel: &Kernel, precision: Precision, is_called: impl Fn(&Inst) -> bool) -> KernelStaging {
        let (depth, live) = (depths(kernel), needed(kernel, &kernel.outputs));
        let plan = BlockStaging::of(kernel, (&depth, &live), precision, is_called);
        let (stages, (home, homes)) = (plan.stages(), plan.homes());
        let tile = row_length(kernel)
            .filter(|_| stages.len() > 1)
            .map(|length| (BLOCK / length, length));
        KernelStaging {
            depth,
            live,
            stages,
            home,
            homes,
            tile,
        }
    }

    /// Returns a staging without decisions, for callers that make all decisions themselves.
    pub fn none(kernel: &Kernel) -> KernelStaging {
        let count = kernel.body.len();
        KernelStaging {
            depth: vec![0; count],
            live: vec![false; count],
            stages: Vec::new(),
            home: vec![None; count],
            homes: 0,
            tile: None,
        }
    }

    /// Returns whether `id` is computed outside the innermost loop.
    pub fn is_hoisted(&self, kernel: &Kernel, id: InstId) -> bool {
        self.depth[id.index()] < kernel.dims.len()
    }

    /// Returns whether a stage computes anything before its calls.
    pub fn has_loop(&self, stage: usize) -> bool {
        self.is_last(stage) || !self.stages[stage].store.is_empty()
    }

    /// Returns whether a stage is the last one, which writes the outputs.
    pub fn is_last(&self, stage: usize) -> bool {
        stage + 1 == self.stages.len()
    }

    /// For each instruction, returns whether it is in `roots` or is used by a root. A root uses an
    /// instruction indirectly only through values that are computed outside the innermost loop.
    pub fn closure(&self, kernel: &Kernel, roots: &[InstId]) -> Vec<bool> {
        // Values that other stages compute inside the loop are read from scratch memory, so their
        // operands are not examined.
        used_by(kernel, roots.iter().copied(), |id| {
            self.is_hoisted(kernel, id) || roots.contains(&id)
        })
    }

    /// Returns, for each instruction, whether the loop of a stage uses it, directly or indirectly.
    pub fn needs(&self, kernel: &Kernel, stage: usize) -> Vec<bool> {
        let mut roots = self.stages[stage].body.clone();
        roots.extend(&self.stages[stage].store);
        if self.is_last(stage) {
            roots.extend(kernel.outputs.iter().map(|output| output.value));
        }
        let alive = kernel.body.ids().filter(|id| self.live[id.index()]);
        let loads = alive.filter_map(|id| kernel.body[id].op.load());
        let outputs = kernel.outputs.iter().map(|output| &output.access);
        roots.extend(loads.chain(outputs).flat_map(|access| access.positions()));
        self.closure(kernel, &roots)
    }
}

/// Assigns instructions to stages; see Note \[Stages\]. Loops and calls alternate. The loop of
/// stage `s` runs at time `2 s`, and the calls after it run at time `2 s + 1`.
struct BlockStaging<'a> {
    kernel: &'a Kernel,
    precision: Precision,
    varies: Vec<bool>,
    called: Vec<bool>,
    /// The stage of each instruction that is computed in only one stage.
    late: Vec<usize>,
    /// For each load or index, the stages that compute it.
    repeated: Vec<Vec<usize>>,
    /// For each value, the first and the last time at which it must be in scratch memory.
    held: Vec<Option<(usize, usize)>>,
    last: usize,
}

impl<'a> BlockStaging<'a> {
    fn of(
        kernel: &'a Kernel,
        (depth, live): (&[usize], &[bool]),
        precision: Precision,
        is_called: impl Fn(&Inst) -> bool,
    ) -> BlockStaging<'a> {
        let count = kernel.body.len();
        let varies: Vec<bool> = (0..count)
            .map(|at| live[at] && depth[at] == kernel.dims.len())
            .collect();
        let called = |id: InstId| {
            let inst = &kernel.body[id];
            let array = !matches!(inst.op, InstOp::Noise(_)) || is_array_noise(inst, |c| varies[c.index()]);
            varies[id.index()] && is_called(inst) && array
        };
        let called = kernel.body.ids().map(called).collect();
        let (late, repeated) = (vec![usize::MAX; count], vec![Vec::new(); count]);
        let held = vec![None; count];
        let mut staging = BlockStaging {
            kernel,
            precision,
            varies,
            called,
            late,
            repeated,
            held,
            last: 0,
        };
        staging.last = staging.number_of_calls();
        staging.place();
        staging
    }

    /// Returns the length of the longest chain of calls. In a chain, each call depends on the
    /// previous call.
    fn number_of_calls(&self) -> usize {
        let mut available = vec![0; self.kernel.body.len()];
        for id in self.kernel.body.ids().filter(|id| self.varies[id.index()]) {
            let inputs = self.kernel.body[id].op.operands();
            let level = inputs.iter().map(|operand| available[operand.index()]).max();
            available[id.index()] = level.unwrap_or(0) + usize::from(self.called[id.index()]);
        }
        available.into_iter().max().unwrap_or(0)
    }

    fn place(&mut self) {
        let kernel = self.kernel;
        for operand in kernel.outputs.iter().flat_map(|output| output.operands()) {
            self.need_in_loop(operand, self.last);
        }
        for id in kernel.body.ids().rev() {
            if !self.varies[id.index()] {
                continue;
            }
            let stage = self.late[id.index()];
            if !self.called[id.index()] {
                let operands = kernel.body[id].op.operands().into_iter();
                operands.for_each(|operand| self.need_in_loop(operand, stage));
            } else {
                block_operands(&kernel.body[id])
                    .iter()
                    .for_each(|operand| self.need_in_call(*operand, stage));
            }
        }
    }

    fn need_in_loop(&mut self, id: InstId, stage: usize) {
        let at = id.index();
        if !self.varies[at] {
            return;
        }
        if self.called[at] {
            self.late[at] = self.late[at].min(stage - 1);
            self.hold(id, 2 * stage, 2 * stage);
        } else if self.is_repeatable(id) {
            self.late[at] = self.late[at].min(stage);
            self.repeated[at].push(stage);
        } else {
            if self.late[at] != usize::MAX && self.late[at] != stage {
                let (first, last) = (self.late[at].min(stage), self.late[at].max(stage));
                self.hold(id, 2 * first, 2 * last);
            }
            self.late[at] = self.late[at].min(stage);
        }
    }

    fn need_in_call(&mut self, id: InstId, stage: usize) {
        let at = id.index();
        if self.called[at] {
            self.late[at] = self.late[at].min(stage - 1);
        } else if self.varies[at] && self.is_direct(id) {
            return;
        } else {
            if self.varies[at] && self.is_repeatable(id) {
                self.repeated[at].push(stage);
            }
            let users = self.late[at];
            if users != usize::MAX && users != stage {
                self.hold(id, 2 * users.min(stage), 2 * users.max(stage));
            }
            self.late[at] = self.late[at].min(stage);
        }
        self.hold(id, 2 * stage, 2 * stage + 1);
    }

    fn hold(&mut self, id: InstId, first: usize, last: usize) {
        let held = &mut self.held[id.index()];
        *held = Some(held.map_or((first, last), |(from, to)| (from.min(first), to.max(last))));
    }

    /// Returns whether computing a value again takes at most as long as loading it from scratch
    /// memory.
    fn is_repeatable(&self, id: InstId) -> bool {
        match &self.kernel.body[id].op {
            InstOp::Index(_) => true,
            InstOp::Load(access) => access.positions().all(|id| !self.varies[id.index()]),
            InstOp::Const(_) | InstOp::Apply(..) | InstOp::Noise(_) => false,
        }
    }

    /// Returns whether a call can read an operand directly from its buffer, without scratch memory.
    fn is_direct(&self, id: InstId) -> bool {
        let inst = &self.kernel.body[id];
        let adjacent = inst.op.load().is_some_and(|access| {
            let rows_adjoin = row_length(self.kernel)
                .is_none_or(|length| access.dynamic.is_empty() && rows_adjoin(&access.strides, length));
            motion(self.kernel, access, self.precision) == Motion::Unit && rows_adjoin
        });
        adjacent && inst.dtype == DType::Real && self.is_repeatable(id)
    }

    fn stages(&self) -> Vec<BlockStage> {
        let mut stages: Vec<BlockStage> = (0..=self.last).map(|_| BlockStage::default()).collect();
        for id in self.kernel.body.ids() {
            let at = id.index();
            let stage = self.late[at];
            if self.called[at] {
                stages[stage].calls.push(id);
                continue;
            }
            if self.varies[at] && self.is_repeatable(id) {
                let mut repeated = self.repeated[at].clone();
                repeated.sort_unstable();
                repeated.dedup();
                repeated.into_iter().for_each(|stage| stages[stage].body.push(id));
            } else if self.varies[at] {
                stages[stage].body.push(id);
            }
            if let Some((first, _)) = self.held[at] {
                stages[first / 2].store.push(id);
            }
        }
        stages
    }

    /// Assigns slots in scratch memory to values. Two values may share a slot if the last use of
    /// one value comes before the definition of the other. Returns the slot of each value that has a slot, and
    /// the number of slots.
    fn homes(&self) -> (Vec<Option<usize>>, usize) {
        let mut home = vec![None; self.held.len()];
        let mut births: Vec<(usize, usize, usize)> = Vec::new();
        for (at, held) in self.held.iter().enumerate() {
            if let Some((first, last)) = held {
                let birth = if self.called[at] {
                    2 * self.late[at] + 1
                } else {
                    *first
                };
                births.push((birth, *last, at));
            }
        }
        births.sort_unstable();
        let mut busy: Vec<usize> = Vec::new();
        for (birth, last, at) in births {
            let free = busy.iter().position(|until| *until < birth).unwrap_or_else(|| {
                busy.push(0);
                busy.len() - 1
            });
            busy[free] = last;
            home[at] = Some(free);
        }
        (home, busy.len())
    }
}
