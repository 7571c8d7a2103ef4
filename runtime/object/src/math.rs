//! Functions that generated code calls although no program mentions them: memory functions and, for
//! processors that lack the instructions, rounding functions and fused multiply-adds.

use bnnc_abi::symbols::Address;
use std::ffi::c_void;

macro_rules! real_functions {
    ($($name:ident, $real:ty, ($($operand:ident),*), $value:expr;)*) => {
        $(extern "C" fn $name($($operand: $real),*) -> $real {
            $value
        })*

        fn rounding() -> Vec<Address> {
            vec![$(Address { name: stringify!($name).to_owned(), pointer: $name as *const () as usize }),*]
        }
    };
}

real_functions! {
    ceil, f64, (x), x.ceil();
    ceilf, f32, (x), x.ceil();
    floor, f64, (x), x.floor();
    floorf, f32, (x), x.floor();
    trunc, f64, (x), x.trunc();
    truncf, f32, (x), x.trunc();
    nearbyint, f64, (x), x.round_ties_even();
    nearbyintf, f32, (x), x.round_ties_even();
    fma, f64, (x, y, z), x.mul_add(y, z);
    fmaf, f32, (x, y, z), x.mul_add(y, z);
}

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: i32, bytes: usize) -> *mut c_void;
    fn memcmp(left: *const c_void, right: *const c_void, bytes: usize) -> i32;
}

/// Returns the address of each function with its name in C.
pub(crate) fn symbols() -> Vec<Address> {
    let moves = [
        ("memcpy", memcpy as *const () as usize),
        ("memmove", memmove as *const () as usize),
        ("memset", memset as *const () as usize),
        ("memcmp", memcmp as *const () as usize),
    ];
    let mut symbols = rounding();
    symbols.extend(moves.map(|(name, pointer)| Address {
        name: name.to_owned(),
        pointer,
    }));
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_to_even_and_products_are_rounded_once() {
        assert_eq!([0.5, 1.5, 2.5, -0.5].map(|x| nearbyint(x)), [0.0, 2.0, 2.0, -0.0]);
        let x = 1.0 + f64::EPSILON;
        assert_eq!(fma(x, x, -(x * x)), f64::EPSILON * f64::EPSILON);
        assert_eq!(symbols().len(), 14);
    }
}
