//! Recognises sums that are the logits of a categorical distribution.

use super::{Coefficient, Linear, Terms};
use bnnc_base::arena::Id;
use bnnc_graph::function::Value;
use bnnc_graph::ops;
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

/// Returns whether a root reaches observations only as the logits of `Categorical`.
fn is_used_as_logits(found: &Linear<'_>, root: Value) -> bool {
    let users = found.function.nodes.ids().filter(|user| found.used[user.index()]);
    let mut users = users
        .filter(|user| found.function.args(*user).contains(&root))
        .peekable();
    users.peek().is_some()
        && users.all(|user| {
            let dist = || ops::observe::dist(found.attrs(user));
            found.is(user, &[&ops::observe::OBSERVE])
                && &*dist().name == "Categorical"
                && dist().params.first().is_some_and(|(name, _)| &**name == "logits")
                && found.function.args(user).first() == Some(&root)
        })
}
