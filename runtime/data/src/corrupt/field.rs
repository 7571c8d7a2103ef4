//! One plane of an image, and the filters that several corruptions share.

/// The numbers of one plane, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) values: Vec<f64>,
}

/// The continuation of a plane beyond its edge.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edge {
    /// Repeats the pixel at the edge.
    Nearest,
    /// Mirrors the plane, with the pixel at the edge twice: `b a | a b c`.
    Reflect,
    /// Mirrors the plane, with the pixel at the edge once: `c b | a b c`.
    Reflect101,
}

impl Edge {
    /// Returns the index of the pixel inside an axis with `size` pixels that continues the axis at `at`.
    fn inside(self, at: isize, size: usize) -> usize {
        let size = size as isize;
        let mirrored = |period: isize, last: isize| {
            let place = at.rem_euclid(period.max(1));
            place.min(last - place)
        };
        let place = match self {
            Edge::Nearest => at.clamp(0, size - 1),
            Edge::Reflect => mirrored(2 * size, 2 * size - 1),
            Edge::Reflect101 => mirrored(2 * size - 2, 2 * size - 2),
        };
        place.max(0) as usize
    }
}

impl Field {
    /// Creates a plane. `value` returns the number at an index in row-major order.
    pub(super) fn new(height: usize, width: usize, value: impl FnMut(usize) -> f64) -> Field {
        Field {
            height,
            width,
            values: (0..height * width).map(value).collect(),
        }
    }

    /// Creates a plane of the same size. `value` returns the number at a row and a column.
    pub(super) fn map(&self, value: impl Fn(usize, usize) -> f64) -> Field {
        Field::new(self.height, self.width, |at| {
            value(at / self.width, at % self.width)
        })
    }

    /// Returns the number at a row and a column, which may be outside the plane.
    pub(super) fn at(&self, row: isize, column: isize, edge: Edge) -> f64 {
        let (row, column) = (edge.inside(row, self.height), edge.inside(column, self.width));
        self.values[row * self.width + column]
    }

    /// Interpolates between the four pixels around a point.
    pub(super) fn interpolate(&self, row: f64, column: f64, edge: Edge) -> f64 {
        let (top, left) = (row.floor(), column.floor());
        let (down, right) = (row - top, column - left);
        let value = |below: isize, beside: isize| self.at(top as isize + below, left as isize + beside, edge);
        let upper = (1.0 - right) * value(0, 0) + right * value(0, 1);
        let lower = (1.0 - right) * value(1, 0) + right * value(1, 1);
        (1.0 - down) * upper + down * lower
    }

    /// Convolves with a normal density whose standard deviation is `sigma` pixels. The density is cut off at
    /// `truncate` standard deviations, as in `scipy.ndimage.gaussian_filter`.
    pub(super) fn smoothed(&self, sigma: f64, truncate: f64, edge: Edge) -> Field {
        if sigma <= 0.0 {
            return self.clone();
        }
        let reach = (truncate * sigma + 0.5) as isize;
        let weights = normalised((-reach..=reach).map(|at| (-0.5 * (at as f64 / sigma).powi(2)).exp()));
        let taps = || weights.iter().zip(-reach..=reach);
        let across = self.map(|row, column| {
            let value =
                |(weight, at): (&f64, isize)| weight * self.at(row as isize, column as isize + at, edge);
            taps().map(value).sum()
        });
        self.map(|row, column| {
            let value =
                |(weight, at): (&f64, isize)| weight * across.at(row as isize + at, column as isize, edge);
            taps().map(value).sum()
        })
    }

    /// Blurs along a line at `degrees`, as ImageMagick does. The weights are one half of a normal density with the standard deviation `sigma`.
    pub(super) fn dragged(&self, radius: usize, sigma: f64, degrees: f64) -> Field {
        let count = 2 * radius + 1;
        let weights = normalised((0..count).map(|at| (-0.5 * (at as f64 / sigma).powi(2)).exp()));
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let step = |at: usize, direction: f64| (at as f64 * direction - 0.5).ceil() as isize;
        let taps: Vec<(f64, isize, isize)> = weights
            .iter()
            .enumerate()
            .map(|(at, weight)| (*weight, step(at, sine), step(at, cosine)))
            .collect();
        self.map(|row, column| {
            let value = |(weight, down, right): &(f64, isize, isize)| {
                weight * self.at(row as isize + down, column as isize + right, Edge::Nearest)
            };
            taps.iter().map(value).sum()
        })
    }

    /// Magnifies the middle of the plane by `factor`, which is at least 1, with linear interpolation. The size stays the same.
    pub(super) fn zoomed(&self, factor: f64) -> Field {
        let axis = |size: usize| {
            let cut = (size as f64 / factor).ceil();
            let whole = (cut * factor).round();
            let top = ((size as f64 - cut) / 2.0).floor();
            let trim = ((whole - size as f64) / 2.0).floor();
            let ratio = if whole > 1.0 {
                (cut - 1.0) / (whole - 1.0)
            } else {
                0.0
            };
            move |at: usize| top + (at as f64 + trim) * ratio
        };
        let (rows, columns) = (axis(self.height), axis(self.width));
        self.map(|row, column| self.interpolate(rows(row), columns(column), Edge::Nearest))
    }
}

/// Divides weights by their sum.
pub(super) fn normalised(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let weights: Vec<f64> = weights.collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}
