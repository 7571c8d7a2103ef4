//! Two small models with closed forms, and simple implementations of dense linear algebra.
#![allow(dead_code)]

/// Returns the product of two matrices with the shapes `[n, k]` and `[k, m]`.
pub fn product(a: &[f64], b: &[f64], k: usize) -> Vec<f64> {
    let (n, m) = (a.len() / k, b.len() / k);
    let element = |at: usize| (0..k).map(|l| a[at / m * k + l] * b[l * m + at % m]).sum();
    (0..n * m).map(element).collect()
}

/// Returns the transpose of a matrix with the shape `[n, m]`.
pub fn transposed(a: &[f64], m: usize) -> Vec<f64> {
    let n = a.len() / m;
    (0..n * m).map(|at| a[at % n * m + at / n]).collect()
}

/// Returns the inverse of a matrix and the logarithm of the absolute value of its determinant. Both are computed by
/// Gauss-Jordan elimination with row pivots.
pub fn inverse(a: &[f64]) -> (Vec<f64>, f64) {
    let n = a.len().isqrt();
    let mut work: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let unit = (0..n).map(|j| f64::from(u8::from(i == j)));
            a[i * n..(i + 1) * n].iter().copied().chain(unit).collect()
        })
        .collect();
    let mut log_determinant = 0.0;
    for column in 0..n {
        let pivot = (column..n).fold(column, |best, i| {
            if work[i][column].abs() > work[best][column].abs() {
                i
            } else {
                best
            }
        });
        work.swap(column, pivot);
        let lead = work[column][column];
        log_determinant += lead.abs().ln();
        work[column].iter_mut().for_each(|element| *element /= lead);
        let row = work[column].clone();
        for (i, other) in work.iter_mut().enumerate() {
            let factor = if i == column { 0.0 } else { other[column] };
            other
                .iter_mut()
                .zip(&row)
                .for_each(|(element, pivot)| *element -= factor * pivot);
        }
    }
    (
        work.iter().flat_map(|row| row[n..].iter().copied()).collect(),
        log_determinant,
    )
}

/// Returns the square root of a positive definite matrix, computed by the iteration of Denman and Beavers.
pub fn square_root(a: &[f64]) -> Vec<f64> {
    let n = a.len().isqrt();
    let mut y = a.to_vec();
    let mut z: Vec<f64> = (0..n * n)
        .map(|at| f64::from(u8::from(at / n == at % n)))
        .collect();
    for _ in 0..60 {
        let (y_inverse, z_inverse) = (inverse(&y).0, inverse(&z).0);
        y.iter_mut()
            .zip(&z_inverse)
            .for_each(|(y, z)| *y = 0.5 * (*y + z));
        z.iter_mut()
            .zip(&y_inverse)
            .for_each(|(z, y)| *z = 0.5 * (*z + y));
    }
    y
}

/// Returns the part of a square matrix that consists of the `chosen` rows and columns.
pub fn block(a: &[f64], chosen: &[usize]) -> Vec<f64> {
    let n = a.len().isqrt();
    chosen
        .iter()
        .flat_map(|i| chosen.iter().map(move |j| a[i * n + j]))
        .collect()
}

/// Returns a square matrix with `diagonal` added to each element of its diagonal.
pub fn plus_diagonal(mut a: Vec<f64>, diagonal: f64) -> Vec<f64> {
    let n = a.len().isqrt();
    (0..n).for_each(|i| a[i * n + i] += diagonal);
    a
}

/// Returns the diagonal of a square matrix.
pub fn diagonal(a: &[f64]) -> Vec<f64> {
    let n = a.len().isqrt();
    (0..n).map(|i| a[i * n + i]).collect()
}

/// Panics if two numbers differ by more than `tolerance`.
#[track_caller]
pub fn close(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance, "{got} is not {want}");
}

/// The regression with the network `f(x) = w2' tanh(w1 x + b1) + b2`. The network has two hidden units, three rows of data with
/// Normal noise, and the weights `w1, b1, w2, b2`.
pub mod regression {
    /// The values of the weights, in the order `w1, b1, w2, b2`.
    pub const WEIGHTS: [f64; 7] = [0.8, -0.5, 0.1, 0.2, 1.5, -1.0, 0.3];
    /// The inputs of the three rows.
    pub const X: [f64; 3] = [-1.0, 0.5, 2.0];
    /// The observations of the three rows.
    pub const Y: [f64; 3] = [-0.7, 1.1, 2.0];
    /// The standard deviation of the noise.
    pub const NOISE: f64 = 0.5;
    /// The prior precision of every weight.
    pub const PRECISION: f64 = 2.0;

    /// Returns the output of the network and its Jacobian.
    pub fn output(x: f64) -> (f64, [f64; 7]) {
        let w = WEIGHTS;
        let h = [(w[0] * x + w[2]).tanh(), (w[1] * x + w[3]).tanh()];
        let slope = [w[4] * (1.0 - h[0] * h[0]), w[5] * (1.0 - h[1] * h[1])];
        (
            w[4] * h[0] + w[5] * h[1] + w[6],
            [slope[0] * x, slope[1] * x, slope[0], slope[1], h[0], h[1], 1.0],
        )
    }

    /// Returns the generalised Gauss-Newton matrix of all rows.
    pub fn curvature() -> Vec<f64> {
        let mut sum = vec![0.0; 49];
        for x in X {
            let (_, jacobian) = output(x);
            for (at, element) in sum.iter_mut().enumerate() {
                *element += jacobian[at / 7] * jacobian[at % 7] / (NOISE * NOISE);
            }
        }
        sum
    }

    /// Returns the log likelihood of all rows.
    pub fn log_likelihood() -> f64 {
        let density = |(x, y): (&f64, &f64)| {
            let z = (y - output(*x).0) / NOISE;
            -0.5 * (z * z + std::f64::consts::TAU.ln()) - NOISE.ln()
        };
        X.iter().zip(&Y).map(density).sum()
    }
}

/// The classifier `softmax(W x)`. The classifier has three classes, four rows of data, row-major weights, and a prior with
/// precision 1.
pub mod classification {
    /// The weights `[3, 2]`.
    pub const WEIGHTS: [f64; 6] = [1.0, -0.5, 0.2, 0.4, -0.6, 0.3];
    /// The inputs of the four rows.
    pub const X: [[f64; 2]; 4] = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]];
    /// The input of the classifier's prediction.
    pub const NEW: [f64; 2] = [2.0, -1.0];

    /// Returns the logits for an input.
    pub fn logits(x: [f64; 2]) -> [f64; 3] {
        std::array::from_fn(|k| WEIGHTS[2 * k] * x[0] + WEIGHTS[2 * k + 1] * x[1])
    }

    /// Returns the Jacobian `[3, 6]` of the logits for an input.
    pub fn jacobian(x: [f64; 2]) -> Vec<f64> {
        (0..18)
            .map(|at| if at % 6 / 2 == at / 6 { x[at % 2] } else { 0.0 })
            .collect()
    }

    /// Returns the softmax of the logits.
    pub fn softmax(logits: &[f64]) -> Vec<f64> {
        let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
        logits.iter().map(|logit| logit.exp() / sum).collect()
    }

    /// Returns the curvature of a row's log likelihood with respect to the logits.
    pub fn row_curvature(x: [f64; 2]) -> Vec<f64> {
        let p = softmax(&logits(x));
        let element = |at: usize| f64::from(u8::from(at / 3 == at % 3)) * p[at / 3] - p[at / 3] * p[at % 3];
        (0..9).map(element).collect()
    }
}
