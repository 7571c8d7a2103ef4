//! The syntax tree: the program as written. Every node has a span. Types are not known yet.

use bnnc_base::source::Span;
use std::sync::Arc;

/// A name and its position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ident {
    /// The word.
    pub name: Arc<str>,
    /// The position of the name in the source.
    pub span: Span,
}

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceFile {
    /// The items in source order. Library files contain only `use`, `const`, `fn`, `layer`, `dist` and `optimiser` items.
    pub items: Vec<Item>,
    /// The comments in source order, including `//!` and `///`. The formatter prints the comments again.
    pub comments: Vec<Comment>,
    /// The names on lines with syntax errors. A later stage must not report them as undeclared.
    pub unread: Vec<Arc<str>>,
}

/// `// text`, `/// text`, `//! text`: a comment of one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    /// The text, including the slashes, without trailing blanks and without the end of the line.
    pub text: Arc<str>,
    /// The position of the comment in the source.
    pub span: Span,
}

/// A top-level item.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The kind of item, with its parts.
    pub kind: ItemKind,
    /// The span from the keyword to the last token.
    pub span: Span,
    /// The `///` lines directly above the item, without the slashes.
    pub doc: Vec<Arc<str>>,
}

impl Item {
    /// Returns the name of the item, or `None` if items of this kind do not have a name.
    pub fn name(&self) -> Option<&Ident> {
        match &self.kind {
            ItemKind::Use(_) | ItemKind::Compare(_) | ItemKind::Error => None,
            ItemKind::Const(it) => Some(&it.name),
            ItemKind::Fn(it) => Some(&it.name),
            ItemKind::Layer(it) => Some(&it.name),
            ItemKind::Dist(it) => Some(&it.name),
            ItemKind::Optimiser(it) => Some(&it.name),
            ItemKind::Data(it) => Some(&it.name),
            ItemKind::Model(it) => Some(&it.name),
            ItemKind::Posterior(it) => Some(&it.name),
            ItemKind::Infer(it) => Some(&it.name),
        }
    }
}

/// The kinds of items.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `use layers::Dense`.
    Use(Vec<Ident>),
    /// `const SIZE = 50`.
    Const(ConstDecl),
    /// `fn f(x: real) -> real { .. }`.
    Fn(FnDecl),
    /// `layer Dense(out: int)(x: real[n]) -> real[out] { .. }`.
    Layer(LayerDecl),
    /// `dist Normal(loc: real, scale: positive) on real { .. }`.
    Dist(DistDecl),
    /// `optimiser Adam(rate: positive) { .. }`.
    Optimiser(OptimiserDecl),
    /// `data d = csv("d.csv") { .. }`.
    Data(DataDecl),
    /// `model M(x: real[d]) -> y: real { .. }`.
    Model(ModelDecl),
    /// `posterior Q of M { .. }`.
    Posterior(PosteriorDecl),
    /// `infer a = vi(Q, d) { .. }`.
    Infer(InferDecl),
    /// `compare a, b by rmse`.
    Compare(CompareDecl),
    /// A text that could not be parsed. A diagnostic gives the reason.
    Error,
}

/// `const NAME = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstDecl {
    /// The name of the constant.
    pub name: Ident,
    /// The value of the constant.
    pub value: Expr,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct FnDecl {
    /// The name of the function.
    pub name: Ident,
    /// The parameters of the function.
    pub params: Vec<Param>,
    /// The type of the result.
    pub result: TypeExpr,
    /// The statements of the function.
    pub body: Vec<Stmt>,
}

/// A layer. Its parameters are given when it is constructed, its inputs at each call.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerDecl {
    /// The name of the layer.
    pub name: Ident,
    /// The constructor parameters.
    pub params: Vec<Param>,
    /// The inputs of each call.
    pub inputs: Vec<Param>,
    /// The type of the result.
    pub result: TypeExpr,
    /// The statements of the layer.
    pub body: Vec<Stmt>,
}

/// A distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct DistDecl {
    /// The name of the distribution.
    pub name: Ident,
    /// The parameters of the distribution.
    pub params: Vec<Param>,
    /// The type of the values, which is the support of the distribution.
    pub on: TypeExpr,
    /// The definitions of the distribution.
    pub body: Vec<Definition>,
}

/// An optimiser, such as `Adam`.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimiserDecl {
    /// The name of the optimiser.
    pub name: Ident,
    /// The parameters of the optimiser.
    pub params: Vec<Param>,
    /// The definitions of the optimiser.
    pub body: Vec<Definition>,
}

/// One line of a distribution or an optimiser.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The kind of definition.
    pub kind: DefinitionKind,
    /// The name.
    pub name: Ident,
    /// The right-hand side.
    pub value: Expr,
    /// The whole line.
    pub span: Span,
}

/// The kinds of definitions in a distribution or an optimiser.
#[derive(Clone, Debug, PartialEq)]
pub enum DefinitionKind {
    /// `mean = ..`.
    Value,
    /// `log_density(x) = ..`, with the names in parentheses.
    Function(Vec<Ident>),
    /// `state m = 0`.
    State,
    /// `next m = ..`.
    Next,
}

/// A data set.
#[derive(Clone, Debug, PartialEq)]
pub struct DataDecl {
    /// The name of the data set.
    pub name: Ident,
    /// The source, such as `csv("file")`.
    pub source: Expr,
    /// The options of the data set.
    pub options: Vec<Setting>,
}

/// One line of an option block.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The option's name. Any word is accepted, including keywords.
    pub name: Ident,
    /// The value of the option.
    pub value: Expr,
}

/// A model, written for one example.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelDecl {
    /// The name of the model.
    pub name: Ident,
    /// The shared inputs, from the first of two input lists. Empty if there is only one list.
    pub shared: Vec<Param>,
    /// The inputs of one example.
    pub inputs: Vec<Param>,
    /// The observed outputs.
    pub outputs: Vec<Param>,
    /// The statements of the model.
    pub body: Vec<Stmt>,
    /// True if the model has two input lists, even if the first one is empty.
    pub two_lists: bool,
}

/// An approximation of a model's posterior.
#[derive(Clone, Debug, PartialEq)]
pub struct PosteriorDecl {
    /// The name of the approximation.
    pub name: Ident,
    /// The model whose posterior is approximated.
    pub of: Ident,
    /// `sites ~ Family(..)` and `site = other.site`.
    pub body: Vec<Stmt>,
}

/// `infer NAME = METHOD(target, data) { .. }`.
#[derive(Clone, Debug, PartialEq)]
pub struct InferDecl {
    /// The name of the inference block.
    pub name: Ident,
    /// The method.
    pub method: Ident,
    /// The arguments: a model or a posterior, then a data set.
    pub args: Vec<Arg>,
    /// The options of the inference block.
    pub options: Vec<Setting>,
}

/// `compare a, b by rmse, coverage(0.9)`.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareDecl {
    /// The inference blocks to compare.
    pub infers: Vec<Ident>,
    /// The metrics; empty if the program does not name any.
    pub by: Vec<Expr>,
}

/// `name: type = default`.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The name of the parameter.
    pub name: Ident,
    /// The type of the parameter.
    pub ty: TypeExpr,
    /// The default of the parameter.
    pub default: Option<Expr>,
    /// The whole parameter.
    pub span: Span,
}

/// `real(0, 1)[n, out]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    /// `real`, `index`, `dist`, ..
    pub name: Ident,
    /// The arguments in parentheses.
    pub args: Vec<Expr>,
    /// The dimensions in brackets; `None` without brackets.
    pub dims: Option<Vec<Expr>>,
    /// The whole type.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// The kind of statement, with its parts.
    pub kind: StmtKind,
    /// The whole statement.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `a, b.c = value`. The targets are paths: expressions made of names, fields, globs and indices.
    Assign {
        /// The left-hand sides. Only posteriors may have more than one.
        targets: Vec<Expr>,
        /// The declared type. It requires that the target is a single name.
        ty: Option<TypeExpr>,
        /// The right-hand side.
        value: Expr,
    },
    /// `a, b.* ~ Family(..)`.
    Sample {
        /// The left-hand sides. Only posteriors may have more than one.
        targets: Vec<Expr>,
        /// The declared type. It requires that the target is a single name.
        ty: Option<TypeExpr>,
        /// The distribution.
        dist: Expr,
        /// True if the statement contains `local`.
        local: bool,
    },
    /// `for i in a..b { .. }`.
    For {
        /// The counter.
        name: Ident,
        /// The first value.
        from: Expr,
        /// The last value plus one.
        to: Expr,
        /// The repeated statements.
        body: Vec<Stmt>,
    },
    /// `return value`.
    Return(Expr),
    /// A text that could not be parsed. A diagnostic gives the reason.
    Error,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The kind of expression, with its parts.
    pub kind: Box<ExprKind>,
    /// The position of the expression in the source.
    pub span: Span,
}

impl Expr {
    /// Returns the expression without any parentheses around it.
    pub fn without_parentheses(&self) -> &Expr {
        match &*self.kind {
            ExprKind::Paren(inner) => inner.without_parentheses(),
            _ => self,
        }
    }

    /// Returns the name if the expression is a name, possibly in parentheses.
    pub fn as_name(&self) -> Option<&Arc<str>> {
        match &*self.without_parentheses().kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the elements if the expression is a list, possibly in parentheses. Any other
    /// expression is its only element.
    pub fn elements(&self) -> &[Expr] {
        match &*self.without_parentheses().kind {
            ExprKind::List(elements) => elements,
            _ => std::slice::from_ref(self),
        }
    }

    /// Returns the callee and the arguments of a call, possibly in parentheses. For any other
    /// expression, returns the expression itself and an empty list of arguments.
    pub fn as_call(&self) -> (&Expr, &[Arg]) {
        match &*self.without_parentheses().kind {
            ExprKind::Call(callee, args) => (callee, args),
            _ => (self.without_parentheses(), &[]),
        }
    }
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A name.
    Name(Arc<str>),
    /// A number without a point or an exponent.
    Int(i64),
    /// A number with a point or an exponent. The second field is the number as written, for the formatter.
    Real(f64, Arc<str>),
    /// A string in double quotes.
    Text(Arc<str>),
    /// `true` or `false`.
    Bool(bool),
    /// `a.b`.
    Field(Expr, Ident),
    /// `a.*`.
    Glob(Expr),
    /// `f(a, k = b)`.
    Call(Expr, Vec<Arg>),
    /// `f(e for i in a..b)`: `sum`, `prod`, `max` or `min` over a range.
    Reduce(Expr, Comprehension),
    /// `x[i, a..b]`.
    Index(Expr, Vec<Index>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `a = b` as an element of a list.
    Named(Ident, Expr),
    /// `[e for i in a..b]`.
    Comprehension(Comprehension),
    /// `-a`, `!a`.
    Unary(UnaryOp, Expr),
    /// `a + b`.
    Binary(BinaryOp, Expr, Expr),
    /// `if c { a } else { b }`.
    If(Expr, Expr, Expr),
    /// Parentheses, kept for the formatter.
    Paren(Expr),
    /// A text that could not be parsed. A diagnostic gives the reason.
    Error,
}

/// `e for i in a..b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    /// The element.
    pub element: Expr,
    /// The counter.
    pub name: Ident,
    /// The first value of the counter.
    pub from: Expr,
    /// The last value plus one.
    pub to: Expr,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// The name before `=`, if there is one.
    pub name: Option<Ident>,
    /// The value.
    pub value: Expr,
}

/// One index in the brackets after a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// `x[i]`, which removes the axis.
    At(Expr),
    /// `x[a..b]`, which keeps the axis.
    Range(Expr, Expr),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`.
    Neg,
    /// `!`.
    Not,
}

/// Operators with two operands, in order of increasing precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `||`.
    Or,
    /// `&&`.
    And,
    /// `==`.
    Eq,
    /// `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `+`.
    Add,
    /// `-`.
    Sub,
    /// `*`.
    Mul,
    /// `/`.
    Div,
    /// `@`: the matrix product.
    MatMul,
    /// `^`.
    Pow,
}
