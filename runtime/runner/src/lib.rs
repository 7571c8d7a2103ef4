//! The runtime of built executables. It provides `bnnc run` without the compiler.
//!
//! `bnnc build` either links this library with the objects of a program, or appends the program to
//! the executable `bnnc-runner`.

mod arguments;
mod carried;
mod conform;
mod linked;
mod program;
mod steer;

pub use carried::main as carried_main;
