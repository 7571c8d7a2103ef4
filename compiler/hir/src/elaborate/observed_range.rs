//! The ranges of output elements that have a distribution.

use bnnc_base::source::Span;
use bnnc_graph::function::Value;

/// The elements of an output that have a distribution.
#[derive(Clone, Copy, Debug)]
pub struct ObservedRange {
    /// The output.
    pub output: Value,
    /// The first element.
    pub first: i64,
    /// The distance between consecutive elements.
    pub step: i64,
    /// The number of elements.
    pub count: i64,
    /// The statement that assigns the distribution.
    pub span: Span,
}

impl ObservedRange {
    /// Returns whether two ranges have an element in common.
    pub fn overlaps(&self, other: &ObservedRange) -> bool {
        let [short, long] = if self.count < other.count {
            [self, other]
        } else {
            [other, self]
        };
        let holds = |position: i64| match position.saturating_sub(long.first) {
            distance if long.step == 0 => distance == 0,
            distance => distance % long.step == 0 && (0..long.count).contains(&(distance / long.step)),
        };
        self.output == other.output
            && (0..short.count).any(|at| holds(short.first.saturating_add(short.step.saturating_mul(at))))
    }
}
