//! Gaussians around maxima: curvatures in several forms, their posteriors, subnetworks, links, marginal likelihoods.
//!
//! Everything here is linear algebra on matrices that somebody else computed: no model, machine, file or clock is seen.

pub mod curvature;
pub mod link;
pub mod marginal;
pub mod matrix;
pub mod posterior;
pub mod root;
pub mod select;
