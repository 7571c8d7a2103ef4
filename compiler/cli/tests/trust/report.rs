//! Tests the contents of reports, such as names and comparisons.

use crate::support::trial::Trial;
use serde_json::Value;

/// Thirty draws from a normal distribution, rounded to four decimal places.
const VALUES: [f64; 30] = [
    2.3047, 1.9600, 3.7505, 2.9406, 0.0490, 0.6978, 2.1278, 1.6838, 1.9832, 1.1470, 2.8794, 2.7778, 2.0660,
    3.1272, 2.4675, 1.1407, 2.3688, 1.0411, 2.8784, 1.9501, 1.8151, 1.3190, 3.2225, 1.8453, 1.5716, 1.6479,
    2.5323, 2.3654, 2.4127, 2.4308,
];

/// Returns the exact leave-one-out log predictive density of `y ~ Normal(mu, 1)` with `mu ~ Normal(0, 10)`.
fn exact_elpd() -> f64 {
    let sum: f64 = VALUES.iter().sum();
    let others = (VALUES.len() - 1) as f64;
    let variance = 1.0 / (0.01 + others);
    let density = |y: &f64| {
        let mean = variance * (sum - y);
        let spread = 1.0 + variance;
        -0.5 * ((y - mean).powi(2) / spread + (std::f64::consts::TAU * spread).ln())
    };
    VALUES.iter().map(density).sum()
}

fn values() -> String {
    VALUES
        .iter()
        .fold("y\n".to_owned(), |text, value| text + &format!("{value}\n"))
}

const LOCATION: &str = "
data d = csv(\"d.csv\")

model M() -> y: real {
  mu ~ Normal(0, 10)
  y ~ Normal(mu, 1)
}

model Wide() -> y: real {
  mu ~ Normal(0, 10)
  y ~ Normal(mu, 3)
}

posterior Q of M {
  mu ~ Normal(2, 0.2)
}

posterior Fixed of M {
  mu ~ Point(2)
}
";

fn location(rest: &str) -> Trial {
    Trial::new()
        .file("d.csv", values())
        .program(&format!("{LOCATION}\n{rest}"))
}

fn line<'a>(result: &'a Value, infer: &str) -> &'a Value {
    let mut lines = result["compare"][0]["lines"].as_array().expect("lines").iter();
    lines.find(|line| line["infer"] == infer).expect("a line")
}

/// For a conjugate model, chains, a variational approximation and a Laplace approximation all agree
/// with the exact leave-one-out density.
#[test]
fn comparisons_without_test_rows_leave_each_row_out() {
    let trial = location(
        "infer chains = nuts(M, d) { chains = 2, draws = 1000 }
infer wide = nuts(Wide, d) { chains = 2, draws = 1000 }
infer approximation = vi(Q, d) { epochs = 800, optimiser = Adam(0.02), schedule = cosine }
infer gaussian = laplace(M, d) { epochs = 400, optimiser = Adam(0.05) }
compare chains, wide, approximation, gaussian by rmse",
    );
    let result = trial.result(&[]);
    let exact = exact_elpd();
    for infer in ["chains", "approximation", "gaussian"] {
        let found = line(&result, infer)["elpd_loo"].as_f64().unwrap();
        // The Monte Carlo error of 1000 draws is about 0.03.
        assert!(
            (found - exact).abs() < 0.15,
            "{infer}: {found} instead of {exact}"
        );
        assert_eq!(line(&result, infer)["metrics_on"], "train");
    }
    let lines = result["compare"][0]["lines"].as_array().unwrap();
    assert_eq!(lines[3]["infer"], "wide");
    assert_eq!(
        (&lines[0]["difference"], &lines[0]["difference_se"]),
        (&0.0.into(), &0.0.into())
    );
    let difference = lines[3]["difference"].as_f64().unwrap();
    let elpd = |line: &Value| line["elpd_loo"].as_f64().unwrap();
    assert!((difference - (elpd(&lines[3]) - elpd(&lines[0]))).abs() < 1e-9);
    assert!(lines[3]["difference_se"].as_f64().unwrap() > 1.0);
}

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

/// A noise level that is fixed at the maximum was also fitted to the left-out row. Chains
/// integrate over the noise level, so their estimate is about one nat lower.
#[test]
fn parameters_that_are_held_at_the_maximum_are_reported_beside_elpd() {
    let rows: String = (0..30)
        .map(|i| {
            format!(
                "{},{}\n",
                f64::from(i) / 15.0,
                f64::from(i + 3 * (i * 7 % 11)) / 15.0
            )
        })
        .collect();
    let trial = Trial::new().file("d.csv", format!("x,y\n{rows}")).program(
        "data d = csv(\"d.csv\") { target = y }
model Noise(x: real) -> y: real {
  b ~ Normal(0, 10)
  sigma: positive ~ HalfNormal(5)
  y ~ Normal(b * x, sigma)
}
posterior Half of Noise {
  b ~ Normal(2, 0.2)
  sigma ~ Point(1)
}
infer chains = nuts(Noise, d) { chains = 2, draws = 2000 }
infer gaussian = laplace(Noise, d) { steps = 2000 }
infer half = vi(Half, d) { steps = 8000 }
compare chains, gaussian, half by elpd_loo",
    );
    let (output, result) = trial.run(&[]);
    for infer in ["gaussian", "half"] {
        let text = format!("`elpd_loo` of `{infer}` is too high: every draw has the value of `sigma`");
        output.assert_warning("E0571", &[&text, "so the total is too high by at most about 1"]);
    }
    assert_eq!(output.stderr.matches("warning[").count(), 2, "{}", output.stderr);
    let elpd = |infer: &str| line(&result, infer)["elpd_loo"].as_f64().unwrap();
    for infer in ["gaussian", "half"] {
        let excess = elpd(infer) - elpd("chains");
        assert!((0.3..2.0).contains(&excess), "{infer}: {excess}");
    }
}

#[test]
fn draws_without_spread_are_reported_beside_elpd() {
    let trial = location(
        "infer still = swag(M, d) { steps = 2000, batch = 0 }
infer gaussian = laplace(M, d) { steps = 2000 }
compare still, gaussian by elpd_loo",
    );
    let output = trial.bnnc("run", &[]);
    output.assert_warning(
        "E0572",
        &[
            "`elpd_loo` of `still` treats the posterior as a single point",
            "of 1",
        ],
    );
    assert_eq!(output.stderr.matches("E0572").count(), 1, "{}", output.stderr);
    assert!(!output.stderr.contains("E0571"), "{}", output.stderr);
}

/// The bound on the effective number of parameters is relative to the number of parameters that the
/// rows inform. The model has 40 means with four rows each. The variance of their prior is a
/// hundred times the variance of the noise, so the effective number of parameters is about 40. With
/// 1/50 of the posterior variances, a Gaussian has an effective number of parameters of about 0.8.
/// This would be enough for one parameter but is too low for 40.
#[test]
fn spread_is_compared_to_the_number_of_informed_parameters() {
    let scattered = |at: i32| ((f64::from(at) * 12.9898).sin() * 43_758.545_3).rem_euclid(1.0);
    let row = |i: i32| {
        let noise: f64 = (1..4).map(|k| scattered(i * 7 + k) - 0.5).sum();
        format!("k{},{:.3}\n", i / 4, f64::from(3 * (i / 4 % 7)) + 2.0 * noise)
    };
    let rows: String = (0..160).map(row).collect();
    let trial = Trial::new().file("d.csv", format!("g,y\n{rows}")).program(
        "data d = csv(\"d.csv\") { target = y }
model Means(g: index(J)) -> y: real {
  theta: real[J] ~ Normal(0, 10)
  y ~ Normal(theta[g], 1)
}
infer best = map(Means, d)
infer exact = laplace(Means, d) { start = best }
infer narrow = laplace(Means, d) { start = best, temperature = 0.02 }
compare exact, narrow by elpd_loo",
    );
    let (output, result) = trial.run(&[]);
    output.assert_warning(
        "E0572",
        &["`elpd_loo` of `narrow`", "about 40 parameters have posteriors"],
    );
    assert_eq!(output.stderr.matches("E0572").count(), 1, "{}", output.stderr);
    let p = |infer: &str| line(&result, infer)["p_loo"].as_f64().unwrap();
    assert!((0.05..2.0).contains(&p("narrow")), "{}", p("narrow"));
    assert!((20.0..50.0).contains(&p("exact")), "{}", p("exact"));
}

#[test]
fn comparisons_name_their_rows() {
    let untested = location("infer chains = nuts(M, d) { chains = 1, draws = 200 }\ncompare chains by rmse");
    let output = untested.bnnc("run", &[]);
    for text in ["elpd_loo", "difference", "train rmse", "each of 30 training rows"] {
        assert!(output.stdout.contains(text), "{text}: {}", output.stdout);
    }
    let tested = Trial::new().file("d.csv", values()).program(
        &(LOCATION.replace("csv(\"d.csv\")", "csv(\"d.csv\") { test = fraction(0.2) }")
            + "infer chains = nuts(M, d) { chains = 1, draws = 200 }\ncompare chains by rmse, time"),
    );
    let output = tested.bnnc("run", &[]);
    assert!(
        output.stdout.contains("test rmse") && !output.stdout.contains("difference"),
        "{}",
        output.stdout
    );
}

#[test]
fn metrics_that_do_not_apply_are_rejected_at_their_span() {
    let run = |rest: &str| location(rest).bnnc("run", &[]);
    run("infer fit = map(M, d)\ncompare fit by accuracy").assert_error(
        "E0566",
        1,
        &[
            "`accuracy` does not apply to `fit`",
            "`y` is a number, not a class",
            "program.bnn:",
            "`rmse`",
        ],
    );
    run("infer fit = map(M, d)\ncompare fit by elpd_loo").assert_error(
        "E0566",
        1,
        &["`elpd_loo` does not apply to `fit`", "`map` finds one point"],
    );
    run("infer fit = nuts(M, d) { loo = never }\ncompare fit by elpd_loo").assert_error(
        "E0566",
        1,
        &["`loo = never` turns it off"],
    );
    let several = Trial::new()
        .file("d.csv", "a,b\n1,2\n2,1\n0,3\n")
        .program(
            "data d = csv(\"d.csv\")\nmodel M() -> a: real, b: real {\n  mu ~ Normal(0, 1)\n  a ~ Normal(mu, 1)\n  b ~ Normal(mu, 1)\n}
infer fit = map(M, d)\ncompare fit by rmse",
        );
    several.bnnc("run", &[]).assert_error(
        "E0566",
        1,
        &[
            "`rmse` is a metric of one output, but the model has several",
            "`a.rmse`, `b.rmse`",
        ],
    );
}

#[test]
fn metrics_that_were_not_computed_are_named() {
    let trial = location("infer fit = vi(Fixed, d)\ncompare fit by elpd_loo");
    trial
        .bnnc("run", &[])
        .assert_warning("E0567", &["`elpd_loo` of `fit` was not computed"]);
}

#[test]
fn comparisons_of_different_outputs_have_no_difference() {
    let program = "data d = csv(\"d.csv\") { target = y }\ndata e = csv(\"d.csv\") { target = z }
model M() -> y: real {\n  mu ~ Normal(0, 1)\n  y ~ Normal(mu, 1)\n}
model N() -> z: real {\n  mu ~ Normal(0, 1)\n  z ~ Normal(mu, 1)\n}
infer one = nuts(M, d) { chains = 1, draws = 200 }\ninfer two = nuts(N, e) { chains = 1, draws = 200 }\ncompare one, two by elpd_loo";
    let trial = Trial::new()
        .file("d.csv", "y,z\n1,2\n2,1\n0,3\n1,1\n")
        .program(program);
    trial
        .bnnc("run", &[])
        .assert_warning("E0568", &["`two` and `one` observed different values"]);
}

const CITIES: &str = "y,age,log income,city,kind\n1.2,0.1,0.3,Oslo,benign\n0.4,-0.2,0.1,Rome,malignant\n0.9,0.5,-0.4,Oslo,benign
2.1,1.1,0.2,Bonn,malignant\n0.1,-0.7,0.9,Rome,benign\n1.7,0.8,0.5,Bonn,malignant\n0.3,0.2,0.2,Oslo,benign\n1.1,-0.1,-0.5,Rome,benign\n";

/// All outputs contain the names of columns, levels and classes: the table, `result.json`, Zarr,
/// Stan CSV, predictions and the report.
#[test]
fn elements_have_the_names_of_columns_and_levels() {
    let trial = Trial::new().file("d.csv", CITIES).program(
        "data d = csv(\"d.csv\") { inputs = [age, exp(age)], target = y }
data e = csv(\"d.csv\") { target = y }
model Slopes(x: real[k]) -> y: real {\n  beta: real[k] ~ Normal(0, 1)\n  y ~ Normal(dot(beta, x), 1)\n}
model Cities(city: index(J)) -> y: real {\n  alpha: real[J] ~ Normal(0, 1)\n  y ~ Normal(alpha[city], 1)\n}
infer slopes = nuts(Slopes, d) { chains = 1, warmup = 100, draws = 100 }
infer cities = nuts(Cities, e) { chains = 1, warmup = 100, draws = 100 }
infer mode = map(Cities, e)",
    );
    let out = trial.path("out");
    let output = trial.bnnc("run", &["--out", out.to_str().unwrap()]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    for name in [
        "beta[age]",
        "beta[exp(age)]",
        "alpha[Oslo]",
        "alpha[Rome]",
        "alpha[Bonn]",
    ] {
        assert!(output.stdout.contains(name), "{name}: {}", output.stdout);
        assert!(read("report.html").contains(name), "{name}");
        assert!(read("result.json").contains(name), "{name}");
    }
    assert!(!output.stdout.contains("[0]"), "{}", output.stdout);
    let result: Value = serde_json::from_str(&read("result.json")).unwrap();
    let names = &result["infer"]["mode"]["parameters"]["alpha"]["names"];
    assert_eq!(*names, serde_json::json!([["Oslo", "Rome", "Bonn"]]));
    let quantities = &result["infer"]["slopes"]["diagnostics"]["quantities"];
    assert!(quantities["beta[age]"]["mean"].is_number());
    let stan = read("stan/cities_1.csv");
    assert!(stan.contains("# alpha.1 is alpha[Oslo]\n"), "{stan}");
    assert!(
        stan.lines().any(|line| line.ends_with("alpha.1,alpha.2,alpha.3")),
        "{stan}"
    );
    let labels = read("posterior.slopes.zarr/posterior/k/.zarray");
    assert!(
        labels.contains("<U8"),
        "the longest name has eight letters: {labels}"
    );
}

#[test]
fn classes_have_the_names_of_their_levels() {
    let trial = Trial::new().file("d.csv", CITIES).program(
        "data d = csv(\"d.csv\") { inputs = [age], target = kind }
model M(x: real[d]) -> kind: index(K) {\n  w: real[K, d] ~ Normal(0, 1)\n  kind ~ Categorical(w @ x)\n}
infer fit = map(M, d)",
    );
    let out = trial.path("out");
    let output = trial.bnnc("run", &["--out", out.to_str().unwrap()]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stdout.contains("w[malignant,age]"), "{}", output.stdout);
    let predictions = std::fs::read_to_string(out.join("predictions.csv")).unwrap();
    let mut lines = predictions.lines();
    let head = lines.next().unwrap();
    assert!(head.contains("p[benign],p[malignant]"), "{head}");
    assert!(lines.next().unwrap().contains("benign"), "{predictions}");
    let report = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(report.contains(">malignant</text>") && report.contains("true class"));
}

#[test]
fn parameters_of_layers_follow_those_of_the_program_in_one_line() {
    let trial = Trial::new().file("d.csv", CITIES).program(
        "data d = csv(\"d.csv\") { inputs = [age], target = y }
model M(x: real[d]) -> y: real {
  hidden = Dense(16)
  out = Dense(1)
  sigma ~ HalfNormal(1)
  o = out(tanh(hidden(x)))
  y ~ Normal(o[0], sigma)
}
infer fit = map(M, d)",
    );
    let output = trial.bnnc("run", &[]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let at = |text: &str| {
        output
            .stdout
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {}", output.stdout))
    };
    assert!(at("  sigma ") < at("  hidden.b "));
    assert!(at("16 values: ") > 0 && !output.stdout.contains("hidden.b["));
}

/// In the table, a parameter of a layer has one line, or one line per element if the option `report` names
/// it.
#[test]
fn parameters_that_report_names_have_a_line_for_each_element() {
    let trial = Trial::new().file("d.csv", CITIES).program(
        "data d = csv(\"d.csv\") { inputs = [age], target = y }
model M(x: real[d]) -> y: real {
  out = Dense(2)
  o = out(x)
  y ~ Normal(o[0] + o[1], 1)
}
infer fit = nuts(M, d) { chains = 2, warmup = 100, draws = 50, report = [out.w] }",
    );
    let output = trial.bnnc("run", &[]);
    for element in ["out.w[0,age]", "out.w[1,age]"] {
        assert!(output.stdout.contains(element), "{element}: {}", output.stdout);
    }
    assert!(!output.stdout.contains("\n  out.b"), "{}", output.stdout);
}

#[test]
fn parameters_without_a_summary_are_listed() {
    let rows: String = (0..80).map(|at| format!("{},g{at}\n", at % 7)).collect();
    let trial = Trial::new().file("d.csv", format!("y,g\n{rows}")).program(
        "data d = csv(\"d.csv\") { target = y }
model M(g: index(J)) -> y: real {\n  alpha: real[J] ~ Normal(0, 1)\n  y ~ Normal(alpha[g], 1)\n}
infer fit = map(M, d)",
    );
    let output = trial.bnnc("run", &[]);
    for text in ["alpha", "80 values, not summarised", "--out DIR"] {
        assert!(output.stdout.contains(text), "{text}: {}", output.stdout);
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
