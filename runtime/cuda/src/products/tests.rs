//! Tests that converted products agree with the naive reference implementation of the primitive.
//! The tests compute the products in the way that the documentation of cuBLAS describes.

use super::*;
use bnnc_abi::primitive::MATMUL;
use bnnc_math::philox;

/// Computes a product as the documentation of `cublasDgemmStridedBatched` describes, with alpha 1
/// and beta 0.
fn carry_out(product: &BatchedProduct, buffers: &mut [Vec<f64>]) {
    let [m, n, k] = product.sizes.map(i64::from);
    let least = |operand: &MatrixOperand, rows, columns| if operand.transposed { columns } else { rows };
    assert!(i64::from(product.a.leading) >= least(&product.a, m, k).max(1));
    assert!(i64::from(product.b.leading) >= least(&product.b, k, n).max(1));
    assert!(i64::from(product.c.leading) >= m && !product.c.transposed);
    let at = |operand: &MatrixOperand, batch: i64, row: i64, column: i64| {
        let (row, column) = if operand.transposed {
            (column, row)
        } else {
            (row, column)
        };
        (operand.offset + batch * operand.stride + row + column * i64::from(operand.leading)) as usize
    };
    for batch in 0..i64::from(product.batch) {
        for row in 0..m {
            for column in 0..n {
                let term = |inner: i64| {
                    buffers[product.a.slot][at(&product.a, batch, row, inner)]
                        * buffers[product.b.slot][at(&product.b, batch, inner, column)]
                };
                let sum: f64 = (0..k).map(term).sum();
                buffers[2][at(&product.c, batch, row, column)] = sum;
            }
        }
    }
}

/// Checks that the converted products of a call give the result of the reference. Returns false if
/// cuBLAS cannot compute the call.
fn check(ints: &[i64], elements: [usize; 3]) -> bool {
    let fill = |slot: usize| {
        let value = |at: usize| philox::uniform(slot as u64, [0, 0, 0], at as u64);
        (0..elements[slot]).map(value).collect::<Vec<f64>>()
    };
    let mut want: Vec<Vec<f64>> = (0..3).map(fill).collect();
    let mut got = want.clone();
    (MATMUL.naive)(&mut want, ints);
    let Some(products) = products(ints) else {
        return false;
    };
    products.iter().for_each(|product| carry_out(product, &mut got));
    for (want, got) in want[2].iter().zip(&got[2]) {
        assert!((want - got).abs() < 1e-12, "{ints:?}");
    }
    true
}

#[test]
fn every_orientation_of_a_matrix_product_is_correct() {
    for (m, n, k) in [
        (3, 4, 5),
        (1, 4, 5),
        (3, 1, 5),
        (3, 4, 1),
        (1, 1, 5),
        (1, 1, 1),
        (3, 4, 0),
    ] {
        for transposed in 0..8 {
            let strides = |turn: i64, rows: i64, columns: i64| match turn {
                0 => [columns.max(1), 1],
                _ => [1, rows.max(1)],
            };
            let (a, b, c) = (
                strides(transposed & 1, m, k),
                strides(transposed >> 1 & 1, k, n),
                strides(transposed >> 2, m, n),
            );
            let ints = [m, n, k, a[0], a[1], b[0], b[1], c[0], c[1]];
            assert!(
                check(&ints, [(m * k) as usize, (k * n) as usize, (m * n) as usize]),
                "{ints:?}"
            );
        }
    }
}

#[test]
fn batches_are_joined_strided_or_looped() {
    // The strides of two adjacent axes agree, so the axes are joined.
    let joined = [2, 3, 4, 4, 1, 3, 1, 3, 1, 5, 48, 0, 36, 6, 8, 0, 6];
    let found = products(&joined).unwrap_or_default();
    assert_eq!((found.len(), found[0].batch), (1, 30));
    assert!(check(&joined, [240, 12, 180]));
    // `b` is shared only along the first axis, so the axes are not joined. Five calls compute six
    // products each.
    let looped = [2, 3, 4, 4, 1, 3, 1, 3, 1, 5, 48, 0, 36, 6, 8, 12, 6];
    let found = products(&looped).unwrap_or_default();
    assert_eq!((found.len(), found[0].batch), (5, 6));
    assert!(check(&looped, [240, 72, 180]));
    // The rows of `a` and of `c` are parts of longer rows.
    assert!(check(&[2, 3, 4, 9, 1, 3, 1, 7, 1], [18, 12, 14]));
}

#[test]
fn products_that_cublas_cannot_compute_are_left_to_our_kernels() {
    // Both strides of `a` differ from 1.
    assert_eq!(products(&[2, 3, 4, 8, 2, 3, 1, 3, 1]), None);
    // The rows of `a` overlap.
    assert_eq!(
        products(&[2, 3, 4, 1, 1, 3, 1, 3, 1]).map(|found| found[0].a.leading),
        None
    );
    // The call would need too many cuBLAS calls.
    assert_eq!(
        products(&[2, 3, 4, 4, 1, 3, 1, 3, 1, 100, 8, 0, 6, 99, 800, 12, 600]),
        None
    );
    assert_eq!(products(&[0, 3, 4, 4, 1, 3, 1, 3, 1]), Some(Vec::new()));
    assert_eq!(
        products(&[2, 3, 4, 4, 1, 3, 1, 3, 1, 0, 8, 0, 6]),
        Some(Vec::new())
    );
}
