//! Programs that draw sites from their priors: either all sites, as before any data are seen, or
//! only the elements of those levels that have no training rows.

mod uniform;

use super::predict::{over_draws, per_draw};
use crate::batch::batch;
use crate::density::{Densities, SitePrior, prefix_noise};
use crate::diagnostics::{NoPriorDraws, Undrawable};
use crate::methods::task::shared_coordinates;
use crate::nodes::Scope;
use bnnc_base::shape::{Dim, Shape, Sizes};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{self, MeasureKind, Support};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{Model, Site};
use std::sync::Arc;
pub use uniform::{Selects, uniform};

/// The origin of a site's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// All values come from the prior.
    Prior,
    /// All values come from a parameter of the program, with one value per draw.
    Given,
    /// At positions inside this shape, values come from a parameter of the program, as with
    /// [`ValueOrigin::Given`]. All other values come from the prior.
    GivenBelow(Shape),
}

/// Returns the program `(given sites.., data.., draw0, row0, step)`. The program has the results of
/// [`super::predict::predict`], each `[draws, batch, ..]`. Each site is drawn conditional on the
/// sites before it. The values of a given site are a parameter `[draws, ..]` with the name of the
/// site.
///
/// # Errors
/// Returns the reason why a site cannot be drawn from its prior.
pub fn predict(
    densities: &Densities,
    model: &Model,
    origin: &dyn Fn(&Site) -> ValueOrigin,
) -> Result<Function, NoPriorDraws> {
    let origins: Vec<ValueOrigin> = model.sites.iter().map(origin).collect();
    if let Some(mean) = model.running.first() {
        return Err(NoPriorDraws {
            site: mean.name.to_string(),
            distribution: String::new(),
            why: Undrawable::RunningMean,
        });
    }
    for (prior, origin) in densities.priors.iter().zip(&origins) {
        drawable(prior, origin)?;
    }
    let bind = |builder: &mut Builder, scope: &mut Scope| {
        let coordinates = shared_coordinates(builder, scope);
        for ((site, prior), origin) in model.sites.iter().zip(&densities.priors).zip(&origins) {
            let value = match origin {
                ValueOrigin::Given => builder.param(&site.name, site.ty.clone()),
                ValueOrigin::Prior => drawn(builder, scope, prior, coordinates),
                ValueOrigin::GivenBelow(below) => {
                    let given = builder.param(&site.name, site.ty.clone());
                    let drawn = drawn(builder, scope, prior, coordinates);
                    below_or(builder, below, given, drawn)
                }
            };
            scope.set(&site.name, value);
        }
    };
    let is_given = |(_, origin): &(&Site, &ValueOrigin)| **origin != ValueOrigin::Prior;
    let given = model.sites.iter().zip(&origins).filter(is_given);
    let given: Vec<Arc<str>> = given.map(|(site, _)| site.name.clone()).collect();
    Ok(over_draws(
        "prior",
        &per_draw(densities, model, &[], &bind),
        &given,
    ))
}

/// Fails if a site must be drawn from its prior, but the prior does not allow this.
fn drawable(prior: &SitePrior, origin: &ValueOrigin) -> Result<(), NoPriorDraws> {
    let distribution = &prior.distribution;
    let why = match origin {
        ValueOrigin::Given => return Ok(()),
        _ if distribution.measure == MeasureKind::Improper => Undrawable::Improper,
        ValueOrigin::GivenBelow(_) if !distribution.elementwise => Undrawable::Joint,
        _ if distribution.draw.is_none() && distribution.wider_draw.is_none() => Undrawable::NoSampler,
        _ if distribution.draw.is_none() && distribution.value.shape.count(&Sizes::default()) > TRIED => {
            Undrawable::Truncated
        }
        ValueOrigin::Prior | ValueOrigin::GivenBelow(_) => return Ok(()),
    };
    Err(NoPriorDraws {
        site: prior.site.to_string(),
        distribution: distribution.name.to_string(),
        why,
    })
}

/// The number of draws from the untruncated distribution for each value. The value is the first
/// draw inside the support, or NaN if there is none. If a tenth of the probability lies inside the
/// support, the probability that all draws lie outside is 2e-12.
const TRIES: usize = 256;

/// A site with more elements than this is not drawn by rejection. All draws for a value would have
/// to be in memory at the same time.
const TRIED: usize = 1 << 14;

fn drawn(builder: &mut Builder, scope: &Scope, prior: &SitePrior, coordinates: [Value; 3]) -> Value {
    let distribution = &prior.distribution;
    let arguments = scope.call(builder, &prior.arguments);
    let arguments: Vec<Value> = arguments.into_iter().map(|(_, value)| value).collect();
    let stream = format!("prior/{}", prior.site);
    match (&distribution.draw, &distribution.wider_draw) {
        (Some(sampler), _) => {
            let args: Vec<Value> = arguments.into_iter().chain(coordinates).collect();
            builder.inline(&prefix_noise(sampler, &stream), &args)[0]
        }
        (None, Some(sampler)) => {
            let tries = Dim::Fixed(TRIES);
            // The noise of a site does not depend on the row, so the coordinate that otherwise
            // holds the row holds the number of the attempt.
            let mapped: Vec<bool> = (0..arguments.len() + 3)
                .map(|at| at == arguments.len() + 1)
                .collect();
            let sampler = batch(&prefix_noise(sampler, &stream), &mapped, tries);
            let [draw, _, step] = coordinates;
            let each = builder.iota(tries);
            let args: Vec<Value> = arguments.into_iter().chain([draw, each, step]).collect();
            let drawn = builder.inline(&sampler, &args)[0];
            first_inside(builder, distribution.support, drawn)
        }
        (None, None) => unreachable!("`{}` was found to have a sampler", prior.site),
    }
}

/// Returns, element by element, the first value along the leading axis that lies in a support. The
/// element is NaN if all its values lie outside.
fn first_inside(builder: &mut Builder, support: Support, tries: Value) -> Value {
    let interval = dist::range(support);
    let shape = builder.shape(tries);
    let mut rank = builder.iota(shape.dims()[0]);
    rank = builder.to_real(rank);
    rank = builder.broadcast(rank, &shape, &[0]);
    let count = builder.like(TRIES as f64, rank);
    let mut rank = builder.sub(count, rank);
    let outside = builder.like(0.0, rank);
    for (end, is_low) in [(interval.lo, true), (interval.hi, false)] {
        if end.is_finite() {
            let end = builder.like(end, tries);
            let beyond = if is_low {
                builder.lt(tries, end)
            } else {
                builder.lt(end, tries)
            };
            rank = builder.select(beyond, outside, rank);
        }
    }
    let best = builder.reduce_max(rank, &[0]);
    let wide = builder.broadcast_leading(best, shape.dims()[0]);
    let is_best = builder.eq(rank, wide);
    let nothing = builder.like(0.0, tries);
    let kept = builder.select(is_best, tries, nothing);
    let value = builder.reduce_sum(kept, &[0]);
    let zero = builder.like(0.0, best);
    let is_found = builder.lt(zero, best);
    let missing = builder.like(f64::NAN, value);
    builder.select(is_found, value, missing)
}

/// Returns `given` at positions that are less than `below` on every axis. Returns `drawn`
/// elsewhere.
fn below_or(builder: &mut Builder, below: &Shape, given: Value, drawn: Value) -> Value {
    let shape = builder.shape(given);
    let mut value = given;
    for (axis, (dim, limit)) in shape.dims().iter().zip(below.dims()).enumerate() {
        let (Dim::Fixed(limit), true) = (limit, dim != limit) else {
            continue;
        };
        let positions = builder.iota(*dim);
        let limit = builder.like(*limit as f64, positions);
        let is_old = builder.lt(positions, limit);
        let is_old = builder.broadcast(is_old, &shape, &[axis]);
        value = builder.select(is_old, value, drawn);
    }
    value
}
