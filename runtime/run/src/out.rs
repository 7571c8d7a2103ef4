//! Writes and reads the output folder of a run. The folder contains `result.json`, `posterior.safetensors`, `predictions.csv`, the report with
//! its plots, the data for `bnnc predict`, and the inventory of all files ([`crate::folder`]). Draws of the posterior are in `posterior.zarr`,
//! and draws of Markov chains are also in `stan/INFER_CHAIN.csv`.

use crate::folder::{self, Staging};
use bnnc_abi::manifest::{InferenceBlock, Manifest, Output, OutputKind};
use bnnc_abi::schema::Schema;
use bnnc_audit::Ranges;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_core::context::{Context, Stop};
use bnnc_core::fingerprint::Fingerprint;
use bnnc_core::states::StateValues;
use bnnc_core::{columns, diagnostics};
use bnnc_data::write::{self, ResultColumn};
use bnnc_data::{Preparation, Rows};
use bnnc_inference::outcome::{InferenceOutcome, RunResult};
use bnnc_kernels::pool::Pool;
use bnnc_laplace::posterior::PosteriorArray;
use bnnc_report::export::{Export, Subject, approximation};
use bnnc_report::replicates::{self, PredictiveCheck};
use bnnc_report::result;
use safetensors::tensor::SafeTensors;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The data about a run that `bnnc predict` needs later.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedRun {
    /// The path of the program's file.
    pub program: PathBuf,
    /// The text of the program at the time of the run. The file may have been edited since then.
    pub text: String,
    /// The command-line settings that changed the program.
    pub settings: Vec<String>,
    /// The values of the `--data` options.
    pub data: Vec<String>,
    /// The seed of the run.
    pub seed: u64,
    /// The value of `--precision` if it was given.
    pub precision: Option<String>,
    /// The names of the rewrites that were switched off.
    pub without: Vec<String>,
    /// The checksum of the library that the program was compiled with.
    pub library: u64,
    /// The schemas of the data items at the time of compilation. The files may have changed since then.
    pub schemas: BTreeMap<String, Schema>,
    /// The preparation of the rows of each inference block.
    pub preparations: BTreeMap<String, Preparation>,
    /// For each inference block, the ranges that its inputs have in the training rows.
    #[serde(default)]
    pub ranges: BTreeMap<String, Ranges>,
    /// The identity of the run, which consists of all inputs that determine the results.
    pub fingerprint: Fingerprint,
}

/// Returns the names of the files and folders that a run writes to its folder.
pub fn names(manifest: &Manifest) -> Vec<String> {
    let mut names: Vec<String> = ["result.json", "report.html", folder::POSTERIOR, folder::PROGRAM]
        .map(str::to_owned)
        .to_vec();
    for infer in &manifest.infers {
        let stems = [
            ("predictions", "csv"),
            ("predictive", "svg"),
            ("posterior", "zarr"),
        ];
        names.extend(stems.map(|(stem, extension)| name(manifest, stem, &infer.name, extension)));
        if infer.sampling().is_some() {
            names.push("stan".to_owned());
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Writes all results to a folder. The new results replace the results of an earlier run in this folder.
///
/// # Errors
/// Fails if a file cannot be written. The earlier results stay intact, except if the error occurred while they were being
/// replaced.
pub fn write(
    folder: &Path,
    manifest: &Manifest,
    result: &RunResult,
    saved: SavedRun,
) -> Result<(), Diagnostic> {
    let staging = Staging::begin(folder)?;
    let fingerprint = saved.fingerprint.clone();
    stage(staging.path(), manifest, result, saved)?;
    let failed = result.stopped.is_some() && result.outcomes.is_empty();
    staging.commit(&fingerprint, failed)
}

/// Writes all results to a folder that does not contain results yet.
fn stage(
    folder: &Path,
    manifest: &Manifest,
    result: &RunResult,
    mut saved: SavedRun,
) -> Result<(), Diagnostic> {
    for outcome in &result.outcomes {
        saved
            .preparations
            .insert(outcome.name.clone(), outcome.dataset.preparation.clone());
        let Some(infer) = manifest.infers.iter().find(|infer| infer.name == outcome.name) else {
            continue;
        };
        if let Some(spec) = manifest.data.iter().find(|spec| spec.name == infer.data) {
            let ranges = bnnc_audit::ranges(infer, spec, &outcome.dataset);
            saved.ranges.insert(infer.name.clone(), ranges);
        }
        let mut columns = outcome.predictions.clone();
        let (rows, _) = outcome.scored();
        let lead = columns::places(rows, rows.count).len();
        columns.splice(lead..lead, targets(infer, outcome));
        write::csv(
            &folder.join(name(manifest, "predictions", &outcome.name, "csv")),
            &columns,
        )?;
    }
    posterior(folder, manifest, result)?;
    draws(folder, manifest, result)?;
    let checks = checks(folder, manifest, result)?;
    pictures(folder, manifest, result, (&saved.text, &checks))?;
    let mut value = result::json(manifest, result);
    value["source"] = json!(saved.text);
    for (outcome, checks) in result.outcomes.iter().zip(&checks) {
        let of_outputs = checks.iter().map(|check| (check.column.clone(), check.json()));
        value["infer"][&outcome.name]["checks"] = Value::Object(of_outputs.collect());
    }
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    write_text(&folder.join("result.json"), &text)?;
    let saved = serde_json::to_string_pretty(&saved).unwrap_or_default();
    write_text(&folder.join(folder::PROGRAM), &saved)
}

/// Returns the name of a file of an inference block. If the manifest has one inference block, it is `predictions.csv`. If the manifest has
/// several inference blocks, it is `predictions.NAME.csv`.
fn name(manifest: &Manifest, stem: &str, infer: &str, extension: &str) -> String {
    match manifest.infers.len() {
        1 => format!("{stem}.{extension}"),
        _ => format!("{stem}.{infer}.{extension}"),
    }
}

/// Writes the draws of every inference block to files for other tools.
fn draws(folder: &Path, manifest: &Manifest, result: &RunResult) -> Result<(), Diagnostic> {
    let context = Context::new(Arc::new(Pool::new(1)), manifest.seed);
    for outcome in &result.outcomes {
        let infer = manifest.infers.iter().find(|infer| infer.name == outcome.name);
        let (Some(infer), Some(last)) = (infer, outcome.splits.last()) else {
            continue;
        };
        let of = Subject {
            infer,
            outcome,
            context: &context,
        };
        let zarr = folder.join(name(manifest, "posterior", &infer.name, "zarr"));
        match last.found.sampled() {
            Some(sampled) => {
                let (export, stan) = (Export { of, sampled }, folder.join("stan"));
                export.zarr(&zarr).or_else(|stop| unwritten(stop, &zarr))?;
                export.stan(&stan).or_else(|stop| unwritten(stop, &stan))?;
            }
            None => approximation(&of, &*last.found, &zarr).or_else(|stop| unwritten(stop, &zarr))?,
        }
    }
    Ok(())
}

/// Returns the diagnostic for a file that could not be written. If the user interrupted the run, the result is
/// `Ok`.
fn unwritten(stop: Stop, path: &Path) -> Result<(), Diagnostic> {
    match stop {
        Stop::Diagnostics(found) => found.into_iter().next().map_or(Ok(()), Err),
        Stop::Interrupted => Ok(()),
        Stop::Fault(fault) => Err(diagnostics::cannot_write(path, &fault.to_string())),
    }
}

/// For each outcome, returns the prior and posterior predictive checks of its outputs.
fn checks(
    folder: &Path,
    manifest: &Manifest,
    result: &RunResult,
) -> Result<Vec<Vec<PredictiveCheck>>, Diagnostic> {
    let context = Context::new(Arc::new(Pool::new(1)), manifest.seed);
    let of = |outcome: &InferenceOutcome| {
        let mut infers = manifest.infers.iter();
        let Some(infer) = infers.find(|infer| infer.name == outcome.name) else {
            return Ok(Vec::new());
        };
        let found = replicates::checks(infer, outcome, &context);
        found.or_else(|stop| unwritten(stop, &folder.join("report.html")).map(|()| Vec::new()))
    };
    result.outcomes.iter().map(of).collect()
}

/// Writes `report.html`, and the main plot of each inference block as `predictive.svg`. The report contains the text of the program and the
/// predictive checks.
fn pictures(
    folder: &Path,
    manifest: &Manifest,
    result: &RunResult,
    (program, checks): (&str, &[Vec<PredictiveCheck>]),
) -> Result<(), Diagnostic> {
    let report = match bnnc_report::report(manifest, result, program, checks) {
        Ok(report) => report,
        Err(stop) => return unwritten(stop, &folder.join("report.html")),
    };
    for (infer, svg) in &report.main {
        write_text(&folder.join(name(manifest, "predictive", infer, "svg")), svg)?;
    }
    write_text(&folder.join("report.html"), &report.html)
}

fn write_text(path: &Path, text: &str) -> Result<(), Diagnostic> {
    write::atomically(path, |writer| {
        writer.write_all(text.as_bytes())?;
        writer.write_all(b"\n")
    })
}

/// For each output that has one value per row, returns the observed values in the scored rows.
fn targets(infer: &InferenceBlock, outcome: &InferenceOutcome) -> Vec<(String, ResultColumn)> {
    let (rows, _) = outcome.scored();
    let column = |output: &Output| {
        let name = infer.column(output).to_owned();
        let values = match output.kind {
            OutputKind::Real => ResultColumn::Real(rows.original(&name).ok()?),
            OutputKind::Count | OutputKind::Bool => ResultColumn::Int(whole(rows, &name)?),
            OutputKind::Classes(count) => {
                let classes = whole(rows, &name)?;
                match infer.names.classes(&output.name, count) {
                    Some(names) => {
                        let named = |class: &i64| names.get(usize::try_from(*class).ok()?).cloned();
                        ResultColumn::Text(classes.iter().map(named).collect::<Option<_>>()?)
                    }
                    None => ResultColumn::Int(classes),
                }
            }
        };
        (values.len() == rows.count).then_some((name, values))
    };
    infer.outputs.iter().filter_map(column).collect()
}

/// Returns the values of a column if they are integers.
fn whole(rows: &Rows, name: &str) -> Option<Vec<i64>> {
    Some(rows.ints(name).ok()?.into_iter().map(i64::from).collect())
}

/// Writes one tensor for each parameter of each inference block. The name of a tensor is `INFER/STATE`, and its type is `F64`. If there are
/// several splits, the names end in `#SPLIT`.
fn posterior(folder: &Path, manifest: &Manifest, result: &RunResult) -> Result<(), Diagnostic> {
    let mut tensors: Vec<PosteriorArray<'_>> = Vec::new();
    for outcome in &result.outcomes {
        let Some(infer) = manifest.infers.iter().find(|infer| infer.name == outcome.name) else {
            continue;
        };
        for split in &outcome.splits {
            let suffix = if outcome.splits.len() > 1 {
                format!("#{}", split.split)
            } else {
                String::new()
            };
            let mut arrays = split.found.arrays(infer);
            for state in infer.states.iter().filter(|state| state.parameter) {
                let Some(values) = split.found.values().get(&state.name) else {
                    continue;
                };
                let mut shape = state.shape.resolve(&Sizes::default());
                let count = shape.iter().product::<usize>().max(1);
                if values.len() != count {
                    // The first axis of the tensor has one element per draw.
                    shape.insert(0, values.len() / count);
                }
                arrays.push((state.name.clone(), shape, values.into()));
            }
            let named = |(name, shape, values)| (format!("{}/{name}{suffix}", outcome.name), shape, values);
            tensors.extend(arrays.into_iter().map(named));
        }
    }
    tensors.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let path = folder.join(folder::POSTERIOR);
    write::atomically(&path, |writer| safetensors(&tensors, writer))
}

/// Writes tensors in the safetensors format: the length of the header, the header, and the elements. The header is padded to a multiple of eight
/// bytes. The tensors are written one after the other, so that no tensor is copied in memory.
fn safetensors(tensors: &[PosteriorArray<'_>], writer: &mut dyn Write) -> io::Result<()> {
    let (mut header, mut end) = (Map::new(), 0);
    for (name, shape, values) in tensors {
        let start = end;
        end += size_of_val(&**values);
        let entry = json!({"dtype": "F64", "shape": shape, "data_offsets": [start, end]});
        header.insert(name.clone(), entry);
    }
    let mut header = Value::Object(header).to_string();
    header.extend(std::iter::repeat_n(
        ' ',
        header.len().next_multiple_of(8) - header.len(),
    ));
    writer.write_all(&(header.len() as u64).to_le_bytes())?;
    writer.write_all(header.as_bytes())?;
    let mut elements = tensors.iter().flat_map(|(.., values)| values.iter());
    elements.try_for_each(|value| writer.write_all(&value.to_le_bytes()))
}

/// Reads the inputs of a run from the folder that the run wrote.
///
/// # Errors
/// Fails if a run did not write the folder, or if the folder is damaged.
pub fn saved(folder: &Path) -> Result<SavedRun, Diagnostic> {
    let bytes = folder::part(folder, folder::PROGRAM)?;
    let read = serde_json::from_slice(&bytes);
    read.map_err(|error| diagnostics::not_a_run(folder, &format!("{}: {error}", folder::PROGRAM)))
}

/// Reads from a folder the data that `bnnc predict` needs: the inputs of the run, and the states of the posterior.
///
/// # Errors
/// Fails if a run did not write the folder, or if the folder is damaged.
pub fn read(folder: &Path) -> Result<(SavedRun, HashMap<String, StateValues>), Diagnostic> {
    let saved = saved(folder)?;
    let mut values: HashMap<String, StateValues> = HashMap::new();
    each_tensor(folder, |infer, state, _, numbers| {
        if bnnc_methods::is_state(state) {
            let of_infer = values.entry(infer.to_owned()).or_default();
            of_infer.insert(state.to_owned(), numbers.collect());
        }
    })?;
    Ok((saved, values))
}

/// Reads those tensors of an inference block whose names begin with a prefix.
///
/// # Errors
/// Fails if a run did not write the folder.
pub fn arrays(folder: &Path, infer: &str, prefix: &str) -> Result<Vec<PosteriorArray<'static>>, Diagnostic> {
    let mut arrays: Vec<PosteriorArray<'static>> = Vec::new();
    each_tensor(folder, |of, name, shape, numbers| {
        if of == infer && name.starts_with(prefix) {
            arrays.retain(|(known, ..)| known != name);
            arrays.push((
                name.to_owned(),
                shape.to_vec(),
                numbers.collect::<Vec<f64>>().into(),
            ));
        }
    })?;
    Ok(arrays)
}

/// Calls `take` with each tensor of a run, its name, and the name of its inference block. If there are several splits, the tensors of the
/// last split come last.
fn each_tensor(
    folder: &Path,
    mut take: impl FnMut(&str, &str, &[usize], &mut dyn Iterator<Item = f64>),
) -> Result<(), Diagnostic> {
    let fail = |why: String| diagnostics::not_a_run(folder, &format!("{}: {why}", folder::POSTERIOR));
    let bytes = folder::part(folder, folder::POSTERIOR)?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| fail(error.to_string()))?;
    let mut all = tensors.tensors();
    let split = |name: &str| {
        name.rsplit_once('#')
            .and_then(|(_, split)| split.parse::<usize>().ok())
    };
    all.sort_by_key(|(name, _)| split(name));
    for (name, view) in &all {
        let Some((infer, name)) = name.split_once('/') else {
            continue;
        };
        let name = name.split('#').next().unwrap_or(name);
        let mut numbers = view.data().chunks_exact(8).map(|chunk| {
            let mut eight = [0; 8];
            eight.copy_from_slice(chunk);
            f64::from_le_bytes(eight)
        });
        take(infer, name, view.shape(), &mut numbers);
    }
    Ok(())
}
