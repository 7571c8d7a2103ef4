//! For each method, the passes run in the order of its pipeline.

use super::{files, folder, load, options, schemas};
use bnnc_driver::backends;
use bnnc_driver::infer::{Compilation, CompileFailure};
use bnnc_driver::options::CompileOptions;
use bnnc_rewrite::pass::{Pass, PassRun};
use bnnc_rewrite::pipelines;
use std::collections::BTreeSet;

/// The pipeline for variational inference, `map`, and training with dropout. Dropout masks are
/// added before the search for layers in the log likelihood. The loss is differentiated after both
/// of its terms have been computed.
static TRAINING: &[&Pass] = &[
    &pipelines::SPLIT,
    &pipelines::POSITIONS,
    &pipelines::PRIOR,
    &pipelines::GROUP,
    &pipelines::DROPOUT,
    &pipelines::ESTIMATORS,
    &pipelines::EXACT_KL,
    &pipelines::LOSS,
    &pipelines::UPDATE,
    &pipelines::GRADIENT,
    &pipelines::PREDICT,
    &pipelines::SITES,
    &pipelines::PRUNE,
];

/// The pipeline for samplers. Constant computations are hoisted before differentiation, so that
/// only the remaining computations are differentiated.
static SAMPLING: &[&Pass] = &[
    &pipelines::SPLIT,
    &pipelines::POSITIONS,
    &pipelines::PRIOR,
    &pipelines::GROUP,
    &pipelines::NONCENTRE,
    &pipelines::HOIST,
    &pipelines::LOG_DENSITY,
    &pipelines::GRADIENT,
    &pipelines::PREDICT,
    &pipelines::SITES,
    &pipelines::LOCKSTEP,
];

/// The pipeline for ensembles and averages of iterates. Predictions at several positions come
/// first, followed by the training that finds these positions, and the means over rows that belong
/// to their average.
static ITERATES: &[&Pass] = &[
    &pipelines::SPLIT,
    &pipelines::POSITIONS,
    &pipelines::PRIOR,
    &pipelines::GROUP,
    &pipelines::PREDICT,
    &pipelines::SITES,
    &pipelines::ESTIMATORS,
    &pipelines::EXACT_KL,
    &pipelines::LOSS,
    &pipelines::UPDATE,
    &pipelines::GRADIENT,
    &pipelines::RUNNING_MEANS,
];

/// The pipeline for the Laplace approximation. The training comes first, followed by derivatives at
/// the maximum.
static LAPLACE: &[&Pass] = &[
    &pipelines::SPLIT,
    &pipelines::POSITIONS,
    &pipelines::PRIOR,
    &pipelines::GROUP,
    &pipelines::SCALED_PRIOR,
    &pipelines::ESTIMATORS,
    &pipelines::EXACT_KL,
    &pipelines::LOSS,
    &pipelines::UPDATE,
    &pipelines::GRADIENT,
    &pipelines::PREDICT,
    &pipelines::SITES,
    &pipelines::CURVATURE,
];

/// The pipeline for collapsed inference. The kinks of the location are found before the training.
static COLLAPSED: &[&Pass] = &[
    &pipelines::SPLIT,
    &pipelines::POSITIONS,
    &pipelines::PRIOR,
    &pipelines::GROUP,
    &pipelines::PREDICT,
    &pipelines::SITES,
    &pipelines::KINKS,
    &pipelines::COLLAPSE,
    &pipelines::ESTIMATORS,
    &pipelines::EXACT_KL,
    &pipelines::LOSS,
    &pipelines::UPDATE,
    &pipelines::GRADIENT,
    &pipelines::RUNNING_MEANS,
];

fn pipeline(method: &str) -> &'static [&'static Pass] {
    match method {
        "vi" | "map" | "dropout" => TRAINING,
        "laplace" => LAPLACE,
        "collapsed" => COLLAPSED,
        "swag" | "ensemble" => ITERATES,
        _ => SAMPLING,
    }
}

/// Returns the passes of each method that run for the inference blocks of the small programs.
/// Repetitions are removed.
fn ran() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut all = Vec::new();
    for path in files("bnn") {
        let program = load(&path, &std::fs::read_to_string(&path).unwrap());
        let options = options();
        for id in program.module.infers.ids() {
            let mut compilation = Compilation::new(&program, id, &options);
            let schema = schemas(&program).into_values().next().unwrap();
            compilation.backend = backends::lookup("reference").unwrap();
            let Ok(_) = compilation.compile(&schema) else {
                panic!("{}", path.display());
            };
            let mut passes = Vec::new();
            for timing in &compilation.context.timings {
                let pass = pipelines::lookup(timing.pass).unwrap();
                if matches!(pass.run, PassRun::Method) && !passes.contains(&pass.name) {
                    passes.push(pass.name);
                }
            }
            all.push((compilation.item.method.name, passes));
        }
    }
    all
}

#[test]
fn passes_run_in_the_order_of_their_pipeline() {
    let ran = ran();
    for (method, passes) in &ran {
        let mut places = pipeline(method).iter().map(|pass| pass.name);
        for pass in passes {
            assert!(
                places.any(|name| name == *pass),
                "{method}: `{pass}` in {passes:?}"
            );
        }
    }
    let run: BTreeSet<&str> = ran.into_iter().flat_map(|(_, passes)| passes).collect();
    let known = pipelines::ALL
        .iter()
        .filter(|pass| matches!(pass.run, PassRun::Method));
    let never: Vec<&str> = known
        .map(|pass| pass.name)
        .filter(|name| !run.contains(name))
        .collect();
    // The pass `kl` runs only for `emit density` and `bnnc explore`, because only these two need
    // the KL divergence alone.
    assert_eq!(never, ["kl"], "no small program runs them");
}

/// A release build verifies the result of each pass only if an option is set. A debug build always
/// verifies it.
#[test]
fn verification_is_turned_on_by_an_option() {
    let path = folder().join("map.bnn");
    let program = load(&path, &std::fs::read_to_string(&path).unwrap());
    let id = program.module.infers.ids().next().unwrap();
    let options = CompileOptions {
        verify: true,
        ..options()
    };
    let mut compilation = Compilation::new(&program, id, &options);
    assert!(compilation.context.verify);
    let schema = schemas(&program).into_values().next().unwrap();
    compilation.backend = backends::lookup("reference").unwrap();
    let compiled: Result<_, CompileFailure> = compilation.compile(&schema);
    assert!(compiled.is_ok());
}
