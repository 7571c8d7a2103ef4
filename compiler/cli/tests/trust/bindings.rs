//! Tests how columns, levels and indices of data are bound to a model.

use crate::support::run;
use crate::support::trial::Trial;
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;

/// Options of chains that are long enough to compare equivalent programs, and short enough for a
/// test.
const SHORT: &str = "{ chains = 2, warmup = 60, draws = 40 }";

/// Returns a table of forty rows with the columns `x, age, exposure, claims`. `write` computes the
/// age and the exposure that the file contains.
fn claims(write: impl Fn(f64, f64) -> (f64, f64)) -> String {
    let mut text = "x,age,exposure,claims\n".to_owned();
    for row in 0..40 {
        let (age, exposure) = write(f64::from(20 + row), f64::from(1 + row % 5));
        let (x, claims) = (f64::from(row % 7) / 2.0, row % 4);
        let _ = writeln!(text, "{x:?},{age:?},{exposure:?},{claims}");
    }
    text
}

const CLAIMS: &str = "model Claims(x: real, age: real, exposure: real) -> claims: count {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  c ~ Normal(0, 1)
  claims ~ Poisson(a + b * x + c * age + exposure)
}
";

fn claims_program(inputs: &str) -> String {
    format!(
        "data d = csv(\"d.csv\") {{ inputs = [{inputs}], target = claims }}\n{CLAIMS}infer fit = nuts(Claims, d) {}\n",
        SHORT
    )
}

fn parameters(result: &Value) -> &Value {
    &result["infer"]["fit"]["parameters"]
}

/// Returns the posterior mean of a parameter, or of one of its elements.
fn mean(result: &Value, name: &str) -> f64 {
    let found = &parameters(result)[name]["mean"];
    found
        .as_f64()
        .unwrap_or_else(|| panic!("no `{name}` in {}", parameters(result)))
}

#[test]
fn expressions_of_inputs_feed_the_inputs_of_their_columns() {
    let (mean, sd) = (39.5, (1599.0_f64 / 12.0).sqrt());
    let raw = |age: f64, exposure: f64| (age, exposure);
    let computed = |age: f64, exposure: f64| ((age - mean) / sd, exposure.ln());
    let by_entries = Trial::new()
        .file("d.csv", claims(raw))
        .program(&claims_program("x, zscore(age), log(exposure)"));
    let by_hand = Trial::new()
        .file("d.csv", claims(computed))
        .program(&claims_program("x, age, exposure"));
    let named = Trial::new()
        .file("d.csv", claims(raw))
        .program(&claims_program("x, exposure = log(exposure), age = zscore(age)"));
    let expected = by_hand.result(&[]);
    for trial in [by_entries, named] {
        let found = trial.result(&[]);
        for name in ["a", "b", "c"] {
            let (found, expected) = (self::mean(&found, name), self::mean(&expected, name));
            assert!(
                (found - expected).abs() < 1e-6,
                "{name}: {found}, by hand {expected}"
            );
        }
    }
}

#[test]
fn saved_runs_predict_with_the_same_expressions() {
    let trial = Trial::new()
        .file("d.csv", claims(|age, exposure| (age, exposure)))
        .file("new.csv", "x,age,exposure\n1,39.5,1\n1,39.5,2\n")
        .program(&claims_program("x, zscore(age), log(exposure)"));
    let out = trial.path("out");
    let out = out.to_string_lossy();
    assert_eq!(trial.bnnc("run", &["--out", &out]).status, 0);
    let new = trial.path("new.csv");
    let predicted = crate::support::run(["predict", &*out, "--data", &new.to_string_lossy()]);
    assert_eq!(predicted.status, 0, "{}", predicted.stderr);
    let means: Vec<f64> = predicted
        .stdout
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',')
                .nth(1)
                .and_then(|cell| cell.parse().ok())
                .expect("a mean")
        })
        .collect();
    // Doubling the exposure doubles the rate in every draw.
    assert!((means[1] / means[0] - 2.0).abs() < 1e-5, "{means:?}");
}

#[test]
fn an_expression_that_feeds_nothing_is_an_error() {
    let check = |inputs: &str| {
        let trial = Trial::new()
            .file("d.csv", claims(|age, exposure| (age, exposure)))
            .program(&claims_program(inputs));
        trial.bnnc("check", &[])
    };
    check("x, age, log(exposure) * age").assert_error(
        "E0264",
        1,
        &[
            "no model uses `log(exposure) * age`",
            "NAME = log(exposure) * age",
        ],
    );
    // The message always advises the name of the model's input, even if the user chose another
    // name. With the advised name, the program is correct.
    check("x, wage = log(age)").assert_error(
        "E0264",
        1,
        &["`Claims` has an input `age`: write `age = log(age)`"],
    );
    check("x, age = log(age)").assert_sound();
    check("x, zscore(age), log_exposure = log(exposure)").assert_error(
        "E0264",
        1,
        &["write `exposure = log(exposure)`"],
    );
    check("x, zscore(age), exposure = log(exposure)").assert_sound();
    check("x, age, exposure, log_age = log(age)").assert_error(
        "E0264",
        1,
        &["give `Claims` an input `log_age: real`, or remove this entry"],
    );
    check("x, age, zscore(age)").assert_error("E0268", 1, &["choose one of them: `age = zscore(age)`"]);
}

#[test]
fn check_prints_what_feeds_each_input() {
    let trial = Trial::new()
        .file("d.csv", claims(|age, exposure| (age, exposure)))
        .program(&claims_program("x, zscore(age), log(exposure)"));
    let output = trial.bnnc("check", &[]);
    let words: Vec<String> = output
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for line in [
        "input x column x",
        "input age zscore(age) (mean 39.5, sd 11.54)",
        "input exposure log(exposure)",
        "output claims column claims",
    ] {
        assert!(
            words.iter().any(|found| found == line),
            "`{line}` is not in\n{}",
            output.stdout
        );
    }
}

/// Returns a table with the columns `g, y` and four rows for each group. The targets are 10 times
/// the position of the group, plus 0 to 3.
fn groups(ids: &[i64]) -> String {
    let mut text = "g,y\n".to_owned();
    for (position, id) in ids.iter().enumerate() {
        for row in 0..4 {
            let _ = writeln!(text, "{id},{}", 10 * position as i64 + row);
        }
    }
    text
}

fn groups_program(data: &str, size: &str, size_of_mu: &str) -> String {
    format!(
        "data d = {data}\nmodel Groups(g: index({size})) -> y: real {{\n  mu: real[{size_of_mu}] ~ Normal(0, 100)\n  \
         y ~ Normal(mu[g], 1)\n}}\ninfer fit = nuts(Groups, d) {{ chains = 2, warmup = 200, draws = 200, report = [mu] }}\n"
    )
}

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
    let out = trial.path("out");
    let out = out.to_string_lossy();
    assert_eq!(trial.bnnc("run", &["--out", &out]).status, 0);
    let new = trial.path("new.csv");
    let predicted = crate::support::run(["predict", &*out, "--data", &new.to_string_lossy()]);
    assert_eq!(predicted.status, 3, "{}", predicted.stdout);
    assert!(predicted.stderr.contains("11"), "{}", predicted.stderr);
    assert!(predicted.stderr.contains("new.csv:3"), "{}", predicted.stderr);
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
        "t / 0",
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
    let out = trial.path("out");
    let out = out.to_string_lossy();
    assert_eq!(trial.bnnc("run", &["--out", &out]).status, 0);
    let new = trial.path("new.csv");
    let predicted = crate::support::run(["predict", &*out, "--data", &new.to_string_lossy()]);
    assert_eq!(predicted.status, 3, "{}", predicted.stdout);
    assert!(predicted.stderr.contains("new.csv:3"), "{}", predicted.stderr);
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

#[test]
fn constant_columns_reach_the_model_as_zeros() {
    let program = "data d = csv(\"d.csv\") { standardise = inputs, test = csv(\"t.csv\") }\n\
        model Line(x: real[d]) -> y: real {\n  w: real[d] ~ Normal(0, 1)\n  y ~ Normal(dot(w, x), 1)\n}\n\
        infer fit = map(Line, d) { epochs = 50, optimiser = Adam(0.05) }\n";
    let of = |constant: &str| {
        let rows = |from: i32| {
            let row = |at: i32| format!("{constant},{},{}\n", at % 5, at % 5 - 2);
            format!("c,x,y\n{}", (from..from + 10).map(row).collect::<String>())
        };
        let trial = Trial::new()
            .file("d.csv", rows(0))
            .file("t.csv", rows(3))
            .program(program);
        let output = trial.bnnc("run", &["--json"]);
        assert!(
            output.stderr.contains("are centred but not scaled: `c`"),
            "{}",
            output.stderr
        );
        let result: Value = serde_json::from_str(&output.stdout).expect("the result is JSON");
        result["infer"]["fit"]["metrics"]["rmse"]
            .as_f64()
            .expect("a number")
    };
    let (zero, large) = (of("0"), of("288"));
    assert!((zero - large).abs() < 1e-9, "{zero} with 0, {large} with 288");
}

#[test]
fn a_shared_column_does_not_replace_the_observations() {
    let values: Vec<String> = (0..50)
        .map(|at| format!("{}", 5.0 + f64::from(at) * 0.01))
        .collect();
    // A shared column with as many elements as there are observations would silently replace the
    // observations.
    for rows in [40, 50] {
        let trial = Trial::new()
            .file("s.json", format!("{{\"y\": [{}]}}", values.join(",")))
            .file("z.csv", format!("y\n{}", "-7\n".repeat(rows)))
            .program(
                "data s = json(\"s.json\") { shared = csv(\"z.csv\") }\nmodel M() -> y: real[T] {\n  b ~ Normal(0, 10)\n  \
                 y ~ Normal(b, 1)\n}\ninfer fit = nuts(M, s) { chains = 2, warmup = 200, draws = 400 }\n",
            );
        // The posterior mean is a weighted average. The mean of 50 values with noise of standard
        // deviation 1 has the weight 5000 / 5001, and the prior mean has the weight 1 / 5001. The
        // posterior standard deviation is 0.14, so five standard errors are less than 0.05.
        let expected = 5.245 * 5000.0 / 5001.0;
        let found = mean(&trial.result(&[]), "b");
        assert!((found - expected).abs() < 0.05, "{rows} rows: {found}");
    }
}

#[test]
fn whole_columns_of_a_table_are_one_example() {
    let rows: String = (0..30).map(|at| format!("{},{}\n", at % 3, at % 3 + 4)).collect();
    let of = |model: &str, options: &str| {
        let program = format!(
            "data s = csv(\"s.csv\"){options}\n{model} {{\n  b ~ Normal(0, 10)\n  y ~ Normal(b, 1)\n}}\n\
             infer fit = laplace(M, s) {{ epochs = 500, optimiser = Adam(0.1) }}\n"
        );
        Trial::new()
            .file("s.csv", format!("x,y\n{rows}"))
            .program(&program)
    };
    let expected = 5.0 * 3000.0 / 3001.0;
    for model in ["model M() -> y: real[n]", "model M() -> y: real"] {
        let found = mean(&of(model, "").result(&[]), "b");
        assert!((found - expected).abs() < 0.02, "{model}: {found}");
    }
    of("model M() -> y: real[n]", " { test = fraction(0.2) }")
        .bnnc("check", &[])
        .assert_error(
            "E0267",
            1,
            &["`y` takes the whole column `y`, but only 24 of 30 rows are training rows"],
        );
    let line = of("model M(x: real[n])() -> y: real[n]", "");
    assert_eq!(line.bnnc("check", &[]).status, 0);
    of("model M(x: real[n], z: real) -> y: real", "")
        .bnnc("check", &[])
        .assert_error(
            "E0292",
            1,
            &["for a model of one row, write `x: real`; for a model of whole columns, declare them in the first of two parameter lists"],
        );
}

#[test]
fn laplace_takes_whole_arrays_of_a_json_file() {
    let trial = Trial::new()
        .file("s.json", r#"{"y": [4.0, 5.0, 6.0]}"#)
        .program("data s = json(\"s.json\")\nmodel M() -> y: real[n] {\n  b ~ Normal(0, 10)\n  y ~ Normal(b, 1)\n}\ninfer fit = laplace(M, s) { epochs = 500, optimiser = Adam(0.1) }\n");
    let found = mean(&trial.result(&[]), "b");
    assert!((found - 5.0 * 300.0 / 301.0).abs() < 0.02, "{found}");
}

#[test]
fn a_scalar_of_a_json_file_is_the_same_for_every_row() {
    let trial = Trial::new()
        .file("s.json", r#"{"T": 5, "y": [1, 0, 3]}"#)
        .program("data s = json(\"s.json\")\nmodel M(T: real) -> y: real {\n  b ~ Normal(0, 10)\n  y ~ Normal(b * T, 1)\n}\ninfer fit = nuts(M, s) { chains = 2, warmup = 200, draws = 400 }\n");
    // Three rows have the mean 5 b and noise of standard deviation 1. The prior of b has a standard
    // deviation of 10.
    let expected = 5.0 * 4.0 / (3.0 * 25.0 + 0.01);
    let found = mean(&trial.result(&[]), "b");
    assert!((found - expected).abs() < 0.03, "{found}");
}

#[test]
fn a_column_is_renamed_where_its_name_is_a_word_of_the_language() {
    let trial = Trial::new()
        .file("d.csv", "dist,kind,y\n1,a,2\n2,b,4\n3,a,6\n")
        .program("data d = csv(\"d.csv\") { inputs = [far = \"dist\", k = kind], target = y }\nmodel M(far: real, k: index(K)) -> y: real {\n  b ~ Normal(0, 10)\n  u: real[K] ~ Normal(0, 0.001)\n  y ~ Normal(b * far + u[k], 0.1)\n}\ninfer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 100 }\n");
    assert!((mean(&trial.result(&[]), "b") - 2.0).abs() < 0.05);
}

#[test]
fn the_words_true_and_false_are_bool() {
    let trial = Trial::new()
        .file("d.csv", "x,sick\n1.5,True\n2.5,False\n3.5,True\n0.5,False\n")
        .program("data d = csv(\"d.csv\")\nmodel M(x: real) -> sick: bool {\n  b ~ Normal(0, 1)\n  sick ~ Bernoulli(b * x)\n}\ninfer fit = map(M, d)\n");
    assert_eq!(trial.bnnc("check", &[]).status, 0);
}

#[test]
fn the_divisor_of_standard_deviations_is_chosen() {
    let of = |option: &str| {
        let trial = Trial::new().file("d.csv", "x,y\n2,1\n4,1\n9,1\n").program(&format!(
            "data d = csv(\"d.csv\") {{ inputs = [zscore(x)]{option} }}\nmodel M(x: real) -> y: real {{\n  b ~ Normal(0, 1)\n  y ~ Normal(b * x, 1)\n}}\ninfer fit = map(M, d)\n"
        ));
        trial.bnnc("check", &[]).stdout
    };
    // The deviations from the mean are -3, -1 and 4, so the sum of their squares is 26.
    assert!(of("").contains("sd 2.944"), "{}", of(""));
    assert!(
        of(", sd = sample").contains("sd 3.606"),
        "{}",
        of(", sd = sample")
    );
}

#[test]
fn contents_beyond_the_allowed_memory_are_not_read() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(b"x,y\n").expect("memory");
    for _ in 0..1000 {
        packed
            .write_all("1,2\n".repeat(10_000).as_bytes())
            .expect("memory");
    }
    let program = "data d = csv(\"d.csv.gz\")\nmodel M(x: real) -> y: real {\n  b ~ Normal(0, 1)\n  y ~ Normal(b * x, 1)\n}\ninfer fit = map(M, d)\n";
    let trial = Trial::new()
        .file("d.csv.gz", packed.finish().expect("memory"))
        .program(program);
    let output = trial.bnnc("run", &["--max-memory", "100M"]);
    output.assert_error("E0435", 3, &["--max-memory"]);
    let endless = Trial::new().program(&program.replace("d.csv.gz", "/dev/zero"));
    endless
        .bnnc("run", &["--max-memory", "50M"])
        .assert_error("E0435", 3, &[]);
}

#[test]
fn values_outside_their_declared_type_are_named_with_their_row() {
    let trial = Trial::new()
        .file("d.csv", "x,y\n1,0.5\n2,-1\n")
        .program("data d = csv(\"d.csv\")\nmodel M(x: real) -> y: positive {\n  b: positive ~ HalfNormal(1)\n  y ~ Exponential(b)\n}\ninfer fit = map(M, d)\n");
    let output = trial.bnnc("run", &[]);
    output.assert_error("E0437", 3, &["d.csv:3", "`y` holds -1"]);
}

fn indexed(expression: &str, rows: &str) -> Trial {
    Trial::new().file("d.csv", format!("g,y\n{rows}")).program(&format!(
        "data d = csv(\"d.csv\")\nmodel M(g: int) -> y: real {{\n  a: real[3] ~ Normal(0, 1)\n  y ~ Normal(a[{expression}], 1)\n}}\n\
         infer fit = map(M, d) {{ epochs = 20 }}\n"
    ))
}

#[test]
fn computed_positions_are_checked_against_their_axis() {
    let stan = indexed("g - 1", "1,0\n2,0\n3,1\n");
    assert_eq!(stan.bnnc("run", &[]).status, 0);
    for (expression, rows, position) in [
        ("g - 1", "1,0\n9,0\n3,1\n", 8),
        ("g - 1", "1,0\n0,0\n3,1\n", -1),
        ("g", "1,0\n3,0\n3,1\n", 3),
        ("2 * g + 1", "0,0\n-5,0\n0,1\n", -9),
    ] {
        let output = indexed(expression, rows).bnnc("run", &[]);
        let text = format!("`g` gives the position {position}, which is outside an axis of size 3");
        output.assert_error("E0436", 3, &["d.csv:3", &text]);
    }
    let whole = Trial::new().file("d.csv", "g,y\n1,0\n5,1\n").program(
        "data d = csv(\"d.csv\")\nmodel M(g: int[n])() -> y: real[n] {\n  a: real[3] ~ Normal(0, 1)\n  \
         for i in 0..n { y[i] ~ Normal(a[g[i] - 1], 1) }\n}\ninfer fit = map(M, d) { epochs = 20 }\n",
    );
    whole
        .bnnc("run", &[])
        .assert_error("E0436", 3, &["d.csv:3", "position 4"]);
}

/// Returns a program with the output mean `mean`. This expression contains elements of
/// `a: real[3]`, a parameter `t` around 5, and the column `g`.
fn selecting(mean: &str, rows: &str, method: &str) -> Trial {
    Trial::new().file("d.csv", format!("g,y\n{rows}")).program(&format!(
        "data d = csv(\"d.csv\")\nmodel M(g: int) -> y: real {{\n  a: real[3] ~ Normal(0, 1)\n  t ~ Normal(5, 0.1)\n  y ~ Normal({mean} + 0 * t, 1)\n}}\n\
         posterior Q of M {{\n  a ~ Normal\n  t ~ Normal\n}}\ninfer fit = {method}\n"
    ))
}

#[test]
fn positions_in_a_comprehension_are_checked() {
    let trial = selecting("sum(a[g - j] for j in 0..2)", "1,0\n0,0\n2,1\n", "map(M, d)");
    let output = trial.bnnc("run", &[]);
    output.assert_error("E0436", 3, &["d.csv:3", "position -1"]);
}

#[test]
fn positions_that_a_condition_excludes_are_not_checked() {
    let rows = "1,0\n0,0\n3,1\n";
    let guarded = selecting("(if g > 0 { a[g - 1] } else { 0 })", rows, "map(M, d)");
    assert_eq!(guarded.bnnc("run", &[]).status, 0);
    let other = selecting("(if g > 2 { a[g - 1] } else { a[g] })", "1,0\n3,0\n", "map(M, d)");
    assert_eq!(other.bnnc("run", &[]).status, 0);
    let wrong = selecting("(if g > 2 { 0 } else { a[g - 1] })", rows, "map(M, d)");
    wrong
        .bnnc("run", &[])
        .assert_error("E0436", 3, &["d.csv:3", "position -1"]);
}

#[test]
fn positions_that_depend_on_parameters_are_checked_at_the_draws() {
    let doubled = "a[g * (if t > -9 { 2 } else { 1 })]";
    let methods = [
        "map(M, d)",
        "vi(Q, d) { steps = 50 }",
        "nuts(M, d) { chains = 2, warmup = 50, draws = 50 }",
        "laplace(M, d)",
        "ensemble(M, d) { members = 2 }",
        "swag(M, d) { steps = 200 }",
    ];
    for method in methods {
        let output = selecting(doubled, "1,0\n2,0\n1,1\n", method).bnnc("run", &[]);
        output.assert_error("E0438", 1, &["d.csv:3", "`t`", "`g`", "the position 4", "size 3"]);
    }
    let reference = selecting(doubled, "1,0\n2,0\n", "map(M, d) { steps = 20 }");
    let output = reference.bnnc("run", &["--backend", "reference"]);
    output.assert_error("E0438", 1, &["d.csv:3", "the position 4"]);
    let inside = selecting(doubled, "1,0\n0,0\n", "map(M, d)");
    assert_eq!(inside.bnnc("run", &[]).status, 0);
    let alone = selecting(
        "a[sum(if t > i - 9 { 1 } else { 0 } for i in 0..3)]",
        "1,0\n2,0\n",
        "map(M, d)",
    );
    let output = alone.bnnc("run", &[]);
    output.assert_error("E0438", 1, &["`t` gives the position 3"]);
    assert!(!output.stderr.contains("d.csv"), "{}", output.stderr);
}

/// The parameter `t` starts near 0, where row 3 selects position 4, outside the axis. It ends near
/// 3, where row 3 selects position 2, inside the axis. A position is therefore outside the axis
/// during training, but not at the end.
#[test]
fn positions_that_depend_on_parameters_are_checked_in_every_step() {
    let crossing = "t + a[g * (if t < 1 { 2 } else { 1 })]";
    let rows = "1,3\n2,3\n1,3\n0,3\n";
    for method in [
        "map(M, d)",
        "vi(Q, d)",
        "laplace(M, d)",
        "ensemble(M, d) { members = 2 }",
        "swag(M, d) { steps = 200 }",
    ] {
        let output = selecting(crossing, rows, method).bnnc("run", &[]);
        output.assert_error("E0438", 1, &["d.csv:3", "`t`", "`g`", "the position 4", "size 3"]);
    }
    let inside = selecting(
        "t + a[min(g * (if t < 1 { 2 } else { 1 }), 2)]",
        rows,
        "map(M, d)",
    );
    assert_eq!(inside.bnnc("run", &[]).status, 0);
}

#[test]
fn positions_that_depend_on_parameters_are_checked_for_new_rows() {
    let doubled = "a[g * (if t > -9 { 2 } else { 1 })]";
    let trial = selecting(doubled, "1,0\n0,0\n", "map(M, d)").file("new.csv", "g\n1\n2\n");
    let out = trial.path("out");
    let out = out.to_string_lossy();
    assert_eq!(trial.bnnc("run", &["--out", &out]).status, 0);
    let new = trial.path("new.csv");
    let predicted = crate::support::run(["predict", &*out, "--data", &new.to_string_lossy()]);
    predicted.assert_error("E0438", 1, &["new.csv:3", "the position 4"]);
}

#[test]
fn computed_positions_of_new_rows_are_checked() {
    let trial = indexed("g - 1", "1,0\n2,0\n3,1\n").file("new.csv", "g\n3\n4\n");
    let out = trial.path("out");
    let out = out.to_string_lossy();
    assert_eq!(trial.bnnc("run", &["--out", &out]).status, 0);
    let new = trial.path("new.csv");
    let predicted = crate::support::run(["predict", &*out, "--data", &new.to_string_lossy()]);
    predicted.assert_error("E0436", 3, &["new.csv:3", "position 3"]);
}

#[test]
fn a_quantity_made_by_a_comprehension_is_reported() {
    let trial = Trial::new().file("d.csv", "x,y\n1,2\n2,4\n").program(
        "data d = csv(\"d.csv\")\nmodel M(x: real) -> y: real {\n  a: real[2] ~ Normal(0, 1)\n  z = [2 * a[i] for i in 0..2]\n  \
         y ~ Normal(z[0] * x, 1)\n}\ninfer fit = nuts(M, d) { chains = 2, warmup = 100, draws = 100, report = [z] }\n",
    );
    let result = trial.result(&[]);
    let quantities = result["infer"]["fit"]["diagnostics"]["quantities"].to_string();
    assert!(quantities.contains("\"z[0]\""), "{quantities}");
}

#[test]
fn test_rows_with_ids_that_no_training_row_has_are_an_error() {
    let trial = Trial::new()
        .file("d.csv", groups(&[10, 20, 35]))
        .file("t.csv", "g,y\n10,1\n35,1\n36,1\n")
        .program(&groups_program(
            "csv(\"d.csv\") { test = csv(\"t.csv\") }",
            "J",
            "J",
        ));
    let output = trial.bnnc("run", &[]);
    output.assert_error("E0428", 3, &["t.csv:4", "`36`"]);
}

#[test]
fn an_empty_list_of_inputs_is_an_error() {
    // An empty list of inputs does not select any column. A missing list selects all columns.
    let program = "data d = csv(\"d.csv\") { inputs = [], target = y }
model M(x: real[k]) -> y: real {
  b: real[k] ~ Normal(0, 1)
  y ~ Normal(dot(b, x), 1)
}
infer fit = map(M, d)
";
    let trial = Trial::new().file("d.csv", "x,y\n1,2\n2,3\n").program(program);
    let output = trial.bnnc("check", &[]);
    output.assert_error("E0258", 1, &["`inputs`", "leave it out"]);
}

const LINE: &str = "model M(x: real[k]) -> y: real {
  w: real[k] ~ Normal(0, 5)
  b ~ Normal(0, 5)
  y ~ Normal(dot(w, x) + b, 1)
}
";

/// Returns a table with the columns `x, y` and one row for each number from 1 to 30. `write`
/// returns the text of `x` for a number, and `y` is twice the number.
fn doubled(write: impl Fn(u32) -> String) -> String {
    let rows = (1..=30).map(|row| format!("{},{}\n", write(row), 2 * row));
    std::iter::once("x,y\n".to_owned()).chain(rows).collect()
}

/// If the vector of all inputs has the same name as a column, the name must refer to the vector. If
/// the name referred to the entry that is computed from the column, bnnc would report E0292 or
/// E0268.
#[test]
fn a_vector_of_inputs_may_have_the_name_of_a_column() {
    let data = |inputs: &str| format!("data d = csv(\"d.csv\") {{ inputs = [{inputs}], target = y }}\n");
    let run = |inputs: &str, table: String| {
        let program = data(inputs)
            + LINE
            + "infer fit = map(M, d) { steps = 4000, optimiser = Adam(0.1), precision = f64 }\n";
        Trial::new().file("d.csv", table).program(&program).result(&[])
    };
    let slope = |result: &Value, at: usize| {
        let found = &result["infer"]["fit"]["parameters"]["w"]["mean"];
        found[at].as_f64().unwrap_or_else(|| panic!("{found}"))
    };
    // For row number r, the data are y = 2 r and z = (r - 15.5) / sd. The posterior maximum of the
    // slope is w = S / (S2 + 1 / 25). In this formula, S is the sum of z y, and S2 = 30 is the sum
    // of z^2.
    let z = run("zscore(x)", doubled(|row| row.to_string()));
    let sd = ((900.0_f64 - 1.0) / 12.0).sqrt();
    let expected = 2.0 * sd * 30.0 / (30.0 + 1.0 / 25.0);
    assert!(
        (slope(&z, 0) - expected).abs() < 1e-3,
        "{} {expected}",
        slope(&z, 0)
    );
    // The column contains the logarithm of the row number, so its exponential is the row number,
    // counted from 1.
    let logs = run("exp(x)", doubled(|row| format!("{:?}", f64::from(row).ln())));
    assert!((slope(&logs, 0) - 2.0).abs() < 1e-2, "{}", slope(&logs, 0));
    let named = run("x = exp(x)", doubled(|row| format!("{:?}", f64::from(row).ln())));
    assert_eq!(slope(&named, 0), slope(&logs, 0));
    // Two entries that use the same column are two elements of the vector.
    let both = run("x, log(x)", doubled(|row| row.to_string()));
    assert!(
        (slope(&both, 0) - 2.0).abs() < 0.1 && slope(&both, 1).abs() < 1.0,
        "{both}"
    );
}

/// The training file, not the first row of the test file, determines whether a column contains
/// text.
#[test]
fn the_training_file_decides_what_a_column_of_a_test_file_holds() {
    let rows = |levels: [&str; 3]| {
        let rows = (0..30).map(|row| format!("{},{}\n", levels[row % 3], row % 3));
        std::iter::once("g,y\n".to_owned())
            .chain(rows)
            .collect::<String>()
    };
    let model = "model M(g: index(J)) -> y: real {
  b: real[J] ~ Normal(0, 5)
  y ~ Normal(b[g], 0.1)
}
infer fit = map(M, d) { steps = 4000, optimiser = Adam(0.1), precision = f64 }
";
    let data = "data d = csv(\"a.csv\") { target = y, test = csv(\"b.csv\") }\n";
    let trial = Trial::new()
        .file("a.csv", rows(["A1", "12", "true"]))
        // The file `b.csv` has the same levels with the same values in another order.
        .file("b.csv", "g,y\n12,1\ntrue,2\nA1,0\n")
        .program(&(data.to_owned() + model));
    let result = trial.result(&[]);
    let rmse = result["infer"]["fit"]["metrics"]["rmse"]
        .as_f64()
        .expect("an rmse");
    assert!(rmse < 0.02, "{result}");
}

/// If a column of text prevents a vector of all inputs, the error must name this column, also if a
/// column of numbers has the name of the vector.
#[test]
fn text_beside_a_column_with_the_name_of_the_vector_is_named() {
    let rows: String = (1..=12)
        .map(|row| format!("a{},{row},{row}\n", row % 3))
        .collect();
    let run = |data: &str| {
        Trial::new()
            .file("d.csv", format!("g,x,y\n{rows}"))
            .program(&format!("{data}\n{LINE}infer fit = map(M, d)\n"))
            .bnnc("run", &[])
    };
    let found = run("data d = csv(\"d.csv\") { target = y }");
    found.assert_error(
        "E0291",
        1,
        &["text cannot be an element of a vector: `g`", "index(k)"],
    );
    assert_eq!(found.stderr.matches("error[").count(), 1, "{}", found.stderr);
    run("data d = csv(\"d.csv\") { inputs = [x], target = y }").assert_sound();
}

/// If a numeric column contains text, the error must name the row with the text, and must not
/// describe the column as an array of another shape.
#[test]
fn text_among_numbers_is_named_with_its_row() {
    let table = doubled(|row| {
        if row == 1 {
            "n.a.".to_owned()
        } else {
            row.to_string()
        }
    });
    let run = |data: &str, model: &str| {
        let program = format!("{data}\n{model}infer fit = map(M, d)\ninfer again = map(M, d)\n");
        Trial::new()
            .file("d.csv", &table)
            .program(&program)
            .bnnc("run", &[])
    };
    let by_target = "data d = csv(\"d.csv\") { target = y }";
    let scalar = LINE
        .replace("x: real[k]", "x: real")
        .replace("w: real[k]", "w: real")
        .replace("dot(w, x)", "w * x");
    let texts = ["`x`", "`n.a.`", "row 2", "index(k)"];
    run(by_target, LINE).assert_error("E0291", 1, &texts);
    let found = run(by_target, &scalar);
    found.assert_error("E0292", 1, &texts);
    assert_eq!(found.stderr.matches("error[").count(), 1, "{}", found.stderr);
    let listed = "data d = csv(\"d.csv\") { inputs = [x], target = y }";
    run(listed, LINE).assert_error("E0291", 1, &texts);
    let found = run(listed, &scalar);
    found.assert_error("E0292", 1, &texts);
    assert_eq!(found.stderr.matches("error[").count(), 1, "{}", found.stderr);
}

/// Returns a table of ninety rows with two columns of groups. `group` and `other` compute the
/// groups from the row number.
fn two_groups(group: impl Fn(i64) -> i64, other: impl Fn(i64) -> i64) -> String {
    let mut text = "g,h,y\n".to_owned();
    for row in 0..90 {
        let _ = writeln!(text, "{},{},{}", group(row), other(row), (row as f64 * 0.7).sin());
    }
    text
}

#[test]
fn a_position_that_no_integer_selects_is_a_warning() {
    let check = |data: &str, lines: &str, mean: &str| {
        let program = format!(
            "data d = csv(\"d.csv\") {{ target = y }}
model M(g: int, h: int) -> y: real {{
{lines}
  y ~ Normal({mean}, 1)
}}
infer fit = map(M, d)
"
        );
        let trial = Trial::new().file("d.csv", data).program(&program);
        trial.bnnc("check", &[])
    };
    let from_one = two_groups(|row| 1 + row % 8, |row| row % 3);
    let vector = "  a: real[9] ~ Normal(0, 1)";
    let found = check(&from_one, vector, "a[g] + h");
    found.assert_warning(
        "E0265",
        &[
            "no row has the value 0 in `g`, so element 0 of `a` keeps its prior",
            "`g: index(J)`",
            "`g - 1`",
        ],
    );
    check(&from_one, "  a: real[8] ~ Normal(0, 1)", "a[g - 1] + h").assert_silent();
    let by_levels = "data d = csv(\"d.csv\") { target = y }
model M(g: index(J)) -> y: real {
  a: real[J] ~ Normal(0, 1)
  y ~ Normal(a[g], 1)
}
infer fit = map(M, d)
";
    let trial = Trial::new().file("d.csv", &from_one).program(by_levels);
    trial.bnnc("check", &[]).assert_silent();
    let layer = "  emb = Embedding(9, 2)";
    check(&from_one, layer, "sum(emb(g)) + h")
        .assert_warning("E0265", &["element 0 of `emb` keeps its prior"]);
    let gap = two_groups(|row| [0, 1, 3][row as usize % 3], |row| row % 3);
    check(&gap, "  a: real[4] ~ Normal(0, 1)", "a[g] + h")
        .assert_warning("E0265", &["no row has the value 2 in `g`"]);
    // This check concerns positions along the second axis.
    check(&from_one, "  a: real[3, 9] ~ Normal(0, 1)", "a[h, g]")
        .assert_warning("E0265", &["element 0 of `a`"]);
}

#[test]
fn positions_that_another_index_selects_raise_no_warning() {
    let program = |mean: &str| {
        format!(
            "data d = csv(\"d.csv\") {{ target = y }}
model M(g: int, h: int) -> y: real {{
  a: real[4] ~ Normal(0, 1)
  y ~ Normal({mean}, 1)
}}
infer fit = map(M, d)
"
        )
    };
    // Each of the two columns leaves out some positions, but together they select all of them, like
    // columns of home and away teams.
    let both = two_groups(|row| 1 + row % 3, |row| row % 4);
    let all = two_groups(|row| row % 4, |row| row % 4);
    for (data, mean) in [
        (&both, "a[g] - a[h]"),
        (&both, "a[g] - a[0] + h"),
        (&both, "a[g] + sum(a) + h"),
        (&all, "a[g] + h"),
    ] {
        let trial = Trial::new().file("d.csv", data).program(&program(mean));
        let found = trial.bnnc("check", &[]);
        found.assert_sound();
        assert!(!found.stderr.contains("E0265"), "{mean}: {}", found.stderr);
    }
}

#[test]
fn real_positions_are_rejected_with_an_integer_form() {
    let program = |at: &str| {
        format!(
            "data d = csv(\"d.csv\") {{ target = y }}
model M(x: real) -> y: real {{
  w: real[2] ~ Normal(0, 100)
  y ~ Normal(w[{at}], 1)
}}
infer fit = map(M, d) {{ steps = 4000, optimiser = Adam(0.1), precision = f64 }}
"
        )
    };
    let trial = |at: &str| {
        Trial::new()
            .file("d.csv", doubled(|row| row.to_string()))
            .program(&program(at))
    };
    let help = "[if z < 0.5 { 0 } else { 1 }]";
    trial("floor(x / 16)")
        .bnnc("check", &[])
        .assert_error("E0211", 1, &["`g: index(k)`", help]);
    // The targets of the first group are 2 to 30, and the targets of the second group are 32 to 60.
    // The expected values are the means of both groups. The prior moves the results slightly
    // towards zero.
    let result = trial("if x < 15.5 { 0 } else { 1 }").result(&[]);
    let means = &result["infer"]["fit"]["parameters"]["w"]["mean"];
    for (at, mean) in [(0, 16.0), (1, 46.0)] {
        let found = means[at].as_f64().expect("a mean");
        assert!((found - mean * 15.0 / (15.0 + 1e-4)).abs() < 1e-2, "{means}");
    }
}

/// Without the option `target`, the last column is the target. Without `target`, an output with the
/// name of another column is an error.
#[test]
fn an_output_with_the_name_of_another_column_needs_a_target() {
    let rows: String = (0..20)
        .map(|at| format!("{at}.5,{}.25,{}.125\n", at * 3 % 7, at * 5 % 11))
        .collect();
    let of = |options: &str| {
        Trial::new().file("d.csv", format!("b,y,a\n{rows}")).program(&format!(
            "data d = csv(\"d.csv\"){options}\nmodel M(b: real) -> y: real {{\n  w ~ Normal(0, 1)\n  y ~ Normal(w * b, 1)\n}}\n\
             infer fit = map(M, d)\n"
        ))
    };
    of("").bnnc("check", &[]).assert_error(
        "E0292",
        1,
        &[
            "`y` would be read from the last column, `a`, but the data have a column `y`",
            "write `target = y`",
        ],
    );
    let named = of(" { target = y }").bnnc("check", &[]);
    assert_eq!(named.status, 0, "{}", named.stderr);
    let other = of(" { target = a }").bnnc("check", &[]);
    assert_eq!(other.status, 0, "{}", other.stderr);
}

/// JSON data may have arrays that all rows share. The messages name both ways to read them.
#[test]
fn an_array_that_all_rows_share_is_read_as_one_array_or_from_the_shared_file() {
    let json = "{\"x\": [1, 2, 3, 4, 5, 6], \"z\": [1, 2, 3], \"y\": [2, 4, 6, 8, 10, 12.5]}";
    let program = |data: &str, inputs: &str, mean: &str| {
        let program = format!(
            "data d = json(\"d.json\") {{ target = y{data} }}
model M{inputs} -> y: real {{
  b ~ Normal(0, 1)
  y ~ Normal(b * x + {mean}, 1)
}}
infer fit = map(M, d)
"
        );
        let trial = Trial::new()
            .file("d.json", json)
            .file("shared.json", "{\"z\": [1, 2, 3]}");
        trial.program(&program).bnnc("check", &[])
    };
    let cures = ["`shared = json(\"shared.json\")`", "`(z: real[n])(..)`"];
    program("", "(x: real, z: real)", "z").assert_error("E0292", 1, &cures);
    program(", inputs = [x, z]", "(x: real, z: real[n])", "sum(z)").assert_error("E0421", 3, &cures);
    program("", "(x: real, z: real[n])", "sum(z)").assert_sound();
    program(
        ", shared = json(\"shared.json\")",
        "(z: real[n])(x: real)",
        "sum(z)",
    )
    .assert_sound();
}
