//! The passes of each method run in the order of its pipeline.

use super::{files, folder, load, options, schemas};
use bnnc_driver::backends;
use bnnc_driver::infer::{Compilation, CompileFailure};
use bnnc_driver::options::CompileOptions;
use bnnc_rewrite::pass::PassRun;
use bnnc_rewrite::pipelines::{self, Pipeline};
use std::collections::BTreeSet;

fn pipeline(method: &str) -> Pipeline {
    match method {
        "vi" | "map" | "dropout" => pipelines::TRAINING,
        "laplace" => pipelines::LAPLACE,
        "collapsed" => pipelines::COLLAPSED,
        "swag" | "ensemble" => pipelines::ITERATES,
        _ => pipelines::SAMPLING,
    }
}

/// Returns each method with the passes that the inferences of the small programs run, without repetitions.
fn ran() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut all = Vec::new();
    for path in files("bnn") {
        let program = load(&path, &std::fs::read_to_string(&path).unwrap());
        let options = options();
        for id in program.module.infers.ids() {
            let mut compilation = Compilation::new(&program, id, &options);
            let schema = schemas(&program).into_values().next().unwrap();
            let backend = backends::lookup("reference").unwrap();
            let Ok(_) = compilation.compile(&schema, backend) else {
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
    // The pass `kl` only runs for `emit density` and `bnnc explore`, which need only the KL divergence.
    assert_eq!(never, ["kl"], "no small program runs them");
}

/// A release build verifies passes only if the option is set. A debug build always verifies them.
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
    let backend = backends::lookup("reference").unwrap();
    let compiled: Result<_, CompileFailure> = compilation.compile(&schema, backend);
    assert!(compiled.is_ok());
}
