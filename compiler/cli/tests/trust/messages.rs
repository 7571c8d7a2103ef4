//! Advice that a user follows: each message leads to a program that runs, or names what the user wrote.

#![allow(clippy::unwrap_used)]

use crate::support::run;
use crate::support::trial::Trial;

/// Sixty rows of `make` and `model`, a number `x` and a target.
fn cars() -> String {
    let mut text = "model,x,y\n".to_owned();
    for row in 0..60 {
        let make = ["ford", "kia", "bmw"][row % 3];
        let x = (row as f64 * 0.37).sin();
        text += &format!(
            "{make},{x},{}\n",
            (row % 3) as f64 + x + 0.3 * (row as f64 * 1.7).cos()
        );
    }
    text
}

fn check(program: &str) -> crate::support::Output {
    Trial::new()
        .file("d.csv", cars())
        .program(program)
        .bnnc("check", &[])
}

fn by_group(item: &str, name: &str) -> String {
    format!(
        "{item}
model M({name}: index(J)) -> y: real {{
  a: real[J] ~ Normal(0, 1)
  y ~ Normal(a[{name}], 1)
}}
infer fit = map(M, d)
"
    )
}

#[test]
fn identifiers_of_groups_have_no_range() {
    let rows = |groups: &[usize]| {
        let rows = groups.iter().enumerate();
        let rows = rows.map(|(row, g)| format!("{g},{},{}\n", row % 5, (g % 5) as f64 + (row as f64).sin()));
        std::iter::once("g,x,y\n".to_owned())
            .chain(rows)
            .collect::<String>()
    };
    let groups: Vec<usize> = (0..60).map(|row| [1001, 1002, 1003, 1010][row % 4]).collect();
    let program = "data d = csv(\"d.csv\") { target = y }
model M(g: index(J), x: real) -> y: real {
  mu ~ Normal(0, 3)
  a: real[J] ~ Normal(mu, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a[g] + b * x, 1)
}
infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 200 }
";
    let trial = Trial::new().file("d.csv", rows(&groups)).program(program);
    let out = trial.path("out");
    let output = trial.bnnc("run", &["--out", out.to_str().unwrap()]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let trial = trial.file("new.csv", rows(&[1001, 9000, 1002]));
    let data = trial.path("new.csv");
    let words = [
        "predict",
        out.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
        "--new-levels",
        "prior",
    ];
    let output = run(words);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(!output.stderr.contains("E0557"), "{}", output.stderr);
}
