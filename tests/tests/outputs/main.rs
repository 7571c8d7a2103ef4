//! Tests of models with several outputs. The predictions, metrics and files of each output agree
//! with closed forms, and with models that have this output alone.

#![allow(clippy::unwrap_used)]

mod setup;
mod several;
mod whole;
