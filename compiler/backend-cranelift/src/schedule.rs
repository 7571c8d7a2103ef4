//! Decides where each instruction is computed: inside which loops, and in which stage of the
//! innermost loop.

use crate::call::is_called;
use crate::isa::Lanes;
use bnnc_abi::plan::Storage;
use bnnc_base::arena::Id;
use bnnc_base::dtype::{DType, Precision};
use bnnc_loops::analysis::motion::{Motion, innermost_size, motion};
use bnnc_loops::analysis::staging::{BlockStage, KernelStaging, is_array_noise};
use bnnc_loops::analysis::sweep::sums;
use bnnc_loops::ir::{Access, InstId, InstOp, Kernel};

/// The decisions about one kernel.
pub(crate) struct Schedule {
    /// The loops and the stages that compute each instruction.
    pub staging: KernelStaging,

    /// True if the innermost loop computes with vectors.
    pub vector: bool,
    /// The number of vectors per iteration.
    pub unroll: usize,

    /// For each instruction outside the innermost loop, true if vectors in the loop need its value in every lane.
    pub splat: Vec<bool>,
    /// The outputs that are summed in scratch memory. The list is empty if the kernel is not swept
    /// over its last two axes (see Note \[Sweeps\] in `sweep`).
    pub sums: Vec<usize>,
}

impl Schedule {
    /// Plans a kernel.
    pub fn of(kernel: &Kernel, precision: Precision) -> Schedule {
        let staging = KernelStaging::of(kernel, precision, is_called);
        let vector = is_vectorisable(kernel, &staging, precision);
        let stages = &staging.stages;
        let longest = stages.iter().map(|stage| stage.body.len()).max().unwrap_or(0);
        let unroll = match longest {
            0..=14 => 4,
            15..=40 => 2,
            _ => 1,
        };
        let vectors = innermost_size(kernel).map_or(i64::MAX, |size| size / lanes(precision));
        let unroll = if vectors < unroll { 1 } else { unroll as usize };
        let splat = splats(kernel, stages)
            .into_iter()
            .map(|wanted| wanted && vector)
            .collect();
        Schedule {
            staging,
            vector,
            unroll,
            splat,
            sums: sums(kernel),
        }
    }
}

fn splats(kernel: &Kernel, stages: &[BlockStage]) -> Vec<bool> {
    let mut wanted = vec![false; kernel.body.len()];
    let operands = stages
        .iter()
        .flat_map(|stage| &stage.body)
        .flat_map(|id| kernel.body[*id].op.operands());
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

fn is_vectorisable(kernel: &Kernel, staging: &KernelStaging, precision: Precision) -> bool {
    let short = innermost_size(kernel).is_some_and(|size| size < lanes(precision));
    let varies = |id: InstId| !staging.is_hoisted(kernel, id);
    let ints = precision == Precision::F32;
    let fixed_place = |access: &Access| access.positions().all(|id| !varies(id));
    let inside = kernel
        .body
        .ids()
        .filter(|id| staging.live[id.index()] && varies(*id))
        .all(|id| {
            let inst = &kernel.body[id];
            (inst.dtype != DType::Int || ints)
                && match &inst.op {
                    InstOp::Load(access) => {
                        motion(kernel, access, precision) == Motion::Unit && fixed_place(access)
                    }
                    InstOp::Noise(_) => is_array_noise(inst, varies),
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

#[cfg(test)]
mod tests {
    use super::Schedule;
    use bnnc_base::arena::Id;
    use bnnc_base::dtype::Precision;
    use bnnc_loops::parse::parse;

    fn schedule(body: &str, output: u32) -> Schedule {
        let program = parse(&format!(
            "plan \"p\" f32 1 {{ }} kernel \"k\" [$0, 300] (real, real) {{ {body} store v{output} -> 1 at 0 [300, 1] }}"
        ))
        .unwrap();
        Schedule::of(&program.kernels[0], Precision::F32)
    }

    fn bodies(schedule: &Schedule) -> Vec<Vec<usize>> {
        schedule
            .staging
            .stages
            .iter()
            .map(|stage| stage.body.iter().map(|id| id.index()).collect())
            .collect()
    }

    #[test]
    fn a_call_reads_a_load_in_place() {
        let chain = "v0: real = load 0 at 0 [300, 1] v1: real = exp v0 v2: real = tanh v1";
        let schedule = schedule(chain, 2);
        assert_eq!(bodies(&schedule), [[], [], []]);
        assert_eq!(schedule.staging.home, [None, Some(0), Some(1)]);
    }

    #[test]
    fn values_are_computed_late_and_loads_are_repeated() {
        let body = "v0: real = load 0 at 0 [300, 1] v1: real = mul v0 v0 v2: real = exp v1
                    v3: real = neg v0 v4: real = mul v2 v3";
        let schedule = schedule(body, 4);
        assert_eq!(bodies(&schedule), [vec![0, 1], vec![0, 3, 4]]);
        assert_eq!(schedule.staging.homes, 2);
        assert!(schedule.vector);
    }

    #[test]
    fn values_with_disjoint_lifetimes_share_slots() {
        let chain: String = (1..9)
            .map(|at| format!("v{at}: real = exp v{} ", at - 1))
            .collect();
        let schedule = schedule(&format!("v0: real = load 0 at 0 [300, 1] {chain}"), 8);
        assert_eq!((schedule.staging.stages.len(), schedule.staging.homes), (9, 2));
    }

    #[test]
    fn calls_on_loop_invariants_are_hoisted() {
        let body = "v0: real = load 0 at 0 [1, 0] v1: real = exp v0 v2: real = load 0 at 0 [300, 1]
                    v3: real = mul v1 v2";
        let schedule = schedule(body, 3);
        assert_eq!(bodies(&schedule), [[2, 3]]);
        assert_eq!((schedule.staging.depth[1], schedule.staging.homes), (1, 0));
    }
}
