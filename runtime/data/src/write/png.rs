//! Writes PNG images with 8 bits per channel (RFC 2083).

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::io::{self, Write};

/// Returns an image of this width as a PNG file. `pixels` are red, green, blue and opacity of each pixel, row by row. An incomplete last row is left
/// out.
///
/// # Errors
/// Fails if the width or the height does not fit in 32 bits, or if the width is zero.
pub fn rgba(width: usize, pixels: &[[u8; 4]]) -> io::Result<Vec<u8>> {
    let rows = pixels.chunks_exact(width.max(1));
    let size = |count: usize| u32::try_from(count).map_err(io::Error::other);
    let (across, down) = (size(width)?, size(rows.len())?);
    if across == 0 {
        return Err(io::Error::other("an image without columns"));
    }
    // Eight bits per channel, four channels; the only compression and filter methods; not interlaced.
    let header = [&across.to_be_bytes()[..], &down.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in rows {
        // Each row begins with its filter. Filter 0 leaves the bytes as they are.
        packed.write_all(&[0])?;
        packed.write_all(row.as_flattened())?;
    }
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, bytes) in [
        (b"IHDR", header),
        (b"IDAT", packed.finish()?),
        (b"IEND", Vec::new()),
    ] {
        chunk(&mut file, name, &bytes)?;
    }
    Ok(file)
}

/// Appends a chunk: its length, its name, its bytes, and the checksum of name and bytes.
fn chunk(file: &mut Vec<u8>, name: &[u8; 4], bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    file.extend(length.to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(bytes);
    let mut checksum = Crc::new();
    checksum.update(&file[start..]);
    file.extend(checksum.sum().to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    /// The image of one black pixel. The checksums of `IHDR` and `IEND` are those of files that other tools write.
    #[test]
    fn a_file_has_the_chunks_of_the_format() {
        let file = rgba(1, &[[0, 0, 0, 255]]).unwrap_or_default();
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(
            &file[8..33],
            b"\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89"
        );
        assert_eq!(&file[file.len() - 12..], b"\0\0\0\0IEND\xae\x42\x60\x82");
        let mut rows = Vec::new();
        let read = ZlibDecoder::new(&file[41..file.len() - 16]).read_to_end(&mut rows);
        assert!(read.is_ok());
        assert_eq!(rows, [0, 0, 0, 0, 255]);
    }

    #[test]
    fn rows_are_complete() {
        assert!(rgba(0, &[]).is_err());
        let file = rgba(2, &[[1; 4], [2; 4], [3; 4]]).unwrap_or_default();
        assert_eq!(
            &file[16..24],
            [0, 0, 0, 2, 0, 0, 0, 1],
            "the third pixel is left out"
        );
    }
}
