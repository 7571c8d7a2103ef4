//! The diagnostics of collapsed inference.

use bnnc_base::number::rounded;
use bnnc_base::{codes, reports};

codes! {
    SHARED_OUTPUTS = "E0561", "several outputs depend on a weight that is integrated over":
        "If each weight that is integrated over affects only one of several Normal outputs, the joint density of a row is the product \
         of the densities of the outputs. Otherwise the outputs depend on each other, and `collapsed` does not have a formula for their joint \
         density.\n\nWrong: `over = [hidden]` if the network has two outputs.\n\nRight: `over = last_layer`, where each output has its own \
         weights.";

    TOO_MANY_PIECES = "E0562", "integrals over too many pieces":
        "If units depend on each other or share weights, the box of weights is divided into pieces such that the outputs are affine on each \
         piece. The number of pieces can grow as a power of the number of weights. In these rows there are too \
         many pieces to integrate over in reasonable time, so that the weights are drawn from the box instead, `draws` \
         times per iterate. `diagnostics.rows.sampled` in the result counts these rows, and `log_density_error` in the \
         table of predictions is the standard error due to the draws.\n\n\
         Exact: integrate over fewer weights at a time (`weights = 4`), or over the weights of fewer units (`units = \
         2`). More accurate: more `draws`.";

    POINT = "E0563", "a box that is a point":
        "The box spans, for each weight, the range of its iterates. With one iterate, or if the iterates agree on all weights that may \
         be integrated over, the box is a point. Integrating over a point does not have an effect: the predictions are the predictions \
         of the iterates alone.\n\nRight: more `epochs` after `warmup`, a smaller \
         `every`, a learning rate that moves the weights.";

    OTHERS_HELD = "E0564", "a weight affects the logits of several classes":
        "The probability of a class is the integral of a sigmoid over the weights that affect its own logit most, while the logits of \
         the other classes stay at their values under the iterate. This is exact if each weight affects only one logit, as in a last \
         layer. Here some weights affect several logits, and the probabilities are computed as if the logits varied independently.\
         \n\nRight: `over = last_layer`.";

    LOOKS_AHEAD = "E0565", "a likelihood that uses the targets that it scores":
        "`compat = published` scores targets in the same way as the code that was published with collapsed inference. That code truncates the density to the range of the scored \
         targets themselves and normalises it there. Every target becomes more probable, through information that a prediction cannot have. Compare such a likelihood \
         with the published tables only, not with other methods.\n\nRight, for all other comparisons: leave `compat` out.";
}

reports! {
    /// An error: two outputs of a row (counted from 0) depend on the same integrated weights.
    fn shared_outputs(infer: &str, outputs: (usize, usize))
        = of_program(SHARED_OUTPUTS, "the outputs {} and {} of `{infer}` share weights that are integrated over",
            outputs.0 + 1, outputs.1 + 1)
        .help("write `over = last_layer`");
}

/// Rows whose weights are drawn, because the box around an iterate has too many pieces for an exact
/// integral.
#[derive(Clone, Copy, Debug)]
pub struct DrawnRows {
    /// The number of rows whose weights are drawn.
    pub rows: u64,
    /// The number of all predicted rows.
    pub all: u64,
    /// The number of draws around each iterate.
    pub draws: usize,
}

reports! {
    /// Returns a warning about rows whose weights are drawn. `error` is the largest standard error of a
    /// log density, if it is known. `why` is the reason for one of these rows.
    fn too_many_pieces(infer: &str, drawn: &DrawnRows, why: &str, error: Option<f64>)
        let DrawnRows { rows, all, draws } = drawn;
        = program_warning(TOO_MANY_PIECES, "in {rows} of {all} rows, `{infer}` samples the weights from the box instead of integrating exactly, with {draws} draws per iterate")
        .note("one of these rows {why}")
        .notes(error.map(|error| format!("the largest standard error of a log density is {}", rounded(error, 3))))
        .help("integrate over fewer weights at a time: `weights = 4`")
        .help("or over the weights of fewer units: `units = 2`")
        .help("or use more `draws`");

    /// A warning: the likelihoods can be compared only with the published tables.
    fn looks_ahead(infer: &str)
        = program_warning(LOOKS_AHEAD, "the likelihood of `{infer}` uses the targets that it scores")
        .note("its density is truncated to the range of these targets, as in the published code")
        .help("compare it only with the published tables; leave `compat` out for all other comparisons");

    /// A warning: the box is a single point, so predictions do not integrate over any weight.
    fn point(infer: &str, why: &str)
        = program_warning(POINT, "`{infer}` has nothing to integrate over, because its box is a single point: {why}")
        .help("use more iterates: a shorter `warmup`, or more `epochs`");

    /// A warning: a weight that is integrated over for one class also affects the logits of other
    /// classes, but the integral holds these logits fixed.
    fn others_held(infer: &str)
        = program_warning(OTHERS_HELD, "`{infer}` integrates over the weights of one class while the logits of the other classes are held fixed, but some of these weights also affect the other logits")
        .help("write `over = last_layer`");
}
