//! Corruptions that move pixels, or lower the resolution.

use super::RowRandom;
use super::field::{Edge, Field};

/// A point, or a vector, with its coordinates across and down.
type Point = (f64, f64);

/// Applies a random affine map, and then displaces every pixel by a smoothed random distance (Simard et al. 2003).
pub(super) fn elastic(planes: &mut [Field], level: usize, random: RowRandom) {
    let Some(first) = planes.first() else { return };
    let side = first.height.min(first.width);
    // The published distances are multiples of the side of the image.
    let (most, smoothness, corner) = [
        (0.0, 0.0, 0.08),
        (0.05, 0.2, 0.07),
        (0.08, 0.06, 0.06),
        (0.1, 0.04, 0.05),
        (0.1, 0.03, 0.03),
    ][level];
    let length = side as f64;
    let source = affine(first, corner * length, random);
    let noise = |purpose: u32| {
        let noise = Field::new(first.height, first.width, |at| {
            random.between(-1.0, 1.0, purpose, at)
        });
        noise.smoothed(smoothness * length, 3.0, Edge::Reflect)
    };
    let (across, down) = (noise(1), noise(2));
    for plane in planes {
        let moved = plane.map(|row, column| {
            let (x, y) = source((column as f64, row as f64));
            plane.interpolate(y, x, Edge::Reflect101)
        });
        *plane = match most > 0.0 {
            true => moved.map(|row, column| {
                let at = row * moved.width + column;
                let distance = |field: &Field| most * length * field.values[at];
                moved.interpolate(
                    row as f64 + distance(&down),
                    column as f64 + distance(&across),
                    Edge::Reflect,
                )
            }),
            false => moved,
        };
    }
}

/// Returns the map from a pixel of the new image to the point of the old image that moves there. The affine map moves each of three points around the
/// middle by at most `most` pixels along each axis.
fn affine(plane: &Field, most: f64, random: RowRandom) -> impl Fn(Point) -> Point + use<> {
    let (x, y) = ((plane.width / 2) as f64, (plane.height / 2) as f64);
    let side = (plane.height.min(plane.width) / 3) as f64;
    let old = [(x + side, y + side), (x + side, y - side), (x - side, y - side)];
    let shift = |at: usize| random.between(-most, most, 0, at);
    let new = [0, 1, 2].map(|at| (old[at].0 + shift(2 * at), old[at].1 + shift(2 * at + 1)));
    let edge = |points: [Point; 3], to: usize| (points[to].0 - points[0].0, points[to].1 - points[0].1);
    let (one, other) = (edge(new, 1), edge(new, 2));
    let (from_one, from_other) = (edge(old, 1), edge(old, 2));
    let area = one.0 * other.1 - one.1 * other.0;
    move |(x, y)| {
        if area == 0.0 {
            // An image with fewer than three pixels along an axis is not moved.
            return (x, y);
        }
        // The point is the first corner, plus multiples of two edges of the new triangle.
        let (right, down) = (x - new[0].0, y - new[0].1);
        let first = (right * other.1 - down * other.0) / area;
        let second = (one.0 * down - one.1 * right) / area;
        (
            old[0].0 + first * from_one.0 + second * from_other.0,
            old[0].1 + first * from_one.1 + second * from_other.1,
        )
    }
}

/// Reduces the resolution with a box filter, and restores the size by repeating pixels.
pub(super) fn pixelate(planes: &mut [Field], level: usize) {
    let share = [0.95, 0.9, 0.85, 0.75, 0.65][level];
    for plane in planes {
        let reduced = |size: usize| ((size as f64 * share) as usize).max(1);
        let (rows, columns) = (
            boxes(plane.height, reduced(plane.height)),
            boxes(plane.width, reduced(plane.width)),
        );
        let small = Field::new(rows.len(), columns.len(), |at| {
            let (rows, columns) = (&rows[at / columns.len()], &columns[at % columns.len()]);
            let count = (rows.len() * columns.len()) as f64;
            let sum = |row: usize| {
                let values = columns
                    .clone()
                    .map(|column| plane.values[row * plane.width + column]);
                values.sum::<f64>()
            };
            rows.clone().map(sum).sum::<f64>() / count
        });
        let place = |at: usize, size: usize, small: usize| {
            let middle = (at as f64 + 0.5) * small as f64 / size as f64;
            (middle as usize).min(small - 1)
        };
        *plane = plane.map(|row, column| {
            let row = place(row, plane.height, small.height);
            small.values[row * small.width + place(column, plane.width, small.width)]
        });
    }
}

/// Returns the pixels of an axis with `size` pixels that each of `count` larger pixels averages. Each pixel counts fully or not at all, as in Pillow.
fn boxes(size: usize, count: usize) -> Vec<std::ops::Range<usize>> {
    let scale = size as f64 / count as f64;
    let range = |at: usize| {
        let middle = (at as f64 + 0.5) * scale;
        let first = (middle - 0.5 * scale + 0.5) as usize;
        let end = ((middle + 0.5 * scale + 0.5) as usize).min(size);
        first.min(size - 1)..end.max(first.min(size - 1) + 1)
    };
    (0..count).map(range).collect()
}
