//! Recognises sums that are the logits of a categorical distribution.

use super::{Coefficient, Linear, Terms};
use bnnc_base::arena::Id;
use bnnc_base::shape::{Dim, Sizes};
use bnnc_graph::dist::Instance;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Value;
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use std::collections::HashSet;

/// Returns whether `sums`, the sums of a root, are the logits of all classes, all sums have the same columns, and each sum has coefficients of its
/// own. The data then determine only the differences between the coefficients of different classes.
pub(super) fn are_logits(found: &Linear<'_>, root: Value, sums: &[Terms]) -> bool {
    let coefficients = || sums.iter().flatten().map(|(coefficient, _)| coefficient);
    let distinct: HashSet<&Coefficient> = coefficients().collect();
    let is_known = |terms: &Terms| terms.iter().all(|(_, column)| column.is_some());
    let is_same = |terms: &Terms, first: &Terms| {
        let pairs = terms.iter().zip(first);
        let mut pairs = pairs.map(|((own, column), (other, known))| {
            own.site == other.site && own.selected_by == other.selected_by && column == known
        });
        terms.len() == first.len() && pairs.all(|is_same| is_same)
    };
    let [first, second, ..] = sums else {
        return false;
    };
    !found.is_partial
        && !first.is_empty()
        && is_known(first)
        && is_same(second, first)
        && sums.iter().all(|terms| is_same(terms, first))
        && distinct.len() == coefficients().count()
        && is_used_as_logits(found, root)
}

/// Returns whether a root reaches observations only as the logits of a categorical distribution.
fn is_used_as_logits(found: &Linear<'_>, root: Value) -> bool {
    let users = found.function.nodes.ids().filter(|user| found.used[user.index()]);
    let mut users = users
        .filter(|user| found.function.args(*user).contains(&root))
        .peekable();
    users.peek().is_some()
        && users.all(|user| {
            found.is(user, &[&ops::observe::OBSERVE])
                && takes_logits(ops::observe::dist(found.attrs(user)))
                && found.function.args(user).first() == Some(&root)
        })
}

/// Returns whether the only parameter of a distribution of one class is a vector of logits: a number
/// that is added to all its elements does not change any log density. Other distributions may have the
/// same name and the same parameters, so the log densities of up to [`MOST_CLASSES`] classes are compared at
/// one vector.
fn takes_logits(dist: &Instance) -> bool {
    let [(_, param)] = dist.params.as_slice() else {
        return false;
    };
    let ([Dim::Fixed(count)], []) = (param.shape.dims(), dist.value.shape.dims()) else {
        return false;
    };
    let log_density = |class: usize, shift: f64| {
        let logits = Tensor::from_fn(vec![*count], |at| (at[0] as f64 + 1.0).sin() + shift);
        let inputs = [logits, Tensor::scalar(class as f64)];
        evaluate(&dist.log_density, &inputs, &Sizes::default())[0].data[0]
    };
    let every = count.div_ceil(MOST_CLASSES).max(1);
    (0..*count).step_by(every).all(|class| {
        let [here, shifted] = [0.0, SHIFT].map(|shift| log_density(class, shift));
        (here - shifted).abs() <= ROUNDING * (1.0 + here.abs())
    })
}

/// The largest number of classes whose log densities are compared. Comparing all of 4000 classes took 4 s.
const MOST_CLASSES: usize = 16;
/// The number that is added to all logits.
const SHIFT: f64 = 0.75;
/// The largest relative difference that rounding explains. The error of a sum of 1000 exponentials is
/// about 1000 times the unit roundoff, 1e-13.
const ROUNDING: f64 = 1e-9;
