//! The diagnostics of the settings of Markov chains.

use bnnc_base::number::{exact, rounded};
use bnnc_base::{codes, reports};

codes! {
    ONE_CHAIN = "E0580", "a single chain":
        "Convergence is judged by comparing chains that started in different places. With one chain, only its two halves are compared, and a chain that stays \
         at one of several modes looks converged.\n\nWrong: `nuts(Model, data) { chains = 1 }`.\n\nRight: `chains = 4`.";

    ONE_START = "E0651", "chains that start at one point":
        "R-hat can only detect modes that at least one chain has visited. If all chains start at the same point, such as the maximum \
         that `map` found, all of them may miss another mode, or a part of the posterior that is hard to reach from this point. R-hat \
         is then 1 although a part of the posterior is missing. Chains reveal such a mode if their starts are further apart than the \
         width of the posterior (Gelman and Rubin 1992). With `start` alone, or with `jitter = 0`, all chains start at the same point. \
         `jitter` moves each start by up to its value, on the unconstrained scale. A `jitter` below a thousandth of every posterior \
         standard deviation does not have an effect.\n\n\
         Wrong: `nuts(Model, data) { start = best }`.\n\n\
         Right: `nuts(Model, data) { start = best, jitter = 0.5 }`, or leave `start` out: then chains start around zero \
         with `jitter = 2`.";
}

reports! {
    /// A warning: the run has only one chain.
    fn one_chain(infer: &str)
        = data_warning(ONE_CHAIN, "`{infer}` has one chain, too few to judge convergence")
        .help("run several: `chains = 4`");

    /// A warning: all chains start at the same point. `from` is the earlier inference block or the file
    /// that the point comes from.
    fn one_start(infer: &str, chains: usize, from: &str)
        = data_warning(ONE_START, "the {chains} chains of `{infer}` start at one point, {from}: R-hat cannot detect a mode that no chain has visited")
        .help("start them at different points: `jitter = 0.5`, or leave `start` and `jitter` out");
}

reports! {
    /// A warning: compared with the width of the posterior, the starts of the chains are too close together.
    /// Reports `jitter`, and the smallest posterior standard deviation on the unconstrained scale.
    fn close_starts(infer: &str, chains: usize, jitter: f64, sd: f64)
        = data_warning(ONE_START, "the {chains} chains of `{infer}` start within {} of one point, less than a thousandth of every posterior standard deviation (at least {}): R-hat cannot detect a mode that no chain has visited",
            exact(jitter), rounded(sd, 3))
        .help("start them at different points: `jitter = 0.5`");
}
