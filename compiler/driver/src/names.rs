//! The names that a program and its data give to axes and classes.

use bnnc_abi::data::Schema;
use bnnc_abi::manifest::{Binding, Codes, DataSource, Output, OutputKind};
use bnnc_abi::names::{LabelSource, Labels, Names};
use bnnc_hir::dims::{Atom, Dim};
use bnnc_hir::elaborate::bind::Bound;
use bnnc_hir::tree::{Local, LocalKind, ModelItem};
use bnnc_hir::types::{Elem, Ty};

/// The names of a model: `theta: real[J]` has the axis `J`. Where an input or output `school: index(J)` is a column of text, the
/// positions along `J` are its levels; where an input `x: real[d]` takes the input columns, the positions along `d` are these.
pub fn names(model: &ModelItem, schema: &Schema, bound: &Bound) -> Names {
    let named = |local: &Local| match (&local.ty, local.kind) {
        (Ty::Tensor(_, dims), LocalKind::Site | LocalKind::Assigned) => {
            let names = dims.iter().map(|dim| name(model, dim)).collect();
            Some((local.name.to_string(), names))
        }
        _ => None,
    };
    let dims = model
        .locals
        .iter()
        .filter_map(|local| labels(model, schema, &bound.ports, local));
    let classes = bound
        .outputs
        .iter()
        .filter_map(|output| classes(schema, bound, output));
    Names {
        sites: model.locals.iter().filter_map(named).collect(),
        dims: dims.collect(),
        classes: classes.collect(),
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

/// The dim whose positions an input or output names.
fn labels(model: &ModelItem, schema: &Schema, ports: &[Binding], local: &Local) -> Option<Labels> {
    let (Ty::Tensor(elem, dims), LocalKind::Param) = (&local.ty, local.kind) else {
        return None;
    };
    let port = ports.iter().find(|port| port.port == *local.name)?;
    let (dim, from) = match (&port.from, elem, &dims[..]) {
        (DataSource::Inputs, _, [dim]) => (dim, LabelSource::Columns),
        (
            DataSource::Field(column) | DataSource::Whole(column) | DataSource::Shared(column),
            Elem::Index(size),
            _,
        ) => (size, levels(column, &port.codes)),
        _ => return None,
    };
    Some(Labels {
        of: name(model, dim)?,
        names: from.names(schema)?,
        from,
    })
}

/// The levels of a column, of which an axis that several columns share may have more.
fn levels(column: &str, codes: &Codes) -> LabelSource {
    match codes {
        Codes::Positions => LabelSource::Levels(column.to_owned()),
        Codes::Ids(ids) => LabelSource::Codes(ids.iter().map(i64::to_string).collect()),
        Codes::Texts(texts) => LabelSource::Codes(texts.clone()),
    }
}

/// The names of the classes of an output.
fn classes(schema: &Schema, bound: &Bound, output: &Output) -> Option<Labels> {
    let OutputKind::Classes(_) = output.kind else {
        return None;
    };
    let from = LabelSource::Levels(bound.column(output)?.to_owned());
    Some(Labels {
        of: output.name.clone(),
        names: from.names(schema)?,
        from,
    })
}
