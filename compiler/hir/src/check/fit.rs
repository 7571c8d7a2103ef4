//! Checks whether a value fits an expected type.

use super::body::{BodyKind, Checker};
use super::call::{Lifts, Signature};
use super::operators::column_hint;
use super::solve::{Solver, all_equal};
use crate::diagnostics::types as report;
use crate::dims::{Atom, DimExpr};
use crate::show;
use crate::sign::is_signed;
use crate::tree::{LocalKind, Locals, TypedExpr, TypedExprKind};
use crate::types::{Elem, Ty};
use bnnc_base::number::exact;
use bnnc_base::source::Span;
use bnnc_graph::dist::Support;

/// The parameter to which a value is passed, and all dims over which the call has been lifted so far.
pub struct ParamSlot<'s> {
    /// The parameter's name.
    pub name: &'s str,
    /// The signature of the callee.
    pub signature: Signature<'s>,
    /// The dims of the arrays that are passed for scalar parameters, and the position of the first
    /// such array.
    pub lifted: &'s mut Option<(Vec<DimExpr>, Span)>,
}

impl Checker<'_> {
    /// Checks a value against an expected type. If a slot is given, messages name its parameter,
    /// and an array may be passed for a scalar parameter.
    pub fn fit(
        &mut self,
        value: &TypedExpr,
        wanted: &Ty,
        solver: &mut Solver,
        slot: Option<ParamSlot<'_>>,
    ) -> bool {
        let what = slot.as_ref().map(|slot| slot.name.to_owned());
        let is_code = matches!(wanted, Ty::Dist(_) | Ty::Function(_) | Ty::ShapedLayer);
        let callee = slot.as_ref().filter(|_| is_code).map(|slot| slot.signature);
        let fits = match (wanted, &value.ty) {
            (Ty::Error, _) | (_, Ty::Error) => return true,
            (Ty::Tensor(elem, dims), Ty::Tensor(found, found_dims)) => {
                let fits = elem_fits(elem, found, solver, value.span);
                match slot {
                    Some(slot) if fits && dims.is_empty() && !found_dims.is_empty() => {
                        return self.lift(value, found_dims, slot)
                            && self.check_support(value, elem, what.as_deref(), solver);
                    }
                    _ => {
                        fits && dims.len() == found_dims.len()
                            && dims
                                .iter()
                                .zip(found_dims)
                                .all(|(dim, found)| solver.meet(dim, found, value.span))
                    }
                }
            }
            (Ty::Dist(Elem::Real(Support::Real)), Ty::Dist(found)) => {
                return self.fit_dist(value, found, slot);
            }
            (Ty::ShapedLayer, Ty::Layer(_) | Ty::ComposedLayer) => self.keeps_dims(value),
            (wanted, found) => wanted == found,
        };
        if fits {
            let Ty::Tensor(elem, _) = wanted else { return true };
            return self.check_support(value, elem, what.as_deref(), solver);
        }
        let expected = match wanted {
            Ty::Dist(_) => "a distribution on real".to_owned(),
            Ty::Function(_) => "a function of one real".to_owned(),
            Ty::ShapedLayer => {
                "a layer whose output has the dims of its input, such as `BatchNorm()`".to_owned()
            }
            wanted => show::ty(&solver.ty(wanted), &self.locals),
        };
        let found = match value.ty {
            Ty::Layer(id) => format!("the layer `{}`", self.module.layers[id].name),
            Ty::ComposedLayer => "a layer that changes them".to_owned(),
            _ => show::ty(&value.ty, &self.locals),
        };
        let mut diagnostic = match &what {
            Some(name) => report::argument_mismatch(value.span, name, &expected, &found),
            None => report::mismatch(value.span, &expected, &found),
        };
        // If there is a number where a distribution is expected, the call often has one argument
        // too many before it.
        if let Some(callee) = callee {
            let names = callee.params.iter().map(|param| &*param.param.name);
            diagnostic = diagnostic.help(report::takes(callee.name, names));
        }
        if let (Ty::Tensor(elem, dims), Ty::Tensor(found, found_dims)) = (&solver.ty(wanted), &value.ty) {
            let column = column_hint(found_dims, dims).map(str::to_owned);
            diagnostic = diagnostic.help_if(column.or_else(|| image_hint(found_dims, dims, &self.locals)));
            if *elem != Elem::Bool {
                diagnostic = report::with_bool_help(diagnostic, &show::elem(found, &self.locals));
            }
        }
        if let Ty::Tensor(_, dims) = wanted {
            let at = dims.iter().find_map(|dim| bound_by(dim, solver));
            if let Some((dim, span)) = at.filter(|(_, span)| *span != value.span) {
                diagnostic =
                    diagnostic.also(span, format!("{} comes from here", show::dim(&dim, &self.locals)));
            }
        }
        self.report(diagnostic);
        false
    }

    fn fit_dist(&mut self, value: &TypedExpr, found: &Elem, slot: Option<ParamSlot<'_>>) -> bool {
        let known = self.dist_value(value);
        let joint = known.as_ref().is_some_and(|known| !known.elementwise);
        if joint || *found != Elem::Real(Support::Real) {
            let found = match joint {
                true => "a joint distribution".to_owned(),
                false => format!("a distribution on {}", show::elem(found, &self.locals)),
            };
            let expected = "a distribution on real";
            self.report(match slot {
                Some(slot) => report::argument_mismatch(value.span, slot.name, expected, &found),
                None => report::mismatch(value.span, expected, &found),
            });
            return false;
        }
        match (slot, known) {
            (Some(slot), Some(known)) if !known.dims.is_empty() => self.lift(value, &known.dims, slot),
            _ => true,
        }
    }

    /// Lifts the call over the dims of an array that is passed for a scalar parameter.
    fn lift(&mut self, value: &TypedExpr, dims: &[DimExpr], slot: ParamSlot<'_>) -> bool {
        let found = match &value.ty {
            Ty::Dist(_) => format!("a distribution over {}", show::brackets(dims, &self.locals)),
            ty => show::ty(ty, &self.locals),
        };
        match slot.signature.lifts {
            Lifts::Yes => {}
            Lifts::No => {
                self.report(report::argument_mismatch(
                    value.span, slot.name, "a scalar", &found,
                ));
                return false;
            }
            Lifts::But(at, what) => {
                let callee = slot.signature.name;
                self.report(report::does_not_lift(value.span, callee, &found, at, what));
                return false;
            }
        }
        match slot.lifted {
            None => {
                *slot.lifted = Some((dims.to_vec(), value.span));
                true
            }
            Some((first, at)) => {
                let same = all_equal(first, dims);
                if !same {
                    let op = format!("`{}`", slot.signature.name);
                    let diagnostic = self.dims_differ(value.span, &op, (first, *at), (dims, value.span));
                    self.report(diagnostic.help_if(column_hint(first, dims)));
                }
                same
            }
        }
    }

    /// Checks whether a value can lie in the expected support. If only a part of the value's range
    /// lies in the support, the check is left to the run.
    pub fn check_support(
        &mut self,
        value: &TypedExpr,
        wanted: &Elem,
        what: Option<&str>,
        solver: &Solver,
    ) -> bool {
        let (low, high) = self.range_of(value);
        let refuted = match wanted {
            Elem::Real(support) => crate::range::refuted((low, high), *support),
            Elem::Count => high < 0.0,
            Elem::Index(size) => {
                let size = solver.dim(size).as_number().unwrap_or(i64::MAX) as f64;
                high < 0.0 || low >= size
            }
            Elem::Int | Elem::Bool => false,
        };
        let least = match wanted {
            Elem::Real(Support::Interval(from, _)) => *from,
            _ => 0.0,
        };
        if let Elem::Real(support @ (Support::Interval(..) | Support::Simplex)) = wanted
            && !refuted
            && low < least
        {
            self.either_sign(value, what, *support);
        }
        if refuted {
            let expected = match wanted {
                Elem::Real(Support::Interval(low, high)) if low.is_finite() && high.is_finite() => {
                    format!("between {low} and {high}")
                }
                Elem::Real(support) => show::support(*support),
                other => show::elem(&solver.elem(other), &self.locals),
            };
            let what = what.map_or("this".to_owned(), |name| format!("`{name}`"));
            self.report(report::support(
                value.span,
                &what,
                &expected,
                &range_text(low, high),
            ));
        }
        !refuted
    }

    /// Warns if a parameter on the reals, or a sum of such parameters, is used where a narrower support is
    /// expected.
    fn either_sign(&mut self, value: &TypedExpr, what: Option<&str>, wanted: Support) {
        let places = matches!(self.place, BodyKind::Model | BodyKind::Layer);
        if self.in_library || !places || !is_signed(self.module, &self.locals, &self.signed, value) {
            return;
        }
        let what = what.map_or("this".to_owned(), |name| format!("`{name}`"));
        let support = show::support(wanted);
        self.report(match &value.kind {
            TypedExprKind::Local(local) if self.locals[*local].kind == LocalKind::Site => {
                let site = &self.locals[*local];
                report::signed_parameter(value.span, &what, &support, (&site.name, site.span))
            }
            _ if wanted == Support::Simplex => report::signed_simplex(value.span, &what),
            _ => report::signed_sum(value.span, &what, &support),
        });
    }
}

/// Returns whether a value with the element type `found` fits where `wanted` is expected.
fn elem_fits(wanted: &Elem, found: &Elem, solver: &mut Solver, span: Span) -> bool {
    match (wanted, found) {
        (Elem::Real(_), found) => *found != Elem::Bool,
        (Elem::Index(wanted), Elem::Index(found)) => solver.meet(wanted, found, span),
        (Elem::Int | Elem::Count | Elem::Index(_), found) => found.is_integral(),
        (Elem::Bool, found) => *found == Elem::Bool,
    }
}

/// Returns the value of the argument that determined a dimension of the callee, and its position.
fn bound_by(dim: &DimExpr, solver: &Solver) -> Option<(DimExpr, Span)> {
    dim.terms.keys().flatten().find_map(|atom| match atom {
        Atom::Local(local) => solver.get(*local).cloned(),
        Atom::Meta(_) | Atom::Div(..) => None,
    })
}

pub(super) fn range_text(low: f64, high: f64) -> String {
    // Adding zero turns a negative zero into a positive one, so that messages do not show `-0`.
    let (low, high) = (low + 0.0, high + 0.0);
    match (low, high) {
        (low, high) if low == high => exact(low),
        (f64::NEG_INFINITY, high) => format!("at most {}", exact(high)),
        (low, f64::INFINITY) => format!("at least {}", exact(low)),
        (low, high) => format!("between {} and {}", exact(low), exact(high)),
    }
}

/// Suggests a conversion if a vector is found where an image (channels, rows and columns) is expected, or an image where a
/// vector is expected.
fn image_hint(found: &[DimExpr], wanted: &[DimExpr], locals: &Locals) -> Option<String> {
    match (found, wanted) {
        ([size], [_, _, _]) => Some(format!(
            "make each number a channel of one pixel: `reshape(.., {}, 1, 1)`; `flatten` turns the result into a vector again",
            show::dim(size, locals)
        )),
        ([height, width], [_, _, _]) => Some(format!(
            "make it an image with one channel: `reshape(.., 1, {}, {})`, or declare the input with three axes",
            show::dim(height, locals),
            show::dim(width, locals)
        )),
        ([_, _, _], [_]) => Some("turn the image into a vector: `flatten(..)`".to_owned()),
        _ => None,
    }
}
