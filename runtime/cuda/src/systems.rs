//! Converts triangular systems to the form that cuBLAS requires: column-major, in place, and one
//! matrix per call.
//!
//! Note [Systems by columns]. The matrices of a plan are row-major. Since cuBLAS expects
//! column-major matrices, it reads each as its transpose. A lower triangle `l` becomes an upper
//! triangle `u`, and right-hand sides become
//! rows. The system `l x = b` becomes `x^T u = b^T`, with the matrix on the right and not
//! transposed. The system `l^T x = b` becomes `x^T u^T = b^T`. cuBLAS does not read the other
//! triangle of the matrix.

/// If a call of the primitive has more systems than this, bnnc's kernel solves them, because cuBLAS
/// would need one call per system.
const MOST: i64 = 64;
/// The number of sequential multiply-adds that a thread of bnnc's kernel makes in the time of one
/// cuBLAS call. A multiply-add takes about 20 ns, and a call takes about 10 us. These times are
/// estimates, not measurements.
const CALL: i64 = 500;

/// The triangular systems of a call of `triangular_solve`. See Note [Systems by columns].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    /// The number of rows and columns of each matrix.
    pub n: i32,
    /// The number of right-hand sides of each matrix.
    pub columns: i32,
    /// True if the systems are solved for the transposed matrices.
    pub transposed: bool,
    /// The number of matrices. They follow one another in memory.
    pub batch: i64,
}

impl System {
    /// Returns two numbers of elements: of each matrix, and of the right-hand sides of each matrix.
    pub fn elements(&self) -> [i64; 2] {
        let n = i64::from(self.n);
        [n * n, n * i64::from(self.columns)]
    }
}

/// Returns the systems of a call with these integers. Returns `None` if bnnc's kernel, which uses
/// one thread for each right-hand side, is at least as fast.
pub fn system(ints: &[i64]) -> Option<System> {
    let [batch, n, columns, transposed] = *ints.as_array()?;
    // One right-hand side takes n (n - 1) / 2 sequential multiply-adds.
    let chain = n.saturating_mul(n) / 2;
    let pays = (1..=MOST).contains(&batch) && chain >= CALL * batch;
    let size = |size: i64| i32::try_from(size).ok().filter(|size| *size > 0 && pays);
    Some(System {
        n: size(n)?,
        columns: size(columns)?,
        transposed: transposed == 1,
        batch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_abi::primitive::TRIANGULAR_SOLVE;
    use bnnc_math::philox;

    /// Solves a system as the documentation of `cublasDtrsm` describes, with the matrix on the
    /// right, its upper triangle, a non-unit diagonal, and alpha 1. The `m` by `n` matrix `B` is
    /// overwritten by the solution `X` of `X op(A) = B`. Column `j` of this product is the sum over
    /// `k` of column `k` of `X` times `op(A)[k, j]`.
    fn carry_out(transposed: bool, (m, n): (usize, usize), a: &[f64], b: &mut [f64]) {
        let element = |k: usize, j: usize| {
            let (row, column) = if transposed { (j, k) } else { (k, j) };
            assert!(row <= column, "the other triangle is read");
            a[row + column * n]
        };
        for step in 0..n {
            let j = if transposed { n - 1 - step } else { step };
            let known = if transposed { j + 1..n } else { 0..j };
            for row in 0..m {
                let sum: f64 = known.clone().map(|k| b[row + k * m] * element(k, j)).sum();
                b[row + j * m] = (b[row + j * m] - sum) / element(j, j);
            }
        }
    }

    /// Returns well-conditioned operands. The triangle that must not be read contains arbitrary
    /// numbers.
    fn operands(batch: usize, n: usize, columns: usize) -> Vec<Vec<f64>> {
        let value = |slot: u64, at: usize| philox::uniform(slot, [0, 0, 0], at as u64) - 0.5;
        let l = (0..batch * n * n).map(|at| match (at / n % n, at % n) {
            (i, j) if i == j => 2.0 + value(0, at),
            (i, j) if i < j => f64::NAN,
            _ => value(0, at) / n as f64,
        });
        let b = (0..batch * n * columns).map(|at| value(1, at));
        vec![l.collect(), b.collect(), vec![9.0; batch * n * columns]]
    }

    #[test]
    fn systems_equal_those_of_the_reference() {
        for (batch, n, columns) in [(1, 32, 1), (1, 40, 3), (2, 50, 7), (3, 60, 1), (64, 260, 1)] {
            for transposed in [0, 1] {
                let ints = [batch as i64, n as i64, columns as i64, transposed];
                let mut want = operands(batch, n, columns);
                let mut got = want.clone();
                (TRIANGULAR_SOLVE.naive)(&mut want, &ints);
                let system = system(&ints).expect("large enough");
                got[2] = got[1].clone();
                let [square, right] = system.elements().map(|elements| elements as usize);
                let sizes = (system.columns as usize, system.n as usize);
                for at in 0..system.batch as usize {
                    let (l, x) = (&got[0][at * square..][..square].to_vec(), &mut got[2]);
                    carry_out(system.transposed, sizes, l, &mut x[at * right..][..right]);
                }
                for (want, got) in want[2].iter().zip(&got[2]) {
                    assert!((want - got).abs() < 1e-12, "{ints:?}: {want} {got}");
                }
            }
        }
    }

    #[test]
    fn systems_that_do_not_pay_are_left_to_our_kernel() {
        for ints in [
            [1, 31, 5, 0],
            [2, 32, 5, 0],
            [65, 4000, 1, 1],
            [0, 100, 1, 0],
            [1, 100, 0, 0],
            [1, 0, 1, 0],
            [1, 1 << 40, 1, 0],
        ] {
            assert_eq!(system(&ints), None, "{ints:?}");
        }
        assert_eq!(system(&[1, 100, 1]), None);
    }
}
