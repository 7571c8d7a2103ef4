//! Tests kernels that resemble the kernels of training steps, and the requirements that a backend
//! must meet besides correct numbers.

use crate::harness;
use bnnc_abi::code::KernelCode;
use bnnc_backend_cranelift::Cranelift;
use bnnc_loops::backend::{Backend, BackendOptions};
use bnnc_loops::ir::LoopProgram;
use bnnc_loops::parse::parse;
use std::sync::Arc;

fn program(text: &str) -> LoopProgram {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

const IN_PLACE: &str = r#"plan "p" f64 1 {
  b0 = real "w" [1000] state
  b1 = real "g" [1000] input
  launch 0 (b0, b1) ints () outer 1000 work 3 reduces ()
}
kernel "step" [1000] (real, real) {
  v0: real = load 0 at 0 [1]
  v1: real = load 1 at 0 [1]
  v2: real = exp v0
  v3: real = mul v2 v1
  v4: real = tanh v3
  v5: real = sub v0 v4
  store v5 -> 0 at 0 [1]
}
"#;

#[test]
fn in_place_updates_with_calls_between() {
    let program = program(IN_PLACE);
    let w: Vec<f64> = (0..1000).map(|at| (f64::from(at) * 0.37).sin()).collect();
    let g: Vec<f64> = (0..1000).map(|at| (f64::from(at) * 0.11).cos()).collect();
    let (found, wanted) = harness::run_both(&program, &[w.clone(), g.clone()], &[1000]);
    harness::compare(&program, &found, &wanted, 1e-14);
    let closed: Vec<f64> = w.iter().zip(&g).map(|(w, g)| w - (w.exp() * g).tanh()).collect();
    harness::compare(&program, &found[..1], &[closed], 1e-14);
}

#[test]
fn a_long_sum_in_f32_keeps_its_digits() {
    let program = program(
        r#"plan "p" f32 1 {
  b0 = real "x" [100000] input
  b1 = real "sum" [] output
  launch 0 (b0, b1) ints () outer 100000 work 1 reduces (1 sum partial)
}
kernel "sum" [100000] (real, real) {
  v0: real = load 0 at 0 [1]
  sum v0 -> 1 at 0 [0]
}
"#,
    );
    let (found, _) = harness::run_both(&program, &[vec![1.0; 100_000], vec![0.0]], &[100_000]);
    assert_eq!(found[1], [100_000.0]);
}

#[test]
fn adjacent_axes_are_merged_in_every_chunk() {
    let program = program(
        r#"plan "p" f32 1 {
  b0 = real "x" [4, 5, 3] input
  b1 = real "y" [4, 5, 3] output
  launch 0 (b0, b1) ints () outer 4 work 15 reduces ()
}
kernel "twice" [4, 5, 3] (real, real) {
  v0: real = load 0 at 0 [15, 3, 1]
  v1: real = add v0 v0
  store v1 -> 1 at 0 [15, 3, 1]
}
"#,
    );
    let x: Vec<f64> = (0..60).map(f64::from).collect();
    let (found, _) = harness::run_both(&program, &[x.clone(), vec![0.0; 60]], &[1, 3, 4]);
    assert_eq!(found[1], x.iter().map(|x| 2.0 * x).collect::<Vec<f64>>());
    let code = Cranelift.compile(&program, &BackendOptions::default()).unwrap();
    // The code has three loops: over four vectors, over single vectors, and over single elements.
    // They are not nested in other loops.
    assert_eq!(code.text().matches("brif").count(), 7, "{}", code.text());
}

#[test]
fn an_empty_axis_reads_and_writes_nothing() {
    let program = program(
        r#"plan "p" f64 1 {
  b0 = real "x" [3] input
  b1 = real "y" [3] output
  launch 0 (b0, b1) ints (0) outer 3 work 1 reduces ()
}
kernel "k" [3, $0] (real, real) {
  v0: real = load 0 at 0 [1, 0]
  v1: real = exp v0
  store v1 -> 1 at 0 [1, 1]
}
"#,
    );
    let (found, _) = harness::run_both(&program, &[vec![1.0; 3], vec![5.0; 3]], &[3]);
    assert_eq!(found[1], [5.0; 3]);
}

#[test]
fn a_symbol_without_an_address_is_reported_as_a_bug() {
    let fault = Cranelift
        .compile(&program(IN_PLACE), &BackendOptions::default())
        .err()
        .unwrap();
    assert_eq!(
        fault.to_string(),
        "bug in bnnc: kernel `step` needs `bnnc_exp_f64`, which has no address"
    );
}

#[test]
fn listings_name_their_kernels() {
    let program = program(IN_PLACE);
    let code: Arc<dyn KernelCode> = Cranelift.compile(&program, &harness::options()).unwrap();
    let clif = code.text();
    assert!(clif.starts_with("; kernel 0 \"step\"\nfunction"), "{clif}");
    assert!(clif.contains("f64x2"), "{clif}");
    assert!(!code.is_reference());
}

/// Gamma noise reads its shapes in place or from scratch memory. The shapes vary in four ways:
/// along an axis, in rows that share a call, in rows with separate streams, and outside the
/// innermost loop.
#[test]
fn shapes_of_noise_may_lie_anywhere() {
    let shapes: Vec<f64> = (0..280).map(|at| 0.25 + f64::from(at % 7) * 0.5).collect();
    for (dims, strides, body) in [
        (
            "[280]",
            "[1]",
            "v2: real = noise gamma 7 (v0, v0, v0) shape v1 at 3 [1]",
        ),
        (
            "[40, 7]",
            "[7, 1]",
            "v2: real = noise gamma 7 (v0, v0, v0) shape v1 at 0 [7, 1]",
        ),
        (
            "[40, 7]",
            "[0, 1]",
            "v2: real = noise gamma 7 (v0, v0, v0) shape v1 at 0 [7, 1]",
        ),
        (
            "[40, 7]",
            "[7, 0]",
            "v2: real = noise gamma 7 (v0, v0, v0) shape v1 at 0 [7, 1]",
        ),
        (
            "[40, 7]",
            "[7, 1]",
            "v2: int = index 0 v3: real = noise gamma 7 (v2, v0, v0) shape v1 at 0 [0, 1]",
        ),
        (
            "[40, 7]",
            "[7, 1]",
            "v2: real = neg v1 v3: real = abs v2 v4: int = index 0 v5: real = noise gamma 7 (v4, v0, v0) shape v3 at 0 [0, 1]",
        ),
        (
            "[40, 7]",
            "[7, 1]",
            "v2: int = index 1 v3: real = noise gamma 7 (v0, v2, v0) shape v1 at 0 [7, 0]",
        ),
        (
            "[40, 7]",
            "[7, 0]",
            "v2: real = noise gamma 7 (v0, v0, v0) shape v1 at 0 [1, 0]",
        ),
    ] {
        let last = body.matches(" = ").count() + 1;
        let rest = if dims == "[280]" { "[1]" } else { "[7, 1]" };
        let outer = if dims == "[280]" { 280 } else { 40 };
        for precision in ["f32", "f64"] {
            let program = program(&format!(
                r#"plan "p" {precision} 1 {{
  b0 = real "shape" [280] input
  b1 = real "out" [280] output
  launch 0 (b0, b1) ints () outer {outer} work 9 reduces ()
}}
kernel "draw" {dims} (real, real) {{
  v0: int = const 5
  v1: real = load 0 at 0 {strides}
  {body}
  store v{last} -> 1 at 0 {rest}
}}
"#
            ));
            let tolerance = if precision == "f32" { 1e-6 } else { 0.0 };
            let (found, wanted) = harness::run_both(&program, &[shapes.clone(), vec![0.0; 280]], &[3, outer]);
            harness::compare(&program, &found, &wanted, tolerance);
            assert!(found[1].iter().all(|value| *value > 0.0));
        }
    }
}

/// Threads that need the code at the same time share its compilation, and all of them then see the complete code. Code that is dropped
/// without a call is never compiled.
#[test]
fn threads_share_the_compilation_of_a_program() {
    let program = program(IN_PLACE);
    drop(Cranelift.compile(&program, &harness::options()).unwrap());
    let alone = Cranelift.compile(&program, &harness::options()).unwrap();
    alone.ready().unwrap();
    let shared = Cranelift.compile(&program, &harness::options()).unwrap();
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| shared.ready())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(results, [Ok(()), Ok(()), Ok(()), Ok(())]);
    assert_eq!(shared.text(), alone.text());
}
