//! Densities, truncation and KL divergences at the ends of their ranges.
