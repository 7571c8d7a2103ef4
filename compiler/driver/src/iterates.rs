//! Infers whose posterior is made of what training passes through: iterates, members, and weights under masks.

use crate::codes;
use crate::infer::{Compilation, Elaborated, Failure};
use crate::methods::{Method, Parts};
use crate::training::Programs;
use bnnc_abi::dropout::DropoutOptions;
use bnnc_abi::iterates::{Covariance, Ensemble, Swag, SwagOptions};
use bnnc_abi::manifest::{SiteReport, Train, Work};
use bnnc_abi::method::MethodDef;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::dropout::{Dropped, Masks, dropped};
use bnnc_rewrite::methods::sample::{self, PositionPrograms};
use bnnc_rewrite::methods::train::Objective;
use bnnc_rewrite::{pipeline, pipelines};

/// A Gaussian over iterates, or the iterates themselves.
pub(crate) struct Averages;

impl Method for Averages {
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> Result<Programs, Failure> {
        let made = |this: &Compilation<'_>, train, moved| {
            let swag = this.iterates(train, moved, this.options_of()?)?;
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

/// Several maxima.
pub(crate) struct Ensembles;

impl Method for Ensembles {
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> Result<Programs, Failure> {
        let made = |this: &Compilation<'_>, train, moved| {
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

/// An optimiser under random masks.
pub(crate) struct Drops;

impl Method for Drops {
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> Result<Programs, Failure> {
        compilation.training_programs(parts)
    }

    fn minimises_loss(&self) -> bool {
        true
    }

    fn without_draws(&self, _: &MethodDef) -> Option<&'static str> {
        Some("draws masks, not parameters")
    }
}

impl Compilation<'_> {
    /// The programs of an infer that collects iterates or members: the steps of `map`, and predictions and sites at many positions, as samplers
    /// have them. `made` is of the training and the states that move, with the family of the sites.
    fn iterates_programs(
        &mut self,
        parts: Parts<'_>,
        made: impl FnOnce(&Self, Train, Vec<String>) -> Result<(Work, &'static str), Failure>,
    ) -> Result<Programs, Failure> {
        let Parts {
            elaborated,
            densities,
            backend,
            ..
        } = parts;
        let positions = self.positions(elaborated, densities)?;
        if positions.moved.is_empty() {
            return Err(Failure::Program(vec![codes::nothing_to_sample(
                self.item,
                elaborated.model.sites.is_empty(),
            )]));
        }
        let objective = self.objective(elaborated, densities)?;
        let (train, cost) = self.train(&objective, elaborated, backend)?;
        let moved: Vec<String> = positions.moved.iter().map(|name| name.to_string()).collect();
        let (work, family) = made(self, train, moved)?;
        let report = |site: SiteReport| SiteReport {
            family: match &*site.family {
                "sampled" => family.to_owned(),
                _ => site.family,
            },
            ..site
        };
        Ok(Programs {
            work,
            predict: positions.predict,
            sites: positions.sites,
            states: objective.states,
            reports: positions.reports.into_iter().map(report).collect(),
            cost,
        })
    }

    /// What the infer asks of its model at many positions.
    fn positions(
        &mut self,
        elaborated: &Elaborated,
        densities: &Densities,
    ) -> Result<PositionPrograms, Failure> {
        let (model, posterior) = (&elaborated.model, &elaborated.posterior);
        let result = self.timed("rewrite", |this| {
            sample::positions(densities, model, posterior, &mut this.context)
        });
        result.map_err(|refusal| self.failure(refusal))
    }

    /// How iterates are collected.
    ///
    /// # Errors
    /// Options of a training where there is none.
    pub(crate) fn iterates(
        &self,
        train: Train,
        moved: Vec<String>,
        gaussian: SwagOptions,
    ) -> Result<Swag, Failure> {
        let swag = Swag {
            train,
            moved,
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
            .map_err(|refusal| self.refused(&refusal))?;
        Ok(swag)
    }

    /// The model under the masks that `dropout` asks for, and the probability of a mask; nothing for other methods.
    pub(crate) fn dropped(
        &mut self,
        elaborated: &Elaborated,
        densities: &Densities,
    ) -> Result<Option<(Dropped, f64)>, Failure> {
        let Some(options) = self.options_if::<DropoutOptions>()? else {
            return Ok(None);
        };
        let masks = Masks {
            layers: &options.layers,
            rate: options.rate,
        };
        let found = self.timed("rewrite", |this| {
            pipeline::step(&pipelines::DROPOUT, &mut this.context, |context| {
                dropped(densities, &elaborated.model, masks, context)
            })
        });
        let dropped = found.map_err(|refusal| self.failure(refusal))?;
        Ok(Some((dropped, options.rate)))
    }

    /// Says in the reports which sites see masks.
    pub(crate) fn announce(objective: &mut Objective, dropped: &Dropped, rate: f64) {
        let sentence = format!("inputs dropped with probability {rate}");
        for report in &mut objective.reports {
            if dropped.sites.contains(report.name.as_str()) {
                report.likelihood = sentence.clone();
            }
        }
    }
}
