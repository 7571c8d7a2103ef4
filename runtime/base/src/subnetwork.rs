//! The diagnostic about a subnetwork that cannot be chosen. The compiler and a run may find this mistake.

use crate::diagnostic::Code;

/// A subnetwork that cannot be chosen.
pub static NO_SUBNETWORK: Code = Code {
    id: "E0625",
    title: "a subnetwork that cannot be chosen",
    explain: "`over = subnetwork(size, by = score)` chooses the `size` weights with the highest scores: at least that many weights must affect the outputs on the \
              training rows (weights behind units that are never active do not), and each weight needs a score. `by = NAME` uses the variances under an earlier inference of a model with the same parameters. Its method must give variances: `vi`, `swag`, \
              an ensemble or a sampler.\n\nWrong: `over = subnetwork(1000)` of a network with 800 weights; `by = map`, which is a \
              point.\n\nRight: `over = subnetwork(400)`, `over = subnetwork(0.5)`; `by = swag` after an `infer swag = swag(Model, data)`.",
};
