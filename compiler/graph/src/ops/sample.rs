//! `sample params, .., dist, site`: a random quantity of a model.

use crate::attr::{Attr, attributes};
use crate::diagnostics::CallError;
use crate::dist::{self, Instance};
use crate::example;
use crate::op::{Arity, Batch, Example, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;

attributes! { dist: Dist, site: Symbol }

/// A random quantity of a model.
pub static SAMPLE: OpDef = OpDef {
    name: "sample",
    doc: "A value, named `site`, drawn from the distribution `dist` with these parameters.",
    arity: Arity::AtLeast(0),
    attrs: ATTRS,
    infer: |types, attrs| {
        let dist = dist(attrs);
        expect_params(dist, types)?;
        Ok(dist.value.clone())
    },
    eval: Some(eval),
    vjp: Vjp::None("a model is split into densities before it is differentiated"),
    batch: Batch::Expand,
    range: |_, attrs| dist::range(dist(attrs).support),
    lower: Lower::Removed("`density` replaces sites by densities"),
    examples,
};

/// Checks that parameters have the types that the distribution declares for them.
pub(super) fn expect_params(dist: &Instance, types: &[&Type]) -> Result<(), CallError> {
    if dist.params.len() != types.len() {
        return Err(CallError::Count {
            expected: format!("{} parameters of `{}`", dist.params.len(), dist.name),
            found: types.len(),
        });
    }
    let mismatch = dist
        .params
        .iter()
        .zip(types)
        .find(|((_, wanted), found)| wanted != **found);
    match mismatch {
        Some(((name, wanted), found)) => Err(CallError::Type {
            expected: format!("`{name}` of `{}` to be {wanted}", dist.name),
            found: (*found).clone(),
        }),
        None => Ok(()),
    }
}

/// Returns the draw at the coordinates `(0, 0, 0)` if the distribution has a sampler, otherwise the
/// mean. Returns NaN if the distribution has neither a sampler nor a mean.
fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let dist = dist(attrs);
    let zero = Tensor::scalar(0.0);
    match (&dist.draw, &dist.mean) {
        (Some(draw), _) => {
            let args: Vec<&Tensor> = x.iter().copied().chain([&zero; 3]).collect();
            crate::eval::only_result(draw, &args)
        }
        (None, Some(mean)) => crate::eval::only_result(mean, x),
        (None, None) => Tensor::from_fn(crate::eval::sizes(&dist.value.shape), |_| f64::NAN),
    }
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize]| {
        let attrs = vec![Attr::Dist(example::unit_normal(sizes)), Attr::name("w")];
        example::call(vec![example::real(sizes, -1.0, 1.0)], attrs)
    };
    vec![of(&[]), of(&[3])]
}
