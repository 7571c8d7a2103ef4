//! The resolved, typed tree (HIR): every name is an id, every expression has a type, and arguments are in declared order.

mod infer;

use crate::builtin::Builtin;
pub use crate::composition::Composition;
pub use crate::ids::{
    ConstId, DataId, DistId, FnId, InferId, LayerId, LocalId, ModelId, OptimiserId, PosteriorId,
};
use crate::parts::{Derivation, DistributionPart, PartOfValue};
pub use crate::start_rules::ScaledStart;
use crate::types::{Ty, TypedParam};
use bnnc_base::arena::Arena;
use bnnc_base::source::Span;
use bnnc_grammar::ast;
use bnnc_graph::dist::{MeasureKind, TailKind};
pub use infer::{CheckedSetting, CompareItem, InferItem, InferenceTarget, SettingValue};
use std::collections::BTreeSet;
use std::sync::Arc;

/// All items that a program can name. Items of the library come first and have the lower ids.
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
    /// Inference blocks.
    pub infers: Arena<InferId, InferItem>,
    /// Comparisons.
    pub compares: Vec<CompareItem>,
    /// The inference blocks in dependency order.
    pub infer_order: Vec<InferId>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// The name of the variable.
    pub name: Arc<str>,
    /// The type of the variable. Dim names and loop counters have the type `int` and are static.
    pub ty: Ty,
    /// The position of the variable's declaration.
    pub span: Span,
    /// The kind of variable.
    pub kind: LocalKind,
}

/// The kinds of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// A parameter, an input or an output.
    Param,
    /// A dim name that a parameter type binds.
    Dim,
    /// A name assigned with `=`.
    Assigned,
    /// A site declared with `~`.
    Site,
    /// The counter of a `for` or a comprehension.
    Counter,
}

/// The variables of one item.
pub type Locals = Arena<LocalId, Local>;

/// A constant.
#[derive(Clone, Debug)]
pub struct ConstItem {
    /// The name of the constant.
    pub name: Arc<str>,
    /// The value of the constant.
    pub value: TypedExpr,
    /// The evaluated value. It is stored because evaluating a chain of constants would otherwise
    /// take exponential time if each of them used the previous one twice.
    pub number: Option<ConstValue>,
}

/// The value of a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConstValue {
    /// An exact integer.
    Integer(i64),
    /// Any other value. A Boolean is 0 or 1.
    Real(f64),
}

impl ConstValue {
    /// Returns the integer, or `None` for any other value.
    pub fn as_integer(self) -> Option<i64> {
        match self {
            ConstValue::Integer(value) => Some(value),
            ConstValue::Real(_) => None,
        }
    }

    /// Returns the nearest double.
    pub fn to_f64(self) -> f64 {
        match self {
            ConstValue::Integer(value) => value as f64,
            ConstValue::Real(value) => value,
        }
    }
}

/// A parameter, its variable and its default value.
#[derive(Clone, Debug)]
pub struct ParamBinding {
    /// The variable.
    pub local: LocalId,
    /// The name and the declared type. The dims of the type refer to the item's variables.
    pub param: TypedParam,
    /// The default value.
    pub default: Option<TypedExpr>,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub struct FnItem {
    /// The name of the function.
    pub name: Arc<str>,
    /// The documentation, from its `///` lines.
    pub doc: String,
    /// The variables of the function.
    pub locals: Locals,
    /// The parameters of the function.
    pub params: Vec<ParamBinding>,
    /// The type of the result.
    pub result: Ty,
    /// The statements. The last one is `Return`.
    pub body: Vec<TypedStmt>,
}

/// A layer.
#[derive(Clone, Debug, Default)]
pub struct LayerItem {
    /// The name of the layer.
    pub name: Arc<str>,
    /// The documentation, from its `///` lines.
    pub doc: String,
    /// The variables of the layer.
    pub locals: Locals,
    /// The constructor parameters.
    pub params: Vec<ParamBinding>,
    /// The rule for the starts of the weights of the layer, and of the layers in it, from `start = he`.
    pub start: Option<ScaledStart>,
    /// The arrays to which the layers made of each parameter of type `layer` are applied: the parameter and the number of axes.
    pub applied: BTreeSet<(LocalId, usize)>,
    /// The inputs of each call.
    pub inputs: Vec<ParamBinding>,
    /// The type of the result.
    pub result: Ty,
    /// The statements. The last one is `Return`.
    pub body: Vec<TypedStmt>,
}

/// The declarations of a distribution that concern one end of its support.
#[derive(Clone, Debug, Default)]
pub struct EndItem {
    /// The position of the end as a function of the parameters, from `lowest = ..` or
    /// `highest = ..`.
    pub at: Option<TypedExpr>,
    /// The kind of decay of the density towards this end, and the numbers that describe the decay. They come from `low_tail = ..`,
    /// `high_tail = ..` or `tails = ..`.
    pub tail: Option<(TailKind, Vec<TypedExpr>)>,
}

/// A distribution.
#[derive(Clone, Debug, Default)]
pub struct DistItem {
    /// The name of the distribution.
    pub name: Arc<str>,
    /// The documentation, from its `///` lines.
    pub doc: String,
    /// The variables of the distribution, including the argument of `log_density`.
    pub locals: Locals,
    /// The parameters of the distribution.
    pub params: Vec<ParamBinding>,
    /// The type of a value. The distribution is elementwise if this type is a scalar.
    pub on: Ty,
    /// True if the value and every parameter are scalars. Such a distribution also applies to arrays. Its definitions contain only elementwise
    /// operations, because they are evaluated on whole tensors.
    pub elementwise: bool,
    /// True if a posterior line with several sites gives them one joint distribution. This is the case for distributions
    /// on `real[n]` that do not declare `per_tensor = true`.
    pub groups: bool,
    /// The other parameterisations of the distribution: later items with the same name and
    /// different parameters.
    pub others: Vec<DistId>,
    /// The kind of probability measure. A distribution that declares neither `point = true` nor
    /// `improper = true` has a density.
    pub measure: MeasureKind,
    /// True for a mixture of the distributions among its parameters (`mixture = true`).
    pub mixture: bool,
    /// The lower and the upper end of the support.
    pub ends: [EndItem; 2],
    /// The definitions that have an argument, such as `log_density(x)`, `cdf(x)`, `quantile(p)` and
    /// `moment(k)`. Each entry has the part, the variable of the argument, and the value.
    /// `log_density` is absent for families of point estimates.
    pub functions: Vec<(DistributionPart, LocalId, TypedExpr)>,
    /// The definitions without an argument, in order: `draw`, `mean`, `variance`, `entropy`, `log_mean`, `log_variance`,
    /// `probabilities`.
    pub values: Vec<(DistributionPart, TypedExpr)>,
}

impl DistItem {
    /// Returns whether the distribution declares a part.
    pub fn declares(&self, part: DistributionPart) -> bool {
        self.functions.iter().any(|(known, ..)| *known == part)
            || self.values.iter().any(|(known, _)| *known == part)
    }

    /// Returns the most accurate derivation of a part from another part that the distribution
    /// declares, together with that part.
    pub fn source(&self, part: &PartOfValue) -> Option<(DistributionPart, Derivation)> {
        part.from.iter().find(|(part, _)| self.declares(*part)).copied()
    }

    /// Returns whether the distribution has a part, either declared or computed from another part.
    pub fn has(&self, part: DistributionPart) -> bool {
        self.declares(part) || part.of_value().is_some_and(|known| self.source(known).is_some())
    }

    /// Returns the definition of a part without an argument.
    pub fn value(&self, part: DistributionPart) -> Option<&TypedExpr> {
        let mut values = self.values.iter();
        values.find(|(known, _)| *known == part).map(|(_, value)| value)
    }
}

/// An optimiser.
#[derive(Clone, Debug)]
pub struct OptimiserItem {
    /// The name of the optimiser.
    pub name: Arc<str>,
    /// The documentation, from its `///` lines.
    pub doc: String,
    /// The variables of the optimiser, including the predefined `gradient`, `parameter` and `iteration`.
    pub locals: Locals,
    /// The parameters. The first parameter is the learning rate.
    pub params: Vec<ParamBinding>,
    /// The gradient of the loss with respect to the parameter.
    pub gradient: LocalId,
    /// The parameter's value before the step.
    pub parameter: LocalId,
    /// The number of the iteration, counted from 1, as a real.
    pub iteration: LocalId,
    /// The states, declared by `state NAME = start` and `next NAME = value`. Each entry has the
    /// variable, the starting value and the next value. In `step`, the name of a state refers to
    /// its next value.
    pub states: Vec<(LocalId, TypedExpr, TypedExpr)>,
    /// The increment of the parameter, `step = ..`.
    pub step: Option<TypedExpr>,
}

/// A data item. The driver resolves its specification, because only the driver knows the program's
/// folder and the command line.
#[derive(Clone, Debug)]
pub struct DataItem {
    /// The name of the data item.
    pub name: Arc<str>,
    /// The specification as checked: file names, column expressions and words.
    pub spec: bnnc_abi::data::DataSpec,
    /// The position of the data item's declaration.
    pub span: Span,
}

/// A model.
#[derive(Clone, Debug)]
pub struct ModelItem {
    /// The name of the model.
    pub name: Arc<str>,
    /// The variables of the model.
    pub locals: Locals,
    /// The inputs that all examples share.
    pub shared: Vec<ParamBinding>,
    /// The inputs of one example. An input with the default `row` receives the row number
    /// ([`TypedExprKind::Row`]).
    pub inputs: Vec<ParamBinding>,
    /// The observed outputs.
    pub outputs: Vec<ParamBinding>,
    /// The statements of the model.
    pub body: Vec<TypedStmt>,
    /// The position of the model's declaration.
    pub span: Span,
}

/// A posterior.
#[derive(Clone, Debug)]
pub struct PosteriorItem {
    /// The name of the posterior.
    pub name: Arc<str>,
    /// The model that the posterior approximates.
    pub model: ModelId,
    /// The lines of the posterior.
    pub lines: Vec<PosteriorLine>,
    /// The position of the posterior's declaration.
    pub span: Span,
}

/// A line of a posterior.
#[derive(Clone, Debug)]
pub struct PosteriorLine {
    /// The dotted paths of the sites, such as `hidden.w` or `layers[1].b`. A path may end in `.*`.
    /// The paths are checked against the model.
    pub sites: Vec<(Arc<str>, Span)>,
    /// The family or the fixed value of the sites.
    pub value: PosteriorValue,
    /// The position of the line in the source.
    pub span: Span,
}

/// The right-hand side of a line of a posterior.
#[derive(Clone, Debug)]
pub enum PosteriorValue {
    /// `~ Family(start values)`: the family, and the parameters in the line with their starting
    /// values.
    Family(DistId, Vec<(Arc<str>, StartValue)>),
    /// `= other.path`: the result of another inference run.
    From(InferId, Arc<str>),
}

/// A start value of a family's parameter.
#[derive(Clone, Debug)]
pub enum StartValue {
    /// A constant where the optimiser starts.
    Value(TypedExpr),
    /// `fixed(v)`: a constant that is not optimised.
    Fixed(TypedExpr),
    /// A distribution from which the start value is drawn.
    Draw(TypedExpr),
    /// A random start value whose spread depends on the shape of the parameter.
    Scaled(ScaledStart),
}

/// A statement.
#[derive(Clone, Debug)]
pub enum TypedStmt {
    /// `name = value`. If the value is a layer, the name becomes a prefix of the paths of its sites.
    Let(LocalId, TypedExpr),
    /// `name: type ~ dist`. For an output, the statement is `y ~ dist` or, at an index, `y[t] ~ dist`, and `observed` is true.
    Sample(SampleStmt),
    /// `for i in a..b { .. }`.
    For {
        /// The counter.
        counter: LocalId,
        /// The first value of the counter. It is static.
        from: TypedExpr,
        /// The last value of the counter plus one. It is static.
        to: TypedExpr,
        /// The repeated statements.
        body: Vec<TypedStmt>,
    },
    /// `return value`.
    Return(TypedExpr),
}

/// A `~` statement.
#[derive(Clone, Debug)]
pub struct SampleStmt {
    /// The site or output.
    pub local: LocalId,
    /// True for an output.
    pub observed: bool,
    /// The index `t` of the observed element in `y[t] ~ ..`. Only an output may have an index.
    pub index: Option<TypedExpr>,
    /// The declared type or, without a declaration, the type of the distribution's values.
    pub ty: Ty,
    /// The distribution.
    pub dist: TypedExpr,
    /// True if the site is marked `local`: each example has its own value.
    pub per_example: bool,
    /// The position of the statement in the source.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct TypedExpr {
    /// The kind of the expression, with its parts.
    pub kind: TypedExprKind,
    /// The type of the expression. All metavariables in it are solved.
    pub ty: Ty,
    /// The position of the expression in the source.
    pub span: Span,
}

impl TypedExpr {
    /// Returns the expression of this kind and type at a place of the program.
    pub fn new(kind: TypedExprKind, ty: Ty, span: Span) -> TypedExpr {
        TypedExpr { kind, ty, span }
    }
}

/// The kinds of expressions. Arguments are in declared order, and defaults are filled in.
#[derive(Clone, Debug)]
pub enum TypedExprKind {
    /// A real number.
    Real(f64),
    /// An integer. Where a real is expected, the elaborator converts it.
    Int(i64),
    /// A Boolean.
    Bool(bool),
    /// A variable.
    Local(LocalId),
    /// A constant.
    Const(ConstId),
    /// The row number: the value of an input with the default `= row`.
    Row,
    /// A call of a built-in function.
    Builtin(&'static Builtin, Vec<TypedExpr>),
    /// A call of a function.
    CallFn(FnId, Vec<TypedExpr>),
    /// A function passed by name as an argument.
    FnValue(FnId),
    /// A built-in function passed by name as an argument.
    BuiltinValue(&'static Builtin),
    /// A call of a parameter that is a function.
    CallLocal(LocalId, Vec<TypedExpr>),
    /// `Dense(50)`: the construction of a layer.
    MakeLayer(LayerId, Vec<TypedExpr>),
    /// `Sequential(a, b, ..)` or `Residual(inner, projection)`: the construction of a layer that is made of others. The parts are
    /// layers, lists of layers and functions of one array.
    Compose(Composition, Vec<TypedExpr>),
    /// `h(x)`: a call of a layer instance with its inputs. The callee is a variable, a list element, or a `MakeLayer`. The layer is `None`
    /// if a parameter of type `layer` describes it.
    CallLayer(Box<TypedExpr>, Option<LayerId>, Vec<TypedExpr>),
    /// `Normal(0, 1)`: the construction of a distribution.
    MakeDist(DistId, Vec<TypedExpr>),
    /// A part of a distribution, with an argument as in `prior.log_density(x)`, or without an
    /// argument as in `prior.draw`.
    DistPart(Box<TypedExpr>, DistributionPart, Option<Box<TypedExpr>>),
    /// `[a, b]`: a vector of scalars, a stack of arrays, or a list of layers.
    List(Vec<TypedExpr>),
    /// `[e for i in a..b]`.
    Comprehension(Box<TypedComprehension>),
    /// `sum(e for i in a..b)`. The other reductions are `prod`, `max`, `min`, `mean` and
    /// `logsumexp`.
    Reduce(&'static Builtin, Box<TypedComprehension>),
    /// `x[i, a..b]`.
    Index(Box<TypedExpr>, Vec<TypedIndex>),
    /// `-x`, `!x`.
    Unary(ast::UnaryOp, Box<TypedExpr>),
    /// `a + b`, for two arrays with equal dims, or for a scalar and an array. `@` is the matrix
    /// product.
    Binary(ast::BinaryOp, Box<TypedExpr>, Box<TypedExpr>),
    /// `if c { a } else { b }`.
    If(Box<TypedExpr>, Box<TypedExpr>, Box<TypedExpr>),
    /// An expression whose error has already been reported.
    Error,
}

/// `e for i in a..b`.
#[derive(Clone, Debug)]
pub struct TypedComprehension {
    /// The counter.
    pub counter: LocalId,
    /// The first value of the counter. It is static.
    pub from: TypedExpr,
    /// The last value of the counter plus one. It is static.
    pub to: TypedExpr,
    /// The element.
    pub element: TypedExpr,
}

/// One index in the brackets after a value.
#[derive(Clone, Debug)]
pub enum TypedIndex {
    /// One position: an integer expression. It need not be static.
    At(TypedExpr),
    /// A range with static ends.
    Range(TypedExpr, TypedExpr),
}
