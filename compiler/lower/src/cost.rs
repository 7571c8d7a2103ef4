//! What a program costs, step by step, from its text alone.

use bnnc_abi::plan::{Launch, Plan, Step, Storage};
use bnnc_base::shape::Sizes;
use bnnc_loops::ir::{Access, InstOp, Kernel, Program, Size};

/// Operations and memory traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Floating-point operations: one per scalar operation, random number or combination; products by their formula.
    pub flops: u64,
    /// Bytes read and written, each element of an access once per step.
    pub bytes: u64,
}

impl Cost {
    fn plus(self, other: Cost) -> Cost {
        Cost {
            flops: self.flops + other.flops,
            bytes: self.bytes + other.bytes,
        }
    }

    fn times(self, count: u64) -> Cost {
        Cost {
            flops: self.flops * count,
            bytes: self.bytes * count,
        }
    }
}

/// The cost of one run of a program.
pub fn cost(program: &Program, sizes: &Sizes) -> Cost {
    steps(program, &program.plan.steps, sizes)
}

/// The cost of each step, in order.
pub fn step_costs(program: &Program, sizes: &Sizes) -> Vec<Cost> {
    program
        .plan
        .steps
        .iter()
        .map(|step| one(program, step, sizes))
        .collect()
}

fn steps(program: &Program, steps: &[Step], sizes: &Sizes) -> Cost {
    steps
        .iter()
        .fold(Cost::default(), |sum, step| sum.plus(one(program, step, sizes)))
}

fn one(program: &Program, step: &Step, sizes: &Sizes) -> Cost {
    match step {
        Step::Launch(launch) => launched(
            &program.plan,
            &program.kernels[launch.kernel as usize],
            launch,
            sizes,
        ),
        Step::Call(call) => {
            let ints: Vec<i64> = call.ints.iter().map(|amount| amount.resolve(sizes)).collect();
            let bytes = call.buffers.iter().map(|id| {
                let buffer = &program.plan.buffers[*id];
                buffer.shape.count(sizes) as u64 * width(&program.plan, buffer.storage)
            });
            Cost {
                flops: (call.primitive.flops)(&ints),
                bytes: bytes.sum(),
            }
        }
        Step::Repeat { count, body, .. } => {
            steps(program, body, sizes).times(count.resolve(sizes).max(0) as u64)
        }
    }
}

fn width(plan: &Plan, storage: Storage) -> u64 {
    match storage {
        Storage::Real => plan.precision.bytes() as u64,
        Storage::Int => 4,
    }
}

fn launched(plan: &Plan, kernel: &Kernel, launch: &Launch, sizes: &Sizes) -> Cost {
    let number = |size: Size| match size {
        Size::Fixed(number) => number,
        Size::Slot(slot) => launch.ints[slot as usize].resolve(sizes),
    };
    let dims: Vec<u64> = kernel.dims.iter().map(|dim| number(*dim).max(0) as u64).collect();
    let points: u64 = dims.iter().product();
    let traffic = |access: &Access| {
        let buffer = &plan.buffers[launch.buffers[access.slot as usize]];
        let moved = access
            .strides
            .iter()
            .zip(&dims)
            .filter(|(stride, _)| number(**stride) != 0);
        let mut elements: u64 = moved.map(|(_, dim)| *dim).product();
        if !access.dynamic.is_empty() {
            elements = points;
        }
        elements.min(buffer.shape.count(sizes) as u64) * width(plan, buffer.storage)
    };
    let mut cost = Cost::default();
    for inst in kernel.body.iter() {
        match &inst.op {
            InstOp::Apply(..) | InstOp::Noise { .. } => cost.flops += points,
            InstOp::Load(access) => cost.bytes += traffic(access),
            InstOp::Const(_) | InstOp::Index(_) => {}
        }
    }
    for output in &kernel.outputs {
        cost.bytes += traffic(&output.access);
        cost.flops += if output.combine.is_some() { points } else { 0 };
    }
    cost
}
