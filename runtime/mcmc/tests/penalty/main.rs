//! The penalty method agrees with enumerations, quadrature and conjugate posteriors.

#![allow(clippy::unwrap_used)]
// Two indices into a matrix of rates read like the formula.
#![allow(clippy::needless_range_loop)]

mod chains;
mod enumeration;
mod laws;
mod linear;
