//! Triangular densities in place of Normal ones.

/// The ratio of a triangle's radius to the standard deviation of the Normal that it is nearest to in `L2` (of densities).
pub const ALPHA_L2: f64 = 2.297_003_764_578_613;

/// The ratio of a triangle's radius to its standard deviation: `sqrt 6`.
pub const ALPHA_VARIANCE: f64 = 2.449_489_742_783_178;
