//! Predicts for levels without training rows. In the programs for such predictions, the axes of
//! levels are longer than in the programs of the run.

use crate::backends;
use crate::compilation::Compilation;
use crate::compile::chosen;
use crate::diagnostics::new_levels::no_new_levels;
use crate::failure::CompileFailure;
use crate::methods;
use crate::names::name;
use crate::options::CompileOptions;
use crate::prior::shared_apart;
use crate::program::CheckedProgram;
use bnnc_abi::manifest::{DataSource, InferenceBlock, Init, State};
use bnnc_abi::method::lookup;
use bnnc_abi::schema::Schema;
use bnnc_graph::model::{Model, Site};
use bnnc_hir::elaborate::bind::{DataBindings, bind};
use bnnc_hir::elaborate::model::elaborate;
use bnnc_hir::tree::ModelItem;
use bnnc_hir::types::{Elem, Ty};
use bnnc_rewrite::methods::prior::{self, ValueOrigin};
use bnnc_rewrite::pipelines;
use std::collections::HashMap;
use std::sync::Arc;

/// An axis along which inputs select positions. Each of these inputs is one column.
#[derive(Clone, Debug)]
pub struct SelectedAxis {
    /// The name of the dimension.
    pub dim: Arc<str>,
    /// The size of the dimension in the run.
    pub size: usize,
    /// The inputs that select positions along the dimension.
    pub ports: Vec<String>,
}

/// The offset that [`apart`] adds to sizes. It makes them larger than all sizes of the run, so that
/// they cannot equal the size of another axis by coincidence.
const APART: usize = 1009;

/// Returns the axes of an inference that may have new levels. Such an axis is a named dimension
/// whose positions are the levels of a column that is bound to an input.
pub fn axes(
    program: &CheckedProgram,
    infer: &str,
    schema: &Schema,
    options: &CompileOptions,
) -> Vec<SelectedAxis> {
    let mut items = program.module.infers.ids();
    let id = items.find(|id| *program.module.infers[*id].name == *infer);
    id.map_or_else(Vec::new, |id| {
        let model = Compilation::new(program, id, options).model();
        axes_of(model, &bind(model, schema).0)
    })
}

fn axes_of(model: &ModelItem, bound: &DataBindings) -> Vec<SelectedAxis> {
    let mut axes: Vec<SelectedAxis> = Vec::new();
    for binding in &model.inputs {
        let Ty::Tensor(Elem::Index(size), _) = &binding.param.ty else {
            continue;
        };
        let port = bound.ports.iter().find(|port| port.port == *binding.param.name);
        let is_column = port.is_some_and(|port| matches!(port.from, DataSource::Field(_)));
        let Some(dim) = name(model, size).filter(|_| is_column) else {
            continue;
        };
        let Some(size) = bound.dims.get(dim.as_str()) else {
            continue;
        };
        match axes.iter_mut().find(|axis| *axis.dim == *dim) {
            Some(axis) => axis.ports.push(binding.param.name.to_string()),
            None => axes.push(SelectedAxis {
                dim: dim.into(),
                size: *size,
                ports: vec![binding.param.name.to_string()],
            }),
        }
    }
    axes
}

/// Returns the inference `infer` with additional levels along some axes. `more` contains each of
/// these axes and the number of its new levels. For each draw, the returned inference reads the
/// values of all parameters from states with the names of the parameters. For new levels, it
/// ignores these values and draws the parameters from their priors.
///
/// # Errors
/// Fails if the method does not keep draws, or if the model does not have a separate prior for each
/// level.
pub fn new_levels(
    program: &CheckedProgram,
    schema: &Schema,
    options: &CompileOptions,
    infer: &InferenceBlock,
    more: &[(SelectedAxis, usize)],
) -> Result<InferenceBlock, CompileFailure> {
    let ids = chosen(program, options)?;
    let mut ids = ids.into_iter();
    let Some(id) = ids.find(|id| *program.module.infers[*id].name == *infer.name) else {
        return Ok(infer.clone());
    };
    let mut compilation = Compilation::new(program, id, options);
    let rejected = |compilation: &Compilation<'_>, why: String| {
        CompileFailure::from(no_new_levels(compilation.item, &why))
    };
    if let Some(why) = no_draws(infer) {
        return Err(rejected(&compilation, why));
    }
    let model = compilation.model();
    let (bound, _) = bind(model, schema);
    let elaborated = |dims: &HashMap<Arc<str>, usize>| {
        elaborate(&program.module, compilation.model_id(), dims).map_err(CompileFailure::from)
    };
    let (one, other) = (apart(&bound, more, 0), apart(&bound, more, 1));
    let selects = |input: &str| {
        more.iter()
            .any(|(axis, _)| axis.ports.iter().any(|port| port == input))
    };
    prior::uniform(
        &elaborated(&one)?.function,
        &elaborated(&other)?.function,
        &selects,
    )
    .map_err(|why| rejected(&compilation, why.to_string()))?;
    let mut dims = bound.dims.clone();
    let trained = elaborated(&dims)?;
    dims.extend(
        more.iter()
            .map(|(axis, more)| (axis.dim.clone(), axis.size + more)),
    );
    let mut grown = elaborated(&dims)?;
    shared_apart(&mut grown, &bound);
    compilation.widened(infer, (&trained, &grown))
}

impl Compilation<'_> {
    /// Returns the inference after the sites of the model `grown` have replaced the sites of the
    /// model `trained`.
    fn widened(
        &mut self,
        infer: &InferenceBlock,
        (trained, grown): (&Model, &Model),
    ) -> Result<InferenceBlock, CompileFailure> {
        backends::chosen(&self.options.backend)?;
        let densities = self.density(grown)?;
        let positions = self.row_positions(&densities, grown)?;
        let origin = |site: &Site| match trained.sites.iter().find(|old| old.name == site.name) {
            Some(old) if old.ty.shape != site.ty.shape => ValueOrigin::GivenBelow(old.ty.shape.clone()),
            _ => ValueOrigin::Given,
        };
        let predict = prior::predict(&densities, grown, &origin)
            .map_err(|why| no_new_levels(self.item, &why.to_string()))?;
        let predict = self.untraced(&pipelines::PRIOR, predict)?;
        let state = |site: &Site| State {
            name: site.name.to_string(),
            shape: site.ty.shape.clone(),
            init: Init::Constant(0.0),
            parameter: true,
            is_running_mean: false,
            from: None,
        };
        Ok(InferenceBlock {
            predict: self.program("new_levels", &predict, infer.precision)?,
            states: grown.sites.iter().map(state).collect(),
            positions,
            ..infer.clone()
        })
    }
}

/// If the predictions of an inference are not means over draws of all its parameters, returns the
/// reason.
fn no_draws(infer: &InferenceBlock) -> Option<String> {
    let method = lookup(infer.method)?;
    let why = methods::of(method.finds).without_draws(method)?;
    Some(format!(
        "`{}` {why}: new levels need draws of the parameters of their prior",
        infer.method
    ))
}

/// Returns sizes of a model with `extra` additional levels along each axis of levels. No two of
/// these axes have the same size.
fn apart(bound: &DataBindings, more: &[(SelectedAxis, usize)], extra: usize) -> HashMap<Arc<str>, usize> {
    let largest = bound.dims.values().copied().max().unwrap_or(0);
    let mut dims = bound.dims.clone();
    let sizes = more.iter().zip((APART + largest..).step_by(2));
    dims.extend(sizes.map(|((axis, _), size)| (axis.dim.clone(), size + extra)));
    dims
}
