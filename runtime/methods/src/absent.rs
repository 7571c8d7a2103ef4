//! A method that this build leaves out, of a program that another build compiled.

use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::{Infer, Train};
use bnnc_base::feature::not_in_build;
use bnnc_base::shape::Sizes;
use bnnc_core::context::Stop;
use bnnc_inference::method::{Extent, Given, Method, Saved};
use bnnc_inference::posterior::Found;

/// The method of an inference that cannot run here. Whatever begins it reports the feature that is missing.
pub struct Absent<'a> {
    /// The inference.
    pub infer: &'a Infer,
    /// The training that it would begin with.
    pub train: &'a Train,
}

impl Absent<'_> {
    fn stop(&self) -> Stop {
        let name = self.infer.method;
        not_in_build(&format!("the method `{name}`"), name).into()
    }
}

impl Method for Absent<'_> {
    fn find(&self, _: &Given<'_>) -> Result<Found, Stop> {
        Err(self.stop())
    }

    fn restore(&self, _: &Saved<'_>) -> Result<Found, Stop> {
        Err(self.stop())
    }

    fn program(&self) -> &Artifact {
        &self.train.step
    }

    fn step_sizes(&self, rows: usize) -> Sizes {
        self.train.sizes(rows)
    }

    fn finding(&self, _: &Extent<'_>) -> u64 {
        0
    }

    fn predicting(&self, _: &Extent<'_>) -> u64 {
        0
    }
}
