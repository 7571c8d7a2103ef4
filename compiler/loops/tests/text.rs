//! Checks that parsing a printed program gives the same program.
#![allow(clippy::unwrap_used)]

mod random;

use bnnc_base::dtype::Precision;
use bnnc_loops::parse::parse;
use bnnc_loops::verify::verify;

#[test]
fn random_programs_round_trip() {
    for seed in 0..300 {
        let program = random::program(seed, Precision::F32);
        verify(&program).unwrap();
        let text = program.to_string();
        assert_eq!(
            parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")),
            program
        );
    }
}

const EVERYTHING: &str = r#"plan "step" f64 1 {
  b0 = real "w" [draws, 3] state
  b1 = real "x" [batch] input
  b2 = real "c" [3] constant (0.5, -inf, 1e-7)
  b3 = int "i" [] scratch
  b4 = real "out" [] output
  launch 0 (b1, b4) ints (1*batch, none, 2*batch*draws + -3) outer 1*batch work 10*batch reduces (1 sum partial)
  repeat 100 b3 {
    call matmul (b0, b1, b0) ints (1, 1, 1*batch, 0, 0, 1, 0, 3, 1)
    call contraction (b0, b1, b0) ints (2, 0, 0, 1, 1, 0, 3, 0, 0, 1, 1*batch, 0, 1, 0)
  }
}

kernel "sum" [$0] (real, real) {
  v0: int = index 0
  v1: real = load 0 at 0 [1]
  v2: real = load 0 at $1 [0] + v0 * 1 below $0
  v3: real = noise normal 7 (v0, v0, v0) at 0 [1]
  v4: real = const -0.0
  v5: bool = lt v1 v2
  v6: real = select v5 v3 v4
  v7: real = noise gamma 7 (v0, v0, v0) shape v1 at 0 [1]
  v8: real = gamma_gradient v1 v7
  v9: real = add v6 v8
  sum v9 -> 1 at 0 [0]
}
"#;

#[test]
fn every_form_round_trips() {
    let program = parse(EVERYTHING).unwrap();
    verify(&program).unwrap();
    assert_eq!(program.to_string(), EVERYTHING);
}

#[test]
fn calls_outside_of_their_buffers_are_bugs() {
    let message = |from: &str, to: &str| {
        let program = parse(&EVERYTHING.replace(from, to)).unwrap();
        verify(&program).unwrap_err().to_string()
    };
    let ints = "ints (2, 0, 0, 1, 1, 0, 3, 0, 0, 1, 1*batch, 0, 1, 0)";
    let found = message(ints, "ints (3, 0, 0, 1, 1, 0, 3, 0, 0, 1, 1*batch, 0, 1, 0)");
    assert!(
        found.contains("call of `contraction`: it reaches Some([3, 3]) of 3 elements of b0"),
        "{found}"
    );
    let found = message(ints, "ints (2, 0, 0, 1, 1, 0, 3, 0, 0, 1, 1*batch, 0, -1, 0)");
    assert!(found.contains("elements of b1"), "{found}");
    let found = message(ints, "ints (2, 0, 1, 1, 1, 0, 3, 0, 0, 1, 1*batch, 0, 1, 0)");
    assert!(found.contains("are not its integers"), "{found}");
    let found = message("matmul (b0, b1, b0)", "matmul (b0, b1)");
    assert!(found.contains("2 buffers instead of 3"), "{found}");
}

#[test]
fn errors_name_line_and_token() {
    let broken = EVERYTHING.replace("load 0 at 0 [1]\n  v2", "load 0 on 0 [1]\n  v2");
    assert_eq!(
        parse(&broken).unwrap_err().to_string(),
        "line 16: expected `at`, found `on`"
    );
}
