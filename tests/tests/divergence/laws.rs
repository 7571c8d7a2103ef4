//! Densities of distributions, written out from their definitions. The densities do not use the
//! files of the library.

use super::special::{e1_scaled, log_gamma};
use std::f64::consts::PI;

/// The distribution of a scalar.
pub struct Law {
    /// The name of the distribution in the library.
    pub name: &'static str,
    /// The names of the parameters, in order.
    pub params: &'static [&'static str],
    /// Returns the support for given parameters.
    pub support: fn(&[f64]) -> (f64, f64),
    /// Returns the log density at a point inside the support.
    pub log_density: fn(&[f64], f64) -> f64,
}

const REALS: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
const POSITIVE: (f64, f64) = (0.0, f64::INFINITY);

fn reals(_: &[f64]) -> (f64, f64) {
    REALS
}

fn positive(_: &[f64]) -> (f64, f64) {
    POSITIVE
}

/// Every distribution of the table except `Radial` and `Dirichlet`, which are joint distributions.
pub static ALL: &[Law] = &[
    Law {
        name: "Cauchy",
        params: &["loc", "scale"],
        support: reals,
        log_density: |p, x| -(PI * p[1] * (1.0 + ((x - p[0]) / p[1]).powi(2))).ln(),
    },
    Law {
        name: "Chi2",
        params: &["df"],
        support: positive,
        log_density: |p, x| gamma(0.5 * p[0], 2.0, x),
    },
    Law {
        name: "Erlang",
        params: &["shape", "scale"],
        support: positive,
        log_density: |p, x| gamma(p[0], p[1], x),
    },
    Law {
        name: "Error",
        params: &["loc", "scale", "shape"],
        support: reals,
        log_density: |p, x| {
            let power = 2.0 / p[2];
            -0.5 * ((x - p[0]).abs() / p[1]).powf(power)
                - p[1].ln()
                - (0.5 * p[2] + 1.0) * 2f64.ln()
                - log_gamma(1.0 + 0.5 * p[2])
        },
    },
    Law {
        name: "Exponential",
        params: &["scale"],
        support: positive,
        log_density: |p, x| gamma(1.0, p[0], x),
    },
    Law {
        name: "Gamma",
        params: &["shape", "scale"],
        support: positive,
        log_density: |p, x| gamma(p[0], p[1], x),
    },
    Law {
        name: "Horseshoe",
        params: &["loc", "scale"],
        support: reals,
        log_density: |p, x| {
            let z = (x - p[0]) / p[1];
            e1_scaled(0.5 * z * z).ln() - p[1].ln() - 0.5 * (2.0 * PI.powi(3)).ln()
        },
    },
    Law {
        name: "InverseGamma",
        params: &["shape", "scale"],
        support: positive,
        log_density: |p, x| p[0] * p[1].ln() - log_gamma(p[0]) - (p[0] + 1.0) * x.ln() - p[1] / x,
    },
    Law {
        name: "InverseGaussian",
        params: &["mean", "shape"],
        support: positive,
        log_density: |p, x| inverse_gaussian(p[0], p[1], x),
    },
    Law {
        name: "Laplace",
        params: &["loc", "scale"],
        support: reals,
        log_density: |p, x| -(x - p[0]).abs() / p[1] - (2.0 * p[1]).ln(),
    },
    Law {
        name: "LogGamma",
        params: &["shape", "scale"],
        support: reals,
        // The density of the logarithm of a gamma variable.
        log_density: |p, x| gamma(p[0], p[1], x.exp()) + x,
    },
    Law {
        name: "LogNormal",
        params: &["loc", "scale"],
        support: positive,
        log_density: |p, x| normal(p[0], p[1], x.ln()) - x.ln(),
    },
    Law {
        name: "Logistic",
        params: &["loc", "scale"],
        support: reals,
        log_density: |p, x| {
            let z = ((x - p[0]) / p[1]).abs();
            -z - 2.0 * (-z).exp().ln_1p() - p[1].ln()
        },
    },
    Law {
        name: "Mixture",
        params: &["weight", "loc", "scale", "loc 2", "scale 2"],
        support: reals,
        log_density: |p, x| {
            let first = p[0].ln() + normal(p[1], p[2], x);
            let second = (-p[0]).ln_1p() + normal(p[3], p[4], x);
            first.max(second) + (-(first - second).abs()).exp().ln_1p()
        },
    },
    Law {
        name: "Normal",
        params: &["loc", "scale"],
        support: reals,
        log_density: |p, x| normal(p[0], p[1], x),
    },
    Law {
        name: "Pareto",
        params: &["scale", "shape"],
        support: |p| (p[0], f64::INFINITY),
        log_density: |p, x| p[1].ln() + p[1] * p[0].ln() - (p[1] + 1.0) * x.ln(),
    },
    Law {
        name: "Rayleigh",
        params: &["scale"],
        support: positive,
        log_density: |p, x| weibull(2.0, p[0] * 2f64.sqrt(), x),
    },
    Law {
        name: "StandardWald",
        params: &["scale"],
        support: positive,
        // The variable is `scale` times an inverse Gaussian variable. The mean and the shape of the
        // inverse Gaussian are one.
        log_density: |p, x| inverse_gaussian(p[0], p[0], x),
    },
    Law {
        name: "Weibull",
        params: &["shape", "scale"],
        support: positive,
        log_density: |p, x| weibull(p[0], p[1], x),
    },
];

impl Law {
    /// Returns the points where a density on the reals may have a peak or a kink.
    pub fn locations(&self, values: &[f64]) -> Vec<f64> {
        let is_location = |name: &&str| name.starts_with("loc");
        let named = self.params.iter().zip(values);
        named
            .filter(|(name, _)| is_location(name))
            .map(|(_, value)| *value)
            .collect()
    }
}

/// Returns the distribution with this name.
pub fn law(name: &str) -> &'static Law {
    match ALL.iter().find(|law| law.name == name) {
        Some(law) => law,
        None => panic!("`{name}` is no law over scalars"),
    }
}

fn normal(mean: f64, sd: f64, x: f64) -> f64 {
    -0.5 * ((x - mean) / sd).powi(2) - sd.ln() - 0.5 * (2.0 * PI).ln()
}

fn gamma(shape: f64, scale: f64, x: f64) -> f64 {
    (shape - 1.0) * x.ln() - x / scale - log_gamma(shape) - shape * scale.ln()
}

fn weibull(shape: f64, scale: f64, x: f64) -> f64 {
    let z = x / scale;
    shape.ln() - scale.ln() + (shape - 1.0) * z.ln() - z.powf(shape)
}

fn inverse_gaussian(mean: f64, shape: f64, x: f64) -> f64 {
    0.5 * (shape / (2.0 * PI)).ln() - 1.5 * x.ln() - 0.5 * shape * (x - mean).powi(2) / (mean * mean * x)
}

/// Returns the density of one element of a radial variable in three dimensions with unit scale. An
/// element of the direction is uniform on (-1, 1), and the radius is half-normal. The density is
/// therefore proportional to the density of a horseshoe.
pub fn radial_element(z: f64) -> f64 {
    let half = 0.5 * z * z;
    e1_scaled(half) * (-half).exp() / (8.0 * PI).sqrt()
}

/// Returns the negative entropy of the radial distribution in `n` dimensions with unit scales. The
/// negative entropy is the constant term in the KL divergence from the radial distribution to a
/// normal distribution.
pub fn radial_constant(n: usize) -> f64 {
    let n = n as f64;
    let sphere = 2f64.ln() + 0.5 * n * PI.ln() - log_gamma(0.5 * n);
    let mean_log_radius = -0.5 * (EULER + 2f64.ln());
    (2.0 / (2.0 * PI).sqrt()).ln() - 0.5 - sphere - (n - 1.0) * mean_log_radius
}

/// Euler's constant.
pub const EULER: f64 = 0.577_215_664_901_532_9;

/// Returns the log density at `z` of the radial distribution with unit scales.
pub fn radial(z: &[f64]) -> f64 {
    let n = z.len() as f64;
    let square = z.iter().map(|z| z * z).sum::<f64>().max(f64::MIN_POSITIVE);
    let sphere = 2f64.ln() + 0.5 * n * PI.ln() - log_gamma(0.5 * n);
    0.5 * (2.0 / PI).ln() - 0.5 * square - sphere - 0.5 * (n - 1.0) * square.ln()
}
