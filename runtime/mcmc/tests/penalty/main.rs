//! The penalty method agrees with enumerations, quadrature and conjugate posteriors.

#![allow(clippy::unwrap_used)]
// Loops with two indices into a matrix of rates resemble the formula.
#![allow(clippy::needless_range_loop)]

mod chains;
mod enumeration;
mod laws;
mod linear;
