//! Checks that the transformations of `augment` fit the images of the model.

use crate::compilation::Compilation;
use crate::diagnostics::augment::{mixed_inputs, not_one_image, too_large};
use crate::failure::CompileFailure;
use bnnc_abi::augmentation::Augmentation;
use bnnc_abi::binding::images;
use bnnc_abi::manifest::{Binding, Training};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::ImageSize;
use bnnc_hir::elaborate::bind::DataBindings;

impl Compilation<'_> {
    /// Returns the transformations of images in the training.
    ///
    /// # Errors
    /// Fails if the model does not have exactly one image, or if a transformation could remove all pixels of an image.
    pub(crate) fn augments(&self, bound: &DataBindings) -> Result<Vec<Augmentation>, CompileFailure> {
        let options = self.options_if::<Training>()?;
        let list = options.map_or_else(Vec::new, |options| options.augment);
        match self.unfit(&list, bound).filter(|_| !list.is_empty()) {
            Some(diagnostic) => Err(CompileFailure::Program(vec![diagnostic])),
            None => Ok(list),
        }
    }

    /// Returns the diagnostic of transformations that do not fit the inputs of the model.
    fn unfit(&self, list: &[Augmentation], bound: &DataBindings) -> Option<Diagnostic> {
        let is_output = |port: &str| bound.outputs.iter().any(|output| output.name == port);
        let found: Vec<&Binding> = images(&bound.ports, is_output).collect();
        let [image] = found[..] else {
            let mut inputs = bound.ports.iter().filter(|port| !is_output(&port.port));
            let vector = inputs.find(|port| port.shape.len() == 1);
            return Some(not_one_image(self.item, &self.model().name, &found, vector));
        };
        let frame = ImageSize::of(&image.shape)?;
        let side = frame.height.min(frame.width);
        let excess = |augmentation: &Augmentation| Some((*augmentation, augmentation.excess(side)?));
        let is_other =
            |port: &&Binding| !port.from.is_shared() && !is_output(&port.port) && port.port != image.port;
        let other = bound.ports.iter().find(is_other);
        if let Some(other) = other.filter(|_| list.iter().any(|one| one.mixes())) {
            return Some(mixed_inputs(self.item, &other.port));
        }
        let (augmentation, most) = list.iter().find_map(excess)?;
        Some(too_large(self.item, augmentation, frame, most))
    }
}
