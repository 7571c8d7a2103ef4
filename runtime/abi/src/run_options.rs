//! Sets options at run time: finds the fields of a manifest that store them, and checks that the
//! options are compatible.
//!
//! The compiler and built executables use the same code to set options. [`crate::method`] declares
//! the options of each method.

use crate::manifest::InferenceBlock;
pub use crate::method::conflict::OptionConflict;
use crate::method::{self, Phase};
use crate::methods::training::Training;
use crate::part::DataExtent;
use crate::schema::Schema;

impl InferenceBlock {
    /// Sets an option to a number, which the record of the option must allow. Returns false,
    /// without a change, if the option is compiled into the code or does not have a number as its
    /// value.
    pub fn set_option(&mut self, option: &str, number: f64) -> bool {
        let record = method::lookup(self.method).and_then(|method| method.option(option));
        if record.is_none_or(|record| record.phase == Phase::Compile) {
            return false;
        }
        let part = self.work.part_mut();
        let Some(place) = part.place(option) else {
            return false;
        };
        place.set(number);
        part.option_was_set(option);
        true
    }

    /// Checks that the options are compatible with each other and with these data. Only options
    /// that do not change the code are checked here, because the others were checked when the code
    /// was compiled.
    ///
    /// # Errors
    /// Returns the first incompatible options.
    pub fn check(&self, schema: &Schema) -> Result<(), OptionConflict> {
        let training = self.training().map(|train| &train.options);
        let patience = training.map_or(0, |training| training.patience);
        check_patience(patience, schema.validation, &self.data)?;
        self.work.part().check(DataExtent {
            schema,
            examples: self.examples(schema.train),
        })
    }

    /// Checks that an option applies to this inference block.
    ///
    /// # Errors
    /// Returns the reason if the option does not have an effect.
    pub fn check_applies(&self, option: &str) -> Result<(), OptionConflict> {
        self.work.part().check_applies(option)
    }
}

/// Checks that a run with `patience` above 0 has validation rows. Without validation rows,
/// `patience` does not have an effect. `data` is the name of the data item.
///
/// # Errors
/// Fails if `patience` is above 0 in a run without validation rows.
pub fn check_patience(patience: usize, validation: usize, data: &str) -> Result<(), OptionConflict> {
    if patience == 0 || validation > 0 {
        return Ok(());
    }
    OptionConflict::new(
        Training::patience(),
        format!("`patience` needs validation rows, but `{data}` does not hold out any"),
        format!("write `validation = 0.1` in the options of `{data}`"),
    )
}
