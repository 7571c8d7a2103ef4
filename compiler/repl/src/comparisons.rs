//! Runs the inference blocks of an entry, and shows comparisons of posteriors.

use super::fits::{compared_names, infer_name};
use super::host::FittedPosterior;
use super::{Diagnostics, Reply, Session, items};
use bnnc_driver::compare::block;
use bnnc_grammar::ast::{Item, SourceFile};
use bnnc_hir::tree::CompareItem;
use std::rc::Rc;
use std::sync::Arc;

impl Session {
    /// Runs the inference blocks of an entry, and those that its comparisons need and that have not
    /// run yet. Then shows the comparisons. A comparison that cannot be
    /// shown is removed from the program, because it would fail again in every later run. If it
    /// replaced a comparison of the same inference blocks, the earlier comparison is restored from
    /// `before`, the program before the entry.
    pub(super) fn run_entered(&mut self, new: &[Item], before: &SourceFile, reply: &mut Reply) {
        let mut wanted: Vec<Arc<str>> = new.iter().filter_map(infer_name).collect();
        let compared = new
            .iter()
            .flat_map(compared_names)
            .map(|infer| infer.name.clone());
        for name in compared {
            if self.fit(&name).is_none() && !wanted.contains(&name) {
                wanted.push(name);
            }
        }
        let tried = match wanted.is_empty() {
            true => Vec::new(),
            false => self.run_infers(wanted.iter().map(|name| name.to_string()).collect(), reply),
        };
        for item in new.iter().filter(|item| !compared_names(item).is_empty()) {
            // The run has already tried to show the comparisons of the inference blocks that it ran.
            let of_run = tried
                .iter()
                .find(|(known, _)| items::is_same_comparison(known, item));
            let is_shown = match of_run {
                Some((_, is_shown)) => *is_shown,
                None => self.compare(item, reply),
            };
            if !is_shown {
                self.restore_comparison(item, before);
                reply.note("the comparison was not added to the program");
            }
        }
    }

    /// Shows each comparison that contains one of the inference blocks `new`, if all its inference
    /// blocks have run. Returns these comparisons, each with a flag that is true if it could be
    /// shown.
    pub(super) fn compare_new(&mut self, new: &[String], reply: &mut Reply) -> Vec<(Item, bool)> {
        let is_new = |item: &&Item| {
            let names = compared_names(item);
            names
                .iter()
                .any(|infer| new.iter().any(|name| **name == *infer.name))
        };
        let program = self.items.program().items.iter();
        let touched: Vec<Item> = program.filter(is_new).cloned().collect();
        let mut tried = Vec::new();
        for item in touched {
            let is_shown = self.compare(&item, reply);
            tried.push((item, is_shown));
        }
        tried
    }

    /// Shows a comparison, and returns whether it could be computed. If an inference block has not
    /// run, returns false without a message.
    fn compare(&mut self, item: &Item, reply: &mut Reply) -> bool {
        match self.comparison(item, reply) {
            Ok(is_shown) => is_shown,
            Err(Diagnostics(diagnostics)) => {
                self.show(&diagnostics, reply);
                false
            }
        }
    }

    fn comparison(&mut self, item: &Item, reply: &mut Reply) -> Result<bool, Diagnostics> {
        let names = compared_names(item);
        let fits = names.iter().map(|infer| self.fit(&infer.name).cloned());
        let Some(fits) = fits.collect::<Option<Vec<Rc<dyn FittedPosterior>>>>() else {
            return Ok(false);
        };
        let is_own = |compare: &&CompareItem| {
            let own = compare.infers.iter().map(|id| &self.module.infers[*id].name);
            own.eq(names.iter().map(|infer| &infer.name))
        };
        let Some(compare) = self.module.compares.iter().find(is_own) else {
            return Ok(false);
        };
        let compare = block(&self.module, compare, |_| true);
        let found = self.world.host.compare(&self.whole_program(), &compare, &fits)?;
        self.show(&found.warnings, reply);
        reply.result(found.table.trim_end());
        Ok(true)
    }

    fn restore_comparison(&mut self, item: &Item, before: &SourceFile) {
        let is_same = |known: &&Item| items::is_same_comparison(known, item);
        let mut program = self.items.program().clone();
        program.items.retain(|known| !is_same(&known));
        program.items.extend(before.items.iter().filter(is_same).cloned());
        self.module = self.items.check(&program).0;
        self.items.set(program);
    }
}
