//! Positions that conditions bound.

use crate::tables::{csv, each, normal};
use crate::{Folder, mistakes};

const LENGTH: usize = 41;

fn values() -> Vec<f64> {
    let e = normal(3, LENGTH);
    let mut y = e.clone();
    for t in 1..LENGTH {
        y[t] = 0.6 * y[t - 1] + 0.5 * e[t];
    }
    y
}

/// Forty elements of a series.
fn files() -> [(&'static str, String); 1] {
    [("even.csv", csv(&[("y", values()[..40].to_vec())]))]
}

/// A model of one series.
fn series(file: &str, body: &str) -> String {
    format!(
        "data d = csv(\"{file}.csv\") {{ target = y }}
        model M() -> y: real[T] {{
          a ~ Normal(0, 1)
          {body}
        }}
        infer fit = map(M, d) {{ steps = 300, optimiser = Adam(0.05) }}"
    )
}

mistakes! {
    a_condition_that_leaves_the_axis: ["E0290"], files(), &series("even", "
          b: real[40] ~ Normal(0, 1)
          for t in 0..T { y[t] ~ Normal(a * b[if t >= 0 { t - 1 } else { 0 }], 1) }");
}

/// The mode of `a`, where each of the pairs is an outcome and what `a` multiplies in its mean, with a prior and a noise of one.
fn mode(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (xy, xx) = pairs.fold((0.0, 0.0), |(xy, xx), (y, x)| (xy + x * y, xx + x * x));
    xy / (xx + 1.0)
}

/// Holds that a program runs without a warning of dependences, and finds this value of `a`.
#[track_caller]
fn finds(program: &str, expected: f64) {
    let (status, text) = Folder::of(&files(), program).bnnc(&["run", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    for code in ["E0273", "E0276", "E0290"] {
        assert!(!text.contains(code), "{text}");
    }
    let line = text.lines().find(|line| line.trim_start().starts_with("a "));
    let value = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    let value = value.unwrap_or_else(|| panic!("no value of `a`: {text}"));
    assert!(
        (value - expected).abs() < 2e-3,
        "{value} where {expected} is right: {text}"
    );
}

#[test]
fn positions_inside_an_axis_by_a_condition_compile() {
    let y = values();
    let sum = |of: &dyn Fn(usize, usize) -> bool| {
        let terms = |t: usize| (0..40).filter(|s| of(*s, t)).map(|s| (s - t) as f64).sum::<f64>();
        mode((0..40).map(|t| (y[t], 0.01 * terms(t))))
    };
    let with = |position: &str| {
        let body = format!(
            "b = [0.01 * s for s in 0..T]
            for t in 0..T {{ y[t] ~ Normal(a * sum(b[{position}] for s in 0..T), 1) }}"
        );
        series("even", &body)
    };
    let later = sum(&|s, t| s > t);
    for position in [
        "if s > t { s - t } else { 0 }",
        "if s <= t { 0 } else { s - t }",
        "if !(s > t) { 0 } else { s - t }",
        "if s - t >= 1 && t >= 0 { s - t } else { 0 }",
        "if s <= t || s < 0 { 0 } else { s - t }",
    ] {
        finds(&with(position), later);
    }
    let near = sum(&|s, t| s > t && s < t + 5);
    finds(&with("if s > t && s < t + 5 { s - t } else { 0 }"), near);
    finds(
        &with("if s > t { if s < t + 5 { s - t } else { 0 } } else { 0 }"),
        near,
    );
    let apart = "b = [0.01 * s for s in 0..T]
        for t in 0..T {
          u = T - 1 - t
          y[t] ~ Normal(a * (if u >= 10 { b[u - 10] } else { b[u] }), 1)
        }";
    let value = |t: usize| 0.01 * (if 39 - t >= 10 { 29 - t } else { 39 - t }) as f64;
    finds(&series("even", apart), mode((0..40).map(|t| (y[t], value(t)))));
}

#[test]
fn positions_that_data_and_a_condition_decide_are_checked_as_they_are_taken() {
    let table = |last: usize| {
        let level = each(40, |row| if row == 39 { last as f64 } else { (row % 4) as f64 });
        csv(&[("g", level), ("y", normal(5, 40))])
    };
    let program = |mean: &str| {
        format!(
            "data d = csv(\"d.csv\")
            model M(g: count) -> y: real {{
              a: real[3] ~ Normal(0, 1)
              b ~ Normal(0, 1)
              y ~ Normal({mean}, 1)
            }}
            infer fit = map(M, d) {{ steps = 50 }}"
        )
    };
    for mean in [
        "if g > 0 { a[g - 1] } else { b }",
        "b + a[if g > 0 { g - 1 } else { 0 }]",
    ] {
        let run =
            |last: usize| Folder::of(&[("d.csv", table(last))], &program(mean)).bnnc(&["run", "program.bnn"]);
        let (status, text) = run(2);
        assert_eq!(status, Some(0), "{text}");
        let (status, text) = run(4);
        assert_eq!(status, Some(3), "{text}");
        assert!(
            text.contains("error[E0436]") && text.contains("d.csv:41"),
            "{text}"
        );
    }
}
