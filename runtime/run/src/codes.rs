//! What may go wrong while a program runs.

use bnnc_base::diagnostic::{Code, Diagnostic, Fault, Place, Severity};
use std::path::Path;

/// Every code of this crate, sorted.
pub static CODES: &[&Code] = &[
    &TRAINING_DIVERGED,
    &TOO_LITTLE_MEMORY,
    &CANNOT_WRITE,
    &NOT_A_RUN,
    &NO_ROWS,
];

static TRAINING_DIVERGED: Code = Code {
    id: "E0501",
    title: "training diverged",
    explain: "The loss became infinite or not a number. The usual causes are a learning rate that is too large, inputs that \
              are not standardised (`standardise = [inputs, target]`), or a likelihood whose scale can reach zero (add a \
              small constant: `softplus(s) + 1e-3`).",
};

static TOO_LITTLE_MEMORY: Code = Code {
    id: "E0502",
    title: "the run would not fit in memory",
    explain: "Before anything is allocated, the memory of the run is predicted from the program's buffers. It is above the \
              limit given by `--max-memory`. A smaller `batch`, fewer `samples` or fewer `predictive_draws` need less.",
};

static CANNOT_WRITE: Code = Code {
    id: "E0503",
    title: "cannot write a result",
    explain: "A file of the output folder (`--out`) could not be written. Results are written under a temporary name and \
              renamed, so an earlier result is not damaged.",
};

static NOT_A_RUN: Code = Code {
    id: "E0504",
    title: "not the folder of a run",
    explain: "`bnnc predict` takes a folder that `bnnc run --out` wrote: it reads `result.json`, `posterior.safetensors` and \
              `program.json` there.",
};

static NO_ROWS: Code = Code {
    id: "E0505",
    title: "no rows to train on",
    explain: "After the test rows and the validation fraction were taken away, no rows are left to train on.",
};

fn error(code: &'static Code, fault: Fault, message: String) -> Diagnostic {
    Diagnostic {
        code,
        severity: Severity::Error,
        fault,
        message,
        at: Place::Nowhere,
        label: String::new(),
        labels: Vec::new(),
        notes: Vec::new(),
        help: Vec::new(),
    }
}

/// The loss is not finite.
pub fn training_diverged(infer: &str, epoch: usize, loss: f64) -> Diagnostic {
    error(
        &TRAINING_DIVERGED,
        Fault::Program,
        format!("the loss of `{infer}` became {loss} in epoch {}", epoch + 1),
    )
    .help("lower the learning rate, or standardise the inputs and the target")
    .help("see that scales stay positive (`softplus(s) + 1e-3`) and that the data lie in the support of the likelihood")
}

/// The prediction is above the limit.
pub fn too_little_memory(infer: &str, need: u64, limit: u64) -> Diagnostic {
    let text = format!(
        "`{infer}` needs {} of memory, the limit is {}",
        size(need),
        size(limit)
    );
    error(&TOO_LITTLE_MEMORY, Fault::Program, text)
        .help("a smaller `batch` or fewer `predictive_draws` need less")
}

/// A result file cannot be written.
pub fn cannot_write(path: &Path, why: &str) -> Diagnostic {
    error(
        &CANNOT_WRITE,
        Fault::Data,
        format!("cannot write `{}`: {why}", path.display()),
    )
}

/// A folder holds no run.
pub fn not_a_run(path: &Path, why: &str) -> Diagnostic {
    error(
        &NOT_A_RUN,
        Fault::Data,
        format!("`{}` is not the folder of a run: {why}", path.display()),
    )
}

/// There is nothing to train on.
pub fn no_rows(data: &str) -> Diagnostic {
    error(
        &NO_ROWS,
        Fault::Data,
        format!("`{data}` has no rows left to train on"),
    )
}

/// A number of bytes for people.
pub fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", units[unit])
    }
}
