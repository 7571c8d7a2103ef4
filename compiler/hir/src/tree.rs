//! The resolved, typed tree (HIR): every name is an id, every expression has a type, every argument has its place.

mod infer;

use crate::builtin::Builtin;
use crate::types::{Param, Ty};
use bnnc_base::arena::Arena;
use bnnc_base::source::Span;
use bnnc_grammar::ast;
use bnnc_graph::dist::{Measure, TailKind};
pub use infer::{CompareItem, InferItem, Setting, SettingValue, Target};
use std::sync::Arc;

bnnc_base::id!(
    /// A variable of one item: parameter, dim name, assigned name, site, loop counter.
    LocalId,
    "local"
);
bnnc_base::id!(
    /// A constant.
    ConstId,
    "const"
);
bnnc_base::id!(
    /// A function.
    FnId,
    "fn"
);
bnnc_base::id!(
    /// A layer.
    LayerId,
    "layer"
);
bnnc_base::id!(
    /// A distribution.
    DistId,
    "dist"
);
bnnc_base::id!(
    /// An optimiser.
    OptimiserId,
    "optimiser"
);
bnnc_base::id!(
    /// A data item.
    DataId,
    "data"
);
bnnc_base::id!(
    /// A model.
    ModelId,
    "model"
);
bnnc_base::id!(
    /// A posterior.
    PosteriorId,
    "posterior"
);
bnnc_base::id!(
    /// An infer.
    InferId,
    "infer"
);

/// Everything that a program can name: its own items and the library's (which come first and have the lower ids).
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Constants.
    pub consts: Arena<ConstId, ConstItem>,
    /// Functions.
    pub fns: Arena<FnId, FnItem>,
    /// Layers.
    pub layers: Arena<LayerId, LayerItem>,
    /// Distributions.
    pub dists: Arena<DistId, DistItem>,
    /// Optimisers.
    pub optimisers: Arena<OptimiserId, OptimiserItem>,
    /// Data items.
    pub datas: Arena<DataId, DataItem>,
    /// Models.
    pub models: Arena<ModelId, ModelItem>,
    /// Posteriors.
    pub posteriors: Arena<PosteriorId, PosteriorItem>,
    /// Infers.
    pub infers: Arena<InferId, InferItem>,
    /// Comparisons.
    pub compares: Vec<CompareItem>,
    /// Infers in dependency order.
    pub infer_order: Vec<InferId>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Its name.
    pub name: Arc<str>,
    /// Its type. Dim names and loop counters are static `int`s.
    pub ty: Ty,
    /// Where it is declared.
    pub span: Span,
    /// What it is.
    pub kind: LocalKind,
}

/// What a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// A parameter, an input, an output.
    Param,
    /// A dim name that a parameter type binds.
    Dim,
    /// Assigned with `=`.
    Assigned,
    /// Declared with `~`.
    Site,
    /// The counter of `for` or a comprehension.
    Counter,
}

/// The variables of one item.
pub type Locals = Arena<LocalId, Local>;

/// A constant.
#[derive(Clone, Debug)]
pub struct ConstItem {
    /// Its name.
    pub name: Arc<str>,
    /// Its value.
    pub value: Expr,
    /// What the value is, computed once: constants that use constants twice each would otherwise take exponential time.
    pub number: Option<Number>,
}

/// The value of a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer, exactly.
    Integer(i64),
    /// Anything else; a Boolean is 0 or 1.
    Real(f64),
}

impl Number {
    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Real(value) => value,
        }
    }
}

/// A parameter with its variable and default.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The variable.
    pub local: LocalId,
    /// Name and declared type (dims refer to the item's locals).
    pub param: Param,
    /// The default.
    pub default: Option<Expr>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct FnItem {
    /// Its name.
    pub name: Arc<str>,
    /// `///` lines.
    pub doc: String,
    /// Its variables.
    pub locals: Locals,
    /// Its parameters.
    pub params: Vec<Binding>,
    /// The type of its result.
    pub result: Ty,
    /// Its statements; the last is `Return`.
    pub body: Vec<Stmt>,
}

/// A layer.
#[derive(Clone, Debug)]
pub struct LayerItem {
    /// Its name.
    pub name: Arc<str>,
    /// `///` lines.
    pub doc: String,
    /// Its variables.
    pub locals: Locals,
    /// What it is made with.
    pub params: Vec<Binding>,
    /// What it is called with.
    pub inputs: Vec<Binding>,
    /// The type of its result.
    pub result: Ty,
    /// Its statements; the last is `Return`.
    pub body: Vec<Stmt>,
}

/// The properties that a distribution declares of one end of its values.
#[derive(Clone, Debug, Default)]
pub struct EndItem {
    /// `lowest = ..`, `highest = ..`: where parameters decide it.
    pub at: Option<Expr>,
    /// `low_tail = ..`, `high_tail = ..`, `tails = ..`: how the density falls there, with its numbers.
    pub tail: Option<(TailKind, Vec<Expr>)>,
}

/// A distribution.
#[derive(Clone, Debug)]
pub struct DistItem {
    /// Its name.
    pub name: Arc<str>,
    /// `///` lines.
    pub doc: String,
    /// Its variables, the argument of `log_density` among them.
    pub locals: Locals,
    /// Its parameters.
    pub params: Vec<Binding>,
    /// The type of a value: a scalar type means elementwise.
    pub on: Ty,
    /// Whether it is over scalars and lifts: every parameter and the value are scalars. Its definitions then use
    /// elementwise operations only, because the elaborator evaluates them on whole tensors at once.
    pub elementwise: bool,
    /// Whether a line of a posterior that names several sites makes one distribution over all of them: it is on `real[n]`,
    /// and does not say `per_tensor = true`.
    pub groups: bool,
    /// Its other parameterisations: later items of the same name, with other parameters.
    pub others: Vec<DistId>,
    /// How its probability is spread: `point = true`, `improper = true`, or by a density.
    pub measure: Measure,
    /// Whether its probability is that of the distributions among its parameters: `mixture = true`.
    pub mixture: bool,
    /// The lower and the upper end of the values that have probability.
    pub ends: [EndItem; 2],
    /// `log_density(x)`, `cdf(x)`, `quantile(p)`, `moment(k)`: name, argument, value. `log_density` is absent for
    /// families that are only posteriors of points.
    pub functions: Vec<(Arc<str>, LocalId, Expr)>,
    /// `draw`, `mean`, `variance`, `entropy`, `log_mean`, `log_variance`, `probabilities`: by name, in order.
    pub values: Vec<(Arc<str>, Expr)>,
}

/// An optimiser.
#[derive(Clone, Debug)]
pub struct OptimiserItem {
    /// Its name.
    pub name: Arc<str>,
    /// `///` lines.
    pub doc: String,
    /// Its variables; the predefined ones are `gradient`, `parameter`, `iteration`.
    pub locals: Locals,
    /// Its parameters; the first is the learning rate.
    pub params: Vec<Binding>,
    /// The predefined variables.
    pub gradient: LocalId,
    /// The parameter's value before the step.
    pub parameter: LocalId,
    /// The iteration, from 1, as a real.
    pub iteration: LocalId,
    /// `state NAME = start`, `next NAME = value`: the variable, its start, its next value. In `step`, a state's name means
    /// its next value.
    pub states: Vec<(LocalId, Expr, Expr)>,
    /// `step = ..`: what is added to the parameter.
    pub step: Option<Expr>,
}

/// A data item: resolved to a specification by the driver, which knows the program's folder and the command line.
#[derive(Clone, Debug)]
pub struct DataItem {
    /// Its name.
    pub name: Arc<str>,
    /// The item as checked: file names, expressions of columns, words.
    pub spec: bnnc_abi::data::DataSpec,
    /// Where it is declared.
    pub span: Span,
}

/// A model.
#[derive(Clone, Debug)]
pub struct ModelItem {
    /// Its name.
    pub name: Arc<str>,
    /// Its variables.
    pub locals: Locals,
    /// Shared inputs.
    pub shared: Vec<Binding>,
    /// Inputs of one example; the default `row` makes it the row number ([`ExprKind::Row`]).
    pub inputs: Vec<Binding>,
    /// Outputs.
    pub outputs: Vec<Binding>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// Where it is declared.
    pub span: Span,
}

/// A posterior.
#[derive(Clone, Debug)]
pub struct PosteriorItem {
    /// Its name.
    pub name: Arc<str>,
    /// The model.
    pub model: ModelId,
    /// Its lines.
    pub lines: Vec<PosteriorLine>,
    /// Where it is declared.
    pub span: Span,
}

/// A line of a posterior.
#[derive(Clone, Debug)]
pub struct PosteriorLine {
    /// The sites: each a dotted path, `hidden.w`, `layers[1].b`, maybe ending in `.*`. Checked against the model.
    pub sites: Vec<(Arc<str>, Span)>,
    /// What they get.
    pub value: PosteriorValue,
    /// Where.
    pub span: Span,
}

/// What a line of a posterior says.
#[derive(Clone, Debug)]
pub enum PosteriorValue {
    /// `~ Family(start values)`: parameter name and value for those given.
    Family(DistId, Vec<(Arc<str>, StartValue)>),
    /// `= other.path`: the value that another infer found.
    From(InferId, Arc<str>),
}

/// A start value of a family's parameter.
#[derive(Clone, Debug)]
pub enum StartValue {
    /// A constant: the optimiser starts there.
    Value(Expr),
    /// `fixed(v)`: it stays there.
    Fixed(Expr),
    /// A distribution: the optimiser starts from a draw of it.
    Draw(Expr),
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `name = value`. A layer assigned to a name gives the path of its sites.
    Let(LocalId, Expr),
    /// `name: type ~ dist`, and for an output `y ~ dist` (then `observed`), maybe at an index: `y[t] ~ dist`.
    Sample(Sample),
    /// `for i in a..b { .. }`.
    For {
        /// The counter.
        counter: LocalId,
        /// First value (static).
        from: Expr,
        /// One past the last (static).
        to: Expr,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// `return value`.
    Return(Expr),
}

/// A `~` statement.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The site or output.
    pub local: LocalId,
    /// Whether it is an output.
    pub observed: bool,
    /// `y[t] ~ ..`: the element (outputs only).
    pub index: Option<Expr>,
    /// The declared type, or the one the distribution gives.
    pub ty: Ty,
    /// The distribution.
    pub dist: Expr,
    /// Whether it is local to an example.
    pub per_example: bool,
    /// Where.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type; metas are solved.
    pub ty: Ty,
    /// Where.
    pub span: Span,
}

/// The kinds of expressions. Arguments are in declared order with defaults filled in.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A real number.
    Real(f64),
    /// An integer. Where a real is wanted the elaborator converts.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(Arc<str>),
    /// A variable.
    Local(LocalId),
    /// A constant.
    Const(ConstId),
    /// The row number (the default `= row` of an input).
    Row,
    /// A call of a builtin.
    Builtin(&'static Builtin, Vec<Expr>),
    /// A call of a function.
    CallFn(FnId, Vec<Expr>),
    /// A function by name, as an argument.
    FnValue(FnId),
    /// A builtin by name, as an argument.
    BuiltinValue(&'static Builtin),
    /// A call of a function that is a variable.
    CallLocal(LocalId, Vec<Expr>),
    /// `Dense(50)`: a layer with its parameters.
    MakeLayer(LayerId, Vec<Expr>),
    /// `h(x)`: a made layer with its inputs. The callee is a variable, a list element, or a `MakeLayer`.
    CallLayer(Box<Expr>, LayerId, Vec<Expr>),
    /// `Normal(0, 1)`.
    MakeDist(DistId, Vec<Expr>),
    /// `prior.log_density(x)`, `prior.draw`: a part of a distribution that is a value, with its argument if it has one.
    DistPart(Box<Expr>, Arc<str>, Option<Box<Expr>>),
    /// `[a, b]`: a vector of scalars, a stack of arrays, or a list of layers.
    List(Vec<Expr>),
    /// `[e for i in a..b]`.
    Comprehension(Box<Comprehension>),
    /// `sum(e for i in a..b)` and `prod`, `max`, `min`, `mean`, `logsumexp`.
    Reduce(&'static Builtin, Box<Comprehension>),
    /// `x[i, a..b]`.
    Index(Box<Expr>, Vec<Index>),
    /// `-x`, `!x`.
    Unary(ast::UnaryOp, Box<Expr>),
    /// `a + b`: arrays of equal dims, or a scalar with an array; `@` as matrix product.
    Binary(ast::BinaryOp, Box<Expr>, Box<Expr>),
    /// `if c { a } else { b }`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Already reported.
    Error,
}

/// `e for i in a..b`.
#[derive(Clone, Debug)]
pub struct Comprehension {
    /// The counter.
    pub counter: LocalId,
    /// First value (static).
    pub from: Expr,
    /// One past the last (static).
    pub to: Expr,
    /// The element.
    pub element: Expr,
}

/// What stands in brackets.
#[derive(Clone, Debug)]
pub enum Index {
    /// One position (an integer expression, static or not).
    At(Expr),
    /// A static range.
    Range(Expr, Expr),
}
