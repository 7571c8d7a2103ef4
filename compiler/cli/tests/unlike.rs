//! Tests the metrics of test rows that differ from the training rows: rotated digits, corrupted digits, and outliers.

mod support;

use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};

const TEST: &str = "examples/digits/data/test-images.gz";

/// The number of runs so far.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Fits the digits in this repository for a few steps, and returns the result. `settings` contains
/// the options of the data item.
fn fitted(settings: &[&str], outliers: Option<&str>) -> Value {
    reported(settings, outliers).0
}

/// Returns the result of a fit as in [`fitted`], and its report.
fn reported(settings: &[&str], outliers: Option<&str>) -> (Value, String) {
    let folder = std::env::temp_dir().join(format!("bnnc-unlike-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let data = support::root().join("examples/digits/data");
    let file = |name: &str| data.join(format!("{name}.gz")).display().to_string();
    let has_outliers = outliers.is_some() || settings.iter().any(|setting| setting.contains("outliers"));
    let text = format!(
        "data digits = idx(\"{}\", \"{}\") {{ test = idx(\"{}\", \"{}\"), scale = 1 / 126, limit = 300 }}\n\
         model Digits(x: real[d]) -> digit: index(10) {{\n  out = Dense(10, prior = Normal(0, 0.3))\n  \
         digit ~ Categorical(logits = out(x))\n}}\n\
         infer mode = map(Digits, digits) {{ epochs = 5 }}\n\
         compare mode by accuracy, entropy{}\n",
        file("train-images"),
        file("train-labels"),
        file("test-images"),
        file("test-labels"),
        // A `compare` item rejects outlier metrics if the data item does not have outliers.
        if has_outliers {
            ", ece(10), ece(15), ece(20), adaptive_ece, classwise_ece, aurc, ood_entropy, ood_auroc, ood_aupr, ood_fpr95"
        } else {
            ""
        },
    );
    // Several tests run at the same time, some of them with the same settings.
    let name = format!("run-{}", RUNS.fetch_add(1, Ordering::Relaxed));
    let program = folder.join(format!("{name}.bnn"));
    std::fs::write(&program, text).expect("a program");
    let mut arguments = vec![
        "run".to_owned(),
        program.display().to_string(),
        "--json".to_owned(),
        "--out".to_owned(),
        folder.join(&name).display().to_string(),
    ];
    for setting in settings {
        arguments.extend(["--set".to_owned(), (*setting).to_owned()]);
    }
    arguments.extend(
        outliers
            .iter()
            .flat_map(|file| ["--data".to_owned(), format!("digits.outliers={file}")]),
    );
    let output = support::run(&arguments);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let result: Value = serde_json::from_str(&output.stdout).expect("a result object");
    let report = std::fs::read_to_string(folder.join(&name).join("report.html")).expect("a report");
    (result["infer"]["mode"].clone(), report)
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn the_test_images_as_outliers_have_an_auroc_of_one_half() {
    let found = fitted(&[], Some(TEST));
    let metrics = &found["metrics"];
    // The outliers are the test images themselves, so the area under the curve is exactly one half.
    // Each pair of different entropies also occurs in the opposite order, and a pair of equal
    // entropies contributes one half.
    assert!((number(&metrics["ood_auroc"]) - 0.5).abs() < 1e-12, "{metrics}");
    assert_eq!(metrics["ood_entropy"], metrics["entropy"]);
    let accuracy = number(&metrics["accuracy"]);
    let first = &found["rejection"][0];
    assert_eq!(number(&first["fraction"]), 0.0);
    assert!(
        (number(&first["accuracy"]) - accuracy / 2.0).abs() < 1e-12,
        "{first}"
    );
    assert_eq!(found["rejection"].as_array().map(Vec::len), Some(10));
    // At every threshold on the entropy, as many outliers as test rows are detected. The precision is one half, and the threshold that accepts
    // 95 % of the test rows accepts 95 % of the outliers.
    assert!((number(&metrics["ood_aupr"]) - 0.5).abs() < 1e-12, "{metrics}");
    let accepted = number(&metrics["ood_fpr95"]);
    assert!((0.95..0.96).contains(&accepted), "{accepted}");
    let whole = &found["by_confidence"][0];
    assert_eq!((number(&whole["threshold"]), number(&whole["share"])), (0.0, 1.0));
    assert_eq!(number(&whole["accuracy"]), accuracy);
    for (one, next) in (0..11).map(|at| (&found["by_confidence"][at], &found["by_confidence"][at + 1])) {
        assert!(number(&one["share"]) >= number(&next["share"]), "{one} {next}");
    }
}

#[test]
fn shuffled_digits_are_detected_as_outliers() {
    let found = fitted(&["digits.outliers=shuffled(7)"], None);
    assert!(number(&found["metrics"]["ood_auroc"]) > 0.6, "{found}");
    let without = fitted(&[], None);
    assert_eq!(found["metrics"]["accuracy"], without["metrics"]["accuracy"]);
    assert!(
        without["rejection"].is_null()
            && without["metrics"]["ood_auroc"].is_null()
            && without["rotated"].is_null()
    );
}

#[test]
fn each_angle_has_the_same_metrics_as_alone() {
    let all = fitted(&["digits.rotate=[0, 90, 20]"], None);
    assert_eq!(all["metrics"], fitted(&[], None)["metrics"]);
    for (at, degrees) in [90, 20].into_iter().enumerate() {
        let line = &all["rotated"][at];
        assert_eq!(number(&line["degrees"]), f64::from(degrees));
        let alone = fitted(&[&format!("digits.rotate={degrees}")], None);
        assert_eq!(line["metrics"], alone["metrics"]);
        assert!(number(&alone["metrics"]["accuracy"]) < number(&all["metrics"]["accuracy"]));
    }
}

#[test]
fn each_shift_has_the_same_metrics_as_alone() {
    let (all, report) = reported(&["digits.shifts=[contrast(2), fog, jpeg(5)]"], None);
    for title in ["accuracy", "nll", "ece"] {
        assert!(
            report.contains(&format!("{title} under corruptions</text>")),
            "{title}"
        );
    }
    assert!(report.contains("<code>contrast(2)</code>"));
    assert!(report.contains("Share and accuracy of test rows by confidence"));
    assert_eq!(all["metrics"], fitted(&[], None)["metrics"]);
    let lines = all["shifts"].as_array().expect("an array");
    let written = lines.iter().map(|line| {
        let name = line["shift"].as_str().expect("a name");
        format!("{name}({})", line["severity"])
    });
    let written: Vec<String> = written.collect();
    let expected = "contrast(2) fog(1) fog(2) fog(3) fog(4) fog(5) jpeg(5)";
    assert_eq!(written.join(" "), expected);
    for (line, shift) in [(&lines[3], "fog(3)"), (&lines[6], "jpeg(5)")] {
        let alone = fitted(&[&format!("digits.shifts=[{shift}]")], None);
        assert_eq!(line["metrics"], alone["shifts"][0]["metrics"]);
    }
    // Dense fog hides digits.
    let accuracy = |line: &Value| number(&line["metrics"]["accuracy"]);
    assert!(accuracy(&lines[5]) < accuracy(&all), "{all}");
}
