//! Tests every scalar operation with every operand type, in both precisions, and in every form of
//! the innermost loop.

use crate::harness::{self, Case};
use crate::tolerance;
use bnnc_abi::plan::Storage;
use bnnc_base::dtype::{DType, Precision};
use bnnc_loops::ir::LoopProgram;
use bnnc_loops::parse::parse;
use bnnc_loops::verify::scalar_type;
use bnnc_math::scalar::Scalar;

/// The operands of the tests, which use all pairs of them, including pairs of equal values. All
/// operands are exact in `f32`, and some are special values.
const REALS: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.5,
    -2.5,
    3.0,
    -3.0,
    0.1015625,
    -7.25,
    12.75,
    40.0,
    -40.0,
    1e-3_f32 as f64,
    -1e-5_f32 as f64,
    1e30_f32 as f64,
    -1e30_f32 as f64,
    2_147_483_648.0,
    1e-30_f32 as f64,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

const INTS: [f64; 24] = [
    0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    -3.0,
    5.0,
    7.0,
    -7.0,
    10.0,
    100.0,
    -100.0,
    255.0,
    256.0,
    1000.0,
    -1000.0,
    46_341.0,
    65_536.0,
    -65_536.0,
    1e9,
    -1e9,
    2_147_483_647.0,
    -2_147_483_648.0,
];

/// The number of elements: one per pair, plus a remainder that is smaller than a vector or a block.
const COUNT: usize = 24 * 24 + 27;

/// The layout of an operation: its axes, the strides of its operands, and the strides of its
/// result.
struct Layout {
    dims: &'static str,
    operand: &'static str,
    result: &'static str,
}

const LAYOUTS: [Layout; 5] = [
    // This layout has whole vectors, remaining elements and, for calls, blocks.
    Layout {
        dims: "[603]",
        operand: "[1]",
        result: "[1]",
    },
    // In this layout, the innermost loop computes one element at a time.
    Layout {
        dims: "[300]",
        operand: "[2]",
        result: "[1]",
    },
    // The strides of this layout are known only at run time.
    Layout {
        dims: "[30, $0]",
        operand: "[20, $1]",
        result: "[20, $1]",
    },
    // This layout has short rows of vectors.
    Layout {
        dims: "[24, 21]",
        operand: "[25, 1]",
        result: "[25, 1]",
    },
    // This layout computes the operation outside the innermost loop.
    Layout {
        dims: "[603, 3]",
        operand: "[1, 0]",
        result: "[1, 603]",
    },
];

fn text(scalar: Scalar, types: &[DType], result: DType, (precision, layout): (Precision, &Layout)) -> String {
    let storage = |dtype: DType| if dtype == DType::Int { "int" } else { "real" };
    let mut buffers = String::new();
    let mut slots = Vec::new();
    let mut body = String::new();
    for (at, dtype) in types.iter().enumerate() {
        buffers += &format!("b{at} = {} \"x\" [{COUNT}] input\n", storage(*dtype));
        slots.push(storage(*dtype));
        body += &format!("v{at}: {dtype} = load {at} at 0 {}\n", layout.operand);
    }
    let out = types.len();
    let operands: String = (0..out).map(|at| format!(" v{at}")).collect();
    slots.push(storage(result));
    let outer = layout.dims[1..].split([',', ']']).next().unwrap();
    let bound: Vec<String> = (0..=out).map(|at| format!("b{at}")).collect();
    format!(
        "plan \"p\" {precision} 1 {{ {buffers} b{out} = {} \"y\" [{}] output
           launch 0 ({}) ints (20, 1) outer {outer} work 1 reduces () }}
         kernel \"{}\" {} ({}) {{ {body} v{out}: {result} = {}{operands}
           store v{out} -> {out} at 0 {} }}",
        storage(result),
        3 * COUNT,
        bound.join(", "),
        scalar.name(),
        layout.dims,
        slots.join(", "),
        scalar.name(),
        layout.result,
    )
}

/// Returns, for every pair of operands, the value of the operand with index `operand`.
fn contents(dtype: DType, operand: usize) -> Vec<f64> {
    let pairing = |at: usize| [at % 24, at / 24 % 24, (at * 7 + 3) % 24][operand];
    (0..COUNT)
        .map(|at| match dtype {
            DType::Real => REALS[pairing(at)],
            DType::Int => INTS[pairing(at)],
            // Any number except 0 is treated as true, including NaN.
            DType::Bool => [0.0, 1.0, -0.0, 2.0, f64::NAN][pairing(at) % 5],
        })
        .collect()
}

fn cases(scalar: Scalar, types: &[DType], result: DType) -> Vec<Case> {
    let mut cases = Vec::new();
    for precision in [Precision::F32, Precision::F64] {
        for layout in &LAYOUTS {
            let program = parse(&text(scalar, types, result, (precision, layout))).unwrap();
            let mut contents: Vec<Vec<f64>> =
                (0..).zip(types).map(|(at, dtype)| contents(*dtype, at)).collect();
            contents.push(vec![9.0; 3 * COUNT]);
            let chunks = vec![5, harness::launch(&program).outer.as_fixed().unwrap()];
            cases.push(Case {
                program,
                contents,
                chunks,
            });
        }
    }
    cases
}

fn check(scalar: Scalar, program: &LoopProgram, (found, wanted): (&[f64], &[f64])) {
    let precision = program.plan.precision;
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let (wanted, precision) = match (precision, program.kernels[0].slots.last()) {
            (Precision::F32, Some(Storage::Real)) => (f64::from(*wanted as f32), Precision::F32),
            _ => (*wanted, Precision::F64),
        };
        let same = *found == wanted || (found.is_nan() && wanted.is_nan());
        let error = (found - wanted).abs() / wanted.abs();
        assert!(
            same || error <= tolerance(scalar, precision),
            "element {at}: {found} instead of {wanted}\n{program}"
        );
    }
}

#[test]
fn every_operation_agrees_with_its_reference() {
    use DType::{Bool, Int, Real};
    let (mut all, mut scalars) = (Vec::new(), Vec::new());
    for scalar in Scalar::ALL {
        let before = all.len();
        for types in [
            [Real, Real, Real],
            [Int, Int, Int],
            [Bool, Bool, Bool],
            [Bool, Real, Real],
            [Bool, Int, Int],
        ] {
            let types = &types[..scalar.arity()];
            if let Some(result) = scalar_type(*scalar, types) {
                all.extend(cases(*scalar, types, result));
            }
        }
        assert!(all.len() > before, "{} takes no types", scalar.name());
        scalars.resize(all.len(), *scalar);
    }
    let results = harness::run_all(&all);
    for ((scalar, case), (found, wanted)) in scalars.iter().zip(&all).zip(&results) {
        let last = found.len() - 1;
        check(*scalar, &case.program, (&found[last], &wanted[last]));
    }
}

#[test]
fn extrema_with_a_constant_propagate_nan() {
    for (name, constant, x, wanted) in [
        ("max", "0.0", f64::NAN, f64::NAN),
        ("max", "0.0", -1.0, 0.0),
        ("min", "0.0", f64::NAN, f64::NAN),
        ("min", "0.0", -1.0, -1.0),
        ("max", "NaN", 1.0, f64::NAN),
        ("min", "NaN", 1.0, f64::NAN),
    ] {
        for operands in ["v0 v1", "v1 v0"] {
            let program = parse(&format!(
                "plan \"p\" f32 1 {{ b0 = real \"x\" [21] input b1 = real \"y\" [21] output
                   launch 0 (b0, b1) ints () outer 21 work 1 reduces () }}
                 kernel \"k\" [21] (real, real) {{ v0: real = load 0 at 0 [1] v1: real = const {constant}
                   v2: real = {name} {operands} store v2 -> 1 at 0 [1] }}"
            ))
            .unwrap();
            let (found, _) = harness::run_both(&program, &[vec![x; 21], vec![9.0; 21]], &[21]);
            let same = |found: &f64| *found == wanted || (found.is_nan() && wanted.is_nan());
            assert!(
                found[1].iter().all(same),
                "{name} {operands} with {constant} and {x}: {:?}",
                found[1]
            );
        }
    }
}
