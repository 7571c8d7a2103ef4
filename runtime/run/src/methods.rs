//! The methods of inference, one in each folder. None imports another.

pub mod collapsed;
pub mod iterates;
pub mod laplace;
pub mod sample;
pub mod train;
