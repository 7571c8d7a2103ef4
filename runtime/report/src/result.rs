//! The results of a run as JSON (`run --json`, `result.json`) and as the printed table.

mod posterior;

use crate::overview::file_name;
use crate::shifted;
use bnnc_abi::corruption::Shift;
use bnnc_abi::manifest::{InferenceBlock, Manifest};
use bnnc_abi::metrics::find;
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_core::context::Stop;
use bnnc_core::number::{finite, number, table_line};
use bnnc_data::Standardisation;
use bnnc_data::describe::scores;
use bnnc_data::metrics::{DrawSummary, over_splits};
use bnnc_inference::comparison::comparisons;
use bnnc_inference::leave_one_out::LeftOut;
use bnnc_inference::outcome::{InferenceOutcome, MetricOverSplits, RunResult, SplitOutcome};
use bnnc_inference::prune::PruningLine;
use bnnc_inference::summary::SiteSummary;
use bnnc_mcmc::loo::LooEstimate;
use serde_json::{Map, Value, json};

/// Returns the results as a JSON object. If two runs have the same seed, only `seconds` differs.
pub fn json(manifest: &Manifest, result: &RunResult) -> Value {
    let mut infers = Map::new();
    for outcome in &result.outcomes {
        if let Some(infer) = manifest.infers.iter().find(|infer| infer.name == outcome.name) {
            infers.insert(outcome.name.clone(), infer_json(infer, outcome));
        }
    }
    let precisions: Vec<String> = manifest
        .infers
        .iter()
        .map(|infer| infer.precision.to_string())
        .collect();
    let mut value = json!({
        "program": manifest.program,
        "version": env!("CARGO_PKG_VERSION"),
        "seed": manifest.seed,
        "precision": precisions.first().cloned().unwrap_or_default(),
        "backend": manifest.backend,
        "infer": infers,
    });
    let device = |infer: &InferenceBlock| infer.predict.code.accelerator().map(|device| device.describe());
    if let Some(device) = manifest.infers.iter().find_map(device) {
        value["device"] = json!(device);
    }
    let compared = comparisons(manifest, result);
    if !compared.is_empty() {
        value["compare"] = compared.iter().map(|comparison| comparison.json()).collect();
    }
    value["data"] = data(manifest, result);
    if !result.warnings.is_empty() {
        value["warnings"] = result.warnings.iter().map(diagnostic).collect();
    }
    if let (Some(name), Some(stop)) = (&result.failed, &result.stopped) {
        let found = match stop {
            Stop::Diagnostics(found) => found.iter().map(diagnostic).collect(),
            Stop::Fault(_) | Stop::Interrupted => Vec::new(),
        };
        value["failed"] = json!({ "infer": name, "diagnostics": found });
    }
    if result.interrupted {
        value["interrupted"] = json!(true);
    }
    if let Some(stop) = &result.stopped {
        value["stopped"] = json!(stop.to_string());
    }
    value
}

/// Returns a diagnostic as JSON, including its place if the diagnostic has a place.
fn diagnostic(diagnostic: &Diagnostic) -> Value {
    json!({
        "code": diagnostic.code.id,
        "message": diagnostic.message,
        "at": place(&diagnostic.at),
        "notes": diagnostic.notes,
        "help": diagnostic.help,
    })
}

/// Formats a place as `d.csv:12` or `model.bnn:3:5`: the file, the row and the column. The folder of the file is left out, because
/// it differs between machines.
pub fn place(at: &Place) -> Option<String> {
    let Place::File { path, row, column } = at else {
        return None;
    };
    let numbers = [row, column].into_iter().take_while(|number| **number > 0);
    let numbers: String = numbers.map(|number| format!(":{number}")).collect();
    Some(format!("{}{numbers}", file_name(path)))
}

/// Returns a description of the data: files, rows and columns, and the standardisation of inputs and targets.
fn data(manifest: &Manifest, result: &RunResult) -> Value {
    let mut all = Map::new();
    for spec in &manifest.data {
        let infer = manifest.infers.iter().find(|infer| infer.data == spec.name);
        let outcome =
            infer.and_then(|infer| result.outcomes.iter().find(|outcome| outcome.name == infer.name));
        let Some(outcome) = outcome else { continue };
        let (dataset, preparation) = (&outcome.dataset, &outcome.dataset.preparation);
        let files = spec.files.iter().map(|file| file_name(file));
        let column = |(name, map): (&String, &Standardisation)| json!({ "column": name, "mean": map.mean, "sd": map.sd });
        let input = |(name, map): (&String, &Standardisation)| {
            let mut value = column((name, map));
            let zscores =
                scores(name, spec, preparation).map(|map| json!({ "mean": map.mean, "sd": map.sd }));
            let zscores: Vec<Value> = zscores.collect();
            if !zscores.is_empty() {
                value["zscores"] = Value::Array(zscores);
            }
            value
        };
        let inputs = preparation.columns.iter().zip(&preparation.inputs).map(input);
        let mut target = preparation
            .target_name
            .iter()
            .map(|name| column((name, &preparation.target)));
        let of = json!({
            "files": files.collect::<Vec<_>>(),
            "n_train": dataset.train.count,
            "n_validation": dataset.validation.count,
            "n_test": dataset.test.count,
            "inputs": inputs.collect::<Vec<_>>(),
            "target": target.next_back(),
        });
        all.insert(spec.name.clone(), of);
    }
    Value::Object(all)
}

fn infer_json(infer: &InferenceBlock, outcome: &InferenceOutcome) -> Value {
    let last = outcome.splits.last();
    let sum = |of: fn(&SplitOutcome) -> f64| outcome.splits.iter().map(of).sum::<f64>();
    let mut value = json!({
        "method": infer.method,
        "n_train": last.map(|split| split.train),
        "n_test": last.map(|split| split.test),
        "metrics": metrics(outcome),
        "parameters": sites(&outcome.sites),
        "diagnostics": diagnostics(infer, outcome),
        "cost": {
            "parameters": infer.cost.parameters,
            "variational_parameters": infer.cost.variational_parameters,
            "gradient_nodes": infer.cost.gradient_nodes,
            "flops_per_step": infer.cost.effort.flops,
            "bytes_per_step": infer.cost.effort.bytes,
            "peak_bytes": infer.cost.peak_bytes,
        },
        "seconds": {
            "compile": infer.compile_seconds,
            "fit": sum(|split| split.fit_seconds),
            "predict": sum(|split| split.predict_seconds),
            "finished": outcome.finished,
        },
    });
    if outcome.splits.len() > 1 {
        let each: Vec<Value> = outcome
            .splits
            .iter()
            .map(|split| object(&split.metrics))
            .collect();
        value["splits"] = Value::Array(each);
    }
    let pruned = outcome.pruning();
    if !pruned.is_empty() {
        value["prune"] = pruned.iter().map(pruned_json).collect();
    }
    let rotated = outcome.rotated();
    if !rotated.is_empty() {
        let line = |(degrees, metrics): &(f64, Vec<MetricOverSplits>)| json!({"degrees": degrees, "metrics": with_errors(metrics)});
        value["rotated"] = rotated.iter().map(line).collect();
    }
    let shifted = outcome.shifted();
    if !shifted.is_empty() {
        value["shifts"] = shifted.iter().map(shifted_json).collect();
    }
    let rejection = outcome.rejection();
    if !rejection.is_empty() {
        value["rejection"] = rejection.iter().map(|line| line_json("fraction", line)).collect();
    }
    let by_confidence = outcome.by_confidence();
    if !by_confidence.is_empty() {
        value["by_confidence"] = by_confidence
            .iter()
            .map(|line| line_json("threshold", line))
            .collect();
    }
    value
}

/// Returns the diagnostics of an inference block.
fn diagnostics(infer: &InferenceBlock, outcome: &InferenceOutcome) -> Value {
    let mut value = json!({
        "metrics_on": if outcome.tested { "test" } else { "train" },
        "ece_bins": bnnc_data::metrics::CALIBRATION_BINS,
    });
    if let Some(left_out) = &outcome.left_out {
        value["loo"] = loo(left_out);
    }
    let Some(last) = outcome.splits.last() else {
        return value;
    };
    if let Some(fitted) = last.found.fitted() {
        value["learning"] = bnnc_training::report::learning(fitted, last.train);
    }
    last.found.diagnostics(&mut value, infer, outcome);
    value
}

/// Returns one line of the pruning table as JSON.
fn pruned_json(line: &PruningLine) -> Value {
    json!({
        "fraction": line.fraction,
        "weights": line.weights,
        "snr": finite(line.threshold),
        "snr_db": finite(line.decibels()),
        "metrics": with_errors(&line.metrics),
    })
}

/// Returns the metrics under one shift as JSON.
fn shifted_json((shift, metrics): &(Shift, Vec<MetricOverSplits>)) -> Value {
    json!({
        "shift": shift.corruption.name(),
        "severity": shift.severity,
        "metrics": with_errors(metrics),
    })
}

/// Returns one line of the rejection table, or of the table of confidence thresholds, as JSON. `name` is the name of its number.
fn line_json(name: &str, (at, metrics): &(f64, Vec<MetricOverSplits>)) -> Value {
    let mut value = json!({ name: at });
    if let (Value::Object(value), Value::Object(metrics)) = (&mut value, with_errors(metrics)) {
        value.extend(metrics);
    }
    value
}

/// Returns the mean of each metric over the splits. If there are several splits, `NAME_se` is the standard error of the mean.
fn metrics(outcome: &InferenceOutcome) -> Value {
    let sets: Vec<_> = outcome.splits.iter().map(|split| split.metrics.clone()).collect();
    with_errors(&over_splits(&sets))
}

fn with_errors(metrics: &[(String, f64, Option<f64>)]) -> Value {
    let mut object = Map::new();
    for (name, mean, error) in metrics {
        object.insert(name.clone(), finite(*mean));
        if let Some(error) = error {
            object.insert(format!("{name}_se"), finite(*error));
        }
    }
    Value::Object(object)
}

fn object(metrics: &[(String, f64)]) -> Value {
    Value::Object(
        metrics
            .iter()
            .map(|(name, value)| (name.clone(), finite(*value)))
            .collect(),
    )
}

fn sites(sites: &[SiteSummary]) -> Value {
    let one = |site: &SiteSummary| {
        let of = |part: fn(&DrawSummary) -> f64| nest(&site.shape, &mut site.elements.iter().map(part));
        let spread = |part: fn(&DrawSummary) -> f64| match site.held {
            true => nest(&site.shape, &mut site.elements.iter().map(|_| f64::NAN)),
            false => of(part),
        };
        let mut value = json!({
            "mean": of(|s| s.mean),
            "sd": spread(|s| s.sd),
            "q05": spread(|s| s.q05),
            "q95": spread(|s| s.q95),
        });
        if site.axes.iter().any(Option::is_some) {
            value["names"] = json!(site.axes);
        }
        (site.name.clone(), value)
    };
    Value::Object(sites.iter().map(one).collect())
}

/// Converts a flat sequence of elements to nested arrays with the given shape.
fn nest(shape: &[usize], elements: &mut dyn Iterator<Item = f64>) -> Value {
    match shape.split_first() {
        None => elements.next().map_or(Value::Null, finite),
        Some((size, rest)) => Value::Array((0..*size).map(|_| nest(rest, elements)).collect()),
    }
}

/// Returns the table that `bnnc run` prints.
pub fn table(manifest: &Manifest, result: &RunResult) -> String {
    let mut text = infer_tables(manifest, result);
    for comparison in comparisons(manifest, result) {
        text.push_str(&comparison.text());
    }
    text
}

/// Returns the part of the printed table that describes the inference blocks.
pub fn infer_tables(manifest: &Manifest, result: &RunResult) -> String {
    let mut text = String::new();
    for outcome in &result.outcomes {
        let Some(infer) = manifest.infers.iter().find(|infer| infer.name == outcome.name) else {
            continue;
        };
        text.push_str(&infer_table(infer, outcome));
    }
    text
}

/// Returns the part of the printed table that describes one inference block.
pub fn infer_table(infer: &InferenceBlock, outcome: &InferenceOutcome) -> String {
    let Some(last) = outcome.splits.last() else {
        return String::new();
    };
    let splits = match outcome.splits.len() {
        1 => String::new(),
        count => format!(", {count} splits"),
    };
    let fit: f64 = outcome.splits.iter().map(|split| split.fit_seconds).sum();
    let mut text = format!(
        "{} = {}  ({} training rows, {} test rows{splits}; {} parameters; compiled in {:.0} ms, fitted in {fit:.1} s)\n\n",
        infer.name,
        infer.method,
        last.train,
        last.test,
        infer.cost.parameters,
        infer.compile_seconds * 1e3,
    );
    let sets: Vec<_> = outcome.splits.iter().map(|split| split.metrics.clone()).collect();
    let on = if outcome.tested { "test" } else { "train" };
    let is_printed = |metric: &MetricOverSplits| find(what(&metric.0)).is_none_or(|found| found.printed);
    for (name, mean, error) in over_splits(&sets).into_iter().filter(is_printed) {
        let error = error.map(|error| format!("  ± {error:.4}")).unwrap_or_default();
        text.push_str(&format!("  {on} {name:<16} {:>10}{error}\n", number(mean)));
    }
    if let Some(temperature) = infer.tempered() {
        text.push_str(&table_line("temperature", number(temperature)));
    }
    text.push_str(&last.found.table(infer, outcome));
    text.push_str(&pruning_table(infer, outcome));
    text.push_str(&rotated_table(outcome));
    text.push_str(&shifted::table(outcome));
    text.push_str(&rejection_table(outcome));
    text.push_str(&posterior::table(infer, outcome));
    text.push('\n');
    text
}

/// Returns the pruning table. It has one line per fraction and one column per metric.
fn pruning_table(infer: &InferenceBlock, outcome: &InferenceOutcome) -> String {
    let lines = outcome.pruning();
    let pruning = infer.training().and_then(|train| train.pruning.as_ref());
    let (Some(first), Some(pruning)) = (lines.first(), pruning) else {
        return String::new();
    };
    let mut text = format!("  {:<8} {:>10} {:>10} {:>8}", "removed", "weights", "snr", "dB");
    for (name, ..) in shown(first) {
        text.push_str(&format!("  {name:<18}"));
    }
    text = text.trim_end().to_owned() + "\n";
    for line in &lines {
        let percent = format!("{} %", rounded(100.0 * line.fraction));
        text.push_str(&format!(
            "  {percent:<8} {:>10} {:>10.4} {:>8.2}",
            line.weights,
            line.threshold,
            line.decibels()
        ));
        for (_, mean, error) in shown(line) {
            let error = error.map(|error| format!(" ± {error:.4}")).unwrap_or_default();
            text.push_str(&format!("  {:<18}", format!("{mean:.4}{error}")));
        }
        text = text.trim_end().to_owned() + "\n";
    }
    for (site, why) in &pruning.untouched {
        text.push_str(&format!("  `{site}` is not pruned: {why}\n"));
    }
    text.push('\n');
    text
}

/// Returns the table of metrics for rotated test rows, with one line per angle.
fn rotated_table(outcome: &InferenceOutcome) -> String {
    let lines = outcome.rotated();
    let Some((_, first)) = lines.first() else {
        return String::new();
    };
    let mut text = format!("  {:<8}", "degrees");
    for (name, ..) in first {
        text.push_str(&format!(" {name:>14}"));
    }
    for (degrees, metrics) in &lines {
        text.push_str(&format!("\n  {degrees:<8}"));
        metrics
            .iter()
            .for_each(|(_, mean, _)| text.push_str(&format!(" {:>14}", number(*mean))));
    }
    text + "\n\n"
}

/// Returns the rejection table. The first line lists the rejected fractions, and each output that is a class has one more line.
fn rejection_table(outcome: &InferenceOutcome) -> String {
    let lines = outcome.rejection();
    let Some((_, first)) = lines.first() else {
        return String::new();
    };
    let fractions: String = lines
        .iter()
        .map(|line| format!(" {:>7}", format!("{} %", rounded(100.0 * line.0))))
        .collect();
    let mut text = format!("  {:<18}{fractions}\n", "rejected");
    for (at, (name, ..)) in first.iter().enumerate() {
        let accuracies: String = lines
            .iter()
            .map(|(_, found)| format!(" {:>7.4}", found[at].1))
            .collect();
        text.push_str(&format!("  {:<18}{accuracies}\n", format!("{name} of others")));
    }
    text + "\n"
}

/// Returns the name of a metric without its output, for example `rmse` for `y.rmse`.
pub fn what(metric: &str) -> &str {
    metric.rsplit('.').next().unwrap_or(metric)
}

/// Returns the metrics that the pruning table shows: the error metrics, and the scores of the predictive distribution.
pub fn shown(line: &PruningLine) -> impl Iterator<Item = &(String, f64, Option<f64>)> {
    let wanted = ["accuracy", "nll", "rmse", "log_likelihood"];
    line.metrics
        .iter()
        .filter(move |(name, ..)| wanted.contains(&what(name)))
}

/// Rounds a number to its meaningful digits, for example to `98` or `99.5`.
pub fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Returns the leave-one-out estimates as a part of `result.json`.
fn loo(LeftOut { total, draws, .. }: &LeftOut) -> Value {
    let pair = |name: &str, estimate: LooEstimate| {
        [
            (name.to_owned(), finite(estimate.sum)),
            (format!("{name}_se"), finite(estimate.error)),
        ]
    };
    let mut value: Map<String, Value> = Map::new();
    value.extend(pair("elpd_loo", total.elpd()));
    value.extend(pair("p_loo", total.p()));
    value.extend(pair("elpd_waic", total.elpd_waic()));
    value.extend(pair("p_waic", total.p_waic()));
    let shapes = total.shapes();
    value.insert("mcse".to_owned(), finite(total.mcse()));
    value.insert("rows".to_owned(), json!(total.rows()));
    value.insert("draws".to_owned(), json!(draws));
    let shapes = json!({ "good": shapes.good, "bad": shapes.bad, "very_bad": shapes.very_bad });
    value.insert("pareto_k".to_owned(), shapes);
    Value::Object(value)
}
