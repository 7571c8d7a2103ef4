//! Evaluates a checked expression. First, it elaborates the expression with the variables in scope.
//! Then, it runs the reference evaluator.

use super::Session;
use super::variables::{Variable, VariableValue};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_base::source::Span;
use bnnc_driver::concrete::Concrete;
use bnnc_driver::diagnostics::BAD_COMMAND;
use bnnc_driver::diagnostics::draws::one_value;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_graph::verify::function_attrs;
use bnnc_hir::builtin::BuiltinRule;
use bnnc_hir::diagnostics::elaborate::limit;
use bnnc_hir::elaborate::datum::Datum;
use bnnc_hir::elaborate::frame::{Elaborated, Elaborator, Frame, NoiseContext};
use bnnc_hir::parts::DistributionPart;
use bnnc_hir::tree::{LocalId, Locals, Module, TypedExpr, TypedExprKind};
use bnnc_hir::walk;
use bnnc_rewrite::density::prefix_noise;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The maximum number of elements in one evaluation. As reals, they take a gibibyte.
pub const MOST_ELEMENTS: usize = 1 << 27;

/// The random streams of an entry. The entry uses the draw number `line`. Only the sites of a named
/// layer always use the draw number of the layer, so that its weights stay the same.
#[derive(Clone, Debug)]
pub struct Streams {
    /// The seed of the session.
    pub seed: u64,
    /// The draw number of the current entry.
    pub line: u32,
    /// The prefix of every site name. It makes the draws of different entries independent.
    pub prefix: String,
    /// The draw number of each named layer.
    pub layers: Arc<HashMap<String, u32>>,
    /// The index of the current posterior draw, and the number of posterior draws. `None` if the
    /// expression is not evaluated at posterior draws.
    pub posterior: Option<(usize, usize)>,
    /// A flag that is set when the evaluation should stop.
    pub stop: Arc<AtomicBool>,
}

impl Streams {
    /// Returns the streams for the draw with index `at` of a model from its prior. `prefix` makes
    /// the draws of different entries independent.
    pub fn of_model(seed: u64, at: usize, prefix: String) -> Streams {
        Streams {
            seed,
            line: at as u32,
            prefix,
            layers: Arc::default(),
            posterior: None,
            stop: Arc::default(),
        }
    }

    /// Returns the streams for the posterior draw with index `at`.
    pub fn at(&self, at: usize) -> Streams {
        Streams {
            prefix: format!("{at}/"),
            posterior: self.posterior.map(|(_, count)| (at, count)),
            ..self.clone()
        }
    }

    /// Returns the name of a site's random stream.
    pub fn name(&self, site: &str) -> String {
        format!("prompt/{}/{}{site}", self.seed, self.prefix)
    }

    /// Returns the draw number of a site. If the site belongs to a named layer, the result is the draw number of the layer.
    pub fn number(&self, site: &str) -> u32 {
        let layer = site.split(['.', '[']).next().unwrap_or(site);
        self.layers.get(layer).copied().unwrap_or(self.line)
    }
}

/// The elaboration of an expression, with the variables of the REPL in scope.
pub struct VariableScope<'a> {
    /// The function under construction.
    pub elaborator: Elaborator<'a>,
    /// The variables.
    pub frame: Frame<'a>,
    inputs: Vec<ScopeInput<'a>>,
    streams: Streams,
}

/// The value of a parameter in an elaborated function.
enum ScopeInput<'a> {
    /// A value that is the same at every posterior draw.
    Same(&'a Tensor),
    /// A posterior value, `[draws, ..]`.
    Draws(&'a Tensor),
}

impl ScopeInput<'_> {
    /// Returns the value at the posterior draw of `streams`.
    fn at(&self, streams: &Streams) -> Tensor {
        match self {
            ScopeInput::Same(tensor) => (*tensor).clone(),
            ScopeInput::Draws(draws) => {
                let (at, of) = streams.posterior.unwrap_or((0, 1));
                draws.leading(at * draws.shape[0] / of.max(1))
            }
        }
    }
}

/// A function that was elaborated from an expression, with the values of its parameters. The same
/// function is computed at each posterior draw, because elaborating it again at each draw would
/// take most of the time.
pub struct PreparedFunction<'a> {
    function: Function,
    inputs: Vec<ScopeInput<'a>>,
    span: Span,
}

impl PreparedFunction<'_> {
    /// Computes every value of the function at the posterior draw of `streams`.
    pub fn compute(&self, streams: &Streams) -> Elaborated<Computed> {
        let inputs: Vec<Tensor> = self.inputs.iter().map(|input| input.at(streams)).collect();
        let function = prefix_noise(&self.function, &streams.name("it"));
        compute(function, &inputs, streams, self.span)
    }
}

/// A function and all its values after it was computed.
pub struct Computed {
    /// The function.
    pub function: Function,
    /// The values, indexed by their ids.
    pub values: Vec<Tensor>,
    /// The sites that were drawn.
    pub drawn: Vec<(String, Tensor)>,
    /// The outputs of models, which are drawn and not observed. Each has its name and its value.
    pub observed: Vec<(String, Tensor)>,
}

impl Computed {
    /// Returns a value and its element type.
    pub fn of(&self, value: Value) -> (&Tensor, DType) {
        (&self.values[value.0 as usize], self.function.ty(value).dtype)
    }

    /// Returns a number or an array and its element type, and `None` for other data.
    pub fn number(&self, datum: &Datum) -> Option<(Tensor, DType)> {
        match datum {
            Datum::Tensor(value) => Some((self.of(*value).0.clone(), self.of(*value).1)),
            Datum::Static(number) => Some((Tensor::scalar(*number as f64), DType::Int)),
            _ => None,
        }
    }
}

impl<'a> VariableScope<'a> {
    /// Creates a scope for the expression `expr`. The scope defines every variable that the
    /// expression mentions.
    ///
    /// # Errors
    /// Fails if the expression mentions a posterior value but `streams` does not have a posterior
    /// draw.
    pub fn new(
        module: &'a Module,
        locals: &'a Locals,
        variables: &'a [Variable],
        expr: &TypedExpr,
        streams: Streams,
    ) -> Elaborated<VariableScope<'a>> {
        let frame = Frame::new(locals, "");
        let mut scene = VariableScope {
            elaborator: Elaborator::new(module, "it"),
            frame,
            inputs: Vec::new(),
            streams,
        };
        if walk::any(expr, &mut is_noise) {
            let line = scene
                .elaborator
                .constant(f64::from(scene.streams.line), DType::Int);
            let zero = scene.elaborator.constant(0.0, DType::Int);
            let coordinates = [line, zero, zero];
            scene.elaborator.noise = Some(NoiseContext {
                coordinates,
                shape: Shape::scalar(),
                count: 0,
            });
        }
        let mentioned = mentioned(expr, variables);
        for variable in variables {
            let datum = match &variable.held {
                VariableValue::Static(number) => Datum::Static(*number),
                _ if !mentioned.contains(&variable.local) => continue,
                VariableValue::Tensor(tensor, dtype) => {
                    let ty = Type::new(*dtype, Shape::fixed(&tensor.shape));
                    scene.input(&variable.name, ScopeInput::Same(tensor), ty)
                }
                VariableValue::Draws(draws, dtype) => {
                    let (count, sizes) = draws.shape.split_first().unwrap_or((&0, &[]));
                    if *count == 0 || scene.streams.posterior.is_none() {
                        return Err(Box::new(one_value(expr.span)));
                    }
                    let ty = Type::new(*dtype, Shape::fixed(sizes));
                    scene.input(&variable.name, ScopeInput::Draws(draws), ty)
                }
                VariableValue::Made(expr) => scene
                    .elaborator
                    .expr(expr, &mut scene.frame)?
                    .at_path(&variable.name),
            };
            scene.frame.values.insert(variable.local, datum);
        }
        Ok(scene)
    }

    /// Adds a known value of the type `ty` as a parameter of the function.
    fn input(&mut self, name: &str, value: ScopeInput<'a>, ty: Type) -> Datum {
        self.inputs.push(value);
        Datum::Tensor(self.elaborator.builder.param(name, ty))
    }

    /// Elaborates an expression.
    pub fn datum(&mut self, expr: &TypedExpr) -> Elaborated<Datum> {
        self.elaborator.expr(expr, &mut self.frame)
    }

    /// Returns the function built so far without evaluating it.
    pub fn function(self, results: Vec<(&str, Value)>) -> Function {
        let results = results
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect();
        self.elaborator.builder.finish(results)
    }

    /// Computes every value of the function.
    pub fn compute(self, span: Span) -> Elaborated<Computed> {
        let streams = self.streams.clone();
        self.prepared(span).compute(&streams)
    }

    /// Returns the function built so far, which was elaborated from the expression at `span`.
    pub fn prepared(self, span: Span) -> PreparedFunction<'a> {
        PreparedFunction {
            function: self.elaborator.builder.finish(Vec::new()),
            inputs: self.inputs,
            span,
        }
    }
}

impl Session {
    /// Calls `one` with each number below `count`, until `one` fails or the user interrupts the
    /// work.
    pub(super) fn each(&self, count: usize, mut one: impl FnMut(usize) -> Elaborated<()>) -> Elaborated<()> {
        let mut result = Ok(());
        self.world.host.interruptible(&mut |stop| {
            result = (0..count).try_for_each(|at| match stop.load(Ordering::SeqCst) {
                true => Err(Box::new(Diagnostic::usage(
                    &BAD_COMMAND,
                    format!("the command was interrupted after {at} of {count} draws"),
                ))),
                false => one(at),
            });
        });
        result
    }
}

fn is_noise(expr: &TypedExpr) -> bool {
    match &expr.kind {
        TypedExprKind::DistPart(_, part, _) => *part == DistributionPart::Draw,
        TypedExprKind::Builtin(builtin, _) => matches!(builtin.rule, BuiltinRule::Noise(_)),
        _ => false,
    }
}

/// Returns the variables in an expression. This includes variables on which it depends through
/// another variable, which may be a distribution, a layer or a function.
pub fn mentioned(expr: &TypedExpr, variables: &[Variable]) -> HashSet<LocalId> {
    let mut found = HashSet::new();
    let add = |expr: &TypedExpr, found: &mut HashSet<LocalId>| {
        walk::any(expr, &mut |part| {
            if let TypedExprKind::Local(local) | TypedExprKind::CallLocal(local, _) = &part.kind {
                found.insert(*local);
            }
            false
        });
    };
    add(expr, &mut found);
    for variable in variables.iter().rev() {
        if let (VariableValue::Made(expr), true) = (&variable.held, found.contains(&variable.local)) {
            add(expr, &mut found);
        }
    }
    found
}

/// Computes every value of a function that was elaborated from the expression at `span`. Sites and
/// outputs of models are drawn.
pub fn compute(function: Function, inputs: &[Tensor], streams: &Streams, span: Span) -> Elaborated<Computed> {
    compute_some(function, inputs, streams, span, |_| true)
}

/// Computes those values of a function for which `is_needed` returns true. The other values in the
/// result are placeholders.
pub fn compute_some(
    function: Function,
    inputs: &[Tensor],
    streams: &Streams,
    span: Span,
    is_needed: impl Fn(Value) -> bool,
) -> Elaborated<Computed> {
    check_size(&function, span, &is_needed)?;
    let mut values: Vec<Tensor> = Vec::with_capacity(function.nodes.len());
    let (mut drawn, mut observed) = (Vec::new(), Vec::new());
    for value in function.nodes.ids() {
        if streams.stop.load(Ordering::Relaxed) {
            return Err(limit(span, "the evaluation was interrupted"));
        }
        if !is_needed(value) {
            values.push(Tensor::scalar(0.0));
            continue;
        }
        let tensor = match &function.nodes[value].kind {
            NodeKind::Param(name) => {
                let at = function.params.iter().position(|param| *param == value);
                let input = at.and_then(|at| inputs.get(at));
                input
                    .cloned()
                    .ok_or_else(|| limit(span, format!("`{name}` has no value here")))?
            }
            NodeKind::Apply { op, args, attrs } => {
                let args: Vec<&Tensor> = args.iter().map(|arg| &values[arg.0 as usize]).collect();
                if !is_random(op.0) {
                    values.push(op.evaluate(&args, attrs));
                    continue;
                }
                let (instance, site) = ((**ops::sample::dist(attrs)).clone(), ops::sample::site(attrs));
                let params = args.into_iter().take(instance.params.len()).cloned().collect();
                // Several statements may observe elements of the same output. Each of these
                // statements draws from its own random stream.
                let earlier = observed
                    .iter()
                    .filter(|(name, _): &&(String, Tensor)| name.as_str() == &**site);
                let stream = match earlier.count() {
                    0 => streams.name(site),
                    number => streams.name(&format!("{site}/{number}")),
                };
                let tensor = Concrete { instance, params }
                    .draw(&stream, streams.number(site))
                    .map_err(|why| limit(span, why.to_string()))?;
                if op.is(&ops::sample::SAMPLE) {
                    drawn.push((site.to_string(), tensor.clone()));
                    tensor
                } else {
                    observed.push((site.to_string(), tensor));
                    Tensor::scalar(0.0)
                }
            }
        };
        values.push(tensor);
    }
    Ok(Computed {
        function,
        values,
        drawn,
        observed,
    })
}

/// Rejects functions whose values would not fit into memory, and functions that draw inside loops,
/// which the evaluator does not support.
fn check_size(function: &Function, span: Span, is_needed: &dyn Fn(Value) -> bool) -> Elaborated<()> {
    let mut elements = 0usize;
    for value in function.nodes.ids().filter(|value| is_needed(*value)) {
        elements = elements.saturating_add(function.ty(value).shape.count(&Sizes::default()));
        if function_attrs(function, value).any(draws) {
            let why = "draws inside a loop or a comprehension cannot be evaluated here";
            return Err(limit(span, why.to_owned()));
        }
    }
    check_count(elements, span)
}

/// Rejects an evaluation with more than [`MOST_ELEMENTS`] numbers.
pub fn check_count(elements: usize, span: Span) -> Elaborated<()> {
    match elements > MOST_ELEMENTS {
        true => Err(limit(
            span,
            format!("this needs {elements} numbers at once; the REPL allows at most {MOST_ELEMENTS}"),
        )),
        false => Ok(()),
    }
}

fn draws(function: &Function) -> bool {
    function
        .nodes
        .ids()
        .any(|value| function.op(value).is_some_and(|op| is_random(op.0)))
}

fn is_random(op: &'static OpDef) -> bool {
    op.is(&ops::sample::SAMPLE) || op.is(&ops::observe::OBSERVE)
}
