//! Weighted model integration: exact integrals of piecewise polynomials over polytopes and formulas.
//!
//! [`problem`], [`solve`] and [`region`] compute integrals with a certified error bound: the integral of a weight over the set of points
//! that satisfy a formula of linear real arithmetic. The crate does not depend on models or machines, and does not access files.

pub mod integral;
pub mod linear;
pub mod polynomial;
pub mod problem;
pub mod rational;
pub mod region;
pub mod solve;
