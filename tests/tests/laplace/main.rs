//! Laplace approximations, from the program to the predictions. The tests cover three topics: the
//! published results of a small network in every form, conjugate models whose approximation equals
//! the posterior, and links that agree with quadrature. Other tests cover subnetworks and rejected
//! programs.

#![allow(clippy::unwrap_used)]

mod evidence;
mod exact;
mod memory;
mod published;
mod rejected;
mod saved;
mod setup;
mod subnetworks;
mod warnings;
