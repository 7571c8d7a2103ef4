//! Diagnostics of collapsed inference.

use super::error;
use bnnc_base::diagnostic::{Code, Diagnostic, Fault, Severity};

pub(super) static SHARED_OUTPUTS: Code = Code {
    id: "E0561",
    title: "outputs that share weights which are integrated over",
    explain: "The density of several Normal outputs of one row is a product where no weight that is integrated over moves two of them. Otherwise the outputs \
              depend on each other, and their joint density has no form that is computed here.\n\nWrong: `over = [hidden]` of a network with two \
              outputs.\n\nRight: `over = last_layer`, where each output has its own weights.",
};

pub(super) static TOO_MANY_PIECES: Code = Code {
    id: "E0562",
    title: "integrals over too many pieces",
    explain: "Where units depend on each other or share weights, the box is divided into the pieces on which the outputs are affine; their number can \
              grow with a power of the number of weights. In these rows it is above what is computed in reasonable time, so that the weights \
              are drawn from the box instead, `draws` times per iterate; `diagnostics.rows.sampled` of the result counts those rows, and \
              `log_density_error` in the table of predictions is the standard error that the draws leave.\n\nExact: fewer weights at a time \
              (`weights = 4`), or those of fewer units (`units = 2`). Better: more `draws`.",
};

pub(super) static POINT: Code = Code {
    id: "E0563",
    title: "a box that is a point",
    explain: "The box of a weight spans what its iterates did. With one iterate, or iterates that agree in all weights that may be collapsed, it is a \
              point, and integrating over it changes nothing: predictions are those of the iterates alone.\n\nRight: more `epochs` after `warmup`, a smaller \
              `every`, a learning rate that moves the weights.",
};

pub(super) static OTHERS_HELD: Code = Code {
    id: "E0564",
    title: "weights that move several classes",
    explain: "The probability of a class is the integral of a sigmoid over the weights that move its own logit most, with the logits of the other classes \
              held at the iterate. That is exact where no weight moves two logits, as in a last layer. Here some do, and the probabilities are those of \
              logits that move apart from each other.\n\nRight: `over = last_layer`.",
};

pub(super) static LOOKS_AHEAD: Code = Code {
    id: "E0565",
    title: "a likelihood that looks at the targets it scores",
    explain: "`compat = published` scores targets as the code that was published with collapsed inference does: with a density that is cut to the interval from \
              the least to the largest of the very targets that are scored, and normalised there. That makes each of them more probable by what no \
              prediction could know. Such a likelihood compares with the published tables alone, not with any other method.\n\nRight, for all else: leave \
              `compat` out.",
};

/// Two outputs of a row, counted from 0, that depend on the same weights.
pub fn shared_outputs(infer: &str, outputs: (usize, usize)) -> Diagnostic {
    let text = format!(
        "the outputs {} and {} of `{infer}` share weights that are integrated over",
        outputs.0 + 1,
        outputs.1 + 1
    );
    error(&SHARED_OUTPUTS, Fault::Program, text).help("write `over = last_layer`")
}

/// The rows whose weights are drawn because the box around an iterate has too many pieces for an integral.
#[derive(Clone, Copy, Debug)]
pub struct DrawnRows {
    /// The number of these rows.
    pub rows: u64,
    /// The number of all rows.
    pub all: u64,
    /// The number of draws per iterate.
    pub draws: usize,
}

/// Returns a warning about rows whose weights are drawn. `error` is the largest standard error of a log density, if it is known. `why` is the reason
/// why the weights of one of these rows are drawn.
pub fn too_many_pieces(infer: &str, drawn: &DrawnRows, (why, error): (&str, Option<f64>)) -> Diagnostic {
    let DrawnRows { rows, all, draws } = drawn;
    let text = format!(
        "in {rows} of {all} rows the weights of `{infer}` are drawn from the box, {draws} times per iterate"
    );
    let mut warning = warning(self::error(&TOO_MANY_PIECES, Fault::Program, text));
    warning.notes.push(format!("one of them {why}"));
    if let Some(error) = error {
        warning.notes.push(format!(
            "the largest standard error of a log density is {}",
            bnnc_base::number::rounded(error, 3)
        ));
    }
    warning
        .help("integrate over fewer weights at a time: `weights = 4`")
        .help("or over those of fewer units: `units = 2`")
        .help("or take more `draws`")
}

/// A warning: the likelihoods can be compared with the published tables only.
pub fn looks_ahead(infer: &str) -> Diagnostic {
    let text = format!("the likelihood of `{infer}` looks at the targets that it scores");
    let mut warning = warning(error(&LOOKS_AHEAD, Fault::Program, text));
    let note = "its density is cut to the range of these targets, as in the published code";
    warning.notes.push(note.to_owned());
    warning.help("compare it with the published tables alone; leave `compat` out for all else")
}

/// A warning: there is nothing to integrate over.
pub fn point(infer: &str, why: &str) -> Diagnostic {
    let text = format!("the box of `{infer}` is a point: {why}");
    warning(error(&POINT, Fault::Program, text))
        .help("take more iterates: a shorter `warmup`, or more `epochs`")
}

/// A warning: a weight that is integrated over for one class moves other classes, whose logits are held.
pub fn others_held(infer: &str) -> Diagnostic {
    let text = format!("in `{infer}` a weight that is integrated over for one class moves others");
    warning(error(&OTHERS_HELD, Fault::Program, text)).help("write `over = last_layer`")
}

fn warning(diagnostic: Diagnostic) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        ..diagnostic
    }
}
