//! Splits a sampler into an odd part and an even part. The sign of the odd part flips with the sign
//! of the noise; the even part does not depend on this sign.

use crate::nodes;
use crate::simplify::simplify;
use crate::unroll::expand_maps;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;

/// A draw as the sum of an odd and an even part. If one element of the noise changes its sign, so
/// does the same element of `odd`, and `even` does not change. The noise is symmetric. Therefore,
/// `even + signs * odd` has the same distribution as the draw, for any signs that do not depend on
/// the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignParts {
    /// The part whose sign does not flip. `None` if this part is zero.
    pub even: Option<Value>,
    /// The part whose sign flips.
    pub odd: Value,
    /// The standard deviations of the elements, if the elements are independent normal variates.
    /// `even` is then the mean of these variates.
    pub deviation: Option<Value>,
    /// True if `even` is absent or does not depend on noise. The elements of the draw are then uncorrelated: if the sign
    /// of one element of the noise flips, the product of two elements of `odd` becomes its negative, so its mean is zero.
    pub is_centred: bool,
}

/// Returns the parts of the draw of `sampler` at the parameters `args`. Returns `None` if the draw
/// is not such a sum, or if `odd` would be zero.
///
/// # Errors
/// Returns the errors of [`simplify`].
pub fn parts(builder: &mut Builder, sampler: &Function, args: &[Value]) -> Result<Option<SignParts>, Fault> {
    let sampler = simplify(&expand_maps(sampler))?;
    Ok(parts_of_simple(builder, &sampler, args))
}

fn parts_of_simple(builder: &mut Builder, sampler: &Function, args: &[Value]) -> Option<SignParts> {
    let (_, result) = sampler.results.first()?;
    let elements = count(&sampler.ty(*result).shape);
    // The last three parameters are the coordinates of the noise.
    let family = sampler.params.len().checked_sub(3)?;
    let params = args.iter().enumerate().map(|(at, arg)| Split {
        even: Some(*arg),
        noisy: at >= family,
        odd: None,
    });
    let known = sampler.try_map_nodes(params, |call, known| {
        apply(builder, call.op.0, &known.of(call.args), call.attrs, elements).ok_or(())
    });
    let split = known.ok()?[*result];
    let odd = split.odd?;
    Some(SignParts {
        even: split.even,
        odd: odd.value,
        deviation: odd.factor.map(|(_, factor)| factor).filter(|_| !split.noisy),
        is_centred: !split.noisy,
    })
}

/// A node as the sum of an even and an odd part. An absent part is zero.
#[derive(Clone, Copy, Debug, Default)]
struct Split {
    even: Option<Value>,
    /// True if the even part depends on noise.
    noisy: bool,
    odd: Option<Odd>,
}

#[derive(Clone, Copy, Debug)]
struct Odd {
    value: Value,
    /// The normal noise and the factor that multiplies it, if the factor does not depend on noise.
    factor: Option<(Value, Value)>,
}

fn count(shape: &Shape) -> usize {
    shape.count(&Sizes::default())
}

fn apply(
    builder: &mut Builder,
    op: &'static OpDef,
    operands: &[Split],
    attrs: &[Attr],
    elements: usize,
) -> Option<Split> {
    let noisy = operands.iter().any(|operand| operand.noisy);
    if operands.iter().all(|operand| operand.odd.is_none()) {
        let evens: Vec<Value> = operands.iter().filter_map(|operand| operand.even).collect();
        let value = builder.apply(op, &evens, attrs.to_vec());
        let is_normal = op.is(&ops::noise::NOISE) && **ops::noise::kind(attrs) == *NoiseKind::Normal.name();
        if is_normal && count(&builder.shape(value)) == elements {
            return Some(standard(builder, value));
        }
        return Some(Split {
            even: Some(value),
            noisy,
            odd: None,
        });
    }
    let x = operands[0];
    match op {
        op if op.is(&ops::add::ADD) => Some(sum(builder, x, operands[1])),
        op if op.is(&ops::sub::SUB) => {
            let minus = each(operands[1], |value| builder.neg(value));
            Some(sum(builder, x, minus))
        }
        op if op.is(&ops::neg::NEG) => Some(each(x, |value| builder.neg(value))),
        op if op.is(&ops::mul::MUL) => Some(product(builder, x, operands[1])),
        op if op.is(&ops::div::DIV) && operands[1].odd.is_none() => {
            let one = builder.like(1.0, operands[1].even?);
            let inverse = Split {
                even: Some(builder.div(one, operands[1].even?)),
                ..operands[1]
            };
            Some(product(builder, x, inverse))
        }
        // A reshape keeps the order of the elements. The signs of the elements therefore stay the
        // same.
        op if op.is(&ops::reshape::RESHAPE) => {
            Some(each(x, |value| builder.apply(op, &[value], attrs.to_vec())))
        }
        op if op.is(&ops::abs::ABS) && x.even.is_none() => {
            let value = builder.abs(x.odd?.value);
            Some(unsigned(value))
        }
        op if op.is(&ops::contract::CONTRACT) => contraction(builder, operands, attrs),
        _ => None,
    }
}

fn standard(builder: &mut Builder, noise: Value) -> Split {
    let one = builder.like(1.0, noise);
    Split {
        even: None,
        noisy: false,
        odd: Some(Odd {
            value: noise,
            factor: Some((noise, one)),
        }),
    }
}

/// Returns the split of a value that depends on noise, but not on the signs of the noise.
fn unsigned(value: Value) -> Split {
    Split {
        even: Some(value),
        noisy: true,
        odd: None,
    }
}

fn each(x: Split, mut f: impl FnMut(Value) -> Value) -> Split {
    let odd = x.odd.map(|odd| Odd {
        value: f(odd.value),
        factor: odd.factor.map(|(noise, factor)| (noise, f(factor))),
    });
    Split {
        even: x.even.map(&mut f),
        odd,
        ..x
    }
}

fn sum(builder: &mut Builder, x: Split, y: Split) -> Split {
    let noisy = x.noisy || y.noisy;
    let even = nodes::sum(builder, x.even, y.even);
    let odd = match (x.odd, y.odd) {
        (Some(a), Some(b)) => Some(Odd {
            value: builder.add(a.value, b.value),
            factor: match (a.factor, b.factor) {
                (Some((noise, a)), Some((other, b))) if noise == other => Some((noise, builder.add(a, b))),
                _ => None,
            },
        }),
        (a, b) => a.or(b),
    };
    Split { even, noisy, odd }
}

/// Multiplies two splits. The product of two odd parts is even, because the sign of the noise flips
/// both parts.
fn product(builder: &mut Builder, x: Split, y: Split) -> Split {
    let mut result = Split::default();
    if let (Some(a), Some(b)) = (x.even, y.even) {
        result.even = Some(builder.mul(a, b));
        result.noisy = x.noisy || y.noisy;
    }
    if let (Some(a), Some(b)) = (x.odd, y.odd) {
        let both = unsigned(builder.mul(a.value, b.value));
        result = sum(builder, result, both);
    }
    for (even, odd) in [(x, y.odd), (y, x.odd)] {
        let (Some(value), Some(odd)) = (even.even, odd) else {
            continue;
        };
        let factor = odd.factor.filter(|_| !even.noisy);
        let term = Odd {
            value: builder.mul(value, odd.value),
            factor: factor.map(|(noise, factor)| (noise, builder.mul(value, factor))),
        };
        let term = Split {
            odd: Some(term),
            ..Split::default()
        };
        result = sum(builder, result, term);
    }
    result
}

/// Returns the split of a contraction that multiplies elements of two odd values at equal positions, such as
/// a squared norm.
fn contraction(builder: &mut Builder, operands: &[Split], attrs: &[Attr]) -> Option<Split> {
    let labels = ops::contract::parsed(attrs);
    let (x, y) = (operands[0], operands[1]);
    let in_pairs = labels.left == labels.right && x.even.is_none() && y.even.is_none();
    if !in_pairs {
        return None;
    }
    Some(unsigned(builder.contract(
        x.odd?.value,
        y.odd?.value,
        &labels.to_string(),
    )))
}

/// Returns whether the elements of a draw are known to be uncorrelated, for all parameters of the family.
///
/// # Errors
/// Returns the errors of [`simplify`].
pub fn is_uncorrelated(sampler: &Function) -> Result<bool, Fault> {
    Ok(at_own_parameters(sampler)?.is_some_and(|parts| parts.is_centred))
}

/// Returns two flags about the draws of a sampler. The first is true if the draws have a part whose
/// sign flips with the noise. The second is true if the draws are independent normal variates.
///
/// # Errors
/// Returns the errors of [`simplify`].
pub fn kind(sampler: &Function) -> Result<(bool, bool), Fault> {
    let parts = at_own_parameters(sampler)?;
    Ok((
        parts.is_some(),
        parts.is_some_and(|parts| parts.deviation.is_some()),
    ))
}

/// Returns the parts of a draw in a builder of their own. The values in the result are only compared with `None`.
fn at_own_parameters(sampler: &Function) -> Result<Option<SignParts>, Fault> {
    let mut scratch = Builder::new("scratch");
    let args = nodes::params_of(&mut scratch, sampler);
    parts(&mut scratch, sampler, &args)
}
