//! The log densities of the models of `examples/posteriors`, written in plain arithmetic and
//! including constants. The formulas follow the descriptions that come with the reference draws. If
//! a distribution is restricted to one half of the reals, its density there is doubled.

use serde_json::Value;
use std::f64::consts::{LN_2, PI};

pub fn normal(x: f64, mean: f64, sd: f64) -> f64 {
    -0.5 * ((x - mean) / sd).powi(2) - sd.ln() - 0.5 * (2.0 * PI).ln()
}

fn half_normal(x: f64, sd: f64) -> f64 {
    LN_2 + normal(x, 0.0, sd)
}

fn half_cauchy(x: f64, scale: f64) -> f64 {
    LN_2 - PI.ln() - scale.ln() - (1.0 + (x / scale).powi(2)).ln()
}

fn numbers(data: &Value, name: &str) -> Vec<f64> {
    let values = data[name].as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Returns the sum of normal log densities of `y`. Each density is centred at the predicted mean of
/// its row.
fn regression(y: &[f64], sd: f64, mean: impl Fn(usize) -> f64) -> f64 {
    y.iter().enumerate().map(|(i, y)| normal(*y, mean(i), sd)).sum()
}

/// Returns the log density of a model at `q`, which contains alpha, beta[1..5] and sigma.
pub fn ar5(data: &Value, q: &[f64]) -> f64 {
    let y = numbers(data, "y");
    let (alpha, beta, sigma) = (q[0], &q[1..6], q[6]);
    let mean = |t: usize| alpha + (1..=5).map(|k| beta[k - 1] * y[t - k]).sum::<f64>();
    let series: f64 = (5..y.len()).map(|t| normal(y[t], mean(t), sigma)).sum();
    series + q[..6].iter().map(|b| normal(*b, 0.0, 10.0)).sum::<f64>() + half_cauchy(sigma, 2.5)
}

/// Returns the log density of a model at `q`, which contains beta[1..5] and sigma.
pub fn blr(data: &Value, q: &[f64]) -> f64 {
    let y = numbers(data, "y");
    let rows = data["X"].as_array().unwrap();
    let row = |i: usize| -> Vec<f64> {
        let row = rows[i].as_array().unwrap().iter();
        row.map(|x| x.as_f64().unwrap()).collect()
    };
    let (beta, sigma) = (&q[..5], q[5]);
    let prior: f64 = beta.iter().map(|b| normal(*b, 0.0, 10.0)).sum();
    regression(&y, sigma, |i| dot(&row(i), beta)) + prior + half_normal(sigma, 10.0)
}

/// Returns the log density of a model at `q`, which contains theta[1..8], mu and tau. The log
/// density includes the density of theta given mu and tau.
pub fn schools_centred(data: &Value, q: &[f64]) -> f64 {
    let (y, s) = (numbers(data, "y"), numbers(data, "sigma"));
    let (theta, mu, tau) = (&q[..8], q[8], q[9]);
    let likelihood: f64 = (0..8).map(|j| normal(y[j], theta[j], s[j])).sum();
    let prior: f64 = theta.iter().map(|theta| normal(*theta, mu, tau)).sum();
    likelihood + prior + normal(mu, 0.0, 5.0) + half_cauchy(tau, 5.0)
}

/// Returns the log density of a model at `q`, which contains eta[1..8], mu and tau.
pub fn schools(data: &Value, q: &[f64]) -> f64 {
    let (y, s) = (numbers(data, "y"), numbers(data, "sigma"));
    let (eta, mu, tau) = (&q[..8], q[8], q[9]);
    let likelihood: f64 = (0..8).map(|j| normal(y[j], mu + tau * eta[j], s[j])).sum();
    let prior: f64 = eta.iter().map(|eta| normal(*eta, 0.0, 1.0)).sum();
    likelihood + prior + normal(mu, 0.0, 5.0) + half_cauchy(tau, 5.0)
}

/// The data of a linear regression: for each case, a row of inputs and an output.
pub struct Cases {
    pub inputs: Vec<Vec<f64>>,
    pub outputs: Vec<f64>,
}

impl Cases {
    /// Returns the log density at `q`, which contains the coefficients, followed by sigma. The
    /// coefficients and sigma have flat priors.
    fn log_density(&self, q: &[f64]) -> f64 {
        let (sigma, beta) = q.split_last().unwrap();
        regression(&self.outputs, *sigma, |i| dot(&self.inputs[i], beta))
    }
}

pub fn kidscore_cases(data: &Value) -> Cases {
    let iq = numbers(data, "mom_iq");
    Cases {
        inputs: iq.iter().map(|iq| vec![1.0, *iq]).collect(),
        outputs: numbers(data, "kid_score"),
    }
}

pub fn earnings_cases(data: &Value) -> Cases {
    let [earn, height, male] = ["earn", "height", "male"].map(|name| numbers(data, name));
    let row = |i: usize| vec![1.0, height[i], male[i], height[i] * male[i]];
    Cases {
        inputs: (0..earn.len()).map(row).collect(),
        outputs: earn.iter().map(|earn| earn.ln()).collect(),
    }
}

pub fn mesquite_cases(data: &Value) -> Cases {
    let of = |name: &str| numbers(data, name);
    let (d1, d2, canopy) = (of("diam1"), of("diam2"), of("canopy_height"));
    let (height, density, group) = (of("total_height"), of("density"), of("group"));
    let row = |i: usize| {
        let (a, b, c) = (d1[i].ln(), d2[i].ln(), canopy[i].ln());
        vec![
            1.0,
            a + b + c,
            a + b,
            a - b,
            height[i].ln(),
            density[i].ln(),
            group[i],
        ]
    };
    let outputs: Vec<f64> = of("weight").iter().map(|weight| weight.ln()).collect();
    Cases {
        inputs: (0..outputs.len()).map(row).collect(),
        outputs,
    }
}

/// Returns the log density of a model at `q`, which contains beta[1..2] and sigma.
pub fn kidscore(data: &Value, q: &[f64]) -> f64 {
    kidscore_cases(data).log_density(q) + half_cauchy(q[2], 2.5)
}

/// Returns the log density of a model at `q`, which contains beta[1..4] and sigma.
pub fn earnings(data: &Value, q: &[f64]) -> f64 {
    earnings_cases(data).log_density(q)
}

/// Returns the log density of a model at `q`, which contains beta[1..7] and sigma.
pub fn mesquite(data: &Value, q: &[f64]) -> f64 {
    mesquite_cases(data).log_density(q)
}

/// Returns the log density of a model at `q`, which contains alpha and beta.
pub fn votes(data: &Value, q: &[f64]) -> f64 {
    let (vote, income) = (numbers(data, "vote"), numbers(data, "income"));
    let term = |(vote, income): (&f64, &f64)| {
        let logit = q[0] + q[1] * income;
        let signed = if *vote == 1.0 { logit } else { -logit };
        -(-signed).exp().ln_1p()
    };
    vote.iter().zip(&income).map(term).sum()
}
