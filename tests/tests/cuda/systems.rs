//! Large triangular systems and Cholesky factors on the device agree with the reference. The device
//! uses cuBLAS if it is installed.

use bnnc_abi::code::Artifact;
use bnnc_abi::primitive::{CHOLESKY, TRIANGULAR_SOLVE};
use bnnc_base::dtype::Precision;
use bnnc_base::shape::Sizes;
use bnnc_driver::backends;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_loops::backend::BackendOptions;
use bnnc_loops::parse::parse;
use bnnc_math::philox;
use std::sync::Arc;

fn solving(precision: Precision, [batch, n, columns, transposed]: [usize; 4]) -> Machine {
    machine(&format!(
        "plan \"solve\" {precision} 0 {{
b0 = real \"l\" [{batch}, {n}, {n}] input
b1 = real \"b\" [{batch}, {n}, {columns}] input
b2 = real \"x\" [{batch}, {n}, {columns}] output
call triangular_solve (b0, b1, b2) ints ({batch}, {n}, {columns}, {transposed})
}}
"
    ))
}

fn factoring(precision: Precision, [batch, n]: [usize; 2]) -> Machine {
    machine(&format!(
        "plan \"factor\" {precision} 0 {{
b0 = real \"a\" [{batch}, {n}, {n}] input
b1 = real \"l\" [{batch}, {n}, {n}] output
call cholesky (b0, b1) ints ({batch}, {n})
}}
"
    ))
}

/// Returns a machine that makes one call of a primitive.
fn machine(text: &str) -> Machine {
    let program = parse(text).unwrap();
    let backend = backends::lookup("cuda").unwrap();
    let code = backend.compile(&program, &BackendOptions::default()).unwrap();
    let artifact = Artifact {
        plan: Arc::new(program.plan),
        code: bnnc_cuda::attach(code).unwrap(),
    };
    Machine::new(&artifact, Sizes::default(), Arc::new(Pool::new(1))).unwrap()
}

/// The matrices have the number two on the diagonal and small numbers elsewhere. The condition
/// number of such a matrix is below four. The relative error of a solution is at most four times
/// its backward error, which is `n` roundings (Higham 2002, "Accuracy and stability of numerical
/// algorithms", theorem 8.5).
#[test]
fn large_triangular_systems_match_the_reference() {
    for (precision, unit) in [
        (Precision::F32, f64::from(f32::EPSILON)),
        (Precision::F64, f64::EPSILON),
    ] {
        for sizes in [[1, 400, 1, 0], [1, 400, 1, 1], [3, 150, 7, 0], [3, 150, 7, 1]] {
            let [batch, n, columns, _] = sizes;
            let uniform = |slot: u64, at: usize| philox::uniform(slot, [0, 0, 0], at as u64) - 0.5;
            let rounded = |x: f64| {
                if precision == Precision::F32 {
                    f64::from(x as f32)
                } else {
                    x
                }
            };
            let element = |at: usize| match (at / n % n, at % n) {
                (i, j) if i == j => 2.0,
                _ => rounded(uniform(0, at) / n as f64),
            };
            let l: Vec<f64> = (0..batch * n * n).map(element).collect();
            let b: Vec<f64> = (0..batch * n * columns)
                .map(|at| rounded(uniform(1, at)))
                .collect();
            let mut machine = solving(precision, sizes);
            machine.write_real("l", &l).unwrap();
            machine.write_real("b", &b).unwrap();
            let mut want = vec![l, b, vec![0.0; batch * n * columns]];
            (TRIANGULAR_SOLVE.naive)(&mut want, &sizes.map(|size| size as i64));
            // The first run launches the kernels directly, the second run is captured, and the
            // third run is a replay.
            for _ in 0..3 {
                machine.run().unwrap();
                for (want, got) in want[2].iter().zip(machine.read_real("x").unwrap()) {
                    let distance = (want - got).abs();
                    assert!(
                        distance <= 4.0 * n as f64 * unit,
                        "{precision} {sizes:?}: {distance:e}"
                    );
                }
            }
        }
    }
}

/// The matrices have the number two on the diagonal and small numbers elsewhere, but one of them
/// has a negative pivot. From this pivot on, the columns of the factor of this matrix are NaN. The
/// relative error of a factor is at most `n + 1` roundings times the condition number (Higham 2002,
/// theorems 10.3 and 10.8).
#[test]
fn large_cholesky_factors_match_the_reference() {
    for (precision, unit) in [
        (Precision::F32, f64::from(f32::EPSILON)),
        (Precision::F64, f64::EPSILON),
    ] {
        for (sizes, fault) in [
            ([1, 400], None),
            ([3, 300], Some(255)),
            ([1, 256], Some(0)),
            ([2, 70], Some(65)),
        ] {
            let [batch, n] = sizes;
            let element = |at: usize| match (at / n % n, at % n) {
                (i, j) if i == j && fault == Some(i) && at / n / n == batch - 1 => -1.0,
                (i, j) if i == j => 2.0,
                (i, j) if i < j => f64::NAN,
                _ => f64::from(((philox::uniform(2, [0, 0, 0], at as u64) - 0.5) / n as f64) as f32),
            };
            let a: Vec<f64> = (0..batch * n * n).map(element).collect();
            let mut machine = factoring(precision, sizes);
            machine.write_real("a", &a).unwrap();
            let mut want = vec![a, vec![0.0; batch * n * n]];
            (CHOLESKY.naive)(&mut want, &sizes.map(|size| size as i64));
            for _ in 0..3 {
                machine.run().unwrap();
                for (want, got) in want[1].iter().zip(machine.read_real("l").unwrap()) {
                    let same = want.is_nan() && got.is_nan();
                    assert!(
                        same || (want - got).abs() <= 4.0 * (n + 1) as f64 * unit,
                        "{precision} {sizes:?}: {got} instead of {want}"
                    );
                }
            }
        }
    }
}
