//! A short continuation of a training whose loss has noise: Adam steps on batches of rows, with a learning rate that is high again at the start and
//! decreases to zero.
//!
//! The noise of a gradient may hide by how much the loss could still decrease. In this case, a descent on a few fixed draws of the noise finds no
//! lower loss, but steps with fresh noise do. The learning rate of these steps is large at the start and zero at the end, so that the last parameters
//! have little noise. The loss at the end is therefore lower than the loss at the start only if the training was too short.
//!
//! Measured on 40 trainings by `vi` of four networks (yacht, energy, concrete and wine; 1000 to 40,000 steps under `schedule = cosine`, two or three
//! seeds). The continuations of trainings with 1000 steps gained 0.17 to 0.74 nats per row, those of trainings with 3000 steps 0.05 to 0.18 (wine:
//! 0.01 to 0.02). All of these are reported, except for one of wine, of which 0.05 nats per row were left. The continuations of trainings with 10,000
//! steps or more lost 0.005 to 0.08 nats per row.

use super::surface::Surface;
use bnnc_core::context::Stop;
use bnnc_core::rows;
use std::f64::consts::PI;
use std::ops::Range;

/// The floating-point operations that the steps may take: at most about a tenth of a second.
pub const OPERATIONS: u64 = 500_000_000;

/// The largest number of steps.
pub const MOST: usize = 700;

/// The smallest number of steps that gives a result.
pub const FEWEST: usize = 200;

/// About the fraction of the remaining gain that the steps recover; on the four networks after 3000 steps, it is a tenth to a third.
pub const RECOVERED: f64 = 0.2;

/// The largest rate, for parameters of size one.
const RATE: f64 = 0.01;

/// The decay rates of the means of the gradient and of its square (Kingma and Ba 2015). The second decay is faster than the default of Adam because
/// there are few steps.
const DECAYS: [f64; 2] = [0.9, 0.99];

/// Prevents a division by zero.
const LEAST: f64 = 1e-8;

/// Returns the parameters after `noise.len()` steps, each on `batch` rows. The indices in `noise` select the random numbers of the steps.
///
/// # Errors
/// Fails if the training fails.
pub fn end(
    surface: &mut Surface,
    start: &[f64],
    noise: Range<usize>,
    batch: usize,
) -> Result<Vec<f64>, Stop> {
    let steps = noise.len() as f64;
    let mut order: Vec<u32> = (0..surface.rows() as u32).collect();
    let (each, key) = (order.len().div_ceil(batch).max(1), rows::key(0, "continuation"));
    let mut point = start.to_vec();
    let [mut slope, mut mean, mut square] = [0; 3].map(|_| vec![0.0; start.len()]);
    for (step, number) in noise.enumerate() {
        if step % each == 0 {
            rows::shuffle(&mut order, key, step / each);
        }
        slope.fill(0.0);
        let first = step % each * batch;
        let rows = &order[first..order.len().min(first + batch)];
        surface.estimate(&point, rows, number, &mut slope)?;
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
