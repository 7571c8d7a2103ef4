//! Type rules shared by ops. Each returns the type of the result, or a sentence that begins with the expected
//! form.

use crate::attr::Attr;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};

/// The type of a result, or a sentence with the reason why there is none.
pub type Inferred = Result<Type, String>;

/// Checks that operand `at` has one of these element types.
pub fn expect_dtype(types: &[&Type], at: usize, allowed: &[DType]) -> Result<(), String> {
    let found = types[at];
    if allowed.contains(&found.dtype) {
        return Ok(());
    }
    let names: Vec<String> = allowed.iter().map(DType::to_string).collect();
    Err(format!(
        "expected operand {} to be {}, found {found}",
        at + 1,
        names.join(" or ")
    ))
}

/// Checks that all operands have the shape of the first.
pub fn expect_equal_shapes(types: &[&Type]) -> Result<(), String> {
    match types.iter().find(|ty| ty.shape != types[0].shape) {
        Some(other) => Err(format!(
            "expected operands of equal shape, found {} and {}",
            types[0].shape, other.shape
        )),
        None => Ok(()),
    }
}

/// Checks that operand `at` has at least `rank` axes.
pub fn expect_rank(types: &[&Type], at: usize, rank: usize) -> Result<(), String> {
    if types[at].rank() >= rank {
        return Ok(());
    }
    Err(format!(
        "expected operand {} to have at least {rank} axes, found {}",
        at + 1,
        types[at]
    ))
}

/// Checks that an axis lies in `0..rank` and returns it.
pub fn expect_axis(axis: i64, rank: usize) -> Result<usize, String> {
    match usize::try_from(axis) {
        Ok(at) if at < rank => Ok(at),
        _ => Err(format!("expected an axis below {rank}, found {axis}")),
    }
}

/// Checks that axes increase strictly inside `0..rank`.
pub fn expect_increasing(axes: &[i64], rank: usize) -> Result<Vec<usize>, String> {
    if !axes.is_sorted_by(|a, b| a < b) {
        return Err(format!("expected increasing axes, found {axes:?}"));
    }
    axes.iter().map(|axis| expect_axis(*axis, rank)).collect()
}

/// The rule for operands of equal shape and the same element type, one of `allowed`, which is also the type of
/// the result.
fn same(types: &[&Type], allowed: &[DType]) -> Inferred {
    for at in 0..types.len() {
        expect_dtype(types, at, allowed)?;
        expect_dtype(types, at, &[types[0].dtype])?;
    }
    expect_equal_shapes(types)?;
    Ok(types[0].clone())
}

/// The rule for reals of equal shape with a real result.
pub fn reals(types: &[&Type], _: &[Attr]) -> Inferred {
    same(types, &[DType::Real])
}

/// The rule for reals or integers of equal shape with a result of the same type.
pub fn numbers(types: &[&Type], _: &[Attr]) -> Inferred {
    same(types, &[DType::Real, DType::Int])
}

/// The rule for Booleans of equal shape with a Boolean result.
pub fn truths(types: &[&Type], _: &[Attr]) -> Inferred {
    same(types, &[DType::Bool])
}

/// The rule for reals or integers of equal shape with a Boolean result.
pub fn comparison(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let operands = numbers(types, attrs)?;
    Ok(Type::new(DType::Bool, operands.shape))
}

/// The rule for a result with the type of the first operand.
pub fn same_as_first(types: &[&Type], _: &[Attr]) -> Inferred {
    Ok(types[0].clone())
}

/// Returns the shape without these axes.
pub fn without_axes(shape: &Shape, axes: &[usize]) -> Shape {
    let kept = shape
        .dims()
        .iter()
        .enumerate()
        .filter(|(at, _)| !axes.contains(at));
    Shape(kept.map(|(_, dim)| *dim).collect())
}

/// Returns the size of a fixed axis. Fails with a sentence for a symbolic one.
pub fn expect_fixed(dim: Dim, what: &str) -> Result<usize, String> {
    dim.fixed()
        .ok_or_else(|| format!("expected {what} to be a static axis, found `{dim}`"))
}
