//! The library: distributions, layers, optimisers and functions, written in the language.

/// Every file as (path, text), sorted by path. They have no privileges: a user could have written them.
pub static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));
