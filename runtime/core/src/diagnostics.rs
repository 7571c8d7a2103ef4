//! The diagnostics of a run, one function per diagnostic.

pub mod bound;
mod curvature;
mod export;
mod folder;
mod posterior;
mod size;

use bnnc_abi::sampling::ChainOptions;
use bnnc_base::diagnostic::{Code, Diagnostic, FaultyInput, Place, Severity};
use bnnc_base::number::rounded;
pub use curvature::{average, milder, narrow_parameter};
pub use export::no_stan_csv;
pub use folder::{
    Unpredicted, damaged_part, foreign_files, half_replaced, holds_another_run, is_a_link, no_predictions,
    other_library, reads_its_results, replaces_another_file, replaces_its_source, unpredicted_output,
};
pub use posterior::{no_joint, no_variances};
pub use size::size;
use std::path::Path;

/// All codes of this crate, sorted.
pub static CODES: &[&Code] = &[
    &TRAINING_DIVERGED,
    &TOO_LITTLE_MEMORY,
    &CANNOT_WRITE,
    &NOT_A_RUN,
    &NO_ROWS,
    &WHOLE_ARRAYS,
    &NO_START,
    &TOO_MANY_FILES,
    &CHECKPOINT_DAMAGED,
    &ANOTHER_RUN,
    &FOLDER_IN_USE,
    &NOTHING_TO_RESUME,
    &folder::HOLDS_ANOTHER_RUN,
    &folder::FOREIGN_FILES,
    &folder::DAMAGED_PART,
    &folder::OTHER_LIBRARY,
    &folder::NO_PREDICTIONS,
    &NO_START_FILE,
    &posterior::NO_JOINT,
    &NOTHING_FOUND,
    &bound::AT_BOUND,
    &export::NO_STAN_CSV,
    &curvature::NARROW_PARAMETER,
];

static TRAINING_DIVERGED: Code = Code {
    id: "E0501",
    title: "training diverged",
    explain: "The loss became infinite or not a number. The usual causes are a learning rate that is too large, inputs that \
              are not standardised (`standardise = [inputs, target]`), or a likelihood whose scale can reach zero (add a \
              small constant: `softplus(s) + 1e-3`).",
};

/// A run needs more memory than the limit allows.
pub static TOO_LITTLE_MEMORY: Code = Code {
    id: "E0502",
    title: "the run would not fit in memory",
    explain: "Before a run allocates anything, bnnc predicts its memory from the program's buffers. This run would need more \
              than the limit given by `--max-memory`. Reduce `batch`, `samples` or `predictive_draws`. Alternatively, use `--only`: the results of \
              other inferences are then not kept. The process itself and the compiler take about 20 MiB. The prediction does not include them. For \
              `bnnc predict` with `--joint` or `--slopes` the limit is the free \
              memory: predict fewer rows at once.",
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
    explain: "`bnnc predict` needs a folder that `bnnc run --out` wrote. It reads `manifest.json`, `posterior.safetensors` \
              and `program.json` there. Early versions of bnnc did not write `manifest.json`: repeat such runs.",
};

static NO_ROWS: Code = Code {
    id: "E0505",
    title: "no rows to train on",
    explain: "After the test rows and the validation rows are removed, the set of training rows is empty.",
};

static WHOLE_ARRAYS: Code = Code {
    id: "E0553",
    title: "no predictions for new rows: the model takes whole arrays",
    explain: "`bnnc predict` makes one prediction for each row of a table. That is impossible if the predictions need an \
              array that all examples share. Examples are an input `x: real[n]` of a model without inputs per example, and an output that another \
              output depends on. The run does not store such arrays.\n\n\
              Right: use inputs per example (`model M()(x: real) -> y: real`), or start a new run on the new arrays. The new run writes their \
              predictions to `predictions.csv`.",
};

/// Predictions for new rows cannot be made, because the inputs of the model are whole arrays and
/// not rows.
pub fn whole_arrays(infer: &str, array: &str) -> Diagnostic {
    let text = format!(
        "`{infer}` cannot predict new rows: it needs `{array}`, an array that all examples share and new rows do not contain"
    );
    error(&WHOLE_ARRAYS, FaultyInput::Program, text).help("run again with the new arrays")
}

/// A run should resume from a checkpoint, but this checkpoint is damaged.
static CHECKPOINT_DAMAGED: Code = Code {
    id: "E0510",
    title: "a checkpoint is damaged",
    explain: "A file of the folder `checkpoint` in the output folder is truncated, changed or missing, or belongs to another \
              chain or run. A run that is killed, even while it writes, leaves a complete checkpoint, so something else must \
              have changed the file. Run with `--out DIR` instead of `--resume DIR` to start again.",
};

/// The folder belongs to a run with other settings or data.
static ANOTHER_RUN: Code = Code {
    id: "E0511",
    title: "the folder belongs to a different run",
    explain: "`--resume DIR` continues a run, with the same results as without the interruption. That requires the same \
              program, options, seed, precision, backend, data files and version of bnnc. The message lists the differences. \
              Only the number of draws may grow (`--set INFER.draws=2000`): the chains then continue from their last state. \
              To start again and replace the earlier run, write `--out DIR --overwrite` instead of `--resume DIR`.",
};

/// Two runs would write to the same folder.
static FOLDER_IN_USE: Code = Code {
    id: "E0512",
    title: "another run is writing into this folder",
    explain: "A run locks its output folder until it ends, so that two runs never write the same files. Wait for that run, stop it, or choose another folder.",
};

/// The folder does not contain a run that could be resumed.
static NOTHING_TO_RESUME: Code = Code {
    id: "E0513",
    title: "there is nothing to resume",
    explain: "The folder given with `--resume` does not hold a checkpoint: the earlier run ended before its first checkpoint, or the name of \
              the folder is wrong. The run starts from the beginning, so that one command can both start and continue a run.",
};

static NO_START: Code = Code {
    id: "E0506",
    title: "no starting point with a finite density",
    explain: "A chain needs a starting point where the log density and its gradient are finite. Random starts lie within `jitter` of zero \
              (or of `start`) on the unconstrained scale. In every attempt, the density was not finite. The usual causes are a likelihood \
              that is zero (data outside its support), a scale that overflows, and inputs that are not standardised.\
              \n\nRight: `infer fit = nuts(Model, data) { start = map, jitter = 0.1 }` after an \
              `infer map = map(Model, \
              data)`.",
};

/// An inference block cannot start from a file.
static NO_START_FILE: Code = Code {
    id: "E0530",
    title: "a file that an inference cannot start from",
    explain: "`start = safetensors(\"FILE\")` reads one tensor for each parameter of the model. The tensor has the name of the parameter, \
              such as `hidden.w`, and is in double, single or half precision. It has the shape that the model declares, and its values are \
              on the declared scale: the values of a `positive` parameter are positive. The file needs a tensor for every parameter that the \
              inference estimates, and must not contain others. The `posterior.safetensors` of a run with `map` can be read too: it holds \
              unconstrained values, which are used unchanged.",
};

/// Returns whether a diagnostic is about the convergence of chains. With `--strict`, such warnings
/// make the run fail.
pub fn is_of_sampling(diagnostic: &Diagnostic) -> bool {
    of_sampling().iter().any(|code| code.id == diagnostic.code.id)
}

/// Returns the codes of the diagnostics about chains, sorted by their identifiers.
pub fn of_sampling() -> &'static [&'static Code] {
    bnnc_mcmc::diagnostics::CODES
}

static TOO_MANY_FILES: Code = Code {
    id: "E0508",
    title: "a batch with fewer rows than there are files",
    explain: "If the data are in several files, every batch of the penalty method takes rows of each file. The loss differences of each file are computed separately, and \
              only their sums and variances are combined.\n\nWrong: `batch = 2` with three files.\n\nRight: \
              `batch = 30`, which takes ten rows of each file if the files have equally many rows.",
};

static NOTHING_FOUND: Code = Code {
    id: "E0549",
    title: "a start from an inference that was not run on the split",
    explain: "`start = NAME` starts from the result of the inference `NAME` on the same split of the data. An inference on data with fewer \
              splits does not have a result for the later splits.\n\nRight: run both on the same data, or on data with the same number of splits.",
};

/// Returns an error about a run. The error does not refer to a place in a file.
pub fn error(code: &'static Code, fault: FaultyInput, message: String) -> Diagnostic {
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

/// Returns a warning about a run. The warning does not refer to a place in a file.
pub fn warning(code: &'static Code, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        ..error(code, FaultyInput::Program, message)
    }
}

/// Returns a warning about the data or the results of a run. The warning does not refer to a place
/// in a file.
pub fn data_warning(code: &'static Code, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        ..error(code, FaultyInput::Data, message)
    }
}

/// A training stopped because its loss is not finite.
pub fn training_diverged(infer: &str, epoch: usize, loss: f64) -> Diagnostic {
    error(
        &TRAINING_DIVERGED,
        FaultyInput::Program,
        format!("the loss of `{infer}` became {loss} in epoch {}", epoch + 1),
    )
    .help("lower the learning rate, or standardise the inputs and the target")
    .help("check that scales stay positive (`softplus(s) + 1e-3`) and that the data lie in the support of the likelihood")
}

/// An error: a result file cannot be written.
pub fn cannot_write(path: &Path, why: &str) -> Diagnostic {
    error(
        &CANNOT_WRITE,
        FaultyInput::Data,
        format!("cannot write `{}`: {why}", path.display()),
    )
    .help("check that the folder exists, that you may write there, and that the disk is not full")
}

/// An error: a folder does not contain a run.
pub fn not_a_run(path: &Path, why: &str) -> Diagnostic {
    error(
        &NOT_A_RUN,
        FaultyInput::Data,
        format!("`{}` is not the folder of a run: {why}", path.display()),
    )
    .help("name a folder that `bnnc run --out` wrote")
}

/// The training set does not contain any rows.
pub fn no_rows(data: &str) -> Diagnostic {
    error(
        &NO_ROWS,
        FaultyInput::Data,
        format!("`{data}` has no rows left to train on"),
    )
}

/// A chain cannot start, because the density at its starting points is not finite.
pub fn no_start(infer: &str, chain: usize, attempts: u64, options: &ChainOptions) -> Diagnostic {
    let jitter = options.jitter_of_start();
    let text = match options.start.is_some() && jitter == 0.0 {
        true => format!(
            "chain {} of `{infer}` cannot start: the density at its start is not finite",
            chain + 1
        ),
        false => format!(
            "chain {} of `{infer}` found no starting point with a finite density in {attempts} attempts",
            chain + 1
        ),
    };
    let diagnostic = error(&NO_START, FaultyInput::Program, text);
    match options.start {
        None => diagnostic.help(
            "start from a point estimate: add `infer mode = map(..)` to the program, and `start = mode` here",
        ),
        Some(_) if jitter > 0.0 => diagnostic.help(format!(
            "stay closer to the start: `jitter = {}`",
            rounded(0.01 * jitter, 3)
        )),
        Some(_) => diagnostic,
    }
    .help("check that the data lie in the support of the likelihood, and standardise the inputs")
}

/// Adds a note about rows with zero likelihood to those diagnostics that report a chain that cannot
/// start.
pub fn with_impossible_rows(found: Vec<Diagnostic>, note: Option<String>) -> Vec<Diagnostic> {
    let add = |diagnostic: Diagnostic| match &note {
        Some(note) if diagnostic.code.id == NO_START.id => diagnostic.note(note.clone()),
        _ => diagnostic,
    };
    found.into_iter().map(add).collect()
}

/// An inference block cannot start from a file. Each of `faults` is one line of the explanation.
pub fn no_start_file(infer: &str, path: &Path, faults: &[String]) -> Diagnostic {
    let text = format!("`{infer}` cannot start from `{}`", path.display());
    let diagnostic = error(&NO_START_FILE, FaultyInput::Data, text);
    faults
        .iter()
        .fold(diagnostic, |diagnostic, fault| diagnostic.note(fault))
        .help("the file must hold one tensor for each parameter of the model, with the parameter's name and shape")
}

/// A batch has fewer rows than there are files, so it cannot contain a row of every file.
pub fn too_many_files(infer: &str, why: &str, help: &str) -> Diagnostic {
    error(&TOO_MANY_FILES, FaultyInput::Program, format!("`{infer}`: {why}")).help(help)
}

/// An inference block starts from an earlier block that does not have a result on this split.
/// Splits are counted from 0.
pub fn nothing_found(infer: &str, from: &str, split: usize) -> Diagnostic {
    let text = format!(
        "`{infer}` starts from `{from}`, which has no result for split {}",
        split + 1
    );
    error(&NOTHING_FOUND, FaultyInput::Program, text)
        .help(format!("run `{from}` on data with the same splits"))
}

/// An error: predictions from a saved run need more memory than the limit allows.
pub fn too_large_together(infer: &str, what: &str, need: u64, limit: u64) -> Diagnostic {
    let text = format!(
        "{what} under `{infer}` needs {} of memory, but the limit is {}",
        size(need),
        size(limit)
    );
    error(&TOO_LITTLE_MEMORY, FaultyInput::Usage, text)
        .help("predict fewer rows at once, or approximate a subnetwork, whose Jacobians are smaller")
}

/// An error: a file of the checkpoint has been modified or damaged.
pub fn checkpoint_damaged(path: &Path, why: &str) -> Diagnostic {
    error(
        &CHECKPOINT_DAMAGED,
        FaultyInput::Data,
        format!("`{}` is damaged: {why}", path.display()),
    )
    .help("start again with `--out` instead of `--resume`")
}

/// The run in a folder differs from the run that should continue it. Each of `differences` is one
/// line of the explanation.
pub fn another_run(folder: &Path, differences: &[String]) -> Diagnostic {
    let mut diagnostic = error(
        &ANOTHER_RUN,
        FaultyInput::Usage,
        format!("`{}` belongs to a different run", folder.display()),
    );
    for difference in differences {
        diagnostic = diagnostic.note(difference);
    }
    diagnostic
        .help("start again with `--out DIR --overwrite` instead of `--resume`, or write into another folder")
}

/// An error: another run is writing into the folder.
pub fn folder_in_use(folder: &Path) -> Diagnostic {
    error(
        &FOLDER_IN_USE,
        FaultyInput::Data,
        format!("another run is writing into `{}`", folder.display()),
    )
    .help("wait until it ends, or write into another folder")
}

/// A warning: a run should resume from this folder, but the folder does not contain a checkpoint.
pub fn nothing_to_resume(folder: &Path) -> Diagnostic {
    let mut warning = error(
        &NOTHING_TO_RESUME,
        FaultyInput::Usage,
        format!(
            "`{}` holds no checkpoint: the run starts from the beginning",
            folder.display()
        ),
    );
    warning.severity = Severity::Warning;
    warning
}
