//! Compares the primitives on the emulator with simple reference versions.

use crate::device::Device;
use bnnc_abi::device::{Count, LaunchSequence};
use bnnc_abi::primitive::{self, PrimitiveDef};
use bnnc_base::dtype::Precision;
use bnnc_loops::parse::parse;

/// Returns pseudo-random numbers between -1 and 1.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Compiles a plan with a single call.
fn device(precision: Precision, name: &str, buffers: usize, ints: &[i64]) -> Device {
    let declared = (0..buffers).map(|at| {
        let role = if at + 1 == buffers { "output" } else { "input" };
        format!("b{at} = real \"x{at}\" [1] {role}\n")
    });
    let list = |items: Vec<String>| items.join(", ");
    let text = format!(
        "plan \"call\" {precision} 0 {{\n{}call {name} ({}) ints ({})\n}}\n",
        declared.collect::<String>(),
        list((0..buffers).map(|at| format!("b{at}")).collect()),
        list(ints.iter().map(i64::to_string).collect()),
    );
    let program = parse(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    Device::new(&program).unwrap()
}

/// Runs a primitive on the emulator and in its reference version, and compares the results.
/// `contents` lists the contents of the operands, followed by the initial contents of the result.
fn check(def: &'static PrimitiveDef, contents: &[Vec<f64>], ints: &[i64]) {
    for (precision, bound) in [(Precision::F32, 2e-5), (Precision::F64, 2e-13)] {
        let device = device(precision, def.name, contents.len(), ints);
        let routine = &device.program.routines[0];
        let rounded = |x: &f64| {
            if precision == Precision::F32 {
                f64::from(*x as f32)
            } else {
                *x
            }
        };
        let mut wanted: Vec<Vec<f64>> = contents
            .iter()
            .map(|all| all.iter().map(rounded).collect())
            .collect();
        let mut single: Vec<Vec<f32>> = wanted
            .iter()
            .map(|all| all.iter().map(|x| *x as f32).collect())
            .collect();
        let mut double = wanted.clone();
        let addresses: Vec<u64> = match precision {
            Precision::F32 => single.iter_mut().map(|all| all.as_mut_ptr() as u64).collect(),
            Precision::F64 => double.iter_mut().map(|all| all.as_mut_ptr() as u64).collect(),
        };
        // SAFETY: the addresses belong to the buffers that the primitive documents.
        unsafe { device.run(&routine.work, (&addresses, None), ints) };
        (def.naive)(&mut wanted, ints);
        let last = contents.len() - 1;
        for (at, wanted) in wanted[last].iter().enumerate() {
            let found = match precision {
                Precision::F32 => f64::from(single[last][at]),
                Precision::F64 => double[last][at],
            };
            let same = found == *wanted || found.is_nan() && wanted.is_nan();
            assert!(
                same || (found - wanted).abs() <= bound * (1.0 + wanted.abs()),
                "{} {precision} {ints:?} at {at}: {found} instead of {wanted}",
                def.name
            );
        }
    }
}

#[test]
fn products_match_the_reference() {
    for (m, n, k) in [(1, 1, 1), (3, 70, 5), (65, 64, 17), (130, 3, 40), (5, 5, 0)] {
        let (a, b) = (numbers((m * k) as usize, 1), numbers((k * n) as usize, 2));
        let c = vec![7.0; (m * n) as usize];
        for (left, right) in [([k, 1], [n, 1]), ([1, m], [1, k])] {
            let ints = [m, n, k, left[0], left[1], right[0], right[1], n, 1];
            check(&primitive::MATMUL, &[a.clone(), b.clone(), c.clone()], &ints);
        }
    }
}

/// The batch has two axes. One operand varies only along the first axis of the batch, and the other
/// operand varies only along the second axis.
#[test]
fn products_of_batches_match_the_reference() {
    let (m, n, k, [outer, inner]) = (4i64, 6i64, 3i64, [2i64, 5i64]);
    let a = numbers((outer * m * k) as usize, 3);
    let b = numbers((inner * k * n) as usize, 4);
    let c = vec![0.0; (outer * inner * m * n) as usize];
    let batch = [outer, m * k, 0, inner * m * n, inner, 0, k * n, m * n];
    let ints = [[m, n, k, k, 1, n, 1, n, 1].as_slice(), &batch].concat();
    check(&primitive::MATMUL, &[a, b, c], &ints);
}

/// For each matrix `x` of a batch, returns the matrix `x x'` with `n` added to its diagonal
/// elements.
fn definite(batch: usize, n: usize) -> Vec<f64> {
    let mut all = Vec::new();
    for item in 0..batch {
        let x = numbers(n * n, 5 + item as u64);
        for i in 0..n {
            for j in 0..n {
                let dot: f64 = (0..n).map(|k| x[i * n + k] * x[j * n + k]).sum();
                all.push(if i == j { dot + n as f64 } else { dot });
            }
        }
    }
    all
}

#[test]
fn cholesky_factors_match_the_reference() {
    for (batch, n) in [(3, 7), (1, 1), (2, 33)] {
        let l = vec![9.0; batch * n * n];
        check(
            &primitive::CHOLESKY,
            &[definite(batch, n), l],
            &[batch as i64, n as i64],
        );
    }
    // A matrix that is not positive definite does not have a factor.
    let broken = vec![1.0, 2.0, 2.0, 1.0];
    check(&primitive::CHOLESKY, &[broken, vec![0.0; 4]], &[1, 2]);
}

/// Factors a matrix by columns of blocks, as a runtime does. For each column, subtracts the product
/// with the earlier columns by a simple method, and then runs the parts of the primitive on the
/// column.
fn by_columns(precision: Precision, l: &mut [f64], (batch, n): (usize, usize)) {
    let device = device(precision, "cholesky", 2, &[batch as i64, n as i64]);
    let blocked = device.program.routines[0].blocked.as_ref().unwrap();
    let most = blocked.rows as usize;
    for first in (0..n).step_by(most) {
        let rows = most.min(n - first);
        let below = n - first - rows;
        for matrix in l.chunks_mut(n * n) {
            for i in first..n {
                for j in first..first + rows {
                    let dot: f64 = (0..first).map(|k| matrix[i * n + k] * matrix[j * n + k]).sum();
                    matrix[i * n + j] -= dot;
                }
            }
        }
        let ints = [batch, n, first, rows, below].map(|int| int as i64);
        let mut single: Vec<f32> = l.iter().map(|x| *x as f32).collect();
        let address = match precision {
            Precision::F32 => single.as_mut_ptr() as u64,
            Precision::F64 => l.as_mut_ptr() as u64,
        };
        for entry in [&blocked.diagonal, &blocked.panel] {
            let work = LaunchSequence {
                entries: vec![entry.clone()],
                scratch: Count::Fixed(0),
            };
            // SAFETY: the parts use only the result, which is the second of the two buffers.
            unsafe { device.run(&work, (&[0, address], None), &ints) };
        }
        if precision == Precision::F32 {
            l.iter_mut()
                .zip(&single)
                .for_each(|(x, single)| *x = f64::from(*single));
        }
    }
}

/// The first matrix is positive definite. The factorisation of each other matrix fails at one
/// column: the first or the last column of a block, or a column in between.
#[test]
fn cholesky_factors_by_columns_of_blocks_match_the_reference() {
    let (n, faults) = (130, [0, 40, 63, 64, 127, 128, 129]);
    let mut a = definite(1 + faults.len(), n);
    for (item, fault) in faults.iter().enumerate() {
        a[(item + 1) * n * n + fault * (n + 1)] = -1.0;
    }
    let sizes = (1 + faults.len(), n);
    for (precision, bound) in [(Precision::F32, 4e-5), (Precision::F64, 2e-13)] {
        if precision == Precision::F32 {
            a.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        }
        let mut found = a.clone();
        by_columns(precision, &mut found, sizes);
        let mut wanted = vec![a.clone(), vec![9.0; a.len()]];
        (primitive::CHOLESKY.naive)(&mut wanted, &[sizes.0 as i64, n as i64]);
        for (at, (found, wanted)) in found.iter().zip(&wanted[1]).enumerate() {
            let (item, i, j) = (at / n / n, at / n % n, at % n);
            let fault = item.checked_sub(1).map_or(n, |item| faults[item]);
            assert_eq!(wanted.is_nan(), fault <= j && j <= i, "{item} {i} {j}");
            let same = found.is_nan() && wanted.is_nan();
            assert!(
                same || (found - wanted).abs() <= bound * (1.0 + wanted.abs()),
                "{precision} {item} {i} {j}: {found} instead of {wanted}"
            );
        }
    }
}

#[test]
fn triangular_systems_match_the_reference() {
    for (batch, n, columns, transposed) in [(2, 9, 3, 0), (2, 9, 3, 1), (1, 1, 300, 0)] {
        let (l, b) = (definite(batch, n), numbers(batch * n * columns, 8));
        let x = vec![0.0; b.len()];
        let ints = [batch as i64, n as i64, columns as i64, transposed];
        check(&primitive::TRIANGULAR_SOLVE, &[l, b, x], &ints);
    }
}

#[test]
fn cumulative_sums_match_the_reference() {
    for (outer, length, inner, reverse) in [(2, 11, 3, 0), (2, 11, 3, 1), (1, 0, 4, 0)] {
        let x = numbers((outer * length * inner) as usize, 9);
        let y = vec![0.0; x.len()];
        check(&primitive::CUMSUM, &[x, y], &[outer, length, inner, reverse]);
    }
}
