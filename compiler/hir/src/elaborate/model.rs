//! Elaborates models: inputs become parameters, and `~` becomes `sample` or `observe`.

use super::datum::{Datum, DistDatum};
use super::dist::{CalledWith, support};
use super::frame::{Elaborated, Elaborator, Frame};
use super::start;
use crate::diagnostics::elaborate::limit;
use crate::tree::{ModelId, ModelItem, Module, ParamBinding, SampleStmt, TypedExprKind, TypedStmt};
use crate::types::{Elem, Ty};
use bnnc_base::source::Span;
use bnnc_graph::builder::Operation;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::function::Value;
use bnnc_graph::model::{Input, Model, Site};
use bnnc_graph::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// Elaborates a model for one example. `dims` gives the sizes of the dim names that the inputs of the model
/// bind.
///
/// # Errors
/// Fails if the sizes in the data do not fit together. The checker cannot report such errors,
/// because it does not read the data.
pub fn elaborate(module: &Module, id: ModelId, dims: &HashMap<Arc<str>, usize>) -> Elaborated<Model> {
    let item = &module.models[id];
    let mut elaborator = Elaborator::new(module, &item.name);
    let mut frame = Frame::new(&item.locals, "");
    for local in item.locals.ids() {
        if let Some(size) = dims.get(&item.locals[local].name)
            && item.locals[local].kind == crate::tree::LocalKind::Dim
        {
            frame.values.insert(local, Datum::Static(*size as i64));
        }
    }
    let shared = elaborator.inputs(&item.shared, &mut frame, item.span)?;
    let inputs = elaborator.inputs(&item.inputs, &mut frame, item.span)?;
    let outputs = elaborator.inputs(&item.outputs, &mut frame, item.span)?;
    elaborator.body(&item.body, &mut frame)?;
    let derived = item
        .body
        .iter()
        .filter_map(|stmt| named(stmt, item, &frame))
        .collect();
    let results = elaborator.observed.iter().copied().enumerate();
    let results = results
        .map(|(at, value)| (format!("observed{at}").into(), value))
        .collect();
    let function = elaborator.builder.finish(results);
    Ok(Model {
        name: item.name.to_string(),
        function,
        shared,
        inputs,
        outputs,
        sites: elaborator.sites,
        running: elaborator.running,
        derived,
    })
}

/// Returns the name and the tensor of a `let` statement.
fn named(stmt: &TypedStmt, item: &ModelItem, frame: &Frame<'_>) -> Option<(Arc<str>, Value)> {
    let TypedStmt::Let(local, _) = stmt else {
        return None;
    };
    match frame.values.get(local) {
        Some(Datum::Tensor(value)) => Some((item.locals[*local].name.clone(), *value)),
        _ => None,
    }
}

/// Returns the declared support of an output. For an output of integers, this is the real line,
/// because only the distribution restricts the values.
pub fn declared(ty: &Ty) -> Support {
    match ty {
        Ty::Tensor(Elem::Real(support), _) => *support,
        _ => Support::Real,
    }
}

impl<'a> Elaborator<'a> {
    fn inputs(
        &mut self,
        bindings: &'a [ParamBinding],
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Vec<Input>> {
        bindings
            .iter()
            .map(|binding| self.input(binding, frame, span))
            .collect()
    }

    fn input(&mut self, binding: &'a ParamBinding, frame: &mut Frame<'a>, span: Span) -> Elaborated<Input> {
        let Ty::Tensor(elem, dims) = &binding.param.ty else {
            let text = format!("the input `{}` is not a number or an array", binding.param.name);
            return Err(limit(span, text));
        };
        let shape = self.shape_of(&binding.param.name, dims, frame, span)?;
        let ty = Type::new(elem.dtype(), shape);
        let value = self.builder.param(&binding.param.name, ty.clone());
        frame.values.insert(binding.local, Datum::Tensor(value));
        let row = matches!(&binding.default, Some(default) if matches!(default.kind, TypedExprKind::Row));
        let support = match elem {
            crate::types::Elem::Index(size) => Support::Integers(self.dim(size, frame, span)?),
            other => support(other),
        };
        Ok(Input {
            name: binding.param.name.clone(),
            ty,
            support,
            row,
        })
    }

    /// Elaborates a `~` statement.
    pub fn sample(&mut self, sample: &SampleStmt, frame: &mut Frame<'a>) -> Elaborated<()> {
        if let (true, Some(index)) = (sample.observed, &sample.index) {
            return self.element(sample, index, frame);
        }
        let Datum::Dist(dist) = self.expr(&sample.dist, frame)? else {
            return Err(limit(sample.span, "a distribution is needed after `~`"));
        };
        let name = frame.locals[sample.local].name.clone();
        if sample.observed {
            let Some(Datum::Tensor(output)) = frame.values.get(&sample.local).cloned() else {
                return Err(limit(sample.span, format!("`{name}` is not an output")));
            };
            return self.observe(&dist, output, declared(&sample.ty), &name, sample.span);
        }
        let path = frame.path_of(&name);
        let value = match self.site_values.get(&path) {
            Some(value) => *value,
            None => self.new_site(sample, &dist, &path, frame)?,
        };
        frame.values.insert(sample.local, Datum::Tensor(value));
        Ok(())
    }

    fn new_site(
        &mut self,
        sample: &SampleStmt,
        dist: &DistDatum,
        path: &str,
        frame: &Frame<'a>,
    ) -> Elaborated<Value> {
        let Ty::Tensor(elem, dims) = &sample.ty else {
            return Err(limit(sample.span, "a site is a number or an array"));
        };
        let shape = self.shape_of(path, dims, frame, sample.span)?;
        let ty = Type::new(elem.dtype(), shape.clone());
        let arguments = self.arguments(dist, sample.span)?;
        let (declared, values) = (support(elem), CalledWith::Inside);
        let instance = self.instance(&arguments, ty.clone(), declared, values, sample.span)?;
        let args: Vec<Value> = arguments.values.iter().map(|(_, value)| *value).collect();
        let support = instance.support;
        let value = self.apply(Operation::sample(instance, &args, path), sample.span)?;
        self.builder.label(value, path);
        self.site_values.insert(path.to_owned(), value);
        self.sites.push(Site {
            name: path.into(),
            ty,
            support,
            local: sample.per_example,
            start: self.start.map(|rule| start::scaled(rule, &shape)),
        });
        Ok(value)
    }

    /// Observes a value that has a declared type. If the type is narrower than the support of the
    /// distribution, the distribution is truncated.
    pub fn observe(
        &mut self,
        dist: &DistDatum,
        value: Value,
        declared: Support,
        name: &str,
        span: Span,
    ) -> Elaborated<()> {
        let arguments = self.arguments(dist, span)?;
        let ty = self.ty(value);
        let instance = self.instance(&arguments, ty, declared, CalledWith::Any, span)?;
        let args = arguments.values.iter().map(|(_, value)| *value).chain([value]);
        self.observed_by(instance, args.collect(), name, span)
    }

    /// Records an observation. The last of `args` is the observed value; the others are the
    /// parameters of the distribution.
    pub fn observed_by(
        &mut self,
        instance: Instance,
        args: Vec<Value>,
        name: &str,
        span: Span,
    ) -> Elaborated<()> {
        let observed = self.apply(Operation::observe(instance, &args, name), span)?;
        self.observed.push(observed);
        Ok(())
    }
}
