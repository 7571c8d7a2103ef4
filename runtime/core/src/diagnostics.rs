//! The diagnostics of a run, one function per diagnostic.

pub mod bound;
mod codes;
mod curvature;
mod export;
mod folder;
mod posterior;
mod size;

use bnnc_abi::sampling::ChainOptions;
use bnnc_base::diagnostic::{Code, Diagnostic, FaultyInput, Severity};
use bnnc_base::number::rounded;
pub use codes::TOO_LITTLE_MEMORY;
use codes::{
    ANOTHER_RUN, CANNOT_WRITE, CHECKPOINT_DAMAGED, FOLDER_IN_USE, NO_ROWS, NO_START, NO_START_FILE,
    NOT_A_RUN, NOTHING_FOUND, NOTHING_TO_RESUME, TOO_MANY_FILES, TRAINING_DIVERGED, WHOLE_ARRAYS,
};
pub use curvature::{average, milder, misjudged_parameter};
pub use export::no_stan_csv;
pub use folder::{
    Unpredicted, damaged_part, foreign_files, half_replaced, holds_another_run, is_a_link, no_predictions,
    other_library, reads_its_results, replaces_another_file, replaces_its_source, unpredicted_output,
};
pub use posterior::{no_joint, no_variances};
pub use size::size;
use std::path::Path;

/// The codes of this crate, one list for each module.
pub static CODES: &[&[&Code]] = &[
    bound::CODES,
    codes::CODES,
    curvature::CODES,
    export::CODES,
    folder::CODES,
    posterior::CODES,
];

/// Predictions for new rows cannot be made, because the inputs of the model are whole arrays and
/// not rows.
pub fn whole_arrays(infer: &str, array: &str) -> Diagnostic {
    let text = format!(
        "`{infer}` cannot predict new rows: it needs `{array}`, an array that all examples share and that new rows do not contain"
    );
    error(&WHOLE_ARRAYS, FaultyInput::Program, text).help("run again with the new arrays")
}

/// Returns whether a diagnostic is about the convergence of chains. With `--strict`, such warnings
/// make the run fail.
pub fn is_of_sampling(diagnostic: &Diagnostic) -> bool {
    of_sampling().iter().any(|code| code.id == diagnostic.code.id)
}

/// Returns the codes of the diagnostics about chains, sorted by their identifiers.
pub fn of_sampling() -> &'static [&'static Code] {
    bnnc_mcmc::diagnostics::CODES
}

/// Returns an error about a run. The error does not refer to a place in a file.
pub fn error(code: &'static Code, fault: FaultyInput, message: String) -> Diagnostic {
    Diagnostic {
        fault,
        ..Diagnostic::usage(code, message)
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
    let text = format!("the loss of `{infer}` became {loss} in epoch {}", epoch + 1);
    error(&TRAINING_DIVERGED, FaultyInput::Program, text)
    .help("lower the learning rate, or standardise the inputs and the target")
    .help("check that scales stay positive (`softplus(s) + 1e-3`) and that the data lie in the support of the likelihood")
}

/// An error: a result file cannot be written.
pub fn cannot_write(path: &Path, why: &str) -> Diagnostic {
    let text = format!("cannot write `{}`: {why}", path.display());
    error(&CANNOT_WRITE, FaultyInput::Data, text)
        .help("check that the folder exists, that you may write there, and that the disk is not full")
}

/// An error: a folder does not contain a run.
pub fn not_a_run(path: &Path, why: &str) -> Diagnostic {
    let text = format!("`{}` is not the folder of a run: {why}", path.display());
    error(&NOT_A_RUN, FaultyInput::Data, text).help("name a folder that `bnnc run --out` wrote")
}

/// The training set does not contain any rows.
pub fn no_rows(data: &str) -> Diagnostic {
    let text = format!("`{data}` has no rows left to train on");
    error(&NO_ROWS, FaultyInput::Data, text)
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

/// If a diagnostic reports a chain that cannot start, adds a note about rows whose likelihood is
/// zero.
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
    error(&NO_START_FILE, FaultyInput::Data, text).notes(faults).help(
        "the file must hold one tensor for each parameter of the model, with the parameter's name and shape",
    )
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
    let text = format!("`{}` is damaged: {why}", path.display());
    error(&CHECKPOINT_DAMAGED, FaultyInput::Data, text).help("start again with `--out` instead of `--resume`")
}

/// The new run differs from the run in the folder that it should continue. Each of `differences` is one
/// line of the explanation.
pub fn another_run(folder: &Path, differences: &[String]) -> Diagnostic {
    let text = format!("`{}` belongs to a different run", folder.display());
    error(&ANOTHER_RUN, FaultyInput::Usage, text)
        .notes(differences)
        .help("start again with `--out DIR --overwrite` instead of `--resume`, or write into another folder")
}

/// An error: another run is writing into the folder.
pub fn folder_in_use(folder: &Path) -> Diagnostic {
    let text = format!("another run is writing into `{}`", folder.display());
    error(&FOLDER_IN_USE, FaultyInput::Data, text).help("wait until it ends, or write into another folder")
}

/// A warning: a run cannot resume from this folder, because the folder does not contain a checkpoint.
pub fn nothing_to_resume(folder: &Path) -> Diagnostic {
    let text = format!(
        "`{}` holds no checkpoint: the run starts from the beginning",
        folder.display()
    );
    Diagnostic {
        severity: Severity::Warning,
        ..Diagnostic::usage(&NOTHING_TO_RESUME, text)
    }
}
