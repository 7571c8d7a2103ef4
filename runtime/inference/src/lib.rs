//! The interface between the inference methods and the rest of a run. The interface consists of a trait that each method implements, and of the
//! types of the reported results.

pub mod chains;
pub mod comparison;
pub mod diagnostics;
pub mod draws;
pub mod evaluate;
pub mod held;
pub mod iterates;
pub mod leave_one_out;
pub mod method;
pub mod outcome;
pub mod positions;
pub mod posterior;
pub mod prune;
pub mod site_draws;
pub mod sites;
pub mod summary;
