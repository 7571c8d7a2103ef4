//! The diagnostic about a start that is used as a maximum but lacks a weight. Both the compiler and a run
//! can detect this mistake.

use crate::diagnostic::Code;

/// A Laplace approximation whose start is used as the maximum but lacks a weight.
pub static NO_MAXIMUM: Code = Code {
    id: "E0540",
    title: "no maximum to approximate around",
    explain: "With `epochs = 0` a Laplace approximation uses its start as the maximum of the posterior, so the start must give values of the right size for all \
              weights. Here `start` is missing, or its inference or file does not have this parameter in the right size.\n\n\
              Wrong: `infer l = laplace(Model, data) { epochs = 0 }`, or `start = other` after an inference on a model with other layers.\n\nRight: `infer l = \
              laplace(Model, data) { start = map }` after an `infer map = map(Model, data)`, `start = safetensors(\"weights.safetensors\")`, or a positive number of \
              `epochs`.",
};
