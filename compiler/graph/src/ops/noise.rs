//! `noise draw, example, step, kind, site, shape`: random numbers of a counter-based stream.

use crate::attr::{Attr, attributes};
use crate::diagnostics::CallError;
use crate::example;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;
use bnnc_math::philox;

attributes! { kind: Symbol, site: Symbol, shape: Shape }

/// Random numbers of a counter-based stream.
pub static NOISE: OpDef = OpDef {
    name: "noise",
    doc: "Random numbers from the random stream of `site` (`uniform` on (0, 1) or standard `normal`): one tensor of this shape for each element of the integer coordinates draw, example and step.",
    arity: Arity::Exactly(3),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Zero("noise does not depend on parameters"),
    batch: Batch::Elementwise,
    range: |_, attrs| match NoiseKind::from_name(kind(attrs)) {
        Some(NoiseKind::Uniform) => Interval::new(philox::unit(0), philox::unit(u32::MAX)),
        Some(NoiseKind::Normal | NoiseKind::Gamma) | None => Interval::REALS,
    },
    lower: Lower::Kernel(KernelKind::Noise),
    examples,
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    (0..3).try_for_each(|at| infer::expect_dtype(types, at, &[DType::Int]))?;
    infer::expect_equal_shapes(types)?;
    let kind = kind(attrs);
    if NoiseKind::from_name(kind).is_none_or(NoiseKind::has_shape) {
        return Err(CallError::Rule(format!(
            "the noise `uniform` or `normal`, found `{kind}`"
        )));
    }
    let mut dims = types[0].dims().to_vec();
    dims.extend(shape(attrs).dims());
    Ok(Type::real(Shape(dims)))
}

/// Evaluates the streams of seed 0.
fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let number = match NoiseKind::from_name(kind(attrs)) {
        Some(NoiseKind::Uniform) => philox::uniform,
        Some(NoiseKind::Normal | NoiseKind::Gamma) | None => philox::normal,
    };
    let key = philox::key(0, site(attrs));
    let sizes = crate::eval::sizes(shape(attrs));
    let count: usize = sizes.iter().product();
    let mut result = Tensor::zeros(x[0].shape.iter().chain(&sizes).copied().collect());
    for (at, slot) in result.data.iter_mut().enumerate() {
        let coordinates = [0, 1, 2].map(|operand: usize| x[operand].data[at / count] as i64 as u32);
        *slot = number(key, coordinates, (at % count) as u64);
    }
    result
}

fn examples() -> Vec<Example> {
    let of = |coordinates: &[usize], sizes: &[usize], kind: NoiseKind| {
        let attrs = vec![
            Attr::name(kind.name()),
            Attr::name("net.w"),
            Attr::Shape(Shape::fixed(sizes)),
        ];
        example::call(vec![example::int(coordinates, 0, 100); 3], attrs)
    };
    vec![
        of(&[], &[], NoiseKind::Uniform),
        of(&[], &[5], NoiseKind::Normal),
        of(&[2], &[2, 3], NoiseKind::Normal),
        of(&[2, 2], &[3], NoiseKind::Uniform),
    ]
}
