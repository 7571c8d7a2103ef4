//! Infers whose posterior is made of what training passes through: iterates, members, and weights under masks.

use crate::codes;
use crate::infer::{Compilation, Elaborated, Failure};
use crate::training::Programs;
use bnnc_abi::iterates::{Covariance, Ensemble, Swag};
use bnnc_abi::manifest::{SiteReport, Train, Work};
use bnnc_abi::method::Finds;
use bnnc_hir::tree::SettingValue;
use bnnc_loops::backend::Backend;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::dropout::{Dropped, Masks, dropped};
use bnnc_rewrite::methods::sample::{self, Positions};
use bnnc_rewrite::methods::train::Objective;
use bnnc_rewrite::{pipeline, pipelines};

impl Compilation<'_> {
    /// The programs of an infer that collects iterates or members: the steps of `map`, and predictions and sites at many positions, as samplers
    /// have them.
    pub(crate) fn iterates_programs(
        &mut self,
        elaborated: &Elaborated,
        densities: &Densities,
        backend: &dyn Backend,
    ) -> Result<Programs, Failure> {
        let positions = self.positions(elaborated, densities)?;
        if positions.moved.is_empty() {
            return Err(Failure::Program(vec![codes::nothing_to_sample(
                self.item,
                elaborated.model.sites.is_empty(),
            )]));
        }
        let objective = self.objective(elaborated, densities)?;
        let options = self.training(&elaborated.optimiser)?;
        let (train, cost) = self.train(&objective, options, backend)?;
        let moved: Vec<String> = positions.moved.iter().map(|name| name.to_string()).collect();
        let (work, family) = match self.item.method.finds {
            Finds::Ensemble => (self.ensemble(train, moved), "members"),
            _ => match self.iterates(train, moved, self.covariance())? {
                swag if swag.covariance == Covariance::Snapshots => (Work::Swag(Box::new(swag)), "iterates"),
                swag => (Work::Swag(Box::new(swag)), "Normal"),
            },
        };
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
    fn positions(&mut self, elaborated: &Elaborated, densities: &Densities) -> Result<Positions, Failure> {
        let (model, posterior) = (&elaborated.model, &elaborated.posterior);
        let result = self.timed("rewrite", |this| {
            sample::positions(densities, model, posterior, &mut this.context)
        });
        result.map_err(|refusal| self.failure(refusal))
    }

    fn ensemble(&self, train: Train, moved: Vec<String>) -> Work {
        Work::Ensemble(Box::new(Ensemble {
            train,
            moved,
            members: self.int("members").max(1),
        }))
    }

    /// How iterates are collected.
    ///
    /// # Errors
    /// Options of a training where there is none.
    pub(crate) fn iterates(
        &self,
        train: Train,
        moved: Vec<String>,
        covariance: Covariance,
    ) -> Result<Swag, Failure> {
        let from = match self.setting("iterates") {
            Some(SettingValue::Infer(id)) => Some(self.program.module.infers[*id].name.to_string()),
            _ => None,
        };
        let swag = Swag {
            moved,
            warmup: self.setting("warmup").map(|_| self.int("warmup")),
            every: self.setting("every").map(|_| self.int("every")),
            covariance,
            scale: self.real("scale").unwrap_or(1.0),
            keep: self.int("keep"),
            from,
            train,
        };
        let apart = |option: &str, message: String, help: &str| Err(self.apart(option, &message, help));
        if matches!(covariance, Covariance::LowRank(..2)) {
            return apart(
                "covariance",
                "the covariance of fewer than two deviations is not defined".to_owned(),
                "write `low_rank(2)` or more, or `diagonal`",
            );
        }
        let is_set = |option: &str| self.setting(option).is_some();
        swag.hears(is_set).map_err(|refusal| self.refused(&refusal))?;
        Ok(swag)
    }

    fn covariance(&self) -> Covariance {
        match self.call("covariance") {
            ("point", _) => Covariance::Point,
            ("diagonal", _) => Covariance::Diagonal,
            ("snapshots", _) => Covariance::Snapshots,
            (_, [rank, ..]) => Covariance::LowRank(rank.round() as usize),
            // The number in `low_rank(20)`.
            (_, []) => {
                let digits = |text: &'static str| text.trim_matches(|c: char| !c.is_ascii_digit());
                Covariance::LowRank(digits(self.default("covariance")).parse().unwrap_or(1))
            }
        }
    }

    /// The model under the masks that `dropout` asks for; nothing for other methods.
    pub(crate) fn dropped(
        &mut self,
        elaborated: &Elaborated,
        densities: &Densities,
    ) -> Result<Option<Dropped>, Failure> {
        if self.item.method.finds != Finds::Masked {
            return Ok(None);
        }
        let masks = Masks {
            layers: self.names("layers"),
            rate: self.rate(),
        };
        let found = self.timed("rewrite", |this| {
            pipeline::step(&pipelines::DROPOUT, &mut this.context, |context| {
                dropped(densities, &elaborated.model, masks, context)
            })
        });
        found.map(Some).map_err(|refusal| self.failure(refusal))
    }

    /// Says in the reports which sites see masks.
    pub(crate) fn announce(&self, objective: &mut Objective, dropped: &Dropped) {
        let sentence = format!("inputs dropped with probability {}", self.rate());
        for report in &mut objective.reports {
            if dropped.sites.contains(report.name.as_str()) {
                report.likelihood = sentence.clone();
            }
        }
    }

    fn rate(&self) -> f64 {
        // The default of the method record.
        self.real("rate").unwrap_or(0.1)
    }
}
