//! Calls of functions, layers and builtins.

use super::datum::{Callee, Datum};
use super::expr::Integers;
use super::frame::{Elaborated, Elaborator, Frame};
use super::model::limit;
use crate::builtin::{Builtin, Rule};
use crate::tree::{Binding, Expr, FnId, Stmt};
use crate::types::Ty;
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use bnnc_base::source::Span;
use bnnc_graph::attr::Attr;
use bnnc_graph::function::Value;

/// No more calls than this are carried out.
const MOST_CALLS: usize = 100_000;

/// Calls nest no deeper than this.
const DEEPEST: usize = 64;

/// What goes wrong inside the library is shown where the program calls it, with the place in the library beside it.
pub(super) fn at_call(mut diagnostic: Box<Diagnostic>, call: Span) -> Box<Diagnostic> {
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
    /// Puts arguments into a frame and binds the dim names of their types.
    pub fn bind_arguments(
        &mut self,
        bindings: &[Binding],
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

    /// A call of a function of the library or the program; one over scalars lifts elementwise.
    pub fn call_fn(&mut self, id: FnId, args: Vec<Datum>, span: Span) -> Elaborated<Datum> {
        let item = &self.module.fns[id];
        let mut frame = Frame::new(&item.locals, "");
        let args = self.lift(&item.params, args, span)?;
        self.nested(span, |this| {
            this.bind_arguments(&item.params, args, &mut frame, span)?;
            this.body(&item.body, &mut frame, span)
        })
    }

    /// Integers given to real parameters become reals; scalars beside arrays stretch lazily in the body.
    fn lift(&mut self, params: &[Binding], args: Vec<Datum>, span: Span) -> Elaborated<Vec<Datum>> {
        let mut lifted = Vec::new();
        for (binding, arg) in params.iter().zip(args) {
            let real = matches!(&binding.param.ty, Ty::Tensor(crate::types::Elem::Real(_), _));
            let number = matches!(arg, Datum::Tensor(_) | Datum::Static(_));
            lifted.push(if real && number {
                Datum::Tensor(self.real(&arg, span)?)
            } else {
                arg
            });
        }
        Ok(lifted)
    }

    /// A call of a made layer with its inputs.
    pub fn call_layer(&mut self, layer: &Datum, inputs: Vec<Datum>, span: Span) -> Elaborated<Datum> {
        let Datum::Layer(layer) = layer else {
            return Err(limit(span, "this is not a layer".to_owned()));
        };
        let item = &self.module.layers[layer.layer];
        let path = if layer.path.is_empty() {
            item.name.to_lowercase()
        } else {
            layer.path.clone()
        };
        let mut frame = Frame::new(&item.locals, &path);
        let parameters = self.lift(&item.params, layer.args.clone(), span)?;
        let inputs = self.lift(&item.inputs, inputs, span)?;
        self.nested(span, |this| {
            this.bind_arguments(&item.params, parameters, &mut frame, span)?;
            this.bind_arguments(&item.inputs, inputs, &mut frame, span)?;
            this.body(&item.body, &mut frame, span)
        })
    }

    fn nested(&mut self, span: Span, run: impl FnOnce(&mut Self) -> Elaborated<Datum>) -> Elaborated<Datum> {
        if self.depth >= DEEPEST {
            return Err(limit(span, format!("calls nest deeper than {DEEPEST}")));
        }
        if self.calls >= MOST_CALLS {
            return Err(limit(
                span,
                format!("with this, more than {MOST_CALLS} calls are carried out"),
            ));
        }
        self.calls += 1;
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result.map_err(|diagnostic| at_call(diagnostic, span))
    }

    /// Runs statements up to `return`.
    pub fn body(&mut self, body: &[Stmt], frame: &mut Frame<'a>, span: Span) -> Elaborated<Datum> {
        for stmt in body {
            match stmt {
                Stmt::Let(local, value) => {
                    let path = frame.path_of(&frame.locals[*local].name);
                    let datum = self.expr(value, frame)?.at_path(&path);
                    if let Datum::Tensor(value) = datum {
                        self.builder.label(value, &path);
                    }
                    frame.values.insert(*local, datum);
                }
                Stmt::Sample(sample) => self.sample(sample, frame)?,
                Stmt::For {
                    counter,
                    from,
                    to,
                    body,
                } => self.repeat(*counter, [from, to], body, frame, span)?,
                Stmt::Return(value) => return self.expr(value, frame),
            }
        }
        Err(limit(span, "nothing is returned".to_owned()))
    }

    /// A call of a builtin by expression.
    pub fn call_builtin(
        &mut self,
        builtin: &'static Builtin,
        args: &[Expr],
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Datum> {
        if let Some(reduced) = self.reduce_array(builtin, args, frame, span)? {
            return Ok(reduced);
        }
        let args = self.exprs(args, frame)?;
        self.apply_builtin(builtin, args, span)
    }

    /// A call of a builtin with elaborated arguments.
    pub fn apply_builtin(
        &mut self,
        builtin: &'static Builtin,
        args: Vec<Datum>,
        span: Span,
    ) -> Elaborated<Datum> {
        let name = builtin.name;
        let axis = |this: &Self, value: Value| this.ty(value).rank() as i64 - 1;
        let result = match builtin.rule {
            Rule::Elementwise if args.len() == 2 => return self.extremum(builtin, &args, span),
            Rule::Elementwise if matches!(name, "max" | "min") => return self.reduce_all(name, &args, span),
            Rule::Elementwise | Rule::Same | Rule::Cholesky => {
                let x = self.real(&args[0], span)?;
                self.apply(name, &[x], Vec::new(), span)?
            }
            Rule::Reduce => return self.reduce_all(name, &args, span),
            Rule::Dot => self.contraction("i,i->", &args, span)?,
            Rule::Outer => self.contraction("i,j->ij", &args, span)?,
            Rule::Transpose => {
                let x = self.real(&args[0], span)?;
                self.apply("transpose", &[x], vec![Attr::Ints(vec![1, 0])], span)?
            }
            Rule::LastAxis => {
                let x = self.real(&args[0], span)?;
                let mut attrs = vec![Attr::Int(axis(self, x))];
                if name == "cumsum" {
                    attrs.push(Attr::Int(0));
                }
                self.apply(name, &[x], attrs, span)?
            }
            Rule::LastAxisAway => {
                let x = self.real(&args[0], span)?;
                let attrs = vec![Attr::Int(axis(self, x))];
                self.apply(name, &[x], attrs, span)?
            }
            Rule::SolveLower => self.solve_lower(&args, span)?,
            Rule::Concat => {
                let values: Vec<Value> = args
                    .iter()
                    .map(|arg| self.real(arg, span))
                    .collect::<Result<_, _>>()?;
                self.apply("concat", &values, vec![Attr::Int(0)], span)?
            }
            Rule::Length => {
                let x = self.tensor(&args[0], span)?;
                let size = self.ty(x).dims().first().and_then(|dim| dim.fixed()).unwrap_or(1);
                return Ok(Datum::Static(size as i64));
            }
            Rule::Filled => {
                let value = self.constant(if name == "ones" { 1.0 } else { 0.0 }, DType::Real);
                let shape = self.static_shape(&args, span)?;
                self.stretch(value, &shape, span)?
            }
            Rule::Noise => self.noise(builtin, &args, span)?,
            Rule::Eye => {
                let shape = self.static_shape(&args, span)?;
                self.eye(shape.dims().first().copied().unwrap_or(Dim::Fixed(1)), span)?
            }
            Rule::Diag => self.diag(&args, span)?,
            Rule::Conv => self.convolution(&args, span)?,
            Rule::Pad => self.padded(&args, span)?,
            Rule::Pool => self.pooled(name, &args, span)?,
            Rule::Repeat => {
                let x = self.real(&args[0], span)?;
                let (mut shape, axes) = (self.ty(x).shape, self.ty(x).rank() as i64);
                shape.0.extend(self.static_shape(&args[1..], span)?.0);
                let attrs = vec![Attr::Shape(shape), Attr::Ints((0..axes).collect())];
                self.apply("broadcast", &[x], attrs, span)?
            }
            Rule::Reshape => {
                let x = self.real(&args[0], span)?;
                let shape = self.static_shape(&args[1..], span)?;
                self.apply("reshape", &[x], vec![Attr::Shape(shape)], span)?
            }
        };
        Ok(Datum::Tensor(result))
    }

    /// `max(a, b)` and `min(a, b)`, of integers an integer.
    fn extremum(&mut self, builtin: &Builtin, args: &[Datum], span: Span) -> Elaborated<Datum> {
        let join: fn(Integers, Integers) -> Integers = match builtin.name {
            "max" => |(a, b), (c, d)| (a.max(c), b.max(d)),
            _ => |(a, b), (c, d)| (a.min(c), b.min(d)),
        };
        let range = self.joint_range(&args[0], &args[1], join);
        if let ([Datum::Static(_), Datum::Static(_)], Some((number, _))) = (args, range) {
            return Ok(Datum::Static(number));
        }
        let (a, b) = self.numbers(&args[0], &args[1], span)?;
        let value = self.apply(builtin.name, &[a, b], Vec::new(), span)?;
        self.ranges.extend(range.map(|range| (value, range)));
        Ok(Datum::Tensor(value))
    }

    fn diag(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let v = self.real(&args[0], span)?;
        let dim = self.ty(v).dims().first().copied().unwrap_or(Dim::Fixed(1));
        let (eye, shape) = (self.eye(dim, span)?, Shape(vec![dim, dim]));
        let attrs = vec![Attr::Shape(shape), Attr::Ints(vec![1])];
        let rows = self.apply("broadcast", &[v], attrs, span)?;
        self.apply("mul", &[eye, rows], Vec::new(), span)
    }

    fn contraction(&mut self, labels: &str, args: &[Datum], span: Span) -> Elaborated<Value> {
        let (a, b) = (self.real(&args[0], span)?, self.real(&args[1], span)?);
        self.apply("contract", &[a, b], vec![Attr::Symbol(labels.into())], span)
    }

    fn solve_lower(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let (l, b) = (self.real(&args[0], span)?, self.real(&args[1], span)?);
        let shape = self.ty(b).shape;
        let mut column = shape.clone();
        column.0.push(Dim::Fixed(1));
        let b = self.apply("reshape", &[b], vec![Attr::Shape(column)], span)?;
        let x = self.apply("triangular_solve", &[l, b], vec![Attr::Int(0)], span)?;
        self.apply("reshape", &[x], vec![Attr::Shape(shape)], span)
    }

    fn eye(&mut self, dim: Dim, span: Span) -> Elaborated<Value> {
        let iota = self.apply("iota", &[], vec![Attr::Dim(dim)], span)?;
        let shape = Attr::Shape(Shape(vec![dim, dim]));
        let rows = self.apply(
            "broadcast",
            &[iota],
            vec![shape.clone(), Attr::Ints(vec![0])],
            span,
        )?;
        let columns = self.apply("broadcast", &[iota], vec![shape, Attr::Ints(vec![1])], span)?;
        let equal = self.apply("eq", &[rows, columns], Vec::new(), span)?;
        self.apply("to_real", &[equal], Vec::new(), span)
    }

    fn static_shape(&mut self, args: &[Datum], span: Span) -> Elaborated<Shape> {
        let size = |arg: &Datum| match arg {
            Datum::Static(size) if *size > 0 => Ok(*size as usize),
            _ => Err(limit(span, "a size must be a known positive integer".to_owned())),
        };
        let sizes: Vec<usize> = args.iter().map(size).collect::<Result<_, _>>()?;
        Ok(Shape::fixed(&sizes))
    }

    /// `sum`, `mean`, `prod`, `max`, `min` over all elements.
    pub fn reduce_all(&mut self, name: &str, args: &[Datum], span: Span) -> Elaborated<Datum> {
        let x = self.real(&args[0], span)?;
        let axes: Vec<i64> = (0..self.ty(x).rank() as i64).collect();
        let result = match name {
            "sum" => self.apply("reduce_sum", &[x], vec![Attr::Ints(axes)], span)?,
            "mean" => {
                let count: usize = self.ty(x).dims().iter().filter_map(|dim| dim.fixed()).product();
                let sum = self.apply("reduce_sum", &[x], vec![Attr::Ints(axes)], span)?;
                let count = self.constant(count as f64, DType::Real);
                self.apply("div", &[sum, count], Vec::new(), span)?
            }
            "max" => self.apply("reduce_max", &[x], vec![Attr::Ints(axes)], span)?,
            "min" => {
                let negative = self.apply("neg", &[x], Vec::new(), span)?;
                let largest = self.apply("reduce_max", &[negative], vec![Attr::Ints(axes)], span)?;
                self.apply("neg", &[largest], Vec::new(), span)?
            }
            "prod" => return self.product(x, span).map(Datum::Tensor),
            _ => return Err(limit(span, format!("`{name}` does not reduce"))),
        };
        Ok(Datum::Tensor(result))
    }

    /// Halves are multiplied until one element is left: few nodes, and zero and negative factors stay exact.
    fn product(&mut self, x: Value, span: Span) -> Elaborated<Value> {
        let count: usize = self.ty(x).dims().iter().filter_map(|dim| dim.fixed()).product();
        let flat = self.apply("reshape", &[x], vec![Attr::Shape(Shape::fixed(&[count]))], span)?;
        let (mut rest, mut count) = (flat, count as i64);
        while count > 1 {
            let half = count / 2;
            let (low, high) = (
                self.slice(rest, 0, 0, half, span)?,
                self.slice(rest, 0, half, 2 * half, span)?,
            );
            let mut halves = self.apply("mul", &[low, high], Vec::new(), span)?;
            if count % 2 == 1 {
                let last = self.slice(rest, 0, count - 1, count, span)?;
                halves = self.apply("concat", &[halves, last], vec![Attr::Int(0)], span)?;
            }
            (rest, count) = (halves, half + count % 2);
        }
        self.apply("reshape", &[rest], vec![Attr::Shape(Shape::scalar())], span)
    }

    /// `standard_normal()`, `standard_uniform()` and `standard_gamma(shape)`, with dims or with the shape of the context.
    fn noise(&mut self, builtin: &Builtin, args: &[Datum], span: Span) -> Elaborated<Value> {
        let (parameters, sizes) = args.split_at(builtin.params.len());
        let given = self.static_shape(sizes, span)?;
        let Some(context) = self.noise.as_mut() else {
            return Err(limit(span, "noise exists only inside `draw`".to_owned()));
        };
        let shape = if sizes.is_empty() {
            context.shape.clone()
        } else {
            given
        };
        let site = format!("#{}", context.count);
        context.count += 1;
        let coordinates = context.coordinates;
        let site = Attr::Symbol(site.into());
        if let [parameter] = parameters {
            let parameter = self.real(parameter, span)?;
            let parameter = self.stretch(parameter, &shape, span)?;
            let [draw, example, step] = coordinates;
            return self.apply("gamma_noise", &[draw, example, step, parameter], vec![site], span);
        }
        let kind = if builtin.name == "standard_normal" {
            "normal"
        } else {
            "uniform"
        };
        let attrs = vec![Attr::Symbol(kind.into()), site, Attr::Shape(shape)];
        self.apply("noise", &coordinates, attrs, span)
    }

    /// A function value applied to arguments.
    pub fn call(&mut self, callee: Callee, args: Vec<Datum>, span: Span) -> Elaborated<Datum> {
        match callee {
            Callee::Fn(id) => self.call_fn(id, args, span),
            Callee::Builtin(builtin) => self.apply_builtin(builtin, args, span),
        }
    }
}
