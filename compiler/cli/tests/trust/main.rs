//! Programs as users write them. If a check of `bnnc` were missing, these programs would give wrong or meaningless results
//! without a warning.

#[path = "../support/mod.rs"]
mod support;

mod advice;
mod bindings;
mod checks;
mod command_line;
mod curvature;
mod folders;
mod foreign;
mod language;
mod limits;
mod maxima;
mod messages;
mod new_levels;
mod noisy;
mod numerics;
mod optima;
mod ports;
mod report;
mod sampling;
mod silent;
mod training;
