//! Finds names for axes and classes in the program and its data.

mod axes;

use crate::compilation::ElaboratedInference;
use bnnc_abi::manifest::{Binding, Codes, DataSource, Output, OutputKind};
use bnnc_abi::names::{LabelSource, Names, PositionLabels};
use bnnc_abi::schema::Schema;
use bnnc_base::shape::Dim as Size;
use bnnc_graph::model::Model;
use bnnc_hir::dims::{Atom, DimExpr};
use bnnc_hir::elaborate::bind::DataBindings;
use bnnc_hir::tree::{Local, LocalKind, ModelItem, Module, SampleStmt, TypedExpr, TypedExprKind, TypedStmt};
use bnnc_hir::types::{Elem, Ty};
use bnnc_hir::walk;
use bnnc_rewrite::density::Densities;

/// Returns the names of axes and classes of a model. `theta: real[J]` has the axis `J`. If an input
/// or output `school: index(J)` is a text column, its levels name the positions along `J`. If an
/// input `x: real[d]` is the vector of all input columns, the names of these columns name the
/// positions along `d`. An axis of another parameter has the same names if it is contracted with
/// such a vector, or if such an index selects from it. Axes inside layers and axes of constant size
/// are named in the same way.
pub fn names(model: &ModelItem, elaborated: &ElaboratedInference, schema: &Schema) -> Names {
    let bound = &elaborated.bound;
    let mut names = declared(model, schema, bound);
    for met in axes::met(&elaborated.model.function) {
        let Some(local) = model.locals.iter().find(|local| *local.name == *met.port) else {
            continue;
        };
        let labels = labels(model, schema, &bound.ports, local);
        let Some(labels) = labels.filter(|labels| met.size == Size::Fixed(labels.names.len())) else {
            continue;
        };
        let is_own = names.declares(&met.site);
        let all = if is_own {
            &mut names.sites
        } else {
            &mut names.layers
        };
        let at = all
            .iter()
            .position(|(site, _)| *site == *met.site)
            .unwrap_or_else(|| {
                all.push((met.site.to_string(), vec![None; met.rank]));
                all.len() - 1
            });
        let dim = &mut all[at].1[met.axis];
        if dim.is_none() {
            *dim = Some(labels.of.clone());
        }
        if !names.dims.iter().any(|known| known.of == labels.of) {
            names.dims.push(labels);
        }
    }
    names
}

/// Returns the names that follow from the declarations of a model.
fn declared(model: &ModelItem, schema: &Schema, bound: &DataBindings) -> Names {
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
        layers: Vec::new(),
        dims: dims.collect(),
        classes: classes.collect(),
    }
}

/// Fills in those fields of an output that depend on the model. They describe whether it depends on
/// other outputs and on its own elements, its family, the bounds of its mean, and whether its
/// variance is infinite or fixed.
pub fn relate(
    output: &mut Output,
    densities: &Densities,
    model: &Model,
    (item, module): (&ModelItem, &Module),
) {
    output.given = densities.is_given(&output.name);
    output.series = is_series(item, &output.name);
    output.joint = is_joint(item, module, &output.name);
    output.mean_range = densities.mean_range(&output.name, model);
    output.infinite_variance = densities.has_infinite_variance(&output.name);
    output.infinite_below = densities.infinite_below(&output.name);
    output.fixed_variance = densities.has_fixed_variance(&output.name);
    output.family = densities.family(&output.name);
}

/// Returns whether a model assigns one joint distribution to all elements of an output, as in
/// `y ~ MultivariateNormal(..)`.
fn is_joint(model: &ModelItem, module: &Module, output: &str) -> bool {
    let is_vector = |sample: &SampleStmt| match &sample.dist.kind {
        TypedExprKind::MakeDist(dist, _) => {
            let on = &module.dists[*dist].on;
            sample.index.is_none() && matches!(on, Ty::Tensor(_, dims) if !dims.is_empty())
        }
        _ => false,
    };
    let is_own = |sample: &SampleStmt| *model.locals[sample.local].name == *output;
    let mut samples = model.body.iter().filter_map(|stmt| match stmt {
        TypedStmt::Sample(sample) => Some(sample),
        TypedStmt::Let(..) | TypedStmt::For { .. } | TypedStmt::Return(_) => None,
    });
    samples.any(|sample| is_own(sample) && is_vector(sample))
}

/// Returns whether a model reads one of its outputs, as in `y[t] ~ Normal(b * y[t - 1], s)`.
fn is_series(model: &ModelItem, output: &str) -> bool {
    let mut is_read = |expr: &TypedExpr| matches!(expr.kind, TypedExprKind::Local(local) if *model.locals[local].name == *output);
    let mut expressions = model.body.iter().flat_map(walk::expressions);
    expressions.any(|expr| walk::any(expr, &mut is_read))
}

/// If a dimension is a single name, returns this name.
pub(crate) fn name(model: &ModelItem, dim: &DimExpr) -> Option<String> {
    let (atoms, factor) = dim.terms.first_key_value()?;
    match (atoms.as_slice(), *factor, dim.terms.len()) {
        ([Atom::Local(local)], 1, 1) => Some(model.locals[*local].name.to_string()),
        _ => None,
    }
}

/// If an input or output names the positions along a dimension, returns this dimension and the
/// names. If the size of the dimension is a constant, the name of the dimension is the name of the
/// input or output.
fn labels(model: &ModelItem, schema: &Schema, ports: &[Binding], local: &Local) -> Option<PositionLabels> {
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
    Some(PositionLabels {
        of: name(model, dim).unwrap_or_else(|| local.name.to_string()),
        names: from.names(schema)?,
        from,
    })
}

/// Returns the levels of a column. If several columns share an axis, the axis may have more levels
/// than each of the columns.
fn levels(column: &str, codes: &Codes) -> LabelSource {
    match codes {
        Codes::Positions => LabelSource::Levels(column.to_owned()),
        Codes::Ids(ids) => LabelSource::Codes(ids.iter().map(i64::to_string).collect()),
        Codes::Texts(texts) => LabelSource::Codes(texts.clone()),
    }
}

/// Returns the names of the classes of an output.
fn classes(schema: &Schema, bound: &DataBindings, output: &Output) -> Option<PositionLabels> {
    let (OutputKind::Classes(_) | OutputKind::Bool) = output.kind else {
        return None;
    };
    let from = LabelSource::Levels(bound.column(output)?.to_owned());
    Some(PositionLabels {
        of: output.name.clone(),
        names: from.names(schema)?,
        from,
    })
}
