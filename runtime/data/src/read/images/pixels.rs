//! The form in which decoders return images, and the first bytes of their files.

/// The height and the width of an image, in pixels.
pub(super) type Size = [usize; 2];

/// The number of channels of an image, and its bytes. The number is 1 for greyscale, and 3 for RGB. The channels of a pixel
/// are next to each other.
pub(super) type Pixels = (usize, Vec<u8>);

/// The magic bytes at the start of a PNG file and of a JPEG file.
pub(super) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
pub(super) const JPEG: &[u8] = b"\xff\xd8\xff";

/// Returns whether bytes start like a PNG or JPEG file.
pub(in crate::read) fn is_image(bytes: &[u8]) -> bool {
    bytes.starts_with(PNG) || bytes.starts_with(JPEG)
}
