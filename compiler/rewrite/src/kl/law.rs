//! Draws means of noise from their own distribution, in a time that does not depend on the number
//! of draws.
//!
//! Note \[Distributions of means\]. The sum of M draws of a standard normal is normal with variance
//! M. The sum of squares around the mean is independent of the sum, and chi-squared with M - 1
//! degrees of freedom. Hence `mean = z / sqrt(M)` and `mean square = z^2 / M + 2 G / M`, where z is
//! a standard normal variate and G is a gamma variate of shape (M - 1) / 2. (A chi-squared variate
//! is twice a gamma variate whose shape is half the degrees of freedom.) If only the mean square is
//! needed, a gamma variate of shape M / 2 is enough. The sum of M exponential variates is a gamma
//! variate of shape M. The sum of M gamma variates of shape k is a gamma variate of shape M k.
//! If several means are needed, such as the mean of a value and the mean of its logarithm, they
//! must be drawn jointly. This is as hard as drawing the variates themselves.

use super::algebra::Monomial;
use super::estimate::NoiseProduct;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::shape::Shape;
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{NodeKind, Value};
use bnnc_graph::ops;
use std::collections::HashMap;
use std::sync::Arc;

/// The distribution of one noise variate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variate {
    /// The standard normal distribution.
    Normal,
    /// The distribution of the absolute value of a standard normal variate.
    HalfNormal,
    /// The distribution of a standard exponential variate that is multiplied by this sign.
    Exponential(f64),
    /// The gamma distribution with scale one and this constant shape.
    Gamma(f64),
}

/// A mean of noise whose distribution is known. The variates of the stream `site` are raised to the
/// power `power` and averaged.
#[derive(Clone, Debug)]
pub struct NoiseMean {
    variate: Variate,
    power: f64,
    site: Arc<str>,
    shape: Shape,
    /// True if the mean of the variate is needed too. The mean and the mean square are then
    /// computed from the same normal variate.
    joint: bool,
}

/// Returns the distribution of each mean of `products`, or `None` if the distribution is not known.
/// The values in `others` are averaged over draws, with gradients. The noise that they use
/// therefore has to be drawn variate by variate.
pub fn laws(builder: &Builder, products: &[NoiseProduct], others: &[Value]) -> Vec<Option<NoiseMean>> {
    let found: Vec<Option<(Value, NoiseMean)>> = products
        .iter()
        .map(|product| law(builder, &product.monomial))
        .collect();
    let mut uses: HashMap<Value, usize> = HashMap::new();
    let streams: Vec<Value> = found.iter().flatten().map(|(stream, _)| *stream).collect();
    let reached_by = |value: Value| {
        let needed = needed_by(builder.function(), &[value]);
        streams
            .iter()
            .copied()
            .filter(move |stream| needed.contains(stream))
            .collect::<Vec<_>>()
    };
    let outside = products
        .iter()
        .zip(&found)
        .filter(|(_, law)| law.is_none())
        .map(|(product, _)| product.noise);
    let mut taken: Vec<Value> = Vec::new();
    for value in outside.chain(others.iter().copied()) {
        taken.extend(reached_by(value));
    }
    for (stream, _) in found.iter().flatten() {
        *uses.entry(*stream).or_default() += 1;
    }
    // If two means use the same noise, their joint distribution is unknown. The only exception is
    // the mean of a normal variate together with the mean of its square.
    let alone = found
        .iter()
        .flatten()
        .filter(|(stream, law)| uses[stream] > 1 && law.variate != Variate::Normal);
    taken.extend(alone.map(|(stream, _)| *stream));
    let whole = |(stream, law): &(Value, NoiseMean)| {
        let mut law = law.clone();
        law.joint = uses[stream] > 1;
        (!taken.contains(stream)).then_some(law)
    };
    found.iter().map(|found| found.as_ref().and_then(whole)).collect()
}

/// Returns the distribution of the mean of one monomial, and the node that draws the noise in it.
fn law(builder: &Builder, monomial: &Monomial) -> Option<(Value, NoiseMean)> {
    let [(atom, power)] = monomial.0[..] else {
        return None;
    };
    let (stream, variate) = variate(builder, atom)?;
    let is_known = match variate {
        Variate::Normal => power == 1.0 || power == 2.0,
        Variate::HalfNormal => power == 2.0,
        Variate::Exponential(_) | Variate::Gamma(_) => power == 1.0,
    };
    let NodeKind::Apply { op, attrs, .. } = &builder.node(stream).kind else {
        return None;
    };
    let site = if op.is(&ops::noise::NOISE) {
        ops::noise::site(attrs)
    } else {
        ops::gamma_noise::site(attrs)
    };
    is_known.then(|| {
        let law = NoiseMean {
            variate,
            power,
            site: site.clone(),
            shape: builder.shape(stream),
            joint: false,
        };
        (stream, law)
    })
}

fn variate(builder: &Builder, atom: Value) -> Option<(Value, Variate)> {
    let NodeKind::Apply { op, args, attrs } = &builder.node(atom).kind else {
        return None;
    };
    if op.is(&ops::noise::NOISE) {
        return is_kind(attrs, NoiseKind::Normal).then_some((atom, Variate::Normal));
    }
    if op.is(&ops::gamma_noise::GAMMA_NOISE) {
        let shape = crate::nodes::constant_of(builder, args[3])?;
        return Some((atom, Variate::Gamma(shape)));
    }
    let inner = *args.first()?;
    if op.is(&ops::log::LOG) {
        let (_, attrs) = crate::nodes::application(builder, inner, &ops::noise::NOISE)?;
        return is_kind(attrs, NoiseKind::Uniform).then_some((inner, Variate::Exponential(-1.0)));
    }
    match variate(builder, inner)? {
        (stream, Variate::Normal) if op.is(&ops::abs::ABS) => Some((stream, Variate::HalfNormal)),
        (stream, Variate::Exponential(-1.0)) if op.is(&ops::neg::NEG) => {
            Some((stream, Variate::Exponential(1.0)))
        }
        _ => None,
    }
}

fn is_kind(attrs: &[Attr], kind: NoiseKind) -> bool {
    NoiseKind::from_name(ops::noise::kind(attrs)) == Some(kind)
}

impl NoiseMean {
    /// Draws the mean of `draws` variates at the iteration `step`.
    pub fn mean(&self, builder: &mut Builder, draws: usize, step: Value) -> Value {
        let count = draws as f64;
        match self.variate {
            Variate::Normal if self.power == 1.0 => {
                let normal = self.normal(builder, step);
                builder.scale(normal, 1.0 / count.sqrt())
            }
            Variate::Normal if self.joint => {
                let normal = self.normal(builder, step);
                let square = builder.square(normal);
                let around = self.gamma(builder, 0.5 * (count - 1.0), step);
                let around = builder.scale(around, 2.0);
                let sum = builder.add(square, around);
                builder.scale(sum, 1.0 / count)
            }
            Variate::Normal | Variate::HalfNormal => {
                let sum = self.gamma(builder, 0.5 * count, step);
                builder.scale(sum, 2.0 / count)
            }
            Variate::Exponential(sign) => {
                let sum = self.gamma(builder, count, step);
                builder.scale(sum, sign / count)
            }
            Variate::Gamma(shape) => {
                let sum = self.gamma(builder, shape * count, step);
                builder.scale(sum, 1.0 / count)
            }
        }
    }

    fn normal(&self, builder: &mut Builder, step: Value) -> Value {
        let zero = builder.int(0);
        let site = format!("{}/mean", self.site);
        builder.noise(NoiseKind::Normal, &site, [zero, zero, step], &self.shape)
    }

    fn gamma(&self, builder: &mut Builder, shape: f64, step: Value) -> Value {
        let zero = builder.int(0);
        let site = format!("{}/sum", self.site);
        let shape = builder.splat(shape, &self.shape);
        builder.gamma_noise(&site, [zero, zero, step], shape)
    }
}
