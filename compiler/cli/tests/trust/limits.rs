//! Lengths and numbers that no machine has time or room for.

use super::support::trial::Trial;

const LINE: &str = "data d = csv(\"d.csv\") { target = y }
model M(x: real) -> y: real {
  a ~ Normal(0, 1)
  y ~ Normal(a * x, 1)
}
";

fn line(infer: &str) -> Trial {
    let rows = (0..20).map(|row| format!("{row},{row}\n"));
    let table: String = std::iter::once("x,y\n".to_owned()).chain(rows).collect();
    Trial::new()
        .file("d.csv", table)
        .program(&format!("{LINE}{infer}\n"))
}

/// Values of these used to overflow products of theirs, or to run for ever.
#[test]
fn absurd_options_are_rejected_with_their_limit() {
    let cases = [
        ("nuts", "thin", "1000000000000", "1000000"),
        ("nuts", "chains", "4000000000", "10000"),
        ("nuts", "draws", "1000000000000", "1000000000"),
        ("nuts", "warmup", "1000000000000", "1000000000"),
        ("nuts", "max_depth", "64", "30"),
        ("nuts", "predictive_draws", "1000000000000", "1000000000"),
        ("map", "restarts", "4000000000", "10000"),
        ("ensemble", "members", "4000000000", "10000"),
        ("map", "epochs", "9000000000000", "1000000000000"),
    ];
    for (method, option, value, most) in cases {
        let trial = line(&format!("infer fit = {method}(M, d) {{ {option} = {value} }}"));
        let texts = [
            &*format!("`{option}` must be an integer"),
            &*format!("to {most}, found {value}"),
        ];
        trial.bnnc("run", &[]).assert_error("E0258", 1, &texts);
    }
}
