//! Tests predictive checks, learning curves, failures and positions in the report and in `result.json`.

#![allow(clippy::unwrap_used)]

use crate::support::Output;
use crate::support::trial::Trial;
use serde_json::Value;

/// Runs the program with the run folder `out`. Returns the output of the run, the report page and
/// the result.
fn reported(trial: &Trial) -> (Output, String, Value) {
    let out = trial.path("out");
    let output = trial.bnnc("run", &["--out", out.to_str().unwrap()]);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let result = serde_json::from_str(&read("result.json")).unwrap();
    (output, read("report.html"), result)
}

/// Returns a table of a hundred numbers with the mean 3 and the mean squared deviation 1.
fn numbers() -> String {
    (0..100).fold("x,y\n".to_owned(), |text, at| {
        text + &format!("{},{}\n", f64::from(at % 10), if at % 2 == 0 { 2.0 } else { 4.0 })
    })
}

#[track_caller]
fn near(value: &Value, expected: f64, bound: f64) {
    let found = value.as_f64().unwrap();
    assert!((found - expected).abs() < bound, "{found} instead of {expected}");
}

/// The model is `y ~ Normal(mu, 1)` with `mu ~ Normal(0, 2)`. The mean of a predicted data set of
/// 100 rows is `mu` plus noise with a standard deviation of 0.1. The standard deviation of this
/// noise is the same under the prior and under the posterior.
#[test]
fn numbers_have_prior_and_posterior_checks() {
    let trial = Trial::new().file("d.csv", numbers()).program(
        "data d = csv(\"d.csv\") { target = y }
model M(x: real) -> y: real {
  mu ~ Normal(0, 2)
  y ~ Normal(mu, 1)
}
model Flat(x: real) -> y: real {
  mu ~ Flat
  y ~ Normal(mu, 1)
}
infer fit = nuts(M, d) { chains = 2, draws = 500 }
infer flat = nuts(Flat, d) { chains = 2, draws = 500 }",
    );
    let (output, page, result) = reported(&trial);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let check = &result["infer"]["fit"]["checks"]["y"];
    near(&check["observed"]["mean"], 3.0, 1e-12);
    near(&check["observed"]["sd"], 1.0, 1e-12);
    // The value is an average over the means of 40 data sets. The variance of the mean of one data
    // set is the variance of `mu` plus 0.1^2.
    near(
        &check["posterior"]["mean"]["mean"],
        3.0,
        5.0 * 0.1414 / 40f64.sqrt() + 0.01,
    );
    near(&check["prior"]["mean"]["mean"], 0.0, 5.0 * 2.0 / 40f64.sqrt());
    near(&check["posterior"]["sd"]["mean"], 1.0, 0.06);
    let reach = |end: &str| check["prior"]["mean"][end].as_f64().unwrap();
    assert!(reach("q05") < -1.0 && reach("q95") > 1.0, "{check}");
    let flat = &result["infer"]["flat"]["checks"]["y"];
    assert_eq!(flat["no_prior"], "the prior of `mu`, `Flat`, is improper");
    for text in [
        "Posterior predictive check",
        "Prior predictive check",
        "No prior predictive check of <code>y</code>: the prior of <code>mu</code>",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

/// The output is true in three of four rows. Under the prior, the probability of true has a
/// logistic-normal distribution around one half.
#[test]
fn classes_have_frequencies_and_a_calibration() {
    let rows = (0..200).fold("x,y\n".to_owned(), |text, at| {
        text + &format!("{},{}\n", at % 7, u8::from(at % 4 != 0))
    });
    let named = rows.replace(",1\n", ",ill\n").replace(",0\n", ",well\n");
    let bernoulli = "data d = csv(\"d.csv\") { target = y }
model M(x: real) -> y: bool {
  a ~ Normal(0, 1)
  y ~ Bernoulli(a)
}
infer fit = nuts(M, d) { chains = 2, draws = 500 }";
    let categorical = bernoulli
        .replace("y: bool", "y: index(2)")
        .replace("Bernoulli(a)", "Categorical([a, 0.0])");
    for (program, rows, [no, yes]) in [
        (bernoulli, &rows, ["0", "1"]),
        (&*categorical, &named, ["well", "ill"]),
    ] {
        let trial = Trial::new().file("d.csv", rows).program(program);
        let (output, page, result) = reported(&trial);
        assert_eq!(output.status, 0, "{}", output.stderr);
        let check = &result["infer"]["fit"]["checks"]["y"];
        near(&check["observed"][yes], 0.75, 1e-12);
        near(&check["observed"][no], 0.25, 1e-12);
        // Both the fraction of true outputs in 200 rows and the posterior of the probability have a
        // standard deviation of 0.03.
        near(
            &check["posterior"][yes]["mean"],
            0.75,
            5.0 * 0.045 / 40f64.sqrt() + 0.01,
        );
        // The logistic function of a standard normal variable has a standard deviation of 0.21.
        near(&check["prior"][yes]["mean"], 0.5, 5.0 * 0.22 / 40f64.sqrt());
        for text in [
            "Posterior predictive check, classes",
            "Prior predictive check, classes",
            "Calibration of",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }
}

#[test]
fn validation_rows_have_a_learning_curve() {
    let trial = Trial::new().file("d.csv", numbers()).program(
        "data d = csv(\"d.csv\") { target = y, validation = 0.2 }
model M(x: real) -> y: real {
  mu ~ Normal(0, 10)
  y ~ Normal(mu, 1)
}
infer free = map(M, d) { epochs = 300, optimiser = Adam(0.05) }
infer early = map(M, d) { epochs = 300, patience = 20, optimiser = Adam(0.05) }",
    );
    let (output, page, result) = reported(&trial);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let curve = |infer: &str| result["infer"][infer]["diagnostics"]["learning"]["validation"].clone();
    let (free, early) = (curve("free"), curve("early"));
    assert_eq!(
        (free.as_array().unwrap().len(), &free[0][0]),
        (100, &Value::from(3.0))
    );
    assert_eq!(early[0][0], 1.0);
    // At the maximum, the loss per validation row has two terms: half the logarithm of 2 pi, and
    // half the mean squared deviation. The mean squared deviation is about 1.
    near(&free[99][1], 0.9189 + 0.5, 0.1);
    assert!(free[0][1].as_f64().unwrap() > 4.0, "{free}");
    assert!(
        page.contains(">Validation</text>") || page.contains("Validation"),
        "{page}"
    );
}

/// The report includes the failure of an inference even if no other inference has finished.
#[test]
fn a_first_inference_that_fails_is_reported() {
    let trial = Trial::new().file("d.csv", numbers()).program(
        "data d = csv(\"d.csv\") { target = y }
model M(x: real) -> y: real {
  mu ~ Normal(0, 1)
  y ~ Normal(mu + log(x - 1000), 1)
}
infer fit = nuts(M, d)",
    );
    let (output, page, result) = reported(&trial);
    output.assert_error("E0506", 1, &["`fit`"]);
    assert_eq!(output.stdout, "");
    assert_eq!(result["failed"]["infer"], "fit");
    assert_eq!(result["failed"]["diagnostics"][0]["code"], "E0506");
    for text in [
        "fit <small>failed</small>",
        "error E0506",
        "<h2 id=\"program\">",
        "log(x - 1000)",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn warnings_have_the_place_that_the_terminal_shows() {
    let trial = Trial::new().file("d.csv", numbers()).program(
        "data d = csv(\"d.csv\") { target = y }
model M(x: real) -> y: real {
  a ~ Normal(0, 1)
  s ~ Normal(1, 0.01)
  y ~ Normal(3 + a, s)
}
infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 200 }",
    );
    let (output, page, result) = reported(&trial);
    let place = output.stderr.lines().find(|line| line.contains(",-[")).unwrap();
    let numbers: Vec<&str> = place
        .split([':', ' ', ']'])
        .filter(|part| part.parse::<u32>().is_ok())
        .collect();
    let place = format!("program.bnn:{}", numbers.join(":"));
    let warnings = result["warnings"].as_array().unwrap();
    assert!(
        warnings.iter().any(|warning| warning["at"] == *place),
        "{place}: {warnings:?}"
    );
    assert!(page.contains(&place), "{place}");
}

/// The report on a point estimate does not contain an ELBO, an interval or a KL divergence.
#[test]
fn points_are_described_as_points() {
    let trial = Trial::new().file("d.csv", numbers()).program(
        "data d = csv(\"d.csv\") { target = y }
model M(x: real) -> y: real {
  b: real[2] ~ Normal(0, 10)
  y ~ Normal(b[0] + b[1] * x, 1)
}
infer fit = map(M, d) { steps = 2000, optimiser = Adam(0.05), schedule = cosine }",
    );
    let (output, page, result) = reported(&trial);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(
        output.stdout.contains("estimate") && !output.stdout.contains("95 %"),
        "{}",
        output.stdout
    );
    let diagnostics = &result["infer"]["fit"]["diagnostics"];
    assert!(
        diagnostics["log_posterior"].is_number() && diagnostics["elbo"].is_null(),
        "{diagnostics}"
    );
    for text in [
        "<h3>Estimates</h3>",
        "Estimate of b",
        "negative log posterior",
        "Plug-in predictive check",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for text in ["KL divergence", "Posterior of b", "evidence lower bound"] {
        assert!(!page.contains(text), "{text}");
    }
}

/// The positions along a layer's input axis have the names of columns, whether or not the size of
/// the axis has a name.
#[test]
fn axes_of_layers_and_of_constant_sizes_have_names() {
    let rows = (0..30).fold("age,dose,city,y\n".to_owned(), |text, at| {
        let city = ["Oslo", "Rome", "Bonn"][at % 3];
        text + &format!("{},{},{city},{}\n", at % 7, at % 5, at % 4)
    });
    let trial = Trial::new().file("d.csv", rows).program(
        "data d = csv(\"d.csv\") { inputs = [age, dose], target = y }
model Net(x: real[2]) -> y: real {
  hidden = Dense(2)
  b: real[2] ~ Normal(0, 1)
  y ~ Normal(sum(tanh(hidden(x))) + dot(b, x), 1)
}
model Cities(city: index(3)) -> y: real {
  alpha: real[3] ~ Normal(0, 1)
  emb = Embedding(3, 1)
  y ~ Normal(alpha[city] + sum(emb(city)), 1)
}
infer net = nuts(Net, d) { chains = 2, warmup = 50, draws = 50, report = [hidden.w] }
infer cities = nuts(Cities, d) { chains = 2, warmup = 50, draws = 50, report = [emb.table] }
data e = csv(\"d.csv\") { inputs = [age, dose], target = city }
model Classes(x: real[d]) -> city: index(K) {
  out = Dense(K)
  city ~ Categorical(tanh(out(x)))
}
infer kinds = map(Classes, e) { steps = 100 }",
    );
    let (_, page, result) = reported(&trial);
    for (infer, names) in [
        ("net", ["hidden.w[0,age]", "hidden.w[1,dose]", "b[age]"]),
        ("cities", ["alpha[Oslo]", "alpha[Bonn]", "emb.table[Rome,0]"]),
    ] {
        let quantities = &result["infer"][infer]["diagnostics"]["quantities"];
        for name in names {
            assert!(quantities[name].is_object(), "{name}: {quantities}");
            assert!(page.contains(name), "{name}");
        }
    }
    for name in ["out.w[Rome,dose]", "out.b[Bonn]"] {
        assert!(page.contains(name), "{name}");
    }
    // Predictions and Pareto shapes name the rows of the file.
    let quantities = result["infer"]["net"]["diagnostics"]["quantities"]
        .as_object()
        .unwrap();
    assert!(quantities.contains_key("mean(row 2)") && !quantities.contains_key("mean(row 0)"));
    assert!(page.contains("by its row in the file"));
}

/// All draws of a `dropout` prediction have the same parameters, and differ only in their masks. The
/// predictions of `collapsed` are integrals, so leave-one-out estimates are not possible.
#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn masks_are_draws_and_integrals_are_not() {
    let trial = Trial::new().file("d.csv", numbers()).program(
        "data d = csv(\"d.csv\") { target = y, standardise = [inputs, target] }
model M(x: real[d]) -> y: real {
  hidden = Dense(3)
  out = Dense(1)
  o = out(tanh(hidden(x)))
  y ~ Normal(o[0], 1)
}
infer masked = dropout(M, d) { steps = 50 }
infer col = collapsed(M, d) { steps = 50 }
infer ens = ensemble(M, d) { steps = 50, members = 3 }
compare masked, col, ens by rmse",
    );
    let (output, page, _) = reported(&trial);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let why = "leaving rows out reweights draws of all weights";
    assert!(
        output.stdout.contains(&format!("`col` has no elpd_loo: {why}")),
        "{}",
        output.stdout
    );
    assert!(page.contains(why));
    let store = trial
        .path("out")
        .join("posterior.masked.zarr/log_likelihood/y/.zarray");
    let array: Value = serde_json::from_str(&std::fs::read_to_string(store).unwrap()).unwrap();
    assert_eq!(array["shape"], serde_json::json!([1, 1000, 100]));
}

/// The centred form of a funnel. Iterations diverge in the neck of the funnel.
const FUNNEL: &str = "data d = csv(\"d.csv\") { target = y }
model Funnel(x: real) -> y: real {
  v ~ Normal(0, 3)
  w: real[2] ~ Normal(0, exp(0.5 * v))
  y ~ Normal(0 * x, 1)
}
infer fit = nuts(Funnel, d) { chains = 2, warmup = 200, draws = 300, non_centered = [], report = [v, w] }
";

/// A pair plot has a large dot for every divergent draw and a faint dot for every other draw. Its
/// legend names both.
#[test]
fn pair_plots_mark_the_divergent_draws() {
    let trial = Trial::new().file("d.csv", numbers()).program(FUNNEL);
    let (output, page, result) = reported(&trial);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let divergences = result["infer"]["fit"]["diagnostics"]["divergences"]
        .as_u64()
        .unwrap() as usize;
    assert!(divergences > 0);
    let pairs: Vec<&str> = page
        .split("aria-label=\"")
        .filter(|plot| {
            plot.split('"')
                .next()
                .is_some_and(|label| label.contains(" and "))
        })
        .collect();
    // The three quantities `v`, `w[0]` and `w[1]` have three pairs.
    assert_eq!(pairs.len(), 3);
    for plot in pairs {
        let dots = |class: &str| {
            let group = plot
                .split_once(&format!("<g class=\"{class}\">"))
                .expect("the dots")
                .1;
            let group = group.split("</g>").next().expect("the end of the dots");
            group.matches("<circle").count()
        };
        assert_eq!(dots("data"), divergences);
        assert_eq!(dots("faint"), 2 * 300 - divergences);
        assert!(plot.contains(">draws<") && plot.contains(">diverged<"));
    }
}
