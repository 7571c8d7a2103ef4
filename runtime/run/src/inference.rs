//! What inferences find, as the rest of a run sees it: a trait that each method implements, and the results that are reported.

pub mod posterior;
