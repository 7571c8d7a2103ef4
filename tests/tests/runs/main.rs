//! With the same seed, a run gives the same results on every number of threads, and on a device with its own memory.
#![allow(clippy::unwrap_used)]

mod device;
mod examples;
mod threads;
