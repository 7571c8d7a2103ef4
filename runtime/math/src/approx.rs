//! Elementary functions and random numbers, computed by arithmetic alone and without branches. The runtime applies the functions to
//! numbers, and code generators translate them to other languages.
//!
//! Note \[One source\]. Each function is written once, and is generic over the element type [`Lane`]. With numbers as elements, the
//! functions are the loop bodies of the runtime's array primitives. The loops of these primitives are compiled to vector instructions.
//! If the elements are [`recorded`] values, a function returns a list of operations. A code generator emits code for this list. The
//! functions therefore do not branch: a comparison returns a mask, and the mask selects between two values. If each operation is
//! rounded in the same way, both uses give the same bits.

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
