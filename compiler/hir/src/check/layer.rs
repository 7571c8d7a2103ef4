//! Checks layers: the items, the construction of instances, and their calls.

use super::body::{BodyKind, Checker, error};
use super::call::{Lifts, Signature};
use super::expr::Want;
use super::made::{LayerRange, Made};
use super::names::Def;
use super::session::CheckSession;
use super::solve::Solver;
use crate::constant::constant;
use crate::diagnostics::{layer_arguments as arguments, model as report, types};
use crate::dims::DimExpr;
use crate::show;
use crate::tree::{
    LayerId, LayerItem, LocalId, LocalKind, TypedComprehension, TypedExpr, TypedExprKind, TypedIndex,
};
use crate::types::{Elem, Ty};
use crate::walk;
use bnnc_base::dtype::DType;
use bnnc_base::source::Span;
use bnnc_grammar::ast;
use bnnc_graph::dist::Support;

/// Checks a `layer` item.
pub fn check(session: &mut CheckSession<'_>, id: LayerId, item: &ast::LayerDecl, library: bool) {
    let mut body = session.body(BodyKind::Layer, library, &item.name.name);
    let mut lists = body.params(&[&item.params, &item.inputs], true).into_iter();
    let (mut params, mut inputs) = (lists.next().unwrap_or_default(), lists.next().unwrap_or_default());
    body.defaults(&item.params, &mut params);
    body.defaults(&item.inputs, &mut inputs);
    body.per_example.extend(inputs.iter().map(|input| input.local));
    let result = body.ty(&item.result, false);
    let statements = body.block(&item.body, Some((&result, item.result.span)), item.name.span);
    for (local, axes) in body.applied.clone() {
        let param = params.iter().find(|param| param.local == local);
        if let Some((param, default)) = param.and_then(|param| Some((param, param.default.as_ref()?))) {
            body.takes_axes(default, &item.name.name, &param.param.name, axes);
        }
    }
    body.uncalled_layers();
    let taken: Vec<LocalId> = inputs.iter().map(|input| input.local).collect();
    body.missing_activations(&taken, &statements);
    let start = body.start.map(|(rule, _)| rule);
    let applied = std::mem::take(&mut body.applied);
    let (locals, diagnostics) = body.finish();
    session.diagnostics.extend(diagnostics);
    session.module.layers[id] = LayerItem {
        locals,
        params,
        start,
        applied,
        inputs,
        result,
        body: statements,
        ..session.module.layers[id].clone()
    };
}

/// A layer that is made of a parameter of type `layer`.
struct Described {
    /// The parameter.
    parameter: LocalId,
    /// The variable of the layer or of the outermost list, and the positions in the lists.
    at: (LocalId, Vec<i64>),
}

impl Checker<'_> {
    /// Returns whether a right-hand side constructs layers. The name to which they are assigned
    /// becomes a prefix of the paths of their sites.
    pub fn makes_layer(&self, written: &ast::Expr) -> bool {
        match &*written.kind {
            ast::ExprKind::Call(callee, _) => {
                self.layer_named(callee).is_some() || self.composition_named(callee).is_some()
            }
            ast::ExprKind::List(elements) => {
                elements.first().is_some_and(|element| self.makes_layer(element))
            }
            ast::ExprKind::Comprehension(inner) => self.makes_layer(&inner.element),
            ast::ExprKind::Paren(inner) => self.makes_layer(inner),
            ast::ExprKind::Name(name) => self.layer_parameter(name).is_some(),
            _ => false,
        }
    }

    /// Returns the parameter of type `layer` with this name.
    fn layer_parameter(&self, name: &str) -> Option<LocalId> {
        let local = self.peek_local(name)?;
        let found = &self.locals[local];
        (found.ty == Ty::ShapedLayer && found.kind == LocalKind::Param).then_some(local)
    }

    fn layer_named(&self, callee: &ast::Expr) -> Option<LayerId> {
        match &*callee.kind {
            ast::ExprKind::Name(name) if self.peek_local(name).is_none() => match self.find_item(name) {
                Some((Some(Def::Layer(id)), _)) => Some(id),
                _ => None,
            },
            _ => None,
        }
    }

    /// Checks the construction of layers: `Dense(50)`, `[Dense(50) for l in 0..2]` or `[Dense(50), Dense(20)]`.
    pub fn layers(&mut self, written: &ast::Expr) -> (TypedExpr, Option<Made>) {
        let span = written.span;
        match &*written.kind {
            ast::ExprKind::Paren(inner) => self.layers(inner),
            ast::ExprKind::Call(callee, args) => {
                match (self.layer_named(callee), self.composition_named(callee)) {
                    (Some(id), _) => self.make_layer(id, args, span),
                    (None, Some(composition)) => self.compose(composition, args, span),
                    (None, None) => (self.expr(written, Want::Any), None),
                }
            }
            ast::ExprKind::Name(name) if self.layer_parameter(name).is_some() => {
                let made = self.layer_parameter(name).map(Made::Shaped);
                (self.expr(written, Want::Any), made)
            }
            ast::ExprKind::List(elements) => self.layer_list(elements, span),
            ast::ExprKind::Comprehension(inner) => {
                let (from, to, length) = self.range(&inner.from, &inner.to);
                let counter = self.enter_counter(&inner.name.name, inner.name.span);
                let (element, made) = self.layers(&inner.element);
                self.leave();
                let first = self.dim_of(&from);
                let (Some(length), Some(made), Some(first)) = (length, made, first) else {
                    return (error(span), None);
                };
                let ty = element.ty.clone();
                let kind = TypedExprKind::Comprehension(Box::new(TypedComprehension {
                    counter,
                    from,
                    to,
                    element,
                }));
                let each = LayerRange {
                    counter,
                    first,
                    length: length.clone(),
                    element: Box::new(made),
                };
                self.list_of_layers(kind, ty, length, Made::Each(each), span)
            }
            _ => {
                let found = self.expr(written, Want::Any);
                if found.ty != Ty::Error {
                    self.wrong::<Ty>(&found, "a layer");
                }
                (error(span), None)
            }
        }
    }

    fn layer_list(&mut self, elements: &[ast::Expr], span: Span) -> (TypedExpr, Option<Made>) {
        let (values, made): (Vec<TypedExpr>, Vec<Option<Made>>) =
            elements.iter().map(|element| self.layers(element)).unzip();
        let made: Option<Vec<Made>> = made.into_iter().collect();
        let (Some(made), Some(first)) = (made, values.first()) else {
            return (error(span), None);
        };
        let ty = first.ty.clone();
        if let Some(other) = values.iter().find(|value| !value.ty.is_same_kind(&ty)) {
            let expected = "the same kind of layer in the whole list";
            let diagnostic = types::mismatch(other.span, expected, "another kind");
            return (
                self.error(diagnostic.also(first.span, "the first one is here"), span),
                None,
            );
        }
        let length = DimExpr::number(values.len() as i64);
        self.list_of_layers(TypedExprKind::List(values), ty, length, Made::List(made), span)
    }

    /// Returns a list of layers, or of lists of layers, with elements of the type `element`.
    fn list_of_layers(
        &mut self,
        kind: TypedExprKind,
        element: Ty,
        length: DimExpr,
        made: Made,
        span: Span,
    ) -> (TypedExpr, Option<Made>) {
        let ty = Ty::List(Box::new(element), length);
        self.check_layer_count(&made, span);
        (TypedExpr::new(kind, ty, span), Some(made))
    }

    /// Checks an argument for a parameter of type `layer`: the construction of a layer, or another such parameter.
    pub fn layer_argument(&mut self, written: &ast::Expr) -> TypedExpr {
        match &*written.without_parentheses().kind {
            ast::ExprKind::Call(..) if self.makes_layer(written) => self.layers(written).0,
            // A layer that has a name has weights already, so it is not a description of new layers.
            ast::ExprKind::Name(name) if self.layer_parameter(name).is_none() => {
                let mut value = self.expr(written, Want::Any);
                let help = match value.ty {
                    Ty::ShapedLayer => Some("pass the parameter of type `layer` itself"),
                    Ty::Layer(_) => Some("construct the layer in the argument: `Layer(..)`"),
                    _ => None,
                };
                if let Some(help) = help {
                    let diagnostic = types::mismatch(written.span, "a new layer", "a layer with a name");
                    value.ty = Ty::Error;
                    self.report(diagnostic.help(help));
                }
                value
            }
            _ => self.expr(written, Want::Any),
        }
    }

    /// Checks that an argument for a parameter of type `layer` takes arrays with the numbers of axes to which the callee applies it.
    /// The check of the callee has reported a default that does not. `span` is the position of the construction.
    fn described_layer(&mut self, id: LayerId, at: usize, value: &TypedExpr, span: Span) {
        let item = &self.module.layers[id];
        let Some(param) = item.params.get(at) else { return };
        let applied = item.applied.iter().filter(|(local, _)| *local == param.local);
        for (_, axes) in applied {
            walk::any(value, &mut |part| {
                if let TypedExprKind::Local(own) = part.kind
                    && self.locals[own].ty == Ty::ShapedLayer
                {
                    self.applied.insert((own, *axes));
                }
                matches!(part.kind, TypedExprKind::MakeLayer(..))
            });
            let is_written = value.span.source == span.source && span.to(value.span) == span;
            if is_written {
                self.takes_axes(value, &item.name, &param.param.name, *axes);
            }
        }
    }

    /// Reports a layer as an argument or default of `param` if it does not take arrays with this number of axes.
    fn takes_axes(&mut self, value: &TypedExpr, callee: &str, param: &str, axes: usize) {
        let TypedExprKind::MakeLayer(id, _) = value.kind else {
            if !matches!(value.kind, TypedExprKind::Local(_)) {
                let parts = walk::children(value).into_iter();
                parts.for_each(|part| self.takes_axes(part, callee, param, axes));
            }
            return;
        };
        let layer = &self.module.layers[id];
        if let [input] = layer.inputs.as_slice()
            && input.param.ty.dims().len() != axes
        {
            let takes = show::ty(&input.param.ty, &layer.locals);
            self.report(arguments::other_axes(
                value.span,
                &layer.name,
                &takes,
                callee,
                param,
                axes,
            ));
        }
    }

    /// Returns whether the result of a new layer has the dims of its only input, which is an array of reals. Layers that are made of such
    /// layers and of functions of one real keep the dims, too.
    pub fn keeps_dims(&self, value: &TypedExpr) -> bool {
        let id = match &value.kind {
            TypedExprKind::MakeLayer(id, _) => *id,
            TypedExprKind::Compose(_, parts) | TypedExprKind::List(parts) => {
                return parts.iter().all(|part| self.keeps_dims(part));
            }
            TypedExprKind::Comprehension(inner) => return self.keeps_dims(&inner.element),
            TypedExprKind::Local(local) => {
                let local = &self.locals[*local];
                let is_function = matches!(local.ty, Ty::Function(_));
                return is_function || local.ty == Ty::ShapedLayer && local.kind == LocalKind::Param;
            }
            // A function of scalars applies to each element.
            TypedExprKind::FnValue(id) => {
                let item = &self.module.fns[*id];
                let mut params = item.params.iter();
                return item.result.is_scalar()
                    && params.all(|param| item.locals[param.local].ty.is_scalar());
            }
            TypedExprKind::BuiltinValue(_) => return true,
            _ => return false,
        };
        let item = &self.module.layers[id];
        match (item.inputs.as_slice(), &item.result) {
            ([input], Ty::Tensor(elem, dims)) => {
                let takes_reals =
                    matches!(&input.param.ty, Ty::Tensor(Elem::Real(Support::Real), of) if of == dims);
                takes_reals && elem.dtype() == DType::Real && !dims.is_empty()
            }
            _ => false,
        }
    }

    /// Checks the construction of one layer, and returns the dims that its arguments determine.
    pub fn make_layer(&mut self, id: LayerId, args: &[ast::Arg], span: Span) -> (TypedExpr, Option<Made>) {
        if let Some(rejected) = self.rejects_layers(args, span) {
            return (rejected, None);
        }
        let item = &self.module.layers[id];
        let signature = Signature::new(&item.name, &item.params, &item.locals, Lifts::No);
        let (mut solver, before) = (Solver::default(), self.errors());
        let arguments = self.arguments(signature, args, span, &mut solver);
        // The sizes of a layer with a wrong argument are not known, so its calls are not checked.
        let Some(arguments) = arguments.filter(|_| self.errors() == before) else {
            return (error(span), None);
        };
        for value in &arguments.values {
            if self.depends(value) {
                self.report(report::layer_depends(value.span));
            } else if value.ty == Ty::int() && self.dim_of(value).is_none() {
                self.report(types::not_static(value.span, "an integer argument of a layer"));
            }
        }
        for (at, value) in arguments.values.iter().enumerate() {
            self.prior_of_weights(id, at, value);
            self.described_layer(id, at, value, span);
        }
        let expr = TypedExpr::new(
            TypedExprKind::MakeLayer(id, arguments.values),
            Ty::Layer(id),
            span,
        );
        (expr, Some(Made::One(id, solver)))
    }

    /// Checks a call of a layer instance, such as `h(x)` or `hidden[1](x)`.
    pub fn call_layer(&mut self, callee: TypedExpr, args: &[ast::Arg], span: Span) -> TypedExpr {
        let Some((root, path, made)) = self.made(&callee) else {
            self.skip(args, span);
            return match (&callee.ty, &callee.kind) {
                (Ty::ShapedLayer, TypedExprKind::Local(local)) => {
                    let name = show::name(*local, &self.locals);
                    self.error(report::unnamed_parameter(span, &name), span)
                }
                _ => error(span),
            };
        };
        let (id, mut solver) = match made {
            Made::One(id, solver) => (id, solver),
            Made::Shaped(parameter) => {
                let called = Described {
                    parameter,
                    at: (root, path),
                };
                return self.call_shaped(callee, called, args, span);
            }
            Made::Composed(..) => return self.call_composed(callee, args, span),
            Made::Each(_) | Made::List(_) | Made::Function(_) => return self.skip(args, span),
        };
        let item = &self.module.layers[id];
        let name = show::name(root, &self.locals);
        let signature = Signature::new(&name, &item.inputs, &item.locals, Lifts::No);
        let before = self.errors();
        let arguments = self.arguments(signature, args, span, &mut solver);
        let types = item.inputs.iter().map(|input| solver.ty(&input.param.ty));
        let dims: Vec<Vec<DimExpr>> = types.map(|ty| ty.dims().to_vec()).collect();
        let fine = self.errors() == before;
        let Some(arguments) = arguments else {
            return error(span);
        };
        if fine && self.first_call((root, path), dims, span).is_none() {
            return error(span);
        }
        let ty = if fine && arguments.values.iter().all(|value| value.ty != Ty::Error) {
            self.result(&solver.ty(&item.result), signature, span)
        } else {
            Ty::Error
        };
        TypedExpr::new(
            TypedExprKind::CallLayer(Box::new(callee), Some(id), arguments.values),
            ty,
            span,
        )
    }

    /// Checks a call of a layer that a parameter of type `layer` describes.
    fn call_shaped(
        &mut self,
        callee: TypedExpr,
        called: Described,
        args: &[ast::Arg],
        span: Span,
    ) -> TypedExpr {
        let Some(value) = self.one_input(called.at.0, args, span) else {
            return error(span);
        };
        let Some(dims) = self.array_of_reals(&value) else {
            return error(span);
        };
        self.applied.insert((called.parameter, dims.len()));
        if self.first_call(called.at, vec![dims.clone()], span).is_none() {
            return error(span);
        }
        let kind = TypedExprKind::CallLayer(Box::new(callee), None, vec![value]);
        TypedExpr::new(kind, Ty::reals(dims), span)
    }

    /// Checks the arguments of a call of a layer whose only input does not have a name.
    pub fn one_input(&mut self, layer: LocalId, args: &[ast::Arg], span: Span) -> Option<TypedExpr> {
        let mut values: Vec<TypedExpr> = args.iter().map(|arg| self.expr(&arg.value, Want::Any)).collect();
        let name = show::name(layer, &self.locals);
        let named = match args {
            [arg] => arg.name.as_ref(),
            _ => None,
        };
        match (named, values.len()) {
            (Some(given), _) => self.report(types::named_input(given.span, &name, &given.name)),
            (None, 1) => return values.pop(),
            (None, found) => self.report(types::too_many(span, &name, 1, found)),
        }
        None
    }

    /// Returns the dims of an array of reals. Reports other values.
    pub fn array_of_reals(&mut self, value: &TypedExpr) -> Option<Vec<DimExpr>> {
        match &value.ty {
            Ty::Tensor(elem, dims) if elem.dtype() == DType::Real => Some(dims.clone()),
            Ty::Error => None,
            _ => self.wrong(value, "an array of reals"),
        }
    }

    /// Records a call of a layer or of a list of layers. Reports a call whose inputs have other dims than those of the first
    /// call, and returns `None` for it.
    pub fn first_call(
        &mut self,
        called: (LocalId, Vec<i64>),
        dims: Vec<Vec<DimExpr>>,
        span: Span,
    ) -> Option<()> {
        let name = show::name(called.0, &self.locals);
        let first = self.calls.entry(called).or_insert_with(|| (dims.clone(), span));
        let mut pairs = first.0.iter().flatten().zip(dims.iter().flatten());
        if pairs.all(|(a, b)| super::solve::equal(a, b)) {
            return Some(());
        }
        let first = first.clone();
        let text = |dims: &[Vec<DimExpr>]| {
            let one = |dims: &Vec<DimExpr>| show::dims(dims, &self.locals);
            dims.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let (wanted, found) = (text(&first.0), text(&dims));
        self.report(report::called_differently(
            span,
            &name,
            (&wanted, first.1),
            &found,
        ));
        None
    }

    /// Resolves a callee to a layer instance. Returns its variable, its indices in a list of
    /// layers, and how it was constructed.
    pub fn made(&self, callee: &TypedExpr) -> Option<(LocalId, Vec<i64>, Made)> {
        match &callee.kind {
            TypedExprKind::Local(local) => Some((*local, Vec::new(), self.made.get(local)?.clone())),
            TypedExprKind::Index(base, indices) => {
                let (root, mut path, made) = self.made(base)?;
                let [TypedIndex::At(at)] = indices.as_slice() else {
                    return None;
                };
                let at = constant(self.module, at)? as i64;
                path.push(at);
                let element = match made {
                    Made::List(elements) => elements.get(usize::try_from(at).ok()?)?.clone(),
                    Made::Each(each) => each.at(&DimExpr::number(at)),
                    Made::One(..) | Made::Shaped(_) | Made::Function(_) | Made::Composed(..) => return None,
                };
                Some((root, path, element))
            }
            _ => None,
        }
    }

    /// Warns about layer instances that are never called. Does nothing after an error, because the expression with the error may contain the call.
    pub fn uncalled_layers(&mut self) {
        if self.in_library || self.errors() > 0 {
            return;
        }
        let mut made: Vec<LocalId> = self.made.keys().copied().collect();
        made.sort_unstable();
        for local in made {
            let (name, span) = (self.locals[local].name.clone(), self.locals[local].span);
            if !name.starts_with('_') && !self.calls.keys().any(|(called, _)| *called == local) {
                self.report(report::never_called(span, &name));
            }
        }
    }
}
