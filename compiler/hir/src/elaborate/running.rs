//! Elaborates running means: one node, and one stored value, for each path.

use super::datum::Datum;
use super::frame::{Elaborated, Elaborator};
use super::model::limit;
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_base::source::Span;
use bnnc_graph::builder::Operation;
use bnnc_graph::function::{NodeKind, Value};
use bnnc_graph::model::RunningMean;
use bnnc_graph::ops;
use std::sync::Arc;

/// A running mean of several quantities.
pub static MEAN_OF_SEVERAL: Code = Code {
    id: "E0277",
    title: "a running mean of several quantities",
    explain: "A running mean stores one value for its name. A layer with a running mean, such as `BatchNorm`, can therefore be \
              called only once, and outside ranges such as `[norm(x[i]) for i in 0..n]`.\n\n    \
              h = norm(a(norm(x)))             # wrong, for `norm = BatchNorm()`\n    \
              h = second(a(first(x)))          # right, for `first = BatchNorm()` and `second = BatchNorm()`",
};

/// Reports a running mean whose line is elaborated for several values.
fn mean_of_several(span: Span, name: &str) -> Box<Diagnostic> {
    let text = format!("`{name}` would be the running mean of several quantities");
    let diagnostic = Diagnostic::error(&MEAN_OF_SEVERAL, span, text);
    Box::new(
        diagnostic.help("give each call a layer of its own: `first = BatchNorm()`, `second = BatchNorm()`"),
    )
}

impl Elaborator<'_> {
    /// Elaborates `name = running_mean(x, momentum, start)`.
    pub fn running_mean(&mut self, name: &str, args: &[Datum], span: Span) -> Elaborated<Datum> {
        let [x, momentum, start] = args else {
            return Err(limit(span, "a running mean has three arguments".to_owned()));
        };
        if self.ranges_open > 0 || self.running.iter().any(|known| *known.name == *name) {
            return Err(mean_of_several(span, name));
        }
        let x = self.real(x, span)?;
        let momentum = self.number_of(momentum, "momentum", span)?;
        let start = self.number_of(start, "start", span)?;
        let value = self.apply(Operation::running_mean(x, name), span)?;
        let name: Arc<str> = name.into();
        let ty = self.ty(value);
        self.running.push(RunningMean {
            name,
            ty,
            momentum,
            start,
        });
        Ok(Datum::Tensor(value))
    }

    /// Returns the value of a constant.
    fn number_of(&mut self, datum: &Datum, what: &str, span: Span) -> Elaborated<f64> {
        let value = self.real(datum, span)?;
        let text = || format!("`{what}` must be a constant number");
        self.known_number(value).ok_or_else(|| limit(span, text()))
    }

    fn known_number(&self, value: Value) -> Option<f64> {
        match &self.builder.function().nodes[value].kind {
            NodeKind::Apply { op, attrs, .. } if op.is(&ops::constant::CONSTANT) => {
                Some(ops::constant::value(attrs))
            }
            NodeKind::Apply { .. } | NodeKind::Param(_) => None,
        }
    }
}
