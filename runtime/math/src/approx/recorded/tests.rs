//! Tests that a recording gives the same bits as the recorded function.

use super::*;
use crate::approx::Number;
use crate::philox;

/// Returns the bits of numbers of all magnitudes: random bit patterns, and ordinary numbers.
fn points() -> Vec<u64> {
    let patterns = (0..2000u64)
        .map(|i| philox::words(7, [0; 3], 4 * i))
        .map(|w| u64::from(w[0]) << 32 | u64::from(w[1]));
    let ordinary = (-400..=400).map(|i| (f64::from(i) / 37.0).to_bits());
    patterns.chain(ordinary).collect()
}

fn check<A: Arch, T: Number>(fused: bool, precision: Precision, from: fn(u64) -> T, to: fn(T) -> u64) {
    for (scalar, function) in functions::table::<A, T>() {
        let recording = unary(scalar, precision, fused).unwrap();
        for bits in points() {
            let x = from(bits);
            let (got, want) = (recording.evaluate(&[to(x)]), function(x));
            if matches!(scalar, Scalar::Cos | Scalar::Sin) && (!fused || x.to_f64().abs() > 1e4) {
                continue;
            }
            let same = got == to(want) || want.to_f64().is_nan();
            assert!(
                same,
                "{} {precision} at {x:?}: {got:x}, not {want:?}",
                scalar.name()
            );
        }
    }
}

#[test]
fn functions_are_recorded_bit_for_bit() {
    let single = |bits: u64| f64::from_bits(bits) as f32;
    check::<Fused, f32>(true, Precision::F32, single, |x| u64::from(x.to_bits()));
    check::<Plain, f32>(false, Precision::F32, single, |x| u64::from(x.to_bits()));
    check::<Fused, f64>(true, Precision::F64, f64::from_bits, f64::to_bits);
    check::<Plain, f64>(false, Precision::F64, f64::from_bits, f64::to_bits);
}

/// The recorded random numbers agree with the reference.
#[test]
fn recorded_noise_agrees_with_the_reference() {
    let key = 0x1234_5678_9abc_def0u64;
    for (recording, reference) in [
        (
            uniform(Precision::F64, true),
            philox::uniform as fn(u64, [u32; 3], u64) -> f64,
        ),
        (normal(Precision::F64, true), philox::normal),
    ] {
        for element in (0..2000).chain([1 << 33, 0xFFFF_FFFF]) {
            let inputs = [
                key & 0xFFFF_FFFF,
                key >> 32,
                (element / 4) & 0xFFFF_FFFF,
                3,
                5,
                7,
                element % 4,
            ];
            let got = f64::from_bits(recording.evaluate(&inputs));
            let want = reference(key, [3, 5, 7], element);
            assert!(
                (got - want).abs() <= 4e-15 * (1.0 + want.abs()),
                "{element}: {got} not {want}"
            );
        }
    }
}

#[test]
fn operations_on_constants_are_not_recorded() {
    let recording = unary(Scalar::Exp, Precision::F32, true).unwrap();
    for step in &recording.steps {
        assert!(
            step.operands
                .iter()
                .any(|operand| !matches!(operand, RecordedOperand::Known(..)))
        );
    }
    assert!(unary(Scalar::Add, Precision::F32, true).is_none());
}

/// Returns the bits that represent a real in the given precision.
fn store(precision: Precision, x: f64) -> u64 {
    evaluate::nearest(RecordedType::real(precision), x)
}

/// Returns the real that these bits represent.
fn load(precision: Precision, bits: u64) -> f64 {
    match precision {
        Precision::F32 => f64::from(f32::from_bits(bits as u32)),
        Precision::F64 => f64::from_bits(bits),
    }
}

/// Code for GPUs is made from recordings, so every function of one operand needs one.
#[test]
fn every_called_function_of_one_operand_is_recorded() {
    for scalar in Scalar::called().filter(|scalar| scalar.arity() == 1) {
        assert!(unary(scalar, Precision::F32, true).is_some(), "{}", scalar.name());
    }
}

/// After rounding, functions that are computed in `f64` agree with their references.
#[test]
fn recorded_rare_functions_agree_with_the_reference() {
    for (precision, bound) in [(Precision::F32, 1e-7), (Precision::F64, 1e-13)] {
        for scalar in [
            Scalar::Digamma,
            Scalar::Lgamma,
            Scalar::Trigamma,
            Scalar::Cos,
            Scalar::Sin,
        ] {
            let recording = unary(scalar, precision, false).unwrap();
            for i in 1..2000 {
                let x = load(precision, store(precision, f64::from(i).powi(2) / 7e3 + 0.01));
                let got = load(precision, recording.evaluate(&[store(precision, x)]));
                let want = scalar.eval(&[x]);
                assert!(
                    (got - want).abs() <= bound * (1.0 + want.abs()),
                    "{} {x}: {got} not {want}",
                    scalar.name()
                );
            }
        }
        let pow = binary(Scalar::Pow, precision).unwrap();
        for (x, y) in [(2.5, 1.5), (-2.0, 3.0), (0.0, 0.0), (10.0, -30.0), (1e-20, 0.25)] {
            let got = load(
                precision,
                pow.evaluate(&[store(precision, x), store(precision, y)]),
            );
            let want = load(precision, store(precision, x)).powf(y);
            assert!(
                (got - want).abs() <= bound * want.abs(),
                "{x}^{y}: {got} not {want}"
            );
        }
    }
    assert!(binary(Scalar::Add, Precision::F32).is_none());
}
