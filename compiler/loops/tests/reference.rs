//! Compares the reference interpreter with results that were computed by hand.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use bnnc_abi::code::{KernelArgs, KernelCode};
use bnnc_base::diagnostics::OTHER_BACKEND;
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Backend, BackendOptions};
use bnnc_loops::parse::parse;
use bnnc_loops::reference::Reference;
use bnnc_loops::verify::verify;
use std::sync::Arc;

fn code(text: &str) -> Arc<dyn KernelCode> {
    let program = parse(text).unwrap();
    verify(&program).unwrap();
    Reference.compile(&program, &BackendOptions::default()).unwrap()
}

#[test]
fn the_interpreter_stores_gathers_and_reduces() {
    let code = code(
        r#"plan "p" f64 1 {
  b0 = real "x" [2, 3] input
  b1 = int "k" [2] input
  b2 = real "columns" [3] output
  b3 = real "picked" [2] output
  launch 0 (b0, b1, b2, b3) ints () outer 2 work 3 reduces (2 sum partial, 3 max)
}
kernel "k" [2, 3] (real, int, real, real) {
  v0: real = load 0 at 0 [3, 1]
  v1: int = load 1 at 0 [1, 0]
  v2: real = load 0 at 0 [3, 0] + v1 * 1 below 3
  sum v0 -> 2 at 0 [0, 1]
  max v2 -> 3 at 0 [1, 0]
}
"#,
    );
    let mut x = [1.0, 2.0, 3.0, 10.0, 20.0, 30.0];
    // The second position is clamped to 2.
    let mut k = [1i32, 7];
    let mut columns = [0.0; 3];
    let mut picked = [f64::NEG_INFINITY; 2];
    let buffers = [
        x.as_mut_ptr().cast::<u8>(),
        k.as_mut_ptr().cast(),
        columns.as_mut_ptr().cast(),
        picked.as_mut_ptr().cast(),
    ];
    for start in 0..2 {
        let (end, ints) = (start + 1, std::ptr::null());
        let args = KernelArgs {
            buffers: buffers.as_ptr(),
            ints,
            start,
            end,
            scratch: std::ptr::null_mut(),
        };
        // SAFETY: the buffers belong to the plan.
        unsafe { code.launch(0, &args) }
    }
    assert_eq!(columns, [11.0, 22.0, 33.0]);
    assert_eq!(picked, [2.0, 30.0]);
    assert!(code.is_reference());
}

#[test]
fn programs_in_single_precision_reach_a_limit() {
    let text = r#"plan "p" f32 1 {
  b0 = real "x" [2] input
}
"#;
    let rejected = Reference.compile(&parse(text).unwrap(), &BackendOptions::default());
    let Some(Fault::Limit(limit)) = rejected.err() else {
        panic!("the interpreter computes in f64");
    };
    assert_eq!(limit.code, &OTHER_BACKEND);
}
