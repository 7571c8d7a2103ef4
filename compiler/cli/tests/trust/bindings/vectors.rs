//! Tests vectors of inputs, and columns whose content or name is ambiguous.

use super::doubled;
use crate::support::trial::Trial;
use serde_json::Value;

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
