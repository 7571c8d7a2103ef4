//! Tests reductions whose points are shared among several blocks.

use crate::BACKEND;
use crate::harness;
use bnnc_loops::parse::parse;

/// The kernel computes one sum and one maximum for each of three rows. It also computes one sum and
/// one maximum over all elements. The last block has only a few points.
#[test]
fn reductions_of_many_points_use_several_blocks() {
    const COLUMNS: usize = 70_001;
    for (precision, bound) in [("f32", 1e-6), ("f64", 1e-11)] {
        let count = 3 * COLUMNS;
        let text = format!(
            "plan \"p\" {precision} 1 {{
               b0 = real \"x\" [{count}] input b1 = real \"a\" [3] output b2 = real \"b\" [3] output
               b3 = real \"c\" [1] output b4 = real \"d\" [1] output
               launch 0 (b0, b1, b2, b3, b4) ints () outer 3 work 1
                 reduces (1 sum partial, 2 max partial, 3 sum partial, 4 max partial) }}
             kernel \"k\" [3, {COLUMNS}] (real, real, real, real, real) {{
               v0: real = load 0 at 0 [{COLUMNS}, 1]
               sum v0 -> 1 at 0 [1, 0]
               max v0 -> 2 at 0 [1, 0]
               sum v0 -> 3 at 0 [0, 0]
               max v0 -> 4 at 0 [0, 0] }}"
        );
        let program = parse(&text).unwrap();
        let code = bnnc_loops::backend::Backend::compile(
            &BACKEND,
            &program,
            &bnnc_loops::backend::BackendOptions::default(),
        );
        let listed = code.unwrap().text();
        assert!(
            listed.contains("_pieces") && listed.contains("_combine"),
            "{listed}"
        );
        // All numbers exceed 0.5, so the terms of a sum do not cancel. The maximum of a row may be
        // anywhere in the row.
        let x: Vec<f64> = (0..count)
            .map(|at| 0.5 + (at * 7919 % 65_521) as f64 / 65_536.0)
            .collect();
        let contents = [x, vec![0.0; 3], vec![0.0; 3], vec![0.0], vec![0.0]];
        let (found, wanted) = harness::run_both(&program, &contents, &[3]);
        for (found, wanted) in found[1..].iter().flatten().zip(wanted[1..].iter().flatten()) {
            assert!(
                (found / wanted - 1.0).abs() <= bound,
                "{precision}: {found} is not {wanted}"
            );
        }
    }
}
