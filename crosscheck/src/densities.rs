//! The densities for comparing the two samplers. They are written by hand.

use bnnc_mcmc::noise::{ChainNoise, Purpose};
use std::sync::LazyLock;

/// A density from which both samplers draw.
pub struct Law {
    pub name: &'static str,
    pub dimension: usize,
    /// Writes the gradient of the log density, and returns the log density.
    pub density: fn(&[f64], &mut [f64]) -> f64,
}

impl Law {
    /// Returns the start of a chain. Its elements are uniform between -2 and 2, as in Stan.
    pub fn start(&self, chain: u64) -> Vec<f64> {
        let noise = ChainNoise::new(4, self.name, chain as usize);
        (0..self.dimension)
            .map(|at| 4.0 * noise.uniform(Purpose::Start, 0, at) - 2.0)
            .collect()
    }
}

/// All densities that are compared.
pub const DENSITIES: &[Law] = &[
    Law {
        name: "round",
        dimension: 100,
        density: round,
    },
    Law {
        name: "scales",
        dimension: 50,
        density: scales,
    },
    Law {
        name: "chain",
        dimension: 50,
        density: chain,
    },
    Law {
        name: "schools",
        dimension: 10,
        density: schools,
    },
    Law {
        name: "regression",
        dimension: 3,
        density: regression,
    },
    Law {
        name: "logistic",
        dimension: 25,
        density: logistic,
    },
    Law {
        name: "network",
        dimension: 41,
        density: network,
    },
    Law {
        name: "groups",
        dimension: 23,
        density: groups,
    },
];

fn round(at: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.iter_mut().zip(at).for_each(|(slope, at)| *slope = -at);
    -0.5 * at.iter().map(|at| at * at).sum::<f64>()
}

/// Independent normal variables with standard deviations from 0.01 to 100.
fn scales(at: &[f64], gradient: &mut [f64]) -> f64 {
    let mut log_density = 0.0;
    for (i, (at, slope)) in at.iter().zip(gradient).enumerate() {
        let precision = 10.0_f64.powf(4.0 - 8.0 * i as f64 / 49.0);
        *slope = -precision * at;
        log_density += 0.5 * at * *slope;
    }
    log_density
}

/// A first-order autoregression with the coefficient 0.9. Its innovations have the variance 0.19.
fn chain(at: &[f64], gradient: &mut [f64]) -> f64 {
    gradient[0] = -at[0];
    let mut log_density = -0.5 * at[0] * at[0];
    for i in 1..at.len() {
        let residual = (at[i] - 0.9 * at[i - 1]) / 0.19;
        log_density -= 0.5 * 0.19 * residual * residual;
        gradient[i] = -residual;
        gradient[i - 1] += 0.9 * residual;
    }
    log_density
}

/// The eight-schools model in the non-centred parameterisation.
fn schools(at: &[f64], gradient: &mut [f64]) -> f64 {
    const EFFECTS: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
    const ERRORS: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
    let (mu, tau) = (at[8], at[9].exp());
    let square = (tau / 5.0).powi(2);
    let mut log_density = -mu * mu / 50.0 - square.ln_1p() + at[9];
    gradient[8] = -mu / 25.0;
    gradient[9] = 1.0 - 2.0 * square / (1.0 + square);
    for j in 0..8 {
        let residual = (EFFECTS[j] - mu - tau * at[j]) / ERRORS[j];
        let slope = residual / ERRORS[j];
        log_density -= 0.5 * (at[j] * at[j] + residual * residual);
        gradient[j] = slope * tau - at[j];
        gradient[8] += slope;
        gradient[9] += slope * tau * at[j];
    }
    log_density
}

/// A linear regression of scores. Its input has values around 100 and is not centred.
fn regression(at: &[f64], gradient: &mut [f64]) -> f64 {
    let precision = (-2.0 * at[2]).exp();
    let mut log_density = -400.0 * at[2];
    gradient.copy_from_slice(&[0.0, 0.0, -400.0]);
    for row in 0..400_u32 {
        let input = 100.0 + 15.0 * wave(row, 1);
        let residual = 26.0 + 0.6 * input + 18.0 * wave(row, 2) - at[0] - at[1] * input;
        log_density -= 0.5 * precision * residual * residual;
        gradient[0] += precision * residual;
        gradient[1] += precision * residual * input;
        gradient[2] += precision * residual * residual;
    }
    log_density
}

/// Returns pseudo-random numbers with mean 0 and variance 1, for up to 400 rows and 100 columns.
fn wave(row: u32, column: u32) -> f64 {
    static TABLE: LazyLock<Vec<f64>> = LazyLock::new(|| {
        (0..40_000)
            .map(|cell| irregular(cell / 100, cell % 100))
            .collect()
    });
    TABLE[(row * 100 + column) as usize]
}

fn irregular(row: u32, column: u32) -> f64 {
    let turn = f64::from(row + 1) * 0.618_033_988_75 + f64::from((row + 3) * (column + 1)) * 0.414_213_562_37;
    let turn = (turn + f64::from(row * row % 97) * 0.1 * f64::from(column)).fract();
    12.0_f64.sqrt() * (turn - 0.5)
}

/// A logistic regression with 200 rows. Its 24 inputs have different scales.
fn logistic(at: &[f64], gradient: &mut [f64]) -> f64 {
    let mut log_density = 0.0;
    for (at, slope) in at.iter().zip(gradient.iter_mut()) {
        *slope = -at / 25.0;
        log_density -= at * at / 50.0;
    }
    const SCALES: [f64; 5] = [0.1, 0.316, 1.0, 3.16, 10.0];
    for row in 0..200_u32 {
        let input = |column: usize| {
            SCALES[column % 5] * (wave(row, column as u32) + 0.7 * wave(row, (column / 4) as u32 + 50))
        };
        let inputs: [f64; 24] = std::array::from_fn(input);
        let logit = at[0]
            + inputs
                .iter()
                .zip(&at[1..])
                .map(|(input, weight)| input * weight)
                .sum::<f64>();
        let label = f64::from(u8::from(wave(row, 1) + wave(row, 2) + wave(row, 99) > 0.0));
        let signed = if label > 0.5 { logit } else { -logit };
        log_density -= (-signed).exp().ln_1p();
        let slope = label - 1.0 / (1.0 + (-logit).exp());
        gradient[0] += slope;
        for (to, input) in gradient[1..].iter_mut().zip(&inputs) {
            *to += slope * input;
        }
    }
    log_density
}

/// A network with two inputs and ten hidden units. The scale of the noise is known.
fn network(at: &[f64], gradient: &mut [f64]) -> f64 {
    let mut log_density = 0.0;
    for (at, slope) in at.iter().zip(gradient.iter_mut()) {
        *slope = -at;
        log_density -= 0.5 * at * at;
    }
    for row in 0..80_u32 {
        let input = [wave(row, 1), wave(row, 2)];
        let hidden: [f64; 10] =
            std::array::from_fn(|i| (at[i] * input[0] + at[10 + i] * input[1] + at[20 + i]).tanh());
        let mean = at[40] + (0..10).map(|i| hidden[i] * at[30 + i]).sum::<f64>();
        let residual = ((2.0 * input[0]).sin() + 0.3 * input[1] - mean) / 0.3;
        log_density -= 0.5 * residual * residual;
        let slope = residual / 0.3;
        gradient[40] += slope;
        for i in 0..10 {
            gradient[30 + i] += slope * hidden[i];
            let inner = slope * at[30 + i] * (1.0 - hidden[i] * hidden[i]);
            gradient[i] += inner * input[0];
            gradient[10 + i] += inner * input[1];
            gradient[20 + i] += inner;
        }
    }
    log_density
}

/// A hierarchical model with twenty groups of five rows, in the centred parameterisation. The
/// spread of the group means and the noise level are unknown.
fn groups(at: &[f64], gradient: &mut [f64]) -> f64 {
    let (centre, spread, noise) = (at[20], at[21], at[22]);
    let (between, within) = ((-2.0 * spread).exp(), (-2.0 * noise).exp());
    let mut log_density =
        -centre * centre / 50.0 - 0.5 * (spread * spread + noise * noise) - 20.0 * spread - 100.0 * noise;
    gradient.fill(0.0);
    gradient[20] = -centre / 25.0;
    gradient[21] = -spread - 20.0;
    gradient[22] = -noise - 100.0;
    for group in 0..20_u32 {
        let i = group as usize;
        let offset = at[i] - centre;
        log_density -= 0.5 * between * offset * offset;
        gradient[i] -= between * offset;
        gradient[20] += between * offset;
        gradient[21] += between * offset * offset;
        for row in 0..5 {
            let residual = 3.0 + wave(group, 7) + 0.5 * wave(group * 5 + row, 3) - at[i];
            log_density -= 0.5 * within * residual * residual;
            gradient[i] += within * residual;
            gradient[22] += within * residual * residual;
        }
    }
    log_density
}
