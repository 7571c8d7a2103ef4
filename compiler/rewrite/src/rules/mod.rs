//! The rules, in the order in which they are tried at each node.

pub mod arithmetic;
pub mod broadcast;
pub mod contraction;
pub mod folding;
pub mod inverse;
pub mod moves;
pub mod outer;
pub mod powers;
pub mod reduction;
pub mod selection;

use crate::rule::Rule;

/// Every rule.
pub static ALL: &[&Rule] = &[
    &folding::CONSTANT_FOLDING,
    &folding::SELECT_OF_CONSTANT,
    &arithmetic::ADD_ZERO,
    &arithmetic::MUL_ONE,
    &arithmetic::MUL_ZERO,
    &arithmetic::DIV_BY_CONSTANT,
    &arithmetic::NEG_OF_NEG,
    &arithmetic::ADD_OF_NEG,
    &arithmetic::MUL_OF_NEG,
    &arithmetic::MUL_OF_CONSTANTS,
    &arithmetic::ADD_OF_CONSTANTS,
    &powers::POW_OF_CONSTANT,
    &inverse::LOG_OF_EXP,
    &inverse::EXP_OF_LOG,
    &inverse::DIFFERENCE_OF_SUM,
    &inverse::QUOTIENT_OF_PRODUCT,
    &broadcast::BROADCAST_OF_BROADCAST,
    &broadcast::BROADCAST_OF_CONSTANT,
    &broadcast::ELEMENTWISE_OF_BROADCAST,
    &broadcast::DIV_BY_BROADCAST,
    &moves::TRANSPOSE_OF_TRANSPOSE,
    &moves::RESHAPE_OF_RESHAPE,
    &moves::MOVE_OF_CONSTANT,
    &reduction::SUM_OVER_NOTHING,
    &reduction::REDUCE_OF_BROADCAST,
    &reduction::REDUCE_OF_CONSTANT,
    &reduction::MAX_OF_BROADCAST,
    &reduction::MAX_OF_IOTA,
    &reduction::SUM_OF_NEG,
    &reduction::SUM_OF_SCALED,
    &reduction::SUM_OF_SUM,
    &contraction::CONTRACT_OF_BROADCAST,
    &contraction::CONTRACT_OF_TRANSPOSE,
    &outer::SUM_OF_OUTER_PRODUCT,
    &outer::CONTRACT_OF_OUTER_PRODUCT,
    &selection::SELECTION_OF_PRODUCT,
];

/// The rule with this name.
pub fn lookup(name: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|rule| rule.name == name)
}
