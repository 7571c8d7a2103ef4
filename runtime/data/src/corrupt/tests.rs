//! Corruptions agree with the published program, whose numbers were computed with SciPy, scikit-image, OpenCV and Pillow, and random ones with their
//! distributions.

use super::*;

/// The height and the width of the pictures.
const SIDE: usize = 32;

/// The bytes `(5 row + 3 column + 40 channel + (row column) mod 23) mod 256`.
fn picture() -> Vec<f64> {
    let pixel = |at: usize| {
        let (plane, row, column) = (at / 1024, at / 32 % 32, at % 32);
        ((5 * row + 3 * column + 40 * plane + (row * column) % 23) % 256) as f64
    };
    (0..3 * 1024).map(pixel).collect()
}

fn constant(value: f64) -> Vec<f64> {
    vec![value; 3 * 1024]
}

fn shift(corruption: Corruption, severity: u8) -> Shift {
    Shift { corruption, severity }
}

/// Returns the corrupted image in units from 0 to 1, without rounding to bytes.
fn corrupted(shift: Shift, image: &[f64]) -> Vec<f64> {
    let mut image: Vec<f64> = image.iter().map(|value| value / 255.0).collect();
    Corrupter::new(SIDE, SIDE, shift, 7, PixelUnits::Unit).apply(5, &mut image);
    image
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Six numbers of a corrupted picture, and the mean and the mean square of all numbers.
struct Published {
    shift: Shift,
    points: [f64; 6],
    mean: f64,
    square: f64,
    bound: f64,
}

const fn published(
    corruption: Corruption,
    severity: u8,
    points: [f64; 6],
    mean: f64,
    square: f64,
) -> Published {
    Published {
        shift: Shift { corruption, severity },
        points,
        mean,
        square,
        // The numbers have six decimals. Pillow rounds to bytes after each axis. Libjpeg computes the cosine transform and the colours with integers,
        // so a coefficient between two multiples of its divisor may be rounded to the other one.
        bound: match corruption {
            Corruption::Pixelate => 0.004,
            Corruption::Jpeg => 0.03,
            _ => 2e-6,
        },
    }
}

/// The numbers of the published program, or of Pillow for `pixelate` and `jpeg`.
const PUBLISHED: [Published; 10] = [
    published(
        Corruption::DefocusBlur,
        2,
        [0.006861, 0.618868, 0.843595, 0.401491, 0.656382, 0.784314],
        0.578115,
        0.394316,
    ),
    published(
        Corruption::DefocusBlur,
        5,
        [0.022658, 0.607407, 0.857516, 0.870588, 0.679303, 0.784314],
        0.578973,
        0.390285,
    ),
    published(
        Corruption::ZoomBlur,
        1,
        [0.0, 0.605613, 0.839149, 0.59912, 0.658019, 0.762995],
        0.579112,
        0.390436,
    ),
    published(
        Corruption::ZoomBlur,
        5,
        [0.046187, 0.609943, 0.84077, 0.823152, 0.667349, 0.772789],
        0.595193,
        0.402054,
    ),
    published(
        Corruption::Brightness,
        4,
        [0.0, 0.787451, 1.0, 0.061438, 0.799807, 0.984314],
        0.680252,
        0.540387,
    ),
    published(
        Corruption::Contrast,
        3,
        [0.313483, 0.617405, 0.690934, 0.32917, 0.622111, 0.67368],
        0.577701,
        0.345865,
    ),
    published(
        Corruption::Pixelate,
        1,
        [0.0, 0.627451, 0.827451, 0.039216, 0.686275, 0.752941],
        0.577969,
        0.399026,
    ),
    published(
        Corruption::Pixelate,
        5,
        [0.019608, 0.603922, 0.886275, 0.74902, 0.662745, 0.819608],
        0.579172,
        0.396109,
    ),
    published(
        Corruption::Jpeg,
        1,
        [0.003922, 0.627451, 0.894118, 0.537255, 0.639216, 0.803922],
        0.579774,
        0.394293,
    ),
    published(
        Corruption::Jpeg,
        5,
        [0.0, 0.603922, 0.756863, 0.556863, 0.631373, 0.843137],
        0.578479,
        0.391242,
    ),
];

#[test]
fn deterministic_corruptions_agree_with_the_published_program() {
    for expected in PUBLISHED {
        let found = corrupted(expected.shift, &picture());
        let places = [
            (0, 0, 0),
            (3, 29, 1),
            (16, 16, 2),
            (31, 31, 0),
            (20, 7, 1),
            (8, 24, 2),
        ];
        for ((row, column, plane), point) in places.into_iter().zip(expected.points) {
            let value = found[plane * 1024 + row * 32 + column];
            let place = (expected.shift.to_string(), row, column, plane);
            assert!(
                (value - point).abs() <= expected.bound,
                "{place:?}: {value} for {point}"
            );
        }
        let square = mean(found.iter().map(|value| value * value));
        let (mean, bound) = (mean(found.iter().copied()), expected.bound.min(0.002));
        assert!(
            (mean - expected.mean).abs() <= bound,
            "{}: {mean}",
            expected.shift
        );
        assert!(
            (square - expected.square).abs() <= bound,
            "{}: {square}",
            expected.shift
        );
    }
}

#[test]
fn a_grey_image_is_compressed_as_by_libjpeg() {
    let mut image: Vec<f64> = picture()[..1024].to_vec();
    Corrupter::new(SIDE, SIDE, shift(Corruption::Jpeg, 5), 0, PixelUnits::Bytes).apply(0, &mut image);
    // The bytes of Pillow at the quality 40.
    for ((row, column), expected) in [
        ((0, 0), 0.0),
        ((3, 29), 113.0),
        ((16, 16), 132.0),
        ((31, 31), 8.0),
        ((20, 7), 124.0),
        ((8, 24), 123.0),
    ] {
        let found = image[row * 32 + column];
        assert!((found - expected).abs() <= 1.0, "{row} {column}: {found}");
    }
    assert!((mean(image.iter().copied()) / 255.0 - 0.521542).abs() < 1e-4);
}

#[test]
fn smoothing_agrees_with_scipy() {
    let image = picture();
    let plane = Field::new(32, 32, |at| image[at] / 255.0);
    let smooth = plane.smoothed(0.4, 4.0, field::Edge::Nearest);
    assert!((smooth.values[0] - 0.001274).abs() < 1e-6, "{}", smooth.values[0]);
    assert!(
        (smooth.values[1023] - 0.114881).abs() < 1e-6,
        "{}",
        smooth.values[1023]
    );
}

/// Each noise has the standard deviation of its definition, where no number is cut off.
#[test]
fn noise_has_the_published_standard_deviation() {
    let sd = |shift: Shift, value: f64| {
        let changed = corrupted(shift, &constant(255.0 * value));
        let centre = mean(changed.iter().copied());
        assert!((centre - value).abs() < 0.01, "{shift}: {centre}");
        mean(changed.iter().map(|changed| (changed - centre).powi(2))).sqrt()
    };
    for (severity, expected) in (1..).zip([0.04, 0.06, 0.08, 0.09, 0.1]) {
        // The standard error of a standard deviation of 3072 numbers is 1.3 %.
        let found = sd(shift(Corruption::GaussianNoise, severity), 0.5);
        assert!((found / expected - 1.0).abs() < 0.05, "{severity}: {found}");
    }
    for (severity, photons) in (1..).zip([500.0, 250.0, 100.0, 75.0, 50.0_f64]) {
        let found = sd(shift(Corruption::ShotNoise, severity), 0.4);
        assert!(
            (found / (0.4 / photons).sqrt() - 1.0).abs() < 0.05,
            "{severity}: {found}"
        );
    }
}

#[test]
fn impulses_are_black_or_white() {
    for (severity, share) in (1..).zip([0.01, 0.02, 0.03, 0.05, 0.07]) {
        let changed = corrupted(shift(Corruption::ImpulseNoise, severity), &constant(127.5));
        let count = |value: f64| changed.iter().filter(|pixel| **pixel == value).count() as f64;
        let (black, white, same) = (count(0.0), count(1.0), count(0.5));
        assert_eq!(black + white + same, 3072.0);
        // Four standard deviations of a binomial count.
        let expected = 3072.0 * share;
        assert!(
            (black + white - expected).abs() < 4.0 * expected.sqrt(),
            "{severity}: {black} {white}"
        );
        assert!(
            (black - white).abs() < 4.0 * expected.sqrt(),
            "{severity}: {black} {white}"
        );
    }
}

/// Blurs, resolutions and displacements are averages or copies of pixels: a constant image stays constant.
#[test]
fn averages_keep_a_constant_image() {
    use Corruption::{Contrast, DefocusBlur, Elastic, GlassBlur, Jpeg, MotionBlur, Pixelate, ZoomBlur};
    for corruption in [
        DefocusBlur,
        GlassBlur,
        MotionBlur,
        ZoomBlur,
        Contrast,
        Elastic,
        Pixelate,
        Jpeg,
    ] {
        for shift in Shift::severities(corruption) {
            let found = corrupted(shift, &constant(100.0));
            let wrong = found.iter().find(|value| (**value - 100.0 / 255.0).abs() > 0.005);
            assert_eq!(wrong, None, "{shift}");
        }
    }
}

#[test]
fn motion_blurs_one_pixel_along_a_line() {
    let mut plane = Field::new(32, 32, |at| f64::from(u8::from(at == 16 * 32 + 16)));
    plane = plane.dragged(6, 2.0, 0.0);
    // At zero degrees, pixels to the right are averaged with half of a normal density: the pixel leaves a trace to its left.
    let weights: Vec<f64> = (0..13).map(|at| (-f64::from(at * at) / 8.0).exp()).collect();
    let sum: f64 = weights.iter().sum();
    for (at, weight) in weights.iter().enumerate() {
        let found = plane.values[16 * 32 + 16 - at];
        assert!((found - weight / sum).abs() < 1e-12, "{at}: {found}");
    }
    assert!((plane.values.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

#[test]
fn glass_exchanges_pixels() {
    // At severity 1, the blur of 0.05 pixels changes nothing: the kernel has a single pixel. The numbers stay the same, in another order.
    let sorted = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values
    };
    let plain: Vec<f64> = picture().iter().map(|value| value / 255.0).collect();
    let found = corrupted(shift(Corruption::GlassBlur, 1), &picture());
    assert_ne!(found, plain);
    assert_eq!(sorted(found), sorted(plain));
}

/// A white image stays white in fog and snow; on a black image, fog is the fractal alone, and its largest number is `c m / (m + c)` for `m = 0`.
#[test]
fn weather_keeps_the_extremes_of_its_formula() {
    for shift in Shift::severities(Corruption::Fog) {
        assert!(
            corrupted(shift, &constant(0.0)).iter().all(|value| *value == 0.0),
            "{shift}"
        );
        let white = corrupted(shift, &constant(255.0));
        let amount = [0.2, 0.5, 0.75, 1.0, 1.5][usize::from(shift.severity) - 1];
        // A fractal from 0 to 1 gives numbers from 1 / (1 + c) to 1.
        let (low, high) = crate::metrics::extent(white.iter().copied());
        assert!(
            (low - 1.0 / (1.0 + amount)).abs() < 1e-12 && high == 1.0,
            "{shift}: {low} {high}"
        );
    }
    for shift in Shift::severities(Corruption::Snow) {
        let white = corrupted(shift, &constant(255.0));
        assert!(white.iter().all(|value| *value == 1.0), "{shift}");
        let black = corrupted(shift, &constant(0.0));
        let kept = [0.95, 0.9, 0.9, 0.85, 0.8][usize::from(shift.severity) - 1];
        let (low, high) = crate::metrics::extent(black.iter().copied());
        assert!(
            low >= (1.0 - kept) * 0.5 - 1e-12 && high <= 1.0 && high > low,
            "{shift}: {low} {high}"
        );
    }
}

#[test]
fn each_corruption_depends_on_the_row_the_key_and_the_severity_only() {
    for form in Corruption::FORMS {
        let mut distances = Vec::new();
        for shift in Shift::severities(form.corruption) {
            let with = |key: u64, row: usize| {
                let mut image = picture();
                Corrupter::new(SIDE, SIDE, shift, key, PixelUnits::Bytes).apply(row, &mut image);
                image
            };
            let first = with(7, 5);
            assert_eq!(first, with(7, 5), "{shift}");
            assert!(
                first
                    .iter()
                    .all(|value| (0.0..=255.0).contains(value) && value.fract() == 0.0),
                "{shift}"
            );
            let is_random = !matches!(
                form.corruption,
                Corruption::DefocusBlur
                    | Corruption::ZoomBlur
                    | Corruption::Brightness
                    | Corruption::Contrast
                    | Corruption::Pixelate
                    | Corruption::Jpeg
            );
            assert_eq!(first != with(7, 6), is_random, "{shift}");
            assert_eq!(first != with(8, 5), is_random, "{shift}");
            let change = first
                .iter()
                .zip(picture())
                .map(|(one, other)| (one - other).powi(2));
            distances.push(mean(change).sqrt());
        }
        assert!(
            distances.iter().all(|distance| *distance > 0.1),
            "{}: {distances:?}",
            form.name
        );
        // The other two displace pixels less and smooth more, so the distance need not grow.
        if !matches!(form.corruption, Corruption::Elastic | Corruption::GlassBlur) {
            assert!(distances[4] > distances[0], "{}: {distances:?}", form.name);
        }
    }
}

#[test]
fn units_follow_from_the_values() {
    let of = |values: &[f64]| PixelUnits::of_reals(values.iter().copied());
    assert_eq!(of(&[0.0, 0.5, 1.0]), Ok(PixelUnits::Unit));
    assert_eq!(of(&[0.0, 1.5, 255.0]), Ok(PixelUnits::Reals));
    assert_eq!(of(&[0.0, -0.5]), Err(-0.5));
    assert_eq!(of(&[256.0]), Err(256.0));
    assert!(of(&[f64::NAN]).is_err());
    // The same image in the three units.
    let shift = shift(Corruption::Contrast, 2);
    let unit = corrupted(shift, &picture());
    let (mut reals, mut bytes) = (picture(), picture());
    Corrupter::new(SIDE, SIDE, shift, 7, PixelUnits::Reals).apply(5, &mut reals);
    Corrupter::new(SIDE, SIDE, shift, 7, PixelUnits::Bytes).apply(5, &mut bytes);
    for ((unit, real), byte) in unit.iter().zip(&reals).zip(&bytes) {
        assert!((255.0 * unit - real).abs() < 1e-9);
        assert_eq!((real + 1e-6).floor(), *byte);
    }
}

/// Images of any size are corrupted without a panic.
#[test]
fn small_and_oblong_images_are_corrupted_too() {
    for (height, width) in [(1, 1), (1, 7), (2, 3), (9, 40), (28, 28)] {
        for planes in [1, 3] {
            for form in Corruption::FORMS {
                for shift in Shift::severities(form.corruption) {
                    let mut image: Vec<f64> = (0..planes * height * width)
                        .map(|at| (at * 37 % 256) as f64)
                        .collect();
                    Corrupter::new(height, width, shift, 1, PixelUnits::Bytes).apply(0, &mut image);
                    assert!(
                        image.iter().all(|value| (0.0..=255.0).contains(value)),
                        "{shift} {height} {width}"
                    );
                }
            }
        }
    }
}

/// The fractal has the mean, the standard deviation and the mean distance between neighbours of the published program, whose numbers are means over
/// 4000 fractals.
#[test]
fn fog_has_the_published_distribution() {
    for (severity, amount, published) in [
        (2, 0.5, [0.4994, 0.1470, 0.0204]),
        (5, 1.5, [0.5016, 0.1702, 0.0288]),
    ] {
        let corrupter = Corrupter::new(SIDE, SIDE, shift(Corruption::Fog, severity), 3, PixelUnits::Unit);
        let of_row = |row: usize| {
            let mut image = vec![1.0; 3 * 1024];
            corrupter.apply(row, &mut image);
            // A white image becomes `(1 + c fractal) / (1 + c)`.
            let fractal: Vec<f64> = image[..1024]
                .iter()
                .map(|value| (value * (1.0 + amount) - 1.0) / amount)
                .collect();
            let centre = mean(fractal.iter().copied());
            let variance = mean(fractal.iter().map(|value| (value - centre).powi(2)));
            let rows = fractal.chunks_exact(32).flat_map(|row| row.windows(2));
            [
                centre,
                variance.sqrt(),
                mean(rows.map(|pair| (pair[1] - pair[0]).abs())),
            ]
        };
        let all: Vec<[f64; 3]> = (0..200).map(of_row).collect();
        // The standard errors of the means over 200 fractals are at most 0.0066, 0.0017 and 0.0004.
        for (at, error) in [0.0066, 0.0017, 0.0004].into_iter().enumerate() {
            let found = mean(all.iter().map(|one| one[at]));
            let expected = published[at];
            assert!(
                (found - expected).abs() < 4.0 * error,
                "{severity} {at}: {found} for {expected}"
            );
        }
    }
}
