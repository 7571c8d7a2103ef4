//! The axes of the rows of a field.

use crate::diagnostics::bind::{DeclaredPort, other_axes};
use crate::show;
use crate::tree::{ModelItem, ParamBinding};
use crate::types::{Elem, Ty};
use bnnc_abi::schema::{Field, Schema, with_rank};
use bnnc_base::diagnostic::Diagnostic;

/// Returns the axes of one row of a field that is bound to an output with `rank` axes. Leading axes of size 1 are left out if the output does not
/// declare them, because many tools write a column of targets as an array of shape `(rows, 1)`.
pub(super) fn of_output(axes: &[usize], rank: usize) -> Vec<usize> {
    with_rank(axes, rank)
        .filter(|kept| kept.len() < axes.len())
        .unwrap_or_else(|| axes.to_vec())
}

/// Returns the error for a parameter that does not have as many axes in its declaration as in a row of its field.
pub(super) fn misfit(
    model: &ModelItem,
    binding: &ParamBinding,
    field: &Field,
    schema: &Schema,
) -> Diagnostic {
    let (elem, axes) = match &binding.param.ty {
        Ty::Tensor(elem, dims) => (elem, dims.len()),
        _ => (&Elem::Int, 0),
    };
    let port = DeclaredPort {
        name: &binding.param.name,
        elements: &show::elem(elem, &model.locals),
        is_class: matches!(elem, Elem::Index(_)),
        axes,
    };
    other_axes(model.locals[binding.local].span, port, field, schema)
}
