//! Random transformations of training images.
//!
//! The random numbers of a transformation depend only on the key, the epoch, the row and the place of the transformation in the list. The images of an
//! epoch are therefore the same for any batch size and any number of threads, and in a run that was interrupted and resumed.

use crate::images::{ImageSize, sine_cosine, source};
use crate::scaled::Pixel;
use crate::standardise::Standardisation;
use bnnc_abi::augmentation::Augmentation;
use bnnc_math::{gamma, philox};

/// Transforms images that are scaled and standardised as the model reads them.
///
/// A border, and the outside of a rotated image, have the value 0 of the file, which is black. A square that `cutout` removes has the value 0 after
/// standardisation, which is the mean. In both respects, the transformations agree with the published ones.
#[derive(Clone, Debug)]
pub struct Augmenter {
    frame: ImageSize,
    list: Vec<Augmentation>,
    key: u64,
    units: Units,
    /// The image while it is transformed, and a copy of it. Both have `planes * height * width` numbers.
    image: Vec<f64>,
    before: Vec<f64>,
    /// The image of a row while the image of its partner is transformed.
    own: Vec<f64>,
}

/// The images of all training rows, as they are.
pub struct RowImages<'a> {
    /// The number of rows.
    pub count: usize,
    /// Copies the image of a row.
    pub read: &'a dyn Fn(u32, &mut [f64]),
}

/// The row with which a row is mixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The other row.
    pub partner: u32,
    /// The share of the row itself in the mixture, from 0 to 1.
    pub share: f64,
}

/// The standardisation of the pixels.
#[derive(Clone, Debug)]
enum Units {
    /// All pixels of a plane are standardised in the same way. For each plane, the value of black.
    Planes(Vec<f64>),
    /// The standardisation of each pixel. Pixels are converted to the units of the file before they move to another place.
    Pixels(Vec<Standardisation>),
}

impl Units {
    /// Returns the units of images whose elements have these standardisations. Elements without a standardisation have the units of the file.
    fn of(frame: ImageSize, maps: &[Standardisation]) -> Units {
        let all = frame.planes * frame.pixels();
        let map = |at: usize| maps.get(at).copied().unwrap_or(Standardisation::IDENTITY);
        let maps: Vec<Standardisation> = (0..all).map(map).collect();
        let planes = || maps.chunks_exact(frame.pixels().max(1));
        match planes().all(|plane| plane.iter().all(|map| *map == plane[0])) {
            true => Units::Planes(planes().map(|plane| plane[0].apply(0.0)).collect()),
            false => Units::Pixels(maps),
        }
    }
}

impl Augmenter {
    /// Prepares the transformations `list` for images with these sizes. `maps` are the standardisations of the elements of an image; an empty list
    /// stands for the units of the file. `key` determines the random numbers.
    pub fn new(frame: ImageSize, list: &[Augmentation], maps: &[Standardisation], key: u64) -> Augmenter {
        let size = frame.planes * frame.pixels();
        Augmenter {
            frame,
            list: list.to_vec(),
            key,
            units: Units::of(frame, maps),
            image: vec![0.0; size],
            before: vec![0.0; size],
            own: vec![0.0; size],
        }
    }

    /// Returns the sizes of an image.
    pub fn frame(&self) -> ImageSize {
        self.frame
    }

    /// Returns the partner of a row among `count` rows in an epoch, counted from 0. Returns `None` if rows are not mixed.
    pub fn pair(&self, row: u32, count: usize, epoch: usize) -> Option<Pair> {
        let mixup = self.list.iter().enumerate().find_map(|(place, one)| match one {
            Augmentation::Mixup(alpha) => Some((place, *alpha)),
            _ => None,
        });
        let (place, alpha) = mixup?;
        let words = philox::words(self.key, [place as u32, 0, epoch as u32], u64::from(row));
        let [chosen, even, ..] = words.map(philox::unit);
        // A Beta variate is a share of the sum of two gamma variates.
        let gamma = |at: u64| {
            let element = 2 * u64::from(row) + at;
            gamma::variate(self.key, [place as u32, 1, epoch as u32], element, alpha)
        };
        let (first, second) = (gamma(0), gamma(1));
        // For a tiny `alpha`, both variates underflow to the same number. Shares are then 0 or 1.
        let share = match first == second {
            true => f64::from(u8::from(even < 0.5)),
            false => first / (first + second),
        };
        let partner = below(chosen, count) as u32;
        Some(Pair { partner, share })
    }

    /// Transforms the images of some rows in an epoch, counted from 0. `images` is `[rows, planes, height, width]`. `all` has the images with which
    /// the images are mixed.
    pub fn apply<T: Pixel>(&mut self, images: &mut [T], rows: &[u32], epoch: usize, all: &RowImages<'_>) {
        let size = self.image.len().max(1);
        for (row, image) in rows.iter().zip(images.chunks_exact_mut(size)) {
            let pixels = self.image.iter_mut().zip(&*image);
            pixels.for_each(|(real, pixel)| *real = pixel.real());
            self.transform(*row, epoch);
            if let Some(pair) = self.pair(*row, all.count, epoch) {
                self.mix(pair, epoch, all);
            }
            let pixels = image.iter_mut().zip(&self.image);
            pixels.for_each(|(pixel, real)| *pixel = T::of(*real));
        }
    }

    /// Mixes the image in `self.image` with the transformed image of its partner.
    fn mix(&mut self, Pair { partner, share }: Pair, epoch: usize, all: &RowImages<'_>) {
        self.own.copy_from_slice(&self.image);
        (all.read)(partner, &mut self.image);
        self.transform(partner, epoch);
        let pixels = self.image.iter_mut().zip(&self.own);
        pixels.for_each(|(pixel, own)| *pixel = share * own + (1.0 - share) * *pixel);
    }

    /// Transforms the image in `self.image`.
    fn transform(&mut self, row: u32, epoch: usize) {
        for place in 0..self.list.len() {
            let words = philox::words(self.key, [place as u32, 0, epoch as u32], u64::from(row));
            let uniform = words.map(philox::unit);
            match self.list[place] {
                Augmentation::Crop(border) => self.crop(border, uniform),
                Augmentation::Flip if uniform[0] < 0.5 => self.flip(),
                Augmentation::Flip => {}
                Augmentation::Rotate(most) => self.rotate((2.0 * uniform[0] - 1.0) * most),
                Augmentation::Cutout(side) => self.cutout(side, uniform),
                Augmentation::Mixup(_) => {}
            }
        }
    }

    fn crop(&mut self, border: usize, uniform: [f64; 4]) {
        let [down, right] = [0, 1].map(|at| below(uniform[at], 2 * border + 1));
        let ImageSize { height, width, .. } = self.frame;
        // The window begins at the pixel `(down, right)` of the image with its border.
        let inside = |at: usize, shift: usize, size: usize| {
            let place = (at + shift).checked_sub(border)?;
            (place < size).then_some(place)
        };
        self.moved(|pixel| {
            let row = inside(pixel / width, down, height);
            let column = inside(pixel % width, right, width);
            row.zip(column).map(|(row, column)| row * width + column)
        });
    }

    fn flip(&mut self) {
        let width = self.frame.width;
        self.moved(|pixel| Some(pixel / width * width + width - 1 - pixel % width));
    }

    /// Moves the pixels of all planes. `from` returns the place from which a pixel comes, or `None` for a pixel of the border.
    fn moved(&mut self, from: impl Fn(usize) -> Option<usize>) {
        self.changed(|before, black, pixel| from(pixel).map_or(black, |place| before[place]));
    }

    fn rotate(&mut self, degrees: f64) {
        let (frame, angle) = (self.frame, sine_cosine(degrees));
        self.changed(|before, black, pixel| {
            let taps = source(frame, angle, pixel);
            let inside: f64 = taps.iter().map(|(_, weight)| weight).sum();
            let value: f64 = taps.iter().map(|(at, weight)| weight * before[*at]).sum();
            value + (1.0 - inside) * black
        });
    }

    fn cutout(&mut self, side: usize, uniform: [f64; 4]) {
        let ImageSize { height, width, .. } = self.frame;
        let span = |uniform: f64, size: usize| {
            let centre = below(uniform, size);
            centre.saturating_sub(side / 2)..(centre + side - side / 2).min(size)
        };
        let (rows, columns) = (span(uniform[0], height), span(uniform[1], width));
        for plane in self.image.chunks_exact_mut(self.frame.pixels().max(1)) {
            for row in rows.clone() {
                plane[row * width + columns.start..row * width + columns.end].fill(0.0);
            }
        }
    }

    /// Computes every pixel from the plane before the change, the value of black, and the place of the pixel.
    fn changed(&mut self, change: impl Fn(&[f64], f64, usize) -> f64) {
        let size = self.frame.pixels().max(1);
        if let Units::Pixels(maps) = &self.units {
            let pixels = self.image.iter_mut().zip(maps);
            pixels.for_each(|(pixel, map)| *pixel = map.undo(*pixel));
        }
        self.before.copy_from_slice(&self.image);
        let planes = self
            .image
            .chunks_exact_mut(size)
            .zip(self.before.chunks_exact(size));
        for (number, (plane, before)) in planes.enumerate() {
            let black = match &self.units {
                Units::Planes(black) => black[number],
                Units::Pixels(_) => 0.0,
            };
            for (place, pixel) in plane.iter_mut().enumerate() {
                *pixel = change(before, black, place);
            }
        }
        if let Units::Pixels(maps) = &self.units {
            let pixels = self.image.iter_mut().zip(maps);
            pixels.for_each(|(pixel, map)| *pixel = map.apply(*pixel));
        }
    }
}

/// Returns an integer below `count` from a uniform number.
fn below(uniform: f64, count: usize) -> usize {
    ((uniform * count as f64) as usize).min(count.saturating_sub(1))
}
