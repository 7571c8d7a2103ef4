//! Detects consecutive linear layers without an activation function between them. The data
//! determine only the product of their weight matrices.

use super::body::Checker;
use crate::builtin::{BuiltinRule, Reduction};
use crate::diagnostics::model as report;
use crate::dims::DimExpr;
use crate::tree::{LayerId, LocalId, Module, TypedExpr, TypedExprKind, TypedIndex, TypedStmt};
use crate::types::{Elem, Ty};
use crate::walk;
use bnnc_base::source::Span;
use bnnc_grammar::ast::{BinaryOp, UnaryOp};
use std::collections::HashMap;

/// How a value depends on the inputs of a model or a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// The value does not depend on the inputs. If `random` is true, it may depend on parameters;
    /// otherwise, it is a number.
    Fixed { random: bool },
    /// The value is an input, possibly shifted or scaled.
    Input,
    /// The value is the product of parameters and a factor that depends on the inputs, possibly
    /// plus an offset. `inputs` is the number of elements of the factor, if known.
    Linear { at: Span, inputs: Option<i64> },
    /// The value depends on the inputs in a way that the other forms do not cover.
    Other,
}

/// The properties of a layer that matter to its callers.
#[derive(Clone, Copy, Debug)]
struct Summary {
    /// True if the first operation on the layer's input is a multiplication by parameters.
    multiplies: bool,
    /// True if the layer also uses its input outside of products with parameters, as in a residual
    /// layer.
    escapes: bool,
    /// The form of the layer's result.
    result: Form,
}

/// A product of parameters and a value that is itself a product with parameters. The two products
/// are two consecutive linear layers.
#[derive(Clone, Copy, Debug)]
struct Second {
    at: Span,
    /// The position in the program of the first product, whose result the second product uses.
    first: Span,
    /// The numbers of elements of three values: the input of the first product, the value between
    /// the two products, and the result. A number is `None` if it is not known.
    inputs: Option<i64>,
    between: Option<i64>,
    outputs: Option<i64>,
}

/// Returns whether the value between two products has fewer elements than the input, and also fewer
/// elements than the result. Two products with such a bottleneck form a low-rank matrix. A single
/// matrix of weights cannot replace it. Several second products may use the same value, as in a
/// model with several output layers. In this case, the sizes of their results are added up.
fn is_bottleneck(seconds: &[Second]) -> bool {
    let is_below = |between: Option<i64>, outer: Option<i64>| match (between, outer) {
        (Some(between), Some(outer)) => between < outer,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let outputs = seconds
        .iter()
        .try_fold(0i64, |sum, second| sum.checked_add(second.outputs?));
    let mut all = seconds.iter();
    all.all(|second| is_below(second.between, second.inputs) && is_below(second.between, outputs))
}

/// A fold over a list of linear layers.
struct Chain {
    at: Span,
    list: LocalId,
    /// The numbers of elements of the input and of the result. A number is `None` if it is not known.
    inputs: Option<i64>,
    outputs: Option<i64>,
}

struct Walk<'m> {
    module: &'m Module,
    layers: HashMap<LayerId, Summary>,
    forms: HashMap<LocalId, Form>,
    /// True if the input of the current item is multiplied by parameters.
    multiplies: bool,
    /// True if the current item also uses its input outside of products with parameters.
    escapes: bool,
    /// The positions of products whose results are also used outside a second product. The
    /// parameters of such a product are identifiable.
    escaped: Vec<Span>,
    /// The second products.
    found: Vec<Second>,
    /// The folds over lists of linear layers.
    chains: Vec<Chain>,
}

impl Checker<'_> {
    /// Warns about consecutive linear layers: parameters are multiplied by the result of another
    /// product with parameters.
    pub fn missing_activations(&mut self, inputs: &[LocalId], statements: &[TypedStmt]) {
        if self.in_library {
            return;
        }
        let mut walk = Walk {
            module: self.module,
            layers: HashMap::new(),
            forms: inputs.iter().map(|input| (*input, Form::Input)).collect(),
            multiplies: false,
            escapes: false,
            escaped: Vec::new(),
            found: Vec::new(),
            chains: Vec::new(),
        };
        walk.block(statements);
        let of_first = |first: Span| -> Vec<Second> {
            let all = walk.found.iter().copied();
            all.filter(|second| second.first == first).collect()
        };
        for chain in &walk.chains {
            if !self.has_bottleneck(chain) {
                self.report(report::no_activation_in_list(chain.at));
            }
        }
        for second in &walk.found {
            let first = second.first;
            if !walk.escaped.contains(&first) && !is_bottleneck(&of_first(first)) {
                self.report(report::no_activation(second.at, first));
            }
        }
    }
}

impl Checker<'_> {
    /// Returns whether a value between two layers of a list has fewer elements than the input of the
    /// list, and also fewer elements than its result.
    fn has_bottleneck(&self, chain: &Chain) -> bool {
        let mut layers = self.calls.iter().filter(|((list, _), _)| *list == chain.list);
        layers.any(|(_, (inputs, _))| {
            let between = inputs.first().and_then(|dims| product(dims));
            let is_below = |outer: Option<i64>| between.zip(outer).is_some_and(|(size, outer)| size < outer);
            is_below(chain.inputs) && is_below(chain.outputs)
        })
    }
}

impl Walk<'_> {
    /// Analyses the statements of an item, and returns the form of the item's result.
    fn block(&mut self, statements: &[TypedStmt]) -> Form {
        let mut result = Form::Other;
        for stmt in statements {
            match stmt {
                TypedStmt::Let(local, value) => {
                    let form = self.form(value);
                    self.forms.insert(*local, form);
                }
                TypedStmt::Sample(sample) => {
                    self.parts(&sample.dist);
                    let form = match sample.observed || sample.per_example {
                        true => Form::Other,
                        false => Form::Fixed { random: true },
                    };
                    self.forms.insert(sample.local, form);
                }
                TypedStmt::For { body, .. } => {
                    self.block(body);
                }
                TypedStmt::Return(value) => result = self.form(value),
            }
        }
        result
    }

    fn parts(&mut self, expr: &TypedExpr) {
        for part in walk::children(expr) {
            let form = self.form(part);
            self.escape(form);
        }
    }

    /// Records that a value is used in a way that the analysis does not follow.
    fn escape(&mut self, form: Form) {
        match form {
            Form::Input => self.escapes = true,
            Form::Linear { at, .. } => self.escaped.push(at),
            Form::Fixed { .. } | Form::Other => {}
        }
    }

    fn form(&mut self, expr: &TypedExpr) -> Form {
        match &expr.kind {
            TypedExprKind::Real(_)
            | TypedExprKind::Int(_)
            | TypedExprKind::Bool(_)
            | TypedExprKind::Const(_) => Form::Fixed { random: false },
            TypedExprKind::Local(local) => self.forms.get(local).copied().unwrap_or(Form::Other),
            TypedExprKind::Unary(UnaryOp::Neg, operand) => self.form(operand),
            TypedExprKind::Binary(op, left, right) => self.binary(*op, (left, right), expr),
            TypedExprKind::Builtin(builtin, args) => match (builtin.rule, &args[..]) {
                (BuiltinRule::Dot, [left, right]) => {
                    let forms = [self.form(left), self.form(right)];
                    self.product(forms, (left, right), expr)
                }
                (BuiltinRule::Reduce(Reduction::Sum), [arg]) => match &arg.kind {
                    // `sum(w * x)` with two arrays is a sum of products, like a matrix product.
                    TypedExprKind::Binary(BinaryOp::Mul, left, right)
                        if is_array(left) && is_array(right) =>
                    {
                        let forms = [self.form(left), self.form(right)];
                        self.product(forms, (left, right), expr)
                    }
                    _ => self.form(arg),
                },
                (
                    BuiltinRule::Reshape
                    | BuiltinRule::Repeat
                    | BuiltinRule::Transpose
                    | BuiltinRule::Same(_)
                    | BuiltinRule::Upsample,
                    [arg, ..],
                ) => self.form(arg),
                (BuiltinRule::Fold, [layers, x]) => self.fold(layers, x, expr),
                _ => self.joint(args),
            },
            TypedExprKind::Index(base, indices) => {
                let form = self.form(base);
                match indices.iter().all(|index| self.is_fixed(index)) {
                    true => form,
                    false => {
                        self.escape(form);
                        Form::Other
                    }
                }
            }
            TypedExprKind::List(elements) => self.joint(elements),
            TypedExprKind::CallLayer(_, Some(id), args) => self.call(*id, args, expr),
            _ => {
                self.parts(expr);
                Form::Other
            }
        }
    }

    /// Returns the form of a call with several arguments of a function that the analysis does not
    /// follow. The result is fixed if all arguments are fixed.
    fn joint(&mut self, args: &[TypedExpr]) -> Form {
        let forms: Vec<Form> = args.iter().map(|arg| self.form(arg)).collect();
        let is_fixed = |form: &Form| matches!(form, Form::Fixed { .. });
        match forms.iter().all(is_fixed) {
            true => Form::Fixed {
                random: forms.contains(&Form::Fixed { random: true }),
            },
            false => {
                forms.into_iter().for_each(|form| self.escape(form));
                Form::Other
            }
        }
    }

    fn is_fixed(&mut self, index: &TypedIndex) -> bool {
        let ends = match index {
            TypedIndex::At(at) => vec![at],
            TypedIndex::Range(from, to) => vec![from, to],
        };
        ends.into_iter()
            .all(|end| matches!(self.form(end), Form::Fixed { .. }))
    }

    fn binary(&mut self, op: BinaryOp, (left, right): (&TypedExpr, &TypedExpr), whole: &TypedExpr) -> Form {
        let forms = [self.form(left), self.form(right)];
        match (op, forms) {
            (BinaryOp::MatMul, _) => self.product(forms, (left, right), whole),
            (_, [Form::Fixed { random: a }, Form::Fixed { random: b }]) => Form::Fixed { random: a || b },
            (
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul,
                [Form::Fixed { .. }, form] | [form, Form::Fixed { .. }],
            )
            | (BinaryOp::Div, [form, Form::Fixed { .. }]) => form,
            // The sum of two products is treated as one product whose input contains the inputs of
            // both.
            (BinaryOp::Add | BinaryOp::Sub, [Form::Linear { at, .. }, Form::Linear { .. }]) => {
                Form::Linear { at, inputs: None }
            }
            _ => {
                forms.into_iter().for_each(|form| self.escape(form));
                Form::Other
            }
        }
    }

    /// Returns the form of a matrix product or a sum of products.
    fn product(
        &mut self,
        forms: [Form; 2],
        (left, right): (&TypedExpr, &TypedExpr),
        whole: &TypedExpr,
    ) -> Form {
        let (random, form, factor) = match forms {
            [Form::Fixed { random: a }, Form::Fixed { random: b }] => return Form::Fixed { random: a || b },
            [Form::Fixed { random }, form] => (random, form, right),
            [form, Form::Fixed { random }] => (random, form, left),
            _ => {
                forms.into_iter().for_each(|form| self.escape(form));
                return Form::Other;
            }
        };
        match (random, form) {
            (false, _) => form,
            (true, form) => self.multiplied(form, factor, whole),
        }
    }

    /// Records the product of parameters and a factor, and returns the form of the product.
    fn multiplied(&mut self, form: Form, factor: &TypedExpr, whole: &TypedExpr) -> Form {
        let between = elements(&factor.ty);
        match form {
            Form::Input => self.multiplies = true,
            Form::Linear { at: first, inputs } => self.found.push(Second {
                at: whole.span,
                first,
                inputs,
                between,
                outputs: elements(&whole.ty),
            }),
            Form::Fixed { .. } | Form::Other => {}
        }
        Form::Linear {
            at: whole.span,
            inputs: between,
        }
    }

    fn call(&mut self, id: LayerId, args: &[TypedExpr], whole: &TypedExpr) -> Form {
        let summary = self.summary(id);
        let forms: Vec<Form> = args.iter().map(|arg| self.form(arg)).collect();
        let ([arg], [form]) = (args, &forms[..]) else {
            forms.into_iter().for_each(|form| self.escape(form));
            return Form::Other;
        };
        if summary.escapes {
            self.escape(*form);
        }
        let result = match (summary.result, form) {
            (Form::Input, form) => *form,
            // A layer that has weights maps a fixed value to a random one.
            (_, Form::Fixed { .. }) => Form::Fixed { random: true },
            (Form::Linear { .. }, _) => Form::Linear {
                at: whole.span,
                inputs: elements(&arg.ty),
            },
            (result, _) => result,
        };
        if summary.multiplies {
            self.multiplied(*form, arg, whole);
        }
        result
    }

    /// Returns the form of `fold(layers, x)`. If the layers are linear, the list is a chain of linear layers.
    fn fold(&mut self, layers: &TypedExpr, x: &TypedExpr, whole: &TypedExpr) -> Form {
        let mut element = &layers.ty;
        while let Ty::List(inner, _) = element {
            element = inner;
        }
        let mut list = layers;
        while let TypedExprKind::Index(base, _) = &list.kind {
            list = base;
        }
        let (Ty::Layer(id), TypedExprKind::Local(list)) = (element, &list.kind) else {
            return self.joint(std::slice::from_ref(x));
        };
        let (id, list) = (*id, *list);
        let result = self.call(id, std::slice::from_ref(x), whole);
        let is_linear = matches!(result, Form::Linear { .. }) && self.summary(id).multiplies;
        if is_linear && !is_single(&layers.ty) {
            self.chains.push(Chain {
                at: whole.span,
                list,
                inputs: elements(&x.ty),
                outputs: elements(&whole.ty),
            });
        }
        result
    }

    fn summary(&mut self, id: LayerId) -> Summary {
        if let Some(known) = self.layers.get(&id) {
            return *known;
        }
        let unknown = Summary {
            multiplies: false,
            escapes: true,
            result: Form::Other,
        };
        // The layer is registered before its body is analysed. Otherwise, the analysis of a layer
        // that calls itself would not end. Another check reports such a layer.
        self.layers.insert(id, unknown);
        let module = self.module;
        let item = &module.layers[id];
        let inputs = item.inputs.iter().map(|input| (input.local, Form::Input));
        let outer = std::mem::replace(&mut self.forms, inputs.collect());
        let before = [&mut self.multiplies, &mut self.escapes].map(std::mem::take);
        let (found, chains) = (self.found.len(), self.chains.len());
        let result = self.block(&item.body);
        // Products inside the layer are dropped here. The check of the layer itself reports them.
        self.found.truncate(found);
        self.chains.truncate(chains);
        self.forms = outer;
        let summary = Summary {
            multiplies: self.multiplies,
            escapes: self.escapes,
            result,
        };
        [self.multiplies, self.escapes] = before;
        self.layers.insert(id, summary);
        summary
    }
}

/// Returns whether a list has one layer only.
fn is_single(ty: &Ty) -> bool {
    match ty {
        Ty::List(element, length) => length.as_number() == Some(1) && is_single(element),
        _ => true,
    }
}

fn is_array(expr: &TypedExpr) -> bool {
    matches!(&expr.ty, Ty::Tensor(_, dims) if !dims.is_empty())
}

/// Returns the number of elements of a type if it can be known before the data are read.
fn elements(ty: &Ty) -> Option<i64> {
    match ty {
        Ty::Tensor(Elem::Real(_), dims) => product(dims),
        _ => None,
    }
}

/// Returns the product of dims, or `None` if a dim is not a number.
fn product(dims: &[DimExpr]) -> Option<i64> {
    let mut sizes = dims.iter().map(DimExpr::as_number);
    sizes.try_fold(1i64, |count, size| count.checked_mul(size?))
}
