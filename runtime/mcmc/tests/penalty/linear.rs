//! The model of a straight line `a + b x` with known noise and standard normal priors. The posterior of this model is
//! normal at any temperature.

use bnnc_mcmc::seam::Target;

/// The eight points of the published tables. The standard deviation of the noise is 0.3.
pub fn eight() -> Line {
    Line {
        x: vec![-1.5, -1.0, -0.4, 0.0, 0.3, 0.8, 1.2, 1.9],
        y: vec![-0.9, -0.8, 0.1, 0.25, 0.35, 1.0, 1.05, 1.7],
        noise: 0.3,
    }
}

pub struct Line {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub noise: f64,
}

/// A normal distribution of two quantities.
#[derive(Debug)]
pub struct Law {
    pub mean: [f64; 2],
    pub variance: [f64; 2],
    pub covariance: f64,
}

impl Law {
    /// Returns the normal distribution whose density is proportional to `exp(linear . t - t . precision t / 2)`. The
    /// precision matrix is `[[p, q], [q, r]]`.
    pub fn of_form(linear: [f64; 2], [p, q, r]: [f64; 3]) -> Law {
        let determinant = p * r - q * q;
        let (variance, covariance) = ([r / determinant, p / determinant], -q / determinant);
        Law {
            mean: [
                variance[0] * linear[0] + covariance * linear[1],
                covariance * linear[0] + variance[1] * linear[1],
            ],
            variance,
            covariance,
        }
    }
}

impl Line {
    /// Returns the posterior for a log likelihood that is multiplied by `power`.
    pub fn posterior(&self, power: f64) -> Law {
        let weight = power / (self.noise * self.noise);
        let sum = |of: fn(f64, f64) -> f64| -> f64 {
            self.x.iter().zip(&self.y).map(|(x, y)| weight * of(*x, *y)).sum()
        };
        Law::of_form(
            [sum(|_, y| y), sum(|x, y| x * y)],
            [1.0 + sum(|_, _| 1.0), sum(|x, _| x), 1.0 + sum(|x, _| x * x)],
        )
    }

    pub fn prior(&self, at: &[f64]) -> f64 {
        -0.5 * (at[0] * at[0] + at[1] * at[1])
    }

    /// Returns the log likelihood of a row, up to a constant.
    pub fn row(&self, row: usize, at: &[f64]) -> f64 {
        let rest = self.y[row] - at[0] - at[1] * self.x[row];
        -0.5 * (rest / self.noise).powi(2)
    }

    /// Returns the change of the log likelihood of these rows between two positions.
    pub fn change(&self, rows: &[u32], from: &[f64], to: &[f64]) -> f64 {
        rows.iter()
            .map(|row| self.row(*row as usize, to) - self.row(*row as usize, from))
            .sum()
    }
}

impl Target for Line {
    fn gradient(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64, gradient: &mut [f64]) -> f64 {
        gradient[0] = -at[0];
        gradient[1] = -at[1];
        let mut add = |row: usize| {
            let slope = scale * (self.y[row] - at[0] - at[1] * self.x[row]) / (self.noise * self.noise);
            gradient[0] += slope;
            gradient[1] += slope * self.x[row];
        };
        match rows {
            Some(rows) => rows.iter().for_each(|row| add(*row as usize)),
            None => (0..self.x.len()).for_each(&mut add),
        }
        self.value(at, rows, scale)
    }

    fn value(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64) -> f64 {
        let sum: f64 = match rows {
            Some(rows) => rows.iter().map(|row| self.row(*row as usize, at)).sum(),
            None => (0..self.x.len()).map(|row| self.row(row, at)).sum(),
        };
        self.prior(at) + scale * sum
    }

    fn differences(
        &mut self,
        from: &[f64],
        to: &[f64],
        rows: &[u32],
        ends: &[usize],
        sums: &mut [f64],
    ) -> f64 {
        let mut start = 0;
        for (sum, &end) in sums.iter_mut().zip(ends) {
            *sum = self.change(&rows[start..end], from, to);
            start = end;
        }
        self.prior(to) - self.prior(from)
    }
}
