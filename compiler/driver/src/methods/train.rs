//! Builds the programs for methods that train with an optimiser, and those for the pruning table.
//! Also reads the options of the training run.

use crate::compilation::{Compilation, ElaboratedInference};
use crate::diagnostics;
use crate::failure::CompileFailure;
use crate::methods::{self, BuiltPrograms, Kept, Method, Parts, Programs};
use bnnc_abi::cost::Cost;
use bnnc_abi::manifest::{InferenceBlock, Pruning, Train, Training, Work};
use bnnc_abi::method::MethodDef;
use bnnc_base::dtype::Precision;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::train::{Objective, prune};

/// The largest number of optimised scalars for which a gradient descent checks whether a training
/// run has converged.
pub(crate) const CHECKED: usize = 10_000;

/// The methods that find the posterior by an optimiser.
pub(crate) struct Trains;

impl Method for Trains {
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> BuiltPrograms {
        compilation.training_programs(parts)
    }

    fn minimises_loss(&self) -> bool {
        true
    }

    fn without_draws(&self, method: &MethodDef) -> Option<&'static str> {
        method
            .finds_point()
            .then_some("finds one value of each parameter")
    }

    fn keeps_rows(&self, method: &MethodDef, _: &InferenceBlock) -> Option<Kept> {
        let why = || {
            format!(
                "`{}` finds one point, but leaving rows out needs draws",
                method.name
            )
        };
        method.finds_point().then(|| Kept::Always(why()))
    }
}

impl Compilation<'_> {
    /// Builds the programs of an inference by training.
    pub(crate) fn training_programs(&mut self, parts: Parts<'_>) -> BuiltPrograms {
        let objective = self.objective(parts.elaborated, parts.densities)?;
        let (mut train, cost) = self.train(&objective, parts.elaborated)?;
        train.pruning = self.pruning(parts.elaborated, parts.densities)?;
        Ok(Programs {
            work: Work::Train(Box::new(train)),
            predict: objective.predict,
            sites: objective.sites,
            states: objective.states,
            reports: objective.reports,
            cost,
        })
    }

    /// Compiles the training step of an objective, and returns it with its cost.
    pub(crate) fn train(
        &mut self,
        objective: &Objective,
        elaborated: &ElaboratedInference,
    ) -> Result<(Train, Cost), CompileFailure> {
        let options = self.training()?;
        let precision = self.precision()?;
        let names: Vec<String> = objective.states.iter().map(|state| state.name.clone()).collect();
        let step = self.lower("train", &objective.train, &names, precision)?;
        let cost = Cost {
            parameters: objective.parameters,
            variational_parameters: objective.variational_parameters,
            gradient_nodes: objective.gradient_nodes,
            step: bnnc_lower::cost::estimate(&step),
            ..Cost::default()
        };
        let step = self.code(step)?;
        // The check runs in double precision, because with many rows, relevant differences between
        // losses can be smaller than the rounding errors of single precision.
        let gradient = objective.gradient.as_ref();
        let gradient = self.optional_program("gradient", gradient, Precision::F64)?;
        let train = Train {
            step,
            gradient,
            has_noise: objective.has_noise,
            joins_rows: !elaborated.model.running.is_empty(),
            options,
            rate: elaborated.optimiser.rate,
            vi: elaborated.vi.clone(),
            pruning: None,
        };
        Ok((train, cost))
    }

    /// Compiles the programs of the pruning table. Returns `None` if `prune` is not set.
    pub(crate) fn pruning(
        &mut self,
        elaborated: &ElaboratedInference,
        densities: &Densities,
    ) -> Result<Option<Pruning>, CompileFailure> {
        let Some(vi) = elaborated.vi.as_ref().filter(|vi| !vi.prune.is_empty()) else {
            return Ok(None);
        };
        let settings = self.settings(elaborated);
        let problem = elaborated.problem(densities);
        let functions = self.rewritten(|context| prune::pruning(problem, settings, context))?;
        if functions.sites.is_empty() {
            let diagnostic = diagnostics::nothing_to_prune(self.item, &functions.untouched);
            return Err(diagnostic.into());
        }
        let precision = self.precision()?;
        let untouched = functions.untouched.into_iter();
        Ok(Some(Pruning {
            fractions: vi.prune.clone(),
            sites: functions.sites.iter().map(|site| site.to_string()).collect(),
            untouched: untouched.map(|(site, why)| (site.to_string(), why)).collect(),
            moments: self.program("moments", &functions.moments, precision)?,
            predict: self.program("predict_pruned", &functions.predict, precision)?,
        }))
    }

    /// Returns whether a gradient descent may check whether the training has converged. The method must minimise a fixed
    /// loss.
    pub(crate) fn descends(&self, elaborated: &ElaboratedInference) -> bool {
        let is_fixed = !elaborated.is_online && elaborated.augment.is_empty();
        methods::of(self.item.method.finds).minimises_loss() && is_fixed
    }

    /// Returns the options of a training run.
    ///
    /// # Errors
    /// Fails if both `epochs` and `steps` are set.
    pub(crate) fn training(&self) -> Result<Training, CompileFailure> {
        if self.is_set(Training::epochs()) && self.is_set(Training::steps()) {
            let message = "`epochs` and `steps` both set the length of the training";
            return Err(self.apart(Training::steps(), message, "leave one of them out"));
        }
        let options: Training = self.options_of()?;
        let has_length = self.is_set(Training::epochs()) || self.is_set(Training::steps());
        if options.schedule.has_times() && !has_length {
            let message = "the times of `schedule` are epochs or steps, but the training has no length";
            let help = "set the length in the same unit: `epochs = 300`, or `steps = 20000`";
            return Err(self.apart(Training::schedule(), message, help));
        }
        Ok(options)
    }
}
