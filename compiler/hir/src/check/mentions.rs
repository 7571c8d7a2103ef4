//! Finds the names that an item mentions: all names in its text, except the names of its own
//! variables.

use bnnc_abi::method::{self, OptionKind};
use bnnc_grammar::ast::{
    Arg, Comprehension, Definition, DefinitionKind, Expr, ExprKind, ItemKind, Param, Setting, Stmt, StmtKind,
    TypeExpr,
};
use std::collections::HashSet;
use std::sync::Arc;

/// Returns the names that an item mentions, in order of appearance.
pub fn mentions(item: &ItemKind) -> Vec<Arc<str>> {
    let mut walk = Walk::default();
    match item {
        ItemKind::Use(_) | ItemKind::Error => {}
        ItemKind::Const(item) => walk.expr(&item.value),
        ItemKind::Fn(item) => {
            walk.params(&item.params);
            walk.ty(&item.result);
            walk.block(&item.body);
        }
        ItemKind::Layer(item) => {
            walk.params(&item.params);
            walk.params(&item.inputs);
            walk.ty(&item.result);
            walk.block(&item.body);
        }
        ItemKind::Dist(item) => {
            walk.params(&item.params);
            walk.ty(&item.on);
            walk.definitions(&item.body);
        }
        ItemKind::Optimiser(item) => {
            walk.params(&item.params);
            walk.definitions(&item.body);
        }
        ItemKind::Data(item) => walk.settings(&item.options),
        ItemKind::Model(item) => {
            walk.params(&item.shared);
            walk.params(&item.inputs);
            walk.params(&item.outputs);
            walk.block(&item.body);
        }
        ItemKind::Posterior(item) => {
            walk.found.push(item.of.name.clone());
            item.body.iter().for_each(|line| walk.line(line));
        }
        ItemKind::Infer(item) => {
            item.args.iter().for_each(|arg| walk.expr(&arg.value));
            walk.settings(&item.options);
        }
        ItemKind::Compare(item) => walk
            .found
            .extend(item.infers.iter().map(|name| name.name.clone())),
    }
    walk.found
}

/// Returns the names that the value of an option mentions.
pub fn of_option(name: &str, value: &Expr) -> Vec<Arc<str>> {
    let mut walk = Walk::default();
    walk.option(name, value);
    walk.found
}

#[derive(Default)]
struct Walk {
    bound: HashSet<Arc<str>>,
    found: Vec<Arc<str>>,
}

impl Walk {
    fn name(&mut self, name: &Arc<str>) {
        if !self.bound.contains(name) {
            self.found.push(name.clone());
        }
    }

    fn params(&mut self, params: &[Param]) {
        self.bound
            .extend(params.iter().map(|param| param.name.name.clone()));
        for param in params {
            self.ty(&param.ty);
            param.default.iter().for_each(|default| self.expr(default));
        }
    }

    fn ty(&mut self, ty: &TypeExpr) {
        ty.args
            .iter()
            .chain(ty.dims.iter().flatten())
            .for_each(|part| self.expr(part));
    }

    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign {
                    targets,
                    ty,
                    value: right,
                    ..
                }
                | StmtKind::Sample {
                    targets,
                    ty,
                    dist: right,
                    ..
                } => {
                    ty.iter().for_each(|ty| self.ty(ty));
                    self.expr(right);
                    for target in targets {
                        match &*target.kind {
                            ExprKind::Name(name) => {
                                self.bound.insert(name.clone());
                            }
                            _ => self.expr(target),
                        }
                    }
                }
                StmtKind::For { name, from, to, body } => {
                    self.expr(from);
                    self.expr(to);
                    let outer = self.bound.clone();
                    self.bound.insert(name.name.clone());
                    self.block(body);
                    self.bound = outer;
                }
                StmtKind::Return(value) => self.expr(value),
                StmtKind::Error => {}
            }
        }
    }

    /// Visits a line of a posterior. Only the right-hand side can contain names of items, because
    /// the left-hand side is the name of a site.
    fn line(&mut self, line: &Stmt) {
        match &line.kind {
            StmtKind::Assign { value: right, .. } | StmtKind::Sample { dist: right, .. } => self.expr(right),
            StmtKind::For { .. } | StmtKind::Return(_) | StmtKind::Error => {}
        }
    }

    fn definitions(&mut self, body: &[Definition]) {
        for definition in body {
            let outer = self.bound.clone();
            if let DefinitionKind::Function(names) = &definition.kind {
                self.bound.extend(names.iter().map(|name| name.name.clone()));
            }
            self.expr(&definition.value);
            self.bound = outer;
        }
    }

    /// Visits an option block. It contains three kinds of names of items: the inference block in
    /// `start`, the inference block in a score, and a called function, such as `Adam` in
    /// `Adam(1e-3)`.
    fn settings(&mut self, settings: &[Setting]) {
        for setting in settings {
            self.option(&setting.name.name, &setting.value);
        }
    }

    fn option(&mut self, name: &str, value: &Expr) {
        match (&*value.kind, kind(name)) {
            (ExprKind::Name(word), Some(OptionKind::Start | OptionKind::Optimiser)) => self.name(word),
            (ExprKind::Name(_) | ExprKind::List(_), _) => {}
            (ExprKind::Call(callee, args), Some(OptionKind::Optimiser)) => {
                self.expr(callee);
                args.iter().for_each(|Arg { value, .. }| self.expr(value));
            }
            // The score of a subnetwork may name an inference run.
            (ExprKind::Call(_, args), Some(OptionKind::Weights(_))) => args
                .iter()
                .filter(|arg| arg.name.is_some() && !is_score(&arg.value))
                .for_each(|Arg { value, .. }| self.expr(value)),
            (ExprKind::Call(..), _) => {}
            _ => self.expr(value),
        }
    }

    fn comprehension(&mut self, inner: &Comprehension) {
        self.expr(&inner.from);
        self.expr(&inner.to);
        let added = self.bound.insert(inner.name.name.clone());
        self.expr(&inner.element);
        if added {
            self.bound.remove(&inner.name.name);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &*expr.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::Comprehension(inner) => self.comprehension(inner),
            ExprKind::Reduce(callee, inner) => {
                self.expr(callee);
                self.comprehension(inner);
            }
            _ => bnnc_grammar::walk::children(expr)
                .into_iter()
                .for_each(|part| self.expr(part)),
        }
    }
}

/// Returns the kind of the option with this name. It searches all methods, because the name of the
/// item's own method may be misspelt.
fn kind(name: &str) -> Option<OptionKind> {
    let mut options = method::ALL.iter().filter_map(|method| method.option(name));
    options.next().map(|option| option.kind)
}

/// Returns whether a value is the name of a built-in score.
fn is_score(value: &Expr) -> bool {
    let options = method::ALL.iter().flat_map(|method| method.options);
    let mut scores = options.filter_map(|option| match option.kind {
        OptionKind::Weights(scores) => Some(scores),
        _ => None,
    });
    matches!(&*value.kind, ExprKind::Name(name) if scores.any(|scores| scores.contains(&&**name)))
}
