//! The energy of Hamiltonian samplers.

use super::effective::average;

/// The estimated Bayesian fraction of missing information of one chain: the mean square of the change of the energy per iteration
/// over the variance of the energy (Betancourt 2016). Below 0.3 the momenta that are drawn change the energy too
/// little to reach the tails. NaN for fewer than two draws, for energies that are all equal or not finite.
pub fn fraction_of_missing_information(energies: &[f64]) -> f64 {
    let mean = average(energies);
    let spread: f64 = energies
        .iter()
        .map(|energy| (energy - mean) * (energy - mean))
        .sum();
    let changes = energies.windows(2).map(|pair| pair[1] - pair[0]);
    let fraction = changes.map(|change| change * change).sum::<f64>() / spread;
    if fraction.is_finite() { fraction } else { f64::NAN }
}
