//! Tests the files of a run and its warnings.

use super::location;
use crate::support::trial::Trial;
use serde_json::Value;

/// The variance of Student's t distribution is infinite for up to two degrees of freedom. For more
/// degrees of freedom, the variance is `df / (df - 2)`.
#[test]
fn an_infinite_predictive_deviation_is_printed_as_infinite() {
    for (df, deviation) in [(1.5, None), (2.0, None), (6.0, Some(1.5f64.sqrt()))] {
        let trial = location(&format!(
            "model Heavy() -> y: real {{
               mu ~ Normal(0, 10)
               y ~ StudentT({df}, mu, 1)
             }}
             infer fit = nuts(Heavy, d) {{ chains = 2, draws = 1000 }}"
        ));
        let out = trial.path("out");
        let output = trial.bnnc("run", &["--out", &out.display().to_string()]);
        assert_eq!(output.status, 0, "{}", output.stderr);
        let table = output
            .stdout
            .lines()
            .find(|line| line.contains("train sd"))
            .expect("a line");
        let found = table.split_whitespace().last().expect("a number");
        assert_eq!(found == "inf", deviation.is_none(), "{table}");
        let text = std::fs::read_to_string(out.join("predictions.csv")).expect("predictions");
        let mut lines = text.lines();
        let head = lines.next().expect("a head");
        let at = head.split(',').position(|name| name == "sd").expect("a column");
        let row: Vec<&str> = lines.next().expect("a row").split(',').collect();
        match deviation {
            None => assert_eq!(row[at], "null"),
            Some(deviation) => {
                let sd: f64 = row[at].parse().expect("a number");
                assert!((sd / deviation - 1.0).abs() < 0.25, "{sd} {deviation}");
            }
        }
    }
}

/// The quantity with the smallest ESS may be the log density, which is not a parameter.
#[test]
fn the_smallest_sizes_name_their_quantities() {
    let trial = location("infer fit = nuts(M, d) { chains = 2, warmup = 100, draws = 200 }");
    let output = trial.bnnc("run", &[]);
    let line = |label: &str| {
        output
            .stdout
            .lines()
            .find(|line| line.contains(label))
            .unwrap_or_else(|| panic!("{label}"))
            .to_owned()
    };
    for label in ["smallest bulk ESS", "smallest tail ESS", "largest R-hat"] {
        let line = line(label);
        assert!(line.ends_with("mu") || line.ends_with("lp"), "{line}");
    }
}

/// The report page and `result.json` contain the warnings, the failure, the data, the program and
/// the version of `bnnc`.
#[test]
fn reports_hold_the_failed_inference_and_every_warning() {
    let trial = location(
        "infer chain = nuts(M, d) { chains = 1, warmup = 20, draws = 20 }
infer fit = vi(Q, d) { epochs = 20 }
infer wild = swag(M, d) { epochs = 10, optimiser = SGD(1e300) }
infer later = map(M, d) { epochs = 10 }
compare chain, fit by rmse",
    );
    let out = trial.path("out");
    let output = trial.bnnc("run", &["--out", out.to_str().unwrap()]);
    assert_eq!(output.status, 1, "{}", output.stderr);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    let result: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("result.json")).unwrap()).unwrap();
    assert_eq!(result["failed"]["infer"], "wild");
    assert_eq!(result["failed"]["diagnostics"][0]["code"], "E0501");
    let notes = result["failed"]["diagnostics"][0]["notes"].to_string();
    assert!(
        notes.contains("these inferences did not run after the error: `later`")
            && output.stderr.contains("`later`"),
        "{notes}"
    );
    assert!(page.contains("wild <small>failed</small>") && page.contains("error E0501"));
    let codes: Vec<&str> = result["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["code"].as_str().unwrap())
        .collect();
    for line in output
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("warning["))
    {
        let code = &line[..5];
        assert!(codes.contains(&code), "{code} is not in {codes:?}");
        assert!(page.contains(&format!("warning {code}")), "{code}");
    }
    assert!(codes.contains(&"E0522"), "{codes:?}");
    assert_eq!(result["data"]["d"]["n_train"], 30);
    assert_eq!(result["data"]["d"]["files"], serde_json::json!(["d.csv"]));
    assert!(result["version"].is_string() && result["source"].as_str().unwrap().contains("infer wild"));
    assert!(
        result["infer"]["chain"]["seconds"]["finished"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    for text in [
        "<nav",
        "href=\"#fit\"",
        "posterior Q of M",
        "Comparison",
        "d.csv: 30 training",
        "Pareto k",
        "Posterior of mu",
        "Posterior predictive check",
        "Residuals",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

/// The ages are 20, 22, .., 58. The mean of the ages is 39. The sum of their squared deviations is
/// 2660, so their variance is 2660 / n.
#[test]
fn reports_show_the_mean_and_deviation_of_zscore() {
    let rows: String = (0..20).map(|at| format!("{},{at}\n", 20 + 2 * at)).collect();
    let trial = Trial::new().file("d.csv", format!("age,y\n{rows}")).program(
        "data d = csv(\"d.csv\") { inputs = [zscore(age)], target = y }
model M(x: real[d]) -> y: real {
  b ~ Normal(0, 1)
  y ~ Normal(b * x[0], 1)
}
infer fit = map(M, d)",
    );
    let out = trial.path("out");
    trial.bnnc("run", &["--out", out.to_str().unwrap()]);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    let result: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("result.json")).unwrap()).unwrap();
    let zscore = &result["data"]["d"]["inputs"][0]["zscores"][0];
    let deviation = (2660.0f64 / 20.0).sqrt();
    assert_eq!(zscore["mean"], 39.0);
    assert!(
        (zscore["sd"].as_f64().unwrap() - deviation).abs() < 1e-12,
        "{zscore}"
    );
    assert!(page.contains("divided by 11.53"));
    assert_eq!(page.matches("finished 20").count(), 1);
}

/// Every method writes its draws to the same groups of the store as chains do.
#[test]
fn approximations_write_their_draws() {
    let methods = [
        ("vi(Q, d) { epochs = 20 }", 1000),
        ("laplace(M, d) { epochs = 300, optimiser = Adam(0.05) }", 1000),
        ("swag(M, d) { epochs = 40 }", 100),
        ("ensemble(M, d) { members = 3, epochs = 20 }", 3),
        ("map(M, d) { epochs = 20 }", 1),
    ];
    let infers: String = methods
        .iter()
        .enumerate()
        .map(|(at, (method, _))| format!("infer i{at} = {method}\n"))
        .collect();
    let trial = location(&infers);
    let out = trial.path("out");
    let output = trial.bnnc("run", &["--out", out.to_str().unwrap()]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    for (at, (method, draws)) in methods.iter().enumerate() {
        let store = out.join(format!("posterior.i{at}.zarr"));
        let shape = |variable: &str| {
            let text = std::fs::read_to_string(store.join(variable).join(".zarray"));
            let text = text.unwrap_or_else(|error| panic!("{method}: {variable}: {error}"));
            serde_json::from_str::<Value>(&text).unwrap()["shape"].clone()
        };
        assert_eq!(shape("posterior/mu"), serde_json::json!([1, draws]), "{method}");
        assert_eq!(
            shape("log_likelihood/y"),
            serde_json::json!([1, draws, 30]),
            "{method}"
        );
        assert_eq!(
            shape("posterior_predictive/y"),
            serde_json::json!([1, draws, 30]),
            "{method}"
        );
        assert_eq!(shape("observed_data/y"), serde_json::json!([30]), "{method}");
    }
}

/// The data are forty points of a wave, and the model is a Gaussian process. Given only the
/// hyperparameters, the mean of every point is zero. The error of this mean would be 0.7, the scale
/// of the data, and would not measure the error of the curve.
#[test]
fn a_process_over_whole_columns_has_the_metrics_of_its_density_alone() {
    let row = |i: i32| {
        let x = f64::from(i) / 5.0;
        format!("{x},{}\n", x.sin() + 0.1 * (f64::from(i * 7 % 11) / 5.0 - 1.0))
    };
    let rows: String = (0..40).map(row).collect();
    let program = r#"
data rows = csv("rows.csv") { target = y }
model Process(x: real[n])() -> y: real[n] {
  length: positive ~ LogNormal(0, 1)
  noise: positive  ~ HalfNormal(1)
  k = [[exp(-(x[i] - x[j]) ^ 2 / (2 * length ^ 2)) for j in 0..n] for i in 0..n]
  y ~ MultivariateNormal(zeros(n), cholesky(k + diag(repeat(noise ^ 2 + 1e-6, n))))
}
infer fit = map(Process, rows) { steps = 50 }
"#;
    let trial = Trial::new()
        .file("rows.csv", format!("x,y\n{rows}"))
        .program(program);
    let result = trial.result(&[]);
    let metrics = result["infer"]["fit"]["metrics"].as_object().expect("an object");
    let names: Vec<&str> = metrics.keys().map(String::as_str).collect();
    assert_eq!(names, ["log_likelihood"]);
}

/// The rows have tails like a Cauchy distribution, so the fitted degrees of freedom are near 1. For
/// up to 2 degrees of freedom, the variance of Student's t distribution is infinite.
#[test]
fn a_learned_tail_without_variance_has_an_infinite_deviation() {
    let of = |i: i32| (std::f64::consts::PI * ((f64::from(i) + 0.5) / 80.0 - 0.5)).tan();
    let rows: String = (0..80).map(|i| format!("{}\n", of(i))).collect();
    for (method, prior, is_infinite) in [
        ("map", "Gamma(2, 0.5)", true),
        ("nuts", "Gamma(2, 0.5)", true),
        ("nuts", "Gamma(4000, 1000)", false),
    ] {
        let program = format!(
            "data d = csv(\"rows.csv\") {{ target = y }}
model Tail() -> y: real {{
  nu: positive ~ {prior}
  s: positive  ~ HalfNormal(2)
  y ~ StudentT(nu, 0, s)
}}
infer fit = {method}(Tail, d)"
        );
        let trial = Trial::new()
            .file("rows.csv", format!("y\n{rows}"))
            .program(&program);
        let run = trial.path("out");
        let output = trial.bnnc("run", &["--out", &run.display().to_string()]);
        output.assert_sound();
        let result = std::fs::read_to_string(run.join("result.json")).expect("the result is written");
        let result: Value = serde_json::from_str(&result).expect("the result is JSON");
        let sd = &result["infer"]["fit"]["metrics"]["sd"];
        assert_eq!(sd.is_null(), is_infinite, "{method} {prior}: {sd}");
        let line = output
            .stdout
            .lines()
            .find(|line| line.contains("train sd"))
            .expect("a line");
        assert_eq!(line.ends_with(" inf"), is_infinite, "{line}");
        // Predictions from a saved run also have an infinite standard deviation.
        let (data, to) = (trial.path("rows.csv"), trial.path("new.csv"));
        crate::support::run([
            "predict".as_ref(),
            run.as_os_str(),
            "--data".as_ref(),
            data.as_os_str(),
            "-o".as_ref(),
            to.as_os_str(),
        ])
        .assert_sound();
        let written = std::fs::read_to_string(to).expect("the predictions");
        let mut lines = written.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let at = lines
            .next()
            .and_then(|heads| heads.iter().position(|head| *head == "sd"));
        let at = at.expect("a column");
        let is_all = lines.all(|cells| cells[at] == "null");
        assert_eq!(is_all, is_infinite, "{method} {prior}: {written}");
    }
}

/// The diagnostics of chains cover the norm of a layer's weights. The table still shows small layers: a
/// single value is shown like any other parameter, and several values are shown as ranges.
#[test]
fn weights_of_small_layers_are_summarised_under_samplers() {
    let rows: String = (0..20).map(|at| format!("{},{}\n", at % 7, at % 5)).collect();
    let trial = Trial::new().file("d.csv", format!("x,y\n{rows}")).program(
        "data d = csv(\"d.csv\") { target = y, standardise = [inputs, target] }
model M(x: real) -> y: real {
  h = Dense(16)
  o = Dense(1)
  y ~ Normal(o(tanh(h([x])))[0], 1)
}
infer fit = nuts(M, d) { chains = 2, warmup = 50, draws = 50 }",
    );
    let output = trial.bnnc("run", &[]);
    let line = |name: &str| {
        let mut lines = output.stdout.lines().map(str::trim_start);
        lines.find(|line| line.starts_with(name)).unwrap_or_default()
    };
    let biases = line("h.b ");
    assert!(
        biases.contains("16 values: mean ") && biases.contains(", sd "),
        "{biases}"
    );
    assert_eq!(line("o.b[0]").split_whitespace().count(), 5, "{}", output.stdout);
    assert!(!output.stdout.contains("not summarised"), "{}", output.stdout);
}
