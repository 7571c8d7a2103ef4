//! Tests that the penalty method agrees with enumerations of all batches, with quadrature and with
//! conjugate posteriors.

#![allow(clippy::unwrap_used)]
// Loops over two indices of a matrix of rates look like the formula.
#![allow(clippy::needless_range_loop)]

mod chains;
mod enumeration;
mod laws;
mod linear;
