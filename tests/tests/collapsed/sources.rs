//! Iterates of other inference blocks, saved and resumed runs, and the report.

use crate::setup::{FAR, LINE, UNIT, WIDE, X, attempt, close, collected, compiled, done, folder, mean};
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_core::checkpoint::Checkpoint;
use bnnc_core::context::{Context, Stop};
use bnnc_core::fingerprint::Fingerprint;
use bnnc_driver::infer::CompileFailure;
use bnnc_kernels::pool::Pool;
use bnnc_run::{RunOptions, RunResult, Sources, out, predict, run};
use bnnc_tests::compile::{self as compiling, Compiled, opening};
use std::path::PathBuf;
use std::sync::Arc;

fn stopped(compiled: &Compiled) -> Diagnostic {
    match run(&compiled.manifest, &RunOptions::new(1)).and_then(RunResult::whole) {
        Err(Stop::Diagnostics(found)) => found.into_iter().next().unwrap(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was run"),
    }
}

/// Iterates of another inference block are used unchanged, without further training.
#[test]
fn iterates_of_another_inference_are_used_unchanged() {
    let text = format!(
        "{UNIT}infer s = swag(M, d) {{ covariance = snapshots, {FAR} }}
infer c = collapsed(M, d) {{ iterates = s }}
infer g = swag(M, d) {{ iterates = s, covariance = diagonal, predictive_draws = 10 }}\n"
    );
    let done = done("others", &text, "c");
    let of = |name: &str| {
        let outcome = done
            .result
            .outcomes
            .iter()
            .find(|outcome| outcome.name == name)
            .unwrap();
        collected(&outcome.splits[0].found).clone()
    };
    let (snapshots, own, gaussian) = (of("s"), of("c"), of("g"));
    assert_eq!(snapshots.values, own.values);
    assert_eq!((own.fitted.steps, own.iterates.0), (0, 5));
    let all = &snapshots.values["out.b/loc"];
    let middle = mean(all.iter().copied());
    close(gaussian.mean["out.b/loc"][0], middle, 1e-12);
    close(
        gaussian.variances["out.b/loc"][0],
        mean(all.iter().map(|b| (b - middle).powi(2))),
        1e-12,
    );
    let table = bnnc_report::result::table(&done.compiled.manifest, &done.result);
    assert!(table.contains("iterates of"), "{table}");
}

/// If an option refers to iterates that do not exist, an error names the option before training
/// starts.
#[test]
fn missing_iterates_are_rejected_at_their_option() {
    let rejected = |name: &str, text: &str, why: &str| {
        let found = match attempt(name, text) {
            Err(CompileFailure::Program(found)) => found,
            other => panic!("{name}: {:?}", other.err()),
        };
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!(only.code.id, "E0560", "{only:?}");
        assert!(only.message.contains(why), "{name}: {}", only.message);
        assert!(matches!(only.at, Place::Span(_)), "{only:?}");
    };
    let takes = "infer c = collapsed(M, d) { iterates = s }\n";
    for (at, from) in [
        "map(M, d) { epochs = 2 }",
        "laplace(M, d) { epochs = 2 }",
        "swag(M, d) { epochs = 2, warmup = 0, covariance = diagonal }",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("{LINE}infer s = {from}\n{takes}");
        rejected(&format!("none{at}"), &text, "keeps no iterates");
    }
    let other = UNIT
        .replace("model M", "model Other")
        .replace("out  ", "exit ")
        .replace("out(", "exit(");
    let text = format!(
        "{UNIT}{other}infer s = swag(M, d) {{ covariance = snapshots, {FAR} }}\ninfer c = collapsed(Other, d) {{ iterates = s }}\n"
    );
    rejected("other", &text, "which do not include `exit");
    let splits = "data halves = csv(\"d.csv\") { test = splits(\"s.json\") }\n";
    let text = format!(
        "{splits}{LINE}infer s = swag(M, d) {{ covariance = snapshots, {FAR} }}\ninfer c = collapsed(M, halves) {{ iterates = s }}\n"
    );
    rejected("splits", &text, "on 2 splits");
    // In the non-centred parameterisation, the draws of the sampler are not draws of the weights.
    let text = "model M(x: real[1]) -> y: real {
  tau: positive ~ HalfNormal(1)
  w ~ Normal(0, tau)
  y ~ Normal(w * x[0], 0.5)
}
infer s = nuts(M, d) { chains = 1, non_centered = [w] }
infer c = collapsed(M, d) { over = [w], iterates = s }
";
    rejected("noise", text, "contain the noise of `w`");
    // A noise level is a site. The noise level is not a weight, because the mean does not depend on
    // it.
    let noisy = LINE
        .replace("  out =", "  s: positive ~ HalfNormal(1)\n  out =")
        .replace("0.5)", "s)");
    match attempt(
        "scale",
        &format!("{noisy}infer c = collapsed(M, d) {{ over = [s] }}\n"),
    ) {
        Err(CompileFailure::Program(found)) => {
            assert_eq!(found[0].code.id, "E0313");
            let message = &found[0].message;
            assert!(
                message.contains("parameters that affect the outputs"),
                "{message}"
            );
        }
        other => panic!("{:?}", other.err()),
    }
}

/// Two Normal outputs that depend on the same weights are rejected. Outputs that do not share
/// weights are accepted.
#[test]
fn outputs_that_share_weights_are_rejected() {
    let model = "data two = npy(\"x.npy\", \"y.npy\")
model M(x: real[1]) -> y: real[2] {
  hidden = Dense(2, prior = Normal(1, 1))
  out    = Dense(2)
  y ~ Normal(out(relu(hidden(x))), 0.5)
}
";
    let text = format!("{model}infer c = collapsed(M, two) {{ over = [hidden], {FAR} }}\n");
    assert_eq!(stopped(&compiled("shared", &text)).code.id, "E0561");
    let text = format!("{model}infer c = collapsed(M, two) {{ {FAR} }}\n");
    let done = done("apart", &text, "c");
    assert!(
        done.predictive
            .log_likelihood
            .iter()
            .all(|value| value.is_finite())
    );
    assert_eq!(done.predictive.mean.len(), 2 * X.len() * done.predictive.draws);
}

/// The report before the run describes the integrals, and names every option that affects them.
#[test]
fn the_report_describes_the_integrals() {
    let reported = |name: &str, model: &str, options: &str| -> String {
        let text = format!("{model}infer c = collapsed(M, d) {{ {FAR}{options} }}\n");
        let compiled = compiled(name, &text);
        let site = compiled.manifest.infers[0]
            .reports
            .iter()
            .find(|site| site.likelihood.contains("box"));
        site.unwrap().likelihood.clone()
    };
    let wide = reported("said", WIDE, ", over = [hidden]");
    assert!(
        wide.contains("the integral is exact where the box of a row crosses no kink"),
        "{wide}"
    );
    assert!(
        wide.contains("1000 draws per iterate") && wide.contains("a box of 12 weights is not cut"),
        "{wide}"
    );
    let few = reported("few", WIDE, ", over = [hidden], weights = 2");
    // Six lines divide a plane into at most 22 regions. The six kinks of the second layer divide
    // each region into at most 64 pieces, so there are at most 22 * 64 = 1408 pieces.
    assert!(
        few.contains("at most 20000 simplices") && few.contains("at most 1408 pieces"),
        "{few}"
    );
    let units = reported(
        "units",
        UNIT,
        ", over = [hidden], units = 1, box = moments, draws = 77",
    );
    for part in [
        "the unit with the largest effect on the outputs",
        "standard deviations",
        "do not share weights",
        "77 draws",
    ] {
        assert!(units.contains(part), "{part}: {units}");
    }
    let fixed = reported("said-fixed", LINE, ", weights = 1, selection = fixed");
    for part in [
        "with the largest mean effect on the training rows",
        "the range of the iterates",
        "the integral is exact, because the location is affine in the weights",
    ] {
        assert!(fixed.contains(part), "{part}: {fixed}");
    }
}

/// A run folder restores the choice of weights. The restored choice may be one that all rows share,
/// or a choice of units.
#[test]
fn a_saved_run_predicts_the_same_values() {
    let model = UNIT.replace("Dense(1, prior", "Dense(4, prior");
    let text = format!(
        "{model}{smooth}infer units = collapsed(M, d) {{ over = [hidden], units = 2, {FAR} }}
infer fixed = collapsed(M, d) {{ selection = fixed, weights = 2, {FAR} }}
infer row = collapsed(M, d) {{ weights = 2, {FAR} }}
infer scored = collapsed(M, d) {{ weights = 2, always = [out.b], compat = published, {FAR} }}
infer drawn = collapsed(Smooth, d) {{ over = [hidden], draws = 20, {FAR} }}\n",
        smooth = model.replace("model M", "model Smooth").replace("relu", "tanh")
    );
    let done = done("saved", &text, "units");
    // Two units with one input have two weights and two biases.
    assert_eq!(done.choice.columns.len(), 4);
    let folder = folder("saved-out");
    let saved = compiling::saved(PathBuf::new());
    out::write(&folder, &done.compiled.manifest, &done.result, saved).unwrap();
    let (_, read) = out::read(&folder).unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    for (infer, outcome) in done.compiled.manifest.infers.iter().zip(&done.result.outcomes) {
        let dataset = &outcome.dataset;
        let again = predict(
            infer,
            &dataset.preparation,
            (&read[&outcome.name], folder.as_path()),
            dataset.train.clone(),
            &context,
        )
        .unwrap();
        let same = again.iter().zip(&outcome.predictions);
        same.for_each(|(again, first)| {
            assert_eq!(format!("{again:?}"), format!("{first:?}"), "{}", infer.name)
        });
        // If rows do not have targets, the table leaves out the columns that need targets.
        let more = &outcome.predictions[again.len()..];
        let of_targets = |name: &str| ["log_density", "log_density_error", "cdf"].contains(&name);
        assert!(
            more.len() >= 2 && more.iter().all(|(name, _)| of_targets(name)),
            "{more:?}"
        );
    }
}

/// If a run is resumed, a finished inference block is not trained again.
#[test]
fn a_resumed_run_keeps_finished_inferences() {
    let compiled = compiled(
        "resumed",
        &format!("{LINE}infer c = collapsed(M, d) {{ weights = 1, {FAR} }}\n"),
    );
    let folder = folder("resumed-out");
    let with = |resumes: bool| {
        let fingerprint = Fingerprint::of(&compiled.manifest, &Sources::default()).unwrap();
        let checkpoint = Checkpoint::open(&folder, &fingerprint, opening(resumes)).unwrap();
        let options = RunOptions {
            checkpoint,
            ..RunOptions::new(1)
        };
        run(&compiled.manifest, &options).unwrap()
    };
    let (first, again) = (with(false), with(true));
    let metrics = |result: &RunResult| format!("{:?}", result.outcomes[0].splits[0].metrics);
    assert_eq!(metrics(&first), metrics(&again));
}
