//! A stand-in for a method that this build does not include. The stand-in is needed to read
//! programs that another build compiled.

use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::diagnostics::not_in_build;
use bnnc_core::context::Stop;
use bnnc_inference::method::{MemoryExtent, Method, MethodInputs, Saved};
use bnnc_inference::posterior::SharedPosterior;

/// The method of an inference block that cannot run in this build. An attempt to compute or restore
/// a posterior with this method returns an error that names the missing feature.
pub struct Absent<'a> {
    /// The inference block that cannot run.
    pub infer: &'a InferenceBlock,
}

impl Absent<'_> {
    fn stop(&self) -> Stop {
        let name = self.infer.method;
        not_in_build(&format!("the method `{name}`"), name).into()
    }
}

impl Method for Absent<'_> {
    fn find(&self, _: &MethodInputs<'_>) -> Result<SharedPosterior, Stop> {
        Err(self.stop())
    }

    fn restore(&self, _: &Saved<'_>) -> Result<SharedPosterior, Stop> {
        Err(self.stop())
    }

    fn finding(&self, _: &MemoryExtent<'_>) -> u64 {
        0
    }

    fn predicting(&self, _: &MemoryExtent<'_>) -> u64 {
        0
    }
}
