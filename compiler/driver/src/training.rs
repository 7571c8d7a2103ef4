//! Infers that train: their programs, the options that steer their run, and what a pruning table is made with.

use crate::codes;
use crate::infer::{Compilation, Elaborated, Failure};
use bnnc_abi::cost::Cost;
use bnnc_abi::manifest::{KlWeight, Length, Pruning, Schedule, SiteReport, State, Train, Training, Work};
use bnnc_abi::method::Finds;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use bnnc_graph::function::Function;
use bnnc_graph::model::{Model, Optimiser};
use bnnc_hir::tree::SettingValue;
use bnnc_loops::backend::Backend;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::prune;
use bnnc_rewrite::methods::train::Objective;

/// The most weights of a model whose training a descent may check.
const CHECKED: usize = 10_000;

/// What the ways of finding a posterior have in common.
pub(crate) struct Programs {
    /// What finds it.
    pub work: Work,
    /// Predictions for rows.
    pub predict: Function,
    /// Draws of the sites.
    pub sites: Function,
    /// Parameters and optimiser state.
    pub states: Vec<State>,
    /// The sites.
    pub reports: Vec<SiteReport>,
    /// Compile-time facts.
    pub cost: Cost,
}

impl Compilation<'_> {
    /// The programs of an infer that trains.
    pub(crate) fn training_programs(
        &mut self,
        elaborated: &Elaborated,
        densities: &Densities,
        backend: &dyn Backend,
    ) -> Result<Programs, Failure> {
        let objective = self.objective(elaborated, densities)?;
        let options = self.training(&elaborated.optimiser)?;
        let (mut train, cost) = self.train(&objective, options, backend)?;
        train.pruning = self.pruning(elaborated, densities, backend)?;
        Ok(Programs {
            work: Work::Train(Box::new(train)),
            predict: objective.predict,
            sites: objective.sites,
            states: objective.states,
            reports: objective.reports,
            cost,
        })
    }

    /// The step of an objective, and what it costs.
    pub(crate) fn train(
        &mut self,
        objective: &Objective,
        options: Training,
        backend: &dyn Backend,
    ) -> Result<(Train, Cost), Fault> {
        let precision = self.precision(backend);
        let names: Vec<String> = objective.states.iter().map(|state| state.name.clone()).collect();
        let step = self.lower("train", &objective.train, &names, precision)?;
        let cost = Cost {
            parameters: objective.parameters,
            variational_parameters: objective.variational_parameters,
            gradient_nodes: objective.gradient_nodes,
            step: bnnc_lower::cost::estimate(&step),
            ..Cost::default()
        };
        let step = self.code(step, backend)?;
        // Differences of losses that matter are below the rounding of single precision where there are many rows.
        let gradient = match &objective.gradient {
            Some(function) => {
                let gradient = self.lower("gradient", function, &[], Precision::F64)?;
                Some(self.code(gradient, backend)?)
            }
            None => None,
        };
        let train = Train {
            step,
            gradient,
            options,
            pruning: None,
        };
        Ok((train, cost))
    }

    /// What the pruning table needs, if one is asked for.
    pub(crate) fn pruning(
        &mut self,
        elaborated: &Elaborated,
        densities: &Densities,
        backend: &dyn Backend,
    ) -> Result<Option<Pruning>, Failure> {
        let Some(SettingValue::Reals(fractions)) = self.setting("prune") else {
            return Ok(None);
        };
        let settings = self.settings(elaborated);
        let (model, posterior) = (&elaborated.model, &elaborated.posterior);
        let functions = self.timed("rewrite", |this| {
            prune::pruning(densities, model, posterior, settings, &mut this.context)
        });
        let functions = functions.map_err(|refusal| self.failure(refusal))?;
        if functions.sites.is_empty() {
            let diagnostic = codes::nothing_to_prune(self.item, &functions.untouched);
            return Err(Failure::Program(vec![diagnostic]));
        }
        let precision = self.precision(backend);
        let moments = self.lower("moments", &functions.moments, &[], precision)?;
        let predict = self.lower("predict_pruned", &functions.predict, &[], precision)?;
        let untouched = functions.untouched.into_iter();
        Ok(Some(Pruning {
            fractions: fractions.clone(),
            sites: functions.sites.iter().map(|site| site.to_string()).collect(),
            untouched: untouched.map(|(site, why)| (site.to_string(), why)).collect(),
            moments: self.code(moments, backend)?,
            predict: self.code(predict, backend)?,
        }))
    }

    /// Returns whether a descent from the end of the training may check it: where the method maximises a fixed density of few enough weights.
    pub(crate) fn descends(&self, model: &Model) -> bool {
        let is_fixed = match self.item.method.finds {
            Finds::Training | Finds::Laplace | Finds::Swag | Finds::Ensemble => true,
            Finds::Masked | Finds::Chains | Finds::Collapsed => false,
        };
        let sites = model.sites.iter();
        let weights: usize = sites.map(|site| site.ty.shape.count(&Sizes::default())).sum();
        is_fixed && !self.flag("online").unwrap_or(false) && weights <= CHECKED
    }

    /// The run-time options of a training.
    ///
    /// # Errors
    /// Two lengths.
    pub(crate) fn training(&self, optimiser: &Optimiser) -> Result<Training, Failure> {
        if self.setting("epochs").is_some() && self.setting("steps").is_some() {
            let message = "`epochs` and `steps` both give the length of the training";
            return Err(self.apart("steps", message, "leave one of them out"));
        }
        Ok(Training {
            length: match self.setting("epochs") {
                Some(_) => Length::Epochs(self.int("epochs")),
                None => Length::Steps(self.int("steps")),
            },
            restarts: self.int("restarts").max(1),
            batch: self.int("batch"),
            rate: optimiser.rate,
            schedule: self.schedule(),
            patience: self.int("patience"),
            samples: self.int("samples").max(1),
            kl_draws: self.int("draws"),
            kl_weight: match self.word("kl_weight") {
                Some("graves") => KlWeight::Graves,
                Some("blundell") => KlWeight::Blundell,
                _ => KlWeight::Exact,
            },
        })
    }

    fn schedule(&self) -> Schedule {
        let given = self.setting("schedule").map(|_| self.call("schedule"));
        match given.unwrap_or((self.default("schedule"), &[])) {
            ("cosine", _) => Schedule::Cosine,
            ("cooldown", _) => Schedule::Cooldown,
            ("linear", _) => Schedule::Linear,
            ("step", [fraction, factor]) => Schedule::Step {
                fraction: *fraction,
                factor: *factor,
            },
            _ => Schedule::Constant,
        }
    }
}
