//! Builds the programs of methods that run Markov chains, and checks the options of the chains.

mod lockstep;

use crate::compilation::Compilation;
use crate::diagnostics;
use crate::failure::CompileFailure;
use crate::methods::{BuiltPrograms, Kept, Method, Parts, Programs};
use bnnc_abi::cost::Cost;
use bnnc_abi::manifest::{InferenceBlock, Work};
use bnnc_abi::method::MethodDef;
use bnnc_abi::method::declare::OptionName;
use bnnc_abi::methods::sampling::samplers::sgld::SgldOptions;
use bnnc_abi::methods::sampling::{
    ChainOptions, DiagnosedQuantities, LooPolicy, Prepare, PreparedColumn, SamplerKind, Sampling, Steps,
    Transition,
};
use bnnc_abi::names::layer_of;
use bnnc_abi::run_options::OptionConflict;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Sizes, Symbol};
use bnnc_graph::function::Value;
use bnnc_hir::tree::SettingValue;
use bnnc_rewrite::methods::plan::InferenceProblem;
use bnnc_rewrite::methods::sample::{self, SamplingPrograms};
use std::sync::Arc;

/// The largest dimension of a position for which `dense` is the default metric, in a model without
/// layers. Up to this dimension, a dense metric costs little compared with the gradient, and a
/// warm-up of the usual length is long enough to learn the metric. The effective sample size per
/// gradient is then at least as high as with a diagonal metric, and many times higher if parameters
/// are correlated.
const SMALL: usize = 50;

/// The methods that find the posterior by Markov chains.
pub(crate) struct Samples(pub SamplerKind);

impl Method for Samples {
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> BuiltPrograms {
        compilation.sampling_programs(self.0, parts)
    }

    fn without_running_means(&self) -> Option<&'static str> {
        Some("a Markov chain needs a density in which the rows are independent given the parameters")
    }

    fn keeps_rows(&self, _: &MethodDef, infer: &InferenceBlock) -> Option<Kept> {
        let options = &infer.sampling()?.options;
        if options.leave_one_out == LooPolicy::Never {
            let (why, help) = ("`loo = never` turns it off", "remove `loo = never`");
            return Some(Kept::TurnedOff(why.to_owned(), help.to_owned()));
        }
        let temperature = options.temperature;
        (temperature != 1.0).then(|| {
            Kept::Always(format!(
                "`temperature = {temperature}` samples a tempered posterior, from which rows cannot be left out"
            ))
        })
    }
}

impl Compilation<'_> {
    /// Derives the functions that the inference's sampler evaluates.
    ///
    /// # Errors
    /// Fails if the options request a non-centred parameterisation for a site that does not have
    /// one, or if an op cannot be differentiated.
    pub fn sampled(&mut self, problem: InferenceProblem<'_>) -> Result<SamplingPrograms, CompileFailure> {
        let chains = self.options_of::<ChainOptions>()?;
        self.rewritten(|context| sample::sampled(problem, &chains.noncentre, context))
    }

    /// Builds the programs of an inference by Markov chains.
    fn sampling_programs(&mut self, sampler: SamplerKind, parts: Parts<'_>) -> BuiltPrograms {
        let options = self.options_of::<ChainOptions>()?;
        let sampled = self.sampled(parts.problem())?;
        if sampled.dimension == 0 {
            return Err(
                diagnostics::nothing_to_sample(self.item, parts.elaborated.model.sites.is_empty()).into(),
            );
        }
        self.reported(&sampled, &options)?;
        let transition = self.transition(sampler, &sampled)?;
        let checked = transition.part().check(parts.schema.train, &options);
        checked.map_err(|found| self.conflict(&found))?;
        let precision = self.precision()?;
        let prepare = self.prepare(&sampled, precision)?;
        let alone = self.lower("density", &sampled.density, &[], precision)?;
        let rows = self.lower("rows", &sampled.rows, &[], precision)?;
        let sizes = Sizes::default()
            .with(Symbol::Batch, parts.schema.train.max(1))
            .with(Symbol::Examples, parts.schema.train);
        let step = bnnc_lower::cost::estimate(&alone);
        let (density, lanes) = match transition.part().reads_all() {
            true => self.lockstep(&sampled, alone, step.at(&sizes).flops, precision)?,
            false => (alone, 1),
        };
        let cost = Cost {
            parameters: sampled.parameters,
            variational_parameters: sampled.dimension,
            gradient_nodes: sampled.gradient_nodes,
            step,
            ..Cost::default()
        };
        let sampling = Sampling {
            prepare,
            density: self.code(density)?,
            lanes,
            rows: self.code(rows)?,
            moved: sampled.moved.iter().map(|name| name.to_string()).collect(),
            noncentred: sampled.noncentred.clone(),
            jumps: sampled.jumps.iter().map(|name| name.to_string()).collect(),
            centred: sampled.centred.iter().map(|name| name.to_string()).collect(),
            options,
            transition,
        };
        Ok(Programs {
            work: Work::Sampling(Box::new(sampling)),
            predict: sampled.predict,
            sites: sampled.sites,
            states: sampled.states,
            reports: sampled.reports,
            cost,
        })
    }

    /// Compiles the program for the values that are the same in all iterations. Returns
    /// `None` if every value changes between iterations.
    fn prepare(
        &mut self,
        sampled: &SamplingPrograms,
        precision: Precision,
    ) -> Result<Option<Prepare>, Fault> {
        let Some(function) = &sampled.prepare else {
            return Ok(None);
        };
        let column = |(name, value): &(Arc<str>, Value)| {
            let shape = &function.ty(*value).shape;
            PreparedColumn {
                name: name.to_string(),
                width: shape.count(&Sizes::default()),
                of_row: shape.dims().first() == Some(&Dim::Symbol(Symbol::Batch)),
            }
        };
        let columns = function.results.iter().map(column).collect();
        Ok(Some(Prepare {
            program: self.program("prepare", function, precision)?,
            columns,
        }))
    }

    /// Rejects names in `report` that the model does not have.
    fn reported(&self, sampled: &SamplingPrograms, options: &ChainOptions) -> Result<(), CompileFailure> {
        let DiagnosedQuantities::Sites(wanted) = &options.report else {
            return Ok(());
        };
        let names: Vec<&str> = sampled.reports.iter().map(|site| &*site.name).collect();
        match wanted.iter().find(|name| !names.contains(&name.as_str())) {
            Some(name) => {
                let model = self.model();
                let inputs = model.inputs.iter().chain(&model.outputs);
                let given: Vec<_> = inputs.map(|input| input.local).collect();
                let mut variables = model.locals.ids().filter(|local| !given.contains(local));
                let of_rows = variables.any(|local| *model.locals[local].name == **name);
                let diagnostic = diagnostics::no_quantity(self.item, name, of_rows, &names);
                Err(diagnostic.into())
            }
            None => Ok(()),
        }
    }

    /// Returns the transition of a chain.
    fn transition(
        &self,
        sampler: SamplerKind,
        sampled: &SamplingPrograms,
    ) -> Result<Transition, CompileFailure> {
        let module = &self.program.module;
        let mut transition = module.read(self.item, |source| Transition::read(sampler, source))?;
        if let Some(SettingValue::Call(_, numbers)) = self.setting(SgldOptions::schedule())
            && let (Steps::Cyclical { .. }, [cycles, _]) = (transition.part().schedule(), &numbers[..])
            && cycles.fract() != 0.0
        {
            let text = format!("the cycles of `cyclical` must be a whole number, found {cycles}");
            return Err(self.apart(SgldOptions::schedule(), &text, "such as `cyclical(4, 0.5)`"));
        }
        // The posterior of a network has many modes, and a metric that is learnt in one mode is wrong in the others.
        let in_layers = sampled.moved.iter().any(|state| layer_of(state).is_some());
        transition.resolve(!in_layers && sampled.dimension <= SMALL);
        Ok(transition)
    }

    /// Creates the error for options that cannot be used together. The diagnostic points at
    /// `option`.
    pub(crate) fn apart(&self, option: OptionName, message: &str, help: &str) -> CompileFailure {
        diagnostics::options_apart(self.item, option, message, help).into()
    }

    /// Creates the error for a conflict of options that was found by a check that `--set` uses too.
    /// See [`Compilation::apart`].
    pub(crate) fn conflict(&self, found: &OptionConflict) -> CompileFailure {
        self.apart(found.option, &found.message, &found.help)
    }
}
