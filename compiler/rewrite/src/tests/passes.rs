//! Tests that pipelines run, skip, time and verify their passes correctly.

use super::inputs::{assert_close, evaluate};
use crate::pass::{Pass, PassContext, PassRun};
use crate::term::{X, example, exp, log};
use crate::{parallel, pipeline, pipelines, rules};
use bnnc_base::fault::Fault;
use bnnc_base::shape::Dim;
use bnnc_graph::function::Function;
use bnnc_graph::op::Example;
use bnnc_graph::ops;
use bnnc_graph::spec::{LOWERED, PROBABILISTIC};

/// Returns the example calls of an op that lowering does not support. Each call has its
/// operands.
fn calls(op: &'static bnnc_graph::op::OpDef) -> Vec<(Function, Example)> {
    (op.examples)()
        .into_iter()
        .map(|example| (super::inputs::function_of(op, &example), example))
        .collect()
}

#[test]
fn lowering_leaves_kernels_and_values() {
    let composites = [
        &ops::map::MAP,
        &ops::expect::EXPECT,
        &ops::scan::SCAN,
        &ops::softmax::SOFTMAX,
        &ops::log_softmax::LOG_SOFTMAX,
        &ops::logsumexp::LOGSUMEXP,
        &ops::one_hot::ONE_HOT,
    ];
    for op in composites {
        for (function, example) in calls(op) {
            let lowered =
                pipeline::run(&function, pipelines::BEFORE_LOWERING, &mut PassContext::default()).unwrap();
            bnnc_graph::verify::verify(&lowered, LOWERED).unwrap();
            let operands = super::inputs::operands_of(&example, 4);
            let (got, want) = (evaluate(&lowered, &operands), evaluate(&function, &operands));
            assert_close(&got[0], &want[0], 1e-12, op.name);
        }
    }
}

/// The body of a loop contains another loop. The batched form of a `map` is again a `map`, which is
/// also expanded.
#[test]
fn nested_loops_are_expanded() {
    for (function, example) in calls(&ops::map::MAP) {
        let mapped = vec![true; example.operands.len()];
        let batched = crate::batch::batch(&function, &mapped, Dim::Fixed(2));
        let lowered =
            pipeline::run(&batched, pipelines::BEFORE_LOWERING, &mut PassContext::default()).unwrap();
        assert!(
            lowered
                .nodes
                .ids()
                .all(|value| lowered.op(value).is_none_or(|op| op.name != "map"))
        );
    }
}

#[test]
fn optional_passes_are_skipped_and_required_ones_are_not() {
    let function = &example(log(exp(X)));
    let without = ["simplify", "simplify-kernels", "expand"]
        .map(str::to_owned)
        .to_vec();
    let mut context = PassContext {
        without,
        ..PassContext::default()
    };
    pipeline::run(function, pipelines::BEFORE_LOWERING, &mut context).unwrap();
    let ran: Vec<&str> = context.timings.iter().map(|timing| timing.pass).collect();
    assert_eq!(ran, ["expand-maps", "expand-expectations", "expand"]);
    let switchable: Vec<&str> = pipelines::switchable().collect();
    assert!(switchable.contains(&"simplify") && switchable.contains(&"log-of-exp"));
    assert!(!switchable.contains(&"expand"));
}

/// A pass whose result does not satisfy its specification.
static IDLE: Pass = Pass {
    name: "idle",
    from: PROBABILISTIC,
    to: LOWERED,
    required: true,
    run: PassRun::Function(|function, _| Ok(function.clone())),
};

#[test]
fn a_failed_verification_names_the_pass() {
    let (function, _) = &calls(&ops::softmax::SOFTMAX)[0];
    let fault = pipeline::run(function, &[&IDLE], &mut PassContext::default());
    assert!(matches!(fault, Err(Fault::Bug(why)) if why.starts_with("after `idle`: ")));
}

/// In a release build, `verify` is false by default. The option `--verify` sets `verify`
/// to true.
#[test]
fn passes_are_verified_if_the_context_requests_it() {
    let (function, _) = &calls(&ops::softmax::SOFTMAX)[0];
    let run = |verify| {
        let mut context = PassContext {
            verify,
            ..PassContext::default()
        };
        let method: Result<Function, Fault> = pipeline::step(&METHOD, &mut context, |_| Ok(function.clone()));
        (pipeline::run(function, &[&IDLE], &mut context), method)
    };
    let (unchecked, unchecked_method) = run(false);
    assert!(unchecked.is_ok() && unchecked_method.is_ok());
    let (checked, checked_method) = run(true);
    assert!(matches!(checked, Err(Fault::Bug(why)) if why.starts_with("after `idle`: ")));
    assert!(matches!(checked_method, Err(Fault::Bug(why)) if why.starts_with("after `method`: ")));
}

/// A pass of a method whose result does not satisfy its specification.
static METHOD: Pass = Pass {
    name: "method",
    from: PROBABILISTIC,
    to: LOWERED,
    required: true,
    run: PassRun::Method,
};

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = pipelines::ALL.iter().map(|pass| pass.name).collect();
    names.extend(rules::ALL.iter().map(|rule| rule.name));
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

/// The records of two threads are in a fixed order, whichever thread is faster. The error of the first part has priority, as it has without a
/// further thread.
#[test]
fn passes_on_two_threads_are_recorded_in_a_fixed_order() {
    let function = &example(log(exp(X)));
    let run = |passes: &[&'static Pass], context: &mut PassContext| pipeline::run(function, passes, context);
    let names =
        |context: &PassContext| -> Vec<&str> { context.timings.iter().map(|timing| timing.pass).collect() };
    let mut context = PassContext {
        trace: Some(Vec::new()),
        ..PassContext::default()
    };
    let mut alone = context.clone();
    let slow = |context: &mut PassContext| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        run(pipelines::BEFORE_LOWERING, context)
    };
    let fast = |context: &mut PassContext| run(pipelines::BEFORE_DERIVATIVE, context);
    parallel::both(&mut context, slow, fast).unwrap();
    run(pipelines::BEFORE_LOWERING, &mut alone).unwrap();
    run(pipelines::BEFORE_DERIVATIVE, &mut alone).unwrap();
    assert_eq!(names(&context), names(&alone));
    assert_eq!(context.trace, alone.trace);
    assert!(context.trace.is_some_and(|trace| !trace.is_empty()));

    let failing = |why: &'static str| move |_: &mut PassContext| Err::<(), Fault>(Fault::Bug(why.to_owned()));
    let both = parallel::both(&mut PassContext::default(), failing("first"), failing("second"));
    assert_eq!(both.err(), Some(Fault::Bug("first".to_owned())));
    let second = parallel::both(&mut PassContext::default(), |_| Ok(()), failing("second"));
    assert_eq!(second.err(), Some(Fault::Bug("second".to_owned())));
}
