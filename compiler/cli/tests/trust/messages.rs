//! Tests messages: they use the names of the user's program, and a program that follows their
//! advice runs.

#![allow(clippy::unwrap_used)]

use crate::support::run;
use crate::support::trial::Trial;

/// Returns a table of sixty rows with the column `model`, a number `x` and a target.
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

fn line(infers: &str) -> String {
    format!(
        "data d = csv(\"d.csv\") {{ target = y, inputs = [x] }}
model M(x: real) -> y: real {{
  a ~ Normal(0, 1)
  b = 2 * a
  f = a * x
  y ~ Normal(f, 1)
}}
{infers}
"
    )
}

#[test]
fn a_column_named_by_a_word_of_the_language_is_bound_as_advised() {
    let plain = "data d = csv(\"d.csv\") { target = y }";
    let advice = "inputs = [model_ = \"model\"]";
    check(&by_group(plain, "model")).assert_error("E0112", 1, &[advice]);
    check(&by_group(plain, "make")).assert_error("E0291", 1, &["inputs = [make = \"model\"]"]);
    let listed = "data d = csv(\"d.csv\") { inputs = [model], target = y }";
    check(&by_group(listed, "make")).assert_error("E0291", 1, &["inputs = [make = \"model\"]"]);
    let bound = format!("data d = csv(\"d.csv\") {{ {advice}, target = y }}");
    check(&by_group(&bound, "model_")).assert_sound();
}

#[test]
fn a_text_column_among_inputs_feeds_an_index_and_no_number() {
    let listed = "data d = csv(\"d.csv\") { inputs = [kind = \"model\", x], target = y }";
    let both = |ty: &str, mean: &str| {
        format!(
            "{listed}
model M(kind: {ty}, x: real) -> y: real {{
  a: real[3] ~ Normal(0, 1)
  y ~ Normal({mean}, 1)
}}
infer fit = map(M, d)
infer again = map(M, d)
"
        )
    };
    check(&both("index(3)", "a[kind] + x")).assert_sound();
    let found = check(&both("real", "a[0] * kind + x"));
    found.assert_error("E0292", 1, &["`kind: index(k)`"]);
    assert_eq!(found.stderr.matches("error[").count(), 1, "{}", found.stderr);
    let plain = "data d = csv(\"d.csv\") { inputs = [model, x], target = y }
model M(x: real[d]) -> y: real {
  w: real[d] ~ Normal(0, 1)
  y ~ Normal(dot(w, x), 1)
}
infer fit = map(M, d)
infer again = map(M, d)
";
    let found = check(plain);
    found.assert_error("E0291", 1, &["`ford` in row 2", "`model_: index(k)`"]);
    assert_eq!(found.stderr.matches("error[").count(), 1, "{}", found.stderr);
}

#[test]
fn a_range_that_reaches_outside_is_corrected_by_its_own_names() {
    let series = |range: &str, at: &str| {
        format!(
            "data d = csv(\"d.csv\") {{ target = y, inputs = [x] }}
model M() -> y: real[T] {{
  a ~ Normal(0, 1)
  for t in {range} {{
    y[t] ~ Normal(a * y[{at}], 1)
  }}
}}
infer fit = map(M, d)
"
        )
    };
    for (range, at, advice) in [
        ("1..T", "t - 2", "`for t in 2..T`"),
        ("0..T", "t + 1", "`for t in 0..T - 1`"),
        ("0..60", "t + 3", "`for t in 0..57`"),
    ] {
        check(&series(range, at)).assert_error("E0290", 1, &[advice]);
        let advised = advice.trim_matches('`').trim_start_matches("for t in ");
        check(&series(advised, at)).assert_sound();
    }
}

#[test]
fn the_learning_rate_is_an_argument_of_the_optimiser() {
    for option in ["lr", "learning_rate"] {
        for method in ["map", "dropout", "ensemble", "swag"] {
            let found = check(&line(&format!(
                "infer fit = {method}(M, d) {{ {option} = 0.01 }}"
            )));
            found.assert_error("E0257", 1, &["`optimiser = Adam(5e-3)`"]);
            assert!(!found.stderr.contains("did you mean"), "{}", found.stderr);
        }
    }
}

#[test]
fn quantities_that_cannot_be_reported_get_the_reason() {
    let report = |name: &str| line(&format!("infer fit = nuts(M, d) {{ report = [{name}] }}"));
    check(&report("f")).assert_error(
        "E0613",
        1,
        &[
            "`f` is neither a parameter nor",
            "one value for each row",
            "`a`, `b`",
        ],
    );
    let found = check(&report("c"));
    found.assert_error("E0613", 1, &["`c` is neither a parameter nor", "`a`, `b`"]);
    assert!(!found.stderr.contains("for each row"), "{}", found.stderr);
}

#[test]
fn the_table_of_the_posterior_holds_what_is_to_be_reported() {
    let table = |options: &str| {
        let program = line(&format!(
            "infer fit = nuts(M, d) {{ chains = 2, warmup = 100, draws = 100{options} }}"
        ));
        let trial = Trial::new().file("d.csv", cars()).program(&program);
        let output = trial.bnnc("run", &["--seed", "1"]);
        assert_eq!(output.status, 0, "{}", output.stderr);
        let lines = output
            .stdout
            .lines()
            .skip_while(|line| !line.starts_with("  posterior "));
        let names = lines.skip(1).filter_map(|line| line.split_whitespace().next());
        names.map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(table(""), ["a", "b"]);
    assert_eq!(table(", report = [b]"), ["b"]);
}

#[test]
fn a_layer_and_an_unknown_dimension_are_corrected() {
    let model = |line: &str| {
        format!(
            "data d = csv(\"d.csv\") {{ target = y, inputs = [x] }}
model M(x: real[k]) -> y: real {{
  h = Dense(3)
  {line}
  y ~ Normal(sum(h(x)) + sum(a), 1)
}}
infer fit = map(M, d)
"
        )
    };
    check(&model("a = h(x)[h]")).assert_error("E0211", 1, &["call the layer"]);
    check(&model("a: real[m] ~ Normal(0, 1)")).assert_error(
        "E0209",
        1,
        &["unknown dimension `m`", "`x: real[m]`", "`const m = 3`"],
    );
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

#[test]
fn predictions_have_the_digits_of_their_precision() {
    let table = |precision: &str| {
        let program = line(&format!(
            "infer fit = map(M, d) {{ steps = 50, precision = {precision} }}"
        ));
        let trial = Trial::new().file("d.csv", cars()).program(&program);
        let out = trial.path("out");
        let output = trial.bnnc("run", &["--out", out.to_str().unwrap()]);
        assert_eq!(output.status, 0, "{}", output.stderr);
        let text = std::fs::read_to_string(out.join("predictions.csv")).unwrap();
        let mut lines = text.lines();
        let place = lines
            .next()
            .unwrap()
            .split(',')
            .position(|name| name == "mean")
            .unwrap();
        let cells = lines.map(|line| line.split(',').nth(place).unwrap().to_owned());
        cells.collect::<Vec<String>>()
    };
    let (narrow, wide) = (table("f32"), table("f64"));
    assert_eq!(narrow.len(), 60);
    for (cell, exact) in narrow.iter().zip(&wide) {
        let digits = cell.chars().filter(char::is_ascii_digit).count();
        assert!(digits <= 11, "{cell}");
        let shortest = format!("{:?}", cell.parse::<f32>().unwrap());
        assert_eq!(*cell, shortest);
        let (cell, exact): (f64, f64) = (cell.parse().unwrap(), exact.parse().unwrap());
        assert!((cell - exact).abs() < 1e-3, "{cell} {exact}");
    }
    assert!(wide.iter().any(|cell| cell.len() > 14), "{wide:?}");
}

#[test]
fn other_spellings_are_words_of_the_language() {
    let words = |[optimiser, option, standardise, centred]: [&str; 4]| {
        format!(
            "{optimiser} Plain(rate: positive = 0.01) {{
  step = -rate * gradient
}}

data d = csv(\"d.csv\") {{ target = y, inputs = [x], {standardise} = [inputs] }}

model M(x: real) -> y: real {{
  mu ~ Normal(0, 1)
  a  ~ Normal(mu, 0.5)
  y  ~ Normal(a * x, 1)
}}

infer point = map(M, d) {{ steps = 50, {option} = Plain(0.01) }}
infer fit   = nuts(M, d) {{ {centred} = [a], chains = 2, warmup = 50, draws = 50 }}
"
        )
    };
    let result = |program: &str| {
        let trial = Trial::new().file("d.csv", cars()).program(program);
        let result = trial.result(&["--seed", "3"]);
        result["infer"]["fit"]["parameters"]["a"]["mean"]
            .as_f64()
            .unwrap()
    };
    let ours = ["optimiser", "optimiser", "standardise", "non_centered"];
    let expected = result(&words(ours));
    let centred = words(ours).replace("non_centered = [a], ", "");
    assert_ne!(result(&centred), expected);
    for others in [
        ["optimizer", "optimizer", "standardize", "non_centred"],
        ["optimizer", "optimiser", "standardize", "noncentre"],
        ["optimizer", "optimizer", "standardise", "noncentered"],
    ] {
        let program = words(others);
        assert_eq!(result(&program), expected);
        let trial = Trial::new().program(&program);
        let output = trial.bnnc("fmt", &[]);
        assert_eq!(output.status, 0, "{}", output.stderr);
        let written = std::fs::read_to_string(trial.path("program.bnn")).unwrap();
        assert_eq!(written, words(ours));
    }
}

/// Creates a table with two numerical columns and a column of groups. The name of one numerical
/// column contains a space.
fn engines() -> Trial {
    let mut text = "age,engine size,make,y\n".to_owned();
    for row in 0..60 {
        let make = ["ford", "kia", "bmw"][row % 3];
        let (age, size) = ((row as f64 * 0.37).sin(), (row as f64 * 0.71).cos());
        text += &format!(
            "{age},{size},{make},{}\n",
            age - size + (row % 3) as f64 + 0.2 * (row as f64 * 1.7).cos()
        );
    }
    Trial::new().file("d.csv", text)
}

#[test]
fn a_vector_beside_other_inputs_is_replaced_by_its_elements() {
    let program = |listed: &str, inputs: &str, vector: &str| {
        format!(
            "data d = csv(\"d.csv\") {{ target = y, inputs = [{listed}] }}
model M({inputs}, make: index(k)) -> y: real {{
  a: real[k] ~ Normal(0, 2)
  b: real[2] ~ Normal(0, 1)
  y ~ Normal(a[make] + dot(b, {vector}), 1)
}}
infer fit = map(M, d)
"
        )
    };
    let check = |listed: &str, inputs: &str, vector: &str| {
        engines()
            .program(&program(listed, inputs, vector))
            .bnnc("check", &[])
    };
    let listed = "age, \"engine size\", make";
    check(listed, "x: real[2]", "x").assert_error(
        "E0291",
        1,
        &[
            "only if it is the only input of the model",
            "replace the input `x` by `age: real, engine_size: real`, and write `[age, engine_size]` wherever the model uses `x`",
            "`inputs = [.., engine_size = \"engine size\", ..]`",
        ],
    );
    let corrected = "age, engine_size = \"engine size\", make";
    check(corrected, "age: real, engine_size: real", "[age, engine_size]").assert_silent();
    // An entry such as `zscore(age)` is bound to the input that is named after the entry's column,
    // `age`.
    check(
        "zscore(age), engine_size = \"engine size\", make",
        "x: real[2]",
        "x",
    )
    .assert_error(
        "E0291",
        1,
        &["replace the input `x` by `age: real, engine_size: real`"],
    );
    // If the only vector input cannot be bound to a column, the message lists the columns.
    check(listed, "z: real", "[z, z]").assert_error("E0291", 1, &["the columns are `age`, `engine size`"]);
}

#[test]
fn the_last_layer_is_named_where_a_parameter_of_the_model_comes_after_it() {
    let program = |mean: &str, over: &str| {
        format!(
            "data d = csv(\"d.csv\") {{ target = y, inputs = [age, \"engine size\"] }}
model M(x: real[2]) -> y: real {{
  alpha ~ Normal(0, 1)
  h = Dense(3)
  o = Dense(1)
  y ~ Normal({mean}, 0.5)
}}
infer fit = laplace(M, d) {{ over = {over}, steps = 300 }}
"
        )
    };
    let check = |mean: &str, over: &str| engines().program(&program(mean, over)).bnnc("check", &[]);
    let net = "alpha + o(tanh(h(x)))[0]";
    let found = check(net, "last_layer");
    found.assert_error("E0313", 1, &["`alpha` acts after the last layer", "`over = [o]`"]);
    assert!(!found.stderr.contains("sites"), "{}", found.stderr);
    check(net, "[o]").assert_sound();
    let lines = |over: &str| {
        let layers = "  h = Dense(3)\n  o = Dense(1)\n";
        let text = program("alpha + dot(beta, x)", over).replace(layers, "  beta: real[2] ~ Normal(0, 1)\n");
        engines().program(&text).bnnc("check", &[])
    };
    lines("last_layer").assert_error("E0313", 1, &["needs a layer with weights", "`over = all`"]);
    lines("all").assert_sound();
}

#[test]
fn predictions_of_a_training_that_has_not_converged_are_off_for_that_reason() {
    let rows: String = (0..80)
        .map(|row| {
            let x = (f64::from(row) * 0.61).sin();
            format!("{x},{}\n", 40.0 + x + 0.3 * (f64::from(row) * 1.7).cos())
        })
        .collect();
    let program = |options: &str| {
        format!(
            "data d = csv(\"d.csv\") {{ target = y, test = fraction(0.4) }}
model M(x: real) -> y: real {{
  a ~ Normal(0, 50)
  b ~ Normal(0, 1)
  y ~ Normal(a + b * x, 1)
}}
infer fit = map(M, d) {{ {options} }}
"
        )
    };
    let run = |options: &str| {
        Trial::new()
            .file("d.csv", format!("x,y\n{rows}"))
            .program(&program(options))
            .bnnc("run", &[])
    };
    let found = run("steps = 50");
    found.assert_warning("E0533", &["`fit` has not converged"]);
    found.assert_warning(
        "E0647",
        &["`fit` has not converged (E0533), which is the likely cause"],
    );
    assert!(
        !found.stderr.contains("like the training rows"),
        "{}",
        found.stderr
    );
    let longer = run("steps = 4000, optimiser = Adam(0.1)");
    longer.assert_sound();
    assert!(!longer.stderr.contains("E0647"), "{}", longer.stderr);
}

/// The second output depends on the first output, so predictions of the second output need the
/// values of the first output.
#[test]
fn new_rows_without_an_output_that_others_need_are_explained() {
    let trial = Trial::new()
        .file("d.csv", "x,w,y,z\n1,0,2,3\n2,1,4,5\n3,1,6,8\n4,0,7,9\n")
        .file("new.csv", "x,w,z\n1,0,2\n3,1,4\n")
        .file("other.csv", "w,y,z\n0,2,3\n")
        .file("both.csv", "x,y\n1,2\n")
        .program(
            "data d = csv(\"d.csv\")
model M(x: real) -> y: real, z: real {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a * x, 1)
  z ~ Normal(b * y, 1)
}
infer fit = map(M, d)
",
        );
    let folder = trial.path("out").display().to_string();
    trial.bnnc("run", &["--out", &folder]).assert_sound();
    let predict = |file: &str| {
        let file = trial.path(file).display().to_string();
        run(["predict", &*folder, "--data", &*file])
    };
    let needs = [
        "the column `y` is missing",
        "`y` is an output of the model",
        "a column `y` with known values",
    ];
    predict("new.csv").assert_error("E0419", 3, &needs);
    predict("other.csv").assert_error("E0419", 3, &["unknown column `x`", "the columns are y, w, z"]);
    predict("both.csv").assert_sound();
}
