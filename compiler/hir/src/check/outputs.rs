//! Checks that the distributions of a model's outputs define a joint density. For this, an output
//! must not depend on itself, directly or through other outputs. An element may depend
//! on itself for some sizes only, so `elaborate::joint_density` checks elements when the sizes are known.

use super::body::Checker;
use super::output_uses::Use;
use crate::diagnostics::model as report;
use crate::dims::{Atom, DimExpr};
use crate::tree::{LocalId, TypedComprehension, TypedExpr, TypedExprKind, TypedIndex};
use crate::walk;
use bnnc_base::source::Span;

/// The distribution of an output, or of one of its elements, whose index is a counter.
#[derive(Clone, Copy)]
pub struct OutputDist<'e> {
    /// The output.
    pub output: LocalId,
    /// The counter that is the index of the element. `None` if the statement gives a distribution
    /// to the whole output.
    pub counter: Option<&'e DimExpr>,
    /// The distribution.
    pub dist: &'e TypedExpr,
}

impl Checker<'_> {
    /// Returns the elements of outputs that an expression reads, directly or through variables.
    pub fn uses(&self, expr: &TypedExpr) -> Vec<Use> {
        if let TypedExprKind::Local(local) = &expr.kind {
            if self.is_output(*local) {
                return vec![self.whole(*local, expr.span)];
            }
            let through = self.uses.get(local).into_iter().flatten();
            return through
                .map(|found| Use {
                    span: expr.span,
                    ..found.clone()
                })
                .collect();
        }
        match &expr.kind {
            TypedExprKind::Index(base, indices) => {
                let mut found: Vec<Use> = indices.iter().flat_map(|index| self.in_index(index)).collect();
                match (&base.kind, indices.first()) {
                    (TypedExprKind::Local(local), Some(first)) if self.is_output(*local) => found.push(Use {
                        output: *local,
                        elements: self.elements(first),
                        span: expr.span,
                    }),
                    // The analysis does not track the individual elements of an array that is
                    // computed from an output, so the elements that are read are unknown.
                    _ => found.extend(self.uses(base).into_iter().map(Use::somewhere)),
                }
                found
            }
            TypedExprKind::Comprehension(inner) | TypedExprKind::Reduce(_, inner) => self.counted(inner),
            // A function may read any part of an array argument.
            TypedExprKind::CallFn(..) | TypedExprKind::CallLayer(..) | TypedExprKind::CallLocal(..) => {
                self.in_parts(expr).into_iter().map(Use::somewhere).collect()
            }
            _ => self.in_parts(expr),
        }
    }

    /// Like [`Checker::uses`], but without duplicates. Along a chain of variables, the number of duplicates
    /// would grow exponentially.
    pub fn distinct_uses(&self, expr: &TypedExpr) -> Vec<Use> {
        let mut distinct: Vec<Use> = Vec::new();
        for found in self.uses(expr) {
            let is_same = |known: &Use| (known.output, &known.elements) == (found.output, &found.elements);
            if !distinct.iter().any(is_same) {
                distinct.push(found);
            }
        }
        distinct
    }

    fn in_parts(&self, expr: &TypedExpr) -> Vec<Use> {
        walk::children(expr)
            .into_iter()
            .flat_map(|part| self.uses(part))
            .collect()
    }

    fn in_index(&self, index: &TypedIndex) -> Vec<Use> {
        match index {
            TypedIndex::At(at) => self.uses(at),
            TypedIndex::Range(from, to) => [from, to].into_iter().flat_map(|end| self.uses(end)).collect(),
        }
    }

    /// Returns the uses of outputs in a comprehension, for all values of the counter together.
    fn counted(&self, inner: &TypedComprehension) -> Vec<Use> {
        let ends = self.dim_of(&inner.from).zip(self.dim_of(&inner.to));
        let counter = Atom::Local(inner.counter);
        let mut found = self.uses(&inner.element);
        for found in &mut found {
            let Some(elements) = &found.elements else { continue };
            let moves = elements
                .each_ref()
                .map(|end| end.plus(&DimExpr::atom(counter.clone()), -1));
            let has = |dim: &DimExpr| dim.terms.keys().flatten().any(|atom| *atom == counter);
            if !elements.iter().any(has) {
                continue;
            }
            // If the index contains the counter with coefficient one, the first value of the
            // counter reads the first element, and the last value reads the last element.
            found.elements = match &ends {
                Some((from, to)) if !moves.iter().any(has) => {
                    let last = to.plus(&DimExpr::number(1), -1);
                    Some([moves[0].plus(from, 1), moves[1].plus(&last, 1)])
                }
                _ => None,
            };
        }
        let ends = [&inner.from, &inner.to];
        found.extend(ends.into_iter().flat_map(|end| self.uses(end)));
        found
    }

    fn elements(&self, index: &TypedIndex) -> Option<[DimExpr; 2]> {
        match index {
            TypedIndex::At(at) => self
                .dim_of(at)
                .map(|at| [at.clone(), at.plus(&DimExpr::number(1), 1)]),
            TypedIndex::Range(from, to) => Some([self.dim_of(from)?, self.dim_of(to)?]),
        }
    }

    fn whole(&self, output: LocalId, span: Span) -> Use {
        let size = self.locals[output].ty.dims().first();
        let elements = size.map(|size| [DimExpr::number(0), size.clone()]);
        Use {
            output,
            elements,
            span,
        }
    }

    fn is_output(&self, local: LocalId) -> bool {
        self.outputs.values().any(|(output, _)| *output == local)
    }

    /// Records the outputs that the distribution of an output reads. Reports an output whose distribution reads the output itself.
    pub fn needs(&mut self, given: OutputDist<'_>) {
        for found in self.uses(given.dist) {
            let is_scalar = self.locals[found.output].ty.is_scalar();
            let reads = match (given.counter, &found.elements) {
                // The elements of an array may depend on each other. For example, each element of a
                // time series may depend on the previous element.
                (None, _) => self.locals[given.output].ty.is_scalar() && is_scalar,
                (Some(_), _) if is_scalar => true,
                // `elaborate::joint_density` checks reads of another output's elements when the
                // sizes are known.
                (Some(counter), Some(elements)) if found.output == given.output => holds(elements, counter),
                (Some(_), _) => false,
            };
            if !reads {
                continue;
            }
            if found.output == given.output {
                let name = self.locals[given.output].name.clone();
                let element = given
                    .counter
                    .map(|counter| counter.show(&|local| self.locals[local].name.to_string()));
                self.report(report::depends_on_itself(found.span, &name, element.as_deref()));
                return;
            }
            self.needs
                .entry(given.output)
                .or_default()
                .push((found.output, found.span));
        }
    }

    /// Reports outputs that depend on each other in a cycle.
    pub fn needs_in_order(&mut self) {
        let mut outputs: Vec<LocalId> = self.needs.keys().copied().collect();
        outputs.sort();
        for first in outputs {
            let mut reached = vec![first];
            let mut at = 0;
            while let Some(output) = reached.get(at).copied() {
                at += 1;
                for (next, span) in self.needs.get(&output).cloned().unwrap_or_default() {
                    if next == first {
                        let names = [first, output].map(|local| self.locals[local].name.clone());
                        self.report(report::depend_on_each_other(span, &names[0], &names[1]));
                        return;
                    }
                    if !reached.contains(&next) {
                        reached.push(next);
                    }
                }
            }
        }
    }
}

/// Returns whether the counter is known to lie in the half-open range of elements.
fn holds([from, to]: &[DimExpr; 2], counter: &DimExpr) -> bool {
    let beyond = |end: &DimExpr| end.plus(counter, -1).as_number();
    // A range that starts at the first element contains the counter if the counter is below its
    // end.
    let starts = match (beyond(from), from.as_number()) {
        (Some(distance), _) => distance <= 0,
        (None, Some(first)) => first == 0,
        (None, None) => false,
    };
    let ends = match beyond(to) {
        Some(distance) => distance > 0,
        None => is_size(to, counter),
    };
    starts && ends
}

/// Returns whether the end of a range is a product of named sizes that does not contain the
/// counter.
fn is_size(end: &DimExpr, counter: &DimExpr) -> bool {
    let atoms = |dim: &DimExpr| dim.terms.keys().flatten().cloned().collect::<Vec<Atom>>();
    let counters = atoms(counter);
    let is_named = !atoms(end).is_empty();
    // A number is not enough: if `k` is a number, the range `y[0..k]` may end before the first
    // value of the counter.
    is_named && end.terms.len() == 1 && atoms(end).iter().all(|atom| !counters.contains(atom))
}
