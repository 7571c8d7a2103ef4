//! The syntax tree: what was written, with spans everywhere and no types.

use bnnc_base::source::Span;
use std::sync::Arc;

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ident {
    /// The word.
    pub name: Arc<str>,
    /// Where.
    pub span: Span,
}

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Items in order. Files of the library hold only `use const fn layer dist optimiser`.
    pub items: Vec<Item>,
    /// Comments in order of position (the formatter puts them back); `//!` and `///` are among them.
    pub comments: Vec<Comment>,
    /// Names on lines that could not be read: what they declare is not known.
    pub unread: Vec<Arc<str>>,
}

/// `// text`, `/// text`, `//! text`: one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    /// With its slashes, without the line end and trailing blanks.
    pub text: Arc<str>,
    /// Where.
    pub span: Span,
}

/// A top-level item.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// From its keyword to its last token.
    pub span: Span,
    /// The lines of `///` directly before it, without slashes.
    pub doc: Vec<Arc<str>>,
}

impl Item {
    /// Its name, if it has one.
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

/// The kinds of items, and no more.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `use layers::Dense`.
    Use(Vec<Ident>),
    /// `const SIZE = 50`.
    Const(Const),
    /// `fn f(x: real) -> real { .. }`.
    Fn(Fn),
    /// `layer Dense(out: int)(x: real[n]) -> real[out] { .. }`.
    Layer(Layer),
    /// `dist Normal(loc: real, scale: positive) on real { .. }`.
    Dist(Dist),
    /// `optimiser Adam(rate: positive) { .. }`.
    Optimiser(Optimiser),
    /// `data d = csv("d.csv") { .. }`.
    Data(Data),
    /// `model M(x: real[d]) -> y: real { .. }`.
    Model(Model),
    /// `posterior Q of M { .. }`.
    Posterior(Posterior),
    /// `infer a = vi(Q, d) { .. }`.
    Infer(Infer),
    /// `compare a, b by rmse`.
    Compare(Compare),
    /// Text that could not be read; a diagnostic says why.
    Error,
}

/// `const NAME = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Const {
    /// Its name.
    pub name: Ident,
    /// Its value.
    pub value: Expr,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Fn {
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The type of its result.
    pub result: Type,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// A layer: parameters once, inputs at each call.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its name.
    pub name: Ident,
    /// What it is made with.
    pub params: Vec<Param>,
    /// What it is called with.
    pub inputs: Vec<Param>,
    /// The type of its result.
    pub result: Type,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// A distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Dist {
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The type of its values: their support.
    pub on: Type,
    /// Its definitions.
    pub body: Vec<Definition>,
}

/// An optimiser.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimiser {
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its definitions.
    pub body: Vec<Definition>,
}

/// One line of a distribution or an optimiser.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// What it defines.
    pub kind: DefinitionKind,
    /// The name.
    pub name: Ident,
    /// The right-hand side.
    pub value: Expr,
    /// The whole line.
    pub span: Span,
}

/// What a line of a distribution or an optimiser defines.
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

/// Where numbers come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Its name.
    pub name: Ident,
    /// `csv("file")`.
    pub source: Expr,
    /// Its options.
    pub options: Vec<Setting>,
}

/// One line of an option block.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The option (any word, keywords too).
    pub name: Ident,
    /// Its value.
    pub value: Expr,
}

/// A model, written for one example.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: Ident,
    /// Shared inputs: the first of two input lists, else empty.
    pub shared: Vec<Param>,
    /// The inputs of one example.
    pub inputs: Vec<Param>,
    /// The observed outputs.
    pub outputs: Vec<Param>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// Whether two input lists were written (the first may be empty).
    pub two_lists: bool,
}

/// An approximation to a model's posterior.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    /// Its name.
    pub name: Ident,
    /// The model.
    pub of: Ident,
    /// `sites ~ Family(..)` and `site = other.site`.
    pub body: Vec<Stmt>,
}

/// `infer NAME = METHOD(target, data) { .. }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Infer {
    /// Its name.
    pub name: Ident,
    /// The method.
    pub method: Ident,
    /// A model or a posterior, then data.
    pub args: Vec<Arg>,
    /// Its options.
    pub options: Vec<Setting>,
}

/// `compare a, b by rmse, coverage(0.9)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Compare {
    /// The infers.
    pub infers: Vec<Ident>,
    /// The metrics.
    pub by: Vec<Expr>,
}

/// `name: type = default`.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: Type,
    /// Its default.
    pub default: Option<Expr>,
    /// All of it.
    pub span: Span,
}

/// `real(0, 1)[n, out]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// `real`, `index`, `dist`, ..
    pub name: Ident,
    /// In parentheses.
    pub args: Vec<Expr>,
    /// In brackets; `None` where no brackets were written.
    pub dims: Option<Vec<Expr>>,
    /// All of it.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// All of it.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `a, b.c = value`: targets are paths (expressions made of names, fields, globs and indices).
    Assign {
        /// The left-hand sides; more than one only in posteriors.
        targets: Vec<Expr>,
        /// A declared type (with a single name as the target).
        ty: Option<Type>,
        /// The right-hand side.
        value: Expr,
    },
    /// `a, b.* ~ Family(..)`.
    Sample {
        /// The left-hand sides; more than one only in posteriors.
        targets: Vec<Expr>,
        /// A declared type (with a single name as the target).
        ty: Option<Type>,
        /// The distribution.
        dist: Expr,
        /// Whether `local` was written.
        local: bool,
    },
    /// `for i in a..b { .. }`.
    For {
        /// The counter.
        name: Ident,
        /// First value.
        from: Expr,
        /// One past the last.
        to: Expr,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// `return value`.
    Return(Expr),
    /// Text that could not be read; a diagnostic says why.
    Error,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: Box<ExprKind>,
    /// Where.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A name.
    Name(Arc<str>),
    /// A number without a point or an exponent.
    Int(i64),
    /// A number with one; the text as written is kept for the formatter.
    Real(f64, Arc<str>),
    /// A text in double quotes.
    Text(Arc<str>),
    /// `true` or `false`.
    Bool(bool),
    /// `a.b`.
    Field(Expr, Ident),
    /// `a.*`.
    Glob(Expr),
    /// `f(a, k = b)`.
    Call(Expr, Vec<Arg>),
    /// `f(e for i in a..b)`: `sum`, `prod`, `max`, `min` over a range.
    Reduce(Expr, Comprehension),
    /// `x[i, a..b]`.
    Index(Expr, Vec<Index>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `a = b` in a list.
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
    /// Text that could not be read; a diagnostic says why.
    Error,
}

/// `e for i in a..b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    /// The element.
    pub element: Expr,
    /// The counter.
    pub name: Ident,
    /// First value.
    pub from: Expr,
    /// One past the last.
    pub to: Expr,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// `name =`, if written.
    pub name: Option<Ident>,
    /// The value.
    pub value: Expr,
}

/// What stands in brackets after a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// `x[i]`: the axis goes away.
    At(Expr),
    /// `x[a..b]`: the axis stays.
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

/// Operators with two operands, from the loosest to the tightest.
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
