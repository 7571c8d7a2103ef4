//! Checks the construction of layers that are made of others: `Sequential(a, b, ..)` and `Residual(inner, projection)`.

use super::body::{BodyKind, Checker, error};
use super::expr::Want;
use super::made::Made;
use super::names::Def;
use crate::builtin::{self, BuiltinRule};
use crate::diagnostics::{composed as report, elaborate, statements, types};
use crate::tree::{Composition, TypedExpr, TypedExprKind};
use crate::types::{MOST_LAYERS, Ty};
use bnnc_base::source::Span;
use bnnc_grammar::ast;

impl Checker<'_> {
    /// Returns the kind of composed layer that a callee names. An item or a variable of the same name hides it.
    pub fn composition_named(&self, callee: &ast::Expr) -> Option<Composition> {
        match &*callee.kind {
            ast::ExprKind::Name(name)
                if self.peek_local(name).is_none() && self.find_item(name).is_none() =>
            {
                Composition::lookup(name)
            }
            _ => None,
        }
    }

    /// Checks `Sequential(..)` or `Residual(..)`.
    pub fn compose(
        &mut self,
        composition: Composition,
        args: &[ast::Arg],
        span: Span,
    ) -> (TypedExpr, Option<Made>) {
        if let Some(rejected) = self.rejects_layers(args, span) {
            return (rejected, None);
        }
        let Some(written) = self.parts(composition, args, span) else {
            return (error(span), None);
        };
        let parts = written
            .into_iter()
            .map(|part| self.part_of_layer(composition, part));
        let parts: Option<Vec<(TypedExpr, Made)>> = parts.collect();
        let Some(parts) = parts else {
            return (error(span), None);
        };
        // A function alone is the form `Residual(activation)` of earlier versions, which had weights.
        if let (Composition::Residual, [(inner, Made::Function(_)), ..]) = (composition, parts.as_slice()) {
            let diagnostic = report::no_inner_layer(inner.span, "a function");
            return (self.error(diagnostic, span), None);
        }
        let (values, made): (Vec<TypedExpr>, Vec<Made>) = parts.into_iter().unzip();
        let made = Made::Composed(composition, made);
        self.check_layer_count(&made, span);
        let kind = TypedExprKind::Compose(composition, values);
        (TypedExpr::new(kind, Ty::ComposedLayer, span), Some(made))
    }

    /// Reports a list or a composed layer that contains too many layers, unless one of its elements already does.
    pub fn check_layer_count(&mut self, made: &Made, span: Span) {
        let is_above = |made: &Made| made.layers().is_some_and(|count| count > MOST_LAYERS);
        if let Some(count) = made
            .layers()
            .filter(|_| is_above(made) && !made.elements().any(is_above))
        {
            self.report(*elaborate::too_many_layers(span, count));
        }
    }

    /// Reports the construction of a layer outside models and layers. Returns the expression of the error there, or `None` where layers are
    /// allowed.
    pub fn rejects_layers(&mut self, args: &[ast::Arg], span: Span) -> Option<TypedExpr> {
        if matches!(self.place, BodyKind::Model | BodyKind::Layer | BodyKind::Prompt) {
            return None;
        }
        self.skip(args, span);
        let help = "layers have random weights: use them in a model or a layer";
        let diagnostic = statements::wrong_place(span, "a layer", self.place.name(), help);
        Some(self.error(diagnostic, span))
    }

    /// Returns the parts in order. Reports missing and unknown parts.
    fn parts<'w>(
        &mut self,
        composition: Composition,
        args: &'w [ast::Arg],
        span: Span,
    ) -> Option<Vec<&'w ast::Expr>> {
        let (name, names) = (composition.name(), composition.parts());
        let before = self.errors();
        let most = if names.is_empty() { args.len() } else { names.len() };
        let mut slots: Vec<Option<&ast::Expr>> = vec![None; most];
        for (position, arg) in args.iter().enumerate() {
            let at = match &arg.name {
                Some(given) => names.iter().position(|known| *known == &*given.name),
                None => Some(position),
            };
            match (at.and_then(|at| slots.get_mut(at)), &arg.name) {
                (Some(slot @ None), _) => *slot = Some(&arg.value),
                (Some(Some(first)), _) => {
                    let first = first.span;
                    self.report(types::argument_twice(
                        names[at.unwrap_or(0)],
                        first,
                        arg.value.span,
                    ));
                }
                (None, Some(given)) if composition == Composition::Residual => {
                    let found = format!("the argument `{}`", given.name);
                    self.report(report::no_inner_layer(given.span, &found));
                }
                (None, Some(given)) => {
                    let known = names.iter().copied();
                    self.report(types::unknown_argument(given.span, name, &given.name, known));
                }
                (None, None) => self.report(types::too_many(span, name, most, args.len())),
            }
        }
        if self.errors() > before {
            self.skip(args, span);
            return None;
        }
        if slots.first().is_none_or(Option::is_none) {
            self.report(match composition {
                Composition::Sequential => report::no_parts(span),
                Composition::Residual => report::no_inner_layer(span, "nothing"),
            });
            return None;
        }
        Some(slots.into_iter().flatten().collect())
    }

    /// Checks a part: a new layer, a list of new layers, a parameter of type `layer`, or the name of a function of one array.
    fn part_of_layer(&mut self, composition: Composition, written: &ast::Expr) -> Option<(TypedExpr, Made)> {
        if self.makes_layer(written) {
            let (value, made) = self.layers(written);
            return Some((value, made?));
        }
        let value = match self.function_of_array(written) {
            Some(value) => value,
            None => match self.function_named(written) {
                Some(name) => {
                    let name = name.to_string();
                    self.report(report::no_function_of_array(
                        written.span,
                        composition.name(),
                        &name,
                    ));
                    return None;
                }
                None => self.expr(written, Want::Any),
            },
        };
        match &value.ty {
            Ty::Function(_) => Some((value.clone(), Made::Function(value))),
            Ty::Error => None,
            Ty::Layer(_) | Ty::ShapedLayer | Ty::ComposedLayer | Ty::List(..) => {
                let diagnostic = types::mismatch(written.span, "a new layer", "a layer with a name");
                self.report(diagnostic.help("construct the layer in the argument: `Layer(..)`"));
                None
            }
            _ => {
                let found = crate::show::ty(&value.ty, &self.locals);
                self.report(report::no_layer(written.span, composition.name(), &found));
                None
            }
        }
    }

    /// Returns the name of a function of the program, of the library or of the language, if an expression is such a name.
    fn function_named<'w>(&self, written: &'w ast::Expr) -> Option<&'w str> {
        let ast::ExprKind::Name(name) = &*written.without_parentheses().kind else {
            return None;
        };
        let is_function = match self.find_item(name) {
            Some((def, _)) => matches!(def, Some(Def::Fn(_))),
            None => builtin::lookup(name).is_some(),
        };
        (is_function && self.peek_local(name).is_none()).then_some(&**name)
    }

    /// Returns the function that an expression names, if the function has one parameter.
    fn function_of_array(&mut self, written: &ast::Expr) -> Option<TypedExpr> {
        let ast::ExprKind::Name(name) = &*written.without_parentheses().kind else {
            return None;
        };
        if self.peek_local(name).is_some() {
            return None;
        }
        let kind = match (self.find_item(name), builtin::lookup(name)) {
            (Some((Some(Def::Fn(id)), _)), _) if self.module.fns[id].params.len() == 1 => {
                TypedExprKind::FnValue(id)
            }
            (None, Some(builtin)) if matches!(builtin.rule, BuiltinRule::Elementwise(_)) => {
                TypedExprKind::BuiltinValue(builtin)
            }
            _ => return None,
        };
        Some(TypedExpr::new(kind, Ty::Function(1), written.span))
    }
}
