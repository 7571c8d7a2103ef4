//! The loop IR: kernels over rectangular domains, and a plan that launches these kernels.

pub mod analysis;
pub mod backend;
pub mod interp;
pub mod ir;
pub mod parse;
pub mod print;
pub mod reference;
pub mod verify;
mod verify_plan;
