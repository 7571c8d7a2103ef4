//! Results that were wrong, and messages that were false, without anything on standard error that said so.

use crate::support::run;
use crate::support::trial::Trial;

/// Returns a folder with a program whose output has two values per row.
fn pairs(method: &str) -> Trial {
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let y: Vec<[f64; 2]> = x.iter().map(|x| [0.1 * x, 1.0 - 0.1 * x]).collect();
    let data = serde_json::json!({ "x": x, "y": y }).to_string();
    let program = format!(
        "data d = json(\"d.json\")
model M(x: real) -> y: real[2] {{
  hidden = Dense(3)
  out = Dense(2)
  y ~ Normal(out(relu(hidden([x]))), 0.5)
}}
infer fit = {method}(M, d) {{ steps = 100 }}
"
    );
    Trial::new().file("d.json", data).program(&program)
}

/// The predictions of a vector have metrics, but do not fit a table.
#[test]
fn outputs_with_several_values_per_row_are_not_reported_to_lack_a_mean() {
    for method in ["collapsed", "map"] {
        let trial = pairs(method);
        let folder = trial.path("out").display().to_string();
        let output = trial.bnnc("run", &["--out", &folder]);
        output.assert_sound();
        for text in [
            "note[E0519]",
            "`y` has 2 values per row",
            "`-> y1: real, y2: real`",
        ] {
            assert!(output.stderr.contains(text), "{text}: {}", output.stderr);
        }
        assert!(!output.stderr.contains("neither"), "{}", output.stderr);
        assert!(output.stdout.contains("rmse"), "{}", output.stdout);
        let output = run([
            "predict",
            &folder,
            "--data",
            &trial.path("d.json").display().to_string(),
        ]);
        output.assert_error(
            "E0519",
            1,
            &["`y` has 2 values per row", "`-> y1: real, y2: real`"],
        );
    }
}
