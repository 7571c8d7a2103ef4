//! Constants for triangular densities that approximate Normal densities.

/// A triangular density is closest to a Normal density in `L2` if its radius is this number times the Normal's standard deviation.
pub const ALPHA_L2: f64 = 2.297_003_764_578_613;

/// The radius of a triangular density, divided by its own standard deviation. This ratio is `sqrt 6`.
pub const ALPHA_VARIANCE: f64 = 2.449_489_742_783_178;
