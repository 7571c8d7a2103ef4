//! Tests which column is the output, and which distribution it gets.

use crate::support::run;
use crate::support::trial::Trial;
use crate::{NETWORK, Random, assert_has, program_of, table};
use std::path::PathBuf;

/// Returns the program for a table with a standard normal input. `value` computes the output of
/// each row.
#[track_caller]
fn of(value: &dyn Fn(usize, &mut Random) -> String) -> String {
    let text = table("x,y", 120, |at, random| {
        format!("{:.3},{}", random.normal(), value(at, random))
    });
    program_of(&text, &[]).0
}

#[test]
fn real_outputs_are_normal_heavy_tailed_or_positive() {
    assert_has(
        &of(&|_, r| format!("{:.3}", r.normal())),
        &[
            "-> y: real",
            "y ~ Normal(eta, sigma)",
            "standardise = [inputs, target]",
        ],
    );
    let outlier = of(&|at, r| format!("{:.3}", if at == 60 { 40.0 } else { r.normal() }));
    assert_has(
        &outlier,
        &["one row lies far from all others", "y ~ StudentT(df, eta, sigma)"],
    );
    let positive = of(&|_, r| format!("{:.4}", (1.5 + r.normal()).exp()));
    assert_has(
        &positive,
        &[
            "-> y: positive",
            "y ~ LogNormal(eta, sigma)",
            "standardise = inputs",
        ],
    );
    let waiting = of(&|_, r| format!("{:.6}", -3.0 * r.uniform().ln()));
    assert_has(
        &waiting,
        &[
            "many values are close to zero",
            "y ~ Gamma(shape, exp(eta) / shape)",
        ],
    );
}

#[test]
fn outputs_of_integers_and_text_are_classes_or_counts() {
    assert_has(
        &of(&|at, _| (at % 2).to_string()),
        &["-> y: bool", "y ~ Bernoulli(logit = eta)"],
    );
    assert_has(
        &of(&|at, _| (at % 3 == 0).to_string()),
        &["y ~ Bernoulli(logit = eta)"],
    );
    assert_has(
        &of(&|at, _| (1 + at % 2).to_string()),
        &["target = y == 2", "y ~ Bernoulli(logit = eta)"],
    );
    let words = of(&|at, _| if at % 3 == 0 { "no" } else { "yes" }.to_owned());
    assert_has(
        &words,
        &[
            "-> y: index(2)",
            "the probability of `yes`",
            "Categorical(logits = [0, eta])",
        ],
    );
    let classes = of(&|at, _| ["a", "b", "c"][at % 3].to_owned());
    assert_has(
        &classes,
        &[
            "one of 3 classes",
            "beta: real[k, d]",
            "Categorical(logits = eta)",
        ],
    );
    assert_has(
        &of(&|at, _| (at % 3).to_string()),
        &["one of the classes 0 to 2", "Categorical(logits = eta)"],
    );
    assert_has(
        &of(&|_, r| r.poisson(3.0).to_string()),
        &["-> y: count", "y ~ Poisson(log_rate = eta)"],
    );
    let varied = of(&|_, r| {
        let mean = 4.0 * (1.2 * r.normal()).exp();
        r.poisson(mean).to_string()
    });
    assert_has(
        &varied,
        &["y ~ NegativeBinomial(log_mean = eta, dispersion = dispersion)"],
    );
    assert!(!varied.contains("counts are 0"), "{varied}");
    let zeros = of(&|at, r| if at % 3 == 0 { 0 } else { r.poisson(6.0) }.to_string());
    assert_has(
        &zeros,
        &[
            "of 120 counts are 0",
            "recipe on counts with too many zeros in the book",
        ],
    );
    assert_has(
        &of(&|at, _| (3 + at % 4).to_string()),
        &["less than half its mean", "y ~ Normal(eta, sigma)"],
    );
    assert_has(
        &of(&|at, _| (1000 + 37 * (at % 90)).to_string()),
        &["y ~ Normal(eta, sigma)"],
    );
}

#[test]
fn columns_without_an_input_give_a_distribution() {
    let text = table("level", 50, |_, random| format!("{:.3}", random.normal()));
    let (program, shown) = program_of(&text, &[]);
    assert_has(&shown, &["with no inputs"]);
    assert_has(
        &program,
        &["model Linear(_i: index(n) = row) -> level: real", "eta = alpha"],
    );
    assert!(!program.contains(NETWORK));
}

#[test]
fn the_output_is_the_last_column_that_can_be_one() {
    let text = table("age,price,plate", 50, |at, r| {
        format!("{:.2},{:.2},P{at}", r.normal(), r.normal())
    });
    let (_, shown) = program_of(&text, &[]);
    assert_has(
        &shown,
        &["the output is `price`, because the last column `plate` cannot be one"],
    );
    let (program, shown) = program_of(&text, &["--output", "age"]);
    assert_has(&program, &["target = age", "inputs = [price]"]);
    assert!(!shown.contains("the output is"), "{shown}");
}

/// If the last column has gaps, or contains numbers as text, it is most likely the output that the
/// user wants. Another column must then not be chosen as the output.
#[test]
fn a_probable_output_is_not_replaced_by_an_input() {
    let halves = table("a,y", 60, |at, random| {
        let y = if at % 2 == 0 {
            String::new()
        } else {
            format!("{:.3}", random.normal())
        };
        format!("{:.3},{y}", random.normal())
    });
    let error = |table: &str, arguments: &[&str]| {
        let trial = Trial::new().file("t.csv", table);
        let mut all = vec!["new".into(), trial.path("t.csv"), trial.path("t.bnn")];
        all.extend(arguments.iter().map(PathBuf::from));
        run(all)
    };
    error(&halves, &[]).assert_error(
        "E0664",
        3,
        &[
            "`y` cannot be the output: 30 of 60 values are missing",
            "write `--output y`",
        ],
    );
    error(&halves, &["--output", "y"]).assert_silent();
    for cell in ["%", "$"] {
        let texts = table("a,y", 60, |at, random| match cell {
            "%" => format!("{:.3},{}.{}%", random.normal(), at, at % 7),
            _ => format!("{:.3},${}.{}", random.normal(), at, at % 7),
        });
        error(&texts, &[]).assert_error("E0664", 3, &["its numbers are written as text", "without units"]);
    }
    let pipes = table("a|y", 60, |at, _| format!("{at}.1|{at}"));
    error(&pipes, &[]).assert_error("E0664", 3, &["separated by `|`"]);
}

#[test]
fn ratings_are_not_counts() {
    let ratings = of(&|_, r| (1 + (4.999 * (r.uniform() + r.uniform()) / 2.0) as i64).to_string());
    assert_has(
        &ratings,
        &["y ~ Normal(eta, sigma)", "recipe on ordinal regression"],
    );
    let even = of(&|at, _| (at % 5).to_string());
    assert_has(&even, &["one of the classes 0 to 4", "Categorical(logits = eta)"]);
    let shares = of(&|_, r| format!("{:.4}", r.uniform()));
    assert_has(&shares, &["for a proportion, `Beta`"]);
}
