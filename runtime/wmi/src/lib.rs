//! Weighted model integration: exact integrals of piecewise polynomials over polytopes and formulas.
//!
//! [`problem`], [`solve`] and [`region`] take a formula of linear real arithmetic and its weight to a value with a certified error. No model, machine,
//! file or clock is seen.

pub mod integral;
pub mod linear;
pub mod polynomial;
pub mod problem;
pub mod rational;
pub mod region;
pub mod solve;
