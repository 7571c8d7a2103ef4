//! Elementary functions and random numbers by arithmetic alone, free of branches, for whoever does the arithmetic.
//!
//! Note \[One source\]. The functions are written once, generic over a [`Lane`]: what one element is. Instantiated with numbers
//! they are what the array primitives of the runtime are made of, whose loops become vector code of each instruction set.
//! Instantiated with [`recorded`] values they are lists of operations, which a code generator emits in its own form. That is why
//! nothing here decides: a comparison gives a mask, and a mask selects. With the same rounding of each operation both give the
//! same bits.

pub mod coefficients;
pub mod format;
pub mod functions;
pub mod gamma;
pub mod lane;
pub mod noise;
pub mod numbers;
pub mod rare;
pub mod recorded;

pub use lane::{Arch, Fused, Lane, Mask, Plain, Word};
pub use numbers::Number;
