//! Tests that inlined functions return the same bits as the array primitives of the runtime, at
//! every position of an element.

use crate::harness::{Case, run_all};
use bnnc_base::dtype::Precision;
use bnnc_kernels::arrays::unary;
use bnnc_loops::parse::parse;
use bnnc_math::scalar::Scalar;

const COUNT: usize = 1003;

/// Returns arguments of all magnitudes and both signs, all of which are exact in `f32`.
fn arguments() -> Vec<f64> {
    let argument = |at: usize| match at {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 => -0.0,
        _ => {
            let at = at as f64;
            f64::from(((at * 0.37).sin() * (at * 0.011 - 5.0).exp()) as f32)
        }
    };
    (0..COUNT).map(argument).collect()
}

fn case(scalar: Scalar, precision: Precision, chunks: &[i64]) -> Case {
    let name = scalar.name();
    let text = format!(
        "plan \"p\" {precision} 1 {{ b0 = real \"x\" [{COUNT}] input b1 = real \"y\" [{COUNT}] output
           launch 0 (b0, b1) ints () outer {COUNT} work 1 reduces () }}
         kernel \"{name}\" [{COUNT}] (real, real) {{ v0: real = load 0 at 0 [1] v1: real = {name} v0 store v1 -> 1 at 0 [1] }}"
    );
    Case {
        program: parse(&text).unwrap(),
        contents: vec![arguments(), vec![9.0; COUNT]],
        chunks: chunks.to_vec(),
    }
}

/// Returns the results of the array primitive for all arguments.
fn primitive(scalar: Scalar, precision: Precision) -> Vec<f64> {
    let function = unary(scalar, precision).unwrap();
    let mut doubles = arguments();
    let mut singles: Vec<f32> = doubles.iter().map(|x| *x as f32).collect();
    let address: *mut u8 = match precision {
        Precision::F32 => singles.as_mut_ptr().cast(),
        Precision::F64 => doubles.as_mut_ptr().cast(),
    };
    // SAFETY: `COUNT` elements of this precision lie at the address. The results may overwrite the
    // operands.
    unsafe { function(address, address, COUNT as i64) };
    match precision {
        Precision::F32 => singles.into_iter().map(f64::from).collect(),
        Precision::F64 => doubles,
    }
}

#[test]
fn inlined_functions_equal_the_primitives_in_every_chunk() {
    let inlined = Scalar::called().filter(|scalar| {
        let called = [Scalar::Cos, Scalar::Sin].contains(scalar);
        scalar.arity() == 1 && !called && !special(*scalar)
    });
    let kinds: Vec<(Scalar, Precision)> = inlined
        .flat_map(|scalar| [(scalar, Precision::F32), (scalar, Precision::F64)])
        .collect();
    assert!(kinds.len() >= 16, "{kinds:?}");
    let whole = kinds
        .iter()
        .map(|(scalar, precision)| case(*scalar, *precision, &[COUNT as i64]));
    let parts = kinds
        .iter()
        .map(|(scalar, precision)| case(*scalar, *precision, &[1, 8, 8, 511, 1000, COUNT as i64]));
    let cases: Vec<Case> = whole.chain(parts).collect();
    let results = run_all(&cases);
    let bits = |values: &[f64]| -> Vec<u64> {
        // The payload of a NaN is ignored in comparisons.
        let canonical = |x: &f64| if x.is_nan() { f64::NAN } else { *x };
        values.iter().map(|x| canonical(x).to_bits()).collect()
    };
    for (at, (scalar, precision)) in kinds.iter().enumerate() {
        let wanted = bits(&primitive(*scalar, *precision));
        for found in [&results[at].0[1], &results[kinds.len() + at].0[1]] {
            assert_eq!(bits(found), wanted, "{} {precision}", scalar.name());
        }
    }
}

/// Returns whether a function is called in the runtime instead of being inlined.
fn special(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Digamma | Scalar::Lgamma | Scalar::Trigamma)
}
