//! The losses of JPEG compression (ITU-T T.81): colours at half resolution, and quantised cosine coefficients of blocks of 8 by 8 pixels. The coding of the
//! coefficients loses nothing and is left out.

use super::field::{Edge, Field};
use std::f64::consts::PI;

/// The side of a block.
const SIDE: usize = 8;

/// The divisors of brightness at quality 50 (T.81, table K.1), in row-major order.
const LUMA: [u16; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17,
    22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78,
    87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];

/// The divisors of colours at quality 50 (T.81, table K.2).
const CHROMA: [u16; 64] = [
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
];

/// Compresses an image with one plane, or with the planes red, green and blue, and restores it.
pub(super) fn compress(planes: &mut [Field], level: usize) {
    let quality = [80, 65, 58, 50, 40][level];
    for value in planes.iter_mut().flat_map(|plane| &mut plane.values) {
        *value = (255.0 * value.clamp(0.0, 1.0)).round();
    }
    match planes {
        [red, green, blue] => colour([red, green, blue], quality),
        _ => planes
            .iter_mut()
            .for_each(|plane| *plane = coded(plane, &scaled(&LUMA, quality))),
    }
    for value in planes.iter_mut().flat_map(|plane| &mut plane.values) {
        *value = value.round().clamp(0.0, 255.0) / 255.0;
    }
}

/// Returns the divisors for a quality, scaled as in libjpeg.
fn scaled(table: &[u16; 64], quality: u16) -> [f64; 64] {
    let scale = match quality < 50 {
        true => 5000 / quality,
        false => 200 - 2 * quality,
    };
    table.map(|divisor| f64::from(((divisor * scale + 50) / 100).clamp(1, 255)))
}

fn colour([red, green, blue]: [&mut Field; 3], quality: u16) {
    let mixed = |weights: [f64; 3], zero: f64| {
        let [r, g, b] = weights;
        let value =
            |at: usize| (zero + r * red.values[at] + g * green.values[at] + b * blue.values[at]).round();
        Field::new(red.height, red.width, value)
    };
    let luma = coded(&mixed([0.299, 0.587, 0.114], 0.0), &scaled(&LUMA, quality));
    let chroma = |weights: [f64; 3]| {
        let small = coded(&halved(&mixed(weights, 128.0)), &scaled(&CHROMA, quality));
        // Each pixel is interpolated between the middles of the larger pixels.
        luma.map(|row, column| {
            let place = |at: usize| (at as f64 - 0.5) / 2.0;
            small.interpolate(place(row), place(column), Edge::Nearest) - 128.0
        })
    };
    let cb = chroma([-0.168_736, -0.331_264, 0.5]);
    let cr = chroma([0.5, -0.418_688, -0.081_312]);
    for at in 0..luma.values.len() {
        let (luma, cb, cr) = (luma.values[at], cb.values[at], cr.values[at]);
        red.values[at] = luma + 1.402 * cr;
        green.values[at] = luma - 0.344_136 * cb - 0.714_136 * cr;
        blue.values[at] = luma + 1.772 * cb;
    }
}

/// Returns the means of squares of two by two pixels. Pixels at the edge are repeated.
fn halved(plane: &Field) -> Field {
    let (height, width) = (plane.height.div_ceil(2), plane.width.div_ceil(2));
    Field::new(height, width, |at| {
        let (row, column) = ((2 * (at / width)) as isize, (2 * (at % width)) as isize);
        let value = |down: isize, right: isize| plane.at(row + down, column + right, Edge::Nearest);
        ((value(0, 0) + value(0, 1) + value(1, 0) + value(1, 1)) / 4.0).round()
    })
}

/// Quantises the cosine coefficients of each block of a plane, with values from 0 to 255, and returns the restored plane.
fn coded(plane: &Field, divisors: &[f64; 64]) -> Field {
    let mut result = plane.clone();
    for top in (0..plane.height).step_by(SIDE) {
        for left in (0..plane.width).step_by(SIDE) {
            let pixel = |row: usize, column: usize| {
                plane.at((top + row) as isize, (left + column) as isize, Edge::Nearest) - 128.0
            };
            let mut block: [f64; 64] = std::array::from_fn(|at| pixel(at / SIDE, at % SIDE));
            block = transform(&block, cosine);
            for (coefficient, divisor) in block.iter_mut().zip(divisors) {
                *coefficient = (*coefficient / divisor).round() * divisor;
            }
            block = transform(&block, |place, frequency| cosine(frequency, place));
            for row in top..(top + SIDE).min(plane.height) {
                for column in left..(left + SIDE).min(plane.width) {
                    let value = block[(row - top) * SIDE + column - left] + 128.0;
                    result.values[row * plane.width + column] = value.round().clamp(0.0, 255.0);
                }
            }
        }
    }
    result
}

/// Returns an element of the orthonormal cosine transform of eight numbers.
fn cosine(frequency: usize, place: usize) -> f64 {
    let scale = if frequency == 0 { 0.125_f64.sqrt() } else { 0.5 };
    scale * ((2 * place + 1) as f64 * frequency as f64 * PI / 16.0).cos()
}

/// Multiplies a block from both sides by the matrix `element` and its transpose.
fn transform(block: &[f64; 64], element: impl Fn(usize, usize) -> f64) -> [f64; 64] {
    let matrix: [f64; 64] = std::array::from_fn(|at| element(at / SIDE, at % SIDE));
    let rows: [f64; 64] = std::array::from_fn(|at| {
        let (row, column) = (at / SIDE, at % SIDE);
        (0..SIDE)
            .map(|k| block[row * SIDE + k] * matrix[column * SIDE + k])
            .sum()
    });
    std::array::from_fn(|at| {
        let (row, column) = (at / SIDE, at % SIDE);
        (0..SIDE)
            .map(|k| matrix[row * SIDE + k] * rows[k * SIDE + column])
            .sum()
    })
}
