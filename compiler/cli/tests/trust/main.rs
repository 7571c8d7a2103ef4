//! Tests programs as users write them. Without the checks of `bnnc`, the results of these programs
//! would be wrong or meaningless, and the user would not receive a warning.

#[path = "../support/mod.rs"]
mod support;

mod advice;
mod arrays;
mod bindings;
mod checks;
mod columns;
mod command_line;
mod converged;
mod curvature;
mod folders;
mod foreign;
mod inflation;
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
mod starts;
mod training;
