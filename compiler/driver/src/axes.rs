//! What a program calls the axes of its sites and the positions along them, for files that keep names.

use bnnc_abi::data::{FieldKind, Schema};
use bnnc_abi::manifest::{Binding, DataSource};
use bnnc_abi::sampling::{Axes, Levels};
use bnnc_hir::dims::{Atom, Dim};
use bnnc_hir::tree::{Local, LocalKind, ModelItem};
use bnnc_hir::types::{Elem, Ty};

/// The names that a model gives: `theta: real[J]` has the axis `J`, and where an input `school: index(J)` is a column of text, the
/// positions along `J` are its levels.
pub fn axes(model: &ModelItem, schema: &Schema, ports: &[Binding]) -> Axes {
    let named = |local: &Local| match (&local.ty, local.kind) {
        (Ty::Tensor(_, dims), LocalKind::Site | LocalKind::Assigned) => {
            let names = dims.iter().map(|dim| name(model, dim)).collect();
            Some((local.name.to_string(), names))
        }
        _ => None,
    };
    let levels = model
        .locals
        .iter()
        .filter_map(|local| levels(model, schema, ports, local));
    Axes {
        sites: model.locals.iter().filter_map(named).collect(),
        levels: levels.collect(),
    }
}

/// The name of a dimension that is nothing but a name.
fn name(model: &ModelItem, dim: &Dim) -> Option<String> {
    let (atoms, factor) = dim.terms.first_key_value()?;
    match (atoms.as_slice(), *factor, dim.terms.len()) {
        ([Atom::Local(local)], 1, 1) => Some(model.locals[*local].name.to_string()),
        _ => None,
    }
}

/// The dim that an input indexes, with the levels of its column.
fn levels(model: &ModelItem, schema: &Schema, ports: &[Binding], local: &Local) -> Option<Levels> {
    let (Ty::Tensor(Elem::Index(size), _), LocalKind::Param) = (&local.ty, local.kind) else {
        return None;
    };
    let port = ports.iter().find(|port| port.port == *local.name)?;
    let column = match &port.from {
        DataSource::Field(column) | DataSource::Shared(column) => column,
        DataSource::Inputs | DataSource::Row => return None,
    };
    let field = schema.fields.iter().find(|field| field.name == *column)?;
    match &field.kind {
        FieldKind::Levels(levels) => Some(Levels {
            dim: name(model, size)?,
            column: column.clone(),
            names: levels.clone(),
        }),
        FieldKind::Int(..) | FieldKind::Real => None,
    }
}
