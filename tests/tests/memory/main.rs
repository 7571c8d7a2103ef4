//! The predicted peak memory of a run agrees with the peak that the allocator measures. A run that
//! would not fit is rejected.

mod approximations;
mod setup;
mod training;
