//! Tests that walk registries, and models small enough to be known in closed form.

mod batches;
mod derivatives;
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
