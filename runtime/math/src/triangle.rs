//! Triangular densities that approximate Normal densities.

/// The ratio of the radius of a triangular density to the standard deviation of a Normal, if the triangle is the one closest to the Normal in `L2`.
pub const ALPHA_L2: f64 = 2.297_003_764_578_613;

/// The ratio of the radius of a triangular density to its standard deviation: `sqrt 6`.
pub const ALPHA_VARIANCE: f64 = 2.449_489_742_783_178;
