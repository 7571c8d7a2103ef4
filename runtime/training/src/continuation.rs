//! A short continuation of a training under noise: steps of Adam over all rows, at a rate that rises again and then falls to zero.
//!
//! Where the noise of a gradient hides what is left to gain, a descent on a few fixed draws of the noise finds nothing, but steps with noise of their own do. They
//! begin at a rate that moves the parameters and end where the noise of the steps has died away, so that the end is lower than the start only where the training was short.
//!
//! On 40 trainings by `vi` of four networks (yacht, energy, concrete and wine; 1000 to 40,000 steps under `schedule = cosine`, two seeds) those of yacht and energy with 1000 and 3000
//! steps gained 0.07 to 1.2 nats per row, an eighth to a half of what longer trainings gained, and are reported, as those of wine with 1000. None of 10,000 steps and more is: those of
//! yacht and energy lost 0.01 to 0.05 nats per row. Of concrete too few steps can be afforded. A tenth of the steps does not distinguish 3000 steps from 20,000.

use super::surface::Surface;
use bnnc_core::context::Stop;
use std::f64::consts::PI;
use std::ops::Range;

/// Floating-point operations of the steps: about a tenth of a second.
pub const OPERATIONS: u64 = 500_000_000;

/// The most steps.
pub const MOST: usize = 700;

/// The fewest steps that show something.
pub const FEWEST: usize = 200;

/// The part of what is left to gain that the steps recover, at most about.
pub const RECOVERED: f64 = 0.5;

/// The largest rate: parameters are of size one.
const RATE: f64 = 0.01;

/// The decay of the means of the gradient and of its square (Kingma and Ba 2015), the second faster than by default because the steps are few.
const DECAYS: [f64; 2] = [0.9, 0.99];

/// Keeps a division by a zero gradient from happening.
const LEAST: f64 = 1e-8;

/// The parameters after one step for each number of the noise.
///
/// # Errors
/// As training.
pub fn end(surface: &mut Surface, start: &[f64], noise: Range<usize>) -> Result<Vec<f64>, Stop> {
    let steps = noise.len() as f64;
    let mut point = start.to_vec();
    let [mut slope, mut mean, mut square] = [0; 3].map(|_| vec![0.0; start.len()]);
    for (step, number) in noise.enumerate() {
        slope.fill(0.0);
        surface.add(&point, number, &mut slope)?;
        let rate = 0.5 * RATE * (1.0 + (PI * step as f64 / steps).cos());
        let [of_mean, of_square] = DECAYS.map(|decay| 1.0 - decay.powf(step as f64 + 1.0));
        let means = mean.iter_mut().zip(&mut square);
        for ((value, slope), (mean, square)) in point.iter_mut().zip(&slope).zip(means) {
            *mean += (1.0 - DECAYS[0]) * (slope - *mean);
            *square += (1.0 - DECAYS[1]) * (slope * slope - *square);
            *value -= rate * (*mean / of_mean) / ((*square / of_square).sqrt() + LEAST);
        }
    }
    Ok(point)
}
