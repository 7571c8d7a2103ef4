//! Snow, frost and fog.

use super::RowRandom;
use super::field::{Edge, Field};

/// The constants of snow for each severity: the mean and the standard deviation of the noise, its magnification, the value from which noise is a flake,
/// the radius and the standard deviation of the motion blur, and the share of the image that is not brightened.
const SNOW: [[f64; 7]; 5] = [
    [0.1, 0.2, 1.0, 0.6, 8.0, 3.0, 0.95],
    [0.1, 0.2, 1.0, 0.5, 10.0, 4.0, 0.9],
    [0.15, 0.3, 1.75, 0.55, 10.0, 4.0, 0.9],
    [0.25, 0.3, 2.25, 0.6, 12.0, 6.0, 0.85],
    [0.3, 0.3, 1.25, 0.65, 14.0, 12.0, 0.8],
];

/// Adds flakes that fall in a random direction, and the same flakes rotated by 180 degrees.
pub(super) fn snow(planes: &mut [Field], level: usize, random: RowRandom) {
    let Some(first) = planes.first() else { return };
    let [mean, sd, zoom, threshold, radius, sigma, kept] = SNOW[level];
    let noise = Field::new(first.height, first.width, |at| mean + sd * random.normal(0, at));
    let mut flakes = noise.zoomed(zoom);
    for flake in &mut flakes.values {
        *flake = if *flake < threshold { 0.0 } else { flake.min(1.0) };
    }
    let degrees = random.between(-135.0, -45.0, 1, 0);
    let flakes = flakes.dragged(radius as usize, sigma, degrees);
    let grey = grey(planes);
    let last = flakes.values.len().saturating_sub(1);
    for plane in planes {
        for (at, value) in plane.values.iter_mut().enumerate() {
            let bright = value.max(1.5 * grey[at] + 0.5);
            *value = kept * *value + (1.0 - kept) * bright + flakes.values[at] + flakes.values[last - at];
        }
    }
}

/// Returns the luma of each pixel (ITU-R BT.601). An image with one plane is its own luma.
fn grey(planes: &[Field]) -> Vec<f64> {
    match planes {
        [red, green, blue] => {
            let colours = red.values.iter().zip(&green.values).zip(&blue.values);
            colours
                .map(|((red, green), blue)| 0.299 * red + 0.587 * green + 0.114 * blue)
                .collect()
        }
        _ => planes.first().map_or_else(Vec::new, |plane| plane.values.clone()),
    }
}

/// Mixes the image with a generated texture. The ridges of a fractal are bright lines that branch, like crystals.
pub(super) fn frost(planes: &mut [Field], level: usize, random: RowRandom) {
    let Some(first) = planes.first() else { return };
    let (own, ice) = [(1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)][level];
    let fractal = plasma(first.height, first.width, 1.6, random);
    let texture: Vec<f64> = (fractal.values.iter())
        .map(|value| 1.0 - (2.0 * value - 1.0).abs())
        .collect();
    for plane in planes {
        for (value, texture) in plane.values.iter_mut().zip(&texture) {
            *value = own * *value + ice * texture;
        }
    }
}

/// Adds a fractal, and scales the sum so that the largest possible number stays the same.
pub(super) fn fog(planes: &mut [Field], level: usize, random: RowRandom) {
    let Some(first) = planes.first() else { return };
    let (amount, decay) = [(0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75)][level];
    let fractal = plasma(first.height, first.width, decay, random);
    let all = planes.iter().flat_map(|plane| &plane.values);
    let most = all.fold(0.0, |most: f64, value| most.max(*value));
    for plane in planes {
        for (value, fog) in plane.values.iter_mut().zip(&fractal.values) {
            *value = (*value + amount * fog) * most / (most + amount);
        }
    }
}

/// Returns a fractal of the diamond-square algorithm on a torus, scaled to numbers from 0 to 1 (Fournier, Fussell and Carpenter 1982). With each
/// halving of the step, the size of the random numbers is divided by `decay`.
fn plasma(height: usize, width: usize, decay: f64, random: RowRandom) -> Field {
    let side = height.max(width).max(2).next_power_of_two();
    let mut map = Field::new(side, side, |_| 0.0);
    let (mut step, mut wibble, mut purpose) = (side, 100.0, 2);
    while step >= 2 {
        let half = step / 2;
        let noise = |purpose: u32, at: usize| wibble * random.between(-wibble, wibble, purpose, at);
        let grid = || {
            (0..side)
                .step_by(step)
                .flat_map(|row| (0..side).step_by(step).map(move |column| (row, column)))
        };
        let put =
            |map: &mut Field, (row, column): (usize, usize), around: [(usize, usize); 4], purpose: u32| {
                let value = |(row, column): (usize, usize)| map.values[(row % side) * side + column % side];
                let mean = around.into_iter().map(value).sum::<f64>() / 4.0;
                let at = row * side + column;
                map.values[at] = mean + noise(purpose, at);
            };
        // Squares: the middle of each cell, from its four corners.
        for (row, column) in grid() {
            let corners = [
                (row, column),
                (row + step, column),
                (row, column + step),
                (row + step, column + step),
            ];
            put(&mut map, (row + half, column + half), corners, purpose);
        }
        // Diamonds: the middles of the edges, from two corners and from the middles of two cells.
        for (row, column) in grid() {
            let above = row + side - half;
            let upper = [
                (row, column),
                (row, column + step),
                (row + half, column + half),
                (above, column + half),
            ];
            put(&mut map, (row, column + half), upper, purpose + 1);
            let before = column + side - half;
            let left = [
                (row, column),
                (row + step, column),
                (row + half, column + half),
                (row + half, before),
            ];
            put(&mut map, (row + half, column), left, purpose + 2);
        }
        (step, wibble, purpose) = (half, wibble / decay, purpose + 3);
    }
    let low = map.values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = map.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = if high > low { high - low } else { 1.0 };
    Field::new(height, width, |at| {
        (map.at((at / width) as isize, (at % width) as isize, Edge::Nearest) - low) / span
    })
}
