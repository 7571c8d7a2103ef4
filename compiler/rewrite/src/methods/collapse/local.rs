//! The program that computes the location of each row, and the derivatives of the location with
//! respect to the collapsed weights.

use super::super::laplace::outputs::LaplaceParts;
use super::super::task::{RewriteError, is_of_row};
use super::{KinkedFunction, Observed, columns};
use crate::batch::{batch_named, inline_batched};
use crate::differentiate::pull_back;
use crate::methods::laplace::outputs::of_row;
use crate::methods::task::Program;
use crate::nodes::{self, Scope};
use crate::rule;
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;
use std::sync::Arc;

const ROWS: Dim = Dim::Symbol(Symbol::Batch);
const SELECTED: Dim = Dim::Symbol(Symbol::Selected);

/// Returns the program
/// `(states.., data.., STATE/index.., STATE/chosen.., moves) -> location, scale, target, location/slope, kinks, kinks/slope`
/// for a batch of rows.
///
/// # Errors
/// Fails if an op does not have a derivative.
pub fn local(
    parts: &LaplaceParts<'_>,
    observed: &Observed<'_>,
    found: &KinkedFunction,
) -> Result<Function, RewriteError> {
    let row = row(parts, observed, found)?;
    Ok(batch_named(&row, ROWS, |name| {
        name == PortName::Moves.text() || is_of_row(parts.problem.model, name)
    }))
}

/// Returns a copy of the program of [`local`] without slopes and kinks.
pub fn plain(local: &Function) -> Function {
    let kept = [PortName::Location, PortName::Scale, PortName::Target];
    let mut plain = local.clone();
    plain
        .results
        .retain(|(name, _)| kept.iter().any(|port| port.text() == &**name));
    rule::remove_dead(&plain)
}

/// Returns the program of [`local`] for a single row.
fn row(parts: &LaplaceParts<'_>, observed: &Observed<'_>, found: &KinkedFunction) -> Result<Function, Fault> {
    let slopes = slopes(parts, found)?;
    let Program {
        mut builder,
        mut scope,
    } = of_row("local", parts.problem.model, parts.plans);
    // The columns and the moves are the parameters of `slopes` that are not bound yet.
    let known = found.all.params.len();
    for param in slopes.params.iter().skip(known) {
        let name = nodes::param_name(&slopes, *param);
        if name != PortName::Cotangents.text() {
            scope.param(&mut builder, name, slopes.ty(*param).clone());
        }
    }
    let total = observed.size + found.kinks;
    let line = builder.iota(Dim::Fixed(total));
    let identity = builder.one_hot(line, Dim::Fixed(total));
    scope.set(PortName::Cotangents.text(), identity);
    let mapped = nodes::named_params(&slopes, |name| name == PortName::Cotangents.text());
    let args = scope.arguments(&slopes);
    let both = inline_batched(&mut builder, &slopes, &args, &mapped, Dim::Fixed(total));
    let [value, slope] = both[..] else {
        unreachable!("a value and its slope")
    };
    let (value, slope) = (value.value, slope.repeated(&mut builder, Dim::Fixed(total)));
    let part = |builder: &mut Builder, value: Value, from: usize, to: usize| {
        let window = Window::full(builder.rank(value)).with(0, from, to);
        builder.slice(value, window)
    };
    let mut results: Vec<(Arc<str>, Value)> = Vec::new();
    let ranges = [
        (PortName::Location, 0..observed.size),
        (PortName::Kinks, observed.size..total),
    ];
    for (port, range) in ranges.into_iter().filter(|(_, range)| !range.is_empty()) {
        let own = part(&mut builder, value, range.start, range.end);
        results.push((port.into(), own));
        let own = part(&mut builder, slope, range.start, range.end);
        results.push((PortName::Slope.of(port.text()).into(), own));
    }
    if let Some((scale, output)) = &observed.normal {
        let arguments = scope.call(&mut builder, &parts.arguments);
        let scale = nodes::find(&arguments, scale);
        let flat = Shape::fixed(&[observed.size]);
        let pairs = [
            (PortName::Scale, scale),
            (PortName::Target, Some(scope.get(&output.name))),
        ];
        for (port, value) in pairs {
            if let Some(value) = value {
                // A scalar scale applies to all elements of the location.
                let all = match builder.rank(value) {
                    0 => builder.broadcast_to(value, &flat),
                    _ => builder.reshape(value, &flat),
                };
                results.push((port.into(), all));
            }
        }
    }
    Ok(rule::remove_dead(&builder.finish(results)))
}

/// Returns
/// `(row.., STATE/index.., STATE/chosen.., [moves,] cotangents) -> outputs, slope [selected]`. The
/// function computes the slope for one cotangent.
fn slopes(parts: &LaplaceParts<'_>, found: &KinkedFunction) -> Result<Function, Fault> {
    let mut builder = Builder::new("slopes");
    let mut scope = Scope::default();
    for param in &found.all.params {
        let name = nodes::param_name(&found.all, *param);
        scope.param(&mut builder, name, found.all.ty(*param).clone());
    }
    let flat = Shape(vec![SELECTED]);
    let mut picks = Vec::new();
    for (state, elements) in columns(parts) {
        let index = builder.param(&PortName::Index.of(&state), Type::int(flat.clone()));
        let chosen = builder.param(&PortName::Chosen.of(&state), Type::real(flat.clone()));
        picks.push(Pick {
            state,
            elements,
            index,
            chosen,
        });
    }
    let (value, slope) = match found.kinks {
        0 => picked(&mut builder, &scope, found, &picks)?,
        _ => moved(&mut builder, scope, found, &picks)?,
    };
    Ok(builder.finish(vec![
        (PortName::Outputs.into(), value),
        (PortName::Slope.into(), slope),
    ]))
}

/// The collapsed weights among the elements of one state.
struct Pick {
    state: String,
    elements: usize,
    index: Value,
    chosen: Value,
}

/// Returns the value and the derivative of an affine function. The derivative is computed for all
/// elements of the states. The chosen elements are picked afterwards.
fn picked(
    builder: &mut Builder,
    scope: &Scope,
    found: &KinkedFunction,
    picks: &[Pick],
) -> Result<(Value, Value), Fault> {
    let value = scope.call(builder, &found.all)[0].1;
    let ty = builder.ty(value).clone();
    let cotangent = builder.param(PortName::Cotangents.text(), ty);
    let wrt: Vec<Value> = picks.iter().map(|pick| scope.get(&pick.state)).collect();
    let flows = pull_back(builder, &[(value, cotangent)], &wrt)?;
    let mut sum = builder.splat(0.0, &Shape(vec![SELECTED]));
    for (pick, flow) in picks.iter().zip(flows) {
        let flat = builder.reshape(flow, &Shape::fixed(&[pick.elements]));
        let picked = builder.gather(flat, pick.index, 0);
        let own = builder.mul(picked, pick.chosen);
        sum = builder.add(sum, own);
    }
    Ok((value, sum))
}

/// Returns the value and the derivative of a function with kinks. Each row adds its own `moves` to
/// the weights that all rows share.
fn moved(
    builder: &mut Builder,
    mut scope: Scope,
    found: &KinkedFunction,
    picks: &[Pick],
) -> Result<(Value, Value), Fault> {
    let moves = builder.param(PortName::Moves.text(), Type::real(Shape(vec![SELECTED])));
    for pick in picks {
        let own = builder.mul(moves, pick.chosen);
        let spread = builder.scatter_add(pick.index, own, 0, Dim::Fixed(pick.elements));
        let state = scope.get(&pick.state);
        let shape = builder.shape(state);
        let spread = builder.reshape(spread, &shape);
        let sum = builder.add(state, spread);
        scope.set(&pick.state, sum);
    }
    let value = scope.call(builder, &found.all)[0].1;
    let ty = builder.ty(value).clone();
    let cotangent = builder.param(PortName::Cotangents.text(), ty);
    let slope = pull_back(builder, &[(value, cotangent)], &[moves])?[0];
    Ok((value, slope))
}
