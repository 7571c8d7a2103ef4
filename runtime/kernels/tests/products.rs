//! Matrix products agree with the naive reference implementation. The kernels of every supported
//! instruction set are tested.
//!
//! Elements are multiples of 1/64 between -1 and 1. A sum of fewer than 4096 products is therefore
//! exact in both precisions, and the results must be equal for any order of summation.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use bnnc_abi::primitive;
use bnnc_base::dtype::Precision;
use bnnc_kernels::arrays::Level;
use bnnc_kernels::matmul::matmul_at;
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

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn exact(&mut self, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| (self.below(129) as f64 - 64.0) / 64.0)
            .collect()
    }
}

/// An element type of matrices: `f32` or `f64`.
trait Number: Copy + Default + PartialEq + std::fmt::Debug {
    const PRECISION: Precision;
    fn of(value: f64) -> Self;
    fn bits(self) -> u64;
}

impl Number for f32 {
    const PRECISION: Precision = Precision::F32;
    fn of(value: f64) -> f32 {
        value as f32
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Number for f64 {
    const PRECISION: Precision = Precision::F64;
    fn of(value: f64) -> f64 {
        value
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// Returns the product computed by the kernels of one instruction set. The last of `buffers` holds
/// the initial values of the result.
fn run<T: Number>(level: Level, pool: &Pool, buffers: &[Vec<f64>], ints: &[i64]) -> Vec<T> {
    let mut copies: Vec<Vec<T>> = buffers
        .iter()
        .map(|buffer| buffer.iter().map(|value| T::of(*value)).collect())
        .collect();
    let addresses: Vec<*mut u8> = copies.iter_mut().map(|copy| copy.as_mut_ptr().cast()).collect();
    // SAFETY: the buffers contain every element that the integers refer to.
    unsafe { matmul_at(level, pool, T::PRECISION, &addresses, ints) };
    copies.pop().unwrap()
}

fn check(pool: &Pool, buffers: &[Vec<f64>], ints: &[i64]) {
    let mut expected = buffers.to_vec();
    (primitive::MATMUL.naive)(&mut expected, ints);
    let want = expected.pop().unwrap();
    for level in Level::supported() {
        let single: Vec<f64> = run::<f32>(*level, pool, buffers, ints)
            .into_iter()
            .map(f64::from)
            .collect();
        assert!(single == want, "f32 {level:?} {ints:?}");
        let double = run::<f64>(*level, pool, buffers, ints);
        assert!(double == want, "f64 {level:?} {ints:?}");
    }
}

/// The layout of one operand in memory.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Rows,
    Columns,
    /// Elements are not adjacent along either axis, and there is a gap after each row.
    Gaps,
    /// The stride between rows makes the rows compete for the same sets of a cache.
    Pages,
    /// The stride between columns makes the columns compete for the same sets of a cache.
    ColumnPages,
    /// The second axis is broadcast: its stride is zero.
    Broadcast,
}

/// Returns the strides of a matrix, and its elements.
fn matrix(random: &mut Random, layout: Layout, rows: usize, columns: usize) -> ([i64; 2], Vec<f64>) {
    let strides = match layout {
        Layout::Rows => [columns, 1],
        Layout::Columns => [1, rows],
        Layout::Gaps => [2 * columns + 3, 2],
        Layout::Pages => [columns.next_multiple_of(1024), 1],
        Layout::ColumnPages => [1, rows.next_multiple_of(1024)],
        Layout::Broadcast => [1, 0],
    };
    let reach = rows.saturating_sub(1) * strides[0] + columns.saturating_sub(1) * strides[1] + 1;
    let strides = strides.map(|stride| stride as i64);
    (strides, random.exact(reach))
}

const OPERAND: &[Layout] = &[
    Layout::Rows,
    Layout::Rows,
    Layout::Columns,
    Layout::Columns,
    Layout::Gaps,
    Layout::Pages,
    Layout::ColumnPages,
    Layout::Broadcast,
];
const RESULT: &[Layout] = &[
    Layout::Rows,
    Layout::Rows,
    Layout::Columns,
    Layout::Gaps,
    Layout::Pages,
];

/// Returns operands without batch axes, and the integer arguments of the call.
fn product(random: &mut Random, [m, n, k]: [usize; 3]) -> (Vec<Vec<f64>>, Vec<i64>) {
    let [left, right, result] = [OPERAND, OPERAND, RESULT].map(|choices| random.pick(choices));
    let (a, a_data) = matrix(random, left, m, k);
    let (b, b_data) = matrix(random, right, k, n);
    let (c, c_data) = matrix(random, result, m, n);
    let sizes = [m, n, k].map(|size| size as i64);
    let ints = [&sizes[..], &a, &b, &c].concat();
    (vec![a_data, b_data, c_data], ints)
}

#[test]
fn small_products_are_exact_in_all_layouts() {
    let (mut random, pool) = (Random(1), Pool::new(2));
    for _ in 0..1500 {
        let sizes =
            [0; 3].map(|_| random.pick(&[0, 1, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33, 48, 50, 61]));
        let (buffers, ints) = product(&mut random, sizes);
        check(&pool, &buffers, &ints);
    }
}

#[test]
fn large_products_are_exact_in_all_layouts() {
    let (mut random, pool) = (Random(2), Pool::new(2));
    let sizes = [
        [128, 10, 400],
        [131, 97, 211],
        [257, 65, 40],
        [300, 33, 5],
        [17, 70, 1025],
        [5, 3, 2100],
        [1, 500, 300],
        [500, 1, 300],
        [1, 5000, 9],
        [1, 1, 3001],
        [64, 64, 64],
        [256, 64, 1024],
        [515, 66, 20],
    ];
    for _ in 0..12 {
        for sizes in sizes {
            let (buffers, ints) = product(&mut random, sizes);
            check(&pool, &buffers, &ints);
        }
    }
}

#[test]
fn batches_with_shared_operands_are_exact() {
    let (mut random, pool) = (Random(3), Pool::new(2));
    for _ in 0..300 {
        let sizes = [0; 3].map(|_| random.pick(&[1, 2, 5, 16, 19, 40]));
        let (mut buffers, mut ints) = product(&mut random, sizes);
        for _ in 0..random.below(3) {
            let size = random.below(4);
            let mut axis = vec![size as i64];
            for (at, buffer) in buffers.iter_mut().enumerate() {
                // The matrices of a batch follow one another, sometimes with a gap, or all items
                // share one matrix.
                let shared = at < 2 && random.below(3) == 0;
                let stride = if shared { 0 } else { buffer.len() + random.below(2) };
                let reach = buffer.len() + size.saturating_sub(1) * stride;
                *buffer = random.exact(reach);
                axis.push(stride as i64);
            }
            ints.extend(axis);
        }
        check(&pool, &buffers, &ints);
    }
}

/// Returns random elements whose sums need rounding.
fn rounded(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count)
        .map(|_| (random.next() >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
        .collect()
}

fn bits<T: Number>(values: &[T]) -> Vec<u64> {
    values.iter().map(|value| value.bits()).collect()
}

#[test]
fn results_do_not_depend_on_threads() {
    let mut random = Random(4);
    let pools = [1, 2, 3].map(Pool::new);
    let shapes = [
        [128, 400, 100],
        [300, 10, 400],
        [40, 33, 1500],
        [1, 4000, 150],
        [4000, 1, 150],
    ];
    for [m, n, k] in shapes {
        let buffers = [m * k, k * n, m * n].map(|count| rounded(&mut random, count));
        let [rows, columns, depth] = [m, n, k].map(|size| size as i64);
        for (a, b) in [
            ([depth, 1], [columns, 1]),
            ([1, rows], [columns, 1]),
            ([depth, 1], [1, depth]),
        ] {
            let ints = [rows, columns, depth, a[0], a[1], b[0], b[1], columns, 1];
            for level in Level::supported() {
                let single = pools
                    .each_ref()
                    .map(|pool| bits(&run::<f32>(*level, pool, &buffers, &ints)));
                assert!(single[0] == single[1] && single[0] == single[2], "f32 {ints:?}");
                let double = pools
                    .each_ref()
                    .map(|pool| bits(&run::<f64>(*level, pool, &buffers, &ints)));
                assert!(double[0] == double[1] && double[0] == double[2], "f64 {ints:?}");
            }
        }
    }
}

/// The order of summation depends only on `k`. Rows of a large product are therefore bitwise equal
/// to the product of these rows alone.
#[test]
fn an_element_does_not_depend_on_its_neighbours() {
    let (mut random, pool) = (Random(5), Pool::new(1));
    let (m, n, k) = (150, 90, 1300);
    let buffers = [m * k, k * n, m * n].map(|count| rounded(&mut random, count));
    let [columns, depth] = [n as i64, k as i64];
    let ints = |rows: usize| [rows as i64, columns, depth, depth, 1, columns, 1, columns, 1];
    for level in Level::supported() {
        let whole = bits(&run::<f32>(*level, &pool, &buffers, &ints(m)));
        for rows in [2, 7, 33, 149] {
            let part = bits(&run::<f32>(*level, &pool, &buffers, &ints(rows)));
            assert!(part[..rows * n] == whole[..rows * n], "{level:?} {rows}");
        }
    }
}
