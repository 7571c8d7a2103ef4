//! The integral of a polynomial over one polytope, without expanding powers of linear forms.
//!
//! The geometry is exact, but the arithmetic is not. The double description method in integers computes the corners, and the facets that contain each
//! corner, so that no thin region is misclassified. Integrals over faces are sums of products of positive numbers; they are rounded, with a running
//! bound on the error.

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
