//! Elaborates calls of functions, layers and built-in functions.

use super::datum::{Callee, Datum, LayerDatum};
use super::expr::Integers;
use super::frame::{Elaborated, Elaborator, Frame};
use crate::builtin::{Along, Builtin, BuiltinRule, Reduction};
use crate::diagnostics::elaborate::limit;
use crate::diagnostics::{composed, layer_arguments as report};
use crate::dims::DimExpr;
use crate::show;
use crate::tree::{Composition, FnId, ParamBinding, TypedExpr, TypedStmt};
use crate::types::Ty;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use bnnc_base::source::Span;
use bnnc_graph::builder::Operation;
use bnnc_graph::function::Value;
use bnnc_graph::op::Op;
use bnnc_graph::ops;

/// The maximum number of calls that one elaboration expands.
const MOST_CALLS: usize = 100_000;

/// The maximum nesting depth of calls.
const DEEPEST: usize = 64;

/// Moves a diagnostic about library code to the call in the program. A label marks the position in
/// the library. A layer that does not fit its callee is reported at the argument that constructs the layer.
pub(super) fn at_call(mut diagnostic: Box<Diagnostic>, call: Span) -> Box<Diagnostic> {
    if *diagnostic.code == report::MISFIT {
        return diagnostic;
    }
    let Place::Span(inner) = diagnostic.at else {
        return diagnostic;
    };
    if inner.source != call.source {
        diagnostic.at = Place::Span(call);
        diagnostic.label = "called here".to_owned();
        diagnostic = Box::new(diagnostic.also(inner, "the place in the library"));
    }
    diagnostic
}

impl<'a> Elaborator<'a> {
    /// Stores arguments in a frame and binds the dim names of their types.
    pub fn bind_arguments(
        &mut self,
        bindings: &[ParamBinding],
        args: Vec<Datum>,
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<()> {
        for (binding, arg) in bindings.iter().zip(args) {
            if let (Ty::Tensor(_, dims), Datum::Tensor(value)) = (&binding.param.ty, &arg) {
                let shape = self.ty(*value).shape;
                if shape.rank() == dims.len() {
                    self.bind_dims(dims, &shape, frame);
                    let sizes = self.sizes(dims, frame, span)?;
                    if Shape::fixed(&sizes) != shape {
                        let text = format!(
                            "`{}` is declared {}, found {shape}",
                            binding.param.name,
                            Shape::fixed(&sizes)
                        );
                        return Err(limit(span, text));
                    }
                }
            }
            frame.values.insert(binding.local, arg);
        }
        Ok(())
    }

    /// Calls a function of the library or the program. A function of scalars is also applied elementwise to arrays.
    pub fn call_fn(&mut self, id: FnId, args: Vec<Datum>, span: Span) -> Elaborated<Datum> {
        let item = &self.module.fns[id];
        let mut frame = Frame::new(&item.locals, "");
        let args = self.lift(&item.params, args, span)?;
        self.nested(span, |this| {
            this.bind_arguments(&item.params, args, &mut frame, span)?;
            this.body(&item.body, &mut frame)
        })
    }

    /// Converts integers that are passed for real parameters to reals. The body of the function
    /// broadcasts scalars when it combines them with arrays.
    fn lift(&mut self, params: &[ParamBinding], args: Vec<Datum>, span: Span) -> Elaborated<Vec<Datum>> {
        let mut lifted = Vec::new();
        for (binding, arg) in params.iter().zip(args) {
            let real = matches!(&binding.param.ty, Ty::Tensor(crate::types::Elem::Real(_), _));
            let number = matches!(arg, Datum::Tensor(_) | Datum::Static(_));
            lifted.push(match real && number {
                true => Datum::Tensor(self.real(&arg, span)?),
                false => arg,
            });
        }
        Ok(lifted)
    }

    /// Calls a layer instance with its inputs.
    pub fn call_layer(&mut self, layer: &Datum, inputs: Vec<Datum>, span: Span) -> Elaborated<Datum> {
        let layer = match (layer, inputs.as_slice()) {
            (Datum::Layer(layer), _) => layer,
            (Datum::Composed(Composition::Sequential, parts), [x]) => {
                return parts
                    .iter()
                    .try_fold(x.clone(), |x, part| self.fold(part, x, span));
            }
            (Datum::Composed(Composition::Residual, parts), [x]) => return self.residual(parts, x, span),
            (Datum::Function(callee), _) => return self.call(*callee, inputs, span),
            _ => return Err(limit(span, "this is not a layer")),
        };
        let item = &self.module.layers[layer.layer];
        let path = match layer.path.is_empty() {
            true => item.name.to_lowercase(),
            false => layer.path.clone(),
        };
        let mut frame = Frame::new(&item.locals, &path);
        let parameters = self.lift(&item.params, layer.args.clone(), span)?;
        let inputs = self.lift(&item.inputs, inputs, span)?;
        let outer = self.start;
        self.start = item.start.or(outer);
        let result = self.nested(span, |this| {
            this.bind_arguments(&item.params, parameters, &mut frame, span)?;
            this.same_dims(layer, &inputs, &mut frame, span)?;
            this.bind_arguments(&item.inputs, inputs, &mut frame, span)?;
            this.body(&item.body, &mut frame)
        });
        self.start = outer;
        result
    }

    /// Rejects inputs that do not have the dims that the layer takes. `frame` has the parameters of the layer, and receives the dim names
    /// of its inputs. Only a layer that was passed for a parameter of type `layer`, or a size with a quotient, can lead to such inputs.
    fn same_dims(
        &self,
        layer: &LayerDatum,
        inputs: &[Datum],
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<()> {
        let item = &self.module.layers[layer.layer];
        for (input, value) in item.inputs.iter().zip(inputs) {
            let (Ty::Tensor(_, dims), Datum::Tensor(value)) = (&input.param.ty, value) else {
                continue;
            };
            let shape = self.ty(*value).shape;
            let fits = shape.rank() == dims.len() && {
                self.bind_dims(dims, &shape, frame);
                Shape::fixed(&self.sizes(dims, frame, span)?) == shape
            };
            if !fits {
                let known = |dim: &DimExpr| match self.dim(dim, frame, span) {
                    Ok(size) => size.to_string(),
                    Err(_) => show::dim(dim, &item.locals),
                };
                let wanted: Vec<String> = dims.iter().map(known).collect();
                let takes = format!("an array [{}]", wanted.join(", "));
                let found = format!("an array {shape}");
                let diagnostic = report::other_shape(layer.made, &item.name, &takes, &found, span);
                return Err(Box::new(diagnostic));
            }
        }
        Ok(())
    }

    /// Applies the layers of a list, or of a list of lists, one after the other.
    fn fold(&mut self, layers: &Datum, x: Datum, span: Span) -> Elaborated<Datum> {
        match layers {
            Datum::List(items) => items.iter().try_fold(x, |x, item| self.fold(item, x, span)),
            layer => self.call_layer(layer, vec![x], span),
        }
    }

    /// Applies `Residual(inner, projection)`.
    fn residual(&mut self, parts: &[Datum], x: &Datum, span: Span) -> Elaborated<Datum> {
        let base = match parts.get(1) {
            Some(projection) => self.fold(projection, x.clone(), span)?,
            None => x.clone(),
        };
        let inner = self.fold(&parts[0], x.clone(), span)?;
        let (base, inner) = (self.real(&base, span)?, self.real(&inner, span)?);
        let [wanted, found] = [base, inner].map(|value| self.ty(value).shape);
        if wanted != found {
            let (wanted, found) = (format!("an array {wanted}"), format!("an array {found}"));
            return Err(Box::new(composed::sum_of_shapes(
                span,
                Composition::Residual.name(),
                &found,
                &wanted,
            )));
        }
        self.apply(Operation::new(&ops::add::ADD, [base, inner]), span)
            .map(Datum::Tensor)
    }

    fn nested(
        &mut self,
        span: Span,
        run: impl FnOnce(&mut Self) -> Elaborated<Option<Datum>>,
    ) -> Elaborated<Datum> {
        if self.depth >= DEEPEST {
            return Err(limit(span, format!("calls nest deeper than {DEEPEST}")));
        }
        if self.calls >= MOST_CALLS {
            let text = format!("the model makes more than {MOST_CALLS} calls up to this one");
            return Err(limit(span, text));
        }
        self.calls += 1;
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        let returned = result.map_err(|diagnostic| at_call(diagnostic, span))?;
        returned.ok_or_else(|| limit(span, "nothing is returned"))
    }

    /// Elaborates statements, and returns the value of a `return`.
    pub fn body(&mut self, body: &[TypedStmt], frame: &mut Frame<'a>) -> Elaborated<Option<Datum>> {
        for stmt in body {
            match stmt {
                TypedStmt::Let(local, value) => {
                    let path = frame.path_of(&frame.locals[*local].name);
                    self.assigned.clone_from(&path);
                    let datum = self.expr(value, frame)?.at_path(&path);
                    if let Datum::Tensor(value) = datum {
                        self.builder.label(value, &path);
                    }
                    frame.values.insert(*local, datum);
                }
                TypedStmt::Sample(sample) => self.sample(sample, frame)?,
                TypedStmt::For {
                    counter,
                    from,
                    to,
                    body,
                } => self.repeat(*counter, [from, to], body, frame, from.span)?,
                TypedStmt::Return(value) => return self.expr(value, frame).map(Some),
            }
        }
        Ok(None)
    }

    /// Calls a built-in function on arguments that have not been elaborated yet.
    pub fn call_builtin(
        &mut self,
        builtin: &'static Builtin,
        args: &[TypedExpr],
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Datum> {
        if let Some(reduced) = self.reduce_array(builtin, args, frame, span)? {
            return Ok(reduced);
        }
        if builtin.rule == BuiltinRule::RunningMean {
            // The arguments may contain calls of layers, which assign names of their own.
            let name = self.assigned.clone();
            let args = self.exprs(args, frame)?;
            return self.running_mean(&name, &args, span);
        }
        self.check_exact_sizes(builtin, args, frame)?;
        let found = self.exprs(args, frame)?;
        self.check_sizes(builtin, args, &found, frame)?;
        self.apply_builtin(builtin, found, span)
    }

    /// Calls a built-in function on arguments that have been elaborated.
    pub fn apply_builtin(
        &mut self,
        builtin: &'static Builtin,
        args: Vec<Datum>,
        span: Span,
    ) -> Elaborated<Datum> {
        let result = match builtin.rule {
            BuiltinRule::Extremum(op, _) if args.len() == 2 => return self.extremum(op, &args, span),
            BuiltinRule::Extremum(_, reduction) | BuiltinRule::Reduce(reduction) => {
                return self.reduce_all(reduction, &args[0], span);
            }
            BuiltinRule::Elementwise(op) | BuiltinRule::Same(op) | BuiltinRule::Cholesky(op) => {
                let x = self.real(&args[0], span)?;
                self.apply(Operation::new(op.0, [x]), span)?
            }
            BuiltinRule::Dot => self.contraction("i,i->", &args, span)?,
            BuiltinRule::Outer => self.contraction("i,j->ij", &args, span)?,
            BuiltinRule::Transpose => {
                let x = self.real(&args[0], span)?;
                self.apply(Operation::transpose(x, &[1, 0]), span)?
            }
            BuiltinRule::LastAxis(_) | BuiltinRule::LogSumExp => {
                let x = self.real(&args[0], span)?;
                let axis = self.ty(x).rank() - 1;
                let operation = match builtin.rule {
                    BuiltinRule::LastAxis(Along::Cumsum) => Operation::cumsum(x, axis, false),
                    BuiltinRule::LastAxis(Along::Softmax) => Operation::softmax(x, axis),
                    BuiltinRule::LastAxis(Along::LogSoftmax) => Operation::log_softmax(x, axis),
                    _ => Operation::logsumexp(x, axis),
                };
                self.apply(operation, span)?
            }
            BuiltinRule::SolveLower => self.solve_lower(&args, span)?,
            BuiltinRule::Concat => {
                let values: Vec<Value> = args
                    .iter()
                    .map(|arg| self.real(arg, span))
                    .collect::<Result<_, _>>()?;
                self.apply(Operation::concat(&values, 0), span)?
            }
            BuiltinRule::Fold => return self.fold(&args[0], args[1].clone(), span),
            BuiltinRule::Length => {
                let x = self.tensor(&args[0], span)?;
                let size = self.ty(x).dims().first().and_then(|dim| dim.fixed()).unwrap_or(1);
                return Ok(Datum::Static(size as i64));
            }
            BuiltinRule::Filled(number) => {
                let value = self.constant(number, DType::Real);
                let shape = self.static_shape(&args, span)?;
                self.stretch(value, &shape, span)?
            }
            BuiltinRule::Noise(kind) => self.noise(kind, &args, span)?,
            BuiltinRule::Eye => {
                let shape = self.static_shape(&args, span)?;
                self.eye(shape.dims().first().copied().unwrap_or(Dim::Fixed(1)), span)?
            }
            BuiltinRule::Diag => self.diag(&args, span)?,
            BuiltinRule::Conv => self.convolution(&args, span)?,
            BuiltinRule::ConvTranspose => self.transposed_convolution(&args, span)?,
            BuiltinRule::Pad => self.padded(&args, span)?,
            BuiltinRule::Pool(_) => self.pooled(builtin, &args, span)?,
            BuiltinRule::Upsample => self.upsampled(&args, span)?,
            BuiltinRule::Repeat => {
                let x = self.real(&args[0], span)?;
                let mut shape = self.ty(x).shape;
                let axes: Vec<usize> = (0..shape.rank()).collect();
                shape.0.extend(self.static_shape(&args[1..], span)?.0);
                self.apply(Operation::broadcast(x, &shape, &axes), span)?
            }
            BuiltinRule::Reshape => {
                let x = self.real(&args[0], span)?;
                let shape = self.static_shape(&args[1..], span)?;
                self.apply(Operation::reshape(x, &shape), span)?
            }
            BuiltinRule::RunningMean => {
                return Err(limit(span, "a running mean has no name here"));
            }
        };
        Ok(Datum::Tensor(result))
    }

    /// Elaborates `max(a, b)` and `min(a, b)`. For two static integers, the result is a static integer.
    fn extremum(&mut self, op: Op, args: &[Datum], span: Span) -> Elaborated<Datum> {
        let join: fn(Integers, Integers) -> Integers = match op.is(&ops::max::MAX) {
            true => |(a, b), (c, d)| (a.max(c), b.max(d)),
            false => |(a, b), (c, d)| (a.min(c), b.min(d)),
        };
        let range = self.joint_range(&args[0], &args[1], join);
        if let ([Datum::Static(_), Datum::Static(_)], Some((number, _))) = (args, range) {
            return Ok(Datum::Static(number));
        }
        let extent = self.extent_of_either(&args[0], &args[1]);
        let (a, b) = self.numbers(&args[0], &args[1], span)?;
        let value = self.apply(Operation::new(op.0, [a, b]), span)?;
        Ok(self.integer_result(value, range, Some(extent), None))
    }

    fn diag(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let v = self.real(&args[0], span)?;
        let dim = self.ty(v).dims().first().copied().unwrap_or(Dim::Fixed(1));
        let (eye, shape) = (self.eye(dim, span)?, Shape(vec![dim, dim]));
        let rows = self.apply(Operation::broadcast(v, &shape, &[1]), span)?;
        self.apply(Operation::new(&ops::mul::MUL, [eye, rows]), span)
    }

    fn contraction(&mut self, labels: &str, args: &[Datum], span: Span) -> Elaborated<Value> {
        let (a, b) = (self.real(&args[0], span)?, self.real(&args[1], span)?);
        self.apply(Operation::contract(a, b, labels), span)
    }

    fn solve_lower(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let (l, b) = (self.real(&args[0], span)?, self.real(&args[1], span)?);
        let shape = self.ty(b).shape;
        let mut column = shape.clone();
        column.0.push(Dim::Fixed(1));
        let b = self.apply(Operation::reshape(b, &column), span)?;
        let x = self.apply(Operation::triangular_solve(l, b, false), span)?;
        self.apply(Operation::reshape(x, &shape), span)
    }

    fn eye(&mut self, dim: Dim, span: Span) -> Elaborated<Value> {
        let iota = self.apply(Operation::iota(dim), span)?;
        let shape = Shape(vec![dim, dim]);
        let rows = self.apply(Operation::broadcast(iota, &shape, &[0]), span)?;
        let columns = self.apply(Operation::broadcast(iota, &shape, &[1]), span)?;
        let equal = self.apply(Operation::new(&ops::eq::EQ, [rows, columns]), span)?;
        self.apply(Operation::new(&ops::to_real::TO_REAL, [equal]), span)
    }

    fn static_shape(&mut self, args: &[Datum], span: Span) -> Elaborated<Shape> {
        let size = |arg: &Datum| match arg {
            Datum::Static(size) if *size > 0 => Ok(*size as usize),
            _ => Err(limit(span, "a size must be a known positive integer")),
        };
        let sizes: Vec<usize> = args.iter().map(size).collect::<Result<_, _>>()?;
        Ok(Shape::fixed(&sizes))
    }

    /// Reduces all elements to a scalar.
    pub fn reduce_all(&mut self, reduction: Reduction, array: &Datum, span: Span) -> Elaborated<Datum> {
        let x = self.real(array, span)?;
        let axes: Vec<usize> = (0..self.ty(x).rank()).collect();
        let result = match reduction {
            Reduction::Sum => self.apply(Operation::reduce_sum(x, &axes), span)?,
            Reduction::Mean => {
                let count: usize = self.ty(x).dims().iter().filter_map(|dim| dim.fixed()).product();
                let sum = self.apply(Operation::reduce_sum(x, &axes), span)?;
                let count = self.constant(count as f64, DType::Real);
                self.apply(Operation::new(&ops::div::DIV, [sum, count]), span)?
            }
            Reduction::Max => self.apply(Operation::reduce_max(x, &axes), span)?,
            Reduction::Min => {
                let negative = self.apply(Operation::new(&ops::neg::NEG, [x]), span)?;
                let largest = self.apply(Operation::reduce_max(negative, &axes), span)?;
                self.apply(Operation::new(&ops::neg::NEG, [largest]), span)?
            }
            Reduction::Prod => self.product(x, span)?,
        };
        Ok(Datum::Tensor(result))
    }

    /// Multiplies the first half of the array by the second half, and repeats this until one
    /// element is left. This needs few nodes. Unlike a sum of logarithms, it is exact for factors
    /// that are zero or negative.
    fn product(&mut self, x: Value, span: Span) -> Elaborated<Value> {
        let count: usize = self.ty(x).dims().iter().filter_map(|dim| dim.fixed()).product();
        let flat = self.apply(Operation::reshape(x, &Shape::fixed(&[count])), span)?;
        let (mut rest, mut count) = (flat, count as i64);
        while count > 1 {
            let half = count / 2;
            let low = self.slice(rest, 0, 0, half, span)?;
            let high = self.slice(rest, 0, half, 2 * half, span)?;
            let mut halves = self.apply(Operation::new(&ops::mul::MUL, [low, high]), span)?;
            if count % 2 == 1 {
                let last = self.slice(rest, 0, count - 1, count, span)?;
                halves = self.apply(Operation::concat(&[halves, last], 0), span)?;
            }
            (rest, count) = (halves, half + count % 2);
        }
        self.apply(Operation::reshape(rest, &Shape::scalar()), span)
    }

    /// Elaborates `standard_normal()`, `standard_uniform()` and `standard_gamma(shape)`. If no dims are given, the noise has the shape of
    /// the context.
    fn noise(&mut self, kind: NoiseKind, args: &[Datum], span: Span) -> Elaborated<Value> {
        let (parameters, sizes) = args.split_at(usize::from(kind.has_shape()));
        let given = self.static_shape(sizes, span)?;
        let Some(context) = self.noise.as_mut() else {
            return Err(limit(span, "noise is allowed only inside `draw`"));
        };
        let shape = match sizes.is_empty() {
            true => context.shape.clone(),
            false => given,
        };
        let site = format!("#{}", context.count);
        context.count += 1;
        let coordinates = context.coordinates;
        if let [parameter] = parameters {
            let parameter = self.real(parameter, span)?;
            let parameter = self.stretch(parameter, &shape, span)?;
            return self.apply(Operation::gamma_noise(&site, coordinates, parameter), span);
        }
        self.apply(Operation::noise(kind, &site, coordinates, &shape), span)
    }

    /// Applies a function value to arguments.
    pub fn call(&mut self, callee: Callee, args: Vec<Datum>, span: Span) -> Elaborated<Datum> {
        match callee {
            Callee::Fn(id) => self.call_fn(id, args, span),
            Callee::Builtin(builtin) => self.apply_builtin(builtin, args, span),
        }
    }
}
