//! Compares the transformations of training images with transformations that the test computes by itself, and a training run on transformed images
//! with gradient descent on these images.

#![allow(clippy::unwrap_used)]

use bnnc_abi::augmentation::Augmentation::{self, Crop, Cutout, Flip, Mixup, Rotate};
use bnnc_base::dtype::Precision;
use bnnc_core::rows;
use bnnc_core::states::{self, StateValues};
use bnnc_data::augment::{Augmenter, RowImages};
use bnnc_data::{ImageSize, Standardisation};
use bnnc_math::philox;
use bnnc_tests::compile::{self, Compiled};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

const PLANES: usize = 2;
const HEIGHT: usize = 4;
const WIDTH: usize = 5;
const SIZE: usize = PLANES * HEIGHT * WIDTH;
const FRAME: ImageSize = ImageSize {
    planes: PLANES,
    height: HEIGHT,
    width: WIDTH,
};

/// The transformations of all tests. The numbers of pixels are an even and an odd one.
const LIST: [Augmentation; 4] = [Crop(2), Flip, Rotate(20.0), Cutout(3)];

/// The rows of transformations that do not mix rows.
const ALONE: RowImages<'static> = RowImages {
    count: 0,
    read: &|_, _| {},
};

/// One image as planes of rows of pixels.
type Image = Vec<Vec<Vec<f64>>>;

fn unpacked(pixels: &[f64]) -> Image {
    let plane = |plane: &[f64]| plane.chunks(WIDTH).map(<[f64]>::to_vec).collect();
    pixels.chunks(HEIGHT * WIDTH).map(plane).collect()
}

fn packed(image: &Image) -> Vec<f64> {
    image.iter().flatten().flatten().copied().collect()
}

/// The pixels of row `row` in the units of the file.
fn pixels(row: usize) -> Vec<f64> {
    let pixel = |at: usize| ((row * 31 + at * 17 + row * at * 7) % 23) as f64 + 1.0;
    (0..SIZE).map(pixel).collect()
}

/// Pads an image with zeros, and cuts out the window that begins `down` rows and `right` columns inside the padded image.
fn cropped(image: &Image, border: usize, (down, right): (usize, usize)) -> Image {
    let of_plane = |plane: &Vec<Vec<f64>>| {
        let mut padded = vec![vec![0.0; WIDTH + 2 * border]; HEIGHT + 2 * border];
        for (row, pixels) in plane.iter().enumerate() {
            padded[row + border][border..border + WIDTH].copy_from_slice(pixels);
        }
        let window = padded[down..down + HEIGHT].iter();
        window.map(|row| row[right..right + WIDTH].to_vec()).collect()
    };
    image.iter().map(of_plane).collect()
}

fn flipped(image: &Image) -> Image {
    let mut image = image.clone();
    image.iter_mut().flatten().for_each(|row| row.reverse());
    image
}

/// Rotates counter-clockwise. The weight of a source pixel is the product of `max(0, 1 - distance)` over both axes.
fn rotated(image: &Image, degrees: f64) -> Image {
    let angle = degrees.to_radians();
    let (middle_y, middle_x) = ((HEIGHT as f64 - 1.0) / 2.0, (WIDTH as f64 - 1.0) / 2.0);
    let value = |plane: &Vec<Vec<f64>>, y: usize, x: usize| {
        // Mathematical axes have y upwards. A counter-clockwise rotation by `angle` moves the source to this pixel.
        let (right, up) = (x as f64 - middle_x, middle_y - y as f64);
        let from_right = right * angle.cos() + up * angle.sin();
        let from_up = up * angle.cos() - right * angle.sin();
        let (from_y, from_x) = (middle_y - from_up, middle_x + from_right);
        let mut sum = 0.0;
        for (row, pixels) in plane.iter().enumerate() {
            for (column, pixel) in pixels.iter().enumerate() {
                let hat = |distance: f64| (1.0 - distance.abs()).max(0.0);
                sum += hat(from_y - row as f64) * hat(from_x - column as f64) * pixel;
            }
        }
        sum
    };
    let of_plane = |plane: &Vec<Vec<f64>>| {
        let row = |y: usize| (0..WIDTH).map(|x| value(plane, y, x)).collect();
        (0..HEIGHT).map(row).collect()
    };
    image.iter().map(of_plane).collect()
}

/// Sets the pixels whose distance from the centre is in `-(side / 2)..side - side / 2` on both axes.
fn cut(image: &Image, side: usize, (y, x): (usize, usize)) -> Image {
    let mut image = image.clone();
    let is_cut = |at: usize, centre: usize| {
        let distance = at as i64 - centre as i64;
        let first = -((side / 2) as i64);
        distance >= first && distance < first + side as i64
    };
    for plane in &mut image {
        for (row, pixels) in plane.iter_mut().enumerate() {
            for (column, pixel) in pixels.iter_mut().enumerate() {
                if is_cut(row, y) && is_cut(column, x) {
                    *pixel = 0.0;
                }
            }
        }
    }
    image
}

/// Applies [`LIST`] to an image in the units of the file, and standardises it. The random numbers of a transformation are those of its place in the
/// list, the epoch and the row.
fn reference(pixels: &[f64], maps: &[Standardisation], key: u64, row: u32, epoch: u32) -> Vec<f64> {
    let uniform = |place: u32| philox::words(key, [place, 0, epoch], u64::from(row)).map(philox::unit);
    let below = |uniform: f64, count: usize| (uniform * count as f64) as usize;
    let mut image = unpacked(pixels);
    let [down, right, ..] = uniform(0);
    image = cropped(&image, 2, (below(down, 5), below(right, 5)));
    if uniform(1)[0] < 0.5 {
        image = flipped(&image);
    }
    image = rotated(&image, 40.0 * uniform(2)[0] - 20.0);
    let standardised = packed(&image).into_iter().enumerate();
    let standardised = standardised.map(|(at, pixel)| maps.get(at).map_or(pixel, |map| map.apply(pixel)));
    let [y, x, ..] = uniform(3);
    let image = unpacked(&standardised.collect::<Vec<f64>>());
    packed(&cut(&image, 3, (below(y, HEIGHT), below(x, WIDTH))))
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], bound: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / (1.0 + expected.abs());
        assert!(error < bound, "{what}, element {at}: {found} is not {expected}");
    }
}

/// The standardisation of the pixels: none, one for each channel, or one for each pixel.
fn standardisations() -> [Vec<Standardisation>; 3] {
    let of = |at: usize| Standardisation {
        mean: 3.0 + at as f64,
        sd: 1.5 + 0.25 * at as f64,
    };
    let channel = |at: usize| of(at / (HEIGHT * WIDTH));
    [
        Vec::new(),
        (0..SIZE).map(channel).collect(),
        (0..SIZE).map(of).collect(),
    ]
}

#[test]
fn images_are_those_of_a_reference_in_every_kind_of_units() {
    for (kind, maps) in standardisations().into_iter().enumerate() {
        let mut augmenter = Augmenter::new(FRAME, &LIST, &maps, 99);
        for (row, epoch) in (0..40).flat_map(|row| [(row, 0), (row, 7)]) {
            let raw = pixels(row as usize);
            let prepared = raw.iter().enumerate();
            let prepared = prepared.map(|(at, pixel)| maps.get(at).map_or(*pixel, |map| map.apply(*pixel)));
            let mut images: Vec<f64> = prepared.collect();
            augmenter.apply(&mut images, &[row], epoch, &ALONE);
            let expected = reference(&raw, &maps, 99, row, epoch as u32);
            close(
                &images,
                &expected,
                1e-12,
                &format!("units {kind}, row {row}, epoch {epoch}"),
            );
        }
    }
}

/// Without rotation, pixels only move, so that the result is exact.
#[test]
fn pixels_that_only_move_keep_their_bits() {
    let mut augmenter = Augmenter::new(FRAME, &[Crop(1), Flip], &standardisations()[1], 5);
    for row in 0..50 {
        let before: Vec<f32> = pixels(row as usize)
            .iter()
            .map(|pixel| *pixel as f32 / 7.0)
            .collect();
        let mut after = before.clone();
        augmenter.apply(&mut after, &[row], 3, &ALONE);
        let black = |plane: usize| standardisations()[1][plane * HEIGHT * WIDTH].apply(0.0) as f32;
        let is_known = |pixel: &f32| before.contains(pixel) || *pixel == black(0) || *pixel == black(1);
        assert!(after.iter().all(is_known), "{after:?}");
    }
}

#[test]
fn the_images_of_a_row_do_not_depend_on_its_batch() {
    let mut augmenter = Augmenter::new(FRAME, &LIST, &[], 1);
    let mut all = [pixels(3), pixels(9), pixels(4)].concat();
    augmenter.apply(&mut all, &[3, 9, 4], 2, &ALONE);
    for (place, row) in [3, 9, 4].into_iter().enumerate() {
        let mut alone = pixels(row as usize);
        augmenter.apply(&mut alone, &[row], 2, &ALONE);
        assert_eq!(alone, all[place * SIZE..(place + 1) * SIZE]);
        let mut later = pixels(row as usize);
        augmenter.apply(&mut later, &[row], 3, &ALONE);
        assert_ne!(alone, later, "another epoch has other images");
    }
}

/// Each of the 25 shifts by `crop(2)` and both directions of `flip` are equally likely. The bounds are five standard deviations of a binomial.
#[test]
fn shifts_and_flips_are_uniform() {
    let numbered: Vec<f64> = (0..SIZE).map(|at| at as f64 + 1.0).collect();
    let mut counts = HashMap::new();
    let mut flips = 0.0;
    let rows = 20_000;
    let mut crop = Augmenter::new(FRAME, &[Crop(2)], &[], 8);
    let mut flip = Augmenter::new(FRAME, &[Flip], &[], 8);
    for row in 0..rows {
        let mut image = numbered.clone();
        crop.apply(&mut image, &[row], 0, &ALONE);
        *counts.entry(image[2 * WIDTH + 2] as usize).or_insert(0.0) += 1.0;
        let mut image = numbered.clone();
        flip.apply(&mut image, &[row], 0, &ALONE);
        flips += f64::from(u8::from(image[0] != 1.0));
    }
    let is_likely = |count: f64, share: f64| {
        let (rows, sd) = (f64::from(rows), (f64::from(rows) * share * (1.0 - share)).sqrt());
        (count - rows * share).abs() < 5.0 * sd
    };
    // The pixel in row 2 and column 2 comes from rows 0 to 4, of which the last is the border, and from columns 0 to 4.
    assert_eq!(counts.len(), 21, "{counts:?}");
    let borders = counts.remove(&0).unwrap();
    assert!(is_likely(borders, 0.2), "{borders}");
    assert!(counts.values().all(|count| is_likely(*count, 0.04)), "{counts:?}");
    assert!(is_likely(flips, 0.5), "{flips}");
}

const ROWS: usize = 10;
const TEST: usize = 4;

fn target(row: usize) -> f64 {
    ((row * 5) % 8) as f64 / 3.0 - 1.0
}

/// Returns a NumPy file of doubles.
fn npy(shape: &str, values: &[f64]) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [
        b"\x93NUMPY\x01\x00".as_slice(),
        &length,
        header.as_bytes(),
        &bytes,
    ]
    .concat()
}

/// Compiles a linear model of the pixels of ten images. Four further images are test rows.
fn compiled(name: &str, infer: &str, backend: &str) -> Compiled {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("augment")
        .join(name);
    fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, shape: &str, values: Vec<f64>| {
        fs::write(folder.join(name), npy(shape, &values)).unwrap();
    };
    let images = |rows: std::ops::Range<usize>| rows.flat_map(pixels).collect();
    write("x.npy", "(10, 2, 4, 5)", images(0..ROWS));
    write("y.npy", "(10,)", (0..ROWS).map(target).collect());
    write("test-x.npy", "(4, 2, 4, 5)", images(ROWS..ROWS + TEST));
    write("test-y.npy", "(4,)", (ROWS..ROWS + TEST).map(target).collect());
    let text = format!(
        "data d = npy(\"x.npy\", \"y.npy\") {{ test = npy(\"test-x.npy\", \"test-y.npy\"), normalise = channels }}\n\
         model M(x: real[2, 4, 5]) -> y: real {{\n  w: real[40, 1] ~ Normal(0, 1)\n  \
         y ~ Normal(dot(reshape(w, 40), flatten(x)), 0.5)\n}}\n{infer}\n"
    );
    compile::text(
        &folder.join("m.bnn"),
        &text,
        &compile::options(backend, Some(Precision::F64)),
    )
}

fn values(compiled: &Compiled, threads: usize) -> StateValues {
    let result = compile::run(&compiled.manifest, threads);
    StateValues::clone(result.outcomes[0].splits[0].found.values())
}

/// The standardisation of each pixel by the mean and the standard deviation of its channel over all training rows.
fn channels() -> Vec<Standardisation> {
    let of_channel = |channel: usize| {
        let own = |row: usize| pixels(row)[channel * HEIGHT * WIDTH..(channel + 1) * HEIGHT * WIDTH].to_vec();
        let all: Vec<f64> = (0..ROWS).flat_map(own).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let variance = all.iter().map(|pixel| (pixel - mean).powi(2)).sum::<f64>() / all.len() as f64;
        Standardisation {
            mean,
            sd: variance.sqrt(),
        }
    };
    (0..SIZE).map(|at| of_channel(at / (HEIGHT * WIDTH))).collect()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

const INFER: &str = "infer f = map(M, d) { epochs = 6, batch = 4, optimiser = SGD(1e-4), schedule = constant, \
                     augment = [crop(2), flip, rotate(20), cutout(3)] }";

/// Trains by gradient descent on the transformed images of each batch.
fn trained(start: &StateValues) -> Vec<f64> {
    let (maps, key) = (channels(), philox::key(1, "augment/f"));
    let mut w = start["w/loc"].clone();
    let mut order: Vec<u32> = (0..ROWS as u32).collect();
    for epoch in 0..6 {
        rows::shuffle(&mut order, rows::key(1, "f"), epoch as usize);
        for batch in order.chunks(4) {
            let mut slope = w.clone();
            for row in batch {
                let image = reference(&pixels(*row as usize), &maps, key, *row, epoch);
                let residual = target(*row as usize) - dot(&w, &image);
                let factor = ROWS as f64 / batch.len() as f64 * residual / 0.25;
                slope
                    .iter_mut()
                    .zip(&image)
                    .for_each(|(slope, pixel)| *slope -= factor * pixel);
            }
            w.iter_mut().zip(&slope).for_each(|(w, slope)| *w -= 1e-4 * slope);
        }
    }
    w
}

#[test]
fn training_steps_use_the_transformed_images_and_test_rows_do_not() {
    for backend in ["cranelift", "reference"] {
        let compiled = compiled("steps", INFER, backend);
        let start = states::start(&compiled.manifest.infers[0].states, 1, &HashMap::new());
        let result = compile::run(&compiled.manifest, 2);
        let expected = trained(&start);
        let found = result.outcomes[0].splits[0].found.values();
        close(&found["w/loc"], &expected, 1e-9, backend);
        let maps = channels();
        let square = |row: usize| {
            let image = pixels(row).into_iter().zip(&maps);
            let image: Vec<f64> = image.map(|(pixel, map)| map.apply(pixel)).collect();
            (target(row) - dot(&expected, &image)).powi(2)
        };
        let rmse = ((ROWS..ROWS + TEST).map(square).sum::<f64>() / TEST as f64).sqrt();
        let json = bnnc_report::result::json(&compiled.manifest, &result);
        let found = json["infer"]["f"]["metrics"]["rmse"].as_f64().unwrap();
        assert!((found - rmse).abs() < 1e-8 * rmse, "{found} is not {rmse}");
    }
}

/// Trains as [`trained`] does on mixtures. The log likelihood of a row is the mean over the targets of both rows, weighted by their shares.
fn trained_on_mixtures(start: &StateValues) -> Vec<f64> {
    let (maps, key) = (channels(), philox::key(1, "augment/f"));
    let mut list = LIST.to_vec();
    list.push(Mixup(0.7));
    let augmenter = Augmenter::new(FRAME, &list, &maps, key);
    let mut w = start["w/loc"].clone();
    let mut order: Vec<u32> = (0..ROWS as u32).collect();
    let mut mixtures = 0;
    for epoch in 0..6 {
        rows::shuffle(&mut order, rows::key(1, "f"), epoch as usize);
        for batch in order.chunks(4) {
            let mut slope = w.clone();
            for row in batch {
                let pair = augmenter.pair(*row, ROWS, epoch as usize).unwrap();
                let of = |row: u32| reference(&pixels(row as usize), &maps, key, row, epoch);
                let mixed = of(*row).into_iter().zip(of(pair.partner));
                let image: Vec<f64> = mixed
                    .map(|(own, other)| pair.share * own + (1.0 - pair.share) * other)
                    .collect();
                for (row, share) in [(*row, pair.share), (pair.partner, 1.0 - pair.share)] {
                    let residual = target(row as usize) - dot(&w, &image);
                    let factor = share * ROWS as f64 / batch.len() as f64 * residual / 0.25;
                    slope
                        .iter_mut()
                        .zip(&image)
                        .for_each(|(slope, pixel)| *slope -= factor * pixel);
                }
                mixtures += usize::from(pair.partner != *row && pair.share > 0.1 && pair.share < 0.9);
            }
            w.iter_mut().zip(&slope).for_each(|(w, slope)| *w -= 1e-4 * slope);
        }
    }
    assert!(mixtures > 20, "{mixtures} rows are mixed");
    w
}

#[test]
fn training_on_mixtures_weights_the_targets_of_both_rows() {
    let infer = INFER.replace("cutout(3)]", "cutout(3), mixup(0.7)]");
    for backend in ["cranelift", "reference"] {
        let compiled = compiled("mixtures", &infer, backend);
        let start = states::start(&compiled.manifest.infers[0].states, 1, &HashMap::new());
        close(
            &values(&compiled, 2)["w/loc"],
            &trained_on_mixtures(&start),
            1e-9,
            backend,
        );
    }
}

/// Compares the shares with closed forms: `Beta(1, 1)` is uniform, and the distribution function of `Beta(1/2, 1/2)` is `2 asin(sqrt(x)) / pi`. The
/// bound is the critical value of the Kolmogorov-Smirnov test at a level of 1e-6. Partners are uniform.
#[test]
fn shares_have_a_beta_distribution_and_partners_are_uniform() {
    let rows = 20_000_u32;
    let uniform = |x: f64| x;
    let arcsine = |x: f64| 2.0 / std::f64::consts::PI * x.sqrt().asin();
    let cases: [(f64, &dyn Fn(f64) -> f64); 2] = [(1.0, &uniform), (0.5, &arcsine)];
    for (alpha, below) in cases {
        let augmenter = Augmenter::new(FRAME, &[Mixup(alpha)], &[], 17);
        let pairs: Vec<_> = (0..rows).map(|row| augmenter.pair(row, 10, 4).unwrap()).collect();
        let mut shares: Vec<f64> = pairs.iter().map(|pair| pair.share).collect();
        shares.sort_by(f64::total_cmp);
        let distance = shares.iter().enumerate().map(|(at, share)| {
            let empirical = (at as f64 + 0.5) / f64::from(rows);
            (empirical - below(*share)).abs()
        });
        let largest = distance.fold(0.0, f64::max);
        assert!(largest < 2.7 / f64::from(rows).sqrt(), "{alpha}: {largest}");
        for partner in 0..10 {
            let count = pairs.iter().filter(|pair| pair.partner == partner).count() as f64;
            assert!(
                (count - 2000.0).abs() < 5.0 * 1800_f64.sqrt(),
                "{partner}: {count}"
            );
        }
    }
    // Both gamma variates underflow to zero.
    let tiny = Augmenter::new(FRAME, &[Mixup(1e-6)], &[], 17);
    let shares = (0..1000).map(|row| tiny.pair(row, 10, 0).unwrap().share);
    let is_whole = |share: &f64| *share < 1e-12 || *share > 1.0 - 1e-12;
    let own: f64 = shares.inspect(|share| assert!(is_whole(share), "{share}")).sum();
    assert!((own - 500.0).abs() < 5.0 * 250_f64.sqrt(), "{own}");
}

#[test]
fn the_number_of_threads_does_not_change_the_training() {
    let infer = INFER.replace("map(M, d) {", "ensemble(M, d) { members = 2,");
    let compiled = compiled("threads", &infer, "cranelift");
    let one = values(&compiled, 1);
    assert_eq!(values(&compiled, 2), one);
    assert_eq!(values(&compiled, 3), one);
    // The second member has another seed, and therefore other images.
    let (first, second) = one["w/loc"].split_at(SIZE);
    assert_ne!(first, second);
}

/// Early stopping scores validation rows as they are, so it finds the same score as a run without transformations at the same parameters.
#[test]
fn validation_rows_are_not_transformed() {
    let still = INFER.replace("SGD(1e-4)", "SGD(1e-300)").replace("f =", "g =");
    let plain = still.split(", augment").next().unwrap().to_owned() + " }";
    let with = |infer: &str, name: &str| {
        let mut compiled = compiled(name, infer, "cranelift");
        compiled.manifest.data[0].validation = 0.3;
        let result = compile::run(&compiled.manifest, 1);
        let json = bnnc_report::result::json(&compiled.manifest, &result);
        json["infer"]["g"]["diagnostics"]["learning"].clone()
    };
    let (transformed, plain) = (with(&still, "still"), with(&plain, "plain"));
    assert!(
        plain["validation"]
            .as_array()
            .is_some_and(|curve| !curve.is_empty()),
        "{plain}"
    );
    assert_eq!(transformed["validation"], plain["validation"]);
    assert_ne!(transformed["training"], plain["training"]);
}
