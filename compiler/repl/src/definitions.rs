//! Defines the items of an entry or of a program, and recomputes the variables that depend on these
//! items.

use super::variables::{Variable, VariableValue};
use super::{Diagnostics, Reply, Session, fits, items};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_grammar::{ast, parse};
use bnnc_hir::prompt::Environment;
use std::sync::atomic::Ordering;

impl Session {
    /// Defines the items of a program in a file.
    pub(super) fn load_file(&mut self, path: &str, reply: &mut Reply) -> Result<(), Diagnostics> {
        let text = bnnc_driver::program::read(std::path::Path::new(path)).map_err(|error| {
            Diagnostic::usage(
                &bnnc_driver::diagnostics::NO_FILE,
                format!("cannot read `{path}`: {error}"),
            )
        })?;
        self.load_text(path, &text, reply)
    }

    /// Defines the items of a program. `text` is the text of the file at `path`.
    pub(super) fn load_text(&mut self, path: &str, text: &str, reply: &mut Reply) -> Result<(), Diagnostics> {
        let source = self.sources.add(path, text);
        let (module, diagnostics) = parse::parse(&source);
        if diagnostics.iter().any(Diagnostic::is_error) {
            return match path.ends_with(".bnn") {
                true => Err(diagnostics.into()),
                false => Err(not_a_program(path).into()),
            };
        }
        let before = self.items.enter_folder(path);
        let has_infers = module.items.iter().any(|item| fits::infer_name(item).is_some());
        match self.define(module.items, reply) {
            true if has_infers => self.note_infers(reply),
            true => {}
            false => {
                self.items.leave_folder(before);
                reply.is_rejected = true;
            }
        }
        Ok(())
    }

    /// Adds items to the program. New items replace existing items with the same names. If the new
    /// program would have errors, no item is added. Returns whether the items were added.
    pub(super) fn define(&mut self, new: Vec<ast::Item>, reply: &mut Reply) -> bool {
        let (program, changes) = self.items.with(&new);
        let (module, mut diagnostics) = self.items.check(&program);
        if diagnostics.iter().any(Diagnostic::is_error) {
            diagnostics.retain(Diagnostic::is_error);
            let is_new = |diagnostic: &Diagnostic| new.iter().any(|item| items::is_about(diagnostic, item));
            let breaks = !diagnostics.iter().any(is_new);
            self.show(&diagnostics, reply);
            if breaks {
                reply.note("nothing was changed, because other items depend on these definitions");
            }
            return false;
        }
        diagnostics.retain(|diagnostic| new.iter().any(|item| items::is_about(diagnostic, item)));
        self.show(&diagnostics, reply);
        self.note_old_fits(&new, &changes, reply);
        let keeps_values = self.keeps_values(&new);
        self.module = module;
        self.items.set(program);
        changes.into_iter().for_each(|change| reply.result(change));
        for name in new.iter().filter_map(ast::Item::name) {
            if self.environment.scope.contains_key(&name.name) {
                reply.note(&format!(
                    "`{0}` still means the variable `{0}`, which hides this definition",
                    name.name
                ));
            }
        }
        if !keeps_values {
            self.recompute(reply);
        }
        true
    }

    /// Returns whether adding items leaves the values of all variables unchanged. This is the case
    /// if the new items do not replace existing items, and no variable is a distribution, a layer
    /// or a function, because these refer to items.
    fn keeps_values(&self, new: &[ast::Item]) -> bool {
        let is_known = |item: &ast::Item| {
            let name = item.name();
            name.is_none_or(|name| self.items.names().any(|known| *known == name.name))
        };
        let refers = |variable: &Variable| matches!(variable.held, VariableValue::Made(_));
        !new.iter().any(is_known) && !self.variables.iter().any(refers)
    }

    /// Recomputes the value of every variable, with the same draws as before.
    pub(super) fn recompute(&mut self, reply: &mut Reply) {
        let recomputed = self.interruptible(|this| {
            this.recompute_all(reply);
            Ok(())
        });
        recomputed.unwrap_or_default();
    }

    fn recompute_all(&mut self, reply: &mut Reply) {
        self.environment = Environment::default();
        for variable in std::mem::take(&mut self.variables) {
            let Some(written) = &variable.written else {
                continue;
            };
            if self.bind(written, variable.draw, &mut Reply::default()).is_err() {
                let why = match self.stop.load(Ordering::SeqCst) {
                    true => "its computation was interrupted",
                    false => "a definition on which it depends has changed",
                };
                reply.note(&format!("`{}` was removed, because {why}", variable.name));
            }
        }
    }
}

/// Reports a file that `:load` cannot read as a program.
fn not_a_program(path: &str) -> Diagnostic {
    Diagnostic::usage(
        &bnnc_driver::diagnostics::BAD_COMMAND,
        format!("`{path}` is not a program"),
    )
    .help("`:load` reads programs, whose names end in `.bnn`; a data item reads data: `data d = csv(\"d.csv\")`")
}
