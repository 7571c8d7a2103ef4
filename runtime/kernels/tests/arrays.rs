//! Every array primitive agrees with the scalar reference function. All versions that this
//! processor supports are tested.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use bnnc_abi::symbols::{NoiseKind, noise_symbol, scalar_symbol};
use bnnc_base::dtype::Precision;
use bnnc_kernels::arrays::{self, Level};
use bnnc_math::gamma;
use bnnc_math::philox;
use bnnc_math::scalar::Scalar;

/// Runs a unary primitive on values that are converted to `precision`. In `f64`, the result is
/// written to another array; in `f32`, it replaces the operand.
fn run_unary(level: Level, scalar: Scalar, precision: Precision, x: &[f64]) -> Vec<f64> {
    let function = arrays::unary_at(level, scalar, precision).unwrap();
    let n = x.len() as i64;
    match precision {
        Precision::F64 => {
            let mut out = vec![0.0; x.len()];
            // SAFETY: both arrays hold `n` elements.
            unsafe { function(out.as_mut_ptr().cast(), x.as_ptr().cast(), n) };
            out
        }
        Precision::F32 => {
            let mut both: Vec<f32> = x.iter().map(|v| *v as f32).collect();
            // SAFETY: the array holds `n` elements. A primitive may write its result to its
            // operand.
            unsafe { function(both.as_mut_ptr().cast(), both.as_ptr().cast(), n) };
            both.into_iter().map(f64::from).collect()
        }
    }
}

/// Returns the points at which a function is compared with its reference. The points are dense near
/// zero, and include numbers of ordinary size and the ends of the domain.
fn grid(scalar: Scalar, precision: Precision) -> Vec<f64> {
    let mut points = Vec::new();
    let largest = if precision == Precision::F32 { 87.0 } else { 705.0 };
    for i in 0..=20_000 {
        let t = f64::from(i) / 20_000.0;
        points.extend([(2.0 * t - 1.0) * largest, (2.0 * t - 1.0) * 3.0]);
        let magnitude = 10f64.powf(-30.0 + 60.0 * t);
        points.extend([magnitude, -magnitude]);
    }
    // These points are near the zeros of sine and cosine.
    points.extend((1..500).map(|k| f64::from(k) * std::f64::consts::FRAC_PI_2));
    let inside = |x: &f64| match scalar {
        Scalar::Log => *x > 0.0,
        Scalar::Log1p => *x > -1.0,
        Scalar::Cos | Scalar::Sin => x.abs() < 1e7,
        Scalar::Digamma | Scalar::Lgamma | Scalar::Trigamma => *x > 1e-3 && *x < 1e6,
        Scalar::Exp | Scalar::Expm1 => x.abs() < largest,
        Scalar::Sigmoid => *x > -largest,
        _ => true,
    };
    let rounded = |x: f64| {
        if precision == Precision::F32 {
            f64::from(x as f32)
        } else {
            x
        }
    };
    points.into_iter().map(rounded).filter(inside).collect()
}

/// Returns the value of the scalar reference function.
fn reference(scalar: Scalar, x: f64) -> f64 {
    scalar.eval(&[x])
}

#[test]
fn unary_functions_agree_with_the_reference() {
    for precision in [Precision::F32, Precision::F64] {
        let (relative, smallest) = match precision {
            Precision::F32 => (4e-7, f64::from(f32::MIN_POSITIVE)),
            Precision::F64 => (2e-15, f64::MIN_POSITIVE),
        };
        for level in Level::supported() {
            for scalar in Scalar::called().filter(|scalar| scalar.arity() == 1) {
                let points = grid(scalar, precision);
                let values = run_unary(*level, scalar, precision, &points);
                let mut worst = (0.0, 0.0, 0.0, 0.0);
                for (x, value) in points.iter().zip(&values) {
                    let want = reference(scalar, *x);
                    let error = (value - want).abs() / want.abs().max(smallest);
                    if error > worst.0 || error.is_nan() {
                        worst = (error, *x, *value, want);
                    }
                }
                let (error, x, value, want) = worst;
                assert!(
                    error <= relative,
                    "{level:?} {} {precision} at {x:e}: {value:e}, not {want:e}: {error:e}",
                    scalar.name()
                );
            }
        }
    }
}

#[test]
fn edges_agree_with_the_reference() {
    for precision in [Precision::F32, Precision::F64] {
        let (tiny, huge) = match precision {
            Precision::F32 => (f64::from(f32::from_bits(3)), f64::from(f32::MAX)),
            Precision::F64 => (f64::from_bits(3), f64::MAX),
        };
        let points = [
            0.0, -0.0, 1.0, -1.0, -2.0, 200.0, -200.0, 800.0, -800.0, tiny, -tiny, huge, -huge,
        ];
        let ends = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let points: Vec<f64> = points.into_iter().chain(ends).collect();
        for level in Level::supported() {
            for scalar in Scalar::called().filter(|scalar| scalar.arity() == 1) {
                let values = run_unary(*level, scalar, precision, &points);
                for (x, value) in points.iter().zip(&values) {
                    let want = reference(scalar, *x);
                    let want = if precision == Precision::F32 {
                        f64::from(want as f32)
                    } else {
                        want
                    };
                    let close = value == &want
                        || (value.is_nan() && want.is_nan())
                        || (value - want).abs() <= 4e-7 * want.abs() + tiny;
                    assert!(
                        close,
                        "{level:?} {} {precision} at {x:e}: {value:e}, not {want:e}",
                        scalar.name()
                    );
                    if want == 0.0 && *x == 0.0 {
                        assert_eq!(
                            value.is_sign_negative(),
                            want.is_sign_negative(),
                            "{} at {x:e}",
                            scalar.name()
                        );
                    }
                }
            }
        }
    }
}

/// The result for an element depends only on this element, not on its position or on other
/// elements.
#[test]
fn values_do_not_depend_on_position() {
    let x: Vec<f64> = (0..300)
        .map(|i| (f64::from(i) * 0.37).sin() * 5.0 + 5.1)
        .collect();
    for precision in [Precision::F32, Precision::F64] {
        for level in Level::supported() {
            for scalar in Scalar::called().filter(|scalar| scalar.arity() == 1) {
                let whole = run_unary(*level, scalar, precision, &x);
                for (start, end) in [(0, 1), (1, 64), (3, 130), (250, 300), (77, 77)] {
                    let part = run_unary(*level, scalar, precision, &x[start..end]);
                    assert_eq!(part, whole[start..end], "{} {precision}", scalar.name());
                }
            }
        }
    }
}

#[test]
fn powers_agree_with_the_reference() {
    let x = [2.0, 0.5, -2.0, 0.0, 9.0, -8.0];
    let y = [10.0, -3.0, 3.0, 0.0, 0.5, 0.5];
    let mut out = [0f64; 6];
    let function = arrays::binary(Scalar::Pow, Precision::F64).unwrap();
    // SAFETY: all three arrays hold six elements.
    unsafe { function(out.as_mut_ptr().cast(), x.as_ptr().cast(), y.as_ptr().cast(), 6) };
    assert_eq!(out[..5], [1024.0, 8.0, -8.0, 1.0, 3.0]);
    assert!(out[5].is_nan());
    let function = arrays::binary(Scalar::GammaGradient, Precision::F64).unwrap();
    // SAFETY: all three arrays hold two elements.
    unsafe {
        function(
            out.as_mut_ptr().cast(),
            [2.5, 0.5].as_ptr().cast(),
            [2.0, 20.0].as_ptr().cast(),
            2,
        )
    };
    assert_eq!(out[..2], [gamma::gradient(2.5, 2.0), gamma::gradient(0.5, 20.0)]);
    assert!(arrays::binary(Scalar::Add, Precision::F32).is_none());
}

#[test]
fn every_symbol_has_an_address() {
    let symbols = arrays::symbols();
    for precision in [Precision::F32, Precision::F64] {
        let scalars = Scalar::called().map(|scalar| scalar_symbol(scalar, precision));
        let noises = NoiseKind::ALL
            .into_iter()
            .map(|kind| noise_symbol(kind, precision));
        for name in scalars.chain(noises) {
            assert!(
                symbols
                    .iter()
                    .any(|symbol| symbol.name == name && symbol.pointer != 0),
                "{name}"
            );
        }
    }
    assert_eq!(
        symbols.len(),
        2 * (Scalar::called().count() + NoiseKind::ALL.len())
    );
}

fn stream(level: Level, kind: NoiseKind, precision: Precision, first: u64, n: usize) -> Vec<f64> {
    let (key, function) = (0x1234_5678_9abc_def0, arrays::noise_at(level, kind, precision));
    let shapes = std::ptr::null::<u8>();
    match precision {
        Precision::F64 => {
            let mut out = vec![0f64; n];
            // SAFETY: `out` holds `n` elements.
            unsafe {
                function(
                    out.as_mut_ptr().cast(),
                    shapes.cast(),
                    n as i64,
                    key,
                    first,
                    3,
                    5,
                    7,
                )
            };
            out
        }
        Precision::F32 => {
            let mut out = vec![0f32; n];
            // SAFETY: `out` holds `n` elements.
            unsafe {
                function(
                    out.as_mut_ptr().cast(),
                    shapes.cast(),
                    n as i64,
                    key,
                    first,
                    3,
                    5,
                    7,
                )
            };
            out.into_iter().map(f64::from).collect()
        }
    }
}

#[test]
fn streams_agree_with_the_reference() {
    let key = 0x1234_5678_9abc_def0;
    for level in Level::supported() {
        for precision in [Precision::F32, Precision::F64] {
            let bound = if precision == Precision::F32 { 1e-6 } else { 4e-15 };
            for (kind, reference) in [
                (
                    NoiseKind::Uniform,
                    philox::uniform as fn(u64, [u32; 3], u64) -> f64,
                ),
                (NoiseKind::Normal, philox::normal),
            ] {
                let values = stream(*level, kind, precision, 0, 100_000);
                for (i, value) in values.iter().enumerate() {
                    let want = reference(key, [3, 5, 7], i as u64);
                    assert!(
                        (value - want).abs() <= bound * (1.0 + want.abs()),
                        "{level:?} {i}: {value} not {want}"
                    );
                }
                for (first, n) in [
                    (0, 5),
                    (1, 600),
                    (2, 3),
                    (7, 1000),
                    (255, 257),
                    (99_990, 10),
                    (12, 0),
                ] {
                    assert_eq!(
                        stream(*level, kind, precision, first as u64, n),
                        values[first..first + n]
                    );
                }
            }
        }
    }
}

/// Random words at the ends of their range give finite normal numbers, and uniform numbers inside
/// the open interval. The key and the counter of the published vector (Random123 1.09
/// `kat_vectors`) give the published words.
#[test]
fn known_words_give_known_values() {
    let (key, [draw, example, step]) = (0x299f_31d0_a409_3822, [0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]);
    let words = [0xd16c_fe09u32, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1];
    for level in Level::supported() {
        let mut out = [0f64; 4];
        let function = arrays::noise_at(*level, NoiseKind::Uniform, Precision::F64);
        // SAFETY: `out` holds four elements.
        unsafe {
            function(
                out.as_mut_ptr().cast(),
                std::ptr::null(),
                4,
                key,
                0x243f_6a88 * 4,
                draw,
                example,
                step,
            )
        };
        assert_eq!(out, words.map(|word| (f64::from(word) + 0.5) / 4_294_967_296.0));
    }
}

/// Gamma variates equal those of the reference, rounded to the precision. A variate that is too
/// small for the precision becomes the smallest number of this precision.
#[test]
fn gamma_variates_agree_with_the_reference() {
    let key = 0x1234_5678_9abc_def0;
    let shapes: Vec<f64> = (0..5000)
        .map(|i| 10f64.powf(f64::from(i) / 500.0 - 4.0))
        .collect();
    let want = |at: usize, shape: f64| gamma::variate(key, [3, 5, 7], 11 + at as u64, shape);
    let mut double = shapes.clone();
    let function = arrays::noise(NoiseKind::Gamma, Precision::F64);
    let base = double.as_mut_ptr().cast::<u8>();
    // SAFETY: the array holds 5000 elements. A primitive may write its result to its operand.
    unsafe { function(base, base, 5000, key, 11, 3, 5, 7) };
    for (at, value) in double.iter().enumerate() {
        assert_eq!(*value, want(at, shapes[at]));
    }
    let single: Vec<f32> = shapes.iter().map(|shape| *shape as f32).collect();
    let mut out = vec![0f32; 5000];
    let function = arrays::noise(NoiseKind::Gamma, Precision::F32);
    // SAFETY: both arrays hold 5000 elements.
    unsafe {
        function(
            out.as_mut_ptr().cast(),
            single.as_ptr().cast(),
            5000,
            key,
            11,
            3,
            5,
            7,
        )
    };
    for (at, value) in out.iter().enumerate() {
        assert_eq!(
            *value,
            (want(at, f64::from(single[at])) as f32).max(f32::MIN_POSITIVE)
        );
    }
    assert!(out.contains(&f32::MIN_POSITIVE));
}
