//! Tests computed positions.

use super::{doubled, groups, groups_program};
use crate::support::trial::Trial;
use std::fmt::Write as _;

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
