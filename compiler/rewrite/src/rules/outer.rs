//! Sums of outer products are computed without the outer products.
//!
//! Note [Sums of outer products]. The gradient of a weight matrix in one row is an outer product, as large as the matrix. What is wanted of it
//! is often smaller: the sum of its squares over the rows, or its product with another one. Such a sum is taken apart into all its factors,
//! each with letters for its axes, and put together again in pairs: at every step that pair whose contraction is smallest against what it
//! replaces. A sum of outer products is taken apart into products of each with each.

use crate::nodes::{application, constant_of, operand};
use crate::rule::{Call, Rule};
use crate::rules::arithmetic::of_two;
use crate::rules::broadcast::{positions, repetition};
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_graph::attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{NodeKind, Value};
use bnnc_graph::infer::without_axes;
use bnnc_graph::labels::Labels;
use bnnc_graph::ops;
use std::collections::HashSet;

/// More products than these are not taken apart.
const MANY: usize = 16;

/// A sum of a product with an outer product in it is a contraction of the factors.
pub static SUM_OF_OUTER_PRODUCT: Rule = Rule {
    name: "sum-of-outer-product",
    about: "A sum of a product with an outer product in it contracts the factors.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::reduce_sum::REDUCE_SUM) {
            return None;
        }
        let removed = positions(attr::ints(call.attrs, 0));
        let shape = builder.shape(call.args[0]);
        let letters = letters_from('a', shape.rank())?;
        let taken = taken_apart(builder, call.args[0], &letters)?;
        let kept = (0..letters.len()).filter(|axis| !removed.contains(axis));
        let result = kept.map(|axis| letters[axis]).collect::<Vec<char>>();
        let mut sizes = Sizes::default();
        sizes.add(&letters, &shape);
        put_together(builder, &taken, &result, &sizes)
            .filter(|value| builder.shape(*value) == without_axes(&shape, &removed))
    },
    examples: || {
        vec![
            of_two(|b, x, y| {
                let cube = b.contract(x, y, "no,ni->noi");
                let squares = b.square(cube);
                b.reduce_sum(squares, &[0])
            }),
            of_two(|b, x, y| {
                let once = b.contract(x, y, "no,ni->noi");
                let twice = b.contract(y, x, "no,ni->noi");
                let sum = b.sub(once, twice);
                let squares = b.square(sum);
                b.reduce_sum(squares, &[0])
            }),
        ]
    },
};

/// A contraction with an outer product contracts the factors.
pub static CONTRACT_OF_OUTER_PRODUCT: Rule = Rule {
    name: "contract-of-outer-product",
    about: "A contraction of an outer product contracts its factors.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::contract::CONTRACT) {
            return None;
        }
        let labels = Labels::checked(attr::symbol(call.attrs, 0));
        if labels.summed().is_empty() {
            return None;
        }
        let [x, y] = [0, 1].map(|at| call.args[at]);
        let (left, right) = (
            taken_apart(builder, x, &labels.left),
            taken_apart(builder, y, &labels.right),
        );
        if left.is_none() && right.is_none() {
            return None;
        }
        let left = left.unwrap_or_else(|| vec![factor(builder, x, &labels.left)]);
        let right = right.unwrap_or_else(|| vec![factor(builder, y, &labels.right)]);
        if left.len() * right.len() > MANY {
            return None;
        }
        let mut sizes = Sizes::default();
        for (letters, arg) in [(&labels.left, call.args[0]), (&labels.right, call.args[1])] {
            sizes.add(letters, &builder.shape(arg));
        }
        put_together(builder, &products(&left, &right), &labels.result, &sizes)
            .filter(|value| !is_call(builder, *value, call))
    },
    examples: || {
        vec![
            of_two(|b, x, y| {
                let outer = b.contract(x, y, "ki,bj->kibj");
                b.contract(outer, x, "kibj,ki->bj")
            }),
            of_two(|b, x, y| {
                let scales = b.contract(x, y, "ko,ni->oi");
                let left = b.contract(x, y, "ko,ni->nkoi");
                let scaled = b.contract(left, scales, "nkoi,oi->nkoi");
                b.contract(scaled, left, "nkoi,nloi->nkl")
            }),
        ]
    },
};

/// Whether a value is what stands there already.
fn is_call(builder: &Builder, value: Value, call: &Call<'_>) -> bool {
    application(builder, value, call.op.0)
        .is_some_and(|(args, attrs)| args == call.args && attrs == call.attrs)
}

/// A product of tensors whose axes have letters.
#[derive(Clone, Debug)]
pub struct Product {
    /// The tensors.
    pub factors: Vec<(Value, Vec<char>)>,
    /// What multiplies them.
    pub coefficient: f64,
}

impl Product {
    fn of(value: Value, letters: &[char]) -> Product {
        Product {
            factors: vec![(value, letters.to_vec())],
            coefficient: 1.0,
        }
    }

    /// Whether a factor has the letter.
    pub fn has(&self, letter: char) -> bool {
        self.factors.iter().any(|(_, letters)| letters.contains(&letter))
    }

    /// The product summed over those of the letters that no factor has; `None` where one of them has no known size.
    pub fn repeated<'a>(self, letters: impl Iterator<Item = &'a char>, sizes: &Sizes) -> Option<Product> {
        let mut count = 1.0;
        for letter in letters.filter(|letter| !self.has(**letter)) {
            count *= sizes.of(*letter).fixed()? as f64;
        }
        Some(self.scaled(count))
    }

    /// A multiple.
    pub fn scaled(mut self, factor: f64) -> Product {
        self.coefficient *= factor;
        self
    }

    fn times(&self, other: &Product) -> Product {
        Product {
            factors: [self.factors.as_slice(), &other.factors].concat(),
            coefficient: self.coefficient * other.coefficient,
        }
    }
}

/// The sizes of letters.
#[derive(Clone, Debug, Default)]
pub struct Sizes(Vec<(char, Dim)>);

impl Sizes {
    /// Adds the letters of a tensor.
    pub fn add(&mut self, letters: &[char], shape: &Shape) {
        for (letter, dim) in letters.iter().zip(shape.dims()) {
            if !self.0.iter().any(|(known, _)| known == letter) {
                self.0.push((*letter, *dim));
            }
        }
    }

    /// The letters, in the order in which they came.
    pub fn letters(&self) -> impl Iterator<Item = &char> {
        self.0.iter().map(|(letter, _)| letter)
    }

    /// A capital letter of this size that was not there; none after the last.
    pub fn fresh(&mut self, dim: Dim) -> Option<char> {
        let letter = ('A'..='Z').find(|letter| !self.letters().any(|known| known == letter))?;
        self.0.push((letter, dim));
        Some(letter)
    }

    fn of(&self, letter: char) -> Dim {
        let known = self.0.iter().find(|(known, _)| *known == letter);
        known.map_or(Dim::Fixed(1), |(_, dim)| *dim)
    }

    /// The number of elements of a tensor with these letters, where symbols have sizes that are usual.
    fn count(&self, letters: &[char]) -> f64 {
        let size = |letter: &char| match self.of(*letter) {
            Dim::Fixed(size) => size as f64,
            Dim::Symbol(Symbol::Columns) => 10.0,
            Dim::Symbol(Symbol::Draws | Symbol::KlDraws) => 16.0,
            Dim::Symbol(Symbol::Selected) => 128.0,
            Dim::Symbol(Symbol::Batch) => 256.0,
            Dim::Symbol(Symbol::Examples) => 4096.0,
        };
        letters.iter().map(size).product()
    }
}

/// So many letters in order; `None` where the alphabet ends before.
pub fn letters_from(first: char, count: usize) -> Option<Vec<char>> {
    let letters: Vec<char> = (first..='z').take(count).collect();
    (letters.len() == count).then_some(letters)
}

/// `value` as a sum of products of which each has an outer product in it; `None` where there is none.
pub fn taken_apart(builder: &Builder, value: Value, letters: &[char]) -> Option<Vec<Product>> {
    if !has_outer(builder, value, &mut HashSet::new()) {
        return None;
    }
    let both = |x: Value, x_letters: &[char], y: Value, y_letters: &[char]| {
        let (left, right) = (
            taken_apart(builder, x, x_letters),
            taken_apart(builder, y, y_letters),
        );
        if left.is_none() && right.is_none() {
            return None;
        }
        let left = left.unwrap_or_else(|| vec![factor(builder, x, x_letters)]);
        let right = right.unwrap_or_else(|| vec![factor(builder, y, y_letters)]);
        (left.len() * right.len() <= MANY).then(|| products(&left, &right))
    };
    if let Some(source) = operand(builder, value, &ops::neg::NEG) {
        let terms = taken_apart(builder, source, letters)?;
        return Some(terms.into_iter().map(|term| term.scaled(-1.0)).collect());
    }
    if let Some((args, _)) = application(builder, value, &ops::mul::MUL) {
        return both(args[0], letters, args[1], letters);
    }
    for (op, sign) in [(&ops::add::ADD, 1.0), (&ops::sub::SUB, -1.0)] {
        if let Some((args, _)) = application(builder, value, op) {
            let mut terms = taken_apart(builder, args[0], letters)?;
            let others = taken_apart(builder, args[1], letters)?;
            terms.extend(others.into_iter().map(|term| term.scaled(sign)));
            return (terms.len() <= MANY).then_some(terms);
        }
    }
    if let Some((args, attrs)) = application(builder, value, &ops::transpose::TRANSPOSE) {
        return taken_apart(builder, args[0], &permuted(attr::ints(attrs, 0), letters));
    }
    let (args, attrs) = application(builder, value, &ops::contract::CONTRACT)?;
    let labels = Labels::checked(attr::symbol(attrs, 0));
    if !labels.summed().is_empty() {
        return None;
    }
    let renamed = |letters_of: &[char]| renamed(letters_of, &labels.result, letters);
    let (left, right) = (renamed(&labels.left), renamed(&labels.right));
    if is_outer(builder, args, &labels) {
        let x = split_or_factor(builder, args[0], &left);
        let y = split_or_factor(builder, args[1], &right);
        return (x.len() * y.len() <= MANY).then(|| products(&x, &y));
    }
    both(args[0], &left, args[1], &right)
}

/// Whether [`taken_apart`] may find an outer product; `seen` are values in which there is none.
fn has_outer(builder: &Builder, value: Value, seen: &mut HashSet<Value>) -> bool {
    if !seen.insert(value) {
        return false;
    }
    let NodeKind::Apply { op, args, attrs } = &builder.node(value).kind else {
        return false;
    };
    if std::ptr::eq(op.0, &ops::contract::CONTRACT) {
        let labels = Labels::checked(attr::symbol(attrs, 0));
        if !labels.summed().is_empty() {
            return false;
        }
        if is_outer(builder, args, &labels) {
            return true;
        }
    }
    let through = [
        &ops::add::ADD,
        &ops::contract::CONTRACT,
        &ops::mul::MUL,
        &ops::neg::NEG,
        &ops::sub::SUB,
        &ops::transpose::TRANSPOSE,
    ];
    let is_known = through.iter().any(|known| std::ptr::eq(*known, op.0));
    is_known && args.iter().any(|arg| has_outer(builder, *arg, seen))
}

/// [`taken_apart`] where there is an outer product, else one factor.
pub fn split_or_factor(builder: &Builder, value: Value, letters: &[char]) -> Vec<Product> {
    taken_apart(builder, value, letters).unwrap_or_else(|| vec![factor(builder, value, letters)])
}

/// Whether a value is a contraction that is larger than each of its operands.
pub fn is_outer_product(builder: &Builder, value: Value) -> bool {
    let contraction = application(builder, value, &ops::contract::CONTRACT);
    contraction.is_some_and(|(args, attrs)| {
        let labels = Labels::checked(attr::symbol(attrs, 0));
        labels.summed().is_empty() && is_outer(builder, args, &labels)
    })
}

/// Whether a contraction without a sum is larger than each of its operands.
fn is_outer(builder: &Builder, args: &[Value], labels: &Labels) -> bool {
    let alone = |own: &[char], other: &[char], arg: Value| {
        let dims = builder.ty(arg).dims();
        let mut axes = own.iter().zip(dims);
        axes.any(|(letter, dim)| *dim != Dim::Fixed(1) && !other.contains(letter))
    };
    alone(&labels.left, &labels.right, args[0]) && alone(&labels.right, &labels.left, args[1])
}

/// A tensor as one factor: constants are coefficients, repetitions have fewer letters.
fn factor(builder: &Builder, value: Value, letters: &[char]) -> Product {
    if let Some(number) = constant_of(builder, value) {
        return Product {
            factors: Vec::new(),
            coefficient: number,
        };
    }
    if let Some((source, axes)) = repetition(builder, value) {
        let kept: Vec<char> = axes.iter().map(|axis| letters[*axis]).collect();
        return factor(builder, source, &kept);
    }
    if let Some((args, attrs)) = application(builder, value, &ops::transpose::TRANSPOSE) {
        return factor(builder, args[0], &permuted(attr::ints(attrs, 0), letters));
    }
    Product::of(value, letters)
}

/// The letters of the operand of a permutation.
pub fn permuted(axes: &[i64], letters: &[char]) -> Vec<char> {
    let mut inner = letters.to_vec();
    for (at, axis) in axes.iter().enumerate() {
        inner[*axis as usize] = letters[at];
    }
    inner
}

/// Letters of `from` as those of `to`.
pub fn renamed(letters: &[char], from: &[char], to: &[char]) -> Vec<char> {
    let one = |letter: &char| {
        let at = from.iter().position(|known| known == letter);
        at.map_or(*letter, |at| to[at])
    };
    letters.iter().map(one).collect()
}

/// The products of each with each.
pub fn products(left: &[Product], right: &[Product]) -> Vec<Product> {
    left.iter()
        .flat_map(|x| right.iter().map(|y| x.times(y)))
        .collect()
}

/// The sum of products, each contracted to the letters `result`; `None` where an axis of the result has no letter in them.
pub fn put_together(
    builder: &mut Builder,
    terms: &[Product],
    result: &[char],
    sizes: &Sizes,
) -> Option<Value> {
    let mut sum: Option<Value> = None;
    for term in terms {
        let term = term.clone().repeated(sizes.letters(), sizes)?;
        let value = contracted(builder, &term, result, sizes)?;
        sum = Some(match sum {
            Some(before) => builder.add(before, value),
            None => value,
        });
    }
    sum
}

/// A product contracted to the letters `result`.
pub fn contracted(builder: &mut Builder, product: &Product, result: &[char], sizes: &Sizes) -> Option<Value> {
    let mut factors = product.factors.clone();
    // Equal products are then equal nodes.
    factors.sort();
    let has = |factors: &[(Value, Vec<char>)], letter: &char| {
        factors.iter().any(|(_, letters)| letters.contains(letter))
    };
    if !result.iter().all(|letter| has(&factors, letter)) {
        return None;
    }
    while factors.len() > 2 {
        let (left, right) = best_pair(&factors, result, sizes);
        let letters = left_over(&factors, [left, right], result);
        let (second, first) = (factors.remove(right), factors.remove(left));
        let labels = Labels {
            left: first.1,
            right: second.1,
            result: letters.clone(),
        };
        let value = builder.contract(first.0, second.0, &labels.to_string());
        factors.push((value, letters));
    }
    let value = match factors.as_slice() {
        [first, second] => {
            let labels = Labels {
                left: first.1.clone(),
                right: second.1.clone(),
                result: result.to_vec(),
            };
            builder.contract(first.0, second.0, &labels.to_string())
        }
        [(only, letters)] => summed(builder, *only, letters, result),
        _ => builder.real(1.0),
    };
    Some(match product.coefficient {
        1.0 => value,
        -1.0 => builder.neg(value),
        coefficient => builder.scale(value, coefficient),
    })
}

fn summed(builder: &mut Builder, value: Value, letters: &[char], result: &[char]) -> Value {
    let removed: Vec<usize> = (0..letters.len())
        .filter(|at| !result.contains(&letters[*at]))
        .collect();
    let kept: Vec<char> = letters.iter().copied().filter(|l| result.contains(l)).collect();
    let sum = builder.reduce_sum(value, &removed);
    let axes: Vec<usize> = result
        .iter()
        .filter_map(|letter| kept.iter().position(|known| known == letter))
        .collect();
    builder.transpose(sum, &axes)
}

/// The pair whose contraction is smallest against what it replaces.
fn best_pair(factors: &[(Value, Vec<char>)], result: &[char], sizes: &Sizes) -> (usize, usize) {
    let mut best = (0, 1);
    let mut least = f64::INFINITY;
    for left in 0..factors.len() {
        for right in left + 1..factors.len() {
            let made = sizes.count(&left_over(factors, [left, right], result));
            let gain = made - sizes.count(&factors[left].1) - sizes.count(&factors[right].1);
            if gain < least {
                (least, best) = (gain, (left, right));
            }
        }
    }
    best
}

/// The letters of the contraction of two factors: those that the result or another factor has.
fn left_over(factors: &[(Value, Vec<char>)], pair: [usize; 2], result: &[char]) -> Vec<char> {
    let others = || (0..factors.len()).filter(|at| !pair.contains(at));
    let is_needed =
        |letter: &char| result.contains(letter) || others().any(|at| factors[at].1.contains(letter));
    let mut letters: Vec<char> = Vec::new();
    for letter in pair.iter().flat_map(|at| &factors[*at].1) {
        if is_needed(letter) && !letters.contains(letter) {
            letters.push(*letter);
        }
    }
    letters
}
