//! Restricts distributions to a declared type that is narrower than their own support.

use super::InstanceBuilder;
use crate::diagnostics::elaborate::limit;
use crate::elaborate::frame::Elaborated;
use bnnc_graph::dist::{MeasureKind, Support};
use bnnc_graph::function::Value;
use bnnc_math::special::lgamma;

impl InstanceBuilder<'_, '_, '_> {
    /// Returns whether the density is improper. Such a density does not have a normalising
    /// constant, so a restriction does not change it.
    pub(super) fn is_improper(&self) -> bool {
        self.item().measure == MeasureKind::Improper
    }

    /// Returns the support of the values. This is the declared support if it is narrower than the
    /// distribution's own support, and the own support otherwise. With a narrower support, the
    /// density must be divided by the probability of this support. The function fails if this
    /// probability is not known.
    pub(super) fn restricted(&self, own: Support, declared: Support) -> Elaborated<Support> {
        let item = self.item();
        let support = narrower(own, declared);
        let sizes = self.value.shape.static_sizes().unwrap_or_default();
        if support == Support::Simplex && sizes.last().is_some_and(|size| *size < 2) {
            let text = format!("a value of `{}` with one element is always 1", item.name);
            let help = "give the simplex at least two elements, or remove the quantity";
            return Err(Box::new(limit(self.span, text).help(help)));
        }
        if support == own || self.is_improper() {
            return Ok(support);
        }
        let scalar_parameters = self.params.iter().all(|(_, ty)| ty.rank() == 0);
        let (why, help) = match support {
            _ if !item.elementwise => (
                "is a joint distribution, whose probability on the declared type is not known",
                "declare the type on which the distribution itself is defined",
            ),
            Support::Simplex => (
                "has independent elements, which have no density on a simplex",
                "use a distribution `on simplex(k)`, such as `Dirichlet`",
            ),
            Support::Ordered if !scalar_parameters => (
                "has parameters that differ between elements, so that its probability on increasing vectors is not known",
                "give all elements the same parameters, or build the vector from a first element and positive steps",
            ),
            Support::Ordered | Support::Real | Support::Interval(..) | Support::Integers(_) => {
                return Ok(support);
            }
        };
        let diagnostic = limit(self.span, format!("`{}` {why}", item.name));
        Err(Box::new(diagnostic.help(help)))
    }

    /// Converts the log density of unordered vectors into the log density of increasing vectors.
    /// It adds `log k!` for each vector, because all `k!` orders of independent, identically
    /// distributed elements are equally likely.
    pub(super) fn of_orders(&mut self, log_density: Value) -> Value {
        let sizes = self.value.shape.static_sizes().unwrap_or_default();
        let (Some((last, leading)), false) = (sizes.split_last(), self.is_improper()) else {
            return log_density;
        };
        let log_factorial = lgamma(*last as f64 + 1.0);
        let vectors: usize = leading.iter().product();
        self.elaborator
            .builder
            .shift(log_density, vectors as f64 * log_factorial)
    }
}

/// Returns the declared support if it is narrower than the support of the distribution.
fn narrower(own: Support, declared: Support) -> Support {
    match (own, declared) {
        (Support::Real, Support::Interval(..) | Support::Simplex | Support::Ordered) => declared,
        (Support::Interval(a, b), Support::Interval(c, d)) => Support::Interval(a.max(c), b.min(d)),
        (Support::Integers(0), Support::Integers(_)) => declared,
        _ => own,
    }
}
