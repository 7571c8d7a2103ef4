//! `contract x, y, labels`: products summed over labelled axes, such as matrix, dot and outer products.

use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::example;
use crate::function::Value;
use crate::infer::{self, Inferred};
use crate::labels::ContractionLabels;
use crate::op::{Arity, Batch, Example, KernelKind, Lower, OpCall, OpDef, Vjp};
use crate::tensor::{Tensor, advance};
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};

attributes! { labels: Symbol }

/// Products summed over labelled axes.
pub static CONTRACT: OpDef = OpDef {
    name: "contract",
    doc: "Products of elements, summed over some axes: `ij,bj->bi` names every axis of both operands and of the result by a letter, and sums over letters that the result does not have.",
    arity: Arity::Exactly(2),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(vjp),
    batch: Batch::Rule(batch),
    range: |x, attrs| {
        let product = x[0].times(x[1]);
        if parsed(attrs).summed().is_empty() {
            product
        } else {
            product.sum_of_some()
        }
    },
    lower: Lower::Kernel(KernelKind::Contract),
    examples,
};

/// Returns the parsed labels of a contraction.
pub fn parsed(attrs: &[Attr]) -> ContractionLabels {
    ContractionLabels::checked(labels(attrs))
}

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    infer::expect_dtype(types, 0, &[DType::Real])?;
    infer::expect_dtype(types, 1, &[DType::Real])?;
    let text = labels(attrs);
    let labels = ContractionLabels::parse(text)?;
    let mut sizes: Vec<(char, Dim)> = Vec::new();
    for (letters, ty) in [(&labels.left, types[0]), (&labels.right, types[1])] {
        if letters.len() != ty.rank() {
            return Err(CallError::Rule(format!(
                "one letter of `{text}` for each axis of {ty}"
            )));
        }
        for (letter, dim) in letters.iter().zip(ty.dims()) {
            match sizes.iter().find(|(known, _)| known == letter) {
                Some((_, size)) if size != dim => {
                    return Err(CallError::Rule(format!(
                        "`{letter}` of `{text}` to have one size, found {size} and {dim}"
                    )));
                }
                _ => sizes.push((*letter, *dim)),
            }
        }
    }
    let size = |letter: &char| {
        sizes
            .iter()
            .find(|(known, _)| known == letter)
            .map(|(_, dim)| *dim)
    };
    Ok(Type::real(Shape(labels.result.iter().filter_map(size).collect())))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let labels = parsed(attrs);
    let letters = labels.all();
    let size = |letter: &char| {
        let place = |list: &[char], of: &Tensor| list.iter().position(|l| l == letter).map(|at| of.shape[at]);
        place(&labels.left, x[0])
            .or_else(|| place(&labels.right, x[1]))
            .unwrap_or(1)
    };
    let sizes: Vec<usize> = letters.iter().map(size).collect();
    let of = |list: &[char]| -> Vec<usize> {
        list.iter()
            .filter_map(|letter| letters.iter().position(|l| l == letter))
            .collect()
    };
    let (left, right, rank) = (of(&labels.left), of(&labels.right), labels.result.len());
    let pick = |places: &[usize], index: &[usize]| places.iter().map(|at| index[*at]).collect::<Vec<_>>();
    let summed: usize = sizes[rank..].iter().product();
    Tensor::from_fn(sizes[..rank].to_vec(), |outer| {
        let mut index = outer.to_vec();
        index.resize(sizes.len(), 0);
        let mut sum = 0.0;
        for _ in 0..summed {
            sum += x[0].at(&pick(&left, &index)) * x[1].at(&pick(&right, &index));
            advance(&mut index[rank..], &sizes[rank..]);
        }
        sum
    })
}

fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let labels = parsed(site.attrs);
    let (x, y) = (site.args[0], site.args[1]);
    let left = cotangent(b, dy, (x, &labels.left), (y, &labels.right), &labels.result);
    let right = cotangent(b, dy, (y, &labels.right), (x, &labels.left), &labels.result);
    vec![Some(left), Some(right)]
}

/// Returns the cotangent of one operand: contracts the cotangent of the result with the other
/// operand. If a letter occurs only in this operand, the contraction sums over it, so the cotangent
/// is constant along the axis of the letter.
fn cotangent(
    b: &mut Builder,
    dy: Value,
    this: (Value, &[char]),
    other: (Value, &[char]),
    result: &[char],
) -> Value {
    let alone = |letter: &char| !other.1.contains(letter) && !result.contains(letter);
    let removed: Vec<usize> = (0..this.1.len()).filter(|at| alone(&this.1[*at])).collect();
    let kept = this.1.iter().copied().filter(|letter| !alone(letter)).collect();
    let labels = ContractionLabels {
        left: result.to_vec(),
        right: other.1.to_vec(),
        result: kept,
    };
    let product = b.contract(dy, other.0, &labels.to_string());
    let shape = b.shape(this.0);
    b.restore_axes(product, &shape, &removed)
}

fn batch(b: &mut Builder, site: &OpCall, mapped: &[bool], _: Dim) -> Value {
    let mut labels = parsed(site.attrs);
    let letter = labels.unused();
    if mapped[0] {
        labels.left.insert(0, letter);
    }
    if mapped[1] {
        labels.right.insert(0, letter);
    }
    labels.result.insert(0, letter);
    b.contract(site.args[0], site.args[1], &labels.to_string())
}

fn examples() -> Vec<Example> {
    let of = |left: &[usize], right: &[usize], labels: &str| {
        let operands = vec![example::real(left, -2.0, 2.0), example::real(right, -2.0, 2.0)];
        example::call(operands, vec![Attr::name(labels)])
    };
    vec![
        of(&[], &[], ",->"),
        of(&[3], &[3], "i,i->"),
        of(&[2], &[3], "i,j->ij"),
        of(&[2, 3], &[4, 3], "ij,bj->bi"),
        of(&[2, 3], &[3], "ij,k->ik"),
        of(&[2, 3, 2], &[2, 2, 4], "bij,bjk->bik"),
    ]
}
