//! Wrong results and false messages of runs that wrote no warning about them.

use crate::support::run;
use crate::support::trial::Trial;
use serde_json::Value;

/// Returns a folder with a program whose output has two values per row.
fn pairs(method: &str) -> Trial {
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let y: Vec<[f64; 2]> = x.iter().map(|x| [0.1 * x, 1.0 - 0.1 * x]).collect();
    let data = serde_json::json!({ "x": x, "y": y }).to_string();
    let program = format!(
        "data d = json(\"d.json\")
model M(x: real) -> y: real[2] {{
  hidden = Dense(3)
  out = Dense(2)
  y ~ Normal(out(relu(hidden([x]))), 0.5)
}}
infer fit = {method}(M, d) {{ steps = 100 }}
"
    );
    Trial::new().file("d.json", data).program(&program)
}

/// The predictions of a vector have metrics, but do not fit a table.
#[test]
fn outputs_with_several_values_per_row_are_not_reported_to_lack_a_mean() {
    for method in ["collapsed", "map"] {
        let trial = pairs(method);
        let folder = trial.path("out").display().to_string();
        let output = trial.bnnc("run", &["--out", &folder]);
        output.assert_sound();
        for text in [
            "note[E0519]",
            "`y` has 2 values per row",
            "`-> y1: real, y2: real`",
        ] {
            assert!(output.stderr.contains(text), "{text}: {}", output.stderr);
        }
        assert!(!output.stderr.contains("neither"), "{}", output.stderr);
        assert!(output.stdout.contains("rmse"), "{}", output.stdout);
        let output = run([
            "predict",
            &folder,
            "--data",
            &trial.path("d.json").display().to_string(),
        ]);
        output.assert_error(
            "E0519",
            1,
            &["`y` has 2 values per row", "`-> y1: real, y2: real`"],
        );
    }
}

/// A joint family whose coordinate `i`, counted from 1, is a Laplace distribution with the rate `i / scale`. On its free coordinate, the log
/// density of `InverseGamma` falls like `-exp(-z)`, whose mean exists under a Laplace distribution if its rate is above 1.
#[test]
fn a_member_of_a_joint_family_is_compared_with_its_own_coordinates() {
    let program = |members: &str| {
        format!(
            "data d = csv(\"d.csv\")
dist Peaks(loc: real[n], scale: positive[n]) on real[n] {{
  log_density(x) = -sum(abs((x - loc) / scale) * cumsum(ones(n))) - sum(log(2 * scale / cumsum(ones(n))))
  tails          = exponential(cumsum(ones(n)) / scale, 1)
  draw           = loc + scale / cumsum(ones(n)) * peak(standard_uniform(n))
}}
fn peak(u: real) -> real {{
  return -sign(u - 0.5) * log(2 * min(u, 1 - u))
}}
model M(x: real) -> y: real {{
  w ~ Normal(0, 3)
  tau: positive ~ InverseGamma(3, 2)
  y ~ Normal(w * x, tau)
}}
posterior Q of M {{
  {members} ~ Peaks(scale = 1.5)
}}
infer fit = vi(Q, d) {{ steps = 20 }}
"
        )
    };
    let trial = |members: &str| {
        let trial = Trial::new().file("d.csv", "x,y\n1,2\n2,3\n-1,-2\n0,1\n");
        trial.program(&program(members)).bnnc("run", &[])
    };
    // The rates are 2/3 and 4/3.
    trial("w, tau").assert_sound();
    trial("tau, w").assert_error("E0302", 1, &["is infinite", "`InverseGamma`"]);
}

/// A table of two rows and three columns in each row of the data, and the same numbers in other shapes.
#[test]
fn new_rows_have_the_axes_of_the_training_rows() {
    let rows: Vec<[[f64; 3]; 2]> = (0..8)
        .map(|row| [0, 1].map(|i| [0, 1, 2].map(|j| f64::from((row * 5 + i * 3 + j * 7) % 11) / 11.0)))
        .collect();
    let y: Vec<f64> = rows.iter().map(|x| x[0][0] + 2.0 * x[1][2]).collect();
    let turned: Vec<[[f64; 2]; 3]> = rows
        .iter()
        .map(|x| [0, 1, 2].map(|j| [x[0][j], x[1][j]]))
        .collect();
    let flat: Vec<Vec<f64>> = rows.iter().map(|x| x.concat()).collect();
    let trial = Trial::new()
        .file("d.json", serde_json::json!({ "x": rows, "y": y }).to_string())
        .file("same.json", serde_json::json!({ "x": rows }).to_string())
        .file("turned.json", serde_json::json!({ "x": turned }).to_string())
        .file("flat.json", serde_json::json!({ "x": flat }).to_string())
        .program(
            "data d = json(\"d.json\")
model M(x: real[2, 3]) -> y: real {
  w: real[2, 3] ~ Normal(0, 1)
  y ~ Normal(sum(w * x), 0.5)
}
infer fit = map(M, d)
",
        );
    let folder = trial.path("out").display().to_string();
    trial.bnnc("run", &["--out", &folder]).assert_sound();
    let predict = |name: &str| {
        run([
            "predict",
            &folder,
            "--data",
            &trial.path(name).display().to_string(),
        ])
    };
    assert_eq!(predict("same.json").status, 0, "{}", predict("same.json").stderr);
    predict("turned.json").assert_error("E0418", 3, &["`x` has 2 x 3 in each row", "found 3 x 2"]);
    predict("flat.json").assert_error("E0418", 3, &["`x` has 2 x 3 in each row", "found 6"]);
}

/// The targets are noise, so that the validation rows end the members of an ensemble after different numbers of epochs.
#[test]
fn the_members_of_an_ensemble_that_ran_to_their_end_are_judged() {
    let rows = (0..40).map(|i| {
        let y = f64::from(i * i * 29 % 37) / 12.0 - 1.5;
        format!("{},{},{y}\n", i * 13 % 17, i * 7 % 11)
    });
    let rows = format!("u,v,y\n{}", rows.collect::<String>());
    let result = |patience: usize| {
        let program = format!(
            "data rows = csv(\"noise.csv\") {{ target = y, validation = 0.3, standardise = [inputs] }}
model Net(x: real[d]) -> y: real {{
  hidden = Dense(30, prior = Normal(0, 1))
  out = Dense(1, prior = Normal(0, 1))
  y ~ Normal(out(tanh(hidden(x)))[0], 0.1)
}}
infer fit = ensemble(Net, rows) {{
  epochs    = 60
  batch     = 0
  patience  = {patience}
  members   = 6
  optimiser = Adam(1e-3)
  schedule  = constant
}}
"
        );
        let trial = Trial::new().file("noise.csv", &rows).program(&program);
        let output = trial.bnnc("run", &["--json"]);
        output.assert_sound();
        let result: Value = serde_json::from_str(&output.stdout).expect("the result is JSON");
        (result["infer"]["fit"]["diagnostics"].clone(), output.stderr)
    };
    let epochs = |found: &Value| -> Vec<u64> {
        let members = found["members"].as_array().expect("the members");
        members
            .iter()
            .filter_map(|member| member["epochs"].as_u64())
            .collect()
    };
    let (all_stopped, stderr) = result(3);
    assert!(
        epochs(&all_stopped).iter().all(|epochs| *epochs < 60),
        "{all_stopped}"
    );
    assert!(all_stopped["converged"].is_null(), "{all_stopped}");
    assert!(!stderr.contains("E0533"), "{stderr}");
    let (some_whole, stderr) = result(10);
    let whole = epochs(&some_whole)
        .into_iter()
        .filter(|epochs| *epochs == 60)
        .count();
    assert!((1..6).contains(&whole), "{some_whole}");
    assert_eq!(some_whole["converged"], false);
    assert!(
        stderr.contains("E0533") && stderr.contains("a descent from its result lowers the loss"),
        "{stderr}"
    );
}
