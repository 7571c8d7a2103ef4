//! Elementary functions and random numbers, computed by arithmetic alone and without branches. The runtime applies them to numbers, and
//! code generators translate them.
//!
//! Note \[One source\]. The functions are written once, generic over the element type [`Lane`]. With numbers as elements they are the
//! bodies of the runtime's array primitives, whose loops become vector code of each instruction set. With [`recorded`] values as elements
//! they are lists of operations, which a code generator emits in its own form. The functions therefore contain no branches: a comparison
//! gives a mask, and a mask selects. If each operation is rounded in the same way, both uses give the same bits.

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
