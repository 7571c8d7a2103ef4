//! Posteriors from training: Gaussians over iterates, ensembles, and dropout masks on the inputs of
//! layers. Also tests starts from files.

#![allow(clippy::unwrap_used)]

mod averages;
mod dropout;
mod ensembles;
mod files;
mod setup;
