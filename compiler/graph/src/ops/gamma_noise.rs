//! `gamma_noise draw, example, step, shape, site`: gamma variates of a counter-based stream.

use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::example;
use crate::function::Value;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_math::{gamma, philox};

attributes! { site: Symbol }

/// Gamma variates of a counter-based stream.
pub static GAMMA_NOISE: OpDef = OpDef {
    name: "gamma_noise",
    doc: "Gamma variates of scale one from the random stream of `site`, one for each element of `shape`. The leading axes of `shape` are the axes of the integer coordinates draw, example and step.",
    arity: Arity::Exactly(4),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Implicit(vjp),
    batch: Batch::Elementwise,
    range: |_, _| Interval::new(f64::MIN_POSITIVE, f64::INFINITY),
    lower: Lower::Kernel(KernelKind::GammaNoise),
    examples,
};

fn infer(types: &[&Type], _: &[Attr]) -> Inferred {
    (0..3).try_for_each(|at| infer::expect_dtype(types, at, &[DType::Int]))?;
    infer::expect_dtype(types, 3, &[DType::Real])?;
    infer::expect_equal_shapes(&types[..3])?;
    let (leading, shape) = (types[0].dims(), types[3].dims());
    if shape.starts_with(leading) {
        Ok(types[3].clone())
    } else {
        Err(CallError::Rule(format!(
            "shapes whose leading axes are those of the coordinates, {}, found {}",
            types[0].shape, types[3].shape
        )))
    }
}

/// Evaluates the streams of seed 0.
fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let key = philox::key(0, site(attrs));
    let count: usize = x[3].shape[x[0].shape.len()..].iter().product();
    let mut result = x[3].clone();
    for (at, slot) in result.data.iter_mut().enumerate() {
        let coordinates = [0, 1, 2].map(|operand: usize| x[operand].data[at / count] as i64 as u32);
        *slot = gamma::variate(key, coordinates, (at % count) as u64, *slot);
    }
    result
}

fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let slope = b.gamma_gradient(site.args[3], site.result());
    vec![None, None, None, Some(b.mul(dy, slope))]
}

fn examples() -> Vec<Example> {
    let of = |coordinates: &[usize], sizes: &[usize], (lo, hi): (f64, f64)| {
        let mut operands = vec![example::int(coordinates, 0, 100); 3];
        operands.push(example::real(&[coordinates, sizes].concat(), lo, hi));
        example::call(operands, vec![Attr::name("net.tau")])
    };
    vec![
        of(&[], &[], (0.5, 3.0)),
        of(&[], &[5], (0.01, 0.9)),
        of(&[2], &[2, 3], (0.1, 20.0)),
        of(&[2, 2], &[], (2.0, 900.0)),
    ]
}
