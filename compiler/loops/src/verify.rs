//! Verifies the invariants of programs on which backends rely. If one of them is violated, the
//! compiler has a bug.

use crate::ir::{Access, Inst, InstId, InstOp, Kernel, KernelOutput, LoopProgram, LoopSize};
use crate::verify_plan::verify_plan;
use bnnc_abi::plan::Storage;
use bnnc_base::arena::Id;
use bnnc_base::dtype::DType;
use bnnc_base::fault::{Bug, Fault};
use bnnc_math::scalar::{Scalar, ScalarTypes};

/// The result of a check. The error is the rule that is broken.
pub(crate) type Verdict = Result<(), Bug>;

/// Checks every kernel, and checks that the plan agrees with the kernels.
///
/// # Errors
/// Returns a [`Fault::Bug`]. The error names the kernel or step, the position in it, and the broken
/// rule.
pub fn verify(program: &LoopProgram) -> Result<(), Fault> {
    for kernel in &program.kernels {
        verify_kernel(kernel).map_err(|bug| bug.at(format_args!("kernel `{}`", kernel.name)))?;
    }
    let place = format!("plan `{}`", program.plan.name);
    verify_plan(program).map_err(|bug| bug.at(place).into())
}

/// Fails with the message `rule` if `holds` is false.
pub(crate) fn ensure(holds: bool, rule: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Bug(rule())) }
}

fn verify_kernel(kernel: &Kernel) -> Verdict {
    ensure(!kernel.dims.is_empty(), || "it has no axes".to_owned())?;
    for dim in &kernel.dims {
        ensure(!matches!(dim, LoopSize::Fixed(size) if *size < 0), || {
            format!("trip count {dim}")
        })?;
    }
    for id in kernel.body.ids() {
        verify_inst(kernel, id, &kernel.body[id]).map_err(|bug| bug.at(id))?;
    }
    for output in &kernel.outputs {
        verify_output(kernel, output).map_err(|bug| bug.at(format_args!("`{output}`")))?;
    }
    Ok(())
}

fn verify_inst(kernel: &Kernel, id: InstId, inst: &Inst) -> Verdict {
    let found = inst.dtype;
    let result = |wanted: DType| ensure(found == wanted, || format!("the result is {wanted}, not {found}"));
    match &inst.op {
        InstOp::Const(value) => {
            let fits = match inst.dtype {
                DType::Real => true,
                DType::Int => f64::from(*value as i32) == *value,
                DType::Bool => *value == 0.0 || *value == 1.0,
            };
            ensure(fits, || format!("{value} is not of type {found}"))
        }
        InstOp::Index(axis) => {
            ensure((*axis as usize) < kernel.dims.len(), || {
                format!("there is no axis {axis}")
            })?;
            result(DType::Int)
        }
        InstOp::Load(access) => {
            verify_access(kernel, access, id.index())?;
            ensure(
                stores(kernel.slots[access.slot as usize]).contains(&found),
                || format!("slot {} does not hold {found}", access.slot),
            )
        }
        InstOp::Apply(scalar, operands) => {
            let arity = scalar.arity();
            ensure(operands.len() == arity, || {
                format!("{} takes {arity} operands", scalar.name())
            })?;
            let types = operands
                .iter()
                .map(|operand| operand_type(kernel, *operand, id.index()));
            let types = types.collect::<Result<Vec<DType>, Bug>>()?;
            match scalar_type(*scalar, &types) {
                Some(wanted) => result(wanted),
                None => Err(Bug(format!("{} does not take {types:?}", scalar.name()))),
            }
        }
        InstOp::Noise(noise) => {
            for coordinate in noise.coordinates {
                let dtype = operand_type(kernel, coordinate, id.index())?;
                ensure(dtype == DType::Int, || {
                    format!("coordinate {coordinate} is {dtype}, not int")
                })?;
            }
            ensure(noise.shape.is_some() == noise.kind.has_shape(), || {
                format!("whether {} noise has a shape", noise.kind.name())
            })?;
            if let Some(shape) = noise.shape {
                let dtype = operand_type(kernel, shape, id.index())?;
                ensure(dtype == DType::Real, || {
                    format!("shape {shape} is {dtype}, not real")
                })?;
            }
            verify_strides(kernel, &noise.strides)?;
            result(DType::Real)
        }
    }
}

/// Returns the type of the operation's result, for as many operands as the operation takes. Returns
/// `None` if the operands have wrong types.
pub fn scalar_type(scalar: Scalar, operands: &[DType]) -> Option<DType> {
    use DType::{Bool, Int, Real};
    let all = |dtype: DType| operands.iter().all(|operand| *operand == dtype);
    match scalar.types() {
        ScalarTypes::Reals => all(Real).then_some(Real),
        ScalarTypes::Numbers => [Real, Int].into_iter().find(|dtype| all(*dtype)),
        ScalarTypes::Comparison => (all(Real) || all(Int)).then_some(Bool),
        ScalarTypes::Logic => all(Bool).then_some(Bool),
        ScalarTypes::Choice => match operands {
            [Bool, then, otherwise] if then == otherwise => Some(*then),
            _ => None,
        },
        ScalarTypes::ToInt => Some(Int),
        ScalarTypes::ToReal => Some(Real),
    }
}

/// Returns the type of the instruction `id`. This instruction must be defined before the instruction at
/// index `before`.
fn operand_type(kernel: &Kernel, id: InstId, before: usize) -> Result<DType, Bug> {
    let defined = if id.index() < before {
        kernel.body.get(id)
    } else {
        None
    };
    defined
        .map(|inst| inst.dtype)
        .ok_or_else(|| Bug(format!("{id} is used before its definition")))
}

fn verify_access(kernel: &Kernel, access: &Access, before: usize) -> Verdict {
    let slot = access.slot;
    ensure((slot as usize) < kernel.slots.len(), || {
        format!("there is no slot {slot}")
    })?;
    verify_strides(kernel, &access.strides)?;
    for dynamic in &access.dynamic {
        let dtype = operand_type(kernel, dynamic.index, before)?;
        ensure(dtype == DType::Int, || {
            format!("position {} is {dtype}, not int", dynamic.index)
        })?;
    }
    Ok(())
}

fn verify_strides(kernel: &Kernel, strides: &[LoopSize]) -> Verdict {
    let (found, wanted) = (strides.len(), kernel.dims.len());
    ensure(found == wanted, || format!("{found} strides for {wanted} axes"))
}

fn verify_output(kernel: &Kernel, output: &KernelOutput) -> Verdict {
    verify_access(kernel, &output.access, kernel.body.len())?;
    let dtype = operand_type(kernel, output.value, kernel.body.len())?;
    let slot = output.access.slot;
    ensure(stores(kernel.slots[slot as usize]).contains(&dtype), || {
        format!("slot {slot} does not hold {dtype}")
    })
}

/// Returns the element types that can be stored in this way.
fn stores(storage: Storage) -> &'static [DType] {
    match storage {
        Storage::Real => &[DType::Real, DType::Bool],
        Storage::Int => &[DType::Int],
    }
}
