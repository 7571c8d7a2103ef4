//! Weighted model integration: exact integrals of piecewise polynomials over polytopes and formulas, and
//! what networks with uniform weights predict.
//!
//! Two halves that share no state. [`problem`], [`solve`] and [`region`] are the general integrator: a
//! formula of linear real arithmetic, its weight, a value with a certified error. [`head`] is the closed
//! form of one special case, in nanoseconds instead of milliseconds: the distribution of a piecewise
//! affine function of independent uniforms, and of an observation around it. No model, machine, file or
//! clock is seen.

pub mod head;
pub mod integral;
pub mod linear;
pub mod polynomial;
pub mod problem;
pub mod rational;
pub mod region;
pub mod solve;
