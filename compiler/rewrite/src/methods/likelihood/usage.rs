//! Analyses how the likelihood uses the sites that are drawn separately for each example.

use super::choice::Expectation;
use crate::diagnostics::UnsupportedUse;
use bnnc_base::arena::Id;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::ops;
use std::collections::HashMap;
use std::sync::Arc;

/// How the likelihood uses a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Usage {
    /// The site is an operand of products. These axes of the site are summed.
    Products(Vec<usize>),
    /// The site is a scalar or a vector, so every example may have its own draw of the whole site.
    Small,
}

/// A site that is drawn separately for each example.
pub struct VaryingSite {
    /// The path of the site.
    pub name: Arc<str>,
    /// The gradient estimator of the site.
    pub way: Expectation,
    /// How the likelihood uses the site.
    pub usage: Usage,
    /// The weights that are drawn together with this site, if there are any.
    pub with: Option<Arc<str>>,
}

impl VaryingSite {
    /// Returns the sentence about the site for the report.
    pub fn sentence(&self, way: Expectation) -> String {
        match (way, &self.usage, &self.with) {
            (Expectation::Flipout, Usage::Products(_), _) => "flipout".to_owned(),
            (Expectation::Flipout, Usage::Small, _) => {
                "flipout: one draw for all examples, with a random sign for every example and element"
                    .to_owned()
            }
            (_, _, Some(weights)) => format!("local reparameterisation, in one draw with `{weights}`"),
            (_, Usage::Products(_), None) => "local reparameterisation".to_owned(),
            (_, Usage::Small, None) => "local reparameterisation: every example has its own draw".to_owned(),
        }
    }
}

/// Returns how the likelihood uses a site. The site is the parameter `param` of the row function.
///
/// # Errors
/// Returns an error if the site is used in a way that the estimator `way` does not support.
pub fn usage(
    row: &Function,
    users: &[Vec<Value>],
    treated: &[Value],
    param: Value,
    way: Expectation,
) -> Result<Usage, UnsupportedUse> {
    let products = products(row, &users[param.index()], treated, param, way);
    match products {
        Ok(axes) => Ok(Usage::Products(axes)),
        Err(_) if row.ty(param).rank() <= 1 && !widens(row, users, param) => Ok(Usage::Small),
        Err(why) => Err(why),
    }
}

/// Returns whether matrices are taken from a vector. For example, the vector of a joint family holds the elements of several
/// sites, which may be matrices.
fn widens(row: &Function, users: &[Vec<Value>], vector: Value) -> bool {
    let moves = [&ops::slice::SLICE, &ops::reshape::RESHAPE];
    let mut moved = users[vector.index()]
        .iter()
        .filter(|user| row.applies(**user, &moves));
    moved.any(|user| row.ty(*user).rank() > 1 || widens(row, users, *user))
}

/// Returns the axes of a site over which its products sum. Fails if the site is used in anything
/// but products of the form that `way` needs.
fn products(
    row: &Function,
    users: &[Value],
    treated: &[Value],
    param: Value,
    way: Expectation,
) -> Result<Vec<usize>, UnsupportedUse> {
    let mut found: Option<Vec<usize>> = None;
    for user in users {
        let Some(product) = WeightProduct::of(row, *user, param) else {
            let op = row.op(*user).map_or("", |op| op.0.name);
            return Err(UnsupportedUse::Op(op));
        };
        if treated.contains(&product.other) && (row.ty(product.other).rank() > 1 || row.ty(param).rank() <= 1)
        {
            return Err(UnsupportedUse::OtherWeights);
        }
        match way {
            Expectation::Local => product.independent()?,
            Expectation::Flipout => product.signed()?,
            Expectation::Shared | Expectation::Integrated => {}
        }
        let axes = product.summed_axes();
        match &found {
            Some(_) if way == Expectation::Local => {
                return Err(UnsupportedUse::SeveralProducts);
            }
            Some(known) if *known != axes => {
                return Err(UnsupportedUse::DifferentAxes);
            }
            _ => found = Some(axes),
        }
    }
    Ok(found.unwrap_or_default())
}

/// A product `contract(weights, other)`, with the operands in either order.
pub struct WeightProduct {
    /// The other operand.
    pub other: Value,
    /// The letters of the weights.
    pub weights: Vec<char>,
    /// The letters of the other operand.
    pub against: Vec<char>,
    /// The letters of the product.
    pub result: Vec<char>,
}

impl WeightProduct {
    /// Returns the product of `param` with another value at `node`. Returns `None` if `node` is not
    /// such a product.
    pub fn of(row: &Function, node: Value, param: Value) -> Option<WeightProduct> {
        let NodeKind::Apply { op, args, attrs } = &row.nodes[node].kind else {
            return None;
        };
        if !op.is(&ops::contract::CONTRACT) || args[0] == args[1] {
            return None;
        }
        let ContractionLabels { left, right, result } = ops::contract::parsed(attrs);
        let (weights, against, other) = match args[0] == param {
            true => (left, right, args[1]),
            false => (right, left, args[0]),
        };
        Some(WeightProduct {
            other,
            weights,
            against,
            result,
        })
    }

    /// Fails if the elements of the product share weights.
    fn independent(&self) -> Result<(), UnsupportedUse> {
        match self.against.iter().find(|letter| !self.weights.contains(letter)) {
            Some(letter) if self.result.contains(letter) => Err(UnsupportedUse::SeveralVectors),
            Some(_) => Err(UnsupportedUse::Sum),
            None => Ok(()),
        }
    }

    /// Fails if the signs of the weights cannot be moved onto the other operand.
    fn signed(&self) -> Result<(), UnsupportedUse> {
        let alone = |letter: &char| !self.result.contains(letter) && !self.against.contains(letter);
        match self.weights.iter().any(alone) {
            true => Err(UnsupportedUse::SumAlone),
            false => Ok(()),
        }
    }

    fn summed_axes(&self) -> Vec<usize> {
        let axes = 0..self.weights.len();
        axes.filter(|axis| !self.result.contains(&self.weights[*axis]))
            .collect()
    }

    /// Returns the letters of the weights in two lists: the letters that the result keeps, and the
    /// letters that are summed.
    pub fn letters(&self) -> (Vec<char>, Vec<char>) {
        self.weights
            .iter()
            .copied()
            .partition(|letter| self.result.contains(letter))
    }

    /// Returns the labels of the contraction, with the letters of the weights first.
    pub fn labels(&self) -> String {
        let labels = ContractionLabels {
            left: self.weights.clone(),
            right: self.against.clone(),
            result: self.result.clone(),
        };
        labels.to_string()
    }
}

/// Finds sums `w h + b` for which a single draw of the sum can replace a draw of `w h` and a draw
/// of `b`. Returns, for each sum, its product and the parameter that is `b`.
pub fn folds(
    row: &Function,
    users: &[Vec<Value>],
    sites: &mut HashMap<Value, VaryingSite>,
) -> HashMap<Value, (Value, Value)> {
    let mut folds = HashMap::new();
    for sum in row.nodes.ids() {
        let NodeKind::Apply { op, args, .. } = &row.nodes[sum].kind else {
            continue;
        };
        if !op.is(&ops::add::ADD) {
            continue;
        }
        for (product, bias) in [(args[0], args[1]), (args[1], args[0])] {
            let only_here = |value: Value| users[value.index()] == [sum];
            let is_bias = sites
                .get(&bias)
                .is_some_and(|site| site.way == Expectation::Local && site.usage == Usage::Small);
            let weights = row
                .args(product)
                .iter()
                .find_map(|arg| sites.get(arg))
                .filter(|site| {
                    site.way == Expectation::Local
                        && matches!(site.usage, Usage::Products(_))
                        && row.op(product).is_some()
                });
            let Some(weights) = weights.filter(|_| is_bias && only_here(product) && only_here(bias)) else {
                continue;
            };
            let name = weights.name.clone();
            folds.insert(sum, (product, bias));
            if let Some(bias) = sites.get_mut(&bias) {
                bias.with = Some(name);
            }
        }
    }
    folds
}
