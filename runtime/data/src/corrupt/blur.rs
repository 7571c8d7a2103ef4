//! Blurs.

use super::RowRandom;
use super::field::{Edge, Field, normalised};

/// The half width of the kernel of `defocus_blur`.
const REACH: isize = 8;

/// Convolves with a disk. The edge of the disk is smoothed by a kernel with three taps.
pub(super) fn defocus(planes: &mut [Field], level: usize) {
    let (radius, alias) = [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1)][level];
    let side = (2 * REACH + 1) as usize;
    let offset = |at: usize| at as f64 - REACH as f64;
    let inside = |at: usize| offset(at / side).powi(2) + offset(at % side).powi(2) <= radius * radius;
    let disk = Field::new(side, side, |at| f64::from(u8::from(inside(at))));
    let near = (-0.5_f64 / f64::powi(alias, 2)).exp();
    let taps = normalised([near, 1.0, near].into_iter());
    let smooth = disk.map(|row, column| {
        let term = |down: isize, right: isize| {
            let weight = taps[(down + 1) as usize] * taps[(right + 1) as usize];
            weight * disk.at(row as isize + down, column as isize + right, Edge::Reflect101)
        };
        (-1..=1)
            .flat_map(|down| (-1..=1).map(move |right| (down, right)))
            .map(|(down, right)| term(down, right))
            .sum()
    });
    let total: f64 = smooth.values.iter().sum();
    let kernel: Vec<(f64, isize, isize)> = smooth
        .values
        .iter()
        .enumerate()
        .filter(|(_, weight)| **weight > 0.0)
        .map(|(at, weight)| {
            let place = |index: usize| index as isize - REACH;
            (weight / total, place(at / side), place(at % side))
        })
        .collect();
    for plane in planes {
        *plane = plane.map(|row, column| {
            let value = |(weight, down, right): &(f64, isize, isize)| {
                weight * plane.at(row as isize + down, column as isize + right, Edge::Reflect101)
            };
            kernel.iter().map(value).sum()
        });
    }
}

/// Blurs, exchanges pixels with random neighbours from the last row to the first, and blurs again. A neighbour is the pixel itself, or a pixel
/// above it, to its left, or both.
pub(super) fn glass(planes: &mut [Field], level: usize, random: RowRandom) {
    let (sigma, rounds) = [(0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2)][level];
    let smooth = |plane: &mut Field| *plane = plane.smoothed(sigma, 4.0, Edge::Nearest);
    planes.iter_mut().for_each(smooth);
    let (height, width) = planes.first().map_or((0, 0), |plane| (plane.height, plane.width));
    for round in 0..rounds {
        for row in (2..height).rev() {
            for column in (2..width).rev() {
                let at = row * width + column;
                let moves = |purpose: u32| random.uniform(2 * round + purpose, at) < 0.5;
                let (up, left) = (usize::from(moves(0)), usize::from(moves(1)));
                let other = (row - up) * width + column - left;
                planes.iter_mut().for_each(|plane| plane.values.swap(at, other));
            }
        }
    }
    planes.iter_mut().for_each(smooth);
}

pub(super) fn motion(planes: &mut [Field], level: usize, random: RowRandom) {
    let (radius, sigma) = [(6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5)][level];
    let degrees = random.between(-45.0, 45.0, 0, 0);
    planes
        .iter_mut()
        .for_each(|plane| *plane = plane.dragged(radius, sigma, degrees));
}

/// Takes the mean of the image, and of the image magnified by 1, 1.01, 1.02 and so on.
pub(super) fn zoom(planes: &mut [Field], level: usize) {
    let count = [7, 12, 16, 21, 26][level];
    for plane in planes {
        let mut sum = plane.clone();
        for step in 0..count {
            let one = plane.zoomed(1.0 + 0.01 * f64::from(step));
            sum.values
                .iter_mut()
                .zip(&one.values)
                .for_each(|(sum, value)| *sum += value);
        }
        let count = f64::from(count) + 1.0;
        *plane = sum.map(|row, column| sum.values[row * sum.width + column] / count);
    }
}
