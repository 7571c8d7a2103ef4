//! Array primitives: functions that generated code calls on blocks of elements. Each primitive has
//! several versions, and the best version for this processor is used.

pub mod blocks;
pub mod noise;
mod rare;

use bnnc_abi::symbols::{self, Address, Binary, Callable, NoiseFn, NoiseKind, Unary};
use bnnc_base::dtype::Precision;
use bnnc_math::approx::Number;
use bnnc_math::approx::functions::{self, Elementwise, ElementwiseVisitor};
use bnnc_math::approx::noise as law;
use bnnc_math::scalar::Scalar;
use std::marker::PhantomData;

/// The instruction sets that primitives are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Instructions that every processor has.
    Portable,
    /// The instructions of x86-64 with AVX2 and FMA.
    Avx2,
    /// The instructions of x86-64 with AVX-512 (F, VL, DQ, BW).
    Avx512,
}

impl Level {
    /// Returns the levels that this processor supports, in ascending order.
    pub fn supported() -> &'static [Level] {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw");
            match (avx2, avx512) {
                (true, true) => &[Level::Portable, Level::Avx2, Level::Avx512],
                (true, false) => &[Level::Portable, Level::Avx2],
                (false, _) => &[Level::Portable],
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            &[Level::Portable]
        }
    }

    /// Returns the highest level that this processor supports.
    pub fn detect() -> Level {
        Level::supported().last().copied().unwrap_or(Level::Portable)
    }
}

/// Returns the array primitive for a scalar operation with one operand. Returns `None` if generated
/// code computes the operation without a call.
pub fn unary(scalar: Scalar, precision: Precision) -> Option<Unary> {
    unary_at(Level::detect(), scalar, precision)
}

/// Returns the array primitive for a scalar operation with two operands. Returns `None` if
/// generated code computes the operation without a call.
pub fn binary(scalar: Scalar, precision: Precision) -> Option<Binary> {
    rare::binary(scalar, precision)
}

/// Returns the generator of a noise stream.
pub fn noise(kind: NoiseKind, precision: Precision) -> NoiseFn {
    noise_at(Level::detect(), kind, precision)
}

/// Returns the addresses of all primitives that generated code may call.
pub fn symbols() -> Vec<Address> {
    let address = |(callable, precision): (Callable, Precision)| {
        let pointer = match callable {
            Callable::Scalar(scalar) => unary(scalar, precision)
                .map(|function| function as usize)
                .or_else(|| binary(scalar, precision).map(|function| function as usize))?,
            Callable::Noise(kind) => noise(kind, precision) as usize,
        };
        let name = callable.symbol(precision);
        Some(Address { name, pointer })
    };
    symbols::callables().filter_map(address).collect()
}

/// Returns the version of [`unary`] for a chosen level. The level must be among
/// [`Level::supported`].
pub fn unary_at(level: Level, scalar: Scalar, precision: Precision) -> Option<Unary> {
    match precision {
        Precision::F32 => functions::visit(scalar, Version::<f32>(level, PhantomData)),
        Precision::F64 => functions::visit(scalar, Version::<f64>(level, PhantomData)),
    }
    .or_else(|| rare::unary(scalar, precision))
}

/// Returns the array primitive of an approximated function for a level.
struct Version<T>(Level, PhantomData<T>);

impl<T: Number> ElementwiseVisitor for Version<T> {
    type Output = Unary;

    fn visit<F: Elementwise>(self) -> Unary {
        match self.0 {
            Level::Portable => blocks::plain::<F, T>,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => blocks::avx2::<F, T>,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => blocks::avx512::<F, T>,
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 | Level::Avx512 => blocks::plain::<F, T>,
        }
    }
}

/// Returns the version of [`noise()`] for a chosen level. The level must be among
/// [`Level::supported`].
pub fn noise_at(level: Level, kind: NoiseKind, precision: Precision) -> NoiseFn {
    match (kind, precision) {
        (NoiseKind::Uniform, Precision::F32) => stream::<law::Uniform, f32>(level),
        (NoiseKind::Uniform, Precision::F64) => stream::<law::Uniform, f64>(level),
        (NoiseKind::Normal, Precision::F32) => stream::<law::StandardNormal, f32>(level),
        (NoiseKind::Normal, Precision::F64) => stream::<law::StandardNormal, f64>(level),
        (NoiseKind::Gamma, Precision::F32) => noise::gamma::<f32>,
        (NoiseKind::Gamma, Precision::F64) => noise::gamma::<f64>,
    }
}

fn stream<N: law::NoiseLaw, T: Number>(level: Level) -> NoiseFn {
    match level {
        Level::Portable => noise::plain::<N, T>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => noise::avx2::<N, T>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => noise::avx512::<N, T>,
        #[cfg(not(target_arch = "x86_64"))]
        Level::Avx2 | Level::Avx512 => noise::plain::<N, T>,
    }
}
