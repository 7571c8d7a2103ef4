//! Parses the text form that [`crate::print`] writes.

use crate::ir::{Access, Dynamic, Inst, InstId, InstOp, Kernel, KernelOutput, LoopProgram, LoopSize, Noise};
use bnnc_abi::plan::{
    Amount, Buffer, BufferId, BufferRole, Combine, Extent, Launch, Plan, PlanStep, PrimitiveCall, Reduce,
    Storage,
};
use bnnc_abi::primitive;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::{DType, Precision};
use bnnc_base::shape::Symbol;
use bnnc_base::text::{Reader, TextError};
use bnnc_math::scalar::Scalar;
use std::sync::Arc;

type Read<T> = Result<T, TextError>;

/// Parses a program.
///
/// # Errors
/// Fails if the text differs from the form that [`crate::print`] writes. The error names the line
/// and the first wrong token.
pub fn parse(text: &str) -> Read<LoopProgram> {
    let reader = &mut Reader::new(text);
    let plan = plan(reader)?;
    let mut kernels = Vec::new();
    while !reader.is_done() {
        kernels.push(kernel(reader)?);
    }
    Ok(LoopProgram { plan, kernels })
}

fn plan(reader: &mut Reader<'_>) -> Read<Plan> {
    reader.expect("plan")?;
    let name = reader.quoted()?;
    let precision = reader.choose("a precision", |word| match word {
        "f32" => Some(Precision::F32),
        "f64" => Some(Precision::F64),
        _ => None,
    })?;
    let kernels = reader.number()?;
    reader.expect("{")?;
    let mut buffers = Arena::default();
    while reader.peek().starts_with('b') {
        numbered(reader, "b", buffers.len())?;
        reader.expect("=")?;
        buffers.push(buffer(reader)?);
    }
    Ok(Plan {
        name,
        precision,
        buffers,
        steps: steps(reader)?,
        kernels,
    })
}

fn buffer(reader: &mut Reader<'_>) -> Read<Buffer> {
    let storage = storage(reader)?;
    let name = reader.quoted()?.into();
    let shape = reader.shape()?;
    let role = match reader.peek() {
        "input" => BufferRole::Input,
        "state" => BufferRole::State,
        "output" => BufferRole::Output,
        "scratch" => BufferRole::Scratch,
        "constant" => {
            reader.token();
            reader.expect("(")?;
            let values = reader.list(")", |reader| reader.number::<f64>())?;
            return Ok(Buffer {
                name,
                storage,
                shape,
                role: BufferRole::Constant(Arc::from(values)),
            });
        }
        _ => return Err(reader.error("expected a role")),
    };
    reader.token();
    Ok(Buffer {
        name,
        storage,
        shape,
        role,
    })
}

fn steps(reader: &mut Reader<'_>) -> Read<Vec<PlanStep>> {
    let mut steps = Vec::new();
    while !reader.eat("}") {
        steps.push(step(reader)?);
    }
    Ok(steps)
}

fn step(reader: &mut Reader<'_>) -> Read<PlanStep> {
    if reader.eat("launch") {
        return launch(reader).map(PlanStep::Launch);
    }
    if reader.eat("call") {
        let primitive = reader.choose("a primitive", primitive::lookup)?;
        let buffers = buffers(reader)?;
        return Ok(PlanStep::Call(PrimitiveCall {
            primitive,
            buffers,
            ints: ints(reader)?,
        }));
    }
    reader.expect("repeat")?;
    let count = amount(reader)?;
    let counter = buffer_id(reader)?;
    reader.expect("{")?;
    Ok(PlanStep::Repeat {
        count,
        counter,
        body: steps(reader)?,
    })
}

fn launch(reader: &mut Reader<'_>) -> Read<Launch> {
    let kernel = reader.number()?;
    let buffers = buffers(reader)?;
    let ints = ints(reader)?;
    reader.expect("outer")?;
    let outer = amount(reader)?;
    reader.expect("work")?;
    let work = amount(reader)?;
    reader.expect("reduces")?;
    reader.expect("(")?;
    let reduces = reader.list(")", |reader| {
        let slot = reader.number()?;
        let combine = reader.choose("`sum` or `max`", combine_from)?;
        Ok(Reduce {
            slot,
            combine,
            partial: reader.eat("partial"),
        })
    })?;
    Ok(Launch {
        kernel,
        buffers,
        ints,
        outer,
        work,
        reduces,
    })
}

fn buffers(reader: &mut Reader<'_>) -> Read<Vec<BufferId>> {
    reader.expect("(")?;
    reader.list(")", buffer_id)
}

fn ints(reader: &mut Reader<'_>) -> Read<Vec<Amount>> {
    reader.expect("ints")?;
    reader.expect("(")?;
    reader.list(")", amount)
}

fn amount(reader: &mut Reader<'_>) -> Read<Amount> {
    if reader.eat("none") {
        return Ok(Amount::default());
    }
    let mut extents = vec![extent(reader)?];
    while reader.eat("+") {
        extents.push(extent(reader)?);
    }
    Ok(Amount(extents))
}

fn extent(reader: &mut Reader<'_>) -> Read<Extent> {
    let factor = reader.number()?;
    let mut symbols = Vec::new();
    while reader.eat("*") {
        symbols.push(reader.choose("a symbol", Symbol::from_name)?);
    }
    Ok(Extent { factor, symbols })
}

fn kernel(reader: &mut Reader<'_>) -> Read<Kernel> {
    reader.expect("kernel")?;
    let name = reader.quoted()?;
    let dims = sizes(reader)?;
    reader.expect("(")?;
    let slots = reader.list(")", storage)?;
    reader.expect("{")?;
    let mut body = Arena::default();
    while reader.peek().starts_with('v') {
        numbered(reader, "v", body.len())?;
        reader.expect(":")?;
        let dtype = reader.choose("a type", dtype_from)?;
        reader.expect("=")?;
        body.push(Inst {
            op: inst_op(reader)?,
            dtype,
        });
    }
    let mut outputs = Vec::new();
    while !reader.eat("}") {
        outputs.push(output(reader)?);
    }
    Ok(Kernel {
        name,
        dims,
        slots,
        body,
        outputs,
    })
}

fn inst_op(reader: &mut Reader<'_>) -> Read<InstOp> {
    if reader.eat("const") {
        return reader.number().map(InstOp::Const);
    }
    if reader.eat("index") {
        return reader.number().map(InstOp::Index);
    }
    if reader.eat("load") {
        return access(reader).map(InstOp::Load);
    }
    if reader.eat("noise") {
        return noise(reader).map(InstOp::Noise);
    }
    let scalar = reader.choose("an operation", Scalar::from_name)?;
    let operands = (0..scalar.arity())
        .map(|_| inst_id(reader))
        .collect::<Read<Vec<InstId>>>()?;
    Ok(InstOp::Apply(scalar, operands))
}

fn noise(reader: &mut Reader<'_>) -> Read<Noise> {
    let kind = reader.choose("a kind of noise", NoiseKind::from_name)?;
    let key = size(reader)?;
    reader.expect("(")?;
    let draw = inst_id(reader)?;
    reader.expect(",")?;
    let example = inst_id(reader)?;
    reader.expect(",")?;
    let coordinates = [draw, example, inst_id(reader)?];
    reader.expect(")")?;
    let shape = match reader.eat("shape") {
        true => Some(inst_id(reader)?),
        false => None,
    };
    reader.expect("at")?;
    let offset = size(reader)?;
    Ok(Noise {
        kind,
        key,
        coordinates,
        shape,
        offset,
        strides: sizes(reader)?,
    })
}

fn access(reader: &mut Reader<'_>) -> Read<Access> {
    let slot = reader.number()?;
    reader.expect("at")?;
    let offset = size(reader)?;
    let strides = sizes(reader)?;
    let mut dynamic = Vec::new();
    while reader.eat("+") {
        let index = inst_id(reader)?;
        reader.expect("*")?;
        let stride = size(reader)?;
        reader.expect("below")?;
        dynamic.push(Dynamic {
            index,
            stride,
            limit: size(reader)?,
        });
    }
    Ok(Access {
        slot,
        offset,
        strides,
        dynamic,
    })
}

fn output(reader: &mut Reader<'_>) -> Read<KernelOutput> {
    let combine = match reader.eat("store") {
        true => None,
        false => Some(reader.choose("an output", combine_from)?),
    };
    let value = inst_id(reader)?;
    reader.expect("->")?;
    Ok(KernelOutput {
        access: access(reader)?,
        value,
        combine,
    })
}

fn sizes(reader: &mut Reader<'_>) -> Read<Vec<LoopSize>> {
    reader.expect("[")?;
    reader.list("]", size)
}

fn size(reader: &mut Reader<'_>) -> Read<LoopSize> {
    match reader.peek().starts_with('$') {
        true => id(reader, "$").map(LoopSize::Slot),
        false => reader.number().map(LoopSize::Fixed),
    }
}

fn storage(reader: &mut Reader<'_>) -> Read<Storage> {
    reader.choose("`real` or `int`", |word| match word {
        "real" => Some(Storage::Real),
        "int" => Some(Storage::Int),
        _ => None,
    })
}

fn dtype_from(word: &str) -> Option<DType> {
    [DType::Real, DType::Int, DType::Bool]
        .into_iter()
        .find(|dtype| dtype.to_string() == word)
}

fn combine_from(word: &str) -> Option<Combine> {
    [Combine::Sum, Combine::Max]
        .into_iter()
        .find(|combine| combine.name() == word)
}

fn buffer_id(reader: &mut Reader<'_>) -> Read<BufferId> {
    id(reader, "b").map(BufferId)
}

fn inst_id(reader: &mut Reader<'_>) -> Read<InstId> {
    id(reader, "v").map(InstId)
}

fn id(reader: &mut Reader<'_>, prefix: &str) -> Read<u32> {
    reader.choose(&format!("`{prefix}` and a number"), |word| {
        word.strip_prefix(prefix)?.parse().ok()
    })
}

/// Parses the name of a definition. The names must be numbered in increasing order.
fn numbered(reader: &mut Reader<'_>, prefix: &str, next: usize) -> Read<()> {
    reader.expect(&format!("{prefix}{next}"))
}
