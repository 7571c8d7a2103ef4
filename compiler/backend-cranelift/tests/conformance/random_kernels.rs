//! Random kernels: machine code against the reference interpreter.

use crate::harness;
use crate::random::{self, Dice};
use bnnc_abi::plan::Storage;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::Sizes;

fn check(seed: u64, precision: Precision, tolerance: f64) {
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
    let (found, wanted) = harness::run_both(&program, &contents, &chunks);
    harness::compare(&program, &found, &wanted, tolerance);
}

#[test]
fn agree_in_f64() {
    (0..1000).for_each(|seed| check(seed, Precision::F64, 1e-12));
}

#[test]
fn agree_in_f32() {
    (10_000..11_000).for_each(|seed| check(seed, Precision::F32, 1e-5));
}
