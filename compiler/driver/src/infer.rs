//! Compiles one inference from its checked item to functions, programs and machine code, and measures the time of each stage.

pub use crate::failure::CompileFailure;

use crate::backends;
use crate::diagnostics;
use crate::methods::train::CHECKED;
use crate::methods::{self, Parts};
use crate::names::{names, relate};
use crate::options::CompileOptions;
use crate::prior::shared_apart;
use crate::program::CheckedProgram;
use bnnc_abi::code::Artifact;
use bnnc_abi::data::Schema;
use bnnc_abi::laplace;
use bnnc_abi::manifest::{InferenceBlock, OptimiserChoice, Training};
use bnnc_abi::method::Takes;
use bnnc_abi::method::declare::{Mismatch, OptionGroup, OptionName, OptionValue};
use bnnc_abi::sampling::ChainOptions;
use bnnc_abi::steering::watches;
use bnnc_abi::variational::ViOptions;
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_graph::model::{ApproximatePosterior, ElaboratedOptimiser, Model};
use bnnc_hir::elaborate;
use bnnc_hir::elaborate::bind::target::displaced;
use bnnc_hir::elaborate::bind::{DataBindings, bind, integers};
use bnnc_hir::elaborate::posterior::Rest;
use bnnc_hir::tree::{InferId, InferItem, InferenceTarget, ModelId, ModelItem, SettingValue};
use bnnc_loops::{backend::Backend, ir};
use bnnc_rewrite::diagnostics::options_of;
use bnnc_rewrite::methods::divergence::{Divergence, divergence};
use bnnc_rewrite::methods::likelihood::choice::Layers;
use bnnc_rewrite::methods::train::{Objective, Refusal, TrainingSettings, objective};
use bnnc_rewrite::pass::PassContext;
use bnnc_rewrite::{density::Densities, kl};
use std::time::Instant;

/// The time of each stage in seconds, in order.
pub type Timings = Vec<(&'static str, f64)>;

/// The state of the compilation of one inference.
pub struct Compilation<'a> {
    pub(crate) program: &'a CheckedProgram,
    pub(crate) options: &'a CompileOptions,
    /// The inference block.
    pub item: &'a InferItem,
    /// The context of the passes: options, timings, warnings.
    pub context: PassContext,
    /// The time of each stage.
    pub timings: Timings,
    /// True if the products of lowered programs may read operands through index maps.
    pub(crate) views: bool,
    /// The number of programs compiled so far. This number makes the symbol prefix of each program unique.
    programs: usize,
}

/// The results of elaboration.
pub struct ElaboratedInference {
    /// The model for one example.
    pub model: Model,
    /// The approximation of the model's posterior.
    pub posterior: ApproximatePosterior,
    /// The optimiser that updates the parameters.
    pub optimiser: ElaboratedOptimiser,
    /// The columns that are bound to the inputs and outputs of the model.
    pub bound: DataBindings,
    /// The options of variational inference, if the method is `vi`.
    pub vi: Option<ViOptions>,
    /// True if the search for the maximum also tunes the hyperparameters.
    pub is_online: bool,
}

impl<'a> Compilation<'a> {
    /// Begins the compilation of an inference.
    pub fn new(program: &'a CheckedProgram, id: InferId, options: &'a CompileOptions) -> Compilation<'a> {
        let trace = options.trace.then(Vec::new);
        let mut context = PassContext {
            without: options.without.clone(),
            trace,
            ..PassContext::default()
        };
        context.verify |= options.verify;
        Compilation {
            program,
            options,
            item: &program.module.infers[id],
            context,
            timings: Vec::new(),
            views: backends::lookup(&options.backend).is_none_or(|backend| backend.reads_views()),
            programs: 0,
        }
    }

    /// Runs a stage and records its time.
    pub(crate) fn timed<T>(&mut self, stage: &'static str, run: impl FnOnce(&mut Self) -> T) -> T {
        let clock = Instant::now();
        let result = run(self);
        self.timings.push((stage, clock.elapsed().as_secs_f64()));
        result
    }

    /// Returns the model of the inference.
    pub fn model_id(&self) -> ModelId {
        match self.item.target {
            InferenceTarget::Model(model) => model,
            InferenceTarget::Posterior(posterior) => self.program.module.posteriors[posterior].model,
        }
    }

    /// Returns the model item of the inference.
    pub(crate) fn model(&self) -> &'a ModelItem {
        &self.program.module.models[self.model_id()]
    }

    /// Elaborates model, posterior and optimiser for a schema.
    ///
    /// # Errors
    /// Fails if columns do not fit the model, or if an error appears that depends on the sizes of the data.
    pub fn elaborate(&mut self, schema: &Schema) -> Result<ElaboratedInference, CompileFailure> {
        self.timed("elaborate", |this| this.elaborate_now(schema))
    }

    fn elaborate_now(&mut self, schema: &Schema) -> Result<ElaboratedInference, CompileFailure> {
        let module = &self.program.module;
        let (bound, mut diagnostics) = bind(self.model(), schema);
        let spec = &module.datas[self.item.data].spec;
        diagnostics.extend(displaced(self.model(), spec, schema));
        if !diagnostics.is_empty() {
            return Err(CompileFailure::Program(diagnostics));
        }
        self.observes(&bound, schema)?;
        self.watched(schema)?;
        let unused = integers::unused(module, self.model(), &bound, schema);
        let warnings = bound.warnings.iter().cloned().chain(unused);
        self.context.warnings.extend(warnings);
        let mut model = elaborate::model::elaborate(module, self.model_id(), &bound.dims)?;
        shared_apart(&mut model, &bound);
        let posterior = match self.item.target {
            InferenceTarget::Posterior(id) => {
                elaborate::posterior::elaborate(module, id, &model, self.rest())?
            }
            InferenceTarget::Model(_) => elaborate::posterior::point(module, &model, self.item.span)?,
        };
        let optimiser = self.optimiser()?;
        let vi: Option<ViOptions> = self.options_if()?;
        let apart = vi.as_ref().map_or_else(Vec::new, ViOptions::rows_apart);
        self.keeps_means(&model, &apart)?;
        Ok(ElaboratedInference {
            model,
            posterior,
            optimiser,
            bound,
            vi,
            is_online: self
                .options_if::<laplace::GaussianOptions>()?
                .is_some_and(|options| options.online),
        })
    }

    fn rest(&self) -> Rest {
        match self.item.method.takes == Takes::ModelOrFixed {
            true => Rest::Method,
            false => Rest::Refused,
        }
    }

    /// Rejects the option `patience` if the data do not have validation rows, because the option would then not have an effect.
    fn watched(&self, schema: &Schema) -> Result<(), CompileFailure> {
        let Some(option) = self.item.setting(Training::patience()) else {
            return Ok(());
        };
        let spec = &self.program.module.datas[self.item.data].spec;
        let patience = self.options_of::<Training>()?.patience;
        let Err(refusal) = watches(patience, schema.validation, &spec.name) else {
            return Ok(());
        };
        let diagnostic = Diagnostic::error(&diagnostics::NO_VALIDATION, option.span, refusal.message)
            .label("needs validation rows")
            .also(spec.span, "the data")
            .help(refusal.help);
        Err(CompileFailure::Program(vec![diagnostic]))
    }

    fn optimiser(&self) -> Result<ElaboratedOptimiser, CompileFailure> {
        let module = &self.program.module;
        if let Some(SettingValue::Optimiser(id, args)) = self.setting(Training::optimiser()) {
            return Ok(elaborate::optimiser::elaborate(
                module,
                *id,
                args,
                self.item.span,
            )?);
        }
        // A sampler does not have training options. For a sampler, the default optimiser is elaborated but never used.
        let training = self
            .options_if::<Training>()?
            .map_or_else(Training::defaults, Ok)?;
        let default = match training.optimiser {
            OptimiserChoice::Default(name, rate) => Some((name, rate)),
            OptimiserChoice::Given => None,
        };
        let known = default.and_then(|(name, rate)| {
            let mut ids = module.optimisers.ids();
            let id = ids.find(|id| *module.optimisers[*id].name == *name)?;
            Some((id, rate))
        });
        let Some((id, rate)) = known else {
            let text = "the library has no default optimiser".to_owned();
            return Err(CompileFailure::Fault(Fault::Bug(text)));
        };
        let span = self.item.span;
        let rate = bnnc_hir::tree::TypedExpr {
            kind: bnnc_hir::tree::TypedExprKind::Real(rate),
            ty: bnnc_hir::types::Ty::real(),
            span,
        };
        let defaults = module.optimisers[id]
            .params
            .iter()
            .skip(1)
            .filter_map(|param| param.default.clone());
        let args: Vec<_> = std::iter::once(rate).chain(defaults).collect();
        Ok(elaborate::optimiser::elaborate(module, id, &args, span)?)
    }

    /// Returns the value of an option that the program sets.
    pub fn setting(&self, option: OptionName) -> Option<&'a SettingValue> {
        self.item.setting(option).map(|setting| &setting.value)
    }

    /// Returns whether the program sets an option.
    pub(crate) fn is_set(&self, option: OptionName) -> bool {
        self.item.setting(option).is_some()
    }

    /// Returns the options of a group, with defaults for the options that the program does not set.
    ///
    /// # Errors
    /// Fails only if the method does not have these options. This would be a bug.
    pub(crate) fn options_of<T: OptionGroup>(&self) -> Result<T, Mismatch> {
        self.program.module.read(self.item, T::read)
    }

    /// Returns the options of a group if the method has them.
    pub(crate) fn options_if<T: OptionGroup>(&self) -> Result<Option<T>, Mismatch> {
        match self.item.method.has::<T>() {
            true => self.options_of().map(Some),
            false => Ok(None),
        }
    }

    /// Returns an option that several methods share under one name and type.
    pub(crate) fn option_of<T: OptionValue>(&self, option: OptionName) -> Result<T, Mismatch> {
        self.program.module.read(self.item, |source| source.value(option))
    }

    /// Derives the functions that training evaluates.
    ///
    /// # Errors
    /// Fails if the KL divergence is infinite, if a family does not have a sampler, or if the loss cannot be differentiated.
    pub fn objective(
        &mut self,
        elaborated: &ElaboratedInference,
        densities: &Densities,
    ) -> Result<Objective, CompileFailure> {
        let dropped = self.dropped(elaborated, densities)?;
        let densities = dropped
            .as_ref()
            .map_or(densities, |(dropped, _)| &dropped.densities);
        let scaled = self.scaled_prior(elaborated, densities)?;
        let settings = TrainingSettings {
            scaled: scaled.as_ref(),
            ..self.settings(elaborated)
        };
        let (model, posterior) = (&elaborated.model, &elaborated.posterior);
        let result = self.timed("rewrite", |this| {
            objective(densities, model, posterior, settings, &mut this.context)
        });
        let mut objective = result.map_err(|refusal| self.failure(refusal))?;
        if let Some((dropped, rate)) = &dropped {
            Compilation::announce(&mut objective, dropped, *rate);
        }
        Ok(objective)
    }

    /// Derives only the KL divergence of the posterior from the prior, and the gradient of this divergence.
    ///
    /// # Errors
    /// Fails in the same cases as [`Compilation::objective`].
    pub fn divergence(
        &mut self,
        elaborated: &ElaboratedInference,
        densities: &Densities,
    ) -> Result<Divergence, CompileFailure> {
        let settings = self.settings(elaborated);
        let (model, posterior) = (&elaborated.model, &elaborated.posterior);
        let result = self.timed("rewrite", |this| {
            divergence(densities, model, posterior, settings, &mut this.context)
        });
        result.map_err(|refusal| self.failure(refusal))
    }

    /// Converts an error of the rewriter into diagnostics that point at this inference block.
    pub(crate) fn failure(&self, refusal: Refusal) -> CompileFailure {
        match refusal {
            Refusal::Program(diagnostics) => CompileFailure::Program(self.placed(diagnostics)),
            Refusal::Fault(fault) => CompileFailure::Fault(fault),
        }
    }

    /// Returns the settings for the functions of the inference. The settings follow from the options of the inference.
    pub fn settings<'e>(&self, elaborated: &'e ElaboratedInference) -> TrainingSettings<'e> {
        let (samples, kl_draws, kl, layers) = match &elaborated.vi {
            None => (1, 0, kl::KlOptions::default(), Layers::default()),
            Some(vi) => {
                let kl = kl::KlOptions {
                    estimator: vi.estimator,
                    statistics: vi.statistics,
                    taylor: vi.taylor,
                };
                let layers = Layers {
                    local: &vi.local,
                    flipout: &vi.flipout,
                    integrate: &vi.integrate,
                    series: vi.series,
                };
                (vi.samples, vi.draws, kl, layers)
            }
        };
        TrainingSettings {
            optimiser: &elaborated.optimiser,
            samples,
            kl_draws,
            kl,
            layers,
            jacobians: self.item.method.has::<laplace::GaussianOptions>(),
            online: elaborated.is_online,
            clips: self.is_set(Training::clip()),
            scaled: None,
            gradient: self.descends(elaborated).then_some(CHECKED),
        }
    }

    /// Returns the warnings of the passes.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.placed(self.context.warnings.clone())
    }

    /// Adds a span to diagnostics of the rewriter. If exactly one of the options that a diagnostic may concern is set, the diagnostic gets the
    /// span of this option. Otherwise, the diagnostic gets the span of the inference block.
    fn placed(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let place = |mut diagnostic: Diagnostic| {
            if diagnostic.at == Place::Nowhere {
                diagnostic.at = Place::Span(diagnostics::span_of_one(self.item, options_of(diagnostic.code)));
            }
            diagnostic
        };
        diagnostics.into_iter().map(place).collect()
    }

    /// Returns the precision of the run. The precision that the backend fixes takes precedence. The precision on the command line comes
    /// next, and the method's option comes last.
    ///
    /// # Errors
    /// Fails only if the method does not have the option. This would be a bug.
    pub fn precision(&self, backend: &dyn Backend) -> Result<Precision, Fault> {
        if let Some(precision) = backend.fixed_precision() {
            return Ok(precision);
        }
        match self.options.precision {
            Some(precision) => Ok(precision),
            None => {
                let of_method = self.option_of(Training::precision());
                of_method.map_err(|mismatch| Fault::Bug(mismatch.to_string()))
            }
        }
    }

    /// Lowers a function to loops.
    ///
    /// # Errors
    /// Fails if the program exceeds a limit of the compiler, or if the compiler has a bug.
    pub fn lower(
        &mut self,
        name: &str,
        function: &Function,
        states: &[String],
        precision: Precision,
    ) -> Result<ir::LoopProgram, Fault> {
        let options = bnnc_lower::LoweringOptions {
            views: self.views,
            name: format!("{}.{name}", self.item.name),
            precision,
            seed: self.options.seed,
            states: states.to_vec(),
        };
        let program = self.timed("lower", |_| bnnc_lower::lower(function, &options))?;
        if self.context.verify {
            bnnc_loops::verify::verify(&program)?;
        }
        Ok(program)
    }

    /// Compiles a program to machine code.
    pub(crate) fn code(
        &mut self,
        program: ir::LoopProgram,
        backend: &dyn Backend,
    ) -> Result<Artifact, Fault> {
        let prefix = format!("bnnc_{}_{}_", self.item.name, self.programs);
        self.programs += 1;
        let options = self.options;
        self.timed("code", |_| options.code(program, backend, prefix))
    }

    /// Compiles the inference.
    ///
    /// # Errors
    /// Fails if one of the stages fails.
    pub fn compile(
        &mut self,
        schema: &Schema,
        backend: &dyn Backend,
    ) -> Result<InferenceBlock, CompileFailure> {
        let clock = Instant::now();
        let elaborated = self.elaborate(schema)?;
        let method = methods::of(self.item.method.finds);
        if method.needs_sites() && elaborated.model.sites.is_empty() {
            return Err(CompileFailure::Program(vec![diagnostics::nothing_to_sample(
                self.item, true,
            )]));
        }
        let densities = self.density(&elaborated.model)?;
        let positions = self.row_positions(&densities, &elaborated.model, backend)?;
        let before = self.prior(&densities, &elaborated.model, backend)?;
        let (elaborated, densities) = self.grouped(elaborated, densities)?;
        let parts = Parts {
            elaborated: &elaborated,
            densities: &densities,
            schema,
            backend,
        };
        let programs = method.programs(self, parts)?;
        let precision = self.precision(backend)?;
        // The prediction program does not change any states, so its list of states is empty.
        let predict = self.lower("predict", &programs.predict, &[], precision)?;
        let predict = self.code(predict, backend)?;
        let sites = self.lower("sites", &programs.sites, &[], precision)?;
        let sites = self.code(sites, backend)?;
        let names = names(self.model(), &elaborated, schema);
        let mut bindings = elaborated.bound.ports;
        crate::intercepts::mark(&mut bindings, &elaborated.model.function);
        let design = crate::design::design(&elaborated.model);
        let mut outputs = elaborated.bound.outputs;
        for output in &mut outputs {
            relate(
                output,
                &densities,
                &elaborated.model,
                (self.model(), &self.program.module),
            );
        }
        let infer = InferenceBlock {
            name: self.item.name.to_string(),
            method: self.item.method.name,
            data: self.program.module.datas[self.item.data].name.to_string(),
            precision,
            work: programs.work,
            predict,
            sites,
            prior: before,
            states: programs.states,
            reports: programs.reports,
            bindings,
            positions,
            reached: crate::positions::reached(&densities, &elaborated.model),
            design,
            outputs,
            names,
            start: self.start(&elaborated.model, &elaborated.posterior)?,
            cost: programs.cost,
            compile_seconds: clock.elapsed().as_secs_f64(),
        };
        infer.check(schema).map_err(|refusal| self.refused(&refusal))?;
        Ok(infer)
    }

    /// Returns whether the method samples the posterior with Markov chains.
    pub fn samples(&self) -> bool {
        self.item.method.has::<ChainOptions>()
    }
}
