//! The data of a run: readers of files, splits, column expressions, standardisation, metrics and
//! result files.
//!
//! [`schema`] returns the fields, shapes and splits of a data item. [`LoadedData`] also returns the
//! rows of each split. An error in a file becomes a diagnostic with a row and a column, and never
//! causes a panic.

#![allow(
    clippy::result_large_err,
    reason = "a diagnostic ends the run: its size does not matter"
)]

pub mod augment;
mod corrupt;
pub mod dataset;
pub mod describe;
pub mod diagnostics;
pub mod expression;
pub mod file;
mod images;
mod inputs;
mod levels;
pub mod metrics;
mod new_rows;
pub mod read;
pub mod rows;
pub mod scaled;
mod shard;
pub mod source;
mod split;
pub mod standardise;
pub mod table;
pub mod write;

pub use dataset::{Dataset, Preparation};
pub use diagnostics::CODES;
pub use images::{ImageSize, Images};
pub use new_rows::NewRows;
pub use rows::{RowField, Rows};
pub use scaled::{InputValues, ScaledBytes};
pub use source::LoadedData;
pub use standardise::Standardisation;

use bnnc_abi::data::DataSpec;
use bnnc_abi::schema::Schema;
use bnnc_base::diagnostic::Diagnostic;

/// Reads the files of a data item and returns its schema: fields, shapes, rows and splits.
pub fn schema(spec: &DataSpec) -> Result<Schema, Vec<Diagnostic>> {
    LoadedData::read(spec).map(|source| source.schema().clone())
}
