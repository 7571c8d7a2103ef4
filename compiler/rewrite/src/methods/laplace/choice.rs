//! Chooses the sites that the Gaussian covers, among the sites that affect the outputs.

use super::super::likelihood::choice::covers;
use super::super::plan::SitePlan;
use super::super::task::is_of_row;
use super::outputs::LaplaceParts;
use crate::{diagnostics, nodes};
use bnnc_abi::names::layer_of;
use bnnc_base::arena::Id;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_graph::function::{Function, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// The user's choice of the sites that the Gaussian covers.
#[derive(Clone, Copy, Debug)]
pub enum OverWeights<'a> {
    /// All sites that affect the outputs.
    All,
    /// The sites of the last layer.
    LastLayer,
    /// The layers and sites with the given names.
    Names(&'a [Arc<str>]),
    /// The sites from which a subnetwork is chosen: all sites except those of layers with running means. If all sites belong to such layers, the
    /// subnetwork is chosen from all sites.
    Network,
}

/// Returns the chosen sites. Fails if a name does not select a site, or if the model does not have
/// a last layer.
pub fn chosen<'a>(
    parts: &LaplaceParts<'a>,
    over: OverWeights<'_>,
) -> Result<Vec<&'a SitePlan<'a>>, Vec<Diagnostic>> {
    match over {
        OverWeights::All => Ok(parts.weights.clone()),
        OverWeights::LastLayer => last_layer(parts),
        OverWeights::Names(names) => named(parts, names),
        OverWeights::Network => Ok(network(parts)),
    }
}

/// Returns the sites from which a subnetwork is chosen. The scale and the shift in a batch normalisation are left out. Each of them affects a
/// whole channel, so their variances are not comparable to those of single weights. Daxberger et al. (2021) leave them out too.
fn network<'a>(parts: &LaplaceParts<'a>) -> Vec<&'a SitePlan<'a>> {
    let normalises = |plan: &&&SitePlan<'_>| {
        let layer = layer_of(&plan.site.name);
        let mut means = parts.problem.model.running.iter();
        layer.is_some() && means.any(|mean| layer_of(&mean.name) == layer)
    };
    let others: Vec<&SitePlan<'_>> = parts
        .weights
        .iter()
        .filter(|plan| !normalises(plan))
        .copied()
        .collect();
    match others.is_empty() {
        true => parts.weights.clone(),
        false => others,
    }
}

fn named<'a>(parts: &LaplaceParts<'a>, names: &[Arc<str>]) -> Result<Vec<&'a SitePlan<'a>>, Vec<Diagnostic>> {
    let unknown = |name: &&Arc<str>| !parts.weights.iter().any(|plan| covers(name, &plan.site.name));
    let faults: Vec<Diagnostic> = names
        .iter()
        .filter(unknown)
        .map(|name| no_weights(parts, name))
        .collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let is_named = |plan: &&&SitePlan<'_>| names.iter().any(|name| covers(name, &plan.site.name));
    Ok(parts.weights.iter().filter(is_named).copied().collect())
}

fn no_weights(parts: &LaplaceParts<'_>, name: &str) -> Diagnostic {
    let sites = parts.weights.iter().map(|plan| &*plan.site.name);
    let layers = sites.clone().filter_map(layer_of);
    let lists = layers.clone().filter_map(|layer| Some(layer.rsplit_once('[')?.0));
    let mut known: Vec<&str> = lists.chain(layers).chain(sites).collect();
    known.dedup();
    let is_known = parts
        .problem
        .model
        .sites
        .iter()
        .any(|site| covers(name, &site.name));
    diagnostics::no_weights(name, is_known, &known)
}

/// Returns the sites of the last layer: the layer whose weights are combined with values of a row
/// last.
fn last_layer<'a>(parts: &LaplaceParts<'a>) -> Result<Vec<&'a SitePlan<'a>>, Vec<Diagnostic>> {
    let of_row = |name: &str| is_of_row(parts.problem.model, name);
    let rows = nodes::dependents_of(&parts.outputs, of_row);
    let entry = |plan: &&&SitePlan<'_>| {
        let state = plan.state();
        entry(&parts.outputs, &rows, &state)
    };
    let last = parts.weights.iter().max_by_key(entry);
    let layer = last.and_then(|plan| layer_of(&plan.site.name));
    let Some(layer) = layer else {
        let last = last.map_or("", |plan| &*plan.site.name);
        let layers = parts
            .weights
            .iter()
            .filter(|plan| layer_of(&plan.site.name).is_some());
        let layer = layers
            .max_by_key(entry)
            .and_then(|plan| layer_of(&plan.site.name));
        return Err(vec![diagnostics::no_last_layer(last, layer)]);
    };
    let of_layer = |plan: &&&SitePlan<'_>| layer_of(&plan.site.name) == Some(layer);
    Ok(parts.weights.iter().filter(of_layer).copied().collect())
}

/// Returns the index of the last node that combines a weight with a value of the row. Returns 0 if
/// such a node does not exist.
fn entry(function: &Function, rows: &HashSet<Value>, state: &str) -> usize {
    let own = nodes::dependents_of(function, |name| name == state);
    let meets = |value: &Value| {
        let args = function.args(*value);
        let is_alone = |arg: &Value| own.contains(arg) && !rows.contains(arg);
        args.iter().any(is_alone) && args.iter().any(|arg| rows.contains(arg))
    };
    function
        .nodes
        .ids()
        .filter(meets)
        .map(Id::index)
        .max()
        .unwrap_or(0)
}
