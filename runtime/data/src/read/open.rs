//! The bytes of a file, unpacked where they are gzip.

use crate::report;
use bnnc_base::diagnostic::Diagnostic;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A gzip stream may unpack to this many bytes; a few kilobytes can otherwise fill any memory.
const LARGEST_UNPACKED: u64 = 2 << 30;

/// The whole file, unpacked where its first bytes say gzip, whatever its name.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let mut packed = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut packed));
    read.map_err(|error| vec![report::unreadable(path, &error)])?;
    if packed.starts_with(&[0x1f, 0x8b]) {
        return unpack(path, &packed, LARGEST_UNPACKED).map_err(|fault| vec![fault]);
    }
    Ok(packed)
}

/// Unpacks a gzip stream of one or more members.
pub(super) fn unpack(path: &Path, packed: &[u8], limit: u64) -> Result<Vec<u8>, Diagnostic> {
    let mut plain = Vec::new();
    let mut stream = flate2::read::MultiGzDecoder::new(packed).take(limit + 1);
    stream
        .read_to_end(&mut plain)
        .map_err(|error| report::bad_gzip(path, &error))?;
    if plain.len() as u64 > limit {
        return Err(report::unpacks_too_large(path, limit));
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    #[test]
    fn a_bomb_is_refused_at_the_limit() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(
            unpack(Path::new("x.gz"), &packed, 1 << 20).unwrap().len(),
            1 << 20
        );
        let fault = unpack(Path::new("x.gz"), &packed, 1 << 19).unwrap_err();
        assert_eq!(fault.message, "unpacks to more than 524288 bytes");
    }
}
