//! The state of an elaboration: the function under construction, the variables in scope, and the sites so far.

use super::datum::Datum;
use super::linear::Forms;
use super::observed_range::ObservedRange;
use crate::diagnostics::elaborate::limit;
use crate::dims::DimExpr;
use crate::show;
use crate::tree::{LocalId, Locals, Module, ScaledStart};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;
use bnnc_base::source::Span;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::{Builder, Operation};
use bnnc_graph::function::Value;
use bnnc_graph::op::Interval;
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use std::collections::HashMap;

/// The maximum number of elements of a tensor. With more elements, the numbers of bytes and
/// operations would overflow their integer types.
const MOST_ELEMENTS: usize = 1 << 40;

/// The maximum length of an axis. Kernels use 32 bits for a position.
const LONGEST_AXIS: usize = i32::MAX as usize;

/// The maximum number of operations of a model, counted after all calls are expanded.
const MOST_NODES: usize = 100_000;

/// Returns the limit that a shape exceeds, or `None` if the shape is within all limits.
fn excess(shape: &Shape) -> Option<String> {
    let sizes = || shape.dims().iter().filter_map(|dim| dim.fixed());
    if sizes().any(|size| size > LONGEST_AXIS) {
        return Some(format!("has an axis of more than {LONGEST_AXIS} elements"));
    }
    let count = sizes().try_fold(1usize, |count, size| count.checked_mul(size));
    match count {
        Some(count) if count <= MOST_ELEMENTS => None,
        _ => Some(format!("has more than {MOST_ELEMENTS} elements")),
    }
}

/// Checks that an array of this shape does not exceed the limits of sizes.
///
/// # Errors
/// Fails with a diagnostic at `span` that names the limit.
pub fn within_limits(shape: &Shape, span: Span) -> Elaborated<()> {
    match excess(shape) {
        Some(why) => Err(limit(span, format!("this array {why}"))),
        None => Ok(()),
    }
}

/// The result of an elaboration, or the diagnostic that explains the failure.
pub type Elaborated<T> = Result<T, Box<Diagnostic>>;

/// The variables of one call of one item.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    /// The declarations of the variables.
    pub locals: &'a Locals,
    /// The values of the variables.
    pub values: HashMap<LocalId, Datum>,
    /// The path of the layer instance; empty in a model.
    pub path: String,
}

impl<'a> Frame<'a> {
    /// Creates a frame. Its variables do not have values yet.
    pub fn new(locals: &'a Locals, path: &str) -> Frame<'a> {
        Frame {
            locals,
            values: HashMap::new(),
            path: path.to_owned(),
        }
    }

    /// Returns the path that a name has in this frame.
    pub fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }
}

/// How noise is generated in the expression that is being elaborated.
#[derive(Clone, Debug)]
pub struct NoiseContext {
    /// The coordinates of the noise: the index of the draw, the example and the step.
    pub coordinates: [Value; 3],
    /// The shape of `standard_normal()` without arguments.
    pub shape: Shape,
    /// The number of noise sites so far.
    pub count: usize,
}

/// An elaboration in progress.
pub struct Elaborator<'a> {
    /// The module to whose items the names refer.
    pub module: &'a Module,
    /// The function under construction.
    pub builder: Builder,
    /// The noise context. It exists only inside `draw`.
    pub noise: Option<NoiseContext>,
    /// The sites of the model so far.
    pub sites: Vec<bnnc_graph::model::Site>,
    /// The values of sites by path. A layer that is called twice finds its weights here, so both
    /// calls share them.
    pub site_values: HashMap<String, Value>,
    /// The rule for the starts of the weights of the layer that is being called.
    pub start: Option<ScaledStart>,
    /// The running means of the model so far.
    pub running: Vec<bnnc_graph::model::RunningMean>,
    /// The path of the last assigned name, which is also the path of a running mean.
    pub assigned: String,
    /// The number of enclosing ranges. The body of a range is elaborated once for all positions.
    pub ranges_open: usize,
    /// The observations so far.
    pub observed: Vec<Value>,
    /// The ranges of output elements that already have a distribution.
    pub observed_ranges: Vec<ObservedRange>,
    /// The current depth of calls. It is limited so that recursion ends with a diagnostic.
    pub depth: usize,
    /// The number of expanded calls so far. It is limited because it can grow exponentially with
    /// the depth of nested calls.
    pub calls: usize,
    /// The smallest and the largest value of each integer that depends on counters. With these
    /// values, the compiler checks an index against its axis.
    pub ranges: HashMap<Value, (i64, i64)>,
    /// Bounds of integers that are computed from data. The elements of a column are at most
    /// [`LARGEST_INTEGER`](bnnc_abi::data::LARGEST_INTEGER).
    pub extents: HashMap<Value, (i64, i64)>,
    /// The integers that depend on counters, as linear forms in the counters.
    pub forms: Forms,
    /// Known bounds of the parameters of the function under construction.
    pub inside: HashMap<Value, Interval>,
    /// The number of enclosing `if` expressions that compare integers.
    pub choices: usize,
}

impl<'a> Elaborator<'a> {
    /// Creates an elaborator with an empty function.
    pub fn new(module: &'a Module, name: &str) -> Elaborator<'a> {
        Elaborator {
            module,
            builder: Builder::new(name),
            noise: None,
            sites: Vec::new(),
            site_values: HashMap::new(),
            start: None,
            running: Vec::new(),
            assigned: String::new(),
            ranges_open: 0,
            observed: Vec::new(),
            observed_ranges: Vec::new(),
            depth: 0,
            calls: 0,
            ranges: HashMap::new(),
            extents: HashMap::new(),
            forms: Forms::default(),
            inside: HashMap::new(),
            choices: 0,
        }
    }

    /// Applies an operation. If the operation is rejected, the error becomes a diagnostic at `span`.
    pub fn apply(&mut self, operation: Operation, span: Span) -> Elaborated<Value> {
        if self.builder.function().nodes.len() > MOST_NODES {
            let text = format!("the model has more than {MOST_NODES} operations up to this one");
            return Err(limit(span, text));
        }
        // Shapes are checked before the type rule of the op runs, because the rule multiplies sizes
        // and could overflow.
        for attr in &operation.attrs {
            if let Attr::Shape(shape) = attr {
                within_limits(shape, span)?;
            }
        }
        let Operation { op, args, attrs } = operation;
        let value = self
            .builder
            .try_apply(op.0, &args, attrs)
            .map_err(|why| limit(span, why.to_string()))?;
        within_limits(&self.builder.ty(value).shape, span)?;
        Ok(value)
    }

    /// Converts a datum to a tensor. Static integers become integer scalars, or reals if they do not fit into 32 bits.
    pub fn tensor(&mut self, datum: &Datum, span: Span) -> Elaborated<Value> {
        match datum {
            Datum::Tensor(value) => Ok(*value),
            Datum::Static(number) => {
                let dtype = match i32::try_from(*number) {
                    Ok(_) => DType::Int,
                    Err(_) => DType::Real,
                };
                Ok(self.constant(*number as f64, dtype))
            }
            _ => Err(limit(span, "a number is needed here")),
        }
    }

    /// Converts a datum to a tensor of reals.
    pub fn real(&mut self, datum: &Datum, span: Span) -> Elaborated<Value> {
        if let Datum::Static(number) = datum {
            return Ok(self.constant(*number as f64, DType::Real));
        }
        let value = self.tensor(datum, span)?;
        self.to_real(value, span)
    }

    /// Converts a tensor to reals.
    pub fn to_real(&mut self, value: Value, span: Span) -> Elaborated<Value> {
        match self.builder.ty(value).dtype {
            DType::Real => Ok(value),
            DType::Int | DType::Bool => self.apply(Operation::new(&ops::to_real::TO_REAL, [value]), span),
        }
    }

    /// Adds a scalar constant.
    pub fn constant(&mut self, value: f64, dtype: DType) -> Value {
        self.builder.constant(&Type::new(dtype, Shape::scalar()), value)
    }

    /// Returns the type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.builder.ty(value).clone()
    }

    /// Evaluates a dimension in this frame.
    pub fn dim(&self, dim: &DimExpr, frame: &Frame, span: Span) -> Elaborated<usize> {
        let known = |local: LocalId| match frame.values.get(&local) {
            Some(Datum::Static(number)) => Some(*number),
            _ => None,
        };
        let number = dim.value(known).and_then(|number| usize::try_from(number).ok());
        let divisor = dim.as_quotient().map(|(_, divisor)| divisor);
        let divisor = divisor.and_then(|divisor| Some((divisor, divisor.value(known)?)));
        number.ok_or_else(|| {
            let text = |dim: &DimExpr| show::dim(dim, frame.locals);
            let why = match divisor {
                Some((divisor, number)) if number < 1 => {
                    format!("divides by {number}, the value of `{}`", text(divisor))
                }
                _ => "is not a known non-negative number".to_owned(),
            };
            limit(span, format!("the size `{}` {why}", text(dim)))
        })
    }

    /// Evaluates a list of dims to static sizes.
    pub fn sizes(&self, dims: &[DimExpr], frame: &Frame, span: Span) -> Elaborated<Vec<usize>> {
        dims.iter().map(|dim| self.dim(dim, frame, span)).collect()
    }

    /// Evaluates the shape of a quantity in the model. Fails if the shape is empty or exceeds the size
    /// limits.
    pub fn shape_of(&self, name: &str, dims: &[DimExpr], frame: &Frame, span: Span) -> Elaborated<Shape> {
        let sizes = self.sizes(dims, frame, span)?;
        let shape = Shape::fixed(&sizes);
        if sizes.contains(&0) {
            let text = format!("`{name}` has no elements: its shape is {shape}");
            return Err(limit(span, text));
        }
        match excess(&shape) {
            None => Ok(shape),
            Some(why) => Err(limit(span, format!("`{name}` of shape {shape} {why}"))),
        }
    }

    /// Binds the dim names in `dims` that do not have a value already, so that the dims become the sizes in `shape`. In a dimension such as
    /// `2 * n + m`, one name is bound if the others are known.
    pub fn bind_dims(&self, dims: &[DimExpr], shape: &Shape, frame: &mut Frame) {
        let sizes = shape.dims().iter().map(|size| size.fixed());
        let mut open: Vec<(&DimExpr, usize)> = dims
            .iter()
            .zip(sizes)
            .filter_map(|(dim, size)| Some((dim, size?)))
            .collect();
        loop {
            let before = open.len();
            open.retain(|(dim, size)| {
                let known = |local: LocalId| match frame.values.get(&local) {
                    Some(Datum::Static(number)) => Some(*number),
                    _ => None,
                };
                let solved = dim.with_known(known).solved_for(*size as i64);
                if let Some((local, value)) = solved {
                    frame.values.entry(local).or_insert(Datum::Static(value));
                }
                solved.is_none()
            });
            if open.len() == before {
                return;
            }
        }
    }
}
