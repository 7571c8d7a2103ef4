//! `non_centered`: the non-centred parameterisation of a site with a location-scale prior.
//!
//! Note \[Noise of a prior\]. The sampler of the prior determines the form of the noise. The
//! sampler must compute a draw of the form `loc + scale * noise`, element by element, where `loc`
//! and `scale` do not depend on noise. The noise itself may depend on other parameters, such as the
//! degrees of freedom of Student's t. The position of the site is `z = (x - loc) / scale`. The
//! density of the position is the density of the prior at `loc + scale z`, times `|scale|`. This
//! formula holds for any `loc` and `scale`. A bad choice makes the position less useful, but not
//! wrong. The code does not refer to any family by name.

use crate::density::SitePrior;
use crate::diagnostics;
use crate::nodes::{self, Scope};
use crate::unroll::expand_maps;
use bnnc_abi::ports::PortName;
use bnnc_base::arena::Id;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_graph::analysis::ranges::ranges;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::Site;
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;

/// Returns the value `loc + scale z` of a site. Also returns the log determinant of this
/// transformation's Jacobian: the sum of `log |scale|` over all elements. Returns `None` if the
/// sampler of the prior does not have the form `loc + scale * noise`. `z` has the type of the site.
/// `scope` holds the values of the preceding sites and the shared inputs.
pub fn value(builder: &mut Builder, prior: &SitePrior, scope: &Scope, z: Value) -> Option<(Value, Value)> {
    let named = scope.call(builder, &prior.arguments);
    let arguments: Vec<Value> = named.into_iter().map(|(_, value)| value).collect();
    let Affine { loc, scale } = affine(builder, &prior.distribution, &arguments).ok()?;
    let spread = scale.map_or(z, |scale| builder.mul(scale, z));
    let value = loc.map_or(spread, |loc| builder.add(loc, spread));
    let log_jacobian = match scale {
        Some(scale) => log_size(builder, scale),
        None => builder.real(0.0),
    };
    Some((value, log_jacobian))
}

/// Returns the scale of a prior as a function of the preceding sites and the shared inputs. Returns
/// `None` if the sampler of the prior does not have the form `loc + scale * noise`, or does not
/// have a scale.
pub fn scale(prior: &SitePrior) -> Option<Function> {
    let (mut builder, _, arguments) = nodes::extended("scale", &prior.arguments);
    let scale = affine(&mut builder, &prior.distribution, &arguments)
        .ok()?
        .scale?;
    Some(builder.finish(vec![(PortName::Scale.into(), scale)]))
}

/// Returns the sum of `log |scale|` over all elements.
fn log_size(builder: &mut Builder, scale: Value) -> Value {
    let is_positive = ranges(builder.function(), &[])[scale.index()].lo >= 0.0;
    let size = if is_positive { scale } else { builder.abs(scale) };
    let log = builder.log(size);
    builder.reduce_sum_all(log)
}

/// Returns a diagnostic if a site does not have a non-centred parameterisation. `moves` is false for a
/// site that is fixed and keeps its value.
pub fn rejection(site: &Site, prior: &SitePrior, moves: bool) -> Option<Diagnostic> {
    let why = match (moves, site.support) {
        (false, _) => Why::Fixed,
        (true, Support::Real) => why_not(&prior.distribution)?,
        (true, _) => Why::Support,
    };
    let sentence = why.sentence(&prior.distribution.name);
    Some(diagnostics::no_noise(&site.name, &sentence, why.help(&site.name)))
}

/// The reason why a site does not have a non-centred parameterisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The site is fixed.
    Fixed,
    /// The support of the site is not the reals.
    Support,
    /// The prior does not have a sampler.
    NoSampler,
    /// The elements of the prior depend on each other.
    Joint,
    /// The sampler does not have the form `loc + scale * noise`.
    Form,
}

impl Why {
    fn sentence(self, family: &str) -> String {
        match self {
            Why::Fixed => "the posterior fixes it".to_owned(),
            Why::Support => {
                "its values are constrained, and `loc + scale * noise` would violate the constraint"
                    .to_owned()
            }
            Why::NoSampler => format!("`{family}` has no `draw` of the form `loc + scale * noise`"),
            Why::Joint => format!("the elements of `{family}` depend on each other"),
            Why::Form => format!("the `draw` of `{family}` is not `loc + scale * noise`"),
        }
    }

    fn help(self, site: &str) -> String {
        match self {
            Why::Fixed => format!("leave `{site}` out of `non_centered`"),
            Why::Support | Why::NoSampler | Why::Joint | Why::Form => format!(
                "leave `{site}` out of `non_centered`, or declare the noise as a parameter and compute `{site}` from it with `=`"
            ),
        }
    }
}

fn why_not(distribution: &Instance) -> Option<Why> {
    let mut scratch = Builder::new("scratch");
    let params = distribution.params.iter();
    let arguments: Vec<Value> = params.map(|(name, ty)| scratch.param(name, ty.clone())).collect();
    affine(&mut scratch, distribution, &arguments).err()
}

/// A noisy value of the form `loc + scale * noise`. If `loc` is absent, it is zero. If `scale` is
/// absent, it is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Affine {
    loc: Option<Value>,
    scale: Option<Value>,
}

impl Affine {
    /// The value of noise with location zero and scale one.
    const NOISE: Affine = Affine {
        loc: None,
        scale: None,
    };
}

/// Returns the location and the scale of a draw. `arguments` are the arguments of the distribution.
fn affine(builder: &mut Builder, distribution: &Instance, arguments: &[Value]) -> Result<Affine, Why> {
    let sampler = distribution.draw.as_ref().ok_or(Why::NoSampler)?;
    if !distribution.elementwise {
        return Err(Why::Joint);
    }
    match interpret(builder, &expand_maps(sampler), arguments) {
        Some(Part::Noisy(affine)) if affine != Affine::NOISE => Ok(affine),
        _ => Err(Why::Form),
    }
}

/// The form of a node's value in a sampler.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// A value that does not depend on noise.
    Free(Value),
    Noisy(Affine),
}

/// Returns the form of a sampler's result. Nodes that depend on noise are not built.
fn interpret(builder: &mut Builder, sampler: &Function, arguments: &[Value]) -> Option<Part> {
    // A sampler has the parameters of the distribution, followed by the coordinates of the noise.
    let arguments = arguments.iter().map(|argument| Part::Free(*argument));
    let params = arguments.chain(std::iter::repeat(Part::Noisy(Affine::NOISE)));
    let parts = sampler.map_nodes(params, |call, parts| {
        apply(builder, call.op.0, &parts.of(call.args), call.attrs)
    });
    let (_, result) = sampler.results.first()?;
    Some(parts[*result])
}

fn apply(builder: &mut Builder, op: &'static OpDef, operands: &[Part], attrs: &[Attr]) -> Part {
    let free: Option<Vec<Value>> = operands.iter().map(free).collect();
    if let Some(operands) = free {
        return Part::Free(builder.apply(op, &operands, attrs.to_vec()));
    }
    Part::Noisy(match operands {
        [x, y] if op.is(&ops::add::ADD) => sum(builder, *x, *y),
        [x, y] if op.is(&ops::sub::SUB) => {
            let minus = negated(builder, *y);
            sum(builder, *x, minus)
        }
        [x, y] if op.is(&ops::mul::MUL) => product(builder, *x, *y),
        [x, y] if op.is(&ops::div::DIV) => quotient(builder, *x, *y),
        [Part::Noisy(x)] if op.is(&ops::neg::NEG) => minus(builder, *x),
        [Part::Noisy(x)] if op.is(&ops::broadcast::BROADCAST) || op.is(&ops::reshape::RESHAPE) => {
            each(*x, |value| builder.apply(op, &[value], attrs.to_vec()))
        }
        _ => Affine::NOISE,
    })
}

fn free(part: &Part) -> Option<Value> {
    match part {
        Part::Free(value) => Some(*value),
        Part::Noisy(_) => None,
    }
}

fn each(x: Affine, mut f: impl FnMut(Value) -> Value) -> Affine {
    Affine {
        loc: x.loc.map(&mut f),
        scale: x.scale.map(&mut f),
    }
}

/// Negates a noisy value. The sign belongs to the noise, so the scale does not change.
fn minus(builder: &mut Builder, x: Affine) -> Affine {
    Affine {
        loc: x.loc.map(|loc| builder.neg(loc)),
        scale: x.scale,
    }
}

fn negated(builder: &mut Builder, x: Part) -> Part {
    match x {
        Part::Free(value) => Part::Free(builder.neg(value)),
        Part::Noisy(affine) => Part::Noisy(minus(builder, affine)),
    }
}

fn sum(builder: &mut Builder, x: Part, y: Part) -> Affine {
    match (x, y) {
        (Part::Noisy(x), Part::Noisy(y)) => Affine {
            loc: nodes::sum(builder, x.loc, y.loc),
            scale: x.scale.filter(|_| x.scale == y.scale),
        },
        (Part::Noisy(noisy), Part::Free(value)) | (Part::Free(value), Part::Noisy(noisy)) => Affine {
            loc: nodes::sum(builder, Some(value), noisy.loc),
            ..noisy
        },
        (Part::Free(_), Part::Free(_)) => unreachable!("one operand is noisy"),
    }
}

fn product(builder: &mut Builder, x: Part, y: Part) -> Affine {
    let mut times = |a: Option<Value>, b: Option<Value>| match (a, b) {
        (Some(a), Some(b)) => Some(builder.mul(a, b)),
        (a, b) => a.or(b),
    };
    match (x, y) {
        (Part::Noisy(x), Part::Noisy(y)) if x.loc.is_none() && y.loc.is_none() => Affine {
            loc: None,
            scale: times(x.scale, y.scale),
        },
        (Part::Noisy(_), Part::Noisy(_)) => Affine::NOISE,
        (Part::Noisy(noisy), Part::Free(value)) | (Part::Free(value), Part::Noisy(noisy)) => Affine {
            loc: noisy.loc.and_then(|loc| times(Some(loc), Some(value))),
            scale: times(Some(value), noisy.scale),
        },
        (Part::Free(_), Part::Free(_)) => unreachable!("one operand is noisy"),
    }
}

/// Divides one value by another. The reciprocal of a noisy divisor without a `loc` has the same
/// form. A quotient with any other noisy divisor is treated as plain noise.
fn quotient(builder: &mut Builder, x: Part, y: Part) -> Affine {
    let mut reciprocal = |value| builder.reciprocal(value);
    let inverse = match y {
        Part::Free(value) => Part::Free(reciprocal(value)),
        Part::Noisy(Affine { loc: None, scale }) => Part::Noisy(Affine {
            loc: None,
            scale: scale.map(reciprocal),
        }),
        Part::Noisy(_) => Part::Noisy(Affine::NOISE),
    };
    product(builder, x, inverse)
}
