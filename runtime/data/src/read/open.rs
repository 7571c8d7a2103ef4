//! Reads the bytes of a file. Unpacks gzip files.

use super::Reading;
use crate::diagnostics;
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// A gzip stream may unpack to at most this number of bytes. Without this limit, a file of a few
/// kilobytes could fill the memory. The same limit applies to the bytes from a pipe or a device,
/// because such a source may never end.
const LARGEST_UNPACKED: u64 = 2 << 30;

/// The smallest number of bytes by which the memory for a stream grows.
const BLOCK: usize = 1 << 16;

/// Reads a whole file. If the file begins with the magic bytes of gzip, it is unpacked, even if its
/// name does not end in `.gz`.
pub(crate) fn bytes(path: &Path, reading: &Reading) -> Result<Vec<u8>, Vec<Diagnostic>> {
    whole(path, reading).map_err(|fault| vec![fault])
}

/// Reads a whole file as it is. Counts its memory, but does not record its checksum.
///
/// # Errors
/// Fails if the file cannot be read, is empty, or takes more memory than is left.
pub(super) fn plain(path: &Path, reading: &Reading) -> Result<Vec<u8>, Diagnostic> {
    let unreadable = |error| diagnostics::unreadable(path, &error);
    let file = crate::file::open(path).map_err(unreadable)?;
    let is_endless = file.metadata().is_ok_and(|about| !about.is_file());
    let limit = match is_endless {
        true => reading.left().min(LARGEST_UNPACKED),
        false => reading.left(),
    };
    let size = file.metadata().map_or(0, |about| about.len());
    let packed = contents(file, size, limit).map_err(|error| match error.kind() {
        ErrorKind::OutOfMemory => diagnostics::too_little_memory(path, limit),
        _ => unreadable(error),
    })?;
    if packed.len() as u64 > limit {
        return Err(diagnostics::too_little_memory(path, limit));
    }
    reading.take(path, packed.len())?;
    match packed.is_empty() {
        true => Err(diagnostics::empty_file(path)),
        false => Ok(packed),
    }
}

fn whole(path: &Path, reading: &Reading) -> Result<Vec<u8>, Diagnostic> {
    let packed = plain(path, reading)?;
    reading.keep(path, Checksum::of(&packed));
    if packed.starts_with(&[0x1f, 0x8b]) {
        let plain = unpack(path, &packed, LARGEST_UNPACKED.min(reading.left()))?;
        reading.free(packed.len());
        reading.take(path, plain.len())?;
        return match plain.is_empty() {
            true => Err(diagnostics::empty_file(path)),
            false => Ok(plain),
        };
    }
    Ok(packed)
}

/// Reads a stream to its end, or until more than `limit` bytes have been read. The memory is never larger
/// than `limit` plus one byte. `expected` is the likely number of bytes.
fn contents(stream: impl Read, expected: u64, limit: u64) -> std::io::Result<Vec<u8>> {
    let most = usize::try_from(limit.saturating_add(1)).unwrap_or(usize::MAX);
    let first = usize::try_from(expected.saturating_add(1)).unwrap_or(usize::MAX);
    let mut stream = stream.take(most as u64);
    let mut read = Vec::new();
    loop {
        let more = first.max(BLOCK).max(read.len()).min(most - read.len());
        read.try_reserve_exact(more).map_err(|_| ErrorKind::OutOfMemory)?;
        // A vector with spare room is filled without growing.
        let room = (read.capacity() - read.len()) as u64;
        let count = stream.by_ref().take(room).read_to_end(&mut read)?;
        if (count as u64) < room || read.len() >= most {
            read.shrink_to_fit();
            return Ok(read);
        }
    }
}

/// Unpacks a gzip stream. The stream consists of one or more members.
pub(super) fn unpack(path: &Path, packed: &[u8], limit: u64) -> Result<Vec<u8>, Diagnostic> {
    let stream = flate2::read::MultiGzDecoder::new(packed);
    let plain = contents(stream, 0, limit).map_err(|error| match error.kind() {
        ErrorKind::OutOfMemory => diagnostics::too_little_memory(path, limit),
        _ => diagnostics::bad_gzip(path, &error),
    })?;
    match plain.len() as u64 {
        length if length <= limit => Ok(plain),
        _ if limit < LARGEST_UNPACKED => Err(diagnostics::too_little_memory(path, limit)),
        _ => Err(diagnostics::unpacks_too_large(path, limit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    #[test]
    fn a_gzip_bomb_is_rejected_at_the_limit() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(
            unpack(Path::new("x.gz"), &packed, 1 << 20).unwrap().len(),
            1 << 20
        );
        let fault = unpack(Path::new("x.gz"), &packed, 1 << 19).unwrap_err();
        assert_eq!(fault.code.id, "E0435");
    }
}
