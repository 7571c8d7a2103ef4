//! Tests of the errors that stop a run. An error is classified as an error of the program or as an
//! error of the data.
#![allow(clippy::unwrap_used)]

use bnnc_base::diagnostic::{Diagnostic, FaultyInput};
use bnnc_core::context::{Context, Stop};
use bnnc_core::states::start;
use bnnc_driver::options::CompileOptions;
use bnnc_kernels::pool::Pool;
use bnnc_run::out;
use bnnc_run::{RunResult, run};
use bnnc_tests::compile::{self, Compiled, options};
use bnnc_tests::step::fit;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

fn yacht(settings: &[&str]) -> Compiled {
    let options = CompileOptions {
        settings: settings.iter().map(|setting| setting.to_string()).collect(),
        ..options("cranelift", None)
    };
    compile::file(&bnnc_tests::root().join("examples/yacht/yacht.bnn"), &options)
}

fn assert_stop<T>(stopped: Result<T, Stop>, id: &str, fault: FaultyInput) {
    match stopped {
        Err(Stop::Diagnostics(diagnostics)) => assert_diagnostic(&diagnostics[0], id, fault),
        Err(Stop::Fault(fault)) => panic!("{fault}"),
        Err(Stop::Interrupted) => panic!("nobody interrupted it"),
        Ok(_) => panic!("it did not stop"),
    }
}

fn assert_diagnostic(diagnostic: &Diagnostic, id: &str, fault: FaultyInput) {
    assert_eq!(diagnostic.code.id, id, "{}", diagnostic.message);
    assert!(diagnostic.fault == fault);
}

/// Returns the path of a folder that does not exist. The parent folder exists.
fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("bnnc-stops-{name}-{}", std::process::id()))
}

#[test]
fn a_loss_that_is_not_finite_is_an_error_of_the_program() {
    let compiled = yacht(&["fit.optimiser=SGD(1e12)", "fit.epochs=5"]);
    let options = bnnc_run::RunOptions::new(1);
    let Ok(result) = run(&compiled.manifest, &options) else {
        panic!("a run that began has a result");
    };
    assert_eq!(result.failed.as_deref(), Some("fit"));
    let stopped: Result<(), Stop> = result.stopped.map_or(Ok(()), Err);
    assert_stop(stopped, "E0501", FaultyInput::Program);
}

#[test]
fn no_training_rows_are_an_error_in_data() {
    let compiled = yacht(&[]);
    let infer = &compiled.manifest.infers[0];
    let mut dataset = compiled.dataset(&infer.data);
    dataset.train.count = 0;
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let states = start(&infer.states, 1, &HashMap::new());
    let stopped = fit(infer, &dataset, states, &context);
    if let Err(Stop::Diagnostics(found)) = &stopped {
        insta::assert_snapshot!("E0505", compile::rendered(&found[0]));
    }
    assert_stop(stopped, "E0505", FaultyInput::Data);
}

/// Every build of these tests includes all optional parts. The test therefore creates the
/// diagnostic of a missing part itself.
#[test]
fn a_part_that_a_build_leaves_out_is_named_with_its_feature() {
    let absent = bnnc_base::diagnostics::not_in_build("the backend `cuda`", "cuda");
    assert_diagnostic(&absent, "E0618", FaultyInput::Usage);
    insta::assert_snapshot!("E0618", compile::rendered(&absent));
}

/// A folder cannot be created inside a file.
#[test]
fn results_that_cannot_be_written_are_an_error() {
    let file = folder("file");
    std::fs::write(&file, "").unwrap();
    let compiled = yacht(&[]);
    let saved = compile::saved(PathBuf::new());
    let written = out::write(
        &file.join("out"),
        &compiled.manifest,
        &RunResult::default(),
        saved,
    );
    assert_diagnostic(&written.unwrap_err(), "E0503", FaultyInput::Data);
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_folder_without_a_run_is_an_error_in_data() {
    assert_diagnostic(
        &out::read(&folder("none")).unwrap_err(),
        "E0504",
        FaultyInput::Data,
    );
}
