//! Checks `fold(layers, x)`, which applies the layers of a list one after the other.

use super::body::{Checker, error};
use super::call::{Lifts, Signature};
use super::fit::ParamSlot;
use super::made::{LayerRange, Made};
use super::solve::{Solver, all_equal};
use crate::diagnostics::{composed, folds as report};
use crate::dims::{Atom, DimExpr};
use crate::show;
use crate::tree::{Composition, LayerId, LocalId, TypedExpr, TypedExprKind};
use crate::types::{MOST_LAYERS, Ty};
use bnnc_base::source::Span;
use bnnc_grammar::ast;

/// A list of layers, or a layer of such a list.
struct Element {
    /// The variable of the outermost list.
    root: LocalId,
    /// The steps from the variable to the element.
    path: Vec<Step>,
    /// How the list or the layer was constructed.
    made: Made,
}

/// A step from a list, or from a layer that is made of others, to one of its elements.
#[derive(Clone, Copy)]
enum Step {
    /// A position in a list. `None` stands for any position.
    At(Option<i64>),
    /// The part of a composed layer at this position.
    Part(Composition, usize),
}

impl Element {
    fn new(root: LocalId, path: Vec<i64>, made: Made) -> Element {
        let path = path.into_iter().map(|at| Step::At(Some(at))).collect();
        Element { root, path, made }
    }

    fn at(&self, position: Option<i64>, made: Made) -> Element {
        self.step(Step::At(position), made)
    }

    fn step(&self, step: Step, made: Made) -> Element {
        Element {
            root: self.root,
            path: [self.path.as_slice(), &[step]].concat(),
            made,
        }
    }

    /// Returns the positions that lead to an element of a list. Returns `None` for a part of a composed layer.
    fn positions(&self) -> Option<Vec<i64>> {
        let position = |step: &Step| match step {
            Step::At(at) => *at,
            Step::Part(..) => None,
        };
        self.path.iter().map(position).collect()
    }
}

impl Checker<'_> {
    /// Returns the type of `fold(layers, x)`. If the length of the list is known, the layers are checked one by one. If it is
    /// not known, each layer must change every dim by the same amount.
    pub fn fold(&mut self, layers: &TypedExpr, x: &TypedExpr, span: Span) -> Option<Ty> {
        let (Ty::List(_, length), Some((root, path, made))) = (&layers.ty, self.made(layers)) else {
            return self.wrong(layers, "a list of layers");
        };
        if length.as_number() == Some(0) {
            self.report(report::empty(layers.span, &show::name(root, &self.locals)));
            return None;
        }
        let Ty::Tensor(_, dims) = &x.ty else {
            return self.wrong(x, "an array");
        };
        let dims = vec![dims.clone()];
        self.first_call((root, path.clone()), dims, span)?;
        if made.layers().is_some_and(|count| count > MOST_LAYERS) {
            return None;
        }
        self.applied(&Element::new(root, path, made), x, span)
    }

    /// Returns the type of the result of an element of a list: a layer or a list of layers.
    fn applied(&mut self, element: &Element, x: &TypedExpr, span: Span) -> Option<Ty> {
        match &element.made {
            Made::One(id, solver) => self.apply_layer(element, *id, solver.clone(), x, span),
            Made::Shaped(parameter) => {
                let dims = self.array_of_reals(x)?;
                self.applied.insert((*parameter, dims.len()));
                Some(Ty::reals(dims))
            }
            Made::List(elements) => {
                let mut x = x.clone();
                for (at, made) in elements.iter().enumerate() {
                    let inner = element.at(Some(at as i64), made.clone());
                    x.ty = self.applied(&inner, &x, span)?;
                }
                Some(x.ty)
            }
            Made::Function(function) => self.apply_function(element, function, x, span),
            Made::Composed(Composition::Sequential, parts) => {
                let mut x = x.clone();
                for (at, part) in parts.iter().enumerate() {
                    let inner = element.step(Step::Part(Composition::Sequential, at), part.clone());
                    x.ty = self.applied(&inner, &x, span)?;
                }
                Some(x.ty)
            }
            Made::Composed(Composition::Residual, parts) => self.apply_residual(element, parts, x, span),
            Made::Each(each) => match each.length.as_number() {
                Some(count) => {
                    let mut x = x.clone();
                    for at in 0..count {
                        let inner = element.at(Some(at), each.at(&DimExpr::number(at)));
                        x.ty = self.applied(&inner, &x, span)?;
                    }
                    Some(x.ty)
                }
                None => self.by_induction(element, each, x, span),
            },
        }
    }

    /// Checks a list whose length is not a number. The first layer shows by how much a layer changes each dim. The layer at
    /// any position must then turn the dims that this change implies for its position into those for the next position.
    fn by_induction(
        &mut self,
        element: &Element,
        each: &LayerRange,
        x: &TypedExpr,
        span: Span,
    ) -> Option<Ty> {
        let start = x.ty.dims().to_vec();
        let second = self.applied(&element.at(Some(0), each.at(&DimExpr::number(0))), x, span)?;
        if second.dims().len() != start.len() {
            return self.changes(element, &x.ty, &second, span);
        }
        let pairs = second.dims().iter().zip(&start);
        let changes: Vec<DimExpr> = pairs.map(|(second, first)| second.plus(first, -1)).collect();
        let after = |steps: &DimExpr| -> Vec<DimExpr> {
            let dims = start.iter().zip(&changes);
            dims.map(|(first, change)| first.plus(&change.times(steps), 1))
                .collect()
        };
        let steps = DimExpr::atom(Atom::Local(each.counter)).plus(&each.first, -1);
        let mut any = x.clone();
        any.ty = Ty::reals(after(&steps));
        let found = self.applied(&element.at(None, (*each.element).clone()), &any, span)?;
        match all_equal(found.dims(), &after(&steps.plus(&DimExpr::number(1), 1))) {
            true => Some(Ty::reals(after(&each.length))),
            false => self.changes(element, &any.ty, &found, span),
        }
    }

    fn changes(&mut self, element: &Element, from: &Ty, to: &Ty, span: Span) -> Option<Ty> {
        let name = show::name(element.root, &self.locals);
        let [from, to] = [from, to].map(|ty| show::ty(ty, &self.locals));
        self.report(report::irregular(span, &name, &from, &to));
        None
    }

    /// Returns the type of the result of one layer of a list.
    fn apply_layer(
        &mut self,
        element: &Element,
        id: LayerId,
        mut solver: Solver,
        x: &TypedExpr,
        span: Span,
    ) -> Option<Ty> {
        let item = &self.module.layers[id];
        let name = self.name_of(element);
        let [input] = item.inputs.as_slice() else {
            self.report(report::inputs(span, &name, item.inputs.len()));
            return None;
        };
        let wanted = show::ty(&solver.ty(&input.param.ty), &self.locals);
        let before = self.diagnostics.len();
        let signature = Signature::new(&name, &item.inputs, &item.locals, Lifts::No);
        let slot = ParamSlot {
            name: &input.param.name,
            signature,
            lifted: &mut None,
        };
        if !self.fit(x, &input.param.ty, &mut solver, Some(slot)) {
            self.diagnostics.truncate(before);
            let found = show::ty(&x.ty, &self.locals);
            self.report(report::does_not_fit(
                span,
                &name,
                &wanted,
                &found,
                item.name.as_ref(),
            ));
            return None;
        }
        if let Some(path) = element.positions() {
            let dims = vec![solver.ty(&input.param.ty).dims().to_vec()];
            self.first_call((element.root, path), dims, span)?;
        }
        match self.result(&solver.ty(&item.result), signature, span) {
            ty @ Ty::Tensor(..) => Some(ty),
            _ => None,
        }
    }

    /// Checks a call of a layer that is made of other layers.
    pub fn call_composed(&mut self, callee: TypedExpr, args: &[ast::Arg], span: Span) -> TypedExpr {
        let Some((root, path, made)) = self.made(&callee) else {
            return self.skip(args, span);
        };
        let Some(value) = self.one_input(root, args, span) else {
            return error(span);
        };
        let Ty::Tensor(_, dims) = &value.ty else {
            if value.ty != Ty::Error {
                self.wrong::<Ty>(&value, "an array");
            }
            return error(span);
        };
        let dims = vec![dims.clone()];
        if self.first_call((root, path.clone()), dims, span).is_none() {
            return error(span);
        }
        match self.applied(&Element::new(root, path, made), &value, span) {
            Some(ty) => {
                let kind = TypedExprKind::CallLayer(Box::new(callee), None, vec![value]);
                TypedExpr::new(kind, ty, span)
            }
            None => error(span),
        }
    }

    /// Returns the type of the result of a function as a part of a composed layer.
    fn apply_function(
        &mut self,
        element: &Element,
        function: &TypedExpr,
        x: &TypedExpr,
        span: Span,
    ) -> Option<Ty> {
        let TypedExprKind::FnValue(id) = function.kind else {
            return self.array_of_reals(x).map(Ty::reals);
        };
        let item = &self.module.fns[id];
        let [param] = item.params.as_slice() else {
            return None;
        };
        if param.param.ty.is_scalar() {
            return self.array_of_reals(x).map(Ty::reals);
        }
        let name = self.name_of(element);
        let (mut solver, before) = (Solver::default(), self.diagnostics.len());
        let signature = Signature::new(&name, &item.params, &item.locals, Lifts::No);
        let slot = ParamSlot {
            name: &param.param.name,
            signature,
            lifted: &mut None,
        };
        if !self.fit(x, &param.param.ty, &mut solver, Some(slot)) {
            self.diagnostics.truncate(before);
            let wanted = show::ty(&param.param.ty, &item.locals);
            let found = show::ty(&x.ty, &self.locals);
            self.report(report::does_not_fit(span, &name, &wanted, &found, &item.name));
            return None;
        }
        match self.result(&solver.ty(&item.result), signature, span) {
            ty @ Ty::Tensor(..) => Some(ty),
            _ => None,
        }
    }

    /// Returns the type of the result of `Residual(inner, projection)`.
    fn apply_residual(&mut self, element: &Element, parts: &[Made], x: &TypedExpr, span: Span) -> Option<Ty> {
        let part =
            |at: usize| Some(element.step(Step::Part(Composition::Residual, at), parts.get(at)?.clone()));
        let inner = self.applied(&part(0)?, x, span)?;
        let base = match part(1) {
            Some(projection) => self.applied(&projection, x, span)?,
            None => Ty::reals(self.array_of_reals(x)?),
        };
        if all_equal(inner.dims(), base.dims()) {
            return Some(inner);
        }
        let name = self.name_of(element);
        let [inner, base] = [inner, base].map(|ty| show::ty(&ty, &self.locals));
        self.report(composed::sum_of_shapes(span, &name, &inner, &base));
        None
    }

    fn name_of(&self, element: &Element) -> String {
        let text = |step: &Step| match step {
            Step::At(at) => at.map_or("[_]".to_owned(), |at| format!("[{at}]")),
            Step::Part(composition, at) => composition.path(*at),
        };
        let path: String = element.path.iter().map(text).collect();
        format!("{}{path}", show::name(element.root, &self.locals))
    }
}
