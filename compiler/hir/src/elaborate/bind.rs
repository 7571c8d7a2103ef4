//! Binds a model to its data. Inputs are bound to columns with the same name, dim names to sizes, and outputs to the target.

mod all_inputs;
mod axes;
mod bound;
mod entries;
pub mod integers;
mod levels;
mod missing;
pub mod target;

use crate::diagnostics::bind as diagnostics;
use crate::dims::DimExpr;
use crate::tree::{LocalId, LocalKind, ModelItem, ParamBinding, TypedExprKind};
use crate::types::{Elem, Ty};
use bnnc_abi::manifest::{Binding as PortBinding, Codes, DataSource, Output, OutputKind};
use bnnc_abi::schema::{Elements, Field, FieldKind, InputEntry, Schema};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Shape;
use bnnc_base::source::Span;
use bnnc_base::support::Support;
pub use bound::DataBindings;
use levels::Selector;
use std::collections::HashSet;
use std::sync::Arc;

/// Binds a model to a schema.
pub fn bind(model: &ModelItem, schema: &Schema) -> (DataBindings, Vec<Diagnostic>) {
    let mut binder = Binder {
        model,
        schema,
        bound: DataBindings::default(),
        selectors: Vec::new(),
        scalars: HashSet::new(),
        diagnostics: Vec::new(),
    };
    binder.scalars();
    for binding in &model.shared {
        binder.shared(binding);
    }
    for binding in &model.inputs {
        binder.input(binding);
    }
    for binding in &model.outputs {
        binder.output(binding);
    }
    binder.select();
    for (port, binding) in binder.bindings() {
        binder.describe(port, binding);
    }
    if binder.diagnostics.is_empty() {
        binder.alike();
    }
    (binder.bound, binder.diagnostics)
}

struct Binder<'a> {
    model: &'a ModelItem,
    schema: &'a Schema,
    bound: DataBindings,
    /// The columns of type `index`.
    selectors: Vec<Selector<'a>>,
    /// Dim names whose sizes are scalars in a JSON file.
    scalars: HashSet<Arc<str>>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Binder<'a> {
    /// Sets each dim name to the integer scalar with the same name in a JSON file.
    fn scalars(&mut self) {
        for local in self
            .model
            .locals
            .iter()
            .filter(|local| local.kind == LocalKind::Dim)
        {
            let field = self.field_of(&local.name);
            let field = field.filter(|field| field.shape.is_empty() && !field.per_example);
            if let Some(FieldKind::Int(low, high)) = field.map(|field| &field.kind)
                && low == high
                && let Ok(size) = usize::try_from(*low)
            {
                self.scalars.insert(local.name.clone());
                self.bound.dims.insert(local.name.clone(), size);
            }
        }
    }

    fn span(&self, binding: &ParamBinding) -> Span {
        self.model.locals[binding.local].span
    }

    /// Returns, in the order of the ports, the index of each port and the parameter for which it was added.
    fn bindings(&self) -> Vec<(usize, &'a ParamBinding)> {
        let model = self.model;
        let all = || model.shared.iter().chain(&model.inputs).chain(&model.outputs);
        let ports = self.bound.ports.iter().enumerate();
        let of = |(at, port): (usize, &PortBinding)| {
            let binding = all().find(|binding| *binding.param.name == port.port)?;
            Some((at, binding))
        };
        ports.filter_map(of).collect()
    }

    /// Adds a port. The sizes of the port are filled in later, when all sizes are known.
    fn port(&mut self, binding: &ParamBinding, from: DataSource) {
        self.bound.ports.push(PortBinding {
            port: binding.param.name.to_string(),
            from,
            elements: Elements::Real,
            support: None,
            shape: Vec::new(),
            codes: Codes::Positions,
            intercept: None,
            bytes: false,
        });
    }

    /// Sets the elements, axes and support of a port. For an output, also sets the shape and the kind. If a size is still unknown, an error
    /// has already been reported.
    fn describe(&mut self, port: usize, binding: &ParamBinding) {
        let Ty::Tensor(elem, dims) = &binding.param.ty else {
            return;
        };
        let sizes: Vec<usize> = dims.iter().filter_map(|dim| self.evaluate(dim)).collect();
        let elements = self.elements(elem).unwrap_or(Elements::Real);
        let outputs = &mut self.bound.outputs;
        if let Some(output) = outputs
            .iter_mut()
            .find(|output| *output.name == *binding.param.name)
        {
            output.shape = Shape::fixed(&sizes);
            output.kind = match elements {
                Elements::Real | Elements::Int => OutputKind::Real,
                Elements::Count => OutputKind::Count,
                Elements::Bool => OutputKind::Bool,
                Elements::Index(size) => OutputKind::Classes(size),
            };
        }
        let port = &mut self.bound.ports[port];
        (port.elements, port.shape) = (elements, sizes);
        if let Elem::Real(Support::Interval(low, high)) = elem {
            port.support = Some((*low, *high));
        }
    }

    fn field_of(&self, name: &str) -> Option<&'a Field> {
        self.schema.fields.iter().find(|field| field.name == name)
    }

    /// Returns the column that an entry of `inputs` renames to this name.
    fn renamed(&mut self, name: &str) -> Option<&'a Field> {
        let is_meant = |entry: &InputEntry| !entry.computed && entry.name.as_deref() == Some(name);
        let at = self.schema.entries.iter().position(is_meant)?;
        self.bound.used.insert(at);
        self.field_of(self.schema.entries[at].columns.first()?)
    }

    fn shared(&mut self, binding: &ParamBinding) {
        let name = &*binding.param.name;
        let table = self.schema.shared.iter().find(|field| field.name == name);
        if let Some(field) = table {
            // A column of the shared table is a vector with one element per row of that table.
            self.fit(binding, field, &field.shape);
            return self.port(binding, DataSource::Shared(name.to_owned()));
        }
        let Some(field) = self.renamed(name).or_else(|| self.field_of(name)) else {
            return self.missing(binding, &self.names(true));
        };
        self.whole(binding, field);
    }

    /// Binds all rows of a column, or an array that is not a column.
    fn whole(&mut self, binding: &ParamBinding, field: &'a Field) {
        let mut shape = field.shape.clone();
        if field.per_example {
            shape.insert(0, self.schema.rows);
            let apart = self.schema.rows != self.schema.train || self.schema.test > 0;
            if apart {
                self.set_apart(binding, field);
            }
        }
        self.fit(binding, field, &shape);
        self.port(binding, DataSource::Whole(field.name.clone()));
    }

    /// Warns if a model receives a whole column although only some of its rows are training rows.
    fn set_apart(&mut self, binding: &ParamBinding, field: &Field) {
        let (input, column) = (&binding.param.name, &field.name);
        let diagnostic = diagnostics::rows_apart(self.span(binding), input, column, self.schema);
        if !self.diagnostics.iter().any(|known| known.code == diagnostic.code) {
            self.diagnostics.push(diagnostic);
        }
    }

    fn input(&mut self, binding: &ParamBinding) {
        let name = &*binding.param.name;
        if let Some(default) = &binding.default
            && matches!(default.kind, TypedExprKind::Row)
        {
            self.row(binding);
            return self.port(binding, DataSource::Row);
        }
        let is_array = matches!(&binding.param.ty, Ty::Tensor(Elem::Real(_), dims) if !dims.is_empty());
        let sole = is_array && self.model.inputs.len() == 1;
        if !sole {
            match entries::computed(self.schema, name, self.span(binding)) {
                Ok(None) => {}
                Ok(Some(at)) => return self.computed(binding, at),
                Err(diagnostic) => return self.diagnostics.push(*diagnostic),
            }
        }
        let field = self.renamed(name).or_else(|| self.field_of(name));
        // A scalar column, or an entry computed from such a column, may have the same name as the array of all inputs (`x`). If the names
        // are equal, the array takes precedence. If a column of text prevents the array, the column of the same name is not the cause.
        let is_numbers = |field: &Field| !matches!(field.kind, FieldKind::Levels(_));
        let is_target = |field: &Field| self.schema.target.as_deref() == Some(&*field.name);
        let mut fields = self.schema.fields.iter();
        let has_text = fields.any(|field| !is_numbers(field) && !is_target(field));
        let is_alone = |field: &Field| self.schema.inputs == 0 && !(has_text && field.per_example);
        let is_meant =
            |field: &&Field| !sole || !field.shape.is_empty() || is_numbers(field) && is_alone(field);
        match field.filter(is_meant) {
            Some(field) => self.field(binding, field),
            None if sole && self.schema.inputs > 0 => self.all_inputs(binding),
            None if sole => {
                let diagnostic = diagnostics::no_inputs(self.span(binding), name, self.schema);
                self.diagnostics.push(diagnostic);
            }
            None => self.missing(binding, &self.names(false)),
        }
    }

    /// Binds an input that the data item computes.
    fn computed(&mut self, binding: &ParamBinding, at: usize) {
        let entry = &self.schema.entries[at];
        self.bound.used.insert(at);
        if !matches!(&binding.param.ty, Ty::Tensor(Elem::Real(_), _)) {
            let text = format!(
                "`{}` is not real, but the expression `{}` is",
                binding.param.name, entry.text
            );
            return self.wrong(self.span(binding), text);
        }
        self.fit_dims(binding, &[]);
        self.port(binding, DataSource::Input(entry.first));
    }

    fn row(&mut self, binding: &ParamBinding) {
        if let Ty::Tensor(Elem::Index(size), _) = &binding.param.ty {
            self.fit_size(size, self.schema.rows, self.span(binding), &binding.param.name);
        }
    }

    fn output(&mut self, binding: &ParamBinding) {
        let named = self.renamed(&binding.param.name);
        let named = named.or_else(|| self.field_of(&binding.param.name));
        let target = self
            .schema
            .target
            .as_ref()
            .filter(|_| self.model.outputs.len() == 1);
        let target = target.and_then(|name| self.field_of(name));
        let Some(field) = target.or(named) else {
            return self.missing(binding, &self.names(false));
        };
        self.bound.outputs.push(Output {
            name: binding.param.name.to_string(),
            shape: Shape::scalar(),
            kind: OutputKind::Real,
            given: false,
            series: false,
            joint: false,
            infinite_variance: false,
            infinite_below: None,
            fixed_variance: false,
            family: None,
            mean_range: None,
        });
        self.field(binding, field);
    }

    /// If there are several examples, checks that every output has one value per example.
    fn alike(&mut self) {
        let whole = |port: &&PortBinding| port.from.is_shared();
        let of = |binding: &ParamBinding| {
            let mut ports = self.bound.ports.iter();
            ports.find(|port| port.port == *binding.param.name)
        };
        let is_whole = |binding: &&ParamBinding| of(binding).is_some_and(|port| whole(&port));
        let apart = self.bound.ports.iter().find(|port| !whole(port));
        let (Some(apart), Some(binding)) = (apart, self.model.outputs.iter().find(is_whole)) else {
            return;
        };
        let (output, input) = (&binding.param.name, &apart.port);
        self.diagnostics.push(diagnostics::unlike(
            self.span(binding),
            output,
            input,
            self.schema,
        ));
    }

    /// Binds a field. A field is a column with one value per example, a whole column if the model treats all rows as one example, or an
    /// array that is not a column.
    fn field(&mut self, binding: &ParamBinding, field: &'a Field) {
        let rank = binding.param.ty.dims().len();
        let of_rows = field.per_example && field.shape.len() + 1 == rank;
        let takes_rows = self.bound.ports.iter().any(|port| !port.from.is_shared());
        let mut outputs = self.bound.outputs.iter();
        let is_output = outputs.any(|output| *output.name == *binding.param.name);
        if !field.per_example || (of_rows && is_output && !takes_rows) {
            return self.whole(binding, field);
        }
        if of_rows && !is_output {
            let (input, model) = (&binding.param.name, &self.model.name);
            let diagnostic =
                diagnostics::whole_column(self.span(binding), input, &field.name, model, self.schema);
            return self.diagnostics.push(diagnostic);
        }
        let axes = match is_output {
            true => axes::of_output(&field.shape, rank),
            false => field.shape.clone(),
        };
        self.fit(binding, field, &axes);
        self.port(binding, DataSource::Field(field.name.clone()));
    }

    /// Matches the axes of a field with the dims of a parameter. Index values are checked later, when all sizes are known.
    fn fit(&mut self, binding: &ParamBinding, field: &'a Field, shape: &[usize]) {
        let Ty::Tensor(elem, dims) = &binding.param.ty else {
            return;
        };
        let span = self.span(binding);
        if field.per_example && dims.len() != shape.len() && shape == field.shape {
            let diagnostic = axes::misfit(self.model, binding, field, self.schema);
            return self.diagnostics.push(diagnostic);
        }
        self.fit_dims(binding, shape);
        if let Elem::Index(size) = elem {
            let port = self.bound.ports.len();
            let outputs = &self.bound.outputs;
            let is_class = outputs.iter().any(|output| *output.name == *binding.param.name);
            return self.selectors.push(Selector {
                port,
                input: binding.param.name.clone(),
                size: size.clone(),
                field,
                span,
                is_class,
                is_fixed: false,
            });
        }
        let rejection = self
            .elements(elem)
            .and_then(|elements| elements.rejection(&field.name, &field.kind));
        if let Some(text) = rejection {
            let diagnostic = diagnostics::wrong(span, text, self.schema);
            let diagnostic = diagnostics::with_text_row(diagnostic, field, &binding.param.name);
            self.diagnostics
                .push(diagnostics::with_integers(diagnostic, field));
        }
    }

    /// Assigns a position to each value of a column of type `index`. If nothing else determines the size of an axis, it is the number of
    /// levels in all its index columns together.
    fn select(&mut self) {
        let mut selectors = std::mem::take(&mut self.selectors);
        for selector in &mut selectors {
            selector.is_fixed = self.evaluate(&selector.size).is_some();
        }
        for first in 0..selectors.len() {
            let size = &selectors[first].size;
            let (before, same) = (&selectors[..first], |other: &&Selector<'_>| other.size == *size);
            let is_fixed = selectors[first].is_fixed && self.scalar_size(size).is_none();
            if is_fixed || before.iter().any(|other| same(&other)) {
                continue;
            }
            let group: Vec<&Selector<'_>> = selectors.iter().filter(same).collect();
            let joined = levels::joined(&group, selectors[first].span, self.schema);
            match (joined, self.scalar_size(size)) {
                (Ok(joined), Some(known)) if joined.size != known => {}
                (Ok(joined), _) => {
                    let at = (selectors[first].span, selectors[first].field.name.as_str());
                    self.fit_size(size, joined.size, at.0, at.1);
                    for (selector, codes) in group.iter().zip(joined.codes) {
                        self.bound.ports[selector.port].codes = codes;
                    }
                }
                (Err(_), Some(_)) => {}
                (Err(diagnostic), None) => self.diagnostics.push(*diagnostic),
            }
        }
        for selector in &selectors {
            let Some(size) = self.evaluate(&selector.size) else {
                continue;
            };
            if self.bound.ports[selector.port].codes == Codes::Positions {
                match levels::positions(selector, size, self.schema) {
                    Ok(warning) => self.bound.warnings.extend(warning),
                    Err(diagnostic) => self.diagnostics.push(*diagnostic),
                }
            }
        }
    }

    /// If a scalar in a JSON file sets the size of a dimension, returns this size.
    fn scalar_size(&self, dim: &DimExpr) -> Option<usize> {
        let is_scalar = |local: &LocalId| self.scalars.contains(&self.model.locals[*local].name);
        dim.as_local().filter(is_scalar).and_then(|_| self.evaluate(dim))
    }

    /// Returns the elements of a type, or `None` if the size of an `index` is not known.
    fn elements(&self, elem: &Elem) -> Option<Elements> {
        Some(match elem {
            Elem::Real(_) => Elements::Real,
            Elem::Int => Elements::Int,
            Elem::Count => Elements::Count,
            Elem::Bool => Elements::Bool,
            Elem::Index(size) => Elements::Index(self.evaluate(size)?),
        })
    }

    fn fit_dims(&mut self, binding: &ParamBinding, shape: &[usize]) {
        let Ty::Tensor(_, dims) = &binding.param.ty else {
            return;
        };
        let span = self.span(binding);
        if dims.len() != shape.len() {
            let axes = |count: usize| {
                if count == 1 {
                    "1 axis".to_owned()
                } else {
                    format!("{count} axes")
                }
            };
            let (declared, found) = (axes(dims.len()), axes(shape.len()));
            let text = format!(
                "`{}` is declared with {declared}, but its data has {found}",
                binding.param.name
            );
            let diagnostic = diagnostics::wrong(span, text, self.schema);
            let name = &binding.param.name;
            let diagnostic = diagnostics::with_axes(diagnostic, name, dims.len(), shape.len());
            return self.diagnostics.push(diagnostic);
        }
        for (dim, size) in dims.clone().iter().zip(shape) {
            self.fit_size(dim, *size, span, &binding.param.name);
        }
    }

    /// Sets the size of a dimension that is not known yet. Reports an error if the dimension is already known and differs from `size`.
    fn fit_size(&mut self, dim: &DimExpr, size: usize, span: Span, name: &str) {
        if let Some(known) = self.evaluate(dim) {
            if known != size {
                self.wrong(
                    span,
                    format!("`{name}` is declared with a size of {known}, but its data has {size}"),
                );
            }
            return;
        }
        if let Some(local) = dim.as_local() {
            self.bound
                .dims
                .insert(self.model.locals[local].name.clone(), size);
        }
    }

    fn evaluate(&self, dim: &DimExpr) -> Option<usize> {
        let dims = &self.bound.dims;
        let known = |local: LocalId| dims.get(&self.model.locals[local].name).map(|size| *size as i64);
        usize::try_from(dim.value(known)?).ok()
    }

    fn names(&self, shared: bool) -> Vec<String> {
        let fields = self.schema.fields.iter();
        let extra = self.schema.shared.iter().filter(|_| shared);
        fields.chain(extra).map(|field| field.name.clone()).collect()
    }

    fn wrong(&mut self, span: Span, text: String) {
        self.diagnostics.push(diagnostics::wrong(span, text, self.schema));
    }
}
