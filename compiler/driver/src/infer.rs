//! Compiles one inference from its checked item to functions, programs and machine code, and measures the time of each stage.

pub use crate::compilation::{Compilation, ElaboratedInference, Timings};
pub use crate::failure::CompileFailure;

use crate::diagnostics;
use crate::methods::train::CHECKED;
use crate::methods::{self, Parts};
use crate::names::{names, relate};
use crate::prior::shared_apart;
use bnnc_abi::manifest::{InferenceBlock, OptimiserChoice, Training};
use bnnc_abi::method::Takes;
use bnnc_abi::method::declare::OptionGroup;
use bnnc_abi::methods::iterates::IterateOptions;
use bnnc_abi::methods::laplace;
use bnnc_abi::methods::variational::ViOptions;
use bnnc_abi::run_options::check_patience;
use bnnc_abi::schema::Schema;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_graph::model::ElaboratedOptimiser;
use bnnc_hir::elaborate;
use bnnc_hir::elaborate::bind::target::displaced;
use bnnc_hir::elaborate::bind::{bind, integers};
use bnnc_hir::elaborate::posterior::Rest;
use bnnc_hir::tree::{InferenceTarget, SettingValue};
use bnnc_rewrite::methods::divergence::{Divergence, divergence};
use bnnc_rewrite::methods::likelihood::choice::Layers;
use bnnc_rewrite::methods::task::TrainingSettings;
use bnnc_rewrite::methods::train::{Objective, objective};
use bnnc_rewrite::{density::Densities, kl};
use std::time::Instant;

impl<'a> Compilation<'a> {
    /// Elaborates model, posterior and optimiser for a schema.
    ///
    /// # Errors
    /// Fails if columns do not fit the model, or if the model is wrong for the sizes of the data.
    pub fn elaborate(&mut self, schema: &Schema) -> Result<ElaboratedInference, CompileFailure> {
        self.timed("elaborate", |this| this.elaborate_now(schema))
    }

    fn elaborate_now(&mut self, schema: &Schema) -> Result<ElaboratedInference, CompileFailure> {
        let module = &self.program.module;
        let (bound, mut diagnostics) = bind(self.model(), schema);
        let spec = &module.datas[self.item.data].spec;
        diagnostics.extend(displaced(self.model(), spec, schema));
        if !diagnostics.is_empty() {
            return Err(diagnostics.into());
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
        let augment = self.augments(&bound)?;
        let optimiser = self.optimiser()?;
        self.steps_end(&optimiser)?;
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
            augment,
        })
    }

    fn rest(&self) -> Rest {
        match self.item.method.takes == Takes::ModelOrFixed {
            true => Rest::Method,
            false => Rest::Rejected,
        }
    }

    /// Rejects the option `patience` if the data do not have validation rows. The option would then not have an effect.
    fn watched(&self, schema: &Schema) -> Result<(), CompileFailure> {
        let Some(option) = self.item.setting(Training::patience()) else {
            return Ok(());
        };
        let spec = &self.program.module.datas[self.item.data].spec;
        let patience = self.options_of::<Training>()?.patience;
        let Err(rejection) = check_patience(patience, schema.validation, &spec.name) else {
            return Ok(());
        };
        let diagnostic = Diagnostic::error(&diagnostics::NO_VALIDATION, option.span, rejection.message)
            .label("needs validation rows")
            .also(spec.span, "the data")
            .help(rejection.help);
        Err(diagnostic.into())
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
        // A sampler has no training options, so the default optimiser is elaborated. It is never used.
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

    /// Derives the functions that training evaluates.
    ///
    /// # Errors
    /// Fails if the KL divergence is infinite, if a family does not have a sampler, or if the loss cannot be differentiated.
    pub fn objective(
        &mut self,
        elaborated: &ElaboratedInference,
        densities: &Densities,
    ) -> Result<Objective, CompileFailure> {
        let dropped = self.dropped(elaborated.problem(densities))?;
        let densities = dropped
            .as_ref()
            .map_or(densities, |(dropped, _)| &dropped.densities);
        let problem = elaborated.problem(densities);
        let scaled = self.scaled_prior(problem)?;
        let settings = TrainingSettings {
            scaled: scaled.as_ref(),
            ..self.settings(elaborated)
        };
        let mut objective = self.rewritten(|context| objective(problem, settings, context))?;
        if let Some((dropped, rate)) = &dropped {
            Compilation::announce(&mut objective, dropped, *rate);
        }
        Ok(objective)
    }

    /// Derives only the KL divergence of the posterior from the prior, and its gradient.
    ///
    /// # Errors
    /// Fails in the same cases as [`Compilation::objective`].
    pub fn divergence(
        &mut self,
        elaborated: &ElaboratedInference,
        densities: &Densities,
    ) -> Result<Divergence, CompileFailure> {
        let settings = self.settings(elaborated);
        self.rewritten(|context| divergence(elaborated.problem(densities), settings, context))
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
            mixes: elaborated.augment.iter().any(|one| one.mixes()),
            means: self.item.method.has::<IterateOptions>(),
            scaled: None,
            gradient: self.descends(elaborated).then_some(CHECKED),
        }
    }

    /// Compiles the inference.
    ///
    /// # Errors
    /// Fails if one of the stages fails.
    pub fn compile(&mut self, schema: &Schema) -> Result<InferenceBlock, CompileFailure> {
        let clock = Instant::now();
        let elaborated = self.elaborate(schema)?;
        let method = methods::of(self.item.method.finds);
        if method.needs_sites() && elaborated.model.sites.is_empty() {
            return Err(diagnostics::nothing_to_sample(self.item, true).into());
        }
        let densities = self.density(&elaborated.model)?;
        let positions = self.row_positions(&densities, &elaborated.model)?;
        let before = self.prior(&densities, &elaborated.model)?;
        let (elaborated, densities) = self.grouped(elaborated, densities)?;
        let parts = Parts {
            elaborated: &elaborated,
            densities: &densities,
            schema,
        };
        let programs = method.programs(self, parts)?;
        let precision = self.precision()?;
        // The prediction program does not change states, so its list of states is empty.
        let predict = self.program("predict", &programs.predict, precision)?;
        let sites = self.program("sites", &programs.sites, precision)?;
        // The programs of the method are compiled first, because a run needs them first.
        let prior = match before {
            Ok(function) => Ok(self.program("prior", &function, precision)?),
            Err(why) => Err(why),
        };
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
            prior,
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
        infer.check(schema).map_err(|found| self.conflict(&found))?;
        Ok(infer)
    }
}
