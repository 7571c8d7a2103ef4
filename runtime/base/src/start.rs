//! The codes of two mistakes in Laplace approximations. Both the compiler and a run may detect
//! them.

use crate::diagnostic::Code;

/// A Laplace approximation uses its start as the maximum, but the start lacks a weight.
pub static NO_MAXIMUM: Code = Code {
    id: "E0540",
    title: "no maximum to approximate around",
    explain: "With `epochs = 0` a Laplace approximation uses its start as the maximum of the posterior, so the start must give values of the right size for all \
              weights. Here `start` is missing, or its inference or file does not have this parameter in the right size.\n\n\
              Wrong: `infer l = laplace(Model, data) { epochs = 0 }`, or `start = other` after an inference on a model with other layers.\n\nRight: `infer l = \
              laplace(Model, data) { start = map }` after an `infer map = map(Model, data)`, `start = safetensors(\"weights.safetensors\")`, or a positive number of \
              `epochs`.",
};

/// The weights of a subnetwork cannot be chosen.
pub static NO_SUBNETWORK: Code = Code {
    id: "E0625",
    title: "a subnetwork that cannot be chosen",
    explain: "`over = subnetwork(size, by = score)` chooses the `size` weights with the highest scores: at least that many weights must affect the outputs on the \
              training rows (weights behind units that are never active do not), and each weight needs a score. `by = NAME` uses the variances under an earlier inference of a model with the same parameters. Its method must give variances: `vi`, `swag`, \
              an ensemble or a sampler.\n\nWrong: `over = subnetwork(1000)` of a network with 800 weights; `by = map`, which is a \
              point.\n\nRight: `over = subnetwork(400)`, `over = subnetwork(0.5)`; `by = swag` after an `infer swag = swag(Model, data)`.",
};
