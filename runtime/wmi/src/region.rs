//! The integral of a polynomial over one polytope, powers of linear forms unexpanded.
//!
//! Geometry is exact and arithmetic is not: corners and their incidence with facets come from the double
//! description method in integers, so that no sliver is misjudged; integrals over faces, which are sums of
//! products of positive numbers, are rounded with a running bound on the error.

pub(crate) mod ball;
mod bits;
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
