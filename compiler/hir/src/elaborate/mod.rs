//! Elaboration: turns the typed tree into the probabilistic graph. Elaboration inlines layers,
//! replaces dims by numbers, and assigns paths to sites.

pub mod bind;
pub mod call;
mod choice;
pub mod datum;
pub mod dist;
mod drawn;
pub mod expr;
pub mod frame;
mod images;
pub mod index;
mod joint;
pub mod joint_density;
mod linear;
pub mod model;
mod observed_range;
pub mod open;
pub mod optimiser;
pub mod posterior;
pub mod repeat;
pub mod running;
mod sizes;
mod start;
