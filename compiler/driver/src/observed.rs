//! Checks the outputs of a model against its inputs and against the options of its data item.

use crate::compilation::Compilation;
use crate::diagnostics::observed::{UNUSED_TRANSFORM, observed_input, standardised_target};
use crate::failure::CompileFailure;
use crate::program::CheckedProgram;
use bnnc_abi::data::DataSpec;
use bnnc_abi::manifest::{DataSource, Output, OutputKind};
use bnnc_abi::schema::{Elements, Field, InputEntry, Schema};
use bnnc_base::diagnostic::{Diagnostic, Severity};
use bnnc_base::nearest::nearest;
use bnnc_hir::check::applied_twice_to_data;
use bnnc_hir::elaborate::bind::{DataBindings, bind};
use bnnc_hir::elaborate::joint_density;
use bnnc_hir::tree::{InferenceTarget, ModelItem};
use std::collections::{HashMap, HashSet};

/// Returns the entries of `inputs = [..]` that no model of the program uses.
pub fn unused_transforms(program: &CheckedProgram, schemas: &HashMap<String, Schema>) -> Vec<Diagnostic> {
    let module = &program.module;
    let mut diagnostics = Vec::new();
    for item in module.datas.iter() {
        let Some(schema) = schemas.get(&*item.name) else {
            continue;
        };
        let infers = module.infers.iter();
        let of_item = infers.filter(|infer| module.datas[infer.data].name == item.name);
        let models: Vec<&ModelItem> = of_item
            .map(|infer| match infer.target {
                InferenceTarget::Model(model) => &module.models[model],
                InferenceTarget::Posterior(posterior) => &module.models[module.posteriors[posterior].model],
            })
            .collect();
        let used: HashSet<usize> = models
            .iter()
            .flat_map(|model| bind(model, schema).0.used)
            .collect();
        let entries = schema.entries.iter().enumerate();
        let unused = entries
            .filter(|(at, entry)| !used.contains(at) && (entry.computed || entry.name.is_some()))
            .map(|(_, entry)| unused_transform(entry, schema, models.first().copied()));
        diagnostics.extend(unused);
    }
    diagnostics
}

fn unused_transform(entry: &InputEntry, schema: &Schema, model: Option<&ModelItem>) -> Diagnostic {
    let text = format!("no model uses `{}`", entry.text);
    let diagnostic = Diagnostic::error(&UNUSED_TRANSFORM, entry.span, text).label("does not feed an input");
    let Some(model) = model else {
        return diagnostic.help("remove it");
    };
    let meant = meant_input(entry, schema, model);
    let named = entry.name.as_deref();
    let help = match (meant, named) {
        (Some(input), _) => format!(
            "`{}` has an input `{input}`: write `{input} = {}`, or remove this entry",
            model.name, entry.text
        ),
        (None, Some(name)) => format!(
            "give `{}` an input `{name}: real`, or remove this entry",
            model.name
        ),
        (None, None) => format!(
            "write `NAME = {}` and give `{}` an input `NAME: real`, or remove this entry",
            entry.text, model.name
        ),
    };
    diagnostic.help(help).also(model.span, "takes its inputs by name")
}

/// Returns the input that was probably intended for an entry with another name. This is the input
/// with the name of the entry's only column, or otherwise the input with the most similar name.
/// Inputs that are bound to another entry are ignored.
fn meant_input<'m>(entry: &InputEntry, schema: &Schema, model: &'m ModelItem) -> Option<&'m str> {
    let feeds = |other: &InputEntry, input: &str| match (&other.name, other.columns.as_slice()) {
        (Some(name), _) => name == input,
        (None, [column]) => column == input,
        (None, _) => false,
    };
    let free: Vec<&str> = model
        .inputs
        .iter()
        .map(|binding| &*binding.param.name)
        .filter(|input| !schema.entries.iter().any(|other| feeds(other, input)))
        .collect();
    let column = entry.columns.first().filter(|_| entry.columns.len() == 1);
    let of_column = free
        .iter()
        .find(|input| column.is_some_and(|column| column == *input));
    let wrong = entry.name.as_deref().or(column.map(String::as_str));
    of_column
        .copied()
        .or_else(|| nearest(wrong?, free.iter().copied()))
}

impl Compilation<'_> {
    /// Warns about link functions that the program probably applies twice. The check uses the
    /// ranges that the untransformed inputs have in the data.
    fn doubled_links(&self, bound: &DataBindings, schema: &Schema) -> Vec<Diagnostic> {
        let module = &self.program.module;
        let spec = &module.datas[self.item.data].spec;
        let mut extents = HashMap::new();
        if !spec.standardise_inputs && !spec.normalise_channels && spec.scale == 1.0 {
            for binding in &self.model().inputs {
                let port = bound.ports.iter().find(|port| port.port == *binding.param.name);
                let number = port.filter(|port| !matches!(port.elements, Elements::Index(_)));
                let column = number.and_then(|port| port.from.column());
                let field = schema.fields.iter().find(|field| Some(&*field.name) == column);
                extents.extend(
                    field
                        .and_then(Field::extent)
                        .map(|extent| (binding.local, extent)),
                );
            }
        }
        applied_twice_to_data(module, self.model(), extents)
    }

    /// Checks that the outputs of the model fit the inputs and the target of the data.
    ///
    /// # Errors
    /// Fails if a standardised target is not real, if an output is also an input, or if an output
    /// depends on itself.
    pub(crate) fn observes(&mut self, bound: &DataBindings, schema: &Schema) -> Result<(), CompileFailure> {
        let doubled = self.doubled_links(bound, schema);
        self.context.warnings.extend(doubled);
        let module = &self.program.module;
        let found = joint_density::dependences(module, self.model_id(), &bound.dims);
        let (errors, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) =
            found.into_iter().partition(|one| one.severity == Severity::Error);
        self.context.warnings.extend(warnings);
        if !errors.is_empty() {
            return Err(errors.into());
        }
        let spec = &self.program.module.datas[self.item.data].spec;
        let found = self.standardised(bound, (spec, schema));
        match found.or_else(|| self.observed_input(bound, (spec, schema))) {
            Some(diagnostic) => Err(diagnostic.into()),
            None => Ok(()),
        }
    }

    /// Reports a standardised target that is not real.
    fn standardised(&self, bound: &DataBindings, (spec, schema): (&DataSpec, &Schema)) -> Option<Diagnostic> {
        let is_target = |output: &&Output| bound.column(output) == schema.target.as_deref();
        let target = bound.outputs.iter().find(is_target)?;
        if !spec.standardise_target || target.kind == OutputKind::Real {
            return None;
        }
        Some(standardised_target(self.model().span, &target.name, spec.span))
    }

    /// Reports an output that is also among the inputs. For example, an input may be the vector of
    /// all columns except the target, and so contain another output of the model.
    fn observed_input(
        &self,
        bound: &DataBindings,
        (spec, schema): (&DataSpec, &Schema),
    ) -> Option<Diagnostic> {
        let takes_all = |source: &DataSource| *source == DataSource::Inputs;
        let vector = bound.ports.iter().find(|port| takes_all(&port.from))?;
        let is_input = |output: &&Output| bound.column(output) != schema.target.as_deref();
        let output = bound.outputs.iter().find(is_input)?;
        if !spec.inputs.is_empty() {
            return None;
        }
        let (span, column) = (self.model().span, bound.column(output)?);
        Some(observed_input(
            span,
            &vector.port,
            &schema.name,
            column,
            spec.span,
        ))
    }
}
