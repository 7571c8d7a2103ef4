//! The binary files of CIFAR-10 and CIFAR-100. A record consists of one or two bytes of labels, and the 3072 bytes of an
//! image with the channels as its first axis.

use super::{Reading, bytes, pair};
use crate::diagnostics::{self, At, Faults};
use crate::table::{ArrayValues, Table};
use std::path::Path;

/// The axes of an image: channels, rows and columns.
const AXES: [usize; 3] = [3, 32, 32];
const PIXELS: usize = AXES[0] * AXES[1] * AXES[2];

/// One of the two data sets that have this format.
struct Records {
    name: &'static str,
    /// The number of classes of each label. The last label is the target.
    classes: &'static [u8],
}

const CIFAR_10: Records = Records {
    name: "CIFAR-10",
    classes: &[10],
};
/// The first label is one of 20 superclasses.
const CIFAR_100: Records = Records {
    name: "CIFAR-100",
    classes: &[20, 100],
};

impl Records {
    fn width(&self) -> usize {
        self.classes.len() + PIXELS
    }

    /// Finds the first record with a label that is not one of the classes. Returns the index of the
    /// record, counted from 0, and this label.
    fn wrong_label(&self, bytes: &[u8]) -> Option<(usize, u8)> {
        let records = bytes.chunks_exact(self.width()).enumerate();
        let mut wrong = records.filter_map(|(at, record)| {
            let mut labels = record.iter().zip(self.classes);
            labels.find_map(|(label, classes)| (label >= classes).then_some((at, *label)))
        });
        wrong.next()
    }
}

/// Returns the images `[rows, 3, 32, 32]` and the labels `[rows]`. The length and the labels of the file show which data set it belongs to. If
/// both data sets are possible, the file is read as a part of the data set of the earlier files.
///
/// # Errors
/// Fails if the file is not of either data set, or if an earlier file belongs to the other data set. The labels of the two data sets have different
/// meanings.
pub(super) fn read(path: &Path, reading: &Reading) -> Result<Table, Faults> {
    let bytes = bytes(path, reading)?;
    let fits = |records: &&Records| bytes.len() % records.width() == 0;
    let known = reading.records();
    let mut fitting: Vec<&Records> = [&CIFAR_10, &CIFAR_100].into_iter().filter(fits).collect();
    fitting.sort_by_key(|records| known.as_ref().is_some_and(|(_, name)| *name != records.name));
    let Some(first) = fitting.first() else {
        let detail = format!(
            "expected records of {} bytes ({}) or {} bytes ({}), found {} bytes",
            CIFAR_10.width(),
            CIFAR_10.name,
            CIFAR_100.width(),
            CIFAR_100.name,
            bytes.len()
        );
        return Err(vec![diagnostics::malformed(At::file(path), "cifar", &detail)]);
    };
    let right = fitting
        .iter()
        .find(|records| records.wrong_label(&bytes).is_none());
    let records = right.unwrap_or(first);
    if let Some((record, label)) = records.wrong_label(&bytes) {
        let (row, column) = (record + 1, 0);
        let detail = format!("{label} is not a label of {}", records.name);
        let fault = diagnostics::malformed(At { path, row, column }, "cifar", &detail);
        return Err(vec![fault]);
    }
    if let Some((first, name)) = known.filter(|(_, name)| *name != records.name) {
        let fault = diagnostics::records_differ(path, name, records.name, &first);
        return Err(vec![fault]);
    }
    reading.know_records(path, records.name);
    let (labels, rows) = (records.classes.len(), bytes.len() / records.width());
    reading
        .take(path, rows * (PIXELS + 1))
        .map_err(|fault| vec![fault])?;
    let chunks = || bytes.chunks_exact(records.width());
    let mut images: Vec<u8> = Vec::with_capacity(rows * PIXELS);
    chunks().for_each(|record| images.extend_from_slice(&record[labels..]));
    let targets: Vec<u8> = chunks().map(|record| record[labels - 1]).collect();
    reading.free(bytes.len());
    let shape = std::iter::once(rows).chain(AXES).collect();
    let targets = (vec![rows], ArrayValues::Byte(targets.into()));
    Ok(pair(
        path,
        (shape, ArrayValues::Byte(images.into())),
        Some(targets),
    ))
}
