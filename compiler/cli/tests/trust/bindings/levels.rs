//! Tests the levels of groups, and the positions that select them.

use super::{groups, groups_program, parameters};
use crate::support::run;
use crate::support::trial::Trial;
use serde_json::Value;

#[test]
fn sparse_ids_are_levels() {
    for ids in [[10, 20, 35], [1, 2, 3], [-7, 0, 5_000_000_000]] {
        let trial =
            Trial::new()
                .file("d.csv", groups(&ids))
                .program(&groups_program("csv(\"d.csv\")", "J", "J"));
        let result = trial.result(&[]);
        let text = parameters(&result).to_string();
        let means: Vec<f64> = text
            .match_indices("\"mean\":")
            .filter_map(|(at, found)| {
                let rest = &text[at + found.len()..];
                rest.split([',', ']', '}'])
                    .next()?
                    .trim_start_matches('[')
                    .parse()
                    .ok()
            })
            .collect();
        assert!(!means.is_empty(), "{text}");
        let quantities = &result["infer"]["fit"]["diagnostics"]["quantities"];
        let count = quantities.as_object().expect("quantities").len();
        // The four quantities are the means of three groups and the log density.
        assert_eq!(count, 4, "{quantities}");
    }
}

/// The elements of a parameter are named after the integers in the file, and new rows are assigned
/// to groups by these integers. The groups are observed as 0 to 3, 10 to 13 and 20 to 23.
#[test]
fn elements_are_named_by_their_integer_ids() {
    let trial = Trial::new()
        .file("d.csv", groups(&[10, 20, 35]))
        .file("new.csv", "g\n35\n10\n20\n")
        .program(&groups_program("csv(\"d.csv\")", "J", "J"));
    let out = trial.path("out");
    let out = out.to_str().expect("a path of plain characters");
    let output = trial.bnnc("run", &["--out", out]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let read = |name: &str| std::fs::read_to_string(trial.path("out").join(name)).expect("an output file");
    let result: Value = serde_json::from_str(&read("result.json")).expect("JSON");
    assert_eq!(
        parameters(&result)["mu"]["names"],
        serde_json::json!([["10", "20", "35"]])
    );
    let quantities = &result["infer"]["fit"]["diagnostics"]["quantities"];
    for (id, expected) in [(10, 1.5), (20, 11.5), (35, 21.5)] {
        let name = format!("mu[{id}]");
        assert!(output.stdout.contains(&name), "{}", output.stdout);
        assert!(read("report.html").contains(&name), "{name}");
        let found = quantities[&name]["mean"].as_f64().expect("a mean");
        // The posterior standard deviation is 0.5, and the effective sample size is about 200.
        assert!((found - expected).abs() < 0.25, "{name}: {found}");
    }
    let new = trial.path("new.csv");
    let new = new.to_str().expect("a path of plain characters");
    let predicted = run(["predict", out, "--data", new]);
    assert_eq!(predicted.status, 0, "{}", predicted.stderr);
    let means: Vec<f64> = predicted
        .stdout
        .lines()
        .skip(1)
        .filter_map(|row| row.split(',').nth(1)?.parse().ok())
        .collect();
    let is_near = |(found, expected): (&f64, f64)| (found - expected).abs() < 0.25;
    assert!(
        means.len() == 3 && means.iter().zip([21.5, 1.5, 11.5]).all(is_near),
        "{}",
        predicted.stdout
    );
}

#[test]
fn columns_that_share_a_size_share_their_levels() {
    let text = "winner,loser,margin\n7,9,2\n9,12,2\n7,12,4\n7,9,2\n9,12,2\n7,12,4\n";
    let of = |text: String| {
        let trial = Trial::new().file("d.csv", text).program(
            "data d = csv(\"d.csv\")\nmodel Games(winner: index(P), loser: index(P)) -> margin: real {\n  \
             skill: real[P] ~ Normal(0, 10)\n  margin ~ Normal(skill[winner] - skill[loser], 0.1)\n}\n\
             infer fit = nuts(Games, d) { chains = 2, warmup = 300, draws = 100 }\n",
        );
        trial.result(&[])["infer"]["fit"]["metrics"]["rmse"]
            .as_f64()
            .expect("a number")
    };
    // One skill for each of three players can fit these margins exactly. With separate skills for
    // the two columns, this would be impossible.
    assert!(of(text.to_owned()) < 0.2);
    let words = text.replace('7', "Ann").replace("12", "Cy").replace('9', "Bob");
    assert!(of(words) < 0.2);
}

#[test]
fn ids_without_a_training_row_are_reported_with_their_row() {
    let trial = Trial::new()
        .file("d.csv", groups(&[10, 20, 35]))
        .file("new.csv", "g\n10\n11\n")
        .program(&groups_program("csv(\"d.csv\")", "J", "J"));
    let reported = new_rows_are_rejected(&trial);
    assert!(reported.contains("11"), "{reported}");
    assert!(reported.contains("new.csv:3"), "{reported}");
}

/// Runs the program, and predicts for the rows of `new.csv`, which fails. Returns the messages.
fn new_rows_are_rejected(trial: &Trial) -> String {
    let [out, new] = ["out", "new.csv"].map(|name| trial.path(name).display().to_string());
    assert_eq!(trial.bnnc("run", &["--out", &out]).status, 0);
    let predicted = crate::support::run(["predict", &*out, "--data", &*new]);
    assert_eq!(predicted.status, 3, "{}", predicted.stdout);
    predicted.stderr
}

/// Kernels clamp positions to the axis, so without a check `v[-i]` would equal `v[0]` for every
/// `i`.
#[test]
fn positions_made_of_counters_stay_inside_their_axis() {
    let trial = |position: &str| {
        Trial::new()
            .file("d.csv", "x,y\n1,2\n2,3\n3,5\n")
            .program(&format!(
                "data d = csv(\"d.csv\") {{ target = y }}
model M(x: real) -> y: real {{
  v: real[8] ~ Normal(0, 1)
  y ~ Normal(x * sum(v[{position}] for t in 1..6), 1)
}}
infer fit = map(M, d) {{ steps = 20 }}"
            ))
    };
    for outside in [
        "-t",
        "-(t - 1)",
        "7 / (t - 3)",
        "t / 3 - 1",
        "(t - 5) / 100",
        "9223372036854775807 * t",
        "2 - t",
        "9 - t / 5",
    ] {
        trial(outside)
            .bnnc("check", &[])
            .assert_error("E0290", 1, &["this position"]);
    }
    let summed = "sum(s for s in 0..t + 1)";
    trial(summed)
        .bnnc("run", &[])
        .assert_error("E0436", 3, &["outside an axis of size 8"]);
    for inside in ["-t + 5", "-(t - 6)", "7 - t", "t / 2", "(t + 2) / 2", "6 / t"] {
        let output = trial(inside).bnnc("run", &[]);
        assert_eq!(output.status, 0, "{inside}: {}", output.stderr);
    }
}

#[test]
fn positions_beyond_the_groups_are_named_with_their_row() {
    let trial = Trial::new()
        .file("d.csv", groups(&[0, 1, 2]))
        .file("new.csv", "g\n2\n3\n-7\n")
        .program(&groups_program("csv(\"d.csv\")", "J", "J"));
    let reported = new_rows_are_rejected(&trial);
    assert!(reported.contains("new.csv:3"), "{reported}");
}

#[test]
fn one_based_positions_of_a_constant_size_are_a_warning() {
    let trial = Trial::new()
        .file("d.csv", groups(&[1, 2]))
        .program(&groups_program("csv(\"d.csv\")", "3", "3"));
    trial
        .bnnc("check", &[])
        .assert_warning("E0265", &["no row has the value 0 in `g`"]);
    let from_zero = Trial::new()
        .file("d.csv", groups(&[0, 1, 2]))
        .program(&groups_program("csv(\"d.csv\")", "3", "3"));
    from_zero.bnnc("check", &[]).assert_silent();
    let gap = Trial::new()
        .file("d.csv", groups(&[0, 1, 3]))
        .program(&groups_program("csv(\"d.csv\")", "4", "4"));
    let found = gap.bnnc("check", &[]);
    found.assert_warning("E0265", &["no row has the value 2 in `g`", "`g: index(J)`"]);
    // Subtracting 10 would leave gaps between the identifiers.
    let tens = Trial::new()
        .file("d.csv", groups(&[10, 20, 30, 80]))
        .program(&groups_program("csv(\"d.csv\")", "81", "81"));
    let found = tens.bnnc("check", &[]);
    found.assert_warning("E0265", &["no row has the value 0 in `g`", "`g: index(J)`"]);
    assert!(!found.stderr.contains("subtract"), "{}", found.stderr);
    let beyond = Trial::new()
        .file("d.csv", groups(&[1, 2, 3]))
        .program(&groups_program("csv(\"d.csv\")", "3", "3"));
    beyond
        .bnnc("check", &[])
        .assert_error("E0292", 1, &["`g` counts from 1", "[g - 1]"]);
}

#[test]
fn ids_of_a_json_file_select_the_groups_that_its_scalar_counts() {
    let program = groups_program("json(\"d.json\")", "J", "J");
    let fits = Trial::new()
        .file(
            "d.json",
            r#"{"J": 2, "g": [1, 1, 2, 2], "y": [0.0, 0.2, 9.0, 9.2]}"#,
        )
        .program(&program);
    let rmse = fits.result(&[])["infer"]["fit"]["metrics"]["rmse"].as_f64();
    assert!(rmse.expect("a number") < 0.5);
    let other = Trial::new()
        .file(
            "d.json",
            r#"{"J": 3, "g": [1, 1, 3, 3], "y": [0.0, 0.2, 9.0, 9.2]}"#,
        )
        .program(&program);
    other
        .bnnc("check", &[])
        .assert_error("E0292", 1, &["`g` counts from 1"]);
}
