//! Verifies the invariants of a plan and its launches.

use crate::analysis::motion::sizes;
use crate::ir::{Kernel, KernelOutput, LoopProgram, LoopSize};
use crate::verify::{Verdict, ensure};
use bnnc_abi::plan::{Amount, BufferId, BufferRole, Launch, Plan, PlanStep, PrimitiveCall, Reduce, Storage};
use bnnc_base::fault::Bug;
use bnnc_base::shape::{Dim, Sizes, Symbol};
use std::collections::BTreeSet;

/// Checks the buffers and the steps of a plan.
pub(crate) fn verify_plan(program: &LoopProgram) -> Verdict {
    let plan = &program.plan;
    let (found, wanted) = (plan.kernels, program.kernels.len());
    ensure(found == wanted, || {
        format!("it counts {found} kernels of {wanted}")
    })?;
    for id in plan.buffers.ids() {
        let buffer = &plan.buffers[id];
        if let BufferRole::Constant(values) = &buffer.role {
            let count = buffer
                .shape
                .static_sizes()
                .map(|sizes| sizes.iter().product::<usize>());
            ensure(count == Some(values.len()), || {
                format!("{id} is given {} elements", values.len())
            })?;
        }
    }
    verify_steps(program, &plan.steps)
}

fn verify_steps(program: &LoopProgram, steps: &[PlanStep]) -> Verdict {
    let plan = &program.plan;
    for step in steps {
        match step {
            PlanStep::Launch(launch) => {
                let kernel = program.kernels.get(launch.kernel as usize);
                let kernel = kernel.ok_or_else(|| Bug(format!("there is no kernel {}", launch.kernel)))?;
                verify_launch(plan, kernel, launch)
                    .map_err(|bug| bug.at(format_args!("launch of `{}`", kernel.name)))?;
            }
            PlanStep::Call(call) => {
                verify_call(plan, call)
                    .map_err(|bug| bug.at(format_args!("call of `{}`", call.primitive.name)))?;
            }
            PlanStep::Repeat { counter, body, .. } => {
                verify_buffers(plan, &[*counter])?;
                let buffer = &plan.buffers[*counter];
                ensure(buffer.storage == Storage::Int && buffer.shape.rank() == 0, || {
                    format!("counter {counter} is not an integer scalar")
                })?;
                verify_steps(program, body)?;
            }
        }
    }
    Ok(())
}

fn verify_call(plan: &Plan, call: &PrimitiveCall) -> Verdict {
    verify_buffers(plan, &call.buffers)?;
    if let Some(result) = call.buffers.last() {
        verify_writable(plan, *result)?;
    }
    for sizes in samples(&symbols_of(plan, &call.ints, &call.buffers)) {
        let ints: Vec<i64> = call.ints.iter().map(|amount| amount.resolve(&sizes)).collect();
        let reach = (call.primitive.reach)(&ints);
        let reach = reach.ok_or_else(|| Bug(format!("{ints:?} are not its integers")))?;
        let (found, wanted) = (call.buffers.len(), reach.len());
        ensure(found == wanted, || format!("{found} buffers instead of {wanted}"))?;
        for (id, span) in call.buffers.iter().zip(reach) {
            let count = plan.buffers[*id].shape.count(&sizes) as i64;
            let inside = span.is_none_or(|[low, high]| low >= 0 && high < count);
            ensure(inside, || {
                format!("it reaches {span:?} of {count} elements of {id}")
            })?;
        }
    }
    Ok(())
}

fn verify_buffers(plan: &Plan, buffers: &[BufferId]) -> Verdict {
    let unknown = buffers.iter().find(|id| plan.buffers.get(**id).is_none());
    unknown.map_or(Ok(()), |id| Err(Bug(format!("there is no buffer {id}"))))
}

fn verify_writable(plan: &Plan, id: BufferId) -> Verdict {
    let constant = matches!(plan.buffers[id].role, BufferRole::Constant(_));
    ensure(!constant, || format!("constant {id} is written"))
}

fn verify_launch(plan: &Plan, kernel: &Kernel, launch: &Launch) -> Verdict {
    verify_buffers(plan, &launch.buffers)?;
    let (found, wanted) = (launch.buffers.len(), kernel.slots.len());
    ensure(found == wanted, || format!("{found} buffers for {wanted} slots"))?;
    for (id, storage) in launch.buffers.iter().zip(&kernel.slots) {
        ensure(plan.buffers[*id].storage == *storage, || {
            format!("{id} is not stored as {storage:?}")
        })?;
    }
    let unbound =
        |size: &LoopSize| matches!(size, LoopSize::Slot(slot) if *slot as usize >= launch.ints.len());
    ensure(!sizes(kernel).iter().any(unbound), || {
        "an integer slot is not bound".to_owned()
    })?;
    for output in &kernel.outputs {
        verify_writable(plan, launch.buffers[output.access.slot as usize])?;
    }
    verify_reduces(kernel, launch)?;
    for sizes in samples(&symbols(plan, launch)) {
        verify_reach(plan, kernel, launch, &sizes)?;
    }
    Ok(())
}

fn verify_reduces(kernel: &Kernel, launch: &Launch) -> Verdict {
    for Reduce { slot, combine, .. } in &launch.reduces {
        let mut outputs = kernel.outputs.iter().filter(|output| output.access.slot == *slot);
        ensure(outputs.any(|output| output.combine == Some(*combine)), || {
            format!("slot {slot} is not reduced")
        })?;
    }
    for output in &kernel.outputs {
        let slot = output.access.slot;
        let declared = launch
            .reduces
            .iter()
            .find(|reduce| reduce.slot == slot)
            .map(|reduce| reduce.combine);
        ensure(declared == output.combine, || {
            format!("how slot {slot} combines is not declared")
        })?;
        let partial = launch
            .reduces
            .iter()
            .any(|reduce| reduce.slot == slot && reduce.partial);
        ensure(partial || !collides(kernel, output), || {
            format!("chunks collide in slot {slot}")
        })?;
    }
    Ok(())
}

/// Returns whether different iterations of the outermost axis may write the same element.
fn collides(kernel: &Kernel, output: &KernelOutput) -> bool {
    let still = output.access.strides[0] == LoopSize::Fixed(0) && kernel.dims[0] != LoopSize::Fixed(1);
    let computed = output.combine.is_some() && !output.access.dynamic.is_empty();
    still || computed
}

/// Returns the symbols in the sizes of a launch and of its buffers.
fn symbols(plan: &Plan, launch: &Launch) -> Vec<Symbol> {
    let amounts: Vec<Amount> = launch.ints.iter().chain([&launch.outer]).cloned().collect();
    symbols_of(plan, &amounts, &launch.buffers)
}

/// Returns the symbols in amounts and in the sizes of buffers.
fn symbols_of(plan: &Plan, amounts: &[Amount], buffers: &[BufferId]) -> Vec<Symbol> {
    let of_amounts = amounts
        .iter()
        .flat_map(|amount| amount.0.iter().flat_map(|extent| &extent.symbols).copied());
    let shapes = buffers.iter().map(|id| &plan.buffers[*id].shape);
    let dims = shapes.flat_map(|shape| shape.dims());
    let of_shapes = dims.filter_map(|dim| match dim {
        Dim::Fixed(_) => None,
        Dim::Symbol(symbol) => Some(*symbol),
    });
    let found: BTreeSet<Symbol> = of_amounts.chain(of_shapes).collect();
    found.into_iter().collect()
}

/// The values of each symbol that are used to check addresses.
///
/// Every size is a polynomial in the symbols. Two polynomials whose degree in each symbol is at
/// most four are equal if they agree for all combinations of five values. Comparing all
/// combinations therefore proves that trip counts are equal. If a symbol stands for one axis, the
/// distance between an address and an end of its buffer is linear in the symbol. The distance is
/// then smallest at the smallest or the largest value. The values in between are for symbols that
/// stand for several axes. Products of six of the largest values fit into 64 bits.
const VALUES: [usize; 5] = [1, 2, 3, 7, 1009];

/// Returns all combinations of [`VALUES`] in which the number of rows in a batch is at most the
/// number of examples.
fn samples(symbols: &[Symbol]) -> Vec<Sizes> {
    let mut all = vec![Sizes::default()];
    for symbol in symbols {
        let with = |sizes: &Sizes| VALUES.map(|value| sizes.with(*symbol, value));
        all = all.iter().flat_map(with).collect();
    }
    let has_both = [Symbol::Batch, Symbol::Examples]
        .iter()
        .all(|symbol| symbols.contains(symbol));
    all.retain(|sizes| !has_both || sizes.get(Symbol::Batch) <= sizes.get(Symbol::Examples));
    all
}

/// Checks that the launch agrees with the outermost axis of the kernel, and that every access lies inside its buffer.
fn verify_reach(plan: &Plan, kernel: &Kernel, launch: &Launch, sizes: &Sizes) -> Verdict {
    let number = |size: LoopSize| match size {
        LoopSize::Fixed(size) => size,
        LoopSize::Slot(slot) => Amount::resolve(&launch.ints[slot as usize], sizes),
    };
    let dims: Vec<i64> = kernel.dims.iter().map(|dim| number(*dim)).collect();
    let outer = launch.outer.resolve(sizes);
    ensure(outer == dims[0], || {
        format!("outer count {outer} against {} of the kernel", dims[0])
    })?;
    if dims.iter().any(|dim| *dim <= 0) {
        return Ok(());
    }
    let loads = kernel.body.iter().filter_map(|inst| inst.op.load());
    for access in loads.chain(kernel.outputs.iter().map(|output| &output.access)) {
        let (mut low, mut high) = (number(access.offset), number(access.offset));
        let axes = access
            .strides
            .iter()
            .zip(&dims)
            .map(|(stride, dim)| number(*stride) * (dim - 1));
        let computed = access
            .dynamic
            .iter()
            .map(|d| number(d.stride) * (number(d.limit) - 1).max(0));
        for span in axes.chain(computed) {
            low += span.min(0);
            high += span.max(0);
        }
        let count = plan.buffers[launch.buffers[access.slot as usize]]
            .shape
            .count(sizes) as i64;
        ensure(low >= 0 && high < count, || {
            format!("`{access}` reaches {low}..={high} of {count} elements")
        })?;
    }
    Ok(())
}
