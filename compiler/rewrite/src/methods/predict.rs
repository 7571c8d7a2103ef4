//! Programs that use the posterior: draws of the sites, and predictions for rows.

use super::plan::SitePlan;
use super::positions;
use super::task::is_of_row;
use crate::batch::{batch, batch_named};
use crate::density::Densities;
use crate::group;
use crate::methods::task::{Program, number_rows, shared_coordinates};
use crate::nodes::{self, Scope};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Dim, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::Model;
use std::sync::Arc;

const DRAWS: Dim = Dim::Symbol(Symbol::Draws);

/// Returns `(states.., draw0, step) -> one [draws, ..] per site`. The draws lie on the declared
/// scale.
pub fn sites(plans: &[SitePlan<'_>]) -> Function {
    let Program {
        mut builder,
        mut scope,
    } = Program::new("site_draws")
        .states(plans)
        .integers(&[PortName::Draw, PortName::Step]);
    draw_sites(&mut builder, plans, &mut scope);
    let mut results = Vec::new();
    for plan in plans {
        let value = scope.get(&plan.site.name);
        let (members, _) = group::members(&mut builder, plan.posterior, value);
        results.extend(members.iter().map(|(site, value)| (site.name.clone(), *value)));
        if members.is_empty() {
            results.push((plan.site.name.clone(), value));
        }
    }
    over_draws("sites", &builder.finish(results), &[])
}

/// Returns `(states.., data.., draw0, row0, step) -> log_likelihood, mean, draw, probabilities`.
/// Each result is `[draws, batch, ..]`. If the model has several outputs, `log_likelihood` is the
/// joint log-likelihood of all outputs, and each output has results `NAME.log_likelihood` and so
/// on. Positions that depend on parameters are further results ([`positions::reached`]).
pub fn predict(densities: &Densities, model: &Model, plans: &[SitePlan<'_>]) -> Function {
    predict_masked(densities, model, plans, &[])
}

/// Like [`predict`], with an additional parameter `SITE/mask` for each site in `masked`. The draws
/// of the site are multiplied by the mask.
pub fn predict_masked(
    densities: &Densities,
    model: &Model,
    plans: &[SitePlan<'_>],
    masked: &[Arc<str>],
) -> Function {
    let bind = |builder: &mut Builder, scope: &mut Scope| {
        draw_sites(builder, plans, scope);
        for site in masked {
            let drawn = scope.get(site);
            let ty = builder.ty(drawn).clone();
            let mask = builder.param(&PortName::Mask.of(site), ty);
            scope.set(site, builder.mul(drawn, mask));
        }
    };
    over_draws("predict", &per_draw(densities, model, plans, &bind), &[])
}

/// Returns the program `(states.., data.., draw, row0, step)`. The program has the results of
/// [`predict`], each `[batch, ..]`. `bind` binds the sites in a scope that already holds the other
/// parameters.
pub fn per_draw(
    densities: &Densities,
    model: &Model,
    plans: &[SitePlan<'_>],
    bind: &dyn Fn(&mut Builder, &mut Scope),
) -> Function {
    let Program {
        mut builder,
        mut scope,
    } = Program::new("predict_draw").states(plans).data(model).integers(&[
        PortName::Draw,
        PortName::FirstRow,
        PortName::Step,
    ]);
    bind(&mut builder, &mut scope);
    number_rows(&mut builder, &mut scope);
    let rows = batch_named(&row(densities, model), Dim::Symbol(Symbol::Batch), |name| {
        name == PortName::Example.text() || is_of_row(model, name)
    });
    let results = scope.call(&mut builder, &rows);
    builder.finish(results)
}

/// Returns the log-likelihood, the predictive quantities and the checked positions of one row, for
/// one draw of the sites.
fn row(densities: &Densities, model: &Model) -> Function {
    let Program { mut builder, scope } = positions::of_sites("row", model).integers(&PortName::COORDINATES);
    let mut results: Vec<(Arc<str>, Value)> = scope.call(&mut builder, &densities.row_log_likelihood);
    for prediction in &densities.predictions {
        results.extend(scope.call(&mut builder, &prediction.function));
    }
    if let Some(reached) = positions::reached(densities, model) {
        results.extend(scope.call(&mut builder, &reached.function));
    }
    for (_, value) in &mut results {
        *value = nodes::as_real(&mut builder, *value);
    }
    builder.finish(results)
}

fn draw_sites(builder: &mut Builder, plans: &[SitePlan<'_>], scope: &mut Scope) {
    let coordinates = shared_coordinates(builder, scope);
    for plan in plans {
        let drawn = plan.draw(builder, scope, coordinates);
        scope.set(&plan.site.name, drawn);
    }
}

/// Turns a function of one draw into a function of all draws. The first draw is `draw0`. The
/// parameters in `drawn` have a separate value for each draw.
pub fn over_draws(name: &str, per_draw: &Function, drawn: &[Arc<str>]) -> Function {
    let mapped = nodes::named_params(per_draw, |param| {
        param == PortName::Draw.text() || drawn.iter().any(|name| **name == *param)
    });
    let batched = batch(per_draw, &mapped, DRAWS);
    let mut builder = Builder::new(name);
    let mut args = Vec::new();
    for (param, mapped) in per_draw.params.iter().zip(mapped) {
        let ty = per_draw.ty(*param).clone();
        args.push(match nodes::param_name(per_draw, *param) {
            name if name == PortName::Draw.text() => {
                let first = builder.param(PortName::FirstDraw.text(), ty);
                let first = builder.broadcast_leading(first, DRAWS);
                let offsets = builder.iota(DRAWS);
                builder.add(first, offsets)
            }
            name if mapped => {
                let shape = ty.shape.prepend(DRAWS);
                builder.param(name, ty.with_shape(shape))
            }
            name => builder.param(name, ty),
        });
    }
    let results = builder.inline(&batched, &args);
    let named = nodes::named(&batched, &results);
    builder.finish(named)
}
