//! Finds intercepts: parameters that are added to a weighted sum of an input, as in
//! `a + dot(w, x)`.

use bnnc_abi::manifest::Binding;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A term of a sum.
enum Term {
    /// A parameter, or an element of a parameter.
    Parameter(Arc<str>),
    /// The product of a parameter and this input.
    Weighted(Arc<str>),
}

/// Records, for each input, the intercept that the model adds to the weighted input. If the input
/// has the same value in all rows, the data cannot distinguish its weight from this intercept.
pub fn mark(bindings: &mut [Binding], function: &Function) {
    let intercepts = intercepts(function);
    for binding in bindings {
        binding.intercept = intercepts.get(&*binding.port).map(|site| site.to_string());
    }
}

/// Returns the intercept of each input that has one. The intercept is a parameter
/// that is added to the product of the input and another parameter.
fn intercepts(function: &Function) -> HashMap<Arc<str>, Arc<str>> {
    let sums = || function.nodes.ids().filter(|value| is_sum(function, *value));
    // One sum may be a term of another sum. Only the outer sum is then examined, because it
    // contains the terms of both.
    let inner: HashSet<Value> = sums().flat_map(|value| function.args(value)).copied().collect();
    let mut found = HashMap::new();
    for value in sums().filter(|value| !inner.contains(value)) {
        let terms = terms(function, value);
        let parameter = terms.iter().find_map(|term| match term {
            Term::Parameter(site) => Some(site),
            Term::Weighted(_) => None,
        });
        let Some(parameter) = parameter else {
            continue;
        };
        for term in &terms {
            if let Term::Weighted(port) = term {
                found.entry(port.clone()).or_insert_with(|| parameter.clone());
            }
        }
    }
    found
}

/// Returns whether a value is a sum of the terms of its arguments.
fn is_sum(function: &Function, value: Value) -> bool {
    let sums: [&'static OpDef; 5] = [
        &ops::add::ADD,
        &ops::sub::SUB,
        &ops::neg::NEG,
        &ops::broadcast::BROADCAST,
        &ops::reshape::RESHAPE,
    ];
    function.applies(value, &sums)
}

/// Returns, in order, those terms of a sum that have one of the known forms. A value that occurs
/// several times in the sum is listed once.
fn terms(function: &Function, sum: Value) -> Vec<Term> {
    let (mut terms, mut seen, mut open) = (Vec::new(), HashSet::new(), vec![sum]);
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        if is_sum(function, value) {
            open.extend(function.args(value).iter().rev());
        } else {
            terms.extend(term(function, value));
        }
    }
    terms
}

fn term(function: &Function, value: Value) -> Option<Term> {
    if !function.applies(value, &[&ops::contract::CONTRACT, &ops::mul::MUL]) {
        return site(function, value).map(Term::Parameter);
    }
    let args = function.args(value);
    let (left, right) = (plain(function, args[0]), plain(function, args[1]));
    let port = match (site(function, left), site(function, right)) {
        (Some(_), None) => function.param_name(right),
        (None, Some(_)) => function.param_name(left),
        _ => None,
    };
    port.map(|port| Term::Weighted(port.clone()))
}

/// Skips operations that only repeat or reorder elements: returns the value from which they take
/// their elements.
fn plain(function: &Function, value: Value) -> Value {
    let through: [&'static OpDef; 3] = [
        &ops::broadcast::BROADCAST,
        &ops::reshape::RESHAPE,
        &ops::transpose::TRANSPOSE,
    ];
    match function.applies(value, &through) {
        true => plain(function, function.args(value)[0]),
        false => value,
    }
}

/// If the value is a parameter or an element of one, returns the name of that parameter.
fn site(function: &Function, value: Value) -> Option<Arc<str>> {
    let value = plain(function, value);
    if function.applies(value, &[&ops::gather::GATHER, &ops::slice::SLICE]) {
        return site(function, function.args(value)[0]);
    }
    let NodeKind::Apply { op, attrs, .. } = &function.nodes[value].kind else {
        return None;
    };
    op.is(&ops::sample::SAMPLE)
        .then(|| ops::sample::site(attrs).clone())
}
