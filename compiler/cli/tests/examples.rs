//! The examples on their real data: each runs with the arguments of its `ci.args`, and its metrics stay within the bands
//! of its `ci.bands`, lines of `INFER METRIC MIN MAX`.
//!
//! A metric is a name under `metrics`, or a path from the infer's result: `parameters.mu.mean`, `prune.2.weights`.

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One line of `ci.bands`.
struct Band {
    infer: String,
    metric: String,
    low: f64,
    high: f64,
}

/// The folders of `examples/`, sorted.
fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(support::root().join("examples")).expect("the folder of examples");
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

fn bands(folder: &Path) -> Vec<Band> {
    let text = fs::read_to_string(folder.join("ci.bands")).unwrap_or_default();
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(band).collect()
}

fn band(line: &str) -> Band {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [infer, metric, low, high] = words[..] else {
        panic!("`{line}` is not `INFER METRIC MIN MAX`");
    };
    let number = |word: &str| {
        word.parse::<f64>()
            .unwrap_or_else(|_| panic!("`{word}` is no number"))
    };
    let (low, high) = (number(low), number(high));
    assert!(low < high, "`{line}` is an empty band");
    Band {
        infer: infer.to_string(),
        metric: metric.to_string(),
        low,
        high,
    }
}

/// What is wrong with a result, in sentences.
fn outside(result: &Value, bands: &[Band]) -> Vec<String> {
    let mut faults = Vec::new();
    for band in bands {
        let mut place = &result["infer"][band.infer.as_str()];
        if !band.metric.contains('.') {
            place = &place["metrics"];
        }
        for key in band.metric.split('.') {
            place = match key.parse::<usize>() {
                Ok(at) if place.is_array() => &place[at],
                _ => &place[key],
            };
        }
        let (infer, metric) = (&band.infer, &band.metric);
        match place.as_f64() {
            Some(value) if (band.low..=band.high).contains(&value) => {}
            Some(value) => faults.push(format!(
                "{infer}: {metric} is {value}, not in {} .. {}",
                band.low, band.high
            )),
            None => faults.push(format!("{infer}: no number under {metric}")),
        }
    }
    faults
}

fn run(folder: &Path, name: &str) -> Vec<String> {
    let line = fs::read_to_string(folder.join("ci.args")).expect("the arguments of the example");
    let program = format!("examples/{name}/{name}.bnn");
    let mut arguments = vec!["run", program.as_str()];
    arguments.extend(line.split_whitespace());
    arguments.push("--json");
    let output = support::run(&arguments);
    if output.status != 0 {
        return vec![format!("exit status {}\n{}", output.status, output.stderr)];
    }
    match serde_json::from_str(&output.stdout) {
        Ok(result) => outside(&result, &bands(folder)),
        Err(error) => vec![format!("the result is not JSON: {error}")],
    }
}

#[test]
#[ignore = "minutes in release; `.ci/examples` runs it"]
fn examples_stay_within_their_bands() {
    let mut faults = Vec::new();
    let mut count = 0;
    for folder in folders().iter().filter(|folder| folder.join("ci.args").exists()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let began = Instant::now();
        let found = run(folder, &name);
        println!(
            "{name}: {} in {:.1} s",
            if found.is_empty() { "ok" } else { "FAILED" },
            began.elapsed().as_secs_f64()
        );
        faults.extend(found.iter().map(|fault| format!("{name}: {fault}")));
        count += 1;
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(count > 0, "no example has a `ci.args`");
}

#[test]
fn bands_are_readable_and_belong_to_a_run() {
    for folder in folders() {
        if !bands(&folder).is_empty() {
            assert!(
                folder.join("ci.args").exists(),
                "{} has bands but no arguments",
                folder.display()
            );
        }
    }
}

#[test]
fn a_metric_outside_its_band_is_found() {
    let result =
        serde_json::json!({"infer": {"a": {"metrics": {"rmse": 2.0}, "parameters": {"mu": {"mean": 4.5}}}}});
    let found = |line: &str| outside(&result, &[band(line)]).len();
    assert_eq!(found("a rmse 1 3"), 0);
    assert_eq!(found("a rmse 2.1 3"), 1);
    assert_eq!(found("a parameters.mu.mean 4 5"), 0);
    assert_eq!(found("a accuracy 0 1"), 1);
    assert_eq!(found("b rmse 1 3"), 1);
}
