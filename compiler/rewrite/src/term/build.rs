//! Builds the values of terms, as replacements of calls and as examples of rules.

use super::{AttrTerm, Bindings, Term, matching};
use crate::rule::PendingNode;
use bnnc_base::shape::Shape;
use bnnc_graph::attr::{Attr, Attrs};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::op::Op;
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;

/// Builds terms in a function.
struct Building<'a> {
    builder: &'a mut Builder,
    bindings: &'a Bindings,
    /// The call that the term replaces. `None` in an example, whose terms are built without
    /// simplification.
    call: Option<&'a PendingNode<'a>>,
    /// The type of a term that consists only of numbers.
    constants: Type,
}

impl Term {
    /// Builds the term as the replacement of a call. Returns `None` if a size in the term is not known.
    pub fn replacement(
        &self,
        builder: &mut Builder,
        bindings: &Bindings,
        call: &PendingNode<'_>,
    ) -> Option<Value> {
        let mut building = Building {
            builder,
            bindings,
            call: Some(call),
            constants: call.ty.clone(),
        };
        building.has_sizes(self).then(|| building.value(self))
    }

    fn has_value(&self, wanted: usize) -> bool {
        match self {
            Term::Value(at) => *at == wanted,
            Term::Constant(_) | Term::Number(_) | Term::Size(..) => false,
            Term::Apply(_, terms, _) => terms.iter().any(|term| term.has_value(wanted)),
        }
    }
}

/// Returns the function that computes a term, for the examples of rules.
pub fn example(term: Term) -> Function {
    let mut builder = Builder::new("example");
    let matrix = Type::real(Shape::fixed(&[2, 3]));
    let types = [matrix.clone(), matrix.clone(), Type::real(Shape::fixed(&[3]))];
    let mut bindings = Bindings::default();
    for (at, (name, ty)) in ["x", "y", "row"].iter().zip(types).enumerate() {
        bindings.values[at] = term.has_value(at).then(|| builder.param(name, ty));
    }
    let mut building = Building {
        builder: &mut builder,
        bindings: &bindings,
        call: None,
        constants: matrix,
    };
    let value = building.value(&term);
    builder.finish(vec![("value".into(), value)])
}

impl Building<'_> {
    fn value(&mut self, term: &Term) -> Value {
        if let Some(number) = self.number(term) {
            let constants = self.constants.clone();
            return self.builder.constant(&constants, number);
        }
        match term {
            Term::Value(at) => self.bindings.values[*at]
                .unwrap_or_else(|| unreachable!("variable {at} of a result is in its pattern")),
            Term::Constant(_) | Term::Number(_) | Term::Size(..) => unreachable!("constants have numbers"),
            Term::Apply(op, terms, attrs) => self.application(*op, terms, attrs),
        }
    }

    fn application(&mut self, op: Op, terms: &[Term], attrs: &[AttrTerm]) -> Value {
        let numbers: Vec<Option<f64>> = terms.iter().map(|term| self.number(term)).collect();
        let mut values = Vec::new();
        for (term, number) in terms.iter().zip(&numbers) {
            values.push(number.is_none().then(|| self.value(term)));
        }
        if let ([Some(value), None], [_, Term::Size(..)], [_, Some(1.0)]) = (&*values, terms, &*numbers)
            && op.is(&ops::mul::MUL)
        {
            return *value;
        }
        // A number has the type of the other operand.
        let other = values.iter().flatten().next_back();
        let ty = other.map_or_else(|| self.constants.clone(), |other| self.builder.ty(*other).clone());
        let mut args = Vec::new();
        for (value, number) in values.into_iter().zip(numbers) {
            args.extend(value.or_else(|| number.map(|number| self.builder.constant(&ty, number))));
        }
        let attrs: Attrs = attrs.iter().map(|attr| self.attr(attr)).collect();
        match self.call.is_some() && is_unchanged(self.builder, op, &args, &attrs) {
            true => args[0],
            false => self.builder.apply(op.0, &args, attrs),
        }
    }

    fn attr(&self, attr: &AttrTerm) -> Attr {
        let letters = |codes: Vec<usize>| codes.into_iter().filter_map(|code| char::from_u32(code as u32));
        match attr {
            AttrTerm::Is(attr) => attr.clone(),
            AttrTerm::Shape => Attr::Shape(self.constants.shape.clone()),
            AttrTerm::Axes(axes) => Attr::positions(&axes.list(self.bindings)),
            AttrTerm::Labels(lists) => {
                let [left, right, result] = lists
                    .each_ref()
                    .map(|list| letters(list.list(self.bindings)).collect());
                Attr::name(&ContractionLabels { left, right, result }.to_string())
            }
        }
    }

    /// Returns the number for which the term stands. Returns `None` if the term contains anything
    /// but numbers.
    fn number(&self, term: &Term) -> Option<f64> {
        match term {
            Term::Value(_) => None,
            Term::Constant(at) => self.bindings.numbers[*at],
            Term::Number(number) => Some(*number),
            Term::Size(operand, axes) => {
                let arg = self.call?.args.get(*operand)?;
                matching::size(self.builder.ty(*arg).dims(), &axes.list(self.bindings))
            }
            Term::Apply(op, terms, _) => {
                // In an example, operations on numbers are not computed, because the rules must
                // fold them.
                self.call?;
                let numbers: Option<Vec<f64>> = terms.iter().map(|term| self.number(term)).collect();
                let operands: Vec<Tensor> = numbers?.into_iter().map(Tensor::scalar).collect();
                let operands: Vec<&Tensor> = operands.iter().collect();
                (op.is_elementwise() && !operands.is_empty()).then(|| op.evaluate(&operands, &[]).data[0])
            }
        }
    }

    fn has_sizes(&self, term: &Term) -> bool {
        match term {
            Term::Value(_) | Term::Constant(_) | Term::Number(_) => true,
            Term::Size(..) => self.number(term).is_some(),
            Term::Apply(_, terms, _) => terms.iter().all(|term| self.has_sizes(term)),
        }
    }
}

/// Returns whether an application returns its operand unchanged. Examples are a permutation that
/// moves no axis and a reduction over no axis.
fn is_unchanged(builder: &Builder, op: Op, args: &[Value], attrs: &[Attr]) -> bool {
    let shapes = [&ops::broadcast::BROADCAST, &ops::reshape::RESHAPE];
    let reductions = [&ops::reduce_sum::REDUCE_SUM, &ops::reduce_max::REDUCE_MAX];
    match attrs {
        [Attr::Shape(shape), ..] if op.is_one_of(&shapes) => *shape == builder.ty(args[0]).shape,
        [Attr::Ints(axes)] if op.is(&ops::transpose::TRANSPOSE) => axes.is_sorted(),
        [Attr::Ints(axes)] if op.is_one_of(&reductions) => axes.is_empty(),
        _ => false,
    }
}
