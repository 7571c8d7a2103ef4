//! Estimates the cost of a program as the sum of the costs of its steps. The estimate depends only
//! on the program.

use bnnc_abi::cost::{CostEstimate, CostTerm, MemoryTraffic, Operations};
use bnnc_abi::plan::{Amount, Extent, Launch, Plan, PlanStep, PrimitiveCall, Storage};
use bnnc_loops::ir::{Access, InstOp, Kernel, LoopProgram, LoopSize};

/// Returns the cost of one run of a program, as a function of its symbolic sizes.
pub fn estimate(program: &LoopProgram) -> CostEstimate {
    let mut terms = Vec::new();
    add(program, &program.plan.steps, &[], &mut terms);
    CostEstimate(terms)
}

fn add(program: &LoopProgram, steps: &[PlanStep], loops: &[Amount], terms: &mut Vec<CostTerm>) {
    for step in steps {
        let (operations, traffic) = match step {
            PlanStep::Launch(launch) => {
                launched(&program.plan, &program.kernels[launch.kernel as usize], launch)
            }
            PlanStep::Call(call) => called(&program.plan, call),
            PlanStep::Repeat { count, body, .. } => {
                add(
                    program,
                    body,
                    &[loops, std::slice::from_ref(count)].concat(),
                    terms,
                );
                continue;
            }
        };
        terms.push(CostTerm {
            loops: loops.to_vec(),
            operations,
            traffic,
        });
    }
}

fn width(plan: &Plan, storage: Storage) -> u64 {
    match storage {
        Storage::Real => plan.precision.bytes() as u64,
        Storage::Int => 4,
    }
}

fn called(plan: &Plan, call: &PrimitiveCall) -> (Operations, Vec<MemoryTraffic>) {
    let traffic = call.buffers.iter().map(|id| {
        let buffer = &plan.buffers[*id];
        MemoryTraffic {
            axes: None,
            shape: buffer.shape.clone(),
            width: width(plan, buffer.storage),
        }
    });
    let traffic = traffic.collect();
    (Operations::Call(call.primitive, call.ints.clone()), traffic)
}

fn launched(plan: &Plan, kernel: &Kernel, launch: &Launch) -> (Operations, Vec<MemoryTraffic>) {
    let amount = |size: LoopSize| match size {
        LoopSize::Fixed(number) => Amount::one(Extent::fixed(number)),
        LoopSize::Slot(slot) => launch.ints[slot as usize].clone(),
    };
    let dims: Vec<Amount> = kernel.dims.iter().map(|dim| amount(*dim)).collect();
    let moved = |access: &Access| {
        let buffer = &plan.buffers[launch.buffers[access.slot as usize]];
        let axes = access.strides.iter().zip(&dims).filter(|(stride, _)| {
            // If an access has a computed position, each point of the kernel may access a different
            // element.
            !access.dynamic.is_empty() || amount(**stride).as_fixed() != Some(0)
        });
        MemoryTraffic {
            axes: Some(axes.map(|(_, dim)| dim.clone()).collect()),
            shape: buffer.shape.clone(),
            width: width(plan, buffer.storage),
        }
    };
    let mut each = 0;
    let mut traffic = Vec::new();
    for inst in kernel.body.iter() {
        match &inst.op {
            InstOp::Apply(..) | InstOp::Noise(_) => each += 1,
            InstOp::Load(access) => traffic.push(moved(access)),
            InstOp::Const(_) | InstOp::Index(_) => {}
        }
    }
    for output in &kernel.outputs {
        traffic.push(moved(&output.access));
        each += u64::from(output.combine.is_some());
    }
    (Operations::Points(dims, each), traffic)
}
