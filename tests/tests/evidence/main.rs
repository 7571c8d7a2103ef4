//! Tests of online tuning: prior factors and noise levels are tuned during the search for a
//! maximum. For a linear model with Normal noise, the tuned values maximise the marginal likelihood
//! of the rows. This marginal likelihood is a Normal density of all targets. The covariance matrix
//! of this density has one row for each row of data. The tests compute this density without the
//! weights.

#![allow(clippy::unwrap_used)]

mod factors;
mod parts;
mod setup;
