//! Several outputs of one model: their metrics, their predictions, and outputs that depend on each other.

use crate::setup::{C, G, N, X, Y1, Y2, compiled, folder, mean, metric, near, of};
use bnnc_core::context::{Context, Stop};
use bnnc_core::number::number;
use bnnc_data::write::ResultColumn;
use bnnc_kernels::pool::Pool;
use bnnc_report::result;
use bnnc_run::{RunResult, out, predict};
use bnnc_tests::compile::{self as compiling, Compiled, options};
use std::f64::consts::PI;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn names(columns: &[(String, ResultColumn)]) -> Vec<&str> {
    columns.iter().map(|(name, _)| name.as_str()).collect()
}

fn column<'a>(columns: &'a [(String, ResultColumn)], name: &str) -> &'a [f64] {
    match columns.iter().find(|(known, _)| known == name) {
        Some((_, ResultColumn::Real(values))) => values,
        _ => panic!("no `{name}` among {:?}", names(columns)),
    }
}

fn normal(y: f64, mean: f64, sd: f64) -> f64 {
    -0.5 * ((y - mean) / sd).powi(2) - sd.ln() - 0.5 * (2.0 * PI).ln()
}

/// Three models: one with two outputs that do not share a parameter, and one for each of the
/// outputs alone.
const APART: &str = "
data both = csv(\"d.csv\") { inputs = [x] }
data first = csv(\"d.csv\") { inputs = [x], target = y1 }
data second = csv(\"d.csv\") { inputs = [x], target = y2 }
model Both(x: real) -> y1: real, y2: real {
  a ~ Normal(0, 1)
  b ~ Normal(0, 2)
  y1 ~ Normal(a, 0.5)
  y2 ~ Normal(b * x, 0.8)
}
model First(x: real) -> y1: real {
  a ~ Normal(0, 1)
  y1 ~ Normal(a, 0.5)
}
model Second(x: real) -> y2: real {
  b ~ Normal(0, 2)
  y2 ~ Normal(b * x, 0.8)
}
";

/// Returns the mean and the standard deviation of the posteriors of `a` and `b`.
fn conjugate() -> [(f64, f64); 2] {
    let a = 1.0 + X.len() as f64 / 0.25;
    let b = 0.25 + X.iter().map(|x| x * x).sum::<f64>() / 0.64;
    let products = X.iter().zip(Y2).map(|(x, y)| x * y).sum::<f64>();
    let means = [Y1.iter().sum::<f64>() / 0.25 / a, products / 0.64 / b];
    [(means[0], a.sqrt().recip()), (means[1], b.sqrt().recip())]
}

#[test]
fn independent_outputs_equal_those_of_two_models() {
    let options = "{ epochs = 400, batch = 0, optimiser = SGD(0.025), predictive_draws = 2000 }";
    let text = format!(
        "{APART}infer together = map(Both, both) {options}\ninfer one = map(First, first) {options}\n\
         infer two = map(Second, second) {options}\ncompare together by y1.rmse, y2.coverage(0.5)\n"
    );
    let compiled = compiled(&folder("apart"), &text);
    let result = compiling::run(&compiled.manifest, 2);
    let (together, one, two) = (of(&result, "together"), of(&result, "one"), of(&result, "two"));
    let [(a, _), (b, _)] = conjugate();
    let residuals = [
        mean(Y1.iter().map(|y| (y - a).powi(2))),
        mean((0..X.len()).map(|i| (Y2[i] - b * X[i]).powi(2))),
    ];
    let densities = [
        mean(Y1.iter().map(|y| normal(*y, a, 0.5))),
        mean((0..X.len()).map(|i| normal(Y2[i], b * X[i], 0.8))),
    ];
    for (at, (name, alone)) in [("y1", one), ("y2", two)].into_iter().enumerate() {
        let of = |what: &str| metric(together, &format!("{name}.{what}"));
        near(of("rmse"), residuals[at].sqrt(), 1e-9);
        near(of("log_likelihood"), densities[at], 1e-9);
        for exact in ["rmse", "log_likelihood"] {
            near(of(exact), metric(alone, exact), 1e-9);
        }
        // The predictions have 2000 draws, and the standard deviations of the two outputs are 0.5
        // and 0.8. The relative standard error of the sample standard deviation in one row is 1.6
        // %.
        near(of("sd"), metric(alone, "sd"), 0.05);
        let means = column(&together.predictions, &format!("{name}.mean"));
        let others = column(&alone.predictions, "mean").iter();
        means.iter().zip(others).for_each(|(x, y)| near(*x, *y, 1e-9));
    }
    near(
        metric(together, "log_likelihood"),
        densities[0] + densities[1],
        1e-9,
    );
    let columns = ["mean", "sd", "q05", "q50", "q95"];
    let wanted = ["y1", "y2"].map(|name| columns.map(|column| format!("{name}.{column}")));
    assert_eq!(names(&together.predictions)[1..], wanted.concat());
    let table = result::table(&compiled.manifest, &result);
    let compared = table.lines().last().unwrap_or_default().to_owned();
    assert!(compared.contains(&number(residuals[0].sqrt())), "{table}");
    let json = result::json(&compiled.manifest, &result);
    let found = &json["infer"]["together"]["metrics"];
    assert!(found["y1.rmse"].is_f64() && found["y2.crps"].is_f64() && found["rmse"].is_null());
}

#[test]
fn draws_of_two_outputs_have_noise_of_their_own() {
    let draws = 4000;
    let text = format!("{APART}infer fit = map(Both, both) {{ epochs = 1, predictive_draws = {draws} }}\n");
    let compiled = compiled(&folder("noise"), &text);
    let result = compiling::run(&compiled.manifest, 1);
    let (outcome, infer) = (of(&result, "fit"), &compiled.manifest.infers[0]);
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let rows = (&outcome.dataset.train, true);
    let mut forecaster = outcome.splits[0]
        .found
        .forecaster(infer, rows, &outcome.dataset, (draws, &context))
        .unwrap();
    let mut correlation = f64::NAN;
    let taken = forecaster.run(&mut |_, block| {
        let [one, two] = block.each() else {
            panic!("two outputs")
        };
        let noise = |reported: &bnnc_core::predict::Predictive| -> Vec<f64> {
            let all = reported.draw.iter().zip(&reported.mean);
            all.map(|(draw, mean)| draw - mean).collect()
        };
        let (one, two) = (noise(one), noise(two));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        correlation = product(&one, &two) / (product(&one, &one) * product(&two, &two)).sqrt();
    });
    taken.unwrap();
    // If the noise of two outputs is independent, the standard error of their correlation is one
    // over the square root of the number of pairs.
    near(correlation, 0.0, 5.0 / ((draws * X.len()) as f64).sqrt());
}

/// A program with four kinds of outputs, whose weights are known. The noise of the weights and the
/// learning rate are too small to affect the results.
const KINDS: &str = "
data d = csv(\"d.csv\") { inputs = [x], target = y1, standardise = [inputs, target] }
model Kinds(x: real) -> y1: real, c: bool, n: count, g: index(3) {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y1 ~ Normal(a * x, 0.6)
  c ~ Bernoulli(b * x)
  n ~ Poisson(a * x)
  g ~ Categorical([0, a * x, b - x])
}
posterior Q of Kinds {
  a ~ Normal(loc = 0.7, scale = fixed(1e-9))
  b ~ Normal(loc = 1.25, scale = fixed(1e-9))
}
infer fit = vi(Q, d) { epochs = 1, batch = 0, optimiser = SGD(1e-30), predictive_draws = 50 }
";

#[test]
fn each_kind_of_output_has_its_metrics_in_its_own_units() {
    let folder = folder("kinds");
    let compiled = compiled(&folder, KINDS);
    let result = compiling::run(&compiled.manifest, 1);
    let outcome = of(&result, "fit");
    let maps = &outcome.dataset.preparation;
    let (middle, sd) = (maps.target.mean, maps.target.sd);
    assert!(
        (middle - mean(Y1.into_iter())).abs() < 1e-12 && sd < 0.9,
        "the target is standardised"
    );
    let x: Vec<f64> = X.iter().map(|x| maps.inputs[0].apply(*x)).collect();
    let density = |i: usize| normal(Y1[i], middle + sd * 0.7 * x[i], 0.6 * sd);
    let yes = |i: usize| 1.0 / (1.0 + (-1.25 * x[i]).exp());
    let right = |i: usize| if C[i] == 1 { yes(i) } else { 1.0 - yes(i) };
    let factorial = |n: i32| (1..=n).map(f64::from).product::<f64>();
    let count = |i: usize| f64::from(N[i]) * 0.7 * x[i] - (0.7 * x[i]).exp() - factorial(N[i]).ln();
    let class = |i: usize| {
        let logits = [0.0, 0.7 * x[i], 1.25 - x[i]];
        logits[G[i] as usize] - logits.iter().map(|logit| logit.exp()).sum::<f64>().ln()
    };
    let over = |of: &dyn Fn(usize) -> f64| mean((0..X.len()).map(of));
    near(metric(outcome, "y1.log_likelihood"), over(&density), 1e-6);
    near(
        metric(outcome, "c.log_likelihood"),
        over(&|i| right(i).ln()),
        1e-6,
    );
    near(metric(outcome, "c.nll"), -over(&|i| right(i).ln()), 1e-6);
    near(metric(outcome, "n.log_likelihood"), over(&count), 1e-6);
    near(metric(outcome, "g.nll"), -over(&class), 1e-6);
    let all = over(&|i| density(i) + right(i).ln() + count(i) + class(i));
    near(metric(outcome, "log_likelihood"), all, 1e-6);
    let hits = over(&|i| f64::from(u8::from(right(i) > 0.5)));
    near(metric(outcome, "c.accuracy"), hits, 1e-12);
    let errors = over(&|i| (f64::from(N[i]) - (0.7 * x[i]).exp()).powi(2));
    near(metric(outcome, "n.rmse"), errors.sqrt(), 1e-6);
    for (i, x) in x.iter().enumerate() {
        near(column(&outcome.predictions, "c.p1")[i], yes(i), 1e-6);
        near(
            column(&outcome.predictions, "y1.mean")[i],
            middle + sd * 0.7 * x,
            1e-6,
        );
    }
    assert!(column(&outcome.predictions, "g.p2").len() == X.len());
    out::write(
        &folder.join("run"),
        &compiled.manifest,
        &result,
        compiling::saved(PathBuf::new()),
    )
    .unwrap();
    let table = std::fs::read_to_string(folder.join("run/predictions.csv")).unwrap();
    assert!(table.starts_with("row,y1,c,n,g,y1.mean,"), "{table}");
    let page = std::fs::read_to_string(folder.join("run/report.html")).unwrap();
    for title in [
        "Reliability, training rows of c",
        "Confusion matrix, training rows of g",
        "predicted n",
    ] {
        assert!(page.contains(title), "{title}");
    }
}

#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn every_method_reports_each_output() {
    let methods = [
        "vi(Q, both) { epochs = 60, batch = 0 }",
        "map(Both, both) { epochs = 60, batch = 0 }",
        "laplace(Both, both) { epochs = 400, batch = 0, optimiser = SGD(0.025), predictive_draws = 4000 }",
        "ensemble(Both, both) { epochs = 3, members = 2 }",
        "swag(Both, both) { epochs = 4, warmup = 0, every = 1 }",
        "nuts(Both, both) { draws = 1000, warmup = 300, chains = 2 }",
        "collapsed(Both, both) { epochs = 4, warmup = 0, every = 1, over = [b] }",
    ];
    let lines = methods.iter().enumerate();
    let infers: String = lines
        .map(|(at, method)| format!("infer m{at} = {method}\n"))
        .collect();
    let folder = folder("methods");
    let text = format!("{APART}posterior Q of Both {{\n  a, b ~ Normal()\n}}\n{infers}");
    let compiled = compiled(&folder, &text);
    let result = compiling::run(&compiled.manifest, 2);
    for outcome in &result.outcomes {
        for name in [
            "y1.rmse",
            "y1.log_likelihood",
            "y2.crps",
            "y2.coverage_90",
            "log_likelihood",
        ] {
            assert!(metric(outcome, name).is_finite(), "{} {name}", outcome.name);
        }
        for name in ["y1.mean", "y1.q95", "y2.mean", "y2.sd"] {
            assert_eq!(
                column(&outcome.predictions, name).len(),
                X.len(),
                "{} {name}",
                outcome.name
            );
        }
    }
    // Both methods are exact up to Monte Carlo error. The first method has 4000 independent draws.
    // The second method has 2000 draws, with an effective sample size of at least 200.
    for (name, effective) in [("m2", 4000.0_f64), ("m5", 200.0)] {
        let predictions = &of(&result, name).predictions;
        let [(a, sd_a), (b, sd_b)] = conjugate();
        for (i, x) in X.iter().enumerate() {
            near(
                column(predictions, "y1.mean")[i],
                a,
                5.0 * sd_a / effective.sqrt() + 1e-6,
            );
            near(
                column(predictions, "y2.mean")[i],
                b * x,
                5.0 * sd_b * x.abs() / effective.sqrt() + 1e-6,
            );
        }
    }
    let run = folder.join("run");
    out::write(
        &run,
        &compiled.manifest,
        &result,
        compiling::saved(PathBuf::new()),
    )
    .unwrap();
    for group in ["observed_data", "log_likelihood", "posterior_predictive"] {
        for output in ["y1", "y2"] {
            assert!(
                run.join("posterior.m5.zarr").join(group).join(output).is_dir(),
                "{group} {output}"
            );
        }
    }
    predicts_again(&compiled, &result, &run);
}

/// Checks that a saved run gives the same predictions for the same rows when the outputs of these
/// rows are unknown.
fn predicts_again(compiled: &Compiled, result: &RunResult, run: &Path) {
    let (_, read) = out::read(run).unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    // `collapsed` is left out, because its table has further columns if the targets are known.
    for outcome in result.outcomes.iter().filter(|outcome| outcome.name != "m6") {
        let mut infers = compiled.manifest.infers.iter();
        let infer = infers.find(|infer| infer.name == outcome.name).unwrap();
        let preparation = &outcome.dataset.preparation;
        let mut rows = outcome.dataset.train.clone();
        rows.fields.retain(|field| field.name == "x");
        let again = predict(infer, preparation, (&read[&outcome.name], run), rows, &context).unwrap();
        assert_eq!(names(&again), names(&outcome.predictions));
        for name in ["y1.mean", "y2.q05"] {
            assert_eq!(
                column(&again, name),
                column(&outcome.predictions, name),
                "{}",
                outcome.name
            );
        }
    }
}

#[test]
fn an_output_that_another_depends_on_is_needed_for_predictions() {
    let text = "
data d = csv(\"d.csv\") { inputs = [x] }
model Chain(x: real) -> y1: real, y2: real {
  a ~ Normal(0, 1)
  y1 ~ Normal(a * x, 0.5)
  y2 ~ Normal(3 * y1, 0.5)
}
infer fit = map(Chain, d) { epochs = 1 }
";
    let folder = folder("chain");
    let compiled = compiled(&folder, text);
    let given: Vec<bool> = compiled.manifest.infers[0]
        .outputs
        .iter()
        .map(|output| output.given)
        .collect();
    assert_eq!(given, [true, false]);
    let result = compiling::run(&compiled.manifest, 1);
    let outcome = of(&result, "fit");
    let tripled: Vec<f64> = Y1.iter().map(|y| 3.0 * y).collect();
    let means = column(&outcome.predictions, "y2.mean");
    means
        .iter()
        .zip(&tripled)
        .for_each(|(found, y)| near(*found, *y, 1e-12));
    let run = folder.join("run");
    out::write(
        &run,
        &compiled.manifest,
        &result,
        compiling::saved(PathBuf::new()),
    )
    .unwrap();
    let (_, read) = out::read(&run).unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let predicted = |fields: &[&str]| {
        let mut rows = outcome.dataset.train.clone();
        rows.fields.retain(|field| fields.contains(&field.name.as_str()));
        let preparation = &outcome.dataset.preparation;
        predict(
            &compiled.manifest.infers[0],
            preparation,
            (&read["fit"], &run),
            rows,
            &context,
        )
    };
    assert_eq!(column(&predicted(&["x", "y1"]).unwrap(), "y2.mean"), means);
    match predicted(&["x"]) {
        Err(Stop::Diagnostics(found)) => assert_eq!(found[0].code.id, "E0419"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn outputs_that_do_not_fit_together_are_rejected() {
    let folder = folder("refused");
    std::fs::write(
        folder.join("w.json"),
        "{\"x\": [1, 2, 3], \"y1\": [1, 2, 4], \"y2\": [1, 2]}",
    )
    .unwrap();
    let model = |inputs: &str, outputs: &str| {
        format!(
            "model M({inputs}) -> {outputs} {{\n  a ~ Normal(0, 1)\n  y1 ~ Normal(a, 1)\n  y2 ~ Normal(a, 1)\n}}\n"
        )
    };
    let apart = format!(
        "data d = json(\"w.json\")\n{}infer fit = map(M, d)\n",
        model("x: real", "y1: real, y2: real[m]")
    );
    let found = compiling::rejected(&folder.join("apart.bnn"), &apart);
    assert_eq!(found.code.id, "E0292", "{found:?}");
    assert!(
        found.message.contains("`y2` is one array for all examples"),
        "{found:?}"
    );
    let among = format!(
        "data d = csv(\"d.csv\")\n{}infer fit = map(M, d)\n",
        model("x: real[k]", "y1: real, y2: real")
    );
    let found = compiling::rejected(&folder.join("among.bnn"), &among);
    assert_eq!(found.code.id, "E0640", "{found:?}");
    let named = among.replace("\"d.csv\")", "\"d.csv\") { inputs = [x] }");
    assert!(compiling::attempt(&folder.join("named.bnn"), &named, &options("cranelift", None)).is_ok());
}
