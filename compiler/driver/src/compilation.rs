//! The state of compiling one inference, and the steps that every method uses: reading options, lowering programs and placing diagnostics.

use crate::backends;
use crate::failure::CompileFailure;
use crate::options::CompileOptions;
use crate::program::CheckedProgram;
use bnnc_abi::augmentation::Augmentation;
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::Training;
use bnnc_abi::method::declare::{Mismatch, OptionGroup, OptionName, OptionValue};
use bnnc_abi::methods::sampling::ChainOptions;
use bnnc_abi::methods::variational::ViOptions;
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_graph::model::{ApproximatePosterior, ElaboratedOptimiser, Model};
use bnnc_hir::elaborate::bind::DataBindings;
use bnnc_hir::tree::{InferId, InferItem, InferenceTarget, ModelId, ModelItem, SettingValue};
use bnnc_loops::{backend::Backend, ir};
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::diagnostics::options_of;
use bnnc_rewrite::methods::plan::InferenceProblem;
use bnnc_rewrite::methods::task::RewriteError;
use bnnc_rewrite::pass::{Pass, PassContext};
use bnnc_rewrite::{pipeline, pipelines};
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
    /// The code generator. [`backends::chosen`] reports a generator that does not exist or is not available.
    pub backend: &'static (dyn Backend + Sync),
    /// True if products in lowered programs may read their operands through index maps.
    pub(crate) views: bool,
    /// The number of programs compiled so far. It is part of each program's symbol prefix, which makes the
    /// prefix unique.
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
    /// The columns to which the inputs and outputs of the model are bound.
    pub bound: DataBindings,
    /// The options of variational inference, if the method is `vi`.
    pub vi: Option<ViOptions>,
    /// True if hyperparameters are tuned during the search for the maximum.
    pub is_online: bool,
    /// The random transformations of images in the training.
    pub augment: Vec<Augmentation>,
}

impl ElaboratedInference {
    /// Returns the model with its densities and the approximation of its posterior.
    pub fn problem<'a>(&'a self, densities: &'a Densities) -> InferenceProblem<'a> {
        InferenceProblem {
            densities,
            model: &self.model,
            posterior: &self.posterior,
        }
    }
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
        let backend = backends::lookup(&options.backend).unwrap_or(backends::ALL[0]);
        Compilation {
            program,
            options,
            item: &program.module.infers[id],
            context,
            timings: Vec::new(),
            backend,
            views: backend.reads_views(),
            programs: 0,
        }
    }

    /// Runs rewrites in the context of the passes, and records their time.
    pub(crate) fn rewritten<T>(
        &mut self,
        run: impl FnOnce(&mut PassContext) -> Result<T, RewriteError>,
    ) -> Result<T, CompileFailure> {
        let result = self.timed("rewrite", |this| run(&mut this.context));
        result.map_err(|rejection| self.failure(rejection))
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

    /// Returns the value of an option that the program sets.
    pub fn setting(&self, option: OptionName) -> Option<&'a SettingValue> {
        self.item.setting(option).map(|setting| &setting.value)
    }

    /// Returns whether the program sets an option.
    pub(crate) fn is_set(&self, option: OptionName) -> bool {
        self.item.setting(option).is_some()
    }

    /// Returns the options of a group. An option that the program does not set has its default.
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

    /// Returns an option that several methods have under the same name and with the same type.
    pub(crate) fn option_of<T: OptionValue>(&self, option: OptionName) -> Result<T, Mismatch> {
        self.program.module.read(self.item, |source| source.value(option))
    }

    /// Converts an error of the rewriter into diagnostics that point at this inference block.
    pub(crate) fn failure(&self, rejection: RewriteError) -> CompileFailure {
        match rejection {
            RewriteError::Program(diagnostics) => CompileFailure::Program(self.placed(diagnostics)),
            RewriteError::Fault(fault) => CompileFailure::Fault(fault),
        }
    }

    /// Returns the warnings of the passes.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.placed(self.context.warnings.clone())
    }

    /// Adds a span to diagnostics of the rewriter. A diagnostic may concern several options. If exactly one of them is set, the span is
    /// that of this option. Otherwise, it is the span of the inference block.
    fn placed(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let place = |mut diagnostic: Diagnostic| {
            if diagnostic.at == Place::Nowhere {
                diagnostic.at = Place::Span(self.item.span_of(options_of(diagnostic.code)));
            }
            diagnostic
        };
        diagnostics.into_iter().map(place).collect()
    }

    /// Returns the precision of the run. This is the precision that the backend requires, if it requires one. Otherwise, the command
    /// line takes precedence over the option of the method.
    ///
    /// # Errors
    /// Fails only if the method does not have the option. This would be a bug.
    pub fn precision(&self) -> Result<Precision, Fault> {
        if let Some(precision) = self.backend.fixed_precision() {
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

    /// Prepares the function that a pass returned for lowering. Its rewrites are not traced.
    pub(crate) fn untraced(&mut self, pass: &'static Pass, function: Function) -> Result<Function, Fault> {
        self.context.untraced(|context| {
            let function = pipeline::step(pass, context, |_| Ok::<_, Fault>(function))?;
            pipeline::run(&function, pipelines::BEFORE_LOWERING, context)
        })
    }

    /// Compiles a program to machine code.
    pub(crate) fn code(&mut self, program: ir::LoopProgram) -> Result<Artifact, Fault> {
        let prefix = format!("bnnc_{}_{}_", self.item.name, self.programs);
        self.programs += 1;
        let (options, backend) = (self.options, self.backend);
        self.timed("code", |_| options.code(program, backend, prefix))
    }

    /// Lowers a function without states, and compiles it to machine code.
    pub(crate) fn program(
        &mut self,
        name: &str,
        function: &Function,
        precision: Precision,
    ) -> Result<Artifact, Fault> {
        let program = self.lower(name, function, &[], precision)?;
        self.code(program)
    }

    /// Like [`Compilation::program`], for a function that may be absent.
    pub(crate) fn optional_program(
        &mut self,
        name: &str,
        function: Option<&Function>,
        precision: Precision,
    ) -> Result<Option<Artifact>, Fault> {
        let compile = |function| self.program(name, function, precision);
        function.map(compile).transpose()
    }

    /// Returns whether the method samples the posterior with Markov chains.
    pub fn samples(&self) -> bool {
        self.item.method.has::<ChainOptions>()
    }
}
