//! Integrates a polynomial over one polytope, without expanding powers of linear forms.
//!
//! The geometry is exact, but the integrals are rounded. The double description method computes the corners, and the facets that contain each corner,
//! in integer arithmetic. Thin regions are therefore never misclassified. Integrals over faces are sums of products of positive numbers, and are
//! computed in floating point with a bound on the rounding errors.

pub(crate) mod ball;
mod budget;
mod cone;
pub(crate) mod echelon;
mod exponents;
mod faces;
mod feasible;
mod frame;
mod integrate;
mod lp;
mod skeleton;

pub use feasible::{Feasibility, feasible, feasible_near, is_bounded};
pub use integrate::integrate;
