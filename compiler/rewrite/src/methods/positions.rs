//! `positions`: computes the positions that a model selects along axes, so that the positions can
//! be checked. Positions that depend on data alone are checked before the rows are used. Positions
//! that depend on parameters are checked for each draw from the posterior.
//!
//! A kernel clamps a position that lies outside its axis. Clamping is memory-safe but hides the
//! error: a model whose positions do not start at 0 would silently merge two groups. Positions are
//! not computed if the bounds of data and parameters prove that the positions lie inside.

mod find;

use super::task::is_of_row;
use crate::batch::batch_named;
use crate::density::Densities;
use crate::methods::task::Program;
use crate::nodes::{self};
use crate::rule::remove_dead;
use bnnc_abi::manifest::PositionCheck;
use bnnc_abi::ports::PortName;
use bnnc_base::arena::Id;
use bnnc_base::shape::{Dim, Symbol};
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::analysis::ranges::ranges;
use bnnc_graph::dist::range;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::Model;
use bnnc_graph::op::Interval;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

const ROWS: Dim = Dim::Symbol(Symbol::Batch);

/// The selected positions of each row.
#[derive(Clone, Debug)]
pub struct RowPositions {
    /// The function `(..) -> position/0, position/1, ..`. If the elements of `position/k` were
    /// computed from whole columns, the result `row/k` gives the row of each element. This row is a
    /// position along the first axis of the columns.
    pub function: Function,
    /// The axis of each position, and the size of the axis.
    pub checks: Vec<PositionCheck>,
}

/// The values that determine a position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// Data alone.
    Data,
    /// Parameters, and perhaps data.
    Parameters,
}

/// Returns the positions of a batch of rows that depend on data alone and may lie outside their
/// axes. Returns `None` if all positions are known to lie inside their axes.
pub fn positions(row: &Function, model: &Model) -> Option<RowPositions> {
    let found = outside(row, model, By::Data)?;
    Some(RowPositions {
        function: of_rows(&found.function, model),
        ..found
    })
}

/// Returns the positions that depend on parameters and may lie outside their axes. It searches the
/// density of one row and the priors. Returns `None` if no such position exists.
pub fn reached(densities: &Densities, model: &Model) -> Option<RowPositions> {
    // Dropout masks are noise, so they need the coordinates of a draw.
    let Program { mut builder, scope } = of_sites("density", model).integers(&PortName::COORDINATES);
    let mut results = scope.call(&mut builder, &densities.row_log_likelihood);
    results.extend(scope.call(&mut builder, &densities.log_prior));
    outside(&builder.finish(results), model, By::Parameters)
}

/// Begins a function of the sites, the running means and the data of one row.
pub(super) fn of_sites(name: &str, model: &Model) -> Program {
    let sites = model.sites.iter();
    let program = sites.fold(Program::new(name), |program, site| {
        program.param(&site.name, site.ty.clone())
    });
    program.row(model)
}

/// Returns `(sites.., shared.., inputs.., outputs.., draw, example, step) -> outside`. For one row,
/// the result is the number of positions that depend on parameters and lie outside their axes.
/// Returns `None` if all positions are known to lie inside their axes.
pub fn outside_of_row(densities: &Densities, model: &Model) -> Option<Function> {
    let found = reached(densities, model)?;
    let (mut builder, _, values) = nodes::extended("outside", &found.function);
    let mut count = builder.real(0.0);
    for ((name, _), value) in found.function.results.iter().zip(values) {
        let number = PortName::Position.number(name);
        let Some(check) = number.and_then(|at| found.checks.get(at)) else {
            continue;
        };
        let position = nodes::as_real(&mut builder, value);
        let first = builder.zeros_like(position);
        let size = builder.like(check.size as f64, position);
        let (above, below) = (builder.le(first, position), builder.lt(position, size));
        let inside = builder.and(above, below);
        let outside = builder.not(inside);
        let outside = builder.to_real(outside);
        let of_check = builder.reduce_sum_all(outside);
        count = builder.add(count, of_check);
    }
    Some(builder.finish(vec![(PortName::Outside.into(), count)]))
}

/// Returns the positions in `function` that may lie outside their axes. `by` selects the positions
/// that depend on data alone or those that depend on parameters.
fn outside(function: &Function, model: &Model, by: By) -> Option<RowPositions> {
    let known = known(model);
    let (found, sizes) = find::positions(&remove_dead(function));
    let name = |param: Value| nodes::param_name(&found, param);
    let is_site = |name: &str| model.sites.iter().any(|site| *site.name == *name);
    let bounds: Vec<Interval> = found
        .params
        .iter()
        .map(|param| known.get(name(*param)).copied().unwrap_or(Interval::REALS))
        .collect();
    let ranges = ranges(&found, &bounds);
    let (mut results, mut checks, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for ((_, value), size) in found.results.iter().zip(sizes) {
        let bounds = &ranges[value.index()];
        if (bounds.lo >= 0.0 && bounds.hi <= size as f64 - 1.0) || !seen.insert((*value, size)) {
            continue;
        }
        let needed = needed_by(&found, &[*value]);
        let of = found.params.iter().filter(|param| needed.contains(param));
        let inputs: Vec<String> = of.map(|param| name(*param).to_owned()).collect();
        let is_wanted = match by {
            By::Data => !inputs.iter().any(|input| is_site(input)),
            By::Parameters => inputs.iter().any(|input| is_site(input)),
        };
        if !is_wanted {
            continue;
        }
        results.push((Arc::from(PortName::Position.at(checks.len())), *value));
        checks.push(PositionCheck { size, inputs });
    }
    if checks.is_empty() {
        return None;
    }
    let function = Function {
        results,
        ..found.clone()
    };
    let is_column = |param: Value| {
        let mut shared = model.shared.iter();
        shared.any(|input| *input.name == *name(param))
    };
    let function = find::with_rows(&function, &is_column);
    Some(RowPositions {
        function: nodes::with_params(&remove_dead(&function), &HashSet::new()),
        checks,
    })
}

/// Returns the support of each parameter and data array as an interval, keyed by its name.
fn known(model: &Model) -> HashMap<&str, Interval> {
    let data = model.shared.iter().chain(&model.inputs).chain(&model.outputs);
    let data = data.map(|input| (&*input.name, range(input.support)));
    let sites = model.sites.iter();
    data.chain(sites.map(|site| (&*site.name, range(site.support))))
        .collect()
}

/// Turns the function of one row into a function of a batch of rows.
fn of_rows(row: &Function, model: &Model) -> Function {
    let Program { mut builder, scope } = Program::new("positions").data(model);
    let rows = batch_named(row, ROWS, |name| is_of_row(model, name));
    let results = scope.call(&mut builder, &rows);
    nodes::with_params(&remove_dead(&builder.finish(results)), &HashSet::new())
}
