//! Tests of the verifier. Each rule has one program that breaks it.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use bnnc_loops::parse::parse;
use bnnc_loops::verify::verify;

const SOUND: &str = r#"plan "p" f32 1 {
  b0 = real "x" [batch, 4] input
  b1 = int "k" [batch] input
  b2 = real "y" [batch, 4] output
  b3 = real "sum" [] output
  b4 = real "c" [2] constant (1.0, 2.0)
  b5 = int "counter" [] scratch
  launch 0 (b0, b1, b2, b3) ints (1*batch) outer 1*batch work 4*batch reduces (3 sum partial)
  repeat 2 b5 {
    call cumsum (b0, b2) ints (1*batch, 4, 1, 0)
  }
}

kernel "k" [$0, 4] (real, int, real, real) {
  v0: real = load 0 at 0 [4, 1]
  v1: int = load 1 at 0 [1, 0]
  v2: real = load 0 at 0 [0, 1] + v1 * 4 below $0
  v3: real = mul v0 v2
  v4: bool = lt v0 v2
  v5: real = select v4 v0 v3
  v6: real = noise normal 7 (v1, v1, v1) at 0 [4, 1]
  v7: real = add v5 v6
  store v7 -> 2 at 0 [4, 1]
  sum v7 -> 3 at 0 [0, 0]
}
"#;

#[test]
fn the_valid_program_passes() {
    verify(&parse(SOUND).unwrap()).unwrap();
}

/// Replaces `from` by `to` in the text of a valid program, and checks that the verifier's error contains
/// `rule`.
fn rejects(from: &str, to: &str, rule: &str) {
    assert!(SOUND.contains(from), "`{from}` does not occur");
    let program = parse(&SOUND.replacen(from, to, 1)).unwrap();
    let fault = verify(&program).unwrap_err().to_string();
    assert!(fault.contains(rule), "{fault}");
}

#[test]
fn operands_must_be_defined_before_use() {
    rejects(
        "v3: real = mul v0 v2",
        "v3: real = mul v0 v4",
        "v3: v4 is used before its definition",
    );
    rejects("store v7", "store v8", "v8 is used before its definition");
}

#[test]
fn wrong_operand_types_are_rejected() {
    rejects(
        "v3: real = mul v0 v2",
        "v3: real = mul v0 v1",
        "mul does not take [Real, Int]",
    );
    rejects(
        "v5: real = select v4 v0 v3",
        "v5: real = select v0 v0 v3",
        "select does not take",
    );
}

#[test]
fn wrong_result_types_are_rejected() {
    rejects("v4: bool = lt", "v4: real = lt", "the result is bool, not real");
    rejects(
        "v6: real = noise",
        "v6: int = noise",
        "the result is real, not int",
    );
}

#[test]
fn constants_must_fit_their_type() {
    rejects(
        "v3: real = mul v0 v2",
        "v3: int = const 0.5",
        "0.5 is not of type int",
    );
}

#[test]
fn unknown_axes_are_rejected() {
    rejects("v3: real = mul v0 v2", "v3: int = index 2", "there is no axis 2");
    rejects("kernel \"k\" [$0, 4]", "kernel \"k\" []", "it has no axes");
    rejects("kernel \"k\" [$0, 4]", "kernel \"k\" [$0, -1]", "trip count -1");
}

#[test]
fn accesses_need_one_stride_per_axis() {
    rejects("load 0 at 0 [4, 1]", "load 0 at 0 [4]", "1 strides for 2 axes");
    rejects("at 0 [4, 1]\n  v7", "at 0 [4]\n  v7", "1 strides for 2 axes");
}

#[test]
fn slots_must_exist_and_have_the_right_type() {
    rejects("load 0 at 0 [4, 1]", "load 9 at 0 [4, 1]", "there is no slot 9");
    rejects("v1: int = load 1", "v1: int = load 0", "slot 0 does not hold int");
    rejects("store v7 -> 2", "store v7 -> 1", "slot 1 does not hold real");
}

#[test]
fn positions_and_coordinates_must_be_integers() {
    rejects("+ v1 * 4", "+ v0 * 4", "position v0 is real, not int");
    rejects(
        "noise normal 7 (v1,",
        "noise normal 7 (v0,",
        "coordinate v0 is real, not int",
    );
}

#[test]
fn only_gamma_noise_has_a_shape_parameter() {
    rejects("noise normal", "noise gamma", "whether gamma noise has a shape");
    rejects(
        "(v1, v1, v1)",
        "(v1, v1, v1) shape v0",
        "whether normal noise has a shape",
    );
    rejects(
        "noise normal 7 (v1, v1, v1)",
        "noise gamma 7 (v1, v1, v1) shape v1",
        "shape v1 is int, not real",
    );
}

#[test]
fn launches_must_bind_every_slot() {
    rejects("launch 0", "launch 1", "there is no kernel 1");
    rejects(
        "(b0, b1, b2, b3) ints",
        "(b0, b1, b2) ints",
        "3 buffers for 4 slots",
    );
    rejects(
        "(b0, b1, b2, b3) ints",
        "(b0, b1, b2, b9) ints",
        "there is no buffer b9",
    );
    rejects(
        "(b0, b1, b2, b3) ints",
        "(b0, b0, b2, b3) ints",
        "b0 is not stored as Int",
    );
    rejects(
        "ints (1*batch) outer",
        "ints () outer",
        "an integer slot is not bound",
    );
}

#[test]
fn the_plan_must_count_its_kernels() {
    rejects("f32 1 {", "f32 2 {", "it counts 2 kernels of 1");
}

#[test]
fn outer_counts_must_agree() {
    rejects("outer 1*batch", "outer 1*draws", "outer count 2 against 1");
}

#[test]
fn reductions_must_be_declared() {
    rejects(
        "reduces (3 sum partial)",
        "reduces ()",
        "how slot 3 combines is not declared",
    );
    rejects(
        "reduces (3 sum partial)",
        "reduces (3 max partial)",
        "slot 3 is not reduced",
    );
    rejects(
        "reduces (3 sum partial)",
        "reduces (3 sum partial, 2 sum)",
        "slot 2 is not reduced",
    );
    rejects(
        "reduces (3 sum partial)",
        "reduces (3 sum)",
        "chunks collide in slot 3",
    );
}

#[test]
fn accesses_outside_their_buffer_are_rejected() {
    rejects(
        "store v7 -> 2 at 0 [4, 1]",
        "store v7 -> 2 at 1 [4, 1]",
        "reaches 1..=4 of 4 elements",
    );
    rejects("+ v1 * 4 below $0", "+ v1 * 5 below $0", "of 8 elements");
}

/// In a batch of one row, the last row does not have a row before it. A buffer of a fixed size is
/// too small for a large batch. A trip count with a square agrees with another trip count at two
/// sizes, 3 and 13, and at no other sizes.
#[test]
fn sizes_are_checked_at_their_ends() {
    let offset = SOUND.replacen("ints (1*batch)", "ints (1*batch, 4*batch + -8)", 1);
    let offset = offset.replacen("load 0 at 0 [0, 1] + v1 * 4 below $0", "load 0 at $1 [0, 1]", 1);
    let fixed = SOUND.replacen(
        "b2 = real \"y\" [batch, 4] output",
        "b2 = real \"y\" [64, 4] output",
        1,
    );
    let square = SOUND.replacen(
        "ints (1*batch) outer",
        "ints (1*batch*batch + -15*batch + 39) outer",
        1,
    );
    for (text, rule) in [
        (offset, "reaches -4..=-1 of 4 elements"),
        (fixed, "reaches 0..=4035 of 256 elements"),
        (square, "outer count 1 against 25"),
    ] {
        let fault = verify(&parse(&text).unwrap()).unwrap_err().to_string();
        assert!(fault.contains(rule), "{fault}");
    }
}

#[test]
fn constants_must_be_complete_and_are_never_written() {
    rejects("constant (1.0, 2.0)", "constant (1.0)", "b4 is given 1 elements");
    rejects(
        "(b0, b1, b2, b3) ints",
        "(b0, b1, b2, b4) ints",
        "constant b4 is written",
    );
    rejects(
        "call cumsum (b0, b2)",
        "call cumsum (b0, b4)",
        "constant b4 is written",
    );
}

#[test]
fn counters_must_be_integer_scalars() {
    rejects(
        "repeat 2 b5",
        "repeat 2 b1",
        "counter b1 is not an integer scalar",
    );
}
