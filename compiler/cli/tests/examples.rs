//! Runs the examples on their real data. `NAME.bnn` runs with the arguments in `NAME.args`, if this
//! file exists. The metrics must lie within the bands in `NAME.bands`. Each line of this file has
//! the form `INFER METRIC MIN MAX`.
//!
//! A metric is a name under `metrics` in the result of the inference, or a path in this result,
//! such as `parameters.mu.mean` or `prune.2.weights`.

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One line of a file of bands.
struct Band {
    infer: String,
    metric: String,
    low: f64,
    high: f64,
}

/// Returns the files with the extension `extension` in the folders of `examples/`, in sorted order.
fn files(extension: &str) -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder of examples");
        entries.flatten().map(|entry| entry.path()).collect()
    };
    let folders = entries(&support::root().join("examples"))
        .into_iter()
        .filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> = folders.flat_map(|folder| entries(&folder)).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

fn bands(path: &Path) -> Vec<Band> {
    let text = fs::read_to_string(path).expect("the bands of the example");
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

/// Returns a sentence about each metric of a result that lies outside its band.
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

fn run(arguments: &Path) -> Vec<String> {
    let line = fs::read_to_string(arguments).expect("the arguments of the example");
    let program = arguments.with_extension("bnn");
    let bands = bands(&arguments.with_extension("bands"));
    assert!(
        !bands.is_empty(),
        "{} holds nothing to a band",
        arguments.display()
    );
    let mut arguments = vec!["run", program.to_str().expect("a path of plain characters")];
    arguments.extend(line.split_whitespace());
    arguments.push("--json");
    let output = support::run(&arguments);
    if output.status != 0 {
        return vec![format!("exit status {}\n{}", output.status, output.stderr)];
    }
    match serde_json::from_str(&output.stdout) {
        Ok(result) => outside(&result, &bands),
        Err(error) => vec![format!("the result is not JSON: {error}")],
    }
}

#[test]
#[ignore = "minutes in release; `.ci/examples` runs it"]
fn examples_stay_within_their_bands() {
    let mut faults = Vec::new();
    let mut count = 0;
    for path in files("args") {
        let name = path.with_extension("");
        let name = name
            .strip_prefix(support::root().join("examples"))
            .unwrap_or(&name)
            .display();
        let began = Instant::now();
        let found = run(&path);
        println!(
            "{name}: {} in {:.1} s",
            if found.is_empty() { "ok" } else { "FAILED" },
            began.elapsed().as_secs_f64()
        );
        faults.extend(found.iter().map(|fault| format!("{name}: {fault}")));
        count += 1;
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(count > 0, "no example has arguments");
}

#[test]
#[ignore = "forty runs; `.ci/examples` runs it"]
fn errors_on_tables_do_not_depend_on_the_seed() {
    let examples: [(&str, &[&str]); 4] = [
        ("yacht", &["fit"]),
        ("energy", &["fit"]),
        ("wine", &["fit"]),
        ("kin8nm", &["shallow", "deep"]),
    ];
    for (name, infers) in examples {
        let results: Vec<Value> = (0..10).map(|seed| silent(name, seed)).collect();
        for infer in infers {
            let mut errors: Vec<f64> = results.iter().map(|result| error(result, infer)).collect();
            errors.sort_by(f64::total_cmp);
            let median = 0.5 * (errors[4] + errors[5]);
            let is_near = |error: &f64| (error / median - 1.0).abs() < 0.15;
            assert!(errors.iter().all(is_near), "{name}, {infer}: {errors:?}");
        }
    }
}

/// Runs an example. It must not cause a warning. Returns its result.
fn silent(name: &str, seed: u32) -> Value {
    let program = support::root().join(format!("examples/{name}/{name}.bnn"));
    let program = program.to_str().expect("a path of plain characters");
    let output = support::run(["run", program, "--json", "--seed", &seed.to_string()]);
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (0, ""),
        "{name}, seed {seed}"
    );
    serde_json::from_str(&output.stdout).expect("the result is JSON")
}

/// Returns the error of an inference on the test rows.
fn error(result: &Value, infer: &str) -> f64 {
    result["infer"][infer]["metrics"]["rmse"]
        .as_f64()
        .expect("an error")
}

#[test]
fn bands_are_readable_and_belong_to_a_run() {
    for path in files("bands") {
        assert!(!bands(&path).is_empty(), "{} has no bands", path.display());
        for other in ["args", "bnn"] {
            let other = path.with_extension(other);
            assert!(other.exists(), "{} is not there", other.display());
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

/// `--timings` prints the stages of the main thread first. It then prints, for each program, the time after which it can run.
#[test]
fn timings_list_the_stages_and_then_the_programs() {
    let output = support::run(["check", "--timings", "examples/yacht/yacht.bnn"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let times: Vec<(&str, f64)> = (output.stderr.lines())
        .filter_map(|line| {
            let (name, time) = line.strip_suffix(" ms")?.trim_end().rsplit_once(' ')?;
            Some((name.trim_end(), time.parse().ok()?))
        })
        .collect();
    let names: Vec<&str> = times.iter().map(|(name, _)| *name).collect();
    let stages = [
        "parse and check",
        "fit: elaborate",
        "fit: density",
        "fit: rewrite",
        "fit: lower",
        "fit: code",
        "fit: total",
    ];
    let programs =
        ["train", "gradient", "predict", "sites", "prior"].map(|name| format!("fit.{name}: ready after"));
    assert_eq!(names[..stages.len()], stages);
    assert_eq!(names[stages.len()..], programs);
    let ready: Vec<f64> = times[stages.len()..].iter().map(|(_, time)| *time).collect();
    assert!(ready.is_sorted(), "{ready:?}");
    // No program can run before the stages that lead to it.
    assert!(ready[0] > times[0].1, "{times:?}");
}
