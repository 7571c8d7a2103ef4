//! The kinds of predictive quantities, such as means and draws.

use bnnc_abi::ports::PortName;

/// A kind of predictive quantity of an output.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    LogLikelihood,
    Mean,
    Draw,
    Probabilities,
}

impl Part {
    /// All kinds of predictive quantities, in the order of their declaration.
    pub(super) const ALL: [Part; 4] = [Part::LogLikelihood, Part::Mean, Part::Draw, Part::Probabilities];

    /// Returns the port of this kind in programs of models with a single output.
    pub(super) fn port(self) -> PortName {
        match self {
            Part::LogLikelihood => PortName::LogLikelihood,
            Part::Mean => PortName::Mean,
            Part::Draw => PortName::Draw,
            Part::Probabilities => PortName::Probabilities,
        }
    }
}
