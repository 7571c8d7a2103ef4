//! The energy of Hamiltonian samplers.

use super::effective::average;

/// Returns the estimated Bayesian fraction of missing information (E-BFMI) of one chain: the mean squared change of the energy per iteration, divided
/// by the variance of the energy (Betancourt 2016). If the result is below 0.3, the chain can hardly reach the tails, because new momenta change the
/// energy too little. The result is NaN if there are fewer than two draws, if all energies are equal, or if an energy is not finite.
pub fn fraction_of_missing_information(energies: &[f64]) -> f64 {
    let mut found = Energies::about(average(energies));
    energies.iter().for_each(|energy| found.take(*energy));
    found.fraction()
}

/// Accumulates the energies of one chain for [`fraction_of_missing_information`].
#[derive(Clone, Copy, Debug)]
pub struct Energies {
    mean: f64,
    last: Option<f64>,
    spread: f64,
    changes: f64,
}

impl Energies {
    /// Creates an empty accumulator. `mean` is the mean of the energies that will be added.
    pub fn about(mean: f64) -> Energies {
        Energies {
            mean,
            last: None,
            spread: 0.0,
            changes: 0.0,
        }
    }

    /// Adds the next energy.
    pub fn take(&mut self, energy: f64) {
        let (off, change) = (energy - self.mean, self.last.map_or(0.0, |last| energy - last));
        self.spread += off * off;
        self.changes += change * change;
        self.last = Some(energy);
    }

    /// Returns the E-BFMI of the energies that were added.
    pub fn fraction(self) -> f64 {
        let fraction = self.changes / self.spread;
        if fraction.is_finite() { fraction } else { f64::NAN }
    }
}
