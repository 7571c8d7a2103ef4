//! Compares machine code with the reference interpreter on random kernels.

use crate::RANDOM_KERNELS;
use crate::harness::{self, Case};
use crate::random::{self, Dice};
use bnnc_abi::plan::Storage;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::Sizes;

/// Builds the random program that belongs to a seed, with its inputs.
fn case(seed: u64, precision: Precision) -> Case {
    let program = random::program(seed, precision);
    let mut dice = Dice(!seed);
    let contents = harness::initial(&program, |storage| match storage {
        Storage::Real if dice.one_in(8) => 0.0,
        Storage::Real => dice.real(),
        Storage::Int => dice.roll(9) as f64 - 2.0,
    });
    let outer = harness::launch(&program).outer.resolve(&Sizes::default());
    let mut chunks: Vec<i64> = (0..dice.roll(3))
        .map(|_| dice.roll(outer as usize + 1) as i64)
        .collect();
    chunks.sort_unstable();
    chunks.push(outer);
    Case {
        program,
        contents,
        chunks,
    }
}

fn check(seeds: std::ops::Range<u64>, precision: Precision, tolerance: f64) {
    let cases: Vec<Case> = seeds.map(|seed| case(seed, precision)).collect();
    for (case, (found, wanted)) in cases.iter().zip(harness::run_all(&cases)) {
        harness::compare(&case.program, &found, &wanted, tolerance);
    }
}

#[test]
fn random_kernels_agree_in_f64() {
    check(0..RANDOM_KERNELS, Precision::F64, 1e-12);
}

#[test]
fn random_kernels_agree_in_f32() {
    check(10_000..10_000 + RANDOM_KERNELS, Precision::F32, 1e-5);
}
