//! Tests that a run does not return a wrong result without a warning, and does not print a false
//! message.

use crate::support::run;
use crate::support::trial::Trial;
use serde_json::Value;

/// Returns a program whose output has two values per row.
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

/// The predictions of a vector output have metrics, but a table of predictions cannot contain them.
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

/// In the joint family of this test, coordinate `i`, counted from 1, has a Laplace distribution
/// with the rate `i / scale`. On its unconstrained coordinate `z`, the log density of
/// `InverseGamma` falls like `-exp(-z)`. Under a Laplace distribution, the mean of `exp(-z)` exists if the rate is above 1.
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
    // The rates of the two coordinates are 2/3 and 4/3.
    trial("w, tau").assert_sound();
    trial("tau, w").assert_error("E0302", 1, &["is infinite", "`InverseGamma`"]);
}

/// Each row of the data contains a matrix with two rows and three columns. New rows with the same
/// numbers in another shape must be rejected.
#[test]
fn new_rows_have_the_axes_of_the_training_rows() {
    let rows: Vec<[[f64; 3]; 2]> = (0..8)
        .map(|row| [0, 1].map(|i| [0, 1, 2].map(|j| f64::from((row * 5 + i * 3 + j * 7) % 11) / 11.0)))
        .collect();
    let y: Vec<f64> = rows.iter().map(|x| x[0][0] + 2.0 * x[1][2]).collect();
    let transposed: Vec<[[f64; 2]; 3]> = rows
        .iter()
        .map(|x| [0, 1, 2].map(|j| [x[0][j], x[1][j]]))
        .collect();
    let flat: Vec<Vec<f64>> = rows.iter().map(|x| x.concat()).collect();
    let trial = Trial::new()
        .file("d.json", serde_json::json!({ "x": rows, "y": y }).to_string())
        .file("same.json", serde_json::json!({ "x": rows }).to_string())
        .file(
            "transposed.json",
            serde_json::json!({ "x": transposed }).to_string(),
        )
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
    predict("transposed.json").assert_error("E0418", 3, &["`x` has 2 x 3 in each row", "found 3 x 2"]);
    predict("flat.json").assert_error("E0418", 3, &["`x` has 2 x 3 in each row", "found 6"]);
}

/// The targets are noise, so that validation rows stop the ensemble's members after different
/// numbers of epochs.
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

/// Returns a program for data on a straight line through the origin with the slope 2. In the model of this program, `sign` is the sign of the
/// slope, and `ty` is the type of the parameter.
fn slope(sign: &str, ty: &str, options: &str) -> Trial {
    let rows: String = (0..50)
        .map(|i| {
            let x = f64::from(i) / 25.0 - 1.0;
            format!("{x},{}\n", 2.0 * x + 0.5 * (f64::from(i * 7 % 11) / 5.0 - 1.0))
        })
        .collect();
    let program = format!(
        "data d = csv(\"d.csv\")
model M(x: real) -> y: real {{
  b: {ty} ~ Normal(0, 3)
  sigma: positive ~ HalfNormal(5)
  y ~ Normal({sign}b * x, sigma)
}}
infer fit = laplace(M, d) {{ {options} }}
"
    );
    Trial::new()
        .file("d.csv", format!("x,y\n{rows}"))
        .program(&program)
}

/// If the model has the wrong sign, the posterior of `b` is nearly exponential at 0. If the upper
/// bound of the type is too small, the posterior is nearly exponential at this bound.
#[test]
fn a_laplace_approximation_at_an_end_needs_the_whole_second_derivative() {
    for (sign, ty, end) in [("-", "positive", "at 0,"), ("", "real(-5, 1.2)", "at 1.2,")] {
        for options in ["", "curvature = fisher", "structure = kronecker"] {
            let trial = slope(sign, ty, options);
            trial
                .bnnc("run", &[])
                .assert_error("E0582", 1, &["`b`", end, "curvature = hessian`", "`nuts`"]);
            let output = trial.bnnc("run", &["--json"]);
            assert!(
                output.status == 1 && output.stderr.contains("\"E0582\""),
                "{}",
                output.stderr
            );
        }
        let trial = slope(sign, ty, "curvature = hessian");
        let (output, result) = trial.run(&[]);
        output.assert_warning(
            "E0582",
            &["`b` in `fit` piles up", end.trim_end_matches(','), "`nuts`"],
        );
        // Let the distance d from the bound be exponential with the rate r. Then u = log(d) has a
        // density proportional to exp(u - r exp(u)). At the maximum of this density, the second
        // derivative of its logarithm is -1. The Laplace approximation of d is therefore
        // log-normal, with the median 1 / r and the mean exp(1 / 2) / r.
        let [b, sigma] = ["b", "sigma"].map(|name| result["infer"]["fit"]["parameters"][name].clone());
        let (mean, sd) = (
            b["mean"].as_f64().expect("a mean"),
            b["sd"].as_f64().expect("an sd"),
        );
        let bound = if sign == "-" { 0.0 } else { 1.2 };
        let distance = (mean - bound).abs();
        let shape = ((1f64.exp() - 1.0).sqrt() - sd / distance).abs();
        assert!(shape < 0.35, "{mean} {sd}");
        assert!(distance < 0.2 && sigma["mean"].is_number(), "{result}");
    }
}

/// The noise level is fixed at the maximum, so it does not have a standard deviation. The standard
/// deviation of the slope is the same as in a linear model.
#[test]
fn a_parameter_that_laplace_holds_has_no_standard_deviation() {
    let trial = slope("", "positive", "");
    let folder = trial.path("out").display().to_string();
    let output = trial.bnnc("run", &["--out", &folder, "--json"]);
    output.assert_sound();
    let result: Value = serde_json::from_str(&output.stdout).expect("the result is JSON");
    let [b, sigma] = ["b", "sigma"].map(|name| result["infer"]["fit"]["parameters"][name].clone());
    for part in ["sd", "q05", "q95"] {
        assert!(sigma[part].is_null(), "{sigma}");
    }
    let noise = sigma["mean"].as_f64().expect("a number");
    let squares: f64 = (0..50).map(|i| (f64::from(i) / 25.0 - 1.0).powi(2)).sum();
    let sd = b["sd"].as_f64().expect("a number");
    let wanted = noise / squares.sqrt();
    assert!((sd / wanted - 1.0).abs() < 0.05, "{sd} {wanted}");
    let table = trial.bnnc("run", &[]).stdout;
    let cells = |name: &str| {
        let line = table.lines().find(|line| line.trim_start().starts_with(name));
        line.expect("a line").split_whitespace().count()
    };
    assert_eq!((cells("b "), cells("sigma ")), (5, 2), "{table}");
    let page = std::fs::read_to_string(trial.path("out").join("report.html")).expect("a report");
    let row = page.split("<code>sigma</code>").nth(1).expect("a row of `sigma`");
    let row = row.split("</tr>").next().expect("the end of the row");
    assert_eq!(row.matches(char::is_numeric).count().min(1), 1, "{row}");
    assert!(!row.contains("e-"), "{row}");
}

/// The slope of the line is 2, but the slope of the model is negative: -5 times an element of a simplex. The posterior of the element is therefore
/// nearly exponential at 0.
#[test]
fn an_element_of_a_simplex_at_its_end_needs_the_whole_second_derivative() {
    let trial = |at: usize, options: &str| {
        let trial = slope("", "positive", options);
        let others: Vec<String> = (0..3)
            .filter(|other| *other != at)
            .map(|other| format!("p[{other}]"))
            .collect();
        let program = format!(
            "data d = csv(\"d.csv\")
model M(x: real) -> y: real {{
  p: simplex(3) ~ Dirichlet([1, 1, 1])
  sigma: positive ~ HalfNormal(5)
  y ~ Normal(-5 * p[{at}] * x + {} - {}, sigma)
}}
infer fit = laplace(M, d) {{ {options} }}
",
            others[0], others[1]
        );
        trial.program(&program)
    };
    for at in [0, 2] {
        let output = trial(at, "").bnnc("run", &[]);
        output.assert_error(
            "E0582",
            1,
            &[&format!("`p[{at}]`"), "at 0,", "`curvature = hessian`"],
        );
        let found = trial(at, "curvature = hessian").result(&[]);
        let mean = found["infer"]["fit"]["parameters"]["p"]["mean"][at]
            .as_f64()
            .expect("a mean");
        assert!(mean < 0.1, "{found}");
    }
}

/// According to the data, the square of `a` is about 4, so the density has a maximum near 2. The other
/// maximum, near -2, is lower because of the prior.
#[test]
fn the_restarts_that_end_near_the_lowest_loss_are_counted() {
    let rows: String = (0..10)
        .map(|i| format!("{}\n", 3.9 + 0.1 * f64::from(i % 3)))
        .collect();
    let program = |restarts: usize| {
        format!(
            "data d = csv(\"d.csv\")
model M() -> y: real {{
  a ~ Normal(1, 1)
  y ~ Normal(a * a, 1)
}}
infer fit = map(M, d) {{ restarts = {restarts}, steps = 2000 }}
"
        )
    };
    for restarts in [2, 3, 12] {
        let trial = Trial::new()
            .file("d.csv", format!("y\n{rows}"))
            .program(&program(restarts));
        let (output, result) = trial.run(&[]);
        let all = result["infer"]["fit"]["diagnostics"]["restarts"]
            .as_array()
            .expect("the restarts")
            .clone();
        let losses: Vec<f64> = all.iter().filter_map(|one| one["loss"].as_f64()).collect();
        let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
        let near = losses.iter().filter(|loss| **loss < best + 1.0).count();
        if near == restarts {
            assert!(!output.stderr.contains("E0535"), "{}", output.stderr);
            continue;
        }
        let verb = if near == 1 { "ends" } else { "end" };
        let count = format!("{near} of {restarts} restarts {verb} near the lowest loss");
        output.assert_warning("E0535", &[&count]);
        assert_eq!(
            output.stderr.contains("only one restart has found"),
            near == 1,
            "{}",
            output.stderr
        );
    }
}

/// The outputs are counts. One model declares them as integers, and the other model declares them
/// as reals.
#[test]
fn log_densities_and_log_probabilities_are_not_compared_without_a_warning() {
    let rows: String = (0..60)
        .map(|i| format!("{},{}\n", i % 5, (i * 7 + i % 5) % 9))
        .collect();
    let run = |metrics: &str, second: &str| {
        let program = format!(
            "data d = csv(\"d.csv\") {{ test = fraction(0.3) }}
model Counts(n: real) -> k: count {{
  a ~ Normal(0, 1)
  k ~ Poisson(a + 0.1 * n)
}}
model Reals(n: real) -> k: real {{
  a ~ Normal(0, 5)
  k ~ Normal(a + n, 3)
}}
infer first = map(Counts, d)
infer second = map({second}, d)
compare first, second by {metrics}
"
        );
        let trial = Trial::new()
            .file("d.csv", format!("n,k\n{rows}"))
            .program(&program);
        trial.bnnc("run", &[]).stderr
    };
    let text = "`log_likelihood` of `second` is a log density, and that of `first` is a log probability";
    let stderr = run("rmse, log_likelihood", "Reals");
    assert!(stderr.contains("E0577") && stderr.contains(text), "{stderr}");
    for (metrics, second) in [("rmse, crps", "Reals"), ("log_likelihood", "Counts")] {
        let stderr = run(metrics, second);
        assert!(!stderr.contains("E0577"), "{stderr}");
    }
}
