//! Native library primitives agree with their naive reference implementations.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use bnnc_abi::primitive::{self, PrimitiveDef};
use bnnc_base::dtype::Precision;
use bnnc_kernels::library;
use bnnc_kernels::pool::Pool;

/// A small generator of random sizes and values (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> i64 {
        (self.next() % limit) as i64
    }

    fn reals(&mut self, count: usize) -> Vec<f64> {
        // Multiples of 1/64 in this range are exact in both precisions.
        (0..count).map(|_| (self.below(129) - 64) as f64 / 64.0).collect()
    }
}

/// Runs the native version of a primitive. The last buffer holds the result.
fn native(
    def: &'static PrimitiveDef,
    precision: Precision,
    pool: &Pool,
    buffers: &[Vec<f64>],
    ints: &[i64],
) -> Vec<f64> {
    let function = library::native(primitive::Primitive(def)).unwrap();
    match precision {
        Precision::F64 => {
            let mut copies = buffers.to_vec();
            let addresses: Vec<*mut u8> = copies
                .iter_mut()
                .map(|buffer| buffer.as_mut_ptr().cast())
                .collect();
            // SAFETY: the buffers contain every element that the integers refer to.
            unsafe { function(pool, precision, &addresses, ints) };
            copies.pop().unwrap()
        }
        Precision::F32 => {
            let mut copies: Vec<Vec<f32>> = buffers
                .iter()
                .map(|buffer| buffer.iter().map(|x| *x as f32).collect())
                .collect();
            let addresses: Vec<*mut u8> = copies
                .iter_mut()
                .map(|buffer| buffer.as_mut_ptr().cast())
                .collect();
            // SAFETY: the buffers contain every element that the integers refer to.
            unsafe { function(pool, precision, &addresses, ints) };
            copies.pop().unwrap().into_iter().map(f64::from).collect()
        }
    }
}

fn check(def: &'static PrimitiveDef, buffers: &[Vec<f64>], ints: &[i64], bound: [f64; 2]) {
    let mut expected = buffers.to_vec();
    (def.naive)(&mut expected, ints);
    let want = expected.pop().unwrap();
    for (precision, bound) in [(Precision::F32, bound[0]), (Precision::F64, bound[1])] {
        let mut first = None;
        for threads in [1, 2, 3] {
            let got = native(def, precision, &Pool::new(threads), buffers, ints);
            for (at, (got, want)) in got.iter().zip(&want).enumerate() {
                let close = (got - want).abs() <= bound * (1.0 + want.abs()) || got.is_nan() && want.is_nan();
                assert!(
                    close,
                    "{} {precision} {ints:?} at {at}: {got} not {want}",
                    def.name
                );
            }
            let bits: Vec<u64> = got.iter().map(|value| value.to_bits()).collect();
            assert_eq!(
                *first.get_or_insert(bits.clone()),
                bits,
                "{threads} threads change {} {ints:?}",
                def.name
            );
        }
    }
}

/// Returns the strides of axes with these sizes, and the number of elements. The order of the axes
/// in memory is random.
fn layout(random: &mut Random, sizes: &[i64]) -> (Vec<i64>, usize) {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    (1..order.len()).for_each(|i| order.swap(i, random.below(i as u64 + 1) as usize));
    let mut strides = vec![0; sizes.len()];
    let mut count = 1;
    for at in order {
        strides[at] = count;
        count *= sizes[at].max(1);
    }
    (strides, count as usize)
}

fn random_product(random: &mut Random, largest: [u64; 3]) -> (Vec<Vec<f64>>, Vec<i64>) {
    let [m, n, k] = largest.map(|limit| 1 + random.below(limit));
    let rank = random.below(3) as usize;
    let batch: Vec<i64> = (0..rank).map(|_| 1 + random.below(4)).collect();
    let mut operand = |sizes: [i64; 2], shared: bool| {
        let broadcast: Vec<bool> = batch.iter().map(|_| shared && random.below(2) == 0).collect();
        let own = batch
            .iter()
            .zip(&broadcast)
            .map(|(size, shared)| if *shared { 1 } else { *size });
        let sizes: Vec<i64> = sizes.into_iter().chain(own).collect();
        let (mut strides, count) = layout(random, &sizes);
        (0..rank)
            .filter(|at| broadcast[*at])
            .for_each(|at| strides[2 + at] = 0);
        (strides, random.reals(count))
    };
    let (a, b, c) = (
        operand([m, k], true),
        operand([k, n], true),
        operand([m, n], false),
    );
    let mut ints = vec![m, n, k, a.0[0], a.0[1], b.0[0], b.0[1], c.0[0], c.0[1]];
    for (at, size) in batch.iter().enumerate() {
        ints.extend([*size, a.0[2 + at], b.0[2 + at], c.0[2 + at]]);
    }
    (vec![a.1, b.1, c.1], ints)
}

#[test]
fn products_of_random_layouts_agree_with_the_reference() {
    let mut random = Random(1);
    for round in 0..400 {
        let largest = [
            [6, 6, 6],
            [40, 40, 40],
            [1, 70, 70],
            [70, 1, 70],
            [70, 70, 1],
            [1, 1, 90],
        ][round % 6];
        let (buffers, ints) = random_product(&mut random, largest);
        check(&primitive::MATMUL, &buffers, &ints, [2e-5, 2e-14]);
    }
}

#[test]
fn large_products_are_the_same_on_any_number_of_threads() {
    let mut random = Random(2);
    for (m, n, k, batch) in [
        (128, 400, 100, 1),
        (300, 10, 400, 1),
        (40, 40, 100, 12),
        (150, 90, 64, 3),
    ] {
        let count = |x: i64, y: i64| (x * y * batch) as usize;
        let buffers = vec![
            random.reals(count(m, k)),
            random.reals(count(k, n)),
            random.reals(count(m, n)),
        ];
        let ints = [m, n, k, k, 1, n, 1, n, 1, batch, m * k, k * n, m * n];
        check(&primitive::MATMUL, &buffers, &ints, [2e-5, 2e-14]);
        let transposed = [m, n, k, 1, m, 1, k, n, 1, batch, m * k, k * n, m * n];
        check(&primitive::MATMUL, &buffers, &transposed, [2e-5, 2e-14]);
    }
}

#[test]
fn an_empty_contraction_is_zero() {
    let buffers = vec![vec![], vec![], vec![7.0; 6]];
    check(
        &primitive::MATMUL,
        &buffers,
        &[2, 3, 0, 0, 1, 3, 1, 3, 1],
        [0.0, 0.0],
    );
    check(
        &primitive::MATMUL,
        &buffers,
        &[2, 3, 4, 4, 1, 3, 1, 3, 1, 0, 8, 12, 6],
        [0.0, 0.0],
    );
}

/// Returns `batch` random lower triangular matrices with a dominant diagonal.
fn triangles(random: &mut Random, batch: usize, n: usize) -> Vec<f64> {
    let mut l = random.reals(batch * n * n);
    for (at, value) in l.iter_mut().enumerate() {
        let (i, j) = (at / n % n, at % n);
        *value = if i == j {
            1.0 + value.abs()
        } else if j < i {
            *value / n as f64
        } else {
            0.0
        };
    }
    l
}

#[test]
fn cholesky_factors_agree_with_the_reference() {
    let mut random = Random(3);
    for (batch, n) in [(1, 1), (3, 5), (1, 48), (2, 49), (1, 150), (0, 4), (1, 0)] {
        let l = triangles(&mut random, batch, n);
        let mut a = vec![0.0; l.len()];
        for (at, value) in a.iter_mut().enumerate() {
            let (s, i, j) = (at / (n * n), at / n % n, at % n);
            *value = (0..n)
                .map(|k| l[(s * n + i) * n + k] * l[(s * n + j) * n + k])
                .sum();
        }
        let ints = [batch as i64, n as i64];
        check(
            &primitive::CHOLESKY,
            &[a, vec![9.0; l.len()]],
            &ints,
            [1e-5, 1e-13],
        );
    }
    let indefinite = vec![1.0, 2.0, 2.0, 1.0];
    check(
        &primitive::CHOLESKY,
        &[indefinite, vec![0.0; 4]],
        &[1, 2],
        [0.0, 0.0],
    );
}

#[test]
fn triangular_systems_agree_with_the_reference() {
    let mut random = Random(4);
    for (batch, n, columns) in [
        (1, 1, 1),
        (2, 7, 3),
        (1, 48, 1),
        (1, 130, 5),
        (3, 60, 60),
        (1, 0, 3),
        (1, 4, 0),
    ] {
        for transposed in [0, 1] {
            let l = triangles(&mut random, batch, n);
            let b = random.reals(batch * n * columns);
            let x = vec![9.0; b.len()];
            let ints = [batch as i64, n as i64, columns as i64, transposed];
            check(&primitive::TRIANGULAR_SOLVE, &[l, b, x], &ints, [1e-5, 1e-13]);
        }
    }
}

#[test]
fn running_sums_agree_with_the_reference() {
    let mut random = Random(5);
    for (outer, length, inner) in [(1, 5, 1), (3, 4, 7), (2, 1, 3), (0, 3, 2), (2, 0, 3)] {
        for reverse in [0, 1] {
            let x = random.reals(outer * length * inner);
            let y = vec![9.0; x.len()];
            let ints = [outer as i64, length as i64, inner as i64, reverse];
            check(&primitive::CUMSUM, &[x, y], &ints, [1e-6, 1e-15]);
        }
    }
}

#[test]
fn every_primitive_has_a_native_version() {
    for def in primitive::ALL {
        assert!(
            library::native(primitive::Primitive(def)).is_some(),
            "{}",
            def.name
        );
    }
}
