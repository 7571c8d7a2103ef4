//! `observe params, .., value, dist, site`: the log density of a given value.

use super::sample::expect_params;
use crate::attr::{Attr, attributes};
use crate::diagnostics::CallError;
use crate::example;
use crate::infer::Inferred;
use crate::op::{Arity, Batch, Example, Interval, Lower, OpDef, Vjp};
use crate::types::Type;

attributes! { dist: Dist, site: Symbol }

/// The log density of a given value.
pub static OBSERVE: OpDef = OpDef {
    name: "observe",
    doc: "The log density of the last operand under `dist`, whose parameters are the other operands. It is the term `site` of the model.",
    arity: Arity::AtLeast(1),
    attrs: ATTRS,
    infer,
    eval: Some(|x, attrs| crate::eval::only_result(&dist(attrs).log_density, x)),
    vjp: Vjp::None("a model is split into densities before it is differentiated"),
    batch: Batch::Expand,
    range: |_, _| Interval::REALS,
    lower: Lower::Removed("`density` replaces sites by densities"),
    examples,
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let dist = dist(attrs);
    let [params @ .., value] = types else {
        return Err(CallError::Rule("a value to observe, found none".to_owned()));
    };
    expect_params(dist, params)?;
    if **value != dist.value {
        return Err(CallError::Type {
            expected: format!("a value {} of `{}`", dist.value, dist.name),
            found: (*value).clone(),
        });
    }
    Ok(Type::scalar())
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize]| {
        let operand = example::real(sizes, -1.0, 1.0);
        let attrs = vec![Attr::Dist(example::unit_normal(sizes)), Attr::name("y")];
        example::call(vec![operand.clone(), operand], attrs)
    };
    vec![of(&[]), of(&[3])]
}
