//! Matches terms against the nodes of a function under construction.

use super::{AttrTerm, Axes, Term};
use crate::nodes::{application, constant_of};
use crate::rule::PendingNode;
use bnnc_base::shape::Dim;
use bnnc_graph::attr::{Attr, positions};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::op::OpDef;

/// The values, numbers and lists of axes that are bound to the variables of a term.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    pub(super) values: [Option<Value>; 3],
    pub(super) numbers: [Option<f64>; 2],
    pub(super) axes: [Option<Vec<usize>>; 5],
}

impl Bindings {
    /// Returns the value that is bound to [`super::X`].
    pub fn x(&self) -> Option<Value> {
        self.values[0]
    }

    /// Returns the number that is bound to [`super::A`].
    pub fn a(&self) -> Option<f64> {
        self.numbers[0]
    }

    /// Returns the list that is bound to [`super::P`].
    pub fn p(&self) -> &[usize] {
        self.axes[0].as_deref().unwrap_or_default()
    }

    /// Returns the list that is bound to [`super::Q`].
    pub fn q(&self) -> &[usize] {
        self.axes[1].as_deref().unwrap_or_default()
    }

    fn with_value(&self, at: usize, value: Value) -> Option<Bindings> {
        let mut bindings = self.clone();
        let known = *bindings.values[at].get_or_insert(value);
        (known == value).then_some(bindings)
    }

    fn with_number(&self, at: usize, number: f64) -> Option<Bindings> {
        let mut bindings = self.clone();
        let known = *bindings.numbers[at].get_or_insert(number);
        (known.to_bits() == number.to_bits()).then_some(bindings)
    }

    fn with_axes(&self, axes: &Axes, list: Vec<usize>) -> Option<Bindings> {
        let mut bindings = self.clone();
        if let Axes::Any(at) = axes {
            bindings.axes[*at].get_or_insert_with(|| list.clone());
        }
        (axes.list(&bindings) == list).then_some(bindings)
    }
}

/// Returns all bindings that make the pattern `op(terms..)` with the attributes `attrs` match a
/// call of `op`. If the op is commutative, both orders of the operands are tried.
pub fn matches(
    builder: &Builder,
    call: &PendingNode<'_>,
    terms: &[Term],
    attrs: &[AttrTerm],
) -> Vec<Bindings> {
    let mut found = Vec::new();
    let operands = Operands {
        op: call.op.0,
        args: call.args,
        attrs: call.attrs,
    };
    match_application(
        builder,
        (terms, attrs),
        &operands,
        &Bindings::default(),
        &mut |known| {
            found.push(known.clone());
        },
    );
    found
}

/// An application that is compared with a pattern.
struct Operands<'a> {
    op: &'static OpDef,
    args: &'a [Value],
    attrs: &'a [Attr],
}

type Then<'a> = &'a mut dyn FnMut(&Bindings);

fn match_application(
    builder: &Builder,
    (terms, attrs): (&[Term], &[AttrTerm]),
    found: &Operands<'_>,
    known: &Bindings,
    then: Then<'_>,
) {
    let args = found.args;
    if terms.len() != args.len() {
        return;
    }
    let Some(known) = match_attrs(attrs, found.attrs, known) else {
        return;
    };
    match_in_order(builder, terms, args, &known, then);
    if let ([left, right], [x, y]) = (terms, args)
        && found.op.is_commutative()
    {
        match_term(builder, left, *y, &known, &mut |known| {
            match_term(builder, right, *x, known, then);
        });
    }
}

fn match_in_order(builder: &Builder, terms: &[Term], args: &[Value], known: &Bindings, then: Then<'_>) {
    match (terms, args) {
        ([term, terms @ ..], [arg, args @ ..]) => match_term(builder, term, *arg, known, &mut |known| {
            match_in_order(builder, terms, args, known, then);
        }),
        _ => then(known),
    }
}

fn match_term(builder: &Builder, term: &Term, value: Value, known: &Bindings, then: Then<'_>) {
    match term {
        Term::Value(at) => known.with_value(*at, value).iter().for_each(then),
        Term::Constant(at) => {
            let number = constant_of(builder, value);
            let bound = number.and_then(|number| known.with_number(*at, number));
            bound.iter().for_each(then);
        }
        Term::Number(number) => {
            if constant_of(builder, value) == Some(*number) {
                then(known);
            }
        }
        Term::Size(..) => unreachable!("a pattern has no sizes"),
        Term::Apply(op, terms, attrs) => {
            if let Some((args, found)) = application(builder, value, op.0) {
                let operands = Operands {
                    op: op.0,
                    args,
                    attrs: found,
                };
                match_application(builder, (terms, attrs), &operands, known, then);
            }
        }
    }
}

/// Returns the bindings that make the attributes match. A pattern without attributes matches any
/// attributes.
fn match_attrs(terms: &[AttrTerm], attrs: &[Attr], known: &Bindings) -> Option<Bindings> {
    let mut pairs = terms.iter().zip(attrs);
    pairs.try_fold(known.clone(), |known, (term, attr)| match (term, attr) {
        (AttrTerm::Is(wanted), found) => (wanted == found).then_some(known),
        (AttrTerm::Shape, Attr::Shape(_)) => Some(known),
        (AttrTerm::Axes(axes), Attr::Ints(found)) => known.with_axes(axes, positions(found)),
        (AttrTerm::Labels([left, right, result]), Attr::Symbol(found)) => {
            let labels = ContractionLabels::checked(found);
            known
                .with_axes(left, codes(&labels.left))?
                .with_axes(right, codes(&labels.right))?
                .with_axes(result, codes(&labels.result))
        }
        _ => None,
    })
}

/// Returns letters as a list of numbers, because [`Axes`] holds numbers.
fn codes(letters: &[char]) -> Vec<usize> {
    letters.iter().map(|letter| *letter as usize).collect()
}

/// Returns the number of elements along some axes. Returns `None` if a size is not known or is
/// zero.
pub(super) fn size(dims: &[Dim], axes: &[usize]) -> Option<f64> {
    let sizes = axes
        .iter()
        .map(|axis| dims.get(*axis).and_then(|dim| dim.fixed()));
    let size: usize = sizes.product::<Option<usize>>()?;
    (size > 0).then_some(size as f64)
}
