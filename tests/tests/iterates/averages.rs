//! Gaussians over iterates.

use crate::setup::{LINE, NET, Y, close, collected, compiled, folder, rejected, seeded, stopped, values};
use bnnc_core::context::Context;
use bnnc_kernels::pool::Pool;
use bnnc_methods::iterates::seed_of;
use bnnc_run::{out, predict};
use bnnc_tests::compile as compiling;
use std::path::PathBuf;
use std::sync::Arc;

/// The mean of the iterates after epochs 4 and 6 equals the mean of two results of `map`, one after
/// 4 epochs and one after 6 epochs.
#[test]
fn the_mean_of_iterates_is_that_of_single_runs() {
    let folder = folder("average");
    let run_with = |method: &str| {
        let text = format!(
            "{NET}infer fit = {method}, batch = 4, optimiser = SGD(1e-2), schedule = constant, predictive_draws = 20 }}\n"
        );
        compiling::run(&seeded(&folder, &text, 3).manifest, 1)
    };
    let swag = run_with("swag(Net, d) { epochs = 6, warmup = 2, every = 2, covariance = point");
    let singles = [4, 6].map(|epochs| values(&run_with(&format!("map(Net, d) {{ epochs = {epochs}")), "fit"));
    let found = collected(&swag, "fit");
    assert_eq!(found.iterates, (2, 0));
    assert_eq!(found.draws, 1);
    for (name, mean) in found.mean.iter() {
        let own: Vec<f64> = (0..mean.len())
            .map(|at| 0.5 * (singles[0][name][at] + singles[1][name][at]))
            .collect();
        close(mean, &own, 1e-14);
        assert_eq!(mean, &found.values[name], "{name}");
    }
    assert_eq!(swag.outcomes[0].sites.len(), 5);
}

/// The test runs gradient descent on a quadratic function, with one row per step. Let
/// `a = rate (N + 1 / prior variance)`, and let `j` run over the rows in the order of the epoch,
/// which is a random permutation. The weight at the end of the epoch is
/// `(1 - a)^N w + rate N sum_j (1 - a)^(N - 1 - j) y_(j)`. The weights therefore form a first-order
/// autoregression. The stationary mean and variance of this autoregression are known: over random
/// permutations, a sum `c_j y_(j)` has the variance `S^2 (sum c^2 - (sum c)^2 / N)`.
#[test]
fn iterates_have_the_stationary_variance() {
    const EPOCHS: usize = 4000;
    let text = format!(
        "data d = csv(\"d.csv\") {{ inputs = [a], target = y }}
model Mean(x: real[1]) -> y: real {{
  w ~ Normal(0, 10)
  y ~ Normal(w, 1)
}}
infer fit = swag(Mean, d) {{ epochs = {EPOCHS}, warmup = 20, batch = 1, optimiser = SGD(0.01), covariance = diagonal, scale = 2, \
predictive_draws = 20000 }}
"
    );
    let result = compiling::run(&compiled("stationary", &text).manifest, 1);
    let found = collected(&result, "fit");
    let rows = Y.len() as f64;
    let (rate, n) = (0.01, Y.len() as i32);
    let a = rate * (rows + 0.01);
    let weights: Vec<f64> = (0..n).map(|j| rate * rows * (1.0 - a).powi(n - 1 - j)).collect();
    let (sum, squares) = (
        weights.iter().sum::<f64>(),
        weights.iter().map(|c| c * c).sum::<f64>(),
    );
    let mean = Y.iter().sum::<f64>() / rows;
    let spread = Y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / (rows - 1.0);
    let correlation = (1.0 - a).powi(n);
    let variance = spread * (squares - sum * sum / rows) / (1.0 - correlation * correlation);
    let centre = mean * sum / (1.0 - correlation);
    // The standard error of the mean, and the standard error of the variance of an autoregression.
    let steps = (EPOCHS - 20) as f64;
    let of_mean = (variance / steps * (1.0 + correlation) / (1.0 - correlation)).sqrt();
    let z = (found.mean["w/loc"][0] - centre) / of_mean;
    assert!(z.abs() < 4.5, "{} is not {centre}", found.mean["w/loc"][0]);
    let draws = &found.values["w/loc"];
    assert_eq!((draws.len(), found.draws), (20_000, 20_000));
    let own = draws
        .iter()
        .map(|w| (w - found.mean["w/loc"][0]).powi(2))
        .sum::<f64>()
        / draws.len() as f64;
    let squared = correlation * correlation;
    let error = (2.0 / steps * (1.0 + squared) / (1.0 - squared) + 2.0 / draws.len() as f64).sqrt();
    // The option `scale = 2` doubles the covariance.
    let z = (own / (2.0 * variance) - 1.0) / error;
    assert!(z.abs() < 4.5, "{own} is not twice {variance}: {z}");
}

/// A site that a posterior fixes to the result of another inference block keeps this value. The
/// draws of all other sites differ from each other.
#[test]
fn fixed_sites_keep_their_values() {
    let text = format!(
        "{NET}infer first = map(Net, d) {{ epochs = 3 }}
posterior Q of Net {{
  hidden.* = first.hidden.*
}}
infer fit = swag(Q, d) {{ epochs = 8, warmup = 0, start = first, predictive_draws = 7, covariance = low_rank(3) }}
infer more = ensemble(Q, d) {{ epochs = 2, members = 3 }}
"
    );
    let result = compiling::run(&compiled("fixed", &text).manifest, 1);
    let (first, fit, more) = (
        values(&result, "first"),
        values(&result, "fit"),
        values(&result, "more"),
    );
    for state in ["hidden.w/loc", "hidden.b/loc"] {
        assert_eq!(first[state], fit[state]);
        assert_eq!(first[state], more[state]);
    }
    assert_eq!(fit["out.w/loc"].len(), 7 * 5);
    assert_eq!(more["out.w/loc"].len(), 3 * 5);
    assert_ne!(fit["out.w/loc"][..5], fit["out.w/loc"][5..10]);
    assert_eq!(collected(&result, "fit").iterates, (8, 3));
}

#[test]
fn options_without_a_covariance_are_rejected() {
    let few = format!("{NET}infer fit = swag(Net, d) {{ epochs = 10, warmup = 8, every = 2 }}\n");
    let diagnostic = rejected("few", &few);
    assert_eq!(diagnostic.code.id, "E0614");
    assert!(
        diagnostic.message.contains("give 1 iterates"),
        "{}",
        diagnostic.message
    );
    let one = format!("{NET}infer fit = swag(Net, d) {{ epochs = 10, covariance = low_rank(1) }}\n");
    assert_eq!(rejected("one", &one).code.id, "E0614");
}

/// The learning rate is so small that no step improves the loss. With `patience`, training then
/// stops before the first iterate.
#[test]
fn patience_that_ends_before_the_first_iterate_is_an_error() {
    let text = NET.replace("csv(\"d.csv\")", "csv(\"d.csv\") { validation = 0.4 }")
        + "infer fit = swag(Net, d) { epochs = 90, warmup = 60, patience = 2, optimiser = SGD(1e-300) }\n";
    let diagnostic = stopped(&compiled("patience", &text));
    assert_eq!(diagnostic.code.id, "E0531");
}

/// The results of a run are restored from its folder. The restored results give the same
/// predictions, and contain the iterates and members under their names.
#[test]
fn results_can_be_read_back() {
    let folder = folder("written");
    let text = format!(
        "{NET}infer swag = swag(Net, d) {{ epochs = 6, warmup = 0, predictive_draws = 5 }}
infer members = ensemble(Net, d) {{ epochs = 3, members = 2, predictive_draws = 5 }}
"
    );
    let compiled = seeded(&folder, &text, 1);
    let result = compiling::run(&compiled.manifest, 1);
    let saved = compiling::saved(PathBuf::new());
    out::write(&folder, &compiled.manifest, &result, saved).unwrap();
    let (_, read) = out::read(&folder).unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    for outcome in &result.outcomes {
        let infer = compiled
            .manifest
            .infers
            .iter()
            .find(|infer| infer.name == outcome.name)
            .unwrap();
        let dataset = &outcome.dataset;
        let again = predict(
            infer,
            &dataset.preparation,
            (&read[&outcome.name], folder.as_path()),
            dataset.train.clone(),
            &context,
        )
        .unwrap();
        assert_eq!(again.len(), outcome.predictions.len());
        let same = again.iter().zip(&outcome.predictions);
        same.for_each(|(again, first)| assert_eq!(format!("{again:?}"), format!("{first:?}")));
    }
    let json = bnnc_report::result::json(&compiled.manifest, &result);
    let swag = &json["infer"]["swag"];
    assert_eq!(swag["diagnostics"]["iterates"], 6);
    assert_eq!(swag["diagnostics"]["rank"], 6);
    assert_eq!(swag["diagnostics"]["covariance"], "low_rank");
    assert!(swag["parameters"]["sigma"]["sd"].as_f64().unwrap() > 0.0);
    let members = json["infer"]["members"]["diagnostics"]["members"]
        .as_array()
        .unwrap();
    assert_eq!(members.len(), 2);
    assert_eq!(members[1]["seed"], seed_of(1, 1));
    let table = bnnc_report::result::table(&compiled.manifest, &result);
    assert!(table.contains("iterates") && table.contains("members"), "{table}");
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("6 iterates") && page.contains("2 members"));
}

/// If the learning rate is too large for the curvature, each step increases the distance from the
/// maximum by a factor. A warning is reported.
#[test]
fn diverging_iterates_are_a_warning() {
    let text = format!(
        "{LINE}infer far = swag(Line, d) {{ epochs = 4, warmup = 0, batch = 0, optimiser = SGD(1), covariance = diagonal }}
infer near = swag(Line, d) {{ epochs = 4, warmup = 0, batch = 0, optimiser = SGD(1e-6), covariance = diagonal }}
"
    );
    let result = compiling::run(&compiled("astray", &text).manifest, 1);
    let codes: Vec<&str> = result.warnings.iter().map(|warning| warning.code.id).collect();
    // Both inference blocks train on all rows in each step, so their iterates do not scatter.
    assert_eq!(codes, ["E0532", "E0569", "E0569"]);
    assert!(
        result.warnings[0].message.contains("`far`"),
        "{:?}",
        result.warnings
    );
}
