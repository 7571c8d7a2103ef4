//! Where a model meets its data: inputs to columns by name, dim names to sizes, the output to the target.

use crate::dims::{Atom, Dim};
use crate::tree::{Binding, ExprKind, LocalId, LocalKind, ModelItem};
use crate::types::{Elem, Ty};
use bnnc_abi::data::{Elements, Field, FieldKind, Schema};
use bnnc_abi::manifest::{Binding as PortBinding, DataSource, Output, OutputKind};
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_base::shape::Shape;
use bnnc_base::source::Span;
use std::collections::HashMap;
use std::sync::Arc;

/// A model's input that no column answers.
pub static NO_COLUMN: Code = Code {
    id: "E0291",
    title: "no such column",
    explain: "Every input of a model is bound to a column (or an array of a JSON file) of the same name; a single `real[d]` \
              input takes the data's `inputs` in order instead, and a single output takes the data's target. The message \
              lists the names that the file has.\n\n```\nmodel M(heigth: real) -> weight: real { .. }   // the file says `height`\n```",
};

/// A column whose values or shape do not fit the declared type.
pub static WRONG_COLUMN: Code = Code {
    id: "E0292",
    title: "column does not fit",
    explain: "The type that a model declares for an input or output must hold every value of its column: `index(10)` holds \
              0 to 9, `bool` holds 0 and 1, `real[3]` needs three numbers per example, and text fits `index` only. Where \
              examples have values of their own, every output has one for each.",
};

/// How a model's parameters are fed.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    /// The sizes of dim names.
    pub dims: HashMap<Arc<str>, usize>,
    /// One per input and output.
    pub ports: Vec<PortBinding>,
    /// The outputs, in order.
    pub outputs: Vec<Output>,
}

impl Bound {
    /// The field that an output is bound to.
    pub fn column(&self, output: &Output) -> Option<&str> {
        let port = self.ports.iter().find(|port| port.port == output.name)?;
        match &port.from {
            DataSource::Field(name) | DataSource::Shared(name) => Some(name),
            DataSource::Inputs | DataSource::Row => None,
        }
    }
}

/// Binds a model to a schema.
pub fn bind(model: &ModelItem, schema: &Schema) -> (Bound, Vec<Diagnostic>) {
    let mut binder = Binder {
        model,
        schema,
        bound: Bound::default(),
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
    if binder.diagnostics.is_empty() {
        binder.alike();
    }
    (binder.bound, binder.diagnostics)
}

/// The smallest size of an `index` that holds the values of a column.
fn needed(kind: &FieldKind) -> usize {
    match kind {
        FieldKind::Int(_, high) => usize::try_from(*high).unwrap_or(0).saturating_add(1),
        FieldKind::Levels(levels) => levels.len(),
        FieldKind::Real => 0,
    }
}

struct Binder<'a> {
    model: &'a ModelItem,
    schema: &'a Schema,
    bound: Bound,
    diagnostics: Vec<Diagnostic>,
}

impl Binder<'_> {
    /// Integer scalars of a JSON file fix the dim names they share.
    fn scalars(&mut self) {
        for local in self
            .model
            .locals
            .iter()
            .filter(|local| local.kind == LocalKind::Dim)
        {
            let field = self
                .schema
                .fields
                .iter()
                .find(|field| field.name == *local.name && field.shape.is_empty());
            if let Some(Field {
                kind: FieldKind::Int(low, high),
                per_example: false,
                ..
            }) = field
                && low == high
                && let Ok(size) = usize::try_from(*low)
            {
                self.bound.dims.insert(local.name.clone(), size);
            }
        }
    }

    fn span(&self, binding: &Binding) -> Span {
        self.model.locals[binding.local].span
    }

    fn port(&mut self, binding: &Binding, from: DataSource) {
        let Ty::Tensor(elem, dims) = &binding.param.ty else {
            return;
        };
        // What is not known has been reported.
        self.bound.ports.push(PortBinding {
            port: binding.param.name.to_string(),
            from,
            elements: self.elements(elem).unwrap_or(Elements::Real),
            shape: dims.iter().filter_map(|dim| self.evaluate(dim)).collect(),
        });
    }

    fn shared(&mut self, binding: &Binding) {
        let name = &*binding.param.name;
        let found = self
            .schema
            .shared
            .iter()
            .chain(&self.schema.fields)
            .find(|field| field.name == name);
        let Some(field) = found else {
            return self.missing(binding, self.names(true));
        };
        // A column of a shared table is a vector over its rows.
        self.fit(binding, field.clone(), &field.shape.clone());
        self.port(binding, DataSource::Shared(name.to_owned()));
    }

    fn input(&mut self, binding: &Binding) {
        let name = &*binding.param.name;
        if let Some(default) = &binding.default
            && matches!(default.kind, ExprKind::Row)
        {
            self.row(binding);
            return self.port(binding, DataSource::Row);
        }
        let field = self.schema.fields.iter().find(|field| field.name == name);
        let vector = matches!(&binding.param.ty, Ty::Tensor(Elem::Real(_), dims) if dims.len() == 1);
        // A scalar column may share its name with the vector of all inputs (`x`): the vector is meant.
        let field = field.filter(|field| !vector || !field.shape.is_empty() || self.schema.inputs == 0);
        match field {
            Some(field) => {
                let field = field.clone();
                self.field(binding, field);
            }
            None if vector && self.model.inputs.len() == 1 && self.schema.inputs > 0 => {
                self.fit_dims(binding, &[self.schema.inputs]);
                self.port(binding, DataSource::Inputs);
            }
            None if vector && self.model.inputs.len() == 1 => self.no_inputs(binding),
            None => self.missing(binding, self.names(false)),
        }
    }

    /// A vector of all inputs, where there are none that are numbers.
    fn no_inputs(&mut self, binding: &Binding) {
        let (data, name) = (&self.schema.name, &binding.param.name);
        let text = format!("the data `{data}` has no inputs for `{name}`");
        let target = self.schema.target.as_deref().unwrap_or_default();
        let texts = self
            .schema
            .fields
            .iter()
            .filter(|field| matches!(field.kind, FieldKind::Levels(_)) && field.name != target);
        let texts: Vec<String> = texts.map(|field| format!("`{}`", field.name)).collect();
        let diagnostic =
            Diagnostic::error(&NO_COLUMN, self.span(binding), text).label("takes the inputs in order");
        self.diagnostics.push(match texts.is_empty() {
            true => diagnostic.note("it has no columns besides the target"),
            false => diagnostic
                .note(format!("text cannot be an element of a vector: {}", texts.join(", ")))
                .help("choose the columns of numbers, `inputs = [a, b]`, or give text an input of its own: `g: index(k)`"),
        });
    }

    fn row(&mut self, binding: &Binding) {
        if let Ty::Tensor(Elem::Index(size), _) = &binding.param.ty {
            self.fit_size(size, self.schema.rows, self.span(binding), &binding.param.name);
        }
    }

    fn output(&mut self, binding: &Binding) {
        let named = self
            .schema
            .fields
            .iter()
            .find(|field| field.name == *binding.param.name);
        let target = self
            .schema
            .target
            .as_ref()
            .filter(|_| self.model.outputs.len() == 1);
        let target = target.and_then(|name| self.schema.fields.iter().find(|field| field.name == *name));
        let Some(field) = target.or(named).cloned() else {
            return self.missing(binding, self.names(false));
        };
        self.field(binding, field);
        let Ty::Tensor(elem, dims) = &binding.param.ty else {
            return;
        };
        let kind = match elem {
            Elem::Real(_) | Elem::Int => OutputKind::Real,
            Elem::Count => OutputKind::Count,
            Elem::Bool => OutputKind::Bool,
            Elem::Index(size) => OutputKind::Classes(self.evaluate(size).unwrap_or(0)),
        };
        let sizes: Vec<usize> = dims.iter().filter_map(|dim| self.evaluate(dim)).collect();
        let shape = Shape::fixed(&sizes);
        self.bound.outputs.push(Output {
            name: binding.param.name.to_string(),
            shape,
            kind,
            given: false,
        });
    }

    /// Where there are several examples, each has its own value of every output.
    fn alike(&mut self) {
        let whole = |port: &&PortBinding| matches!(port.from, DataSource::Shared(_));
        let of = |binding: &Binding| {
            let mut ports = self.bound.ports.iter();
            ports.find(|port| port.port == *binding.param.name)
        };
        let is_whole = |binding: &&Binding| of(binding).is_some_and(|port| whole(&port));
        let apart = self.bound.ports.iter().find(|port| !whole(port));
        let (Some(apart), Some(binding)) = (apart, self.model.outputs.iter().find(is_whole)) else {
            return;
        };
        let text = format!(
            "`{}` is one array for all examples, but `{}` has a value for each",
            binding.param.name, apart.port
        );
        let diagnostic = Diagnostic::error(&WRONG_COLUMN, self.span(binding), text)
            .label("would be observed once for each example")
            .note(format!("in the data `{}`", self.schema.name))
            .help("observe arrays of different lengths in a model that takes whole arrays, or in models of their own");
        self.diagnostics.push(diagnostic);
    }

    /// A column per example, or a whole array as the one example.
    fn field(&mut self, binding: &Binding, field: Field) {
        let rank = match &binding.param.ty {
            Ty::Tensor(_, dims) => dims.len(),
            _ => 0,
        };
        let name = field.name.clone();
        if field.per_example && field.shape.len() + 1 == rank && self.model.inputs.is_empty() {
            let mut shape = vec![self.schema.rows];
            shape.extend(&field.shape);
            self.fit(binding, field, &shape);
            return self.port(binding, DataSource::Shared(name));
        }
        let shape = field.shape.clone();
        let per_example = field.per_example;
        self.fit(binding, field, &shape);
        self.port(
            binding,
            if per_example {
                DataSource::Field(name)
            } else {
                DataSource::Shared(name)
            },
        );
    }

    fn fit(&mut self, binding: &Binding, field: Field, shape: &[usize]) {
        self.fit_dims(binding, shape);
        let Ty::Tensor(elem, _) = &binding.param.ty else {
            return;
        };
        let span = self.span(binding);
        if let Elem::Index(size) = elem
            && self.evaluate(size).is_none()
        {
            // A size that nothing else fixes is what the values need.
            self.fit_size(size, needed(&field.kind), span, &binding.param.name);
        }
        let refusal = self
            .elements(elem)
            .and_then(|elements| elements.refusal(&field.name, &field.kind));
        if let Some(text) = refusal {
            self.wrong(span, text);
        }
    }

    /// What the elements of a type are; nothing where its size is not known.
    fn elements(&self, elem: &Elem) -> Option<Elements> {
        Some(match elem {
            Elem::Real(_) => Elements::Real,
            Elem::Int => Elements::Int,
            Elem::Count => Elements::Count,
            Elem::Bool => Elements::Bool,
            Elem::Index(size) => Elements::Index(self.evaluate(size)?),
        })
    }

    fn fit_dims(&mut self, binding: &Binding, shape: &[usize]) {
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
            return self.wrong(span, text);
        }
        for (dim, size) in dims.clone().iter().zip(shape) {
            self.fit_size(dim, *size, span, &binding.param.name);
        }
    }

    /// A dim name takes the size if it has none; a known dim must equal it.
    fn fit_size(&mut self, dim: &Dim, size: usize, span: Span, name: &str) {
        if let Some(known) = self.evaluate(dim) {
            if known != size {
                self.wrong(
                    span,
                    format!("`{name}` is declared with a size of {known}, but its data has {size}"),
                );
            }
            return;
        }
        let mut terms = dim.terms.iter();
        if let (Some((product, 1)), None) = (terms.next(), terms.next())
            && let [Atom::Local(local)] = product.as_slice()
        {
            self.bound
                .dims
                .insert(self.model.locals[*local].name.clone(), size);
        }
    }

    fn evaluate(&self, dim: &Dim) -> Option<usize> {
        let name = |local: &LocalId| self.bound.dims.get(&self.model.locals[*local].name);
        let known = |atom: &Atom| match atom {
            Atom::Local(local) => name(local).map(|size| Dim::number(*size as i64)),
            Atom::Meta(_) | Atom::Div(..) => None,
        };
        dim.substitute(&known)
            .as_number()
            .and_then(|number| usize::try_from(number).ok())
    }

    fn names(&self, shared: bool) -> Vec<String> {
        let fields = self.schema.fields.iter();
        let extra = self.schema.shared.iter().filter(|_| shared);
        fields.chain(extra).map(|field| field.name.clone()).collect()
    }

    fn missing(&mut self, binding: &Binding, names: Vec<String>) {
        let text = format!(
            "the data `{}` has no column for `{}`",
            self.schema.name, binding.param.name
        );
        let listed = names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let diagnostic = Diagnostic::error(&NO_COLUMN, self.span(binding), text)
            .label("no column of this name")
            .suggest(&binding.param.name, names.iter().map(String::as_str))
            .note(format!("its columns are {listed}"));
        self.diagnostics.push(diagnostic);
    }

    fn wrong(&mut self, span: Span, text: String) {
        let name = &self.schema.name;
        let diagnostic = Diagnostic::error(&WRONG_COLUMN, span, text).note(format!("in the data `{name}`"));
        self.diagnostics.push(diagnostic);
    }
}
