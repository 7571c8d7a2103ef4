//! Prints the text form of a program. [`crate::parse::parse`] converts this text back to the same
//! program.

use crate::ir::{Access, Inst, InstOp, Kernel, KernelOutput, LoopProgram, LoopSize};
use bnnc_abi::plan::{Amount, BufferId, BufferRole, Launch, Plan, PlanStep, PrimitiveCall, Reduce, Storage};
use std::fmt::{self, Display, Formatter};

impl Display for LoopProgram {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        plan(f, &self.plan)?;
        self.kernels.iter().try_for_each(|kernel| write!(f, "\n{kernel}"))
    }
}

impl Display for LoopSize {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            LoopSize::Fixed(size) => write!(f, "{size}"),
            LoopSize::Slot(slot) => write!(f, "${slot}"),
        }
    }
}

impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let slots: Vec<&str> = self.slots.iter().map(|slot| storage_name(*slot)).collect();
        writeln!(
            f,
            "kernel \"{}\" {} ({}) {{",
            self.name,
            Sizes(&self.dims),
            slots.join(", ")
        )?;
        for id in self.body.ids() {
            let inst = &self.body[id];
            writeln!(f, "  {id}: {} = {inst}", inst.dtype)?;
        }
        self.outputs
            .iter()
            .try_for_each(|output| writeln!(f, "  {output}"))?;
        writeln!(f, "}}")
    }
}

impl Display for Inst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.op {
            InstOp::Const(value) => write!(f, "const {value:?}"),
            InstOp::Index(axis) => write!(f, "index {axis}"),
            InstOp::Load(access) => write!(f, "load {access}"),
            InstOp::Apply(scalar, operands) => {
                f.write_str(scalar.name())?;
                operands.iter().try_for_each(|operand| write!(f, " {operand}"))
            }
            InstOp::Noise(noise) => {
                let [draw, example, step] = noise.coordinates;
                write!(
                    f,
                    "noise {} {} ({draw}, {example}, {step})",
                    noise.kind.name(),
                    noise.key
                )?;
                if let Some(shape) = noise.shape {
                    write!(f, " shape {shape}")?;
                }
                write!(f, " at {} {}", noise.offset, Sizes(&noise.strides))
            }
        }
    }
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} {}", self.slot, self.offset, Sizes(&self.strides))?;
        self.dynamic.iter().try_for_each(|dynamic| {
            write!(
                f,
                " + {} * {} below {}",
                dynamic.index, dynamic.stride, dynamic.limit
            )
        })
    }
}

impl Display for KernelOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let verb = self.combine.map_or("store", |combine| combine.name());
        write!(f, "{verb} {} -> {}", self.value, self.access)
    }
}

/// Returns the name of a storage: `real` or `int`.
pub fn storage_name(storage: Storage) -> &'static str {
    match storage {
        Storage::Real => "real",
        Storage::Int => "int",
    }
}

struct Sizes<'a>(&'a [LoopSize]);

impl Display for Sizes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.0.iter().map(LoopSize::to_string).collect();
        write!(f, "[{}]", sizes.join(", "))
    }
}

fn plan(f: &mut Formatter<'_>, plan: &Plan) -> fmt::Result {
    writeln!(f, "plan \"{}\" {} {} {{", plan.name, plan.precision, plan.kernels)?;
    for id in plan.buffers.ids() {
        let buffer = &plan.buffers[id];
        write!(
            f,
            "  {id} = {} \"{}\" {}",
            storage_name(buffer.storage),
            buffer.name,
            buffer.shape
        )?;
        match &buffer.role {
            BufferRole::Input => writeln!(f, " input"),
            BufferRole::State => writeln!(f, " state"),
            BufferRole::Output => writeln!(f, " output"),
            BufferRole::Scratch => writeln!(f, " scratch"),
            BufferRole::Constant(values) => {
                writeln!(
                    f,
                    " constant ({})",
                    list(values.iter(), |value| format!("{value:?}"))
                )
            }
        }?;
    }
    steps(f, &plan.steps, 1)?;
    writeln!(f, "}}")
}

fn steps(f: &mut Formatter<'_>, steps: &[PlanStep], depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    for step in steps {
        f.write_str(&indent)?;
        match step {
            PlanStep::Launch(launch) => writeln!(f, "{}", launch_text(launch))?,
            PlanStep::Call(call) => writeln!(f, "{}", call_text(call))?,
            PlanStep::Repeat { count, counter, body } => {
                writeln!(f, "repeat {} {counter} {{", amount_text(count))?;
                self::steps(f, body, depth + 1)?;
                writeln!(f, "{indent}}}")?;
            }
        }
    }
    Ok(())
}

fn launch_text(launch: &Launch) -> String {
    let reduce = |reduce: &Reduce| {
        let partial = if reduce.partial { " partial" } else { "" };
        format!("{} {}{partial}", reduce.slot, reduce.combine.name())
    };
    format!(
        "launch {} ({}) ints ({}) outer {} work {} reduces ({})",
        launch.kernel,
        list(launch.buffers.iter(), BufferId::to_string),
        list(launch.ints.iter(), amount_text),
        amount_text(&launch.outer),
        amount_text(&launch.work),
        list(launch.reduces.iter(), reduce),
    )
}

fn call_text(call: &PrimitiveCall) -> String {
    let buffers = list(call.buffers.iter(), BufferId::to_string);
    format!(
        "call {} ({buffers}) ints ({})",
        call.primitive.name,
        list(call.ints.iter(), amount_text)
    )
}

fn amount_text(amount: &Amount) -> String {
    if amount.0.is_empty() {
        return "none".to_owned();
    }
    let extents: Vec<String> = amount.0.iter().map(|extent| extent.to_string()).collect();
    extents.join(" + ")
}

fn list<T>(items: impl Iterator<Item = T>, text: impl Fn(T) -> String) -> String {
    items.map(text).collect::<Vec<String>>().join(", ")
}
