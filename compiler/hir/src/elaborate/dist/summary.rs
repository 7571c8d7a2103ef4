//! Elaborates the parts of a distribution that depend only on its parameters: moments, the entropy,
//! and class probabilities.

use super::{InstanceBuilder, present};
use crate::elaborate::datum::Datum;
use crate::elaborate::frame::Elaborated;
use crate::parts::{DistributionPart, PartResult};
use bnnc_base::shape::Shape;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;
use std::sync::Arc;

impl InstanceBuilder<'_, '_, '_> {
    /// Elaborates a part as a function of the parameters. For a moment, the order is an additional
    /// argument. Returns `None` if the distribution does not declare the part.
    pub(super) fn summary(&mut self, part: DistributionPart) -> Elaborated<Option<Arc<Function>>> {
        let item = self.item();
        let functions = item.functions.iter();
        let function = functions
            .map(|(known, order, body)| (*known, Some(*order), body))
            .chain(item.values.iter().map(|(known, body)| (*known, None, body)))
            .find(|(known, ..)| *known == part);
        let Some((_, order, body)) = function else {
            return Ok(None);
        };
        let function = self.function(part.name(), |this, frame| {
            if let Some(order) = order {
                let value = this
                    .elaborator
                    .builder
                    .param("order", Type::real(Shape::scalar()));
                frame.values.insert(order, Datum::Tensor(value));
            }
            let datum = this.elaborator.expr(body, frame)?;
            let value = this.elaborator.real(&datum, this.span)?;
            this.summary_shaped(part, value).map(Some)
        });
        present(function)
    }

    /// Converts a moment to the shape of the distribution's value. Class probabilities keep their
    /// own shape. The entropy becomes the sum over all elements.
    fn summary_shaped(&mut self, part: DistributionPart, value: Value) -> Elaborated<Value> {
        match part.result() {
            PartResult::Classes => Ok(value),
            PartResult::Number if !self.item().elementwise => Ok(value),
            PartResult::Number => self.total(value),
            PartResult::Moment | PartResult::Value => self.shaped(value),
        }
    }
}
