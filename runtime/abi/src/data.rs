//! The specification of a `data` item. It comes from the program and the command line.

use crate::corruption::Shift;
use crate::method::declare::{OptionValue, RawOption, words};
use crate::settings::Files;
use bnnc_base::source::Span;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The record of a data format.
#[derive(Clone, Copy, Debug)]
pub struct FormatEntry {
    /// The contents that files of this format have.
    pub contents: Contents,
    /// True if inputs are first stored as one byte per number, and are converted to reals later.
    pub keeps_bytes: bool,
    /// The source of a data item, as programs write it.
    pub source: &'static str,
    /// The contents of the files, for the manual.
    pub doc: &'static str,
}

/// Declares the formats in alphabetical order. Each format has its word in programs and its record.
macro_rules! formats {
    ($($(#[$meta:meta])* $variant:ident $word:literal = $entry:expr;)*) => {
        /// Formats of data files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Format { $($(#[$meta])* $variant,)* }

        words!(Format { $($word => $variant),* });

        impl Format {
            /// Returns the record of the format.
            pub fn entry(self) -> FormatEntry {
                match self { $(Format::$variant => $entry,)* }
            }
        }
    };
}

formats! {
    /// The binary files of CIFAR-10 and CIFAR-100; `.gz` is unpacked.
    Cifar "cifar" = FormatEntry {
        contents: Contents::Pair,
        keeps_bytes: true,
        source: "cifar(\"file\", ..)",
        doc: "the binary files of CIFAR-10 and CIFAR-100 (the target is the fine label): images `real[3, 32, 32]`",
    };
    /// Comma-separated values with a header line; `.gz` is unpacked.
    Csv "csv" = FormatEntry {
        contents: Contents::Columns,
        keeps_bytes: false,
        source: "csv(\"file\", ..)",
        doc: "a header and rows. Text columns become levels, and columns of `true` and `false` become 1 and 0. A `.gz` file is decompressed",
    };
    /// The format of MNIST: one file of inputs and one file of targets; `.gz` files are
    /// decompressed.
    Idx "idx" = FormatEntry {
        contents: Contents::Pair,
        keeps_bytes: true,
        source: "idx(\"inputs\", \"targets\")",
        doc: "the format of MNIST. A `.gz` file is decompressed",
    };
    /// Folders of PNG and JPEG files.
    Images "images" = FormatEntry {
        contents: Contents::Pair,
        keeps_bytes: true,
        source: "images(\"folder\", ..)",
        doc: "a folder of PNG and JPEG files of the same size. The name of the subfolder is the class: images `real[3, height, width]`, or `real[1, height, width]` if all are greyscale",
    };
    /// A JSON object of scalars and arrays, as in the data files of Stan; `.gz` files are
    /// decompressed.
    Json "json" = FormatEntry {
        contents: Contents::Arrays,
        keeps_bytes: false,
        source: "json(\"file\", ..)",
        doc: "one object of scalars and rectangular arrays, like Stan's data",
    };
    /// NumPy arrays: one file of inputs and one file of targets.
    Npy "npy" = FormatEntry {
        contents: Contents::Pair,
        keeps_bytes: false,
        source: "npy(\"inputs\", \"targets\", ..)",
        doc: "NumPy arrays, in pairs of an input file and a target file",
    };
    /// Tables in the format Apache Parquet.
    Parquet "parquet" = FormatEntry {
        contents: Contents::Columns,
        keeps_bytes: false,
        source: "parquet(\"file\", ..)",
        doc: "flat columns, uncompressed or compressed with Snappy, gzip or LZ4. A column of encoded PNG or JPEG images becomes arrays `real[3, height, width]`",
    };
}

impl Format {
    /// Returns the contents that files of this format have.
    pub fn contents(self) -> Contents {
        self.entry().contents
    }

    /// Returns whether inputs are first stored as one byte per number, and are converted to reals later.
    pub fn keeps_bytes(self) -> bool {
        self.entry().keeps_bytes
    }

    /// Returns every format, in alphabetical order.
    pub fn all() -> impl Iterator<Item = Format> {
        let of_word = |word: &&'static str| Format::read(RawOption::Call(word, &[]));
        Format::WORDS.iter().filter_map(of_word)
    }

    /// Returns the words of the formats that hold these contents, in alphabetical order.
    pub fn with_contents(contents: Contents) -> impl Iterator<Item = &'static str> {
        Format::all()
            .filter(move |format| format.contents() == contents)
            .map(Format::word)
    }
}

/// The largest absolute value of an integer in a column. Programs have 32-bit integers. With this limit, the sum of an integer in a column and a
/// constant of up to 147,483,647 does not overflow.
pub const LARGEST_INTEGER: i64 = 2_000_000_000;

/// The contents of the files of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Columns with one element per row. If the program does not name a target, the target is the last
    /// column.
    Columns,
    /// Named arrays of any shape, without an order.
    Arrays,
    /// One array of inputs and one array of targets, in a single file or in two separate files.
    Pair,
}

/// The choice of test rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Test {
    /// The data do not have test rows.
    None,
    /// Other files of the same format.
    Files(Vec<PathBuf>),
    /// The rows of a file of splits.
    Splits {
        /// The file, possibly gzipped, in the format
        /// `{"kind", "n_rows", "index_base", "n_splits", "test": [[..], ..]}`.
        file: PathBuf,
        /// The index of the split; `None` visits all splits, one after the other.
        split: Option<usize>,
    },
    /// A random fraction of the rows, chosen by the seed.
    Fraction(f64),
}

/// Rows that are unlike the training data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outliers {
    /// The rows of another file in the same format. In formats with separate files of inputs and targets, this file is a file of inputs.
    File(PathBuf),
    /// The test images, each cut into squares that are put together again in random order. The
    /// number is the side of a square in pixels.
    Shuffled(usize),
}

/// A column expression: `log(earn) * male`, `zscore(age)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ColumnExpr {
    /// A column of the file.
    Name(String, Span),
    /// A constant number in the expression.
    Number(f64),
    /// A function of columns: `log exp sqrt abs zscore neg add sub mul div pow eq`.
    Apply(String, Vec<ColumnExpr>, Span),
    /// An input with a new name: `age = zscore(years)`.
    Named(String, Box<ColumnExpr>, Span),
}

/// The divisor of the sum of squares in the standard deviation of `n` values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Divisor {
    /// `n`: the mean square of standardised training rows is exactly 1.
    #[default]
    Count,
    /// `n - 1`, as `sd` in R and Stan.
    CountLessOne,
}

/// The specification of one `data` item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataSpec {
    /// The name of the data item in the program.
    pub name: String,
    /// The place of its declaration.
    pub span: Span,
    /// The format of the files.
    pub format: Format,
    /// The files; relative paths refer to the program's folder. Several files are shards or, in the
    /// formats idx and npy, the inputs and the targets.
    pub files: Vec<PathBuf>,
    /// The input columns in order. If the list is empty, all columns except the target are inputs,
    /// in file order.
    pub inputs: Vec<ColumnExpr>,
    /// The target column. `None` stands for the last column (csv, parquet) or the second file (idx,
    /// npy).
    pub target: Option<ColumnExpr>,
    /// The choice of the test rows.
    pub test: Test,
    /// The fraction of the training rows that is held out for early stopping.
    pub validation: f64,
    /// True if inputs are standardised with the mean and standard deviation of the training rows.
    pub standardise_inputs: bool,
    /// True if the target is standardised too; metrics are still reported in original units.
    pub standardise_target: bool,
    /// True if each channel of images is standardised with its mean and standard deviation over the pixels of all training rows.
    #[serde(default)]
    pub normalise_channels: bool,
    /// The divisor of the standard deviations that `normalise`, `standardise` and `zscore` use.
    pub divisor: Divisor,
    /// The factor by which every input is multiplied, as in `scale = 1 / 126`. The bytes of `cifar`, `idx` and `images` data are converted to reals before
    /// the factor is applied.
    pub scale: f64,
    /// The number of training rows to use, counted from the first row; `None` uses all.
    pub limit: Option<usize>,
    /// The table that all examples share, if such a table exists.
    pub shared: Option<(Format, PathBuf)>,
    /// The angles, in degrees and counter-clockwise, by which the images of the test rows are
    /// rotated. Each angle gives a separate test set; the first one is the main test set.
    pub rotate: Vec<f64>,
    /// The corruptions of the images of the test rows. Each shift gives a separate test set.
    #[serde(default)]
    pub shifts: Vec<Shift>,
    /// Rows for which predictions should be less certain than the predictions for test rows.
    pub outliers: Option<Outliers>,
}

impl DataSpec {
    /// Returns a specification without any options.
    pub fn new(name: &str, span: Span, format: Format, files: Vec<PathBuf>) -> DataSpec {
        DataSpec {
            name: name.to_owned(),
            span,
            format,
            files,
            inputs: Vec::new(),
            target: None,
            test: Test::None,
            validation: 0.0,
            standardise_inputs: false,
            standardise_target: false,
            normalise_channels: false,
            divisor: Divisor::Count,
            scale: 1.0,
            limit: None,
            shared: None,
            rotate: Vec::new(),
            shifts: Vec::new(),
            outliers: None,
        }
    }

    /// Returns the path of every file that the data item names. The names of files of rows may be patterns.
    pub fn paths_mut(&mut self) -> Vec<&mut PathBuf> {
        let mut paths: Vec<&mut PathBuf> = self.files.iter_mut().collect();
        match &mut self.test {
            Test::None | Test::Fraction(_) => {}
            Test::Files(files) => paths.extend(files),
            Test::Splits { file, .. } => paths.push(file),
        }
        paths.extend(self.shared.iter_mut().map(|(_, path)| path));
        if let Some(Outliers::File(path)) = &mut self.outliers {
            paths.push(path);
        }
        paths
    }

    /// Replaces files by the files that the options `--data NAME=PATH`, `--data NAME.test=PATH` and
    /// `--data NAME.outliers=PATH` name.
    ///
    /// # Errors
    /// If several files of outliers are given, returns their number.
    pub fn take(&mut self, files: &Files) -> Result<(), usize> {
        for (item, given) in files {
            match item.strip_prefix(&*self.name) {
                Some("") => self.files.clone_from(given),
                Some(".test") => self.test = Test::Files(given.clone()),
                Some(".outliers") => match given.as_slice() {
                    [file] => self.outliers = Some(Outliers::File(file.clone())),
                    several => return Err(several.len()),
                },
                _ => {}
            }
        }
        Ok(())
    }
}
