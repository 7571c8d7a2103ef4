//! Tests kernels that sum functions of noise over draws. The tests cover every order of axes, every
//! kind of output, and the rounding errors.

use crate::harness;
use bnnc_loops::ir::LoopProgram;
use bnnc_loops::parse::parse;

fn program(text: &str) -> LoopProgram {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Compares a program with the interpreter on inputs that differ between elements.
fn check(program: &LoopProgram, chunks: &[i64]) {
    let mut at = 0.0;
    let contents = harness::initial(program, |_| {
        at += 1.0;
        (at * 0.37_f64).sin()
    });
    let (found, wanted) = harness::run_both(program, &contents, chunks);
    let tolerance = match program.plan.precision {
        bnnc_base::dtype::Precision::F32 => 2e-6,
        bnnc_base::dtype::Precision::F64 => 1e-12,
    };
    harness::compare(program, &found, &wanted, tolerance);
}

/// Builds a program with five outputs: a sum for each element, a sum of values that
/// need a call, a sum over everything, a maximum, and a sum for each draw.
fn outputs(precision: &str, elements: i64, draws: i64, [element, draw]: [&str; 2]) -> LoopProgram {
    let order = |of_element: i64, of_draw: i64| match element < draw {
        true => format!("[{of_element}, {of_draw}]"),
        false => format!("[{of_draw}, {of_element}]"),
    };
    let (columns, rows) = (order(1, 0), order(0, 1));
    let (dims, still) = (
        order(elements, draws).replace(&draws.to_string(), "$0"),
        order(0, 0),
    );
    let outer = if element < draw { elements } else { draws };
    program(&format!(
        r#"plan "p" {precision} 1 {{
  b0 = real "loc" [{elements}] input
  b1 = real "weight" [{draws}] input
  b2 = real "sums" [{elements}] output
  b3 = real "logs" [{elements}] output
  b4 = real "total" [] output
  b5 = real "most" [{elements}] output
  b6 = real "norms" [{draws}] output
  launch 0 (b0, b1, b2, b3, b4, b5, b6) ints ({draws}, 7) outer {outer} work 50
    reduces (2 sum partial, 3 sum partial, 4 sum partial, 5 max partial, 6 sum partial)
}}
kernel "k" {dims} (real, real, real, real, real, real, real) {{
  v0: int = index {draw}
  v1: int = const 3
  v2: real = noise normal $1 (v0, v1, v1) at 0 {columns}
  v3: real = load 0 at 0 {columns}
  v4: real = load 1 at 0 {rows}
  v5: real = mul v2 v4
  v6: real = add v5 v3
  v7: real = abs v6
  v8: real = log1p v7
  v9: real = mul v8 v8
  v10: real = mul v2 v2
  sum v6 -> 2 at 0 {columns}
  sum v9 -> 3 at 0 {columns}
  sum v8 -> 4 at 0 {still}
  max v6 -> 5 at 0 {columns}
  sum v10 -> 6 at 0 {rows}
}}
"#
    ))
}

#[test]
fn chunks_of_elements_give_the_same_sums() {
    for precision in ["f32", "f64"] {
        check(&outputs(precision, 1000, 70, ["0", "1"]), &[256, 700, 1000]);
        check(&outputs(precision, 131, 200, ["0", "1"]), &[131]);
        check(&outputs(precision, 40, 7, ["0", "1"]), &[3, 40]);
    }
}

#[test]
fn chunks_of_draws_give_the_same_sums() {
    for precision in ["f32", "f64"] {
        check(&outputs(precision, 700, 150, ["1", "0"]), &[1, 90, 150]);
        check(&outputs(precision, 20, 333, ["1", "0"]), &[100, 333]);
        check(&outputs(precision, 3, 97, ["1", "0"]), &[97]);
    }
}

#[test]
fn rows_of_elements_may_share_a_number() {
    for (rows, elements) in [(5, 300), (4, 30)] {
        check(
            &program(&format!(
                r#"plan "p" f64 1 {{
  b0 = real "scale" [{rows}] input
  b1 = real "sums" [{rows}, {elements}] output
  launch 0 (b0, b1) ints (80, 9) outer {rows} work 50 reduces (1 sum)
}}
kernel "k" [{rows}, $0, {elements}] (real, real) {{
  v0: int = index 1
  v1: real = noise normal $1 (v0, v0, v0) at 0 [{elements}, 0, 1]
  v2: real = load 0 at 0 [1, 0, 0]
  v3: real = mul v1 v2
  sum v3 -> 1 at 0 [{elements}, 0, 1]
}}
"#
            )),
            &[2, rows],
        );
    }
}

/// If terms of 0.1 were added one after another, all rounding errors would have the same sign and
/// would not cancel. After twenty thousand terms, the sum would have lost three digits.
#[test]
fn many_draws_in_f32_keep_their_digits() {
    let draws = 20_000.0;
    for (elements, dims, [columns, still], outer) in [
        (270, "[270, $0]", ["[1, 0]", "[0, 0]"], 270),
        (20, "[$0, 20]", ["[0, 1]", "[0, 0]"], 20_000),
    ] {
        let draw = if outer == elements { 1 } else { 0 };
        let program = program(&format!(
            r#"plan "p" f32 1 {{
  b0 = real "sums" [{elements}] output
  b1 = real "total" [] output
  launch 0 (b0, b1) ints ({draws}, 9) outer {outer} work 50 reduces (0 sum partial, 1 sum partial)
}}
kernel "k" {dims} (real, real) {{
  v0: int = index {draw}
  v1: real = noise uniform $1 (v0, v0, v0) at 0 {columns}
  v2: real = sign v1
  v3: real = const 0.1
  v4: real = mul v2 v3
  sum v4 -> 0 at 0 {columns}
  sum v4 -> 1 at 0 {still}
}}
"#
        ));
        let contents = [vec![0.0; elements as usize], vec![0.0]];
        let (found, _) = harness::run_both(&program, &contents, &[outer]);
        let each = f64::from(0.1_f32) * draws;
        let total = each * elements as f64;
        let is_near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 1e-6;
        assert!(found[0].iter().all(|sum| is_near(*sum, each)), "{:?}", found[0]);
        assert!(is_near(found[1][0], total), "{} is not {total}", found[1][0]);
    }
}
