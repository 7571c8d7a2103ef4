//! One input of a program with its elements for all prepared rows.

use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_data::ScaledBytes;
use bnnc_data::scaled::Pixel;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::ports::{StampedRows, Stored};
use std::borrow::Cow;
use std::ops::Range;

/// The elements of one port, in their stored type.
#[derive(Clone, Debug)]
pub(super) enum Elements {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Int(Vec<i32>),
    /// Reals that are converted from bytes whenever rows are written.
    Byte(ScaledBytes, Precision),
}

/// One port with its elements for all prepared rows.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub name: String,
    pub width: usize,
    pub elements: Elements,
    /// True if the port has the same elements in all batches.
    pub shared: bool,
    /// True if the rows of a batch are always gathered by the host, because it changes them afterwards.
    pub on_host: bool,
    /// A number that identifies these elements. By this number, a device recognises elements that
    /// are already in its memory.
    pub stamp: u64,
}

impl Elements {
    pub fn len(&self) -> usize {
        match self {
            Elements::F32(values) => values.len(),
            Elements::F64(values) => values.len(),
            Elements::Int(values) => values.len(),
            Elements::Byte(bytes, _) => bytes.len(),
        }
    }
}

impl Port {
    /// Writes the elements of the chosen rows, or of all rows, to the input `to` of the machine.
    pub fn write(&self, machine: &mut Machine, to: &str, rows: Option<&[u32]>) -> Result<(), Fault> {
        match &self.elements {
            Elements::F32(values) => self.copy(values, rows, machine, to),
            Elements::F64(values) => self.copy(values, rows, machine, to),
            Elements::Int(values) => self.copy(values, rows, machine, to),
            Elements::Byte(bytes, Precision::F32) => self.convert::<f32>(bytes, rows, machine, to),
            Elements::Byte(bytes, Precision::F64) => self.convert::<f64>(bytes, rows, machine, to),
        }
    }

    fn copy<T: Stored>(
        &self,
        values: &[T],
        rows: Option<&[u32]>,
        machine: &mut Machine,
        to: &str,
    ) -> Result<(), Fault> {
        let width = self.width;
        let read = |rows: Range<usize>| values[rows.start * width..rows.end * width].into();
        if !self.gather(machine, to, rows, &read)? {
            copy(values, width, rows, machine.view_mut(to)?);
        }
        Ok(())
    }

    /// Does the same as [`Port::copy`] for elements that are bytes.
    fn convert<T: Stored + Pixel>(
        &self,
        bytes: &ScaledBytes,
        rows: Option<&[u32]>,
        machine: &mut Machine,
        to: &str,
    ) -> Result<(), Fault> {
        let read = |rows: Range<usize>| rows.flat_map(|row| read_row::<T>(bytes, row)).collect();
        if self.gather(machine, to, rows, &read)? {
            return Ok(());
        }
        let places = machine.view_mut::<T>(to)?.chunks_exact_mut(self.width.max(1));
        match rows {
            Some(rows) => places
                .zip(rows)
                .for_each(|(to, row)| bytes.write(*row as usize, to)),
            None => places.enumerate().for_each(|(row, to)| bytes.write(row, to)),
        }
        Ok(())
    }

    /// Lets a device gather the chosen rows from its own memory. Returns false if the host must write them. `read` returns the elements of a range
    /// of rows.
    fn gather<'r, T: Stored>(
        &self,
        machine: &mut Machine,
        to: &str,
        rows: Option<&[u32]>,
        read: &'r dyn Fn(Range<usize>) -> Cow<'r, [T]>,
    ) -> Result<bool, Fault> {
        let all = StampedRows {
            stamp: self.stamp,
            count: self.elements.len() / self.width.max(1),
            width: self.width,
            read,
        };
        match rows.filter(|_| !self.on_host) {
            Some(rows) => machine.gather(to, &all, rows),
            None => Ok(false),
        }
    }
}

/// Returns the elements of one row of bytes, in the units of the model.
pub(super) fn read_row<T: Pixel>(bytes: &ScaledBytes, row: usize) -> Vec<T> {
    let mut elements = vec![T::of(0.0); bytes.width()];
    bytes.write(row, &mut elements);
    elements
}

/// Replaces row `at`, or appends a row if `at` is `None`. The elements come from row `row` of `from`.
pub(super) fn put<T: Copy>(to: &mut Vec<T>, from: &[T], width: usize, (at, row): (Option<usize>, usize)) {
    let elements = &from[row * width..(row + 1) * width];
    match at {
        Some(at) => to[at * width..(at + 1) * width].copy_from_slice(elements),
        None => to.extend_from_slice(elements),
    }
}

fn copy<T: Copy>(values: &[T], width: usize, rows: Option<&[u32]>, target: &mut [T]) {
    match rows {
        None => target.copy_from_slice(&values[..target.len()]),
        Some(rows) => match width {
            1 => copy_narrow::<T, 1>(values, rows, target),
            2 => copy_narrow::<T, 2>(values, rows, target),
            3 => copy_narrow::<T, 3>(values, rows, target),
            4 => copy_narrow::<T, 4>(values, rows, target),
            5 => copy_narrow::<T, 5>(values, rows, target),
            6 => copy_narrow::<T, 6>(values, rows, target),
            7 => copy_narrow::<T, 7>(values, rows, target),
            8 => copy_narrow::<T, 8>(values, rows, target),
            _ => {
                for (row, place) in rows.iter().zip(target.chunks_exact_mut(width.max(1))) {
                    let start = *row as usize * width;
                    place.copy_from_slice(&values[start..start + width]);
                }
            }
        },
    }
}

/// Copies rows that have only a few elements. `WIDTH` is a constant, so that the compiler can copy a
/// row with a few instructions. A call of `memcpy` for each row would take longer than a small kernel.
fn copy_narrow<T: Copy, const WIDTH: usize>(values: &[T], rows: &[u32], target: &mut [T]) {
    let (values, _) = values.as_chunks::<WIDTH>();
    let (target, _) = target.as_chunks_mut::<WIDTH>();
    for (row, place) in rows.iter().zip(target) {
        *place = values[*row as usize];
    }
}

/// Returns reals in the precision of a run.
pub(super) fn reals(values: &[f64], precision: Precision) -> Elements {
    match precision {
        Precision::F32 => Elements::F32(values.iter().map(|value| *value as f32).collect()),
        Precision::F64 => Elements::F64(values.to_vec()),
    }
}
