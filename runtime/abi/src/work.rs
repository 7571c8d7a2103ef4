//! The part of an infer that depends on its method: one trait, one registry.

use crate::code::Artifact;
use crate::collapsed::Collapsed;
use crate::data::Schema;
use crate::iterates::{Ensemble, Swag};
use crate::laplace::Laplace;
use crate::manifest::{SiteReport, Train};
use crate::sampling::Sampling;
use crate::steering::{Place, Refusal};
use serde::{Deserialize, Serialize};

/// The part of an inference block that finds a posterior.
#[derive(Clone, Serialize, Deserialize)]
pub enum Work {
    /// An optimiser.
    Train(Box<Train>),
    /// Markov chains.
    Sample(Box<Sampling>),
    /// A Gaussian around a maximum.
    Laplace(Box<Laplace>),
    /// A Gaussian over iterates.
    Swag(Box<Swag>),
    /// Several maxima.
    Ensemble(Box<Ensemble>),
    /// A mixture over iterates, in which some weights are integrated over.
    Collapsed(Box<Collapsed>),
}

impl Work {
    /// The part as every method has it.
    pub fn part(&self) -> &dyn MethodPart {
        match self {
            Work::Train(train) => &**train,
            Work::Sample(sampling) => &**sampling,
            Work::Laplace(laplace) => &**laplace,
            Work::Swag(swag) => &**swag,
            Work::Ensemble(ensemble) => &**ensemble,
            Work::Collapsed(collapsed) => &**collapsed,
        }
    }

    /// As [`Work::part`], to change it.
    pub(crate) fn part_mut(&mut self) -> &mut dyn MethodPart {
        match self {
            Work::Train(train) => &mut **train,
            Work::Sample(sampling) => &mut **sampling,
            Work::Laplace(laplace) => &mut **laplace,
            Work::Swag(swag) => &mut **swag,
            Work::Ensemble(ensemble) => &mut **ensemble,
            Work::Collapsed(collapsed) => &mut **collapsed,
        }
    }
}

/// How many training rows there are, and how many examples they make.
#[derive(Clone, Copy, Debug)]
pub struct Extent<'a> {
    /// The sizes, columns and levels of the data.
    pub schema: &'a Schema,
    /// One where the model sees the whole file as one example.
    pub examples: usize,
}

/// The view that compiler, runtime and built executables have of the part of an inference block that belongs to its method.
pub trait MethodPart {
    /// The programs that only this method has, in an order that depends on the part alone.
    fn artifacts(&mut self) -> Vec<&mut Artifact>;

    /// Draws that predictions average over.
    fn predictive_draws(&self) -> usize;

    /// Where the number of an option is kept that can be set at run time.
    fn place(&mut self, option: &str) -> Option<Place<'_>>;

    /// Does what follows from an option that was set.
    fn steered(&mut self, option: &str) {
        if let Some(train) = self.training_mut() {
            train.options.steered(option);
        }
    }

    /// Checks that the options go together on these data.
    ///
    /// # Errors
    /// The first that do not.
    fn check(&self, _: Extent<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Checks that an option has an effect.
    ///
    /// # Errors
    /// Why it has none.
    fn hears(&self, _option: &str) -> Result<(), Refusal> {
        Ok(())
    }

    /// The part that trains, where an optimiser has a part in finding the posterior.
    fn training(&self) -> Option<&Train> {
        None
    }

    /// As [`MethodPart::training`], to change it.
    fn training_mut(&mut self) -> Option<&mut Train> {
        None
    }

    /// How it takes iterates, where a posterior is made of them.
    fn iterated(&self) -> Option<&Swag> {
        None
    }

    /// The states that predictions take one value per draw of.
    fn per_draw(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The states of which it holds iterates, draws of chains or members, which another infer can take.
    fn held(&self) -> Option<&[String]> {
        None
    }

    /// The sites whose positions are the noise of their priors, by number in the reports of the infer.
    fn noncentred(&self) -> &[usize] {
        &[]
    }

    /// The earlier infer that it takes iterates from, or ranks weights by.
    fn needs(&self) -> Option<&str> {
        None
    }

    /// The divisor of the log likelihood.
    fn temperature(&self) -> f64 {
        1.0
    }

    /// Returns whether it gives weights a variance, by which another infer can rank them.
    fn has_spread(&self, _sites: &[SiteReport]) -> bool {
        true
    }

    /// Returns whether predictions are integrals over some weights, and not means over draws of all.
    fn integrates(&self) -> bool {
        false
    }
}
