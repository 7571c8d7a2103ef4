//! The reference evaluation of a function. Its sums over draws are pairwise. The evaluation also
//! returns the magnitude of the summed terms.

use bnnc_base::arena::Id;
use bnnc_base::shape::{Dim, Sizes, Symbol};
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::eval::resolve;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::ops;
use bnnc_graph::tensor::{Tensor, advance};
use std::collections::HashMap;

/// A result, and the magnitude of the summed terms. The magnitude is the largest mean over draws of
/// the absolute values of these terms.
pub struct Summed {
    pub values: Vec<f64>,
    pub magnitude: f64,
}

/// Returns the results of `function` by name. `inputs` contains its parameters, and `noise`
/// replaces the random numbers.
pub fn evaluate(
    function: &Function,
    inputs: &HashMap<String, Vec<f64>>,
    draws: usize,
    noise: Option<&[f64]>,
) -> HashMap<String, Summed> {
    let fixed = resolve(function, &Sizes::default().with(Symbol::KlDraws, draws));
    let mut last_use = vec![0; fixed.nodes.len()];
    for user in fixed.nodes.ids() {
        fixed
            .args(user)
            .iter()
            .for_each(|arg| last_use[arg.index()] = user.index());
    }
    for (_, result) in &fixed.results {
        last_use[result.index()] = usize::MAX;
    }
    let mut values: Vec<Tensor> = Vec::new();
    let mut magnitudes: HashMap<Value, f64> = HashMap::new();
    for value in fixed.nodes.ids() {
        let tensor = match &fixed.nodes[value].kind {
            NodeKind::Param(name) => {
                let shape = fixed.ty(value).shape.static_sizes().unwrap_or_default();
                Tensor::new(shape, inputs[&**name].clone())
            }
            NodeKind::Apply { args, attrs, .. } if sums_draws(function, value) => {
                let (sum, magnitude) = sum(&values[args[0].index()], ops::reduce_sum::axes(attrs));
                magnitudes.insert(value, magnitude / draws as f64);
                sum
            }
            NodeKind::Apply { op, .. } if op.is(&ops::noise::NOISE) && noise.is_some() => {
                let shape = fixed.ty(value).shape.static_sizes().unwrap_or_default();
                Tensor::new(shape, noise.unwrap_or_default().to_vec())
            }
            NodeKind::Apply { op, args, attrs } => {
                let args: Vec<&Tensor> = args.iter().map(|arg| &values[arg.index()]).collect();
                op.evaluate(&args, attrs)
            }
        };
        values.push(tensor);
        for arg in fixed.args(value) {
            if last_use[arg.index()] == value.index() {
                values[arg.index()] = Tensor::scalar(0.0);
            }
        }
    }
    let one = |(name, result): &(std::sync::Arc<str>, Value)| {
        let needed = needed_by(&fixed, &[*result]);
        let upstream = magnitudes.iter().filter(|(value, _)| needed.contains(value));
        let values = values[result.index()].data.clone();
        let own = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let summed = Summed {
            magnitude: upstream.fold(own, |most, (_, x)| most.max(*x)),
            values,
        };
        (name.to_string(), summed)
    };
    fixed.results.iter().map(one).collect()
}

/// Returns whether a node sums over the axis of draws.
fn sums_draws(function: &Function, value: Value) -> bool {
    let NodeKind::Apply { op, args, attrs } = &function.nodes[value].kind else {
        return false;
    };
    let is_draws = |axis: &i64| function.ty(args[0]).dims()[*axis as usize] == Dim::Symbol(Symbol::KlDraws);
    op.is(&ops::reduce_sum::REDUCE_SUM) && ops::reduce_sum::axes(attrs).iter().any(is_draws)
}

/// Returns the sum along some axes, and the largest sum of absolute values.
fn sum(x: &Tensor, axes: &[i64]) -> (Tensor, f64) {
    let kept: Vec<usize> = (0..x.shape.len())
        .filter(|axis| !axes.contains(&(*axis as i64)))
        .collect();
    let mut sums = Tensor::zeros(kept.iter().map(|axis| x.shape[*axis]).collect());
    let mut terms = vec![Vec::new(); sums.data.len()];
    let mut index = vec![0; x.shape.len()];
    let mut outer = vec![0; kept.len()];
    for term in &x.data {
        outer
            .iter_mut()
            .zip(&kept)
            .for_each(|(at, axis)| *at = index[*axis]);
        terms[sums.offset(&outer)].push(*term);
        advance(&mut index, &x.shape);
    }
    let absolute = |terms: &Vec<f64>| terms.iter().map(|x| x.abs()).sum::<f64>();
    let magnitude = terms.iter().map(absolute).fold(0.0, f64::max);
    sums.data = terms.iter().map(|terms| pairwise(terms)).collect();
    (sums, magnitude)
}

/// Returns the sum of terms by pairwise summation. The rounding error grows only with the logarithm
/// of the number of terms.
pub fn pairwise(terms: &[f64]) -> f64 {
    match terms {
        [] => 0.0,
        [term] => *term,
        terms => {
            let (left, right) = terms.split_at(terms.len() / 2);
            pairwise(left) + pairwise(right)
        }
    }
}
