//! Diagnostics of collapsed inference, and of iterates that are taken from an earlier infer.

use super::error;
use bnnc_base::diagnostic::{Code, Diagnostic, Fault, Severity};

pub(super) static NO_ITERATES: Code = Code {
    id: "E0560",
    title: "an infer whose iterates cannot be taken",
    explain: "`iterates = infer` takes the iterates that an earlier infer found, in the place of a training. That infer must hold them (`collapsed`, or `swag` \
              with `covariance = snapshots`), and for every state that moves it must have one of the same name and size.\n\n\
              Wrong: `iterates = fit` after `infer fit = map(Model, data)`.\n\nRight: `iterates = fit` after `infer fit = swag(Model, data) { covariance \
              = snapshots }`, with the same model.",
};

pub(super) static SHARED_OUTPUTS: Code = Code {
    id: "E0561",
    title: "outputs that share weights which are integrated over",
    explain: "The density of several Normal outputs of one row is a product where no weight that is integrated over moves two of them. Otherwise the outputs \
              depend on each other, and their joint density has no form that is computed here.\n\nWrong: `over = [hidden]` of a network with two \
              outputs.\n\nRight: `over = last_layer`, where each output has its own weights.",
};

pub(super) static TOO_MANY_PIECES: Code = Code {
    id: "E0562",
    title: "an integral over too many pieces",
    explain: "Where units depend on each other, the box is divided into the pieces on which the outputs are affine; their number can grow with \
              a power of the number of weights. It is above what is computed in reasonable time.\n\nRight: fewer weights at a time (`weights = 4`), \
              or those of fewer units (`units = 2`).",
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

/// An infer that holds no iterates.
pub fn no_iterates(infer: &str, from: &str) -> Diagnostic {
    let text = format!("`{infer}` takes the iterates of `{from}`, which holds none");
    error(&NO_ITERATES, Fault::Program, text)
        .help(format!(
            "write `covariance = snapshots` where `{from}` is `swag`, or name chains, an ensemble or a `collapsed` infer"
        ))
}

/// Iterates of another model: a state is missing or has another size.
pub fn other_iterates(infer: &str, from: &str, state: &str) -> Diagnostic {
    let text = format!("`{infer}` takes the iterates of `{from}`, which has no `{state}` of the same size");
    error(&NO_ITERATES, Fault::Program, text).help("take iterates of the same model on the same data")
}

/// Two outputs of a row, counted from 0, that depend on the same weights.
pub fn shared_outputs(infer: &str, outputs: (usize, usize)) -> Diagnostic {
    let text = format!(
        "the outputs {} and {} of `{infer}` share weights that are integrated over",
        outputs.0 + 1,
        outputs.1 + 1
    );
    error(&SHARED_OUTPUTS, Fault::Program, text).help("write `over = last_layer`")
}

/// A row, counted from 0, whose integral is too much work.
pub fn too_many_pieces(infer: &str, row: usize, why: &str) -> Diagnostic {
    let text = format!("the integral of `{infer}` in row {} {why}", row + 1);
    error(&TOO_MANY_PIECES, Fault::Program, text)
        .help("integrate over fewer weights at a time: `weights = 4`")
        .help("or over those of fewer units: `units = 2`")
}

/// A warning: there is nothing to integrate over.
pub fn point(infer: &str, why: &str) -> Diagnostic {
    let text = format!("the box of `{infer}` is a point: {why}");
    warning(error(&POINT, Fault::Program, text))
        .help("take more iterates: a shorter `warmup`, or more `epochs`")
}

/// A warning: the probabilities of classes hold what moves.
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
