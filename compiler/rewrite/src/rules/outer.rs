//! Rules that compute sums of outer products without storing any outer product.
//!
//! Note [Sums of outer products]. The gradient of a weight matrix in one row is an outer product, as large as the matrix. Often, only a smaller value
//! is needed: the squared gradients summed over the rows, or the product of the gradient and another outer product. The rules decompose such a
//! sum into all its factors, and assign a letter to each axis of a factor. The factors are then contracted in pairs. Each step contracts the pair
//! that adds the fewest elements: the size of the contraction minus the sizes of the two factors. A sum of outer products is
//! expanded into the products of all pairs of terms.

mod product;

use crate::nodes::{self, application, constant_of, operand};
use crate::rule::{PendingNode, Rule, computed};
use crate::rules::broadcast::repetition;
use crate::term::{Bindings, X, Y, contract, example, on, sum};
use bnnc_base::shape::Dim;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{NodeKind, Value};
use bnnc_graph::infer::without_axes;
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::ops;
use bnnc_graph::ops::contract::CONTRACT;
use bnnc_graph::ops::reduce_sum::REDUCE_SUM;
pub use product::{LetterSizes, LetteredProduct};
use std::collections::HashSet;

/// A value is not split if the result would have more products than this.
const MANY: usize = 16;

/// Why the replacements of these rules cannot be written as terms.
const SEARCH: &str = "the number of factors differs from sum to sum, and the best order is searched for";

/// The rules for outer products. They are tried in this order.
pub static RULES: &[Rule] = &[
    Rule {
        // A sum over the elements of a product that contains an outer product becomes a contraction of the
        // factors.
        name: "sum-of-outer-product",
        cases: || vec![computed(on(&REDUCE_SUM, [X]), contracted_sum, SEARCH)],
        examples: || {
            let cube = contract(X, Y, "no,ni->noi");
            let difference = cube.clone() - contract(Y, X, "no,ni->noi");
            [cube, difference]
                .map(|value| example(sum(value.clone() * value, &[0])))
                .into()
        },
    },
    Rule {
        // If an operand of a contraction is an outer product, the factors of this operand are contracted instead.
        name: "contract-of-outer-product",
        cases: || vec![computed(on(&CONTRACT, [X, Y]), contracted_factors, SEARCH)],
        examples: || {
            let one = contract(contract(X, Y, "ki,bj->kibj"), X, "kibj,ki->bj");
            let (scales, left) = (contract(X, Y, "ko,ni->oi"), contract(X, Y, "ko,ni->nkoi"));
            let scaled = contract(left.clone(), scales, "nkoi,oi->nkoi");
            vec![example(one), example(contract(scaled, left, "nkoi,nloi->nkl"))]
        },
    },
];

fn contracted_sum(builder: &mut Builder, call: &PendingNode<'_>, _: &Bindings) -> Option<Value> {
    let removed = ops::reduce_sum::positions(call.attrs);
    let shape = builder.shape(call.args[0]);
    let letters = letters_from('a', shape.rank())?;
    let taken = taken_apart(builder, call.args[0], &letters)?;
    let kept = (0..letters.len()).filter(|axis| !removed.contains(axis));
    let result = kept.map(|axis| letters[axis]).collect::<Vec<char>>();
    let mut sizes = LetterSizes::default();
    sizes.add(&letters, &shape);
    put_together(builder, &taken, &result, &sizes)
        .filter(|value| builder.shape(*value) == without_axes(&shape, &removed))
}

fn contracted_factors(builder: &mut Builder, call: &PendingNode<'_>, _: &Bindings) -> Option<Value> {
    let labels = ops::contract::parsed(call.attrs);
    if labels.summed().is_empty() {
        return None;
    }
    let [x, y] = [0, 1].map(|at| call.args[at]);
    let apart = Apart::of(builder, &[x, y]);
    let taken = apart.both((x, &labels.left), (y, &labels.right))?;
    let mut sizes = LetterSizes::default();
    for (letters, arg) in [(&labels.left, x), (&labels.right, y)] {
        sizes.add(letters, &builder.shape(arg));
    }
    put_together(builder, &taken, &labels.result, &sizes).filter(|value| !is_call(builder, *value, call))
}

/// Returns whether a value equals the call that is being rewritten.
fn is_call(builder: &Builder, value: Value, call: &PendingNode<'_>) -> bool {
    application(builder, value, call.op.0)
        .is_some_and(|(args, attrs)| args == call.args && attrs == call.attrs)
}

/// Returns `count` consecutive letters that start with `first`. Returns `None` if they do not fit between `first`
/// and `z`.
pub fn letters_from(first: char, count: usize) -> Option<Vec<char>> {
    let letters: Vec<char> = (first..='z').take(count).collect();
    (letters.len() == count).then_some(letters)
}

/// Splits `value` into a sum of products. Each product contains an outer product. Returns `None` if `value` does not contain an outer product.
pub fn taken_apart(builder: &Builder, value: Value, letters: &[char]) -> Option<Vec<LetteredProduct>> {
    Apart::of(builder, &[value]).taken(value, letters)
}

/// A value with letters for its axes.
type Lettered<'a> = (Value, &'a [char]);

/// Splits values into products.
struct Apart<'a> {
    builder: &'a Builder,
    /// The values that may contain an outer product.
    outer: HashSet<Value>,
}

impl<'a> Apart<'a> {
    /// Finds the values that may contain outer products. It examines `values` and everything from which they are computed.
    fn of(builder: &'a Builder, values: &[Value]) -> Apart<'a> {
        let mut outer = HashSet::new();
        let mut seen = HashSet::new();
        for value in values {
            find_outer(builder, *value, &mut seen, &mut outer);
        }
        Apart { builder, outer }
    }

    /// Implements [`taken_apart`].
    fn taken(&self, value: Value, letters: &[char]) -> Option<Vec<LetteredProduct>> {
        if !self.outer.contains(&value) {
            return None;
        }
        let mut part = |value: Value, letters: &[char]| self.taken(value, letters);
        if let Some(found) = of_linear(self.builder, value, letters, &mut part) {
            return found.filter(|terms| terms.len() <= MANY);
        }
        if let Some((args, _)) = application(self.builder, value, &ops::mul::MUL) {
            return self.both((args[0], letters), (args[1], letters));
        }
        let (args, attrs) = application(self.builder, value, &CONTRACT)?;
        let labels = ops::contract::parsed(attrs);
        let [left, right] =
            [&labels.left, &labels.right].map(|letters_of| renamed(letters_of, &labels.result, letters));
        match is_outer(self.builder, args, &labels) {
            true => few(&self.or_factor(args[0], &left), &self.or_factor(args[1], &right)),
            false => self.both((args[0], &left), (args[1], &right)),
        }
    }

    /// Returns the product of two values if at least one of them contains an outer product.
    fn both(&self, x: Lettered<'_>, y: Lettered<'_>) -> Option<Vec<LetteredProduct>> {
        let (left, right) = (self.taken(x.0, x.1), self.taken(y.0, y.1));
        if left.is_none() && right.is_none() {
            return None;
        }
        let whole = |(value, letters): Lettered<'_>| vec![factor(self.builder, value, letters)];
        few(
            &left.unwrap_or_else(|| whole(x)),
            &right.unwrap_or_else(|| whole(y)),
        )
    }

    fn or_factor(&self, value: Value, letters: &[char]) -> Vec<LetteredProduct> {
        let taken = self.taken(value, letters);
        taken.unwrap_or_else(|| vec![factor(self.builder, value, letters)])
    }
}

/// Returns the products of all pairs of a left and a right product. Returns `None` if the result would have more products than [`MANY`].
fn few(left: &[LetteredProduct], right: &[LetteredProduct]) -> Option<Vec<LetteredProduct>> {
    (left.len() * right.len() <= MANY).then(|| products(left, right))
}

/// Finds products whose sum is the given value. The letters are those of its axes.
pub type Finder<'a> = dyn FnMut(Value, &[char]) -> Option<Vec<LetteredProduct>> + 'a;

/// Splits a negation, a sum, a difference or a permutation into products. `part` finds the products in the operands. The outer `None` means that
/// `value` is another kind of op.
pub fn of_linear(
    builder: &Builder,
    value: Value,
    letters: &[char],
    part: &mut Finder<'_>,
) -> Option<Option<Vec<LetteredProduct>>> {
    let times = |terms: Vec<LetteredProduct>, sign: f64| terms.into_iter().map(move |term| term.scaled(sign));
    if let Some(source) = operand(builder, value, &ops::neg::NEG) {
        return Some(part(source, letters).map(|terms| times(terms, -1.0).collect()));
    }
    for (op, sign) in [(&ops::add::ADD, 1.0), (&ops::sub::SUB, -1.0)] {
        if let Some((args, _)) = application(builder, value, op) {
            let terms = part(args[0], letters);
            return Some(terms.and_then(|mut terms| {
                terms.extend(times(part(args[1], letters)?, sign));
                Some(terms)
            }));
        }
    }
    let (args, attrs) = application(builder, value, &ops::transpose::TRANSPOSE)?;
    Some(part(args[0], &permuted(ops::transpose::axes(attrs), letters)))
}

/// Adds to `outer` every value that may contain an outer product for [`Apart::taken`]. The search covers a value and everything from
/// which it is computed. `seen` holds the values that were already examined.
fn find_outer(
    builder: &Builder,
    value: Value,
    seen: &mut HashSet<Value>,
    outer: &mut HashSet<Value>,
) -> bool {
    let NodeKind::Apply { op, args, attrs } = &builder.node(value).kind else {
        return false;
    };
    if !seen.insert(value) {
        return outer.contains(&value);
    }
    let mut is_one = false;
    if op.is(&CONTRACT) {
        let labels = ops::contract::parsed(attrs);
        if !labels.summed().is_empty() {
            return false;
        }
        is_one = is_outer(builder, args, &labels);
    }
    let through = [
        &ops::add::ADD,
        &CONTRACT,
        &ops::mul::MUL,
        &ops::neg::NEG,
        &ops::sub::SUB,
        &ops::transpose::TRANSPOSE,
    ];
    if op.is_one_of(&through) {
        for arg in args {
            is_one |= find_outer(builder, *arg, seen, outer);
        }
    }
    if is_one {
        outer.insert(value);
    }
    is_one
}

/// Returns the result of [`taken_apart`]. If the value does not contain an outer product, the value itself is the only
/// factor.
pub fn split_or_factor(builder: &Builder, value: Value, letters: &[char]) -> Vec<LetteredProduct> {
    taken_apart(builder, value, letters).unwrap_or_else(|| vec![factor(builder, value, letters)])
}

/// Returns whether a value is a contraction that is larger than each of its operands.
pub fn is_outer_product(builder: &Builder, value: Value) -> bool {
    let contraction = application(builder, value, &CONTRACT);
    contraction.is_some_and(|(args, attrs)| {
        let labels = ops::contract::parsed(attrs);
        labels.summed().is_empty() && is_outer(builder, args, &labels)
    })
}

/// Returns whether a contraction is larger than each of its operands and does not sum over any
/// letter.
fn is_outer(builder: &Builder, args: &[Value], labels: &ContractionLabels) -> bool {
    let alone = |own: &[char], other: &[char], arg: Value| {
        let dims = builder.ty(arg).dims();
        let mut axes = own.iter().zip(dims);
        axes.any(|(letter, dim)| *dim != Dim::Fixed(1) && !other.contains(letter))
    };
    alone(&labels.left, &labels.right, args[0]) && alone(&labels.right, &labels.left, args[1])
}

/// Returns a tensor as a product with a single factor. A constant becomes the coefficient. The factor for a broadcast does not have
/// the letters of the repeated axes.
fn factor(builder: &Builder, value: Value, letters: &[char]) -> LetteredProduct {
    if let Some(number) = constant_of(builder, value) {
        return LetteredProduct {
            factors: Vec::new(),
            coefficient: number,
        };
    }
    if let Some((source, axes)) = repetition(builder, value) {
        let kept: Vec<char> = axes.iter().map(|axis| letters[*axis]).collect();
        return factor(builder, source, &kept);
    }
    if let Some((args, attrs)) = application(builder, value, &ops::transpose::TRANSPOSE) {
        return factor(builder, args[0], &permuted(ops::transpose::axes(attrs), letters));
    }
    LetteredProduct::of(value, letters)
}

/// Returns the letters of a permutation's operand. `letters` are the letters of the permutation's result.
pub fn permuted(axes: &[i64], letters: &[char]) -> Vec<char> {
    let mut inner = letters.to_vec();
    for (at, axis) in axes.iter().enumerate() {
        inner[*axis as usize] = letters[at];
    }
    inner
}

/// Replaces each letter in `from` by the corresponding letter in `to`.
pub fn renamed(letters: &[char], from: &[char], to: &[char]) -> Vec<char> {
    let one = |letter: &char| {
        let at = from.iter().position(|known| known == letter);
        at.map_or(*letter, |at| to[at])
    };
    letters.iter().map(one).collect()
}

/// Returns the products of all pairs of a left and a right product.
pub fn products(left: &[LetteredProduct], right: &[LetteredProduct]) -> Vec<LetteredProduct> {
    left.iter()
        .flat_map(|x| right.iter().map(|y| x.times(y)))
        .collect()
}

/// Contracts each of some products to the letters `result`, and returns their sum. Returns `None` if one of these letters does not occur in a
/// product.
pub fn put_together(
    builder: &mut Builder,
    terms: &[LetteredProduct],
    result: &[char],
    sizes: &LetterSizes,
) -> Option<Value> {
    let mut sum: Option<Value> = None;
    for term in terms {
        let term = term.clone().repeated(sizes.letters(), sizes)?;
        let value = contracted(builder, &term, result, sizes)?;
        sum = nodes::sum(builder, sum, Some(value));
    }
    sum
}

/// Contracts a product to the letters `result`. Returns `None` if one of these letters does not occur
/// in any factor.
pub fn contracted(
    builder: &mut Builder,
    product: &LetteredProduct,
    result: &[char],
    sizes: &LetterSizes,
) -> Option<Value> {
    let mut factors = product.factors.clone();
    // Sorting the factors gives equal products the same nodes.
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
        let labels = ContractionLabels {
            left: first.1,
            right: second.1,
            result: letters.clone(),
        };
        let value = builder.contract(first.0, second.0, &labels.to_string());
        factors.push((value, letters));
    }
    let value = match factors.as_slice() {
        [first, second] => {
            let labels = ContractionLabels {
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

/// Returns the pair of factors whose contraction grows the least. The growth is the size of the contraction minus the sizes of the two
/// factors.
fn best_pair(factors: &[(Value, Vec<char>)], result: &[char], sizes: &LetterSizes) -> (usize, usize) {
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

/// Returns the letters of the contraction of two factors. These are the letters of the two factors that the result or another factor needs.
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
