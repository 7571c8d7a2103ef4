//! Decodes PNG and JPEG files with eight bits per channel.

use super::pixels::{JPEG, PNG, Pixels, Size};
use crate::diagnostics::{At, malformed, not_an_image, unsupported_image};
use bnnc_base::caught::caught;
use bnnc_base::diagnostic::Diagnostic;
use png::{BitDepth, ColorType, Transformations};
use std::fmt::Display;
use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// The decoder of PNG files may allocate at most this number of bytes in addition to the image: rows, the palette, and other chunks.
const MOST_WORK: usize = 64 << 20;

/// The markers of a JPEG file before the compressed pixels and at the end of the image. The compressed pixels do not contain these bytes.
const SCAN: &[u8] = b"\xff\xda";
const END: &[u8] = b"\xff\xd9";

/// The reason for which a file without its last bytes cannot be read.
const TRUNCATED: &str = "the end of the image is missing: the file is truncated";

/// Checks that this build has the decoders.
pub(super) fn ready() -> Result<(), Diagnostic> {
    Ok(())
}

/// Returns the height and the width that the header of a file states.
///
/// # Errors
/// Fails if the file is not a PNG or JPEG file, or if its header is damaged.
pub(super) fn size(at: At<'_>, bytes: &[u8]) -> Result<Size, Diagnostic> {
    guarded(at, || match format(at, bytes)? {
        Format::Png => png_size(at, bytes),
        Format::Jpeg => jpeg_size(at, bytes),
    })
}

/// Decodes an image. Palette images become RGB, and greyscale with fewer than eight bits becomes bytes from 0 to 255.
///
/// # Errors
/// Fails if the file is damaged or truncated. Fails also if the image is transparent or animated, has 16 bits per channel, or is for print.
pub(super) fn pixels(at: At<'_>, bytes: &[u8]) -> Result<Pixels, Diagnostic> {
    guarded(at, || match format(at, bytes)? {
        Format::Png => png_pixels(at, bytes),
        Format::Jpeg => jpeg_pixels(at, bytes),
    })
}

enum Format {
    Png,
    Jpeg,
}

/// Returns the format of a file. Its first bytes decide the format. Many files have the extension of the other format.
fn format(at: At<'_>, bytes: &[u8]) -> Result<Format, Diagnostic> {
    match (bytes.starts_with(PNG), bytes.starts_with(JPEG)) {
        (true, _) => Ok(Format::Png),
        (_, true) => Ok(Format::Jpeg),
        _ => Err(not_an_image(at, bytes)),
    }
}

/// Runs a decoder. A panic of a library becomes a diagnostic, because a damaged file is an error in the user's data.
fn guarded<T>(at: At<'_>, decode: impl FnOnce() -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    caught(decode).unwrap_or_else(|| Err(malformed(at, "image", "its parts contradict each other")))
}

fn bad_png(at: At<'_>, error: impl Display) -> Diagnostic {
    malformed(at, "PNG", &error.to_string())
}

fn bad_jpeg(at: At<'_>, error: impl Display) -> Diagnostic {
    malformed(at, "JPEG", &error.to_string())
}

/// Returns the diagnostic for an error of the JPEG decoder.
fn undecoded(at: At<'_>, error: DecodeErrors) -> Diagnostic {
    match error {
        DecodeErrors::IoErrors(_) | DecodeErrors::ExhaustedData => bad_jpeg(at, TRUNCATED),
        error => bad_jpeg(at, error),
    }
}

fn png_decoder(bytes: &[u8]) -> png::Decoder<Cursor<&[u8]>> {
    let limits = png::Limits { bytes: MOST_WORK };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(Transformations::EXPAND);
    // These chunks are not used, and can unpack to more bytes than the limit.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder
}

fn png_size(at: At<'_>, bytes: &[u8]) -> Result<Size, Diagnostic> {
    let mut decoder = png_decoder(bytes);
    let header = decoder.read_header_info().map_err(|error| bad_png(at, error))?;
    Ok([header.height as usize, header.width as usize])
}

fn png_pixels(at: At<'_>, bytes: &[u8]) -> Result<Pixels, Diagnostic> {
    let bad = |error: png::DecodingError| bad_png(at, error);
    let mut reader = png_decoder(bytes).read_info().map_err(bad)?;
    if reader.info().animation_control.is_some() {
        return Err(unsupported_image(
            at,
            "an animated PNG file",
            "save one frame as an image",
        ));
    }
    let (color, depth) = reader.output_color_type();
    if depth != BitDepth::Eight {
        let help = "save the images with 8 bits per channel, or write an NPY file, whose elements can have any precision";
        return Err(unsupported_image(at, "an image with 16 bits per channel", help));
    }
    let size = reader.output_buffer_size();
    let mut image = vec![0; size.ok_or_else(|| bad_png(at, "its size overflows"))?];
    reader.next_frame(&mut image).map_err(bad)?;
    // A file without its last chunk is truncated.
    reader.finish().map_err(bad)?;
    match color {
        ColorType::Grayscale => Ok((1, image)),
        ColorType::Rgb => Ok((3, image)),
        ColorType::GrayscaleAlpha => opaque(at, (1, image)),
        ColorType::Rgba => opaque(at, (3, image)),
        ColorType::Indexed => Err(bad_png(at, "the palette is missing")),
    }
}

/// Removes the last channel of each pixel, the opacity. `channels` counts the other channels.
///
/// # Errors
/// Fails if a pixel is transparent. Its colour depends on a background that the file does not have.
fn opaque(at: At<'_>, (channels, image): Pixels) -> Result<Pixels, Diagnostic> {
    let pixels = || image.chunks_exact(channels + 1);
    if pixels().any(|pixel| pixel[channels] != u8::MAX) {
        let help = "put the images onto a background, as in Python with Pillow: \
                    `new = Image.new(\"RGB\", image.size); new.paste(image, mask=image.getchannel(\"A\"))`";
        return Err(unsupported_image(at, "an image with transparent pixels", help));
    }
    Ok((
        channels,
        pixels().flat_map(|pixel| &pixel[..channels]).copied().collect(),
    ))
}

/// Creates a decoder without SIMD code, so that the pixels are the same on every machine.
fn jpeg_decoder(bytes: &[u8]) -> JpegDecoder<ZCursor<&[u8]>> {
    let options = DecoderOptions::new_safe()
        .set_use_unsafe(false)
        .set_strict_mode(true)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX));
    JpegDecoder::new_with_options(ZCursor::new(bytes), options)
}

fn jpeg_size(at: At<'_>, bytes: &[u8]) -> Result<Size, Diagnostic> {
    let mut decoder = jpeg_decoder(bytes);
    decoder.decode_headers().map_err(|error| undecoded(at, error))?;
    let size = decoder.dimensions().map(|(width, height)| [height, width]);
    size.ok_or_else(|| bad_jpeg(at, "its header does not state a size"))
}

fn jpeg_pixels(at: At<'_>, bytes: &[u8]) -> Result<Pixels, Diagnostic> {
    let last = |marker: &[u8]| bytes.windows(2).rposition(|pair| pair == marker);
    if last(END).is_none() || last(END) < last(SCAN) {
        return Err(bad_jpeg(at, TRUNCATED));
    }
    let mut decoder = jpeg_decoder(bytes);
    decoder.decode_headers().map_err(|error| undecoded(at, error))?;
    let (channels, space) = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => (1, ColorSpace::Luma),
        Some(ColorSpace::YCbCr | ColorSpace::RGB) => (3, ColorSpace::RGB),
        _ => {
            let help = "convert the images to RGB: in Python with Pillow, `image.convert(\"RGB\")`";
            return Err(unsupported_image(at, "a CMYK image", help));
        }
    };
    decoder.set_options(decoder.options().jpeg_set_out_colorspace(space));
    let image = decoder.decode().map_err(|error| undecoded(at, error))?;
    Ok((channels, image))
}
