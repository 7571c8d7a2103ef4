//! That the distributions of a model's outputs multiply to a joint density: no output depends on itself, directly or through others. What depends on sizes is
//! decided when these are known, in `elaborate::joint_density`.

use super::body::Body;
use crate::dims::{Atom, Dim};
use crate::report::model as report;
use crate::tree::{Comprehension, Expr, ExprKind, Index, LocalId};
use crate::types::Ty;
use crate::walk;
use bnnc_base::source::Span;
use std::collections::HashMap;

/// The elements of an output that an expression reads.
#[derive(Clone, Debug)]
pub struct Use {
    /// The output.
    output: LocalId,
    /// The first element and the one after the last; unknown where data or a function decide them.
    elements: Option<[Dim; 2]>,
    span: Span,
}

impl Use {
    /// The same output at elements that are not known.
    fn somewhere(self) -> Use {
        Use {
            elements: None,
            ..self
        }
    }
}

/// The distribution of an output, or of its element at a counter.
#[derive(Clone, Copy)]
pub struct Given<'e> {
    /// The output.
    pub output: LocalId,
    /// The counter at which an element has the distribution; `None` for a whole output.
    pub counter: Option<&'e Dim>,
    /// The distribution.
    pub dist: &'e Expr,
}

/// From each output to those whose values its distribution takes, with the place.
pub type Needs = HashMap<LocalId, Vec<(LocalId, Span)>>;

impl Body<'_> {
    /// The elements of outputs that an expression reads, also through variables.
    pub fn uses(&self, expr: &Expr) -> Vec<Use> {
        if let ExprKind::Local(local) = &expr.kind {
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
            ExprKind::Index(base, indices) => {
                let mut found: Vec<Use> = indices.iter().flat_map(|index| self.in_index(index)).collect();
                match (&base.kind, indices.first()) {
                    (ExprKind::Local(local), Some(first)) if self.is_output(*local) => found.push(Use {
                        output: *local,
                        elements: self.elements(first),
                        span: expr.span,
                    }),
                    // Of an array that is made of an output, elements are not followed.
                    _ => found.extend(self.uses(base).into_iter().map(Use::somewhere)),
                }
                found
            }
            ExprKind::Comprehension(inner) | ExprKind::Reduce(_, inner) => self.counted(inner),
            // A function may read any part of an array that it is given.
            ExprKind::CallFn(..) | ExprKind::CallLayer(..) | ExprKind::CallLocal(..) => {
                self.in_parts(expr).into_iter().map(Use::somewhere).collect()
            }
            _ => self.in_parts(expr),
        }
    }

    /// As [`Body::uses`], each once: what a variable is made of, however often a chain of variables repeats it.
    pub fn distinct_uses(&self, expr: &Expr) -> Vec<Use> {
        let mut distinct: Vec<Use> = Vec::new();
        for found in self.uses(expr) {
            let is_same = |known: &Use| (known.output, &known.elements) == (found.output, &found.elements);
            if !distinct.iter().any(is_same) {
                distinct.push(found);
            }
        }
        distinct
    }

    fn in_parts(&self, expr: &Expr) -> Vec<Use> {
        walk::children(expr)
            .into_iter()
            .flat_map(|part| self.uses(part))
            .collect()
    }

    fn in_index(&self, index: &Index) -> Vec<Use> {
        match index {
            Index::At(at) => self.uses(at),
            Index::Range(from, to) => [from, to].into_iter().flat_map(|end| self.uses(end)).collect(),
        }
    }

    /// The uses of outputs by the elements of a comprehension, for all positions of its counter.
    fn counted(&self, inner: &Comprehension) -> Vec<Use> {
        let ends = self.dim_of(&inner.from).zip(self.dim_of(&inner.to));
        let counter = Atom::Local(inner.counter);
        let mut found = self.uses(&inner.element);
        for found in &mut found {
            let Some(elements) = &found.elements else { continue };
            let moves = elements
                .each_ref()
                .map(|end| end.plus(&Dim::atom(counter.clone()), -1));
            let has = |dim: &Dim| dim.terms.keys().flatten().any(|atom| *atom == counter);
            if !elements.iter().any(has) {
                continue;
            }
            // With a factor of one, the first position reads the first element, and the last one the last.
            found.elements = match &ends {
                Some((from, to)) if !moves.iter().any(has) => {
                    let last = to.plus(&Dim::number(1), -1);
                    Some([moves[0].plus(from, 1), moves[1].plus(&last, 1)])
                }
                _ => None,
            };
        }
        let ends = [&inner.from, &inner.to];
        found.extend(ends.into_iter().flat_map(|end| self.uses(end)));
        found
    }

    fn elements(&self, index: &Index) -> Option<[Dim; 2]> {
        match index {
            Index::At(at) => self
                .dim_of(at)
                .map(|at| [at.clone(), at.plus(&Dim::number(1), 1)]),
            Index::Range(from, to) => Some([self.dim_of(from)?, self.dim_of(to)?]),
        }
    }

    fn whole(&self, output: LocalId, span: Span) -> Use {
        let elements = match &self.locals[output].ty {
            Ty::Tensor(_, dims) => dims.first().map(|size| [Dim::number(0), size.clone()]),
            _ => None,
        };
        Use {
            output,
            elements,
            span,
        }
    }

    fn is_output(&self, local: LocalId) -> bool {
        self.outputs.values().any(|(output, _)| *output == local)
    }

    fn is_scalar(&self, local: LocalId) -> bool {
        matches!(&self.locals[local].ty, Ty::Tensor(_, dims) if dims.is_empty())
    }

    /// Notes which outputs the distribution of an output takes, and rejects one that takes its own value.
    pub fn needs(&mut self, given: Given<'_>) {
        for found in self.uses(given.dist) {
            let is_scalar = self.is_scalar(found.output);
            let reads = match (given.counter, &found.elements) {
                // An array may be given by parts of itself, as a series is by a shifted copy.
                (None, _) => self.is_scalar(given.output) && is_scalar,
                (Some(_), _) if is_scalar => true,
                // Elements of other outputs are followed when sizes are known.
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

    /// Rejects outputs that depend on each other in a circle.
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

/// Whether a counter is among the elements from the first of two ends to before the second, where that is known.
fn holds([from, to]: &[Dim; 2], counter: &Dim) -> bool {
    let beyond = |end: &Dim| end.plus(counter, -1).as_number();
    // A range of all elements, or one that begins at a fixed one, holds each counter that is before its end.
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

/// Whether an end is made of sizes alone: it does not move with the counter.
fn is_size(end: &Dim, counter: &Dim) -> bool {
    let atoms = |dim: &Dim| dim.terms.keys().flatten().cloned().collect::<Vec<Atom>>();
    let counters = atoms(counter);
    let is_named = !atoms(end).is_empty();
    // `y[0..k]` with a number may end before the first counter.
    is_named && end.terms.len() == 1 && atoms(end).iter().all(|atom| !counters.contains(atom))
}
