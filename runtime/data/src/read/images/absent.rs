//! Takes the place of the decoders in builds without the cargo feature `images`.

use super::pixels::{Pixels, Size};
use crate::diagnostics::At;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::diagnostics::not_in_build;

/// Returns the error that names the feature.
pub(super) fn ready() -> Result<(), Diagnostic> {
    Err(not_in_build("the readers of PNG and JPEG files", "images"))
}

/// Returns the error that names the feature.
pub(super) fn size(_: At<'_>, _: &[u8]) -> Result<Size, Diagnostic> {
    ready().map(|()| [0, 0])
}

/// Returns the error that names the feature.
pub(super) fn pixels(_: At<'_>, _: &[u8]) -> Result<Pixels, Diagnostic> {
    ready().map(|()| (1, Vec::new()))
}
