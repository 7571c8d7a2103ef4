//! Collects the elements of outputs that an expression reads. The analysis follows variables,
//! functions, ranges and `if`.

use super::scope::{DEEPEST, Meaning, ReadScope, is_integer, result};
use crate::builtin::{Along, BuiltinRule};
use crate::elaborate::linear::{AffineExpr, Forms};
use crate::tree::{
    LocalId, ModelItem, Module, TypedComprehension, TypedExpr, TypedExprKind, TypedIndex, TypedStmt,
};
use bnnc_base::source::Span;
use bnnc_grammar::ast::BinaryOp;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A range of output elements that a distribution reads.
#[derive(Clone, Debug)]
pub struct Read {
    /// The output.
    pub output: LocalId,
    /// The first and the last element.
    pub ends: [AffineExpr; 2],
    /// False if it depends on data or on a function which of these elements are read.
    pub is_certain: bool,
    /// The position of the read in the program.
    pub span: Span,
}

/// Collects the output elements that the expressions of a model read.
pub struct ElementReader<'m> {
    pub(super) module: &'m Module,
    /// The number of elements of each output.
    pub outputs: HashMap<LocalId, i64>,
    pub(super) sizes: HashMap<LocalId, i64>,
    /// The definitions of the model that read outputs, directly or through other definitions, and the
    /// definitions of integers.
    pub(super) lets: HashMap<LocalId, &'m TypedExpr>,
    /// The linear forms of counters, for ranges that are analysed symbolically.
    pub forms: Forms,
    /// True if each position of a range is visited separately.
    pub enumerates: bool,
    /// The number of expressions visited so far.
    pub steps: usize,
    /// The number of expressions after which the analysis stops.
    pub most_steps: usize,
    /// The reads found so far.
    pub found: Vec<Read>,
    /// The cached reads of the definitions in the scope of the current element.
    known: HashMap<LocalId, Vec<Read>>,
    /// The level of the current element's scope. Inner scopes have higher levels.
    outer: usize,
    /// The number of definitions through which the current elements were followed.
    followed: usize,
}

/// The number of definitions through which single elements are followed. In a longer chain of
/// definitions, it is not certain which elements are read. The limit is needed because the analysis is
/// recursive.
const MOST_FOLLOWED: usize = 500;

impl<'m> ElementReader<'m> {
    /// Creates a reader for a model. `sizes` contains the sizes of the model's dim names.
    pub fn new(module: &'m Module, item: &'m ModelItem, sizes: HashMap<LocalId, i64>) -> ElementReader<'m> {
        let mut reader = ElementReader {
            module,
            outputs: HashMap::new(),
            sizes,
            lets: HashMap::new(),
            forms: Forms::default(),
            enumerates: false,
            steps: 0,
            most_steps: usize::MAX,
            found: Vec::new(),
            known: HashMap::new(),
            outer: 0,
            followed: 0,
        };
        for output in &item.outputs {
            let dims = item.locals[output.local].ty.dims();
            let size = dims.first().map_or(Some(1), |dim| reader.size(dim));
            reader.outputs.extend(size.map(|size| (output.local, size)));
        }
        // A definition follows the definitions that it uses.
        for stmt in &item.body {
            if let TypedStmt::Let(local, value) = stmt
                && (is_integer(&value.ty) || reader.mentions_outputs(value))
            {
                reader.lets.insert(*local, value);
            }
        }
        reader
    }

    /// Returns whether an expression contains an output, or a definition in `lets`.
    fn mentions_outputs(&self, expr: &TypedExpr) -> bool {
        crate::walk::any(expr, &mut |part| match &part.kind {
            TypedExprKind::Local(local) => self.outputs.contains_key(local) || self.lets.contains_key(local),
            _ => false,
        })
    }

    /// Returns whether the analysis has stopped at the step limit.
    pub fn is_exhausted(&self) -> bool {
        self.steps > self.most_steps
    }

    /// Collects the reads of an expression. `is_certain` is false if a run might not evaluate the
    /// expression.
    pub fn visit(&mut self, expr: &'m TypedExpr, scope: &ReadScope<'_, 'm>, is_certain: bool) {
        self.steps += 1;
        if self.is_exhausted() {
            return;
        }
        match &expr.kind {
            TypedExprKind::Local(local) => match self.meaning(*local, scope) {
                Meaning::Output => self.whole(*local, is_certain, expr.span),
                Meaning::Expression(own, None) if scope.level() == self.outer => {
                    self.defined((*local, own), expr.span, scope, is_certain);
                }
                Meaning::Expression(own, around) => {
                    self.visit_at(expr.span, own, around.unwrap_or(scope), is_certain);
                }
                Meaning::Integer(_) | Meaning::Other => {}
            },
            TypedExprKind::If(condition, yes, no) => {
                self.visit(condition, scope, is_certain);
                let decided = self.decided(condition, scope);
                for (part, skipped) in [(yes, Some(false)), (no, Some(true))] {
                    if decided != skipped {
                        self.visit(part, scope, is_certain && decided.is_some());
                    }
                }
            }
            TypedExprKind::Index(base, indices) => {
                let ends = self.ends_of(indices, scope, is_certain);
                self.elements(base, (ends, expr.span), scope, is_certain);
            }
            TypedExprKind::Comprehension(inner) | TypedExprKind::Reduce(_, inner) => {
                self.visit(&inner.from, scope, is_certain);
                self.visit(&inner.to, scope, is_certain);
                self.range(inner, None, scope, is_certain);
            }
            TypedExprKind::CallFn(id, args) if scope.depth() < DEEPEST => {
                match (self.call(*id, args, scope), result(&self.module.fns[*id].body)) {
                    // Errors then do not point into the library.
                    (Some(call), Some(result)) => self.visit_at(expr.span, result, &call, is_certain),
                    _ => args.iter().for_each(|arg| self.visit(arg, scope, false)),
                }
            }
            TypedExprKind::CallFn(_, args) => args.iter().for_each(|arg| self.visit(arg, scope, false)),
            _ => {
                let parts = crate::walk::children(expr).into_iter();
                parts.for_each(|part| self.visit(part, scope, is_certain));
            }
        }
    }

    /// Collects the reads of an expression that stands elsewhere, as reads at `span`.
    fn visit_at(&mut self, span: Span, expr: &'m TypedExpr, scope: &ReadScope<'_, 'm>, is_certain: bool) {
        let first = self.found.len();
        self.visit(expr, scope, is_certain);
        self.found[first..].iter_mut().for_each(|read| read.span = span);
    }

    /// Collects the reads of a definition in the outermost scope, without duplicates. The number of
    /// duplicates could grow exponentially along a chain of definitions.
    fn defined(
        &mut self,
        (local, own): (LocalId, &'m TypedExpr),
        span: Span,
        scope: &ReadScope<'_, 'm>,
        is_certain: bool,
    ) {
        for (local, own) in self.unknown((local, own), scope) {
            let first = self.found.len();
            self.visit(own, scope, true);
            let mut seen = HashSet::new();
            let own = self.found.drain(first..);
            let distinct = own.filter(|read| seen.insert((read.output, read.ends.clone(), read.is_certain)));
            self.known.insert(local, distinct.collect());
        }
        let known = self.known.get(&local).into_iter().flatten();
        let here = known.map(|read| Read {
            is_certain: is_certain && read.is_certain,
            span,
            ..read.clone()
        });
        self.found.extend(here);
    }

    /// Returns the definitions whose reads must be collected to know those of a definition, in the
    /// order of the program, so that the depth of the recursion does not grow along a chain of
    /// definitions.
    fn unknown(
        &self,
        definition: (LocalId, &'m TypedExpr),
        scope: &ReadScope<'_, 'm>,
    ) -> BTreeMap<LocalId, &'m TypedExpr> {
        let (mut unknown, mut open) = (BTreeMap::new(), vec![definition]);
        while let Some((local, own)) = open.pop() {
            if self.known.contains_key(&local) || unknown.insert(local, own).is_some() {
                continue;
            }
            crate::walk::any(own, &mut |part| {
                if let TypedExprKind::Local(local) = &part.kind
                    && let Meaning::Expression(own, None) = self.meaning(*local, scope)
                {
                    open.push((*local, own));
                }
                false
            });
        }
        unknown
    }

    /// Discards all reads and starts collecting those of another element, whose definitions are in
    /// `scope`.
    pub fn begin(&mut self, scope: &ReadScope<'_, 'm>) {
        self.found.clear();
        self.known.clear();
        self.outer = scope.level();
    }

    /// Returns the first and the last position that the indices select along the first axis.
    fn ends_of(
        &mut self,
        indices: &'m [TypedIndex],
        scope: &ReadScope<'_, 'm>,
        is_certain: bool,
    ) -> Option<[AffineExpr; 2]> {
        for index in indices {
            match index {
                TypedIndex::At(at) => self.visit(at, scope, is_certain),
                TypedIndex::Range(from, to) => {
                    self.visit(from, scope, is_certain);
                    self.visit(to, scope, is_certain);
                }
            }
        }
        match indices.first()? {
            TypedIndex::At(at) => {
                let at = self.integer(at, scope)?;
                Some([at.clone(), at])
            }
            TypedIndex::Range(from, to) => {
                let (from, to) = (self.integer(from, scope)?, self.integer(to, scope)?);
                Some([from, to.plus(&AffineExpr::number(1), -1)?])
            }
        }
    }

    /// Collects the reads of some elements of an array. `ends` contains the first and the last of
    /// these elements, or `None` if they are not known.
    pub fn elements(
        &mut self,
        base: &'m TypedExpr,
        (ends, span): (Option<[AffineExpr; 2]>, Span),
        scope: &ReadScope<'_, 'm>,
        is_certain: bool,
    ) {
        self.steps += 1;
        if self.is_exhausted() {
            return;
        }
        let Some(ends) = ends else {
            return self.visit(base, scope, false);
        };
        match &base.kind {
            TypedExprKind::Local(local) => match self.meaning(*local, scope) {
                Meaning::Output => self.found.push(Read {
                    output: *local,
                    ends,
                    is_certain,
                    span,
                }),
                Meaning::Expression(..) if self.followed == MOST_FOLLOWED => self.visit(base, scope, false),
                Meaning::Expression(own, around) => {
                    self.followed += 1;
                    self.elements(own, (Some(ends), span), around.unwrap_or(scope), is_certain);
                    self.followed -= 1;
                }
                Meaning::Integer(_) | Meaning::Other => {}
            },
            TypedExprKind::Comprehension(inner) => self.range(inner, Some(ends), scope, is_certain),
            TypedExprKind::Index(array, indices) => {
                let outer = self.ends_of(indices, scope, is_certain);
                let ends = match (indices.first(), outer) {
                    (Some(TypedIndex::Range(..)), Some([first, _])) => shifted(&ends, &first),
                    // The index of the inner access selects one position along the first axis, so
                    // `outer` applies to the element there.
                    (_, outer) => outer,
                };
                self.elements(array, (ends, span), scope, is_certain);
            }
            TypedExprKind::If(condition, yes, no) => {
                self.visit(condition, scope, is_certain);
                let decided = self.decided(condition, scope);
                for (part, skipped) in [(yes, Some(false)), (no, Some(true))] {
                    if decided != skipped {
                        let certain = is_certain && decided.is_some();
                        self.elements_of_part(part, (base, (&ends, span)), scope, certain);
                    }
                }
            }
            TypedExprKind::List(parts) => self.listed(parts, &ends, scope, is_certain),
            TypedExprKind::CallFn(id, args) if scope.depth() < DEEPEST => {
                match (self.call(*id, args, scope), result(&self.module.fns[*id].body)) {
                    (Some(call), Some(result)) => {
                        self.elements(result, (Some(ends), span), &call, is_certain);
                    }
                    _ => self.visit(base, scope, false),
                }
            }
            TypedExprKind::Builtin(builtin, args) => match (builtin.rule, &args[..]) {
                (BuiltinRule::LastAxis(Along::Cumsum), [arg]) if arg.ty.dims().len() == 1 => {
                    let [_, last] = ends;
                    let ends = [AffineExpr::number(0), last];
                    self.elements(arg, (Some(ends), span), scope, is_certain);
                }
                (BuiltinRule::Concat, [first, second]) => {
                    self.joined([first, second], (ends, span), scope, is_certain);
                }
                (BuiltinRule::Elementwise(_) | BuiltinRule::Same(_), _)
                | (BuiltinRule::Extremum(..), [_, _]) => {
                    for arg in args {
                        self.elements_of_part(arg, (base, (&ends, span)), scope, is_certain);
                    }
                }
                _ => self.visit(base, scope, false),
            },
            TypedExprKind::Unary(_, operand) => {
                self.elements_of_part(operand, (base, (&ends, span)), scope, is_certain);
            }
            TypedExprKind::Binary(op, left, right) if *op != BinaryOp::MatMul => {
                for part in [left, right] {
                    self.elements_of_part(part, (base, (&ends, span)), scope, is_certain);
                }
            }
            _ => self.visit(base, scope, false),
        }
    }

    /// Collects the reads of some elements of a list.
    fn listed(
        &mut self,
        parts: &'m [TypedExpr],
        ends: &[AffineExpr; 2],
        scope: &ReadScope<'_, 'm>,
        is_certain: bool,
    ) {
        match ends.each_ref().map(AffineExpr::as_number) {
            [Some(first), Some(last)] if first >= 0 => {
                let count = usize::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(0);
                let read = parts.iter().skip(first as usize).take(count);
                read.for_each(|part| self.visit(part, scope, is_certain));
            }
            _ => parts.iter().for_each(|part| self.visit(part, scope, false)),
        }
    }

    /// Collects the reads of an operand of an elementwise operation of which only some elements are
    /// needed. A scalar operand is always needed.
    fn elements_of_part(
        &mut self,
        part: &'m TypedExpr,
        (whole, read): (&'m TypedExpr, (&[AffineExpr; 2], Span)),
        scope: &ReadScope<'_, 'm>,
        is_certain: bool,
    ) {
        match part.ty.dims().len() == whole.ty.dims().len() {
            true => self.elements(part, (Some(read.0.clone()), read.1), scope, is_certain),
            false => self.visit(part, scope, is_certain),
        }
    }

    /// Collects the reads of some elements of two concatenated arrays.
    fn joined(
        &mut self,
        [first, second]: [&'m TypedExpr; 2],
        (ends, span): ([AffineExpr; 2], Span),
        scope: &ReadScope<'_, 'm>,
        is_certain: bool,
    ) {
        let size = first.ty.dims().first().and_then(|dim| self.size(dim));
        let [low, high] = ends.each_ref().map(|end| self.forms.ends(end));
        let (Some(size), Some((low, _)), Some((_, high))) = (size, low, high) else {
            return [first, second]
                .into_iter()
                .for_each(|part| self.visit(part, scope, false));
        };
        let is_split = low < size && high >= size;
        if low < size {
            let end = match is_split {
                true => AffineExpr::number(size - 1),
                false => ends[1].clone(),
            };
            let own = Some([ends[0].clone(), end]);
            self.elements(first, (own, span), scope, is_certain);
        }
        if high >= size {
            let start = match is_split {
                true => AffineExpr::number(size),
                false => ends[0].clone(),
            };
            let own = shifted(&[start, ends[1].clone()], &AffineExpr::number(-size));
            self.elements(second, (own, span), scope, is_certain);
        }
    }

    /// Collects the reads of all elements of a comprehension, or of some of them.
    fn range(
        &mut self,
        inner: &'m TypedComprehension,
        part: Option<[AffineExpr; 2]>,
        scope: &ReadScope<'_, 'm>,
        is_certain: bool,
    ) {
        let from = self.integer(&inner.from, scope);
        let ends = match part {
            Some(part) => from.and_then(|from| shifted(&part, &from)),
            None => from.zip(self.integer(&inner.to, scope)).and_then(|(from, to)| {
                let last = to.plus(&AffineExpr::number(1), -1)?;
                Some([from, last])
            }),
        };
        match ends {
            Some([first, last]) if first == last => {
                self.visit(&inner.element, &scope.counter(inner.counter, first), is_certain);
            }
            Some([first, last]) => match (first.as_number(), last.as_number(), self.enumerates) {
                (Some(first), Some(last), true) => {
                    for at in first..=last {
                        let inside = scope.counter(inner.counter, AffineExpr::number(at));
                        self.visit(&inner.element, &inside, is_certain);
                        if self.is_exhausted() {
                            return;
                        }
                    }
                }
                _ => {
                    let counter = self.forms.counter([first, last]);
                    self.visit(&inner.element, &scope.counter(inner.counter, counter), is_certain);
                }
            },
            None => self.visit(&inner.element, scope, false),
        }
    }

    fn whole(&mut self, output: LocalId, is_certain: bool, span: Span) {
        let size = self.outputs.get(&output).copied().unwrap_or(1);
        self.found.push(Read {
            output,
            ends: [0, size - 1].map(AffineExpr::number),
            is_certain,
            span,
        });
    }
}

/// Converts positions relative to `from` to positions from the start, by adding `from`.
fn shifted(ends: &[AffineExpr; 2], from: &AffineExpr) -> Option<[AffineExpr; 2]> {
    Some([ends[0].plus(from, 1)?, ends[1].plus(from, 1)?])
}
