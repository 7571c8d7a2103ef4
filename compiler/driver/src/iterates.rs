//! Infers whose posterior is made of what training passes through: iterates, members, and weights under masks.

use crate::codes;
use crate::infer::{Compilation, Elaborated, Failure};
use crate::training::Programs;
use bnnc_abi::data::Schema;
use bnnc_abi::iterates::{Covariance, Ensemble, Swag};
use bnnc_abi::manifest::{Cost, SiteReport, Train, Work};
use bnnc_abi::method::Finds;
use bnnc_hir::tree::SettingValue;
use bnnc_loops::backend::Backend;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::dropout::{Dropped, Masks, dropped};
use bnnc_rewrite::methods::train::Objective;

impl Compilation<'_> {
    /// The programs of an infer that collects iterates or members: the steps of `map`, and predictions and sites at many positions, as samplers
    /// have them.
    pub(crate) fn iterates_programs(
        &mut self,
        elaborated: &Elaborated,
        densities: &Densities,
        schema: &Schema,
        backend: &dyn Backend,
    ) -> Result<Programs, Failure> {
        let sampled = self.sampled(elaborated, densities)?;
        if sampled.dimension == 0 {
            return Err(Failure::Program(vec![codes::nothing_to_sample(self.item)]));
        }
        let objective = self.objective(elaborated, densities)?;
        let precision = self.precision(backend);
        let names: Vec<String> = objective.states.iter().map(|state| state.name.clone()).collect();
        let step = self.lower("train", &objective.train, &names, precision)?;
        let options = self.training(&elaborated.optimiser);
        let work = bnnc_lower::cost::cost(&step, &options.sizes(schema.train));
        let cost = Cost {
            parameters: objective.parameters,
            variational_parameters: objective.variational_parameters,
            gradient_nodes: objective.gradient_nodes,
            flops: work.flops,
            bytes: work.bytes,
            peak_bytes: 0,
        };
        let train = Train {
            step: self.code(step, backend)?,
            options,
            pruning: None,
        };
        let moved: Vec<String> = sampled.moved.iter().map(|name| name.to_string()).collect();
        let (work, family) = match self.item.method.finds {
            Finds::Ensemble => (self.ensemble(train, moved), "members"),
            _ => (self.swag(train, moved)?, "Normal"),
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
            predict: sampled.predict,
            sites: sampled.sites,
            states: objective.states,
            reports: sampled.reports.into_iter().map(report).collect(),
            cost,
        })
    }

    fn ensemble(&self, train: Train, moved: Vec<String>) -> Work {
        Work::Ensemble(Box::new(Ensemble {
            train,
            moved,
            members: self.int("members").max(1),
        }))
    }

    fn swag(&self, train: Train, moved: Vec<String>) -> Result<Work, Failure> {
        let covariance = self.covariance();
        let swag = Swag {
            moved,
            warmup: self.int("warmup"),
            every: self.int("every").max(1),
            covariance,
            scale: self.real("scale").unwrap_or(1.0),
            train,
        };
        let apart = |option: &str, message: String, help: &str| {
            Err(Failure::Program(vec![codes::options_apart(
                self.item, option, &message, help,
            )]))
        };
        if matches!(covariance, Covariance::LowRank(..2)) {
            return apart(
                "covariance",
                "the covariance of fewer than two deviations is not defined".to_owned(),
                "write `low_rank(2)` or more, or `diagonal`",
            );
        }
        let (planned, least) = (swag.planned(), swag.least());
        if planned < least {
            let text = format!(
                "{} epochs with a warm-up of {} and one iterate every {} give {planned} iterates, but this covariance needs {least}",
                swag.train.options.epochs, swag.warmup, swag.every
            );
            return apart("warmup", text, "raise `epochs`, or lower `warmup` or `every`");
        }
        Ok(Work::Swag(Box::new(swag)))
    }

    fn covariance(&self) -> Covariance {
        /// As in the default of the method record.
        const RANK: f64 = 20.0;
        let (name, args) = match self.setting("covariance") {
            Some(SettingValue::Call(name, args)) => (&**name, args.as_slice()),
            Some(SettingValue::Word(name)) => (&**name, [].as_slice()),
            _ => ("low_rank", [RANK].as_slice()),
        };
        match (name, args) {
            ("point", _) => Covariance::Point,
            ("diagonal", _) => Covariance::Diagonal,
            (_, rank) => {
                Covariance::LowRank(rank.first().map_or(RANK as usize, |rank| rank.round() as usize))
            }
        }
    }

    /// The model under the masks that `dropout` asks for; nothing for other methods.
    pub(crate) fn dropped(
        &mut self,
        elaborated: &Elaborated,
        densities: &Densities,
    ) -> Result<Option<Dropped>, Failure> {
        if self.item.method.name != "dropout" {
            return Ok(None);
        }
        let masks = Masks {
            layers: self.names("layers"),
            rate: self.rate(),
        };
        let found = self.timed("rewrite", |this| {
            dropped(densities, &elaborated.model, masks, &mut this.context)
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
