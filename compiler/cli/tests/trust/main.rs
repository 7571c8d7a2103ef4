//! Programs as users write them, for which a wrong or meaningless result without a warning is likely if a check is missing.

#[path = "../support/mod.rs"]
mod support;

mod advice;
mod bindings;
mod checks;
mod command_line;
mod folders;
mod foreign;
mod language;
mod limits;
mod maxima;
mod messages;
mod new_levels;
mod noisy;
mod numerics;
mod report;
mod sampling;
mod silent;
mod training;
