//! The diagnostics of a run, one function per diagnostic.

pub mod bound;
mod codes;
mod curvature;
mod export;
mod folder;
mod posterior;
mod size;

use bnnc_abi::methods::sampling::ChainOptions;
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_base::number::rounded;
use bnnc_base::reports;
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

reports! {
    /// Predictions for new rows cannot be made, because the inputs of the model are whole arrays and
    /// not rows.
    fn whole_arrays(infer: &str, array: &str)
        = of_program(WHOLE_ARRAYS, "`{infer}` cannot predict new rows: it needs `{array}`, an array that all examples share and that new rows do not contain")
        .help("run again with the new arrays");
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

reports! {
    /// A training stopped because its loss is not finite.
    fn training_diverged(infer: &str, epoch: usize, loss: f64)
        = of_program(TRAINING_DIVERGED, "the loss of `{infer}` became {loss} in epoch {}", epoch + 1)
        .help("lower the learning rate, or standardise the inputs and the target")
        .help("check that scales stay positive (`softplus(s) + 1e-3`) and that the data lie in the support of the likelihood");

    /// An error: a result file cannot be written.
    fn cannot_write(path: &Path, why: &str)
        = of_data(CANNOT_WRITE, "cannot write `{}`: {why}", path.display())
        .help("check that the folder exists, that you may write there, and that the disk is not full");

    /// An error: a folder does not contain a run.
    fn not_a_run(path: &Path, why: &str)
        = of_data(NOT_A_RUN, "`{}` is not the folder of a run: {why}", path.display())
        .help("name a folder that `bnnc run --out` wrote");

    /// The training set does not contain any rows.
    fn no_rows(data: &str)
        = of_data(NO_ROWS, "`{data}` has no rows left to train on");

    /// A chain cannot start, because the density at its starting points is not finite.
    fn no_start(infer: &str, chain: usize, attempts: u64, options: &ChainOptions)
        let jitter = options.jitter_of_start();
        let reason = match options.start.is_some() && jitter == 0.0 {
            true => "cannot start: the density at its start is not finite".to_owned(),
            false => format!("found no starting point with a finite density in {attempts} attempts"),
        };
        let text = format!("chain {} of `{infer}` {reason}", chain + 1);
        = of_program(NO_START, "{text}")
        .help_if(match options.start {
            None => Some("start from a point estimate: add `infer mode = map(..)` to the program, and `start = mode` here".to_owned()),
            Some(_) => (jitter > 0.0).then(|| format!("stay closer to the start: `jitter = {}`", rounded(0.01 * jitter, 3))),
        })
        .help("check that the data lie in the support of the likelihood, and standardise the inputs");
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

reports! {
    /// An inference block cannot start from a file. Each of `faults` is one line of the explanation.
    fn no_start_file(infer: &str, path: &Path, faults: &[String])
        = of_data(NO_START_FILE, "`{infer}` cannot start from `{}`", path.display())
        .notes(faults)
        .help("the file must hold one tensor for each parameter of the model, with the parameter's name and shape");

    /// A batch has fewer rows than there are files, so it cannot contain a row of every file.
    fn too_many_files(infer: &str, why: &str, help: &str)
        = of_program(TOO_MANY_FILES, "`{infer}`: {why}")
        .help(help);

    /// An inference block starts from an earlier block that does not have a result on this split.
    /// Splits are counted from 0.
    fn nothing_found(infer: &str, from: &str, split: usize)
        = of_program(NOTHING_FOUND, "`{infer}` starts from `{from}`, which has no result for split {}", split + 1)
        .help("run `{from}` on data with the same splits");

    /// An error: predictions from a saved run need more memory than the limit allows.
    fn too_large_together(infer: &str, what: &str, need: u64, limit: u64)
        = usage(TOO_LITTLE_MEMORY, "{what} under `{infer}` needs {} of memory, but the limit is {}",
            size(need), size(limit))
        .help("predict fewer rows at once, or approximate a subnetwork, whose Jacobians are smaller");

    /// An error: a file of the checkpoint has been modified or damaged.
    fn checkpoint_damaged(path: &Path, why: &str)
        = of_data(CHECKPOINT_DAMAGED, "`{}` is damaged: {why}", path.display())
        .help("start again with `--out` instead of `--resume`");

    /// The new run differs from the run in the folder that it should continue. Each of `differences` is one
    /// line of the explanation.
    fn another_run(folder: &Path, differences: &[String])
        = usage(ANOTHER_RUN, "`{}` belongs to a different run", folder.display())
        .notes(differences)
        .help("start again with `--out DIR --overwrite` instead of `--resume`, or write into another folder");

    /// An error: another run is writing into the folder.
    fn folder_in_use(folder: &Path)
        = of_data(FOLDER_IN_USE, "another run is writing into `{}`", folder.display())
        .help("wait until it ends, or write into another folder");

    /// A warning: a run cannot resume from this folder, because the folder does not contain a checkpoint.
    fn nothing_to_resume(folder: &Path)
        = usage(NOTHING_TO_RESUME, "`{}` holds no checkpoint: the run starts from the beginning", folder.display())
        .as_warning();
}
