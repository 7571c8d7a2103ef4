//! The trait for the parts of an inference block that belong to a method.

use crate::code::Artifact;
use crate::method::conflict::OptionConflict;
use crate::method::declare::OptionField;
use crate::methods::iterates::Swag;
use crate::methods::training::Train;
use crate::schema::Schema;
use crate::site_report::SiteReport;

/// The schema of the data of a run, and the number of training examples.
#[derive(Clone, Copy, Debug)]
pub struct DataExtent<'a> {
    /// The sizes, columns and levels of the data.
    pub schema: &'a Schema,
    /// The number of training examples. This number is one if the model takes the whole file as one
    /// example.
    pub examples: usize,
}

/// The part of an inference block that belongs to its method. The compiler, the runtime and built executables access the part by this interface.
pub trait MethodPart {
    /// Returns the programs that only this method has. The order of the programs depends on this
    /// part alone.
    fn artifacts(&mut self) -> Vec<&mut Artifact>;

    /// Returns the number of draws over which predictions average.
    fn predictive_draws(&self) -> usize;

    /// Returns the field that stores the number of an option; `None` if the option cannot be set at
    /// run time.
    fn place(&mut self, option: &str) -> Option<OptionField<'_>>;

    /// Updates the fields that depend on an option, after this option was set.
    fn option_was_set(&mut self, option: &str) {
        if let Some(train) = self.training_mut() {
            train.options.option_was_set(option);
        }
    }

    /// Checks that the options are compatible with each other and with these data.
    ///
    /// # Errors
    /// Returns the first incompatible options.
    fn check(&self, _: DataExtent<'_>) -> Result<(), OptionConflict> {
        Ok(())
    }

    /// Checks that an option has an effect.
    ///
    /// # Errors
    /// Returns the reason if the option does not have an effect.
    fn check_applies(&self, _option: &str) -> Result<(), OptionConflict> {
        Ok(())
    }

    /// Returns the part that trains, if an optimiser contributes to the posterior.
    fn training(&self) -> Option<&Train> {
        None
    }

    /// Returns a mutable reference to the part that [`MethodPart::training`] returns.
    fn training_mut(&mut self) -> Option<&mut Train> {
        None
    }

    /// Returns the options that select iterates, if the posterior consists of iterates.
    fn iterated(&self) -> Option<&Swag> {
        None
    }

    /// Returns the states for which a prediction program takes one value per draw.
    fn per_draw(&self) -> Vec<&str> {
        Vec::new()
    }

    /// For some states, the method stores several values (iterates, draws of chains, or members)
    /// that another inference block can use. Returns these states.
    fn held(&self) -> Option<&[String]> {
        None
    }

    /// Returns the sites in the non-centred parameterisation. Each site is given by its index in
    /// the reports of the inference block.
    fn noncentred(&self) -> &[usize] {
        &[]
    }

    /// Returns the earlier inference block that provides the iterates, or whose posterior ranks the
    /// weights.
    fn needs(&self) -> Option<&str> {
        None
    }

    /// Returns the temperature: the divisor of the log likelihood.
    fn temperature(&self) -> f64 {
        1.0
    }

    /// Returns whether the posterior includes variances of weights. Another inference block can
    /// then rank the weights by these variances.
    fn has_spread(&self, _sites: &[SiteReport]) -> bool {
        true
    }

    /// Returns whether predictions are integrals over some weights instead of means over draws of all weights.
    fn integrates(&self) -> bool {
        false
    }
}
