//! Tests columns and arrays that are constant, shared, renamed or outside their type.

use super::mean;
use crate::support::trial::Trial;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write as _;

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
