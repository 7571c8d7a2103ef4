//! Type rules that several ops share. Each rule returns the type of the result, or a [`CallError`].

use crate::attr::Attr;
use crate::diagnostics::CallError;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};

/// The type of a result, or the reason why the operands do not fit.
pub type Inferred = Result<Type, CallError>;

/// Checks that operand `at` has one of the element types `allowed`.
pub fn expect_dtype(types: &[&Type], at: usize, allowed: &[DType]) -> Result<(), CallError> {
    if allowed.contains(&types[at].dtype) {
        return Ok(());
    }
    Err(CallError::DType {
        operand: at,
        allowed: allowed.to_vec(),
        found: types[at].clone(),
    })
}

/// Checks that all operands have the same shape as the first operand.
pub fn expect_equal_shapes(types: &[&Type]) -> Result<(), CallError> {
    match types.iter().find(|ty| ty.shape != types[0].shape) {
        Some(other) => Err(CallError::Shapes(types[0].shape.clone(), other.shape.clone())),
        None => Ok(()),
    }
}

/// Checks that operand `at` has at least `rank` axes.
pub fn expect_rank(types: &[&Type], at: usize, rank: usize) -> Result<(), CallError> {
    if types[at].rank() >= rank {
        return Ok(());
    }
    Err(CallError::Rank {
        operand: at,
        least: rank,
        found: types[at].clone(),
    })
}

/// Checks that an axis lies in `0..rank`, and returns the axis.
pub fn expect_axis(axis: i64, rank: usize) -> Result<usize, CallError> {
    match usize::try_from(axis) {
        Ok(at) if at < rank => Ok(at),
        _ => Err(CallError::Axis { rank, found: axis }),
    }
}

/// Checks that axes are strictly increasing and lie in `0..rank`.
pub fn expect_increasing(axes: &[i64], rank: usize) -> Result<Vec<usize>, CallError> {
    if !axes.is_sorted_by(|a, b| a < b) {
        return Err(CallError::Rule(format!("increasing axes, found {axes:?}")));
    }
    axes.iter().map(|axis| expect_axis(*axis, rank)).collect()
}

/// The rule for operands that have equal shapes and the same element type, which must be in
/// `allowed`. The result has the type of the operands.
fn same(types: &[&Type], allowed: &[DType]) -> Inferred {
    for at in 0..types.len() {
        expect_dtype(types, at, allowed)?;
        expect_dtype(types, at, &[types[0].dtype])?;
    }
    expect_equal_shapes(types)?;
    Ok(types[0].clone())
}

/// The rule for reals with equal shapes. The result is real.
pub fn reals(types: &[&Type], _: &[Attr]) -> Inferred {
    same(types, &[DType::Real])
}

/// The rule for reals or integers with equal shapes. The result has the type of the operands.
pub fn numbers(types: &[&Type], _: &[Attr]) -> Inferred {
    same(types, &[DType::Real, DType::Int])
}

/// The rule for Booleans with equal shapes. The result is Boolean.
pub fn truths(types: &[&Type], _: &[Attr]) -> Inferred {
    same(types, &[DType::Bool])
}

/// The rule for reals or integers with equal shapes. The result is Boolean.
pub fn comparison(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let operands = numbers(types, attrs)?;
    Ok(Type::new(DType::Bool, operands.shape))
}

/// The rule for a result that has the type of the first operand.
pub fn same_as_first(types: &[&Type], _: &[Attr]) -> Inferred {
    Ok(types[0].clone())
}

/// Returns `shape` without the given axes.
pub fn without_axes(shape: &Shape, axes: &[usize]) -> Shape {
    let kept = shape
        .dims()
        .iter()
        .enumerate()
        .filter(|(at, _)| !axes.contains(at));
    Shape(kept.map(|(_, dim)| *dim).collect())
}

/// Returns the size of a fixed axis. Fails if the size is symbolic. `axis` is the role of the axis,
/// for the error.
pub fn expect_fixed(dim: Dim, axis: &'static str) -> Result<usize, CallError> {
    dim.fixed().ok_or(CallError::Symbolic { axis, found: dim })
}
