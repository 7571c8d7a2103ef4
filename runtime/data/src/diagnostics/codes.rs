//! The codes of errors in data, with their long texts (`bnnc explain E0401`).

use bnnc_base::diagnostic::Code;

/// All codes of this crate, in order.
pub static CODES: &[&Code] = &[
    &MISSING_FILE,
    &UNREADABLE,
    &BAD_GZIP,
    &NOT_UTF8,
    &NO_ROWS,
    &RAGGED,
    &DUPLICATE_NAME,
    &MISSING_VALUE,
    &NOT_FINITE,
    &NOT_A_NUMBER,
    &MALFORMED,
    &WRONG_LENGTH,
    &UNSUPPORTED,
    &BAD_JSON,
    &FILE_COUNT,
    &ROW_COUNTS,
    &COLUMNS_DIFFER,
    &CHANGED,
    &UNKNOWN_COLUMN,
    &TEXT_COLUMN,
    &NOT_A_COLUMN,
    &BAD_FUNCTION,
    &DOMAIN,
    &BAD_SPLITS,
    &NO_SUCH_SPLIT,
    &BAD_OPTION,
    &TOO_FEW_ROWS,
    &UNSEEN_LEVEL,
    &STANDARDISED_CLASS,
    &CONSTANT_COLUMN,
    &LARGE_INTEGER,
    &UNWRITABLE,
    &NO_HEADER,
    &NO_IMAGES,
    &TOO_LARGE,
    &OUTSIDE,
    &OUTSIDE_TYPE,
    &REACHED,
];

pub(super) static MISSING_FILE: Code = Code {
    id: "E0401",
    title: "a data file does not exist",
    explain: r#"The program or the command line names a file that does not exist. Paths in a program are relative to the folder of
the program, paths on the command line to the working directory. In the name of a file of rows, `*` stands for any
characters: `csv("part-*.csv")` reads all files that match. A pattern that matches no file is an error.

    data d = csv("yatch.csv")        # the file is called yacht.csv
    data d = csv("data/yacht.csv")   # right"#,
};

pub(super) static UNREADABLE: Code = Code {
    id: "E0402",
    title: "a data file cannot be read",
    explain: r#"The file exists, but it cannot be read: it is a folder, or you lack the permission.

    data d = csv("data")             # a folder
    data d = csv("data/yacht.csv")   # right"#,
};

pub(super) static BAD_GZIP: Code = Code {
    id: "E0403",
    title: "a gzip file cannot be unpacked",
    explain: r#"A gzip file is damaged or truncated, or it unpacks to more than two gibibytes, which is usually a mistake or an attack. Download it again, or unpack it by hand: `gunzip -k yacht.csv.gz`."#,
};

pub(super) static NOT_UTF8: Code = Code {
    id: "E0404",
    title: "text is not UTF-8",
    explain: r#"CSV and JSON files must be UTF-8. A table exported with an older encoding has bytes that are not valid UTF-8;
`iconv -f latin1 -t utf-8 old.csv > new.csv` converts it."#,
};

pub(super) static NO_ROWS: Code = Code {
    id: "E0405",
    title: "a file has no rows",
    explain: r#"A table needs at least one column and one row of data below its header, and an array at least one element along each axis.

    x,y          # wrong: nothing follows

    x,y          # right
    1,2"#,
};

pub(super) static RAGGED: Code = Code {
    id: "E0406",
    title: "a row has too many or too few cells",
    explain: r#"Every row must have as many cells as the header. A comma inside a cell needs double quotes around the cell.

    name,age
    Ada, Countess,36      # three cells
    "Ada, Countess",36    # right"#,
};

pub(super) static DUPLICATE_NAME: Code = Code {
    id: "E0407",
    title: "column names are not distinct",
    explain: r#"Programs refer to columns by name, so each column needs its own name.

    x,x,y      # wrong
    x1,x2,y    # right"#,
};

pub(super) static MISSING_VALUE: Code = Code {
    id: "E0408",
    title: "a value is missing",
    explain: r#"A CSV file has an empty cell, or a mark for a missing value such as `NA`, or a Parquet or JSON file has a null. In a
column of numbers, `-`, `.` and `none` are such marks too. Missing data are not supported. Every way to handle them (drop
the row, fill in a value, model them) changes the posterior, so you have to choose one. `bnnc new` writes a copy of a table
without the incomplete rows.

    x,y
    1,         # wrong
    1,2        # right"#,
};

pub(super) static NOT_FINITE: Code = Code {
    id: "E0409",
    title: "a value is NaN or infinite",
    explain: r#"Data must be finite numbers: one NaN would make every gradient NaN. A number too large for 64 bits also counts as
infinite, and so does an input whose square, after scaling and standardisation, is too large for the precision of the run.

    x,y
    1,NaN      # wrong
    1,2        # right"#,
};

pub(super) static NOT_A_NUMBER: Code = Code {
    id: "E0410",
    title: "text in a column of numbers",
    explain: r#"The first row decides whether a column holds numbers or text. This column starts with a number, but a later row
holds text, such as a mark for a missing value or a number with a decimal comma.

    x,y
    1,2
    ?,3        # wrong
    1.5,3      # right"#,
};

pub(super) static MALFORMED: Code = Code {
    id: "E0411",
    title: "a file does not follow its format",
    explain: r#"The bytes do not follow the named format: for example, the magic number is wrong, the header cannot be read, or quotes
do not close. Often the program names the wrong format.

    data d = npy("x.csv", "y.csv")   # wrong
    data d = csv("x.csv")            # right"#,
};

pub(super) static WRONG_LENGTH: Code = Code {
    id: "E0412",
    title: "a file is shorter or longer than its header states",
    explain: r#"The shape and the type in an NPY or IDX header determine the number of bytes that follow. The file has a different size, usually because a download was interrupted."#,
};

pub(super) static UNSUPPORTED: Code = Code {
    id: "E0413",
    title: "an element type is not supported",
    explain: r#"bnnc reads arrays of integers, reals and Booleans. It also reads text, but only from CSV, JSON and Parquet files. It cannot read other types (complex numbers,
Python objects, nested Parquet columns, dates): convert them first.

    np.save("x.npy", x)                      # x has dtype object
    np.save("x.npy", x.astype(np.float64))   # right"#,
};

pub(super) static BAD_JSON: Code = Code {
    id: "E0414",
    title: "a JSON data file has the wrong structure",
    explain: r#"A JSON data file is one object, like Stan's data files. Its values are numbers, Booleans, text, or arrays of
these; all lists at the same depth must have the same length. The message names the place, counting from 0.

    {"x": [[1, 2], [3]]}       # wrong: x[1] has one element
    {"x": [[1, 2], [3, 4]]}    # right"#,
};

pub(super) static FILE_COUNT: Code = Code {
    id: "E0415",
    title: "the number of files does not suit the format",
    explain: r#"`idx` and `npy` store inputs and targets in separate files, so they need pairs of files. Further pairs are further
shards of the data.

    data d = idx("images.gz")                # wrong
    data d = idx("images.gz", "labels.gz")   # right"#,
};

pub(super) static ROW_COUNTS: Code = Code {
    id: "E0416",
    title: "inputs and targets have different numbers of rows",
    explain: r#"Row i of the target file belongs to row i of the input file. Here one file is longer, so the two files cannot
belong together."#,
};

pub(super) static COLUMNS_DIFFER: Code = Code {
    id: "E0417",
    title: "files of one data item have different columns",
    explain: r#"Shards and test files form one table, so each file needs the columns of the first one, with the same kind of
values. The order of the columns may differ.

    a.csv: x,y      b.csv: x,z    # wrong
    a.csv: x,y      b.csv: y,x    # right

Files of CIFAR-10 and of CIFAR-100 cannot be shards of one data item, because their labels have different meanings.

    data d = cifar("*.bin")               # wrong: the pattern matches train.bin of CIFAR-100 too
    data d = cifar("data_batch_*.bin")    # right"#,
};

pub(super) static CHANGED: Code = Code {
    id: "E0418",
    title: "data differ from those the program was compiled for",
    explain: r#"Shapes are fixed when a program is compiled. The data that it runs on must have the same columns, shapes and
levels. Only the number of rows may differ. Compile again with the new data."#,
};

pub(super) static UNKNOWN_COLUMN: Code = Code {
    id: "E0419",
    title: "there is no such column",
    explain: r#"`inputs`, `target` or an input of the model names a column that the file does not have. Upper and lower case matter.
New rows for `bnnc predict` need all inputs. New rows need an output only if other outputs depend on it.

    data d = csv("d.csv") { target = Strength }   # the header has strength
    data d = csv("d.csv") { target = strength }   # right"#,
};

pub(super) static TEXT_COLUMN: Code = Code {
    id: "E0420",
    title: "text where numbers are needed",
    explain: r#"The program uses a column of text in arithmetic. Text can only be the levels of an `index`: declare an input with
the name of the column.

    data d = csv("d.csv") { inputs = [county, floor] }   # county is text
    model M(floor: real, county: index(J)) -> y: real    # right"#,
};

pub(super) static NOT_A_COLUMN: Code = Code {
    id: "E0421",
    title: "an array cannot be used as a column",
    explain: r#"Column expressions need one number per example. An array of higher rank, or a value that all examples share, does
not have one.

    inputs = [log(X)]       # X is a matrix
    inputs = [X]            # right: all its columns in order"#,
};

pub(super) static BAD_FUNCTION: Code = Code {
    id: "E0422",
    title: "an unknown function of columns",
    explain: r#"Column expressions may use `log exp sqrt abs zscore neg` of one argument and `add sub mul div pow eq` of two. Anything
else belongs in the model."#,
};

pub(super) static DOMAIN: Code = Code {
    id: "E0423",
    title: "a column expression is not finite",
    explain: r#"A function is used outside its domain: for example the logarithm of zero or less, the root of a negative number, or a division by
zero. The message names the first such row.

    target = log(earn)           # some earnings are zero
    target = log(earn + 1)       # right"#,
};

pub(super) static BAD_SPLITS: Code = Code {
    id: "E0424",
    title: "a split file is not valid",
    explain: r#"A split file lists the test rows of each split; all other rows are training rows.

    {"kind": "random", "n_rows": 4, "index_base": 0, "n_splits": 2, "test": [[0, 3], [1]]}

Every row number must exist, counted from `index_base` (0 or 1), and occur once per split; `n_rows` must be the
number of rows of the table."#,
};

pub(super) static NO_SUCH_SPLIT: Code = Code {
    id: "E0425",
    title: "the split does not exist",
    explain: r#"The split file has fewer splits than `split` needs. Splits are numbered from 0; `split = all` runs every split.

    split = 20     # of 20 splits
    split = 19     # right: the last"#,
};

pub(super) static BAD_OPTION: Code = Code {
    id: "E0426",
    title: "a data option is out of range",
    explain: r#"A fraction of rows must be above 0 and below 1; where no rows are needed, 0 is allowed too. A scale must be finite
and not zero.

    validation = 10      # wrong
    validation = 0.1     # right"#,
};

pub(super) static TOO_FEW_ROWS: Code = Code {
    id: "E0427",
    title: "no rows are left",
    explain: r#"With these test rows, validation rows and `limit`, no rows are left to train on, or none to test on."#,
};

pub(super) static UNSEEN_LEVEL: Code = Code {
    id: "E0428",
    title: "a level occurs only outside the training rows",
    explain: r#"A test row has a level of a text column that no training row has, so the model knows nothing about it. Choose other test
rows, or merge rare levels in the file."#,
};

pub(super) static STANDARDISED_CLASS: Code = Code {
    id: "E0429",
    title: "a class cannot be standardised",
    explain: r#"Standardising subtracts a mean and divides by a standard deviation, which is meaningless for classes.

    standardise = [inputs, target]   # the target is text or a label
    standardise = [inputs]           # right"#,
};

pub(super) static CONSTANT_COLUMN: Code = Code {
    id: "E0430",
    title: "a column is constant over the training rows",
    explain: r#"This column has the same value in all training rows, so its standard deviation is zero. `standardise` then only subtracts the value, so the model sees zeros. If a later row has another value, the model sees the difference between the two values, in the units of the file. The column is not informative for these training rows: leave it out of `inputs`."#,
};

pub(super) static LARGE_INTEGER: Code = Code {
    id: "E0431",
    title: "a value is not a 32-bit integer",
    explain: r#"Counts, classes and indices are 32-bit integers. The value is fractional, or above 2,000,000,000. Write identifiers of that size as text."#,
};

pub(super) static UNWRITABLE: Code = Code {
    id: "E0432",
    title: "a result file cannot be written",
    explain: r#"Results are written under a temporary name in the same folder and renamed when they are complete. The folder must
exist and be writable."#,
};

pub(super) static NO_HEADER: Code = Code {
    id: "E0433",
    title: "a table has no header line",
    explain: r#"The first line of a CSV file must name the columns. Otherwise, the numbers in this line would become names.

    1,2      # wrong

    x,y      # right
    1,2"#,
};

pub(super) static NO_IMAGES: Code = Code {
    id: "E0434",
    title: "inputs are not images",
    explain: r#"`rotate`, `shuffled` and `normalise = channels` need inputs with a height and a width: an IDX or NPY file with two axes or more
for each example, or a CIFAR file. Rows of numbers without a height and a width cannot be rotated.

    x.npy of the shape (100, 784)      # wrong
    x.npy of the shape (100, 28, 28)   # right"#,
};

pub(super) static TOO_LARGE: Code = Code {
    id: "E0435",
    title: "the contents of a file take too much memory",
    explain: r#"The unpacked contents of a file take more memory than `--max-memory` allows, or than is free. A few
compressed megabytes can unpack to gigabytes, and a device such as `/dev/zero` has no end.

    bnnc run model.bnn --max-memory 500M    # wrong, for a table of 1 GB
    bnnc run model.bnn --max-memory 4G      # right"#,
};

pub(super) static OUTSIDE: Code = Code {
    id: "E0436",
    title: "a position is outside its axis",
    explain: r#"A value selects an element that the array does not have: positions count from 0, and the last one is
one less than the size. The message names the row. A new row for `bnnc predict` may have a group that did not occur in training.

    model M(g: int) -> y: real { a: real[3] ~ Normal(0, 1), y ~ Normal(a[g], 1) }       # g is 1, 2, 3
    model M(g: int) -> y: real { a: real[3] ~ Normal(0, 1), y ~ Normal(a[g - 1], 1) }   # right"#,
};

pub(super) static OUTSIDE_TYPE: Code = Code {
    id: "E0437",
    title: "a value is outside its declared type",
    explain: r#"A model declares an input or output `positive`, `unit`, `count` or `bool`, but a row has a value outside this type: the
density there is zero or undefined. Correct the row, or declare a type that includes the value.

    model M(x: real) -> y: positive { .. }   # one y is -1
    model M(x: real) -> y: real { .. }       # right, with a likelihood on the reals"#,
};

pub(super) static REACHED: Code = Code {
    id: "E0438",
    title: "a parameter selects a position outside its axis",
    explain: r#"The position of an element depends on a parameter, so it is known only during the run. In a step of the training,
or at a draw of the result, the parameter selects an element that the array does not have. Positions count from 0,
and the last one is one less than the size. If the position also depends on a row, the message names the row. Write
the position so that it stays inside the axis for every value of the parameter.

    y ~ Normal(a[g * (if t > 0 { 2 } else { 1 })], 1)              # g is 2, and `a` has 3 elements
    y ~ Normal(a[min(g * (if t > 0 { 2 } else { 1 }), 2)], 1)      # right"#,
};
