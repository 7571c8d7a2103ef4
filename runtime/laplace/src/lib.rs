//! Gaussian approximations around maxima: curvatures in several forms, the posteriors that follow from them, subnetworks, links,
//! and marginal likelihoods.
//!
//! This crate only does linear algebra on matrices that its callers compute. The crate does not access models, devices, files or
//! clocks.

pub mod curvature;
pub mod link;
pub mod marginal;
pub mod matrix;
pub mod posterior;
pub mod root;
pub mod select;
