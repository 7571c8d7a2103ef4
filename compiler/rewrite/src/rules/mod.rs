//! The rewrite rules. At each node, they are tried in this order.
//!
//! To add a rule, add an entry to one of the lists. An entry has cases and examples. Each case is a pattern with its replacement. The tests run the
//! examples.

pub mod arithmetic;
pub mod broadcast;
pub mod contraction;
pub mod folding;
pub mod inverse;
pub mod moves;
pub mod outer;
pub mod reduction;
pub mod selection;

use crate::rule::{Rule, RuleSet};
use std::sync::LazyLock;

/// Every rule.
pub static ALL: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
    let lists = [
        folding::RULES,
        arithmetic::RULES,
        inverse::RULES,
        broadcast::RULES,
        moves::RULES,
        reduction::RULES,
        contraction::RULES,
        outer::RULES,
        selection::RULES,
    ];
    lists.into_iter().flatten().collect()
});

/// Every rule, indexed by op.
pub static SET: LazyLock<RuleSet> = LazyLock::new(|| RuleSet::new(ALL.iter().copied()));
