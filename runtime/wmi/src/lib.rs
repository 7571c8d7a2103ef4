//! Weighted model integration: exact integrals of piecewise polynomials over polytopes and formulas.
//!
//! [`problem`], [`solve`] and [`region`] integrate a weight over all points that satisfy a formula of linear real arithmetic, and
//! compute a certified bound on the error. The crate does not depend on models or machines, and does not access files.

pub mod integral;
pub mod linear;
pub mod polynomial;
pub mod problem;
pub mod rational;
pub mod region;
pub mod solve;
