//! Tests that iterate over registries, and tests with models that are small enough for closed forms.

mod batches;
mod derivatives;
mod forward;
mod inputs;
mod library;
mod likelihood;
mod models;
mod noncentre;
mod objectives;
mod passes;
mod pieces;
mod rewrites;
mod selections;
mod separation;
mod supports;
mod termination;
