//! Elaborates running means. There is one node and one stored value for each path.

use super::datum::Datum;
use super::frame::{Elaborated, Elaborator};
use crate::diagnostics::elaborate::limit;
use crate::diagnostics::running::mean_of_several;
use bnnc_base::source::Span;
use bnnc_graph::builder::Operation;
use bnnc_graph::function::{NodeKind, Value};
use bnnc_graph::model::RunningMean;
use bnnc_graph::ops;
use std::sync::Arc;

impl Elaborator<'_> {
    /// Elaborates `name = running_mean(x, momentum, start)`.
    pub fn running_mean(&mut self, name: &str, args: &[Datum], span: Span) -> Elaborated<Datum> {
        let [x, momentum, start] = args else {
            return Err(limit(span, "a running mean has three arguments"));
        };
        if self.ranges_open > 0 || self.running.iter().any(|known| *known.name == *name) {
            return Err(mean_of_several(span, name));
        }
        let x = self.real(x, span)?;
        let momentum = self.number_of(momentum, "momentum", span)?;
        if !(momentum > 0.0 && momentum <= 1.0) {
            let text = format!("the momentum of a running mean is above 0 and at most 1, not {momentum}");
            return Err(limit(span, text));
        }
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
