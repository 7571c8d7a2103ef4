//! Tests warnings about the values of columns: replicates and copies, integers with two spellings, and standardised columns.

use super::support::trial::Trial;

/// Returns the fractional part of a large multiple of a sine, which looks random.
fn random(at: usize) -> f64 {
    ((at as f64 + 1.0) * 12.9898).sin().abs() * 43_758.545_3 % 1.0
}

/// Returns an approximately normal number with mean zero and variance one.
fn normal(at: usize) -> f64 {
    (0..12).map(|part| random(12 * at + part)).sum::<f64>() - 6.0
}

/// Returns the warnings about a regression of 200 rows, whose input has `inputs` values. `target` returns the target for an input and noise.
fn of_regression(inputs: usize, target: impl Fn(f64, f64) -> f64) -> String {
    let row = |at: usize| {
        let x = (inputs as f64 * random(7 * at + 5000)).floor();
        format!("{x},{}\n", target(x, normal(at)))
    };
    warnings(&(0..200).map(row).collect::<String>())
}

fn warnings(rows: &str) -> String {
    let program = "data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 3)
          b ~ Normal(0, 3)
          s: positive ~ HalfNormal(2)
          y ~ Normal(a + b * x, s)
        }
        infer fit = map(M, d)";
    let output = Trial::new()
        .file("d.csv", format!("x,y\n{rows}"))
        .program(program)
        .bnnc("run", &[]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    output.stderr
}

/// The rows are independent draws, so their repeats are due to chance.
#[test]
fn replicates_with_few_targets_are_not_copies() {
    let rounded = |step: f64| move |x: f64, noise: f64| ((0.5 * x + 0.4 * noise) / step).round() * step;
    let cases = [
        ("half units", of_regression(5, rounded(0.5))),
        ("whole units", of_regression(5, rounded(1.0))),
        (
            "separate levels",
            of_regression(4, |x, noise| 10.0 * x + noise.round()),
        ),
        ("many zeros", of_regression(2, |_, noise| noise.max(0.3))),
        ("capped", of_regression(6, |x, noise| (x + noise).min(2.0))),
        (
            "small integers",
            of_regression(10, |_, noise| (2.0 + 1.5 * noise).round()),
        ),
    ];
    for (name, text) in cases {
        assert!(!text.contains("E0644"), "{name}: {text}");
    }
}

#[test]
fn copies_of_rows_with_rounded_targets_are_reported() {
    let row = |at: usize| format!("{},{}\n", random(at), (2.0 * normal(at)).round());
    for times in [2, 3] {
        let rows: String = (0..100 * times).map(|at| row(at % 100)).collect();
        let text = warnings(&rows);
        assert!(text.contains("E0644"), "{times}: {text}");
    }
}

#[test]
fn an_integer_with_two_spellings_is_reported() {
    let run = |rows: &str| {
        let program = "data d = csv(\"d.csv\")
            model M(g: index(J)) -> y: real {
              al: real[J] ~ Normal(0, 10)
              y ~ Normal(al[g], 1)
            }
            infer fit = map(M, d)";
        let trial = Trial::new().file("d.csv", format!("g,y\n{rows}"));
        trial.program(program).bnnc("run", &[])
    };
    for rows in ["01001,1\n1001,5\n01001,1.1\n", "\"1001\",1\n\"01001\",5\n"] {
        run(rows).assert_warning("E0439", &["`g` contains", "`01001`", "`1001`"]);
    }
    for rows in ["01001,1\n01002,5\n", "z01001,1\nz1001,5\n", "1,1\n10,5\n"] {
        let output = run(rows);
        assert!(!output.stderr.contains("E0439"), "{}", output.stderr);
    }
}

/// The standardised values of a Boolean column are -1 and 1 if both values occur equally often.
#[test]
fn a_boolean_that_is_standardised_is_not_blamed_on_its_row() {
    let program = "data d = csv(\"d.csv\") { standardise = inputs, target = y }
        model M(x: real, f: bool) -> y: real {
          b ~ Normal(0, 2)
          c ~ Normal(0, 2)
          y ~ Normal(b * x + (if f { c } else { 0 }), 1)
        }
        infer fit = map(M, d)";
    let trial = Trial::new().file("d.csv", "x,f,y\n1,0,2\n2,1,3\n4,1,3.5\n6,0,7\n");
    let output = trial.program(program).bnnc("run", &[]);
    output.assert_error(
        "E0437",
        3,
        &["`f` holds 0, which `standardise` turns into -1", "zscore"],
    );
    let right = program.replace("standardise = inputs", "inputs = [zscore(x), f]");
    let trial = Trial::new().file("d.csv", "x,f,y\n1,0,2\n2,1,3\n4,1,3.5\n6,0,7\n");
    assert_eq!(trial.program(&right).bnnc("run", &[]).status, 0);
}
