//! Training that has not converged.
