//! The posteriors of a session. This module has the commands that run inference blocks and read
//! their results, and resolves posterior values such as `fit.beta`.

use super::commands::{CommandText, reject, usage};
use super::host::FittedPosterior;
use super::variables::{Variable, VariableValue};
use super::{Diagnostics, Reply, Session, paths};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::DType;
use bnnc_base::quoted::quoted;
use bnnc_base::source::Span;
use bnnc_driver::diagnostics::{draws as codes, no_infer};
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program::CheckedProgram;
use bnnc_grammar::ast::{Expr, ExprKind, Ident, Item, ItemKind, Stmt};
use bnnc_graph::dist::Support;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::dims::DimExpr;
use bnnc_hir::types::{Elem, Ty};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// The posteriors of the inference blocks that have run, in the order of their first run.
pub type Fits = Vec<Rc<dyn FittedPosterior>>;

/// Executes `:run`.
pub fn run(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let names = session.infer_names();
    let mut chosen = Vec::new();
    for (at, range) in line.words.iter().enumerate().skip(1) {
        let name = line.word(at).unwrap_or_default().trim_end_matches(',');
        if !names.iter().any(|known| **known == *name) {
            return Err(unknown(name, line.span(range), &names).into());
        }
        chosen.push(name.to_owned());
    }
    if names.is_empty() {
        return reject("the session has no `infer` item, so there is nothing to run");
    }
    session.run_infers(chosen, reply);
    Ok(())
}

/// Executes `:summary`.
pub fn summary(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let [_, _] = line.words.as_slice() else {
        return usage(line);
    };
    let fit = session.fit_of(line)?;
    reply.result(fit.summary().trim_end());
    Ok(())
}

/// Executes `:predict`.
pub fn predict(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let (Some(file), 3..=4) = (line.path(2), line.words.len()) else {
        return usage(line);
    };
    let fit = session.fit_of(line)?;
    let rows = fit.predict(Path::new(&file))?;
    session.show(&rows.warnings, reply);
    match line.path(3) {
        Some(path) => {
            let written = session
                .world
                .host
                .write(Path::new(&path), &rows.table, Some(Path::new(&file)));
            written?;
            reply.note(&format!("the predictions are in `{path}`"));
        }
        None => reply.result(rows.table.trim_end()),
    }
    Ok(())
}

fn unknown(name: &str, span: Span, names: &[Arc<str>]) -> Diagnostic {
    let known: Vec<&str> = names.iter().map(|name| &**name).collect();
    let mut diagnostic = no_infer(name, &known);
    diagnostic.at = bnnc_base::diagnostic::Place::Span(span);
    diagnostic
}

impl Session {
    /// Returns the names of the inference blocks.
    pub(super) fn infer_names(&self) -> Vec<Arc<str>> {
        let items = self.items.program().items.iter();
        items.filter_map(infer_name).collect()
    }

    /// Returns whether a name refers to an inference block. A variable hides an inference block
    /// with the same name.
    pub(super) fn is_infer(&self, name: &str) -> bool {
        !self.environment.scope.contains_key(name) && self.infer_names().iter().any(|known| **known == *name)
    }

    /// Returns the posterior of an inference block that has run.
    pub(super) fn fit(&self, name: &str) -> Option<&Rc<dyn FittedPosterior>> {
        self.fits.iter().find(|fit| fit.name() == name)
    }

    /// Returns the posterior of the inference block whose name is the first word after the command.
    fn fit_of(&self, line: &CommandText) -> Result<Rc<dyn FittedPosterior>, Diagnostics> {
        let (Some(name), Some(range)) = (line.word(1), line.words.get(1)) else {
            return usage(line);
        };
        let names = self.infer_names();
        match (self.fit(name), names.iter().any(|known| **known == *name)) {
            (Some(fit), _) => Ok(fit.clone()),
            (None, true) => Err(codes::not_run(line.span(range), name).into()),
            (None, false) => Err(unknown(name, line.span(range), &names).into()),
        }
    }

    /// Returns the entries so far as a program.
    pub(super) fn whole_program(&self) -> CheckedProgram {
        let mut sources = self.sources.clone();
        let source = sources.add("program", &self.items.text(&self.sources));
        CheckedProgram {
            sources,
            source,
            ast: self.items.program().clone(),
            module: self.module.clone(),
            diagnostics: Vec::new(),
        }
    }

    /// Returns the options with which the session compiles its program.
    pub(super) fn options(&self) -> CompileOptions {
        CompileOptions {
            seed: self.world.seed,
            symbols: self.world.symbols.clone(),
            ..CompileOptions::default()
        }
    }

    /// Runs the named inference blocks and the blocks on which they depend. If no name is given,
    /// runs all inference blocks. The posteriors become values of the session. If a run fails
    /// or is interrupted, the posteriors of earlier runs remain. Returns the comparisons of the new
    /// posteriors, each with a flag that is true if it could be shown.
    pub(super) fn run_infers(&mut self, only: Vec<String>, reply: &mut Reply) -> Vec<(Item, bool)> {
        let wanted: Vec<String> = match only.is_empty() {
            true => self.infer_names().iter().map(|name| name.to_string()).collect(),
            false => only.clone(),
        };
        let options = CompileOptions {
            only,
            ..self.options()
        };
        let report = self.world.host.run(&self.whole_program(), &options);
        self.show(&report.diagnostics, reply);
        if !report.table.is_empty() {
            reply.result(report.table.trim_end());
        }
        if report.is_interrupted {
            reply.note("the run was interrupted");
        }
        let (mut new, mut is_replaced) = (Vec::new(), false);
        for fit in report.fits {
            let known = self.fits.iter_mut().find(|known| known.name() == fit.name());
            match known {
                Some(_) if report.is_interrupted => continue,
                Some(known) => {
                    *known = fit.clone();
                    is_replaced = true;
                }
                None => self.fits.push(fit.clone()),
            }
            new.push(fit.name().to_owned());
        }
        for name in wanted.iter().filter(|name| !new.contains(name)) {
            if self.fit(name).is_some() {
                reply.note(&format!("`{name}` keeps the results of its earlier run"));
            }
        }
        let compared = self.compare_new(&new, reply);
        // Variables need to be recomputed only if a posterior replaces an earlier posterior. A
        // variable cannot depend on a posterior that did not exist before.
        if is_replaced {
            self.recompute(reply);
        }
        compared
    }

    /// Adds a note with the names of the inference blocks that `:run` can run.
    pub(super) fn note_infers(&self, reply: &mut Reply) {
        let names = self.infer_names();
        if !names.is_empty() {
            reply.note(&format!("`:run` runs {}", quoted(names)));
        }
    }

    /// Adds a note about posteriors whose definitions have been replaced since they were computed.
    pub(super) fn note_old_fits(&self, new: &[Item], changes: &[String], reply: &mut Reply) {
        let is_changed = changes.iter().any(|change| change.starts_with("redefined"));
        let is_new = |name: &str| new.iter().filter_map(infer_name).any(|own| *own == *name);
        let fits = self.fits.iter().map(|fit| fit.name());
        let old: Vec<&str> = fits.filter(|name| !is_new(name)).collect();
        if is_changed && !old.is_empty() {
            reply.note(&format!(
                "the results of {} come from the earlier definitions; `:run` repeats the runs",
                quoted(old)
            ));
        }
    }

    /// Replaces the posterior values in an expression by variables.
    pub(super) fn resolved(&mut self, expr: &Expr, reply: &mut Reply) -> Result<Expr, Diagnostics> {
        let mut expr = expr.clone();
        self.resolve(&mut expr, reply)?;
        Ok(expr)
    }

    /// Replaces the posterior values in a statement by variables.
    pub(super) fn resolved_stmt(&mut self, stmt: &Stmt, reply: &mut Reply) -> Result<Stmt, Diagnostics> {
        let mut stmt = stmt.clone();
        if let Some(value) = paths::value(&mut stmt) {
            self.resolve(value, reply)?;
        }
        Ok(stmt)
    }

    fn resolve(&mut self, expr: &mut Expr, reply: &mut Reply) -> Result<(), Diagnostics> {
        let (start, parameter) = paths::path(expr);
        let infer = start.as_name().filter(|name| self.is_infer(name));
        if let Some(infer) = infer.cloned() {
            if let Some(variable) = self.parameter(&infer, &parameter, expr.span)? {
                *expr.kind = ExprKind::Name(variable);
                return Ok(());
            }
            if !matches!(&*expr.kind, ExprKind::Index(..)) {
                let names = self.parameters(&infer);
                return Err(match parameter.is_empty() {
                    true => codes::whole_posterior(expr.span, &infer, &names),
                    false => codes::no_parameter(expr.span, &infer, &parameter, &names),
                }
                .into());
            }
        }
        for child in paths::children(expr) {
            self.resolve(child, reply)?;
        }
        self.summarise(expr, reply)
    }

    /// Returns the parameter names of a posterior.
    fn parameters(&self, infer: &str) -> Vec<&str> {
        let fit = self.fit(infer);
        fit.map_or_else(Vec::new, |fit| {
            fit.sites().iter().map(|site| &*site.name).collect()
        })
    }

    /// Returns the name of the variable that contains the draws of a parameter. Returns `None` if
    /// the posterior does not have this parameter.
    fn parameter(&mut self, infer: &str, name: &str, span: Span) -> Result<Option<Arc<str>>, Diagnostics> {
        let Some(fit) = self.fit(infer).cloned() else {
            return Err(codes::not_run(span, infer).into());
        };
        let Some(at) = fit.sites().iter().position(|site| site.name == name) else {
            return Ok(None);
        };
        let variable: Arc<str> = format!("{infer}.{name}").into();
        if self.environment.scope.contains_key(&variable) {
            return Ok(Some(variable));
        }
        let site = &fit.sites()[at];
        let Some(draws) = fit.draws(at)? else {
            return Err(codes::integrated(span, infer).into());
        };
        let elem = match site.support {
            Support::Integers(_) => Elem::Real(Support::Real),
            support => Elem::Real(support),
        };
        let mut shape = vec![draws.chains.iter().sum::<usize>()];
        shape.extend(&site.sizes);
        let tensor = Tensor::new(shape, draws.values);
        self.hide(
            &variable,
            (elem, &site.sizes),
            VariableValue::Draws(tensor, DType::Real),
            span,
        );
        Ok(Some(variable))
    }

    /// Adds a variable that the user cannot see, because its name is not valid in the language.
    pub(super) fn hide(
        &mut self,
        name: &Arc<str>,
        (elem, sizes): (Elem, &[usize]),
        held: VariableValue,
        span: Span,
    ) {
        let dims = sizes.iter().map(|size| DimExpr::number(*size as i64)).collect();
        let local = self
            .environment
            .define(name.clone(), Ty::Tensor(elem, dims), span);
        self.variables.push(Variable {
            name: name.clone(),
            local,
            written: None,
            draw: 0,
            held,
            text: String::new(),
        });
    }
}

/// Returns the names of the inference blocks in a comparison. The list is empty for other items.
pub fn compared_names(item: &Item) -> &[Ident] {
    match &item.kind {
        ItemKind::Compare(compare) => &compare.infers,
        _ => &[],
    }
}

/// Returns the name of an inference block.
pub fn infer_name(item: &Item) -> Option<Arc<str>> {
    match &item.kind {
        ItemKind::Infer(infer) => Some(infer.name.name.clone()),
        _ => None,
    }
}
