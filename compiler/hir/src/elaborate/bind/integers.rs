//! Warns about positions of an axis that no row selects. Only axes that are indexed by integer
//! columns are examined. There is another check for columns of the type `index`.

use super::DataBindings;
use crate::constant::evaluate;
use crate::diagnostics::bind::{self as diagnostics, Selected};
use crate::dims::DimExpr;
use crate::tree::{LocalId, LocalKind, ModelItem, Module, TypedExpr, TypedExprKind, TypedIndex, TypedStmt};
use crate::types::{Elem, Ty};
use crate::walk;
use bnnc_abi::manifest::DataSource;
use bnnc_abi::schema::{Field, Schema};
use bnnc_base::diagnostic::Diagnostic;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Returns warnings about positions that no row selects, at most one for each axis. The axes
/// examined are those of parameters and layers that integer columns index. The warning names a
/// position that no row selects although a row selects a larger one. An axis is skipped if anything
/// but a column also indexes it.
pub fn unused(module: &Module, model: &ModelItem, bound: &DataBindings, schema: &Schema) -> Vec<Diagnostic> {
    let dims = model
        .locals
        .ids()
        .filter_map(|local| Some((local, *bound.dims.get(&model.locals[local].name)? as f64)));
    let mut search = Search {
        module,
        model,
        bound,
        schema,
        known: dims.collect(),
        axes: BTreeMap::new(),
        mentions: HashMap::new(),
    };
    for expr in model.body.iter().flat_map(walk::expressions) {
        search.visit(expr);
    }
    let axes = std::mem::take(&mut search.axes);
    axes.iter()
        .filter_map(|((owner, _), axis)| search.judge(*owner, axis))
        .collect()
}

/// An axis, and the columns that select from this axis.
struct Axis<'a> {
    size: i64,
    /// The inputs that select from the axis, each with its column.
    columns: Vec<(LocalId, &'a Field)>,
    /// The number of index expressions in which a column selects from the axis.
    count: usize,
}

struct Search<'a> {
    module: &'a Module,
    model: &'a ModelItem,
    bound: &'a DataBindings,
    schema: &'a Schema,
    /// The sizes of dim names.
    known: HashMap<LocalId, f64>,
    /// The axes. The key is the parameter or layer, and the number of the axis.
    axes: BTreeMap<(LocalId, usize), Axis<'a>>,
    /// The number of times that each parameter and layer occurs.
    mentions: HashMap<LocalId, usize>,
}

impl<'a> Search<'a> {
    fn visit(&mut self, expr: &TypedExpr) {
        match &expr.kind {
            TypedExprKind::Local(local) => *self.mentions.entry(*local).or_default() += 1,
            TypedExprKind::Index(base, indices) => self.index(base, indices),
            TypedExprKind::CallLayer(callee, _, args) => self.call(callee, args),
            _ => {}
        }
        for part in walk::children(expr) {
            self.visit(part);
        }
    }

    /// Visits `a[city]`, where `a` is a parameter.
    fn index(&mut self, base: &TypedExpr, indices: &[TypedIndex]) {
        let (TypedExprKind::Local(owner), Ty::Tensor(_, dims)) = (&base.kind, &base.ty) else {
            return;
        };
        if self.model.locals[*owner].kind != LocalKind::Site {
            return;
        }
        for (at, (index, dim)) in indices.iter().zip(dims).enumerate() {
            let TypedIndex::At(position) = index else { continue };
            let size = size(dim, &self.known);
            if let (Some(column), Some(size)) = (self.column(position), size) {
                self.select((*owner, at), size, column);
            }
        }
    }

    /// Visits `emb(city)`, where `emb` is a layer with an input of type `index`.
    fn call(&mut self, callee: &TypedExpr, args: &[TypedExpr]) {
        let TypedExprKind::Local(owner) = &callee.kind else {
            return;
        };
        let made = self.model.body.iter().find_map(|stmt| match stmt {
            TypedStmt::Let(local, value) if local == owner => match &value.kind {
                TypedExprKind::MakeLayer(layer, args) => Some((*layer, args)),
                _ => None,
            },
            _ => None,
        });
        let Some((layer, made_with)) = made else { return };
        let item = &self.module.layers[layer];
        let numbers = item.params.iter().zip(made_with).filter_map(|(param, arg)| {
            let value = evaluate(self.module, arg, &self.known)?;
            Some((param.local, value))
        });
        let numbers: HashMap<LocalId, f64> = numbers.collect();
        for (at, (input, arg)) in item.inputs.iter().zip(args).enumerate() {
            let Ty::Tensor(Elem::Index(dim), _) = &input.param.ty else {
                continue;
            };
            let size = size(dim, &numbers);
            if let (Some(column), Some(size)) = (self.column(arg), size) {
                self.select((*owner, at), size, column);
            }
        }
    }

    fn select(&mut self, axis: (LocalId, usize), size: i64, column: (LocalId, &'a Field)) {
        let axis = self.axes.entry(axis).or_insert(Axis {
            size,
            columns: Vec::new(),
            count: 0,
        });
        axis.count += 1;
        if !axis.columns.iter().any(|known| known.0 == column.0) {
            axis.columns.push(column);
        }
    }

    /// If an index is an integer input, or an element of one, returns this input and its column.
    fn column(&self, position: &TypedExpr) -> Option<(LocalId, &'a Field)> {
        let is_integer = matches!(&position.ty, Ty::Tensor(Elem::Int | Elem::Count, dims) if dims.is_empty());
        let local = match &position.kind {
            TypedExprKind::Local(local) => local,
            TypedExprKind::Index(base, _) => match &base.kind {
                TypedExprKind::Local(local) => local,
                _ => return None,
            },
            _ => return None,
        };
        let mut inputs = self.model.shared.iter().chain(&self.model.inputs);
        let input = inputs
            .find(|input| input.local == *local)
            .filter(|_| is_integer)?;
        let mut ports = self.bound.ports.iter();
        let port = ports.find(|port| port.port == *input.param.name)?;
        let name = match &port.from {
            DataSource::Field(name) | DataSource::Whole(name) => name,
            DataSource::Shared(_) | DataSource::Inputs | DataSource::Input(_) | DataSource::Row => {
                return None;
            }
        };
        let mut fields = self.schema.fields.iter();
        Some((*local, fields.find(|field| field.name == *name)?))
    }

    fn judge(&self, owner: LocalId, axis: &Axis<'_>) -> Option<Diagnostic> {
        if self.mentions.get(&owner) != Some(&axis.count) {
            return None;
        }
        let used: BTreeSet<i64> = axis
            .columns
            .iter()
            .flat_map(|(_, field)| field.integers())
            .collect();
        // Positions outside the axis are reported elsewhere, as errors.
        let is_inside = used.first()? >= &0 && used.last()? < &axis.size;
        let mut pairs = (0_i64..).zip(&used).filter(|_| is_inside);
        let (position, _) = pairs.find(|(position, found)| position != *found)?;
        let (input, field) = axis.columns.first()?;
        let owner = &self.model.locals[owner];
        Some(diagnostics::unused_by_integers(
            self.model.locals[*input].span,
            position,
            Selected {
                column: &field.name,
                input: &self.model.locals[*input].name,
                axis: (&owner.name, owner.span),
                size: axis.size,
            },
            self.schema,
        ))
    }
}

/// Evaluates the size of an axis, given the values of some variables.
fn size(dim: &DimExpr, known: &HashMap<LocalId, f64>) -> Option<i64> {
    dim.value(|local| known.get(&local).map(|size| *size as i64))
}
