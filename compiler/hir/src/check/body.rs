//! What is known while the text of one item is checked: its variables, scopes, layers and findings.

use super::names::{Def, Names};
use super::outputs::{Needs, Use};
use super::solve::Solver;
use super::statements::strip;
use crate::builtin::{self, Rule};
use crate::constant::constant;
use crate::dims::{Atom, Dim};
use crate::range::Range;
use crate::report::names as report;
use crate::tree::{Expr, ExprKind, LayerId, Local, LocalId, LocalKind, Locals, Module};
use crate::types::{Elem, Ty};
use crate::walk;
use bnnc_base::diagnostic::{Diagnostic, Severity};
use bnnc_base::source::Span;
use bnnc_base::synonyms;
use bnnc_grammar::ast::{self, BinaryOp, UnaryOp};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Whose text it is, which decides what may stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The value of a constant, an option, a start value.
    Constant,
    /// A function.
    Function,
    /// A layer.
    Layer,
    /// A model.
    Model,
    /// A definition of a distribution.
    Dist,
    /// The `draw` of a distribution.
    Draw,
    /// A definition of an optimiser.
    Optimiser,
    /// The prompt.
    Prompt,
}

impl Place {
    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Place::Constant => "a constant",
            Place::Function => "a function",
            Place::Layer => "a layer",
            Place::Model => "a model",
            Place::Dist | Place::Draw => "a distribution",
            Place::Optimiser => "an optimiser",
            Place::Prompt => "the prompt",
        }
    }
}

/// What a distribution is over, once its arguments are known.
#[derive(Clone, Debug)]
pub struct DistValue {
    /// One element.
    pub elem: Elem,
    /// Dims that its arguments or its joint type give it.
    pub dims: Vec<Dim>,
    /// Whether it lifts over the dims of what is drawn.
    pub elementwise: bool,
}

/// A layer that was made, or a list of them.
#[derive(Clone, Debug)]
pub enum Made {
    /// One layer with what its parameters say about its dims.
    One(LayerId, Solver),
    /// `[Layer(..) for i in from..to]`.
    Each(LocalId, Dim, Box<Made>),
    /// `[Layer(..), Layer(..)]`.
    List(Vec<Made>),
}

/// The calls of one layer: the dims of its inputs and where.
pub type Calls = HashMap<(LocalId, Vec<i64>), (Vec<Vec<Dim>>, Span)>;

/// Outputs by name: the variable, and the elements that have a distribution (`None` is the whole).
pub type Outputs = HashMap<Arc<str>, (LocalId, Vec<(Option<Dim>, Span)>)>;

/// The state of checking one item.
pub struct Body<'a> {
    /// Everything that was checked before.
    pub module: &'a Module,
    /// What names mean.
    pub names: &'a Names,
    /// Whether the item belongs to the library.
    pub in_library: bool,
    /// Whose text it is.
    pub place: Place,
    /// The item's name, for messages.
    pub owner: Arc<str>,
    /// The item's variables.
    pub locals: Locals,
    /// Names in scope, innermost last.
    pub scopes: Vec<HashMap<Arc<str>, LocalId>>,
    /// Names that later lines of the block declare.
    pub later: HashMap<Arc<str>, Span>,
    /// Where the values of variables lie, if that is less than their types say.
    pub ranges: HashMap<LocalId, Range>,
    /// Variables that can have either sign whatever the data are: sums of parameters on the reals.
    pub signed: HashSet<LocalId>,
    /// Variables that were read.
    pub used: HashSet<LocalId>,
    /// Integers that are known before the run, and what they equal.
    pub statics: HashMap<LocalId, Dim>,
    /// Variables that belong to one example.
    pub per_example: HashSet<LocalId>,
    /// What variables that are distributions are over.
    pub dist_values: HashMap<LocalId, DistValue>,
    /// Variables that are layers.
    pub made: HashMap<LocalId, Made>,
    /// Calls of layers.
    pub calls: Calls,
    /// Parameters whose types are not read yet.
    pub untyped: HashSet<LocalId>,
    /// Outputs of a model.
    pub outputs: Outputs,
    /// The elements of outputs that variables are made of.
    pub uses: HashMap<LocalId, Vec<Use>>,
    /// Which outputs the distributions of outputs take.
    pub needs: Needs,
    /// How deep the expression at hand is nested.
    pub depth: usize,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Body<'a> {
    /// The number of errors that were found; warnings leave values as they are.
    pub fn errors(&self) -> usize {
        let errors = self.diagnostics.iter();
        errors.filter(|found| found.severity == Severity::Error).count()
    }

    /// At the start of an item.
    pub fn new(
        module: &'a Module,
        names: &'a Names,
        in_library: bool,
        place: Place,
        owner: &Arc<str>,
    ) -> Body<'a> {
        Body {
            module,
            names,
            in_library,
            place,
            owner: owner.clone(),
            locals: Locals::default(),
            scopes: vec![HashMap::new()],
            later: HashMap::new(),
            ranges: HashMap::new(),
            signed: HashSet::new(),
            used: HashSet::new(),
            statics: HashMap::new(),
            per_example: HashSet::new(),
            dist_values: HashMap::new(),
            made: HashMap::new(),
            calls: Calls::new(),
            untyped: HashSet::new(),
            outputs: HashMap::new(),
            uses: HashMap::new(),
            needs: Needs::new(),
            depth: 0,
            diagnostics: Vec::new(),
        }
    }

    /// Keeps a finding.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Keeps a finding, and stands in for the expression that has it.
    pub fn error(&mut self, diagnostic: Diagnostic, span: Span) -> Expr {
        self.report(diagnostic);
        error(span)
    }

    /// The variable with this name, marked as used.
    pub fn find_local(&mut self, name: &str) -> Option<LocalId> {
        let found = self.peek_local(name);
        self.used.extend(found);
        found
    }

    /// The variable with this name.
    pub fn peek_local(&self, name: &str) -> Option<LocalId> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name).copied())
    }

    /// Adds a variable to the innermost scope. A name that is taken is reported, and hides the earlier one.
    pub fn declare(&mut self, name: &Arc<str>, span: Span, ty: Ty, kind: LocalKind) -> LocalId {
        // At the prompt a later variable hides an earlier one.
        let hides = self.place == Place::Prompt && self.scopes.len() == 1;
        if let Some(first) = self.peek_local(name).filter(|_| !hides) {
            let at = self.locals[first].span;
            let inside = !self.scopes.last().is_some_and(|scope| scope.contains_key(name));
            self.report(match inside || kind == LocalKind::Counter {
                true => report::rebound_in_for(name, at, span),
                false => report::rebound(name, at, span),
            });
        }
        let local = self.locals.push(Local {
            name: name.clone(),
            ty,
            span,
            kind,
        });
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.clone(), local);
        }
        local
    }

    /// Adds the counter of a `for` or a comprehension in a scope of its own.
    pub fn enter_counter(&mut self, name: &Arc<str>, span: Span) -> LocalId {
        self.scopes.push(HashMap::new());
        let local = self.declare(name, span, Ty::int(), LocalKind::Counter);
        self.statics.insert(local, Dim::atom(Atom::Local(local)));
        local
    }

    /// Leaves the innermost scope.
    pub fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Returns whether a name occurs only on lines of the program that could not be read.
    pub fn is_unread(&self, name: &str) -> bool {
        !self.in_library && self.names.unread.contains(name) && self.names.find_value(name, false).is_none()
    }

    /// An item that expressions can name, unless it is broken; the outer `Option` says whether the name exists.
    pub fn find_item(&self, name: &str) -> Option<(Option<Def>, Option<Span>)> {
        if self.is_unread(name) {
            return Some((None, None));
        }
        let (def, span) = self.names.find_value(name, self.in_library)?;
        Some(((!self.names.broken.contains(&def)).then_some(def), span))
    }

    /// Reports a name that means nothing in an expression.
    pub fn unknown_name(&mut self, name: &str, span: Span) -> Expr {
        if let Some(later) = self.later.get(name) {
            let diagnostic = report::used_early(span, name, *later);
            return self.error(diagnostic, span);
        }
        if let Some((def, at)) = self.names.find(name, self.in_library) {
            let diagnostic = report::wrong_kind(span, name, "a value", def.kind(), at);
            return self.error(diagnostic, span);
        }
        let locals: Vec<Arc<str>> = self
            .scopes
            .iter()
            .flat_map(|scope| scope.keys().cloned())
            .collect();
        let mut all: Vec<&str> = locals.iter().map(|name| &**name).collect();
        all.sort_unstable();
        all.extend(self.names_of_values());
        let diagnostic = report::unknown_name(span, name, all);
        self.error(diagnostic, span)
    }

    /// The names of items and functions that expressions can use.
    fn names_of_values(&self) -> Vec<&str> {
        let mut all = self.names.all(Def::is_value);
        all.extend(builtin::ALL.iter().map(|builtin| builtin.name));
        all
    }

    /// The module of another language that an expression names, as `np` in `np.exp` or `np.random.normal`, unless the program declares the name.
    pub fn foreign_module(&self, base: &ast::Expr) -> Option<(Arc<str>, Span)> {
        match &*strip(base).kind {
            ast::ExprKind::Field(base, _) => self.foreign_module(base),
            ast::ExprKind::Name(name) => {
                let is_declared = self.peek_local(name).is_some()
                    || self.later.contains_key(name)
                    || self.is_unread(name)
                    || self.names.find(name, self.in_library).is_some();
                (synonyms::is_module(name) && !is_declared).then(|| (name.clone(), base.span))
            }
            _ => None,
        }
    }

    /// Reports a name in a module of another language.
    pub fn in_foreign_module(&mut self, module: &(Arc<str>, Span), name: &str, span: Span) -> Expr {
        let diagnostic = report::foreign_module(module.1, (&module.0, name), self.names_of_values());
        self.error(diagnostic, span)
    }

    /// The dimension that an integer expression is, if it is known before the run.
    pub fn dim_of(&self, expr: &Expr) -> Option<Dim> {
        match &expr.kind {
            ExprKind::Int(value) => Some(Dim::number(*value)),
            ExprKind::Local(local) => self.statics.get(local).cloned(),
            ExprKind::Const(_) => {
                let value = constant(self.module, expr)?;
                (value.fract() == 0.0 && value.abs() < 9e15).then(|| Dim::number(value as i64))
            }
            ExprKind::Builtin(builtin, args) if builtin.rule == Rule::Length => match &args.first()?.ty {
                Ty::Tensor(_, dims) => dims.first().cloned(),
                _ => None,
            },
            ExprKind::Unary(UnaryOp::Neg, operand) => Some(Dim::number(0).plus(&self.dim_of(operand)?, -1)),
            ExprKind::Binary(op, left, right) if expr.ty == Ty::int() => {
                let (left, right) = (self.dim_of(left)?, self.dim_of(right)?);
                match op {
                    BinaryOp::Add => Some(left.plus(&right, 1)),
                    BinaryOp::Sub => Some(left.plus(&right, -1)),
                    BinaryOp::Mul => Some(left.times(&right)),
                    BinaryOp::Div => Some(left.divided(&right)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a value belongs to one example.
    pub fn depends(&self, expr: &Expr) -> bool {
        self.dependence(expr).is_some()
    }

    /// A variable of one example that a value is made of.
    pub fn dependence(&self, expr: &Expr) -> Option<LocalId> {
        let mut found = None;
        walk::any(expr, &mut |part| match &part.kind {
            ExprKind::Local(local) if self.per_example.contains(local) => {
                found = Some(*local);
                true
            }
            _ => false,
        });
        found
    }

    /// Warns about variables that were never read, and ends the item.
    pub fn finish(mut self) -> (Locals, Vec<Diagnostic>) {
        // A mistake often leaves variables unused; it is said first.
        if !self.in_library && !self.diagnostics.iter().any(Diagnostic::is_error) {
            for local in self.locals.ids() {
                let Local { name, span, kind, ty } = &self.locals[local];
                let watched = matches!(kind, LocalKind::Param | LocalKind::Assigned | LocalKind::Site);
                let layer = matches!(ty, Ty::Layer(_)) || self.made.contains_key(&local);
                if watched && !layer && !self.used.contains(&local) && !name.starts_with('_') {
                    self.diagnostics.push(match (self.place == Place::Model, *kind) {
                        (true, LocalKind::Param) => report::unused_input(name, *span),
                        _ => report::unused(name, *span),
                    });
                }
            }
        }
        (self.locals, self.diagnostics)
    }
}

/// An expression that was already reported.
pub fn error(span: Span) -> Expr {
    Expr {
        kind: ExprKind::Error,
        ty: Ty::Error,
        span,
    }
}
