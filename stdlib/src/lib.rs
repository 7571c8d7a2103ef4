//! The library of distributions, layers, optimisers and functions. It is written in the language
//! itself.

/// The path and the text of every file, sorted by path. The files have no special privileges: a
/// user could have written them.
pub static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));
