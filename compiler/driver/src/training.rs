//! The options of an infer that steer its run, and what its pruning table is made with.

use crate::codes;
use crate::infer::{Compilation, Elaborated, Failure};
use bnnc_abi::manifest::{KlWeight, Pruning, Schedule, Training};
use bnnc_graph::model::Optimiser;
use bnnc_hir::tree::SettingValue;
use bnnc_loops::backend::Backend;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::prune;

impl Compilation<'_> {
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

    /// What steers the run.
    pub(crate) fn training(&self, optimiser: &Optimiser) -> Training {
        let start = match self.setting("start") {
            Some(SettingValue::Infer(id)) => Some(self.program.module.infers[*id].name.to_string()),
            _ => None,
        };
        Training {
            epochs: self.int("epochs"),
            batch: self.int("batch"),
            rate: optimiser.rate,
            schedule: self.schedule(),
            patience: self.int("patience"),
            samples: self.int("samples").max(1),
            kl_draws: self.int("draws"),
            predictive_draws: self.int("predictive_draws").max(1),
            start,
            kl_weight: match self.word("kl_weight") {
                Some("graves") => KlWeight::Graves,
                Some("blundell") => KlWeight::Blundell,
                _ => KlWeight::Exact,
            },
        }
    }

    fn schedule(&self) -> Schedule {
        let (name, args) = match self.setting("schedule") {
            Some(SettingValue::Call(name, args)) => (&**name, args.as_slice()),
            Some(SettingValue::Word(name)) => (&**name, [].as_slice()),
            _ => ("constant", [].as_slice()),
        };
        match (name, args) {
            ("cosine", _) => Schedule::Cosine,
            ("linear", _) => Schedule::Linear,
            ("step", [fraction, factor]) => Schedule::Step {
                fraction: *fraction,
                factor: *factor,
            },
            _ => Schedule::Constant,
        }
    }
}
