//! Builds the programs of `swag` and `ensemble`. For `swag`, the posterior is made from the
//! iterates of one training run; for `ensemble`, from the results of several training runs.

pub(crate) mod diagnostics;
pub(crate) mod taken;

use crate::compilation::Compilation;
use crate::diagnostics::nothing_to_sample;
use crate::failure::CompileFailure;
use crate::methods::{BuiltPrograms, Method, Parts, Programs};
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::{SiteReport, Train, Work};
use bnnc_abi::methods::iterates::{Covariance, Ensemble, Swag, SwagOptions};
use bnnc_graph::model::Model;
use bnnc_rewrite::methods::plan::InferenceProblem;
use bnnc_rewrite::methods::sample::{self, PositionPrograms};
use bnnc_rewrite::methods::train::Objective;
use std::sync::Arc;

/// The method `swag`: a Gaussian over iterates, or the iterates themselves.
pub(crate) struct Averages;

impl Method for Averages {
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> BuiltPrograms {
        let made = |this: &Compilation<'_>, train, moved, means| {
            let swag = this.iterates(train, moved, means, this.options_of()?)?;
            let family = match swag.gaussian.covariance {
                Covariance::Snapshots => "iterates",
                Covariance::Point | Covariance::Diagonal | Covariance::LowRank(_) => "Normal",
            };
            Ok((Work::Swag(Box::new(swag)), family))
        };
        compilation.iterates_programs(parts, made)
    }

    fn minimises_loss(&self) -> bool {
        true
    }
}

/// The method `ensemble`: the maxima from several training runs.
pub(crate) struct Ensembles;

impl Method for Ensembles {
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> BuiltPrograms {
        let made = |this: &Compilation<'_>, train, moved, _| {
            let options = this.options_of()?;
            let ensemble = Ensemble {
                train,
                moved,
                options,
            };
            Ok((Work::Ensemble(Box::new(ensemble)), "members"))
        };
        compilation.iterates_programs(parts, made)
    }

    fn minimises_loss(&self) -> bool {
        true
    }
}

/// Returns the names of the states that differ between positions: the trained states, and the running means.
pub(crate) fn with_means(trained: &[Arc<str>], model: &Model) -> Vec<String> {
    let means = model.running.iter().map(|mean| &mean.name);
    trained.iter().chain(means).map(|name| name.to_string()).collect()
}

impl Compilation<'_> {
    /// Builds the programs of an inference that collects iterates or ensemble members. The training
    /// step is the same as for `map`. As for samplers, the programs for predictions and sites
    /// evaluate many positions. `made` receives the training step, the names of the states that
    /// differ between positions, and the program that recomputes running means. It returns the work,
    /// and the family name for the reports on the sites.
    fn iterates_programs(
        &mut self,
        parts: Parts<'_>,
        made: impl FnOnce(
            &Self,
            Train,
            Vec<String>,
            Option<Artifact>,
        ) -> Result<(Work, &'static str), CompileFailure>,
    ) -> BuiltPrograms {
        let positions = self.positions(parts.problem())?;
        if positions.moved.is_empty() {
            return Err(nothing_to_sample(self.item, parts.elaborated.model.sites.is_empty()).into());
        }
        let objective = self.objective(parts.elaborated, parts.densities)?;
        let (train, cost) = self.train(&objective, parts.elaborated)?;
        let means = self.means(&objective)?;
        let moved = with_means(&positions.moved, &parts.elaborated.model);
        let (work, family) = made(self, train, moved, means)?;
        let report = |site: SiteReport| SiteReport {
            family: match &*site.family {
                "sampled" => family.to_owned(),
                _ => site.family,
            },
            ..site
        };
        // Ensemble members and the mean of iterates give few positions, with several draws each. A program with one position
        // per call evaluates the network only once per position.
        let predict = match &work {
            Work::Swag(swag) if swag.gaussian.covariance != Covariance::Point => positions.predict,
            _ => objective.predict,
        };
        Ok(Programs {
            work,
            predict,
            sites: positions.sites,
            states: objective.states,
            reports: positions.reports.into_iter().map(report).collect(),
            cost,
        })
    }

    /// Derives the functions that evaluate the model at many positions.
    fn positions(&mut self, problem: InferenceProblem<'_>) -> Result<PositionPrograms, CompileFailure> {
        self.rewritten(|context| sample::positions(problem, context))
    }

    /// Compiles the program that recomputes running means. Returns `None` if the objective does not have it.
    pub(crate) fn means(&mut self, objective: &Objective) -> Result<Option<Artifact>, CompileFailure> {
        let precision = self.precision()?;
        Ok(self.optional_program("means", objective.means.as_ref(), precision)?)
    }

    /// Returns the part of the manifest that collects iterates. `moved` has the names of the states
    /// that differ between iterates, and `means` is the program that recomputes running means.
    ///
    /// # Errors
    /// Fails in two cases: options of a training run are set although the iterates come from
    /// another inference, or a low-rank covariance has fewer than two deviations.
    pub(crate) fn iterates(
        &self,
        train: Train,
        moved: Vec<String>,
        means: Option<Artifact>,
        gaussian: SwagOptions,
    ) -> Result<Swag, CompileFailure> {
        let swag = Swag {
            train,
            moved,
            means,
            options: self.options_of()?,
            gaussian,
        };
        if matches!(gaussian.covariance, Covariance::LowRank(..2)) {
            let message = "the covariance of fewer than two deviations is not defined";
            let help = "write `low_rank(2)` or more, or `diagonal`";
            return Err(self.apart(SwagOptions::covariance(), message, help));
        }
        let is_set = |option| self.is_set(option);
        swag.check_training(is_set)
            .map_err(|found| self.conflict(&found))?;
        Ok(swag)
    }
}
