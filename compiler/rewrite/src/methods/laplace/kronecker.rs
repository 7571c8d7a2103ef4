//! Kronecker factors of the curvature (Martens and Grosse 2015, section 3), for weights whose
//! gradient is an outer product.
//!
//! Note \[Uses\]. The gradient of a weight matrix in one row is `g a'`: `g` depends on the
//! cotangent, and `a` depends only on the row. If a matrix is used several times (at the positions
//! of a sequence, or in several places), its gradient is a sum of outer products. The products
//! between two different uses are then omitted, so that each use is treated as an additional row
//! ("expand", Eschenhagen et al. 2023, section 3.2). The left factor is the mean of `a a'` over the
//! uses, and the right factor is the sum of `g g'`. A convolution uses its matrix once at every
//! position of its window, and `a` holds the values in the window. The factors are then the factors
//! of theorem 1 of Grosse and Martens (2016), except that the mean over the uses is taken in the
//! left factor and not in the right one. The product of the two factors is the same. A lookup table
//! is treated as a matrix. For this matrix, `a` is the row of the identity matrix at the looked-up
//! position.

use super::super::task::RewriteError;
use super::jacobian::{over_columns, over_rows, pulled};
use super::lookups;
use super::outputs::LaplaceParts;
use crate::nodes::{self, Scope, application};
use crate::rules::outer::{
    LetterSizes, LetteredProduct, contracted, letters_from, of_linear, products, renamed, split_or_factor,
};
use crate::{diagnostics, rule, simplify, unroll};
use bnnc_abi::methods::laplace::WeightBlock;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::ops;
use std::collections::HashSet;
use std::sync::Arc;

/// The largest number of elements of a weight with a dense block. These are the weights whose
/// gradient is not an outer product.
pub const WHOLE: usize = 4096;

/// Returns the blocks, and the function `(.., cotangents) -> BLOCK/left, BLOCK/right`. See Note
/// \[Uses\].
///
/// # Errors
/// Fails if an op does not have a derivative, or if a weight is too large for a dense block and its
/// gradient is not an outer product.
pub fn factors(parts: &LaplaceParts<'_>) -> Result<(Vec<WeightBlock>, Function), RewriteError> {
    let gradients = simplify::simplify(&unroll::expand_loops(&pulled(parts)?))?;
    let mut builder = Builder::new("factors");
    let params = nodes::params_of(&mut builder, &gradients);
    let values = lookups::inline(&mut builder, &gradients, &params);
    let moves = nodes::dependents_of(builder.function(), |name| name == PortName::Cotangents.text());
    let mut forms = Vec::new();
    let mut faults = Vec::new();
    for (weight, value) in parts.weights.iter().zip(values) {
        let elements = weight.elements();
        let form = outer(&mut builder, value, &moves);
        match form.filter(|form| form.block(&builder, 0, String::new()).left > 1) {
            Some(form) => forms.push(form),
            None if elements <= WHOLE => forms.push(Form::Whole(value)),
            None => faults.push(diagnostics::too_large(&weight.site.name, elements, WHOLE)),
        }
    }
    diagnostics::unless(faults, ())?;
    let blocks = parts.weights.iter().enumerate().zip(&forms);
    let blocks: Vec<WeightBlock> = blocks
        .map(|((at, weight), form)| form.block(&builder, at, weight.state()))
        .collect();
    let one = builder.finish(Vec::new());
    let pieces = |values: Vec<Value>| {
        let names = (0..values.len()).map(|at| at.to_string().into());
        let results = names.zip(values).collect();
        let whole = Function {
            results,
            ..one.clone()
        };
        rule::remove_dead(&whole)
    };
    let lefts = pieces(forms.iter().flat_map(Form::lefts).collect());
    let rights = pieces(forms.iter().flat_map(Form::rights).collect());
    let lefts = over_rows(parts, &nodes::without_param(&lefts, PortName::Cotangents.text()));
    let rights = over_rows(parts, &over_columns(&rights));
    let function = sums([&lefts, &rights], &forms, &blocks);
    Ok((blocks, function))
}

/// The form of the gradient of a weight.
enum Form {
    /// A sum of outer products.
    Outer {
        uses: Vec<Use>,
        /// True if the axes of the right vectors come before the axes of the left vectors.
        swapped: bool,
    },
    /// Any other gradient.
    Whole(Value),
}

/// One outer product, or a sum of outer products with one product per position.
struct Use {
    /// The factor that depends only on the row. The leading axes of this factor are positions,
    /// followed by axes of the weight.
    left: Value,
    /// The factor that depends on the cotangent. The leading axes of this factor are positions,
    /// followed by the other axes of the weight.
    right: Value,
    /// The number of leading axes of `left` and `right` that are positions.
    positions: usize,
}

impl Form {
    fn lefts(&self) -> Vec<Value> {
        match self {
            Form::Outer { uses, .. } => uses.iter().map(|each| each.left).collect(),
            Form::Whole(_) => Vec::new(),
        }
    }

    fn rights(&self) -> Vec<Value> {
        match self {
            Form::Outer { uses, .. } => uses.iter().map(|each| each.right).collect(),
            Form::Whole(value) => vec![*value],
        }
    }

    fn block(&self, builder: &Builder, weights: usize, name: String) -> WeightBlock {
        let count = |value: Value, from: usize| size(&builder.ty(value).dims()[from..]);
        let (left, right, swapped) = match self {
            Form::Outer { uses, swapped } => {
                let first = &uses[0];
                (
                    count(first.left, first.positions),
                    count(first.right, first.positions),
                    *swapped,
                )
            }
            Form::Whole(value) => (1, count(*value, 0), false),
        };
        WeightBlock {
            name,
            weights,
            left,
            right,
            swapped,
        }
    }
}

fn size(dims: &[Dim]) -> usize {
    dims.iter().filter_map(|dim| dim.fixed()).product()
}

/// Splits a gradient into outer products. Returns `None` if the gradient is not a sum of outer
/// products.
fn outer(builder: &mut Builder, value: Value, moves: &HashSet<Value>) -> Option<Form> {
    let shape = builder.shape(value);
    let letters = letters_from('a', shape.rank())?;
    let mut sizes = LetterSizes::default();
    sizes.add(&letters, &shape);
    let terms = terms(builder, value, &letters, &mut sizes)?;
    let mut uses = Vec::new();
    let mut orders = Vec::new();
    for term in terms {
        let (left, right) = halves(&term, &letters, moves)?;
        let own = |product: &LetteredProduct| {
            letters
                .iter()
                .filter(|l| product.has(**l))
                .copied()
                .collect::<Vec<char>>()
        };
        let (of_left, of_right) = (own(&left), own(&right));
        let is_whole = of_left.len() + of_right.len() == letters.len();
        if !is_whole || of_left.is_empty() || of_right.is_empty() {
            return None;
        }
        let is_position = |l: &char| !letters.contains(l) && left.has(*l) && right.has(*l);
        let positions: Vec<char> = sizes.letters().copied().filter(is_position).collect();
        let axes = |own: &[char]| [positions.as_slice(), own].concat();
        uses.push(Use {
            left: contracted(builder, &left, &axes(&of_left), &sizes)?,
            right: contracted(builder, &right, &axes(&of_right), &sizes)?,
            positions: positions.len(),
        });
        orders.push((of_left, of_right));
    }
    let (first, second) = orders.first()?;
    let in_order = [first.as_slice(), second].concat() == letters;
    let swapped = [second.as_slice(), first].concat() == letters;
    let is_one = orders.iter().all(|order| order.0 == *first);
    (is_one && (in_order || swapped)).then_some(Form::Outer {
        uses,
        swapped: !in_order,
    })
}

/// Returns a gradient as a sum of products. Adds the sizes of the letters over which a product sums
/// to `sizes`.
fn terms(
    builder: &Builder,
    value: Value,
    letters: &[char],
    sizes: &mut LetterSizes,
) -> Option<Vec<LetteredProduct>> {
    let mut part = |value: Value, letters: &[char]| terms(builder, value, letters, sizes);
    if let Some(found) = of_linear(builder, value, letters, &mut part) {
        return found;
    }
    if let Some((args, attrs)) = application(builder, value, &ops::reduce_sum::REDUCE_SUM) {
        let removed = ops::reduce_sum::positions(attrs);
        let shape = builder.shape(args[0]);
        let mut kept = letters.iter().copied();
        let inner: Option<Vec<char>> = (0..shape.rank())
            .map(|axis| match removed.contains(&axis) {
                true => sizes.fresh(shape.dims()[axis]),
                false => kept.next(),
            })
            .collect();
        let inner = inner?;
        return summed(split_or_factor(builder, args[0], &inner), &inner, letters, sizes);
    }
    if let Some((args, attrs)) = application(builder, value, &ops::contract::CONTRACT) {
        let labels = ops::contract::parsed(attrs);
        let (mut from, mut to) = (labels.result.clone(), letters.to_vec());
        for letter in labels.summed() {
            let at = |own: &[char], arg: Value| {
                let place = own.iter().position(|known| *known == letter);
                place.map(|at| builder.ty(arg).dims()[at])
            };
            let dim = at(&labels.left, args[0]).or_else(|| at(&labels.right, args[1]))?;
            from.push(letter);
            to.push(sizes.fresh(dim)?);
        }
        let left = split_or_factor(builder, args[0], &renamed(&labels.left, &from, &to));
        let right = split_or_factor(builder, args[1], &renamed(&labels.right, &from, &to));
        return summed(products(&left, &right), &to, letters, sizes);
    }
    Some(split_or_factor(builder, value, letters))
}

/// Multiplies the factors, and sums over those letters in `all` that are not in `kept`.
fn summed(
    terms: Vec<LetteredProduct>,
    all: &[char],
    kept: &[char],
    sizes: &LetterSizes,
) -> Option<Vec<LetteredProduct>> {
    let removed = || all.iter().filter(|letter| !kept.contains(letter));
    terms
        .into_iter()
        .map(|term| term.repeated(removed(), sizes))
        .collect()
}

/// Splits a product into a part that depends only on the row, and a part that depends on the
/// cotangent. A factor belongs to the second part if it has an axis of the weight in common with
/// the cotangent's factor.
fn halves(
    product: &LetteredProduct,
    letters: &[char],
    moves: &HashSet<Value>,
) -> Option<(LetteredProduct, LetteredProduct)> {
    let factors = product.factors.iter();
    let mut right: Vec<bool> = factors.map(|(value, _)| moves.contains(value)).collect();
    loop {
        let taken = |letter: &char| {
            let mut factors = product.factors.iter().zip(&right);
            letters.contains(letter) && factors.any(|((_, own), is_right)| *is_right && own.contains(letter))
        };
        let next = (0..right.len()).find(|at| !right[*at] && product.factors[*at].1.iter().any(taken));
        match next {
            Some(at) => right[at] = true,
            None => break,
        }
    }
    let part = |wanted: bool, coefficient: f64| LetteredProduct {
        factors: (0..right.len())
            .filter(|at| right[*at] == wanted)
            .map(|at| product.factors[at].clone())
            .collect(),
        coefficient,
    };
    let halves = (part(false, 1.0), part(true, product.coefficient));
    (!halves.0.factors.is_empty() && !halves.1.factors.is_empty()).then_some(halves)
}

/// Returns the products of each vector with itself, summed over rows, columns and uses.
fn sums([lefts, rights]: [&Function; 2], forms: &[Form], blocks: &[WeightBlock]) -> Function {
    let mut builder = Builder::new("factors");
    let mut scope = Scope::default();
    for (param, value) in rights.params.iter().zip(nodes::params_of(&mut builder, rights)) {
        scope.set(nodes::param_name(rights, *param), value);
    }
    let values = |named: Vec<(Arc<str>, Value)>| named.into_iter().map(|(_, value)| value);
    let mut lefts = values(scope.call(&mut builder, lefts));
    let mut rights = values(scope.call(&mut builder, rights));
    let mut results: Vec<(Arc<str>, Value)> = Vec::new();
    for (form, block) in forms.iter().zip(blocks) {
        let uses = form.lefts().len();
        if uses > 0 {
            let pieces: Vec<Value> = lefts.by_ref().take(uses).collect();
            let elements: usize = pieces.iter().map(|piece| size(builder.ty(*piece).dims())).sum();
            let sum = grams(&mut builder, &pieces, block.left);
            let mean = builder.scale(sum, block.left as f64 / elements.max(1) as f64);
            results.push((PortName::Left.of(&block.name).into(), mean));
        }
        let pieces: Vec<Value> = rights.by_ref().take(form.rights().len()).collect();
        let sum = grams(&mut builder, &pieces, block.right);
        results.push((PortName::Right.of(&block.name).into(), sum));
    }
    builder.finish(results)
}

/// Returns the sum of `v v'` over all vectors `v` in `pieces`, which have `size` elements each.
fn grams(builder: &mut Builder, pieces: &[Value], size: usize) -> Value {
    let mut sum: Option<Value> = None;
    for piece in pieces {
        let dims = builder.ty(*piece).dims();
        let symbols = dims.iter().copied().filter(|dim| dim.fixed().is_none());
        let count = self::size(dims) / size.max(1);
        let shape = Shape(symbols.chain([Dim::Fixed(count), Dim::Fixed(size)]).collect());
        let vectors = builder.reshape(*piece, &shape);
        let summed: String = ('a'..='z').take(shape.rank() - 1).collect();
        let gram = builder.contract(vectors, vectors, &format!("{summed}I,{summed}J->IJ"));
        sum = nodes::sum(builder, sum, Some(gram));
    }
    sum.unwrap_or_else(|| builder.splat(0.0, &Shape::fixed(&[size, size])))
}
