//! The state of checking one item: the item's variables, scopes, layers and diagnostics.

use super::made::Made;
use super::names::{Def, ItemNames};
use super::output_uses::{Needs, Use};
use crate::builtin::{self, BuiltinRule};
use crate::constant::constant;
use crate::diagnostics::{names as report, types};
use crate::dims::{Atom, DimExpr};
use crate::range::Range;
use crate::tree::{Local, LocalId, LocalKind, Locals, Module, ScaledStart, TypedExpr, TypedExprKind};
use crate::types::{Elem, Ty};
use crate::{show, walk};
use bnnc_base::diagnostic::{Diagnostic, Severity};
use bnnc_base::source::Span;
use bnnc_base::synonyms;
use bnnc_grammar::ast::{self, BinaryOp, UnaryOp};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The kind of item or text that is being checked. It determines which constructs are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// The value of a constant or an option, or a start value.
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
    /// The REPL.
    Prompt,
}

impl BodyKind {
    /// Returns the name of the kind, as used in messages.
    pub fn name(self) -> &'static str {
        match self {
            BodyKind::Constant => "a constant",
            BodyKind::Function => "a function",
            BodyKind::Layer => "a layer",
            BodyKind::Model => "a model",
            BodyKind::Dist | BodyKind::Draw => "a distribution",
            BodyKind::Optimiser => "an optimiser",
            BodyKind::Prompt => "the prompt",
        }
    }
}

/// The type of a distribution's values for certain arguments: the element type and the dims.
#[derive(Clone, Debug)]
pub struct DistValue {
    /// The type of one element.
    pub elem: Elem,
    /// The dims, as determined by the arguments or by the joint type.
    pub dims: Vec<DimExpr>,
    /// True if the distribution applies elementwise to arrays with any dims.
    pub elementwise: bool,
}

/// The first call of each layer instance: the dims of its inputs, and its position in the program.
pub type Calls = HashMap<(LocalId, Vec<i64>), (Vec<Vec<DimExpr>>, Span)>;

/// The outputs by name. The value holds the variable of the output, and the elements that have a
/// distribution. `None` in place of an element stands for the whole output.
pub type Outputs = HashMap<Arc<str>, (LocalId, Vec<(Option<DimExpr>, Span)>)>;

/// The state of checking one item.
pub struct Checker<'a> {
    /// The items that have been checked already.
    pub module: &'a Module,
    /// The items and functions to which names refer.
    pub names: &'a ItemNames,
    /// True if the item belongs to the library.
    pub in_library: bool,
    /// The kind of item being checked.
    pub place: BodyKind,
    /// The name of the item, for messages.
    pub owner: Arc<str>,
    /// The item's variables.
    pub locals: Locals,
    /// Names in scope, innermost last.
    pub scopes: Vec<HashMap<Arc<str>, LocalId>>,
    /// Names that later statements of the same block declare, with their positions in the program.
    pub later: HashMap<Arc<str>, Span>,
    /// The ranges of those variables whose range is narrower than their type.
    pub ranges: HashMap<LocalId, Range>,
    /// Variables that can be positive or negative whatever the data are, because they are sums of
    /// parameters on the reals.
    pub signed: HashSet<LocalId>,
    /// Variables that have been read.
    pub used: HashSet<LocalId>,
    /// For each integer variable that is known before the run, the dimension that it equals.
    pub statics: HashMap<LocalId, DimExpr>,
    /// Variables whose value differs between examples.
    pub per_example: HashSet<LocalId>,
    /// The value types of the variables that are distributions.
    pub dist_values: HashMap<LocalId, DistValue>,
    /// The variables that are layer instances.
    pub made: HashMap<LocalId, Made>,
    /// The first call of each layer instance so far.
    pub calls: Calls,
    /// The numbers of axes of the arrays to which the layers made of each parameter of type `layer` are applied.
    pub applied: BTreeSet<(LocalId, usize)>,
    /// The rule that a layer declares for the starts of its weights, with the position of the line.
    pub start: Option<(ScaledStart, Span)>,
    /// Parameters whose types have not been read yet.
    pub untyped: HashSet<LocalId>,
    /// The outputs of a model.
    pub outputs: Outputs,
    /// For each variable, the output elements on which it depends.
    pub uses: HashMap<LocalId, Vec<Use>>,
    /// For each output, the outputs that the arguments of its distribution read.
    pub needs: Needs,
    /// The nesting depth of the current expression.
    pub depth: usize,
    /// The position of the value of the current assignment. It is set in a layer, and in a model outside a
    /// `for`.
    pub named_call: Option<Span>,
    /// The diagnostics so far.
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    /// Returns the number of errors so far. Warnings are ignored, because a value with a warning is still valid.
    pub fn errors(&self) -> usize {
        let errors = self.diagnostics.iter();
        errors.filter(|found| found.severity == Severity::Error).count()
    }

    /// Creates the initial state for the check of an item.
    pub fn new(
        module: &'a Module,
        names: &'a ItemNames,
        in_library: bool,
        place: BodyKind,
        owner: &Arc<str>,
    ) -> Checker<'a> {
        Checker {
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
            applied: BTreeSet::new(),
            start: None,
            untyped: HashSet::new(),
            outputs: HashMap::new(),
            uses: HashMap::new(),
            needs: Needs::new(),
            depth: 0,
            named_call: None,
            diagnostics: Vec::new(),
        }
    }

    /// Records a diagnostic.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Records a diagnostic, and returns an error node in place of the expression.
    pub fn error(&mut self, diagnostic: Diagnostic, span: Span) -> TypedExpr {
        self.report(diagnostic);
        error(span)
    }

    /// Reports that a value is not `expected`, and returns `None`.
    pub fn wrong<T>(&mut self, value: &TypedExpr, expected: &str) -> Option<T> {
        let found = show::ty(&value.ty, &self.locals);
        self.report(types::mismatch(value.span, expected, &found));
        None
    }

    /// Returns the error that two values have different dims.
    pub fn dims_differ(
        &self,
        span: Span,
        op: &str,
        (left, left_span): (&[DimExpr], Span),
        (right, right_span): (&[DimExpr], Span),
    ) -> Diagnostic {
        let [left, right] = [left, right].map(|dims| show::dims(dims, &self.locals));
        types::dims(span, op, (&left, left_span), (&right, right_span))
    }

    /// Looks up a variable by name and marks it as used.
    pub fn find_local(&mut self, name: &str) -> Option<LocalId> {
        let found = self.peek_local(name);
        self.used.extend(found);
        found
    }

    /// Looks up a variable by name without marking it as used.
    pub fn peek_local(&self, name: &str) -> Option<LocalId> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name).copied())
    }

    /// Adds a variable to the innermost scope. If the scope already has a variable with this name,
    /// reports an error, and the new variable hides the earlier one.
    pub fn declare(&mut self, name: &Arc<str>, span: Span, ty: Ty, kind: LocalKind) -> LocalId {
        // In the REPL, a later variable may hide an earlier one.
        let hides = self.place == BodyKind::Prompt && self.scopes.len() == 1;
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

    /// Opens a scope, and declares the counter of a `for` or a comprehension in the new scope.
    pub fn enter_counter(&mut self, name: &Arc<str>, span: Span) -> LocalId {
        self.scopes.push(HashMap::new());
        let local = self.declare(name, span, Ty::int(), LocalKind::Counter);
        self.statics.insert(local, DimExpr::atom(Atom::Local(local)));
        local
    }

    /// Closes the innermost scope.
    pub fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Returns whether a name that is not the name of an item occurs on a line with a syntax error.
    /// The erroneous line may declare this name.
    pub fn is_unread(&self, name: &str) -> bool {
        !self.in_library && self.names.unread.contains(name) && self.names.find_value(name, false).is_none()
    }

    /// Looks up an item that expressions can name. Returns `None` if the name does not exist. If
    /// the item has errors, the `Def` in the result is `None`.
    pub fn find_item(&self, name: &str) -> Option<(Option<Def>, Option<Span>)> {
        if self.is_unread(name) {
            return Some((None, None));
        }
        let (def, span) = self.names.find_value(name, self.in_library)?;
        Some(((!self.names.broken.contains(&def)).then_some(def), span))
    }

    /// Reports a name in an expression that is not defined.
    pub fn unknown_name(&mut self, name: &str, span: Span) -> TypedExpr {
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

    /// Returns the names of items and functions that expressions can use.
    fn names_of_values(&self) -> Vec<&str> {
        let mut all = self.names.all(Def::is_value);
        all.extend(builtin::ALL.iter().map(|builtin| builtin.name));
        all
    }

    /// If an expression refers to a module of another language, such as `np` in `np.exp` or
    /// `np.random.normal`, returns the name of the module. A name that the program declares does
    /// not refer to such a module.
    pub fn foreign_module(&self, base: &ast::Expr) -> Option<(Arc<str>, Span)> {
        match &*base.without_parentheses().kind {
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

    /// Reports the use of a name from a module of another language.
    pub fn in_foreign_module(&mut self, module: &(Arc<str>, Span), name: &str, span: Span) -> TypedExpr {
        let diagnostic = report::foreign_module(module.1, (&module.0, name), self.names_of_values());
        self.error(diagnostic, span)
    }

    /// If the value of an integer expression is known before the run, returns the dimension that it
    /// equals.
    pub fn dim_of(&self, expr: &TypedExpr) -> Option<DimExpr> {
        match &expr.kind {
            TypedExprKind::Int(value) => Some(DimExpr::number(*value)),
            TypedExprKind::Local(local) => self.statics.get(local).cloned(),
            TypedExprKind::Const(_) => {
                let value = constant(self.module, expr)?;
                (value.fract() == 0.0 && value.abs() < 9e15).then(|| DimExpr::number(value as i64))
            }
            TypedExprKind::Builtin(builtin, args) if builtin.rule == BuiltinRule::Length => {
                args.first()?.ty.dims().first().cloned()
            }
            TypedExprKind::Unary(UnaryOp::Neg, operand) => {
                Some(DimExpr::number(0).plus(&self.dim_of(operand)?, -1))
            }
            TypedExprKind::Binary(op, left, right) if expr.ty == Ty::int() => {
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

    /// Returns whether a value can differ between examples.
    pub fn depends(&self, expr: &TypedExpr) -> bool {
        self.dependence(expr).is_some()
    }

    /// If the expression contains a variable whose value differs between examples, returns this
    /// variable.
    pub fn dependence(&self, expr: &TypedExpr) -> Option<LocalId> {
        let mut found = None;
        walk::any(expr, &mut |part| match &part.kind {
            TypedExprKind::Local(local) if self.per_example.contains(local) => {
                found = Some(*local);
                true
            }
            _ => false,
        });
        found
    }

    /// Warns about variables that are never read, and ends the check of the item.
    pub fn finish(mut self) -> (Locals, Vec<Diagnostic>) {
        // An error often leaves variables unused, so these warnings appear only if there are no
        // errors.
        if !self.in_library && !self.diagnostics.iter().any(Diagnostic::is_error) {
            for local in self.locals.ids() {
                let Local { name, span, kind, ty } = &self.locals[local];
                let watched = matches!(kind, LocalKind::Param | LocalKind::Assigned | LocalKind::Site);
                let layer = matches!(ty, Ty::Layer(_)) || self.made.contains_key(&local);
                if watched && !layer && !self.used.contains(&local) && !name.starts_with('_') {
                    self.diagnostics
                        .push(match (self.place == BodyKind::Model, *kind) {
                            (true, LocalKind::Param) => report::unused_input(name, *span),
                            _ => report::unused(name, *span),
                        });
                }
            }
        }
        (self.locals, self.diagnostics)
    }
}

/// Returns the node that stands for an expression whose error has already been reported.
pub fn error(span: Span) -> TypedExpr {
    TypedExpr::new(TypedExprKind::Error, Ty::Error, span)
}
