//! Collects images of the same size as one array of bytes.

use super::super::Reading;
#[cfg(not(feature = "images"))]
use super::absent as decode;
#[cfg(feature = "images")]
use super::decode;
use super::pixels::{Pixels, Size};
use crate::diagnostics::{self, At};
use bnnc_base::diagnostic::Diagnostic;

/// An image may have at most this number of pixels, such as 8192 x 8192. A compressed image of a few kilobytes can have many more. The limit is
/// checked before memory is allocated.
const MOST_PIXELS: usize = 1 << 26;

/// Decoding an image takes at most this number of bytes per pixel: the coefficients of a progressive JPEG file (three channels of two bytes), its
/// channels before the conversion of colours, and the decoded image.
const WORK: usize = 16;

/// Checks that this build can decode images.
pub(super) fn ready() -> Result<(), Diagnostic> {
    decode::ready()
}

/// Images of the same size. If some images are in colour and others are greyscale, all are stored with three channels.
pub(in crate::read) struct ImageStack<'r> {
    reading: &'r Reading,
    /// The name of the column.
    column: String,
    /// The likely number of images.
    expected: usize,
    count: usize,
    /// The size of the first image, and its place.
    size: Option<(Size, String)>,
    channels: usize,
    /// `[count, channels, height, width]`.
    pixels: Vec<u8>,
}

impl<'r> ImageStack<'r> {
    /// Creates an empty stack. Memory is reserved for `expected` images as soon as the size of the images is known.
    pub(in crate::read) fn new(reading: &'r Reading, column: &str, expected: usize) -> ImageStack<'r> {
        ImageStack {
            reading,
            column: column.to_owned(),
            expected,
            count: 0,
            size: None,
            channels: reading.channels(column).unwrap_or(1),
            pixels: Vec::new(),
        }
    }

    /// Returns the number of bytes of the images so far.
    pub(in crate::read) fn bytes(&self) -> usize {
        self.pixels.len()
    }

    /// Decodes an image, and adds it.
    ///
    /// # Errors
    /// Fails if the image cannot be decoded, or if it has another size than the images before it.
    pub(in crate::read) fn push(&mut self, at: At<'_>, bytes: &[u8]) -> Result<(), Diagnostic> {
        let size = decode::size(at, bytes)?;
        match &self.size {
            Some((first, place)) if *first != size => {
                return Err(diagnostics::other_image_size(at, size, *first, place));
            }
            _ => {}
        }
        let pixels = size[0].saturating_mul(size[1]);
        if pixels > MOST_PIXELS {
            return Err(diagnostics::too_many_pixels(at, size, MOST_PIXELS));
        }
        self.reading.take(at.path, WORK * pixels)?;
        let added = decode::pixels(at, bytes).and_then(|image| self.add(at, image, size));
        self.reading.free(WORK * pixels);
        added
    }

    fn add(&mut self, at: At<'_>, (channels, bytes): Pixels, size: Size) -> Result<(), Diagnostic> {
        let pixels = size[0] * size[1];
        if channels > self.channels {
            if self.reading.channels(&self.column) == Some(1) {
                return Err(diagnostics::colour_among_greyscale(at));
            }
            self.colour(at, pixels)?;
        }
        if self.size.is_none() {
            self.size = Some((size, diagnostics::place_of_image(at)));
            self.reserve(at, self.expected.max(1) * self.channels * pixels)?;
        }
        if self.pixels.capacity() - self.pixels.len() < self.channels * pixels {
            self.reserve(at, self.pixels.len().max(self.channels * pixels))?;
        }
        for channel in 0..self.channels {
            let own = channel.min(channels - 1);
            let values = bytes.iter().skip(own).step_by(channels);
            self.pixels.extend(values);
        }
        self.count += 1;
        Ok(())
    }

    /// Reserves memory for this number of further bytes.
    fn reserve(&mut self, at: At<'_>, more: usize) -> Result<(), Diagnostic> {
        let left = self.reading.left();
        self.reading.take(at.path, more)?;
        let reserved = self.pixels.try_reserve_exact(more);
        reserved.map_err(|_| diagnostics::too_little_memory(at.path, left))
    }

    /// Converts the greyscale images so far to three equal channels of `pixels` bytes each.
    fn colour(&mut self, at: At<'_>, pixels: usize) -> Result<(), Diagnostic> {
        let grey = std::mem::take(&mut self.pixels);
        self.channels = 3;
        if self.size.is_some() {
            self.reserve(at, 3 * self.expected.max(self.count + 1) * pixels)?;
        }
        for image in grey.chunks(pixels.max(1)) {
            (0..3).for_each(|_| self.pixels.extend_from_slice(image));
        }
        self.reading.free(grey.capacity());
        Ok(())
    }

    /// Returns the axes of an image (channels, height and width), and the pixels of all images.
    pub(in crate::read) fn finish(mut self) -> ([usize; 3], Vec<u8>) {
        let [height, width] = self.size.as_ref().map_or([0, 0], |(size, _)| *size);
        self.reading.fit(&mut self.pixels);
        if self.count > 0 {
            self.reading.know_channels(&self.column, self.channels);
        }
        ([self.channels, height, width], self.pixels)
    }
}
