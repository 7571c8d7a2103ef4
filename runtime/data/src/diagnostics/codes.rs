//! The codes of errors in data, with their long texts (`bnnc explain E0401`).

use bnnc_base::codes;

codes! {
    pub(super) MISSING_FILE = "E0401", "a data file does not exist":
        r#"The program or the command line names a file that does not exist. Paths in a program are relative to the folder of
the program, paths on the command line to the working directory. In the name of a file of rows, `*` stands for any
characters: `csv("part-*.csv")` reads all files that match. A pattern that matches no file is an error.

    data d = csv("yatch.csv")        # the file is called yacht.csv
    data d = csv("data/yacht.csv")   # right"#;

    pub(super) UNREADABLE = "E0402", "a data file cannot be read":
        r#"The file exists, but it cannot be read: it is a folder, or you lack the permission.

    data d = csv("data")             # a folder
    data d = csv("data/yacht.csv")   # right"#;

    pub(super) BAD_GZIP = "E0403", "a gzip file cannot be unpacked":
        r#"A gzip file is damaged or truncated, or it unpacks to more than two gibibytes, which is usually a mistake or an attack. Download it again, or unpack it by hand: `gunzip -k yacht.csv.gz`."#;

    pub(super) NOT_UTF8 = "E0404", "text is not UTF-8":
        r#"CSV and JSON files must be UTF-8. A table exported with an older encoding has bytes that are not valid UTF-8;
`iconv -f latin1 -t utf-8 old.csv > new.csv` converts it."#;

    pub(super) NO_ROWS = "E0405", "a file has no rows":
        r#"A table needs at least one column and one row of data below its header, and an array at least one element along each axis. \
A folder of images, and each of its classes, needs at least one image.

    x,y          # wrong: nothing follows

    x,y          # right
    1,2"#;

    pub(super) RAGGED = "E0406", "a row has too many or too few cells":
        r#"Every row must have as many cells as the header. A comma inside a cell needs double quotes around the cell.

    name,age
    Ada, Countess,36      # three cells
    "Ada, Countess",36    # right"#;

    pub(super) DUPLICATE_NAME = "E0407", "column names are not distinct":
        r#"Programs refer to columns by name, so each column needs its own name.

    x,x,y      # wrong
    x1,x2,y    # right"#;

    pub(super) MISSING_VALUE = "E0408", "a value is missing":
        r#"A CSV file has an empty cell, or a mark for a missing value such as `NA`. In a column of numbers, `-`, `.` and `none` are such marks \
too. In a Parquet or JSON file, a missing value is a null. Missing data are not supported. Every way to handle them (drop
the row, fill in a value, model them) changes the posterior, so you have to choose one. `bnnc new` writes a copy of a table
without the incomplete rows.

    x,y
    1,         # wrong
    1,2        # right"#;

    pub(super) NOT_FINITE = "E0409", "a value is NaN or infinite":
        r#"Data must be finite numbers: one NaN would make every gradient NaN. A number too large for 64 bits also counts as infinite. The same \
applies to an input whose square, after scaling and standardisation, is too large for the precision of the run.

    x,y
    1,NaN      # wrong
    1,2        # right"#;

    pub(super) NOT_A_NUMBER = "E0410", "text in a column of numbers":
        r#"The first row decides whether a column holds numbers or text. This column starts with a number, but a later row
holds text, such as a mark for a missing value or a number with a decimal comma.

    x,y
    1,2
    ?,3        # wrong
    1.5,3      # right"#;

    pub(super) MALFORMED = "E0411", "a file does not follow its format":
        r#"The bytes do not follow the named format: for example, the magic number is wrong, the header cannot be read, or quotes
do not close. Often the program names the wrong format.

    data d = npy("x.csv", "y.csv")   # wrong
    data d = csv("x.csv")            # right"#;

    pub(super) WRONG_LENGTH = "E0412", "a file is shorter or longer than its header states":
        r#"The shape and the type in an NPY or IDX header determine the number of bytes that follow. The file has a different size, usually because a download was interrupted."#;

    pub(super) UNSUPPORTED = "E0413", "an element type is not supported":
        r#"bnnc reads arrays of integers, reals and Booleans. It also reads text, but only from CSV, JSON and Parquet files. It cannot read other types (complex numbers,
Python objects, nested Parquet columns, dates): convert them first. Images must be PNG or JPEG files with eight bits per channel,
without transparent pixels, animation or CMYK colours.

    np.save("x.npy", x)                      # x has dtype object
    np.save("x.npy", x.astype(np.float64))   # right"#;

    pub(super) BAD_JSON = "E0414", "a JSON data file has the wrong structure":
        r#"A JSON data file is one object, like Stan's data files. Its values are numbers, Booleans, text, or arrays of
these; all lists at the same depth must have the same length. The message names the place, counting from 0.

    {"x": [[1, 2], [3]]}       # wrong: x[1] has one element
    {"x": [[1, 2], [3, 4]]}    # right"#;

    pub(super) FILE_COUNT = "E0415", "the number of files does not suit the format":
        r#"`idx` and `npy` store inputs and targets in separate files, so they need pairs of files. Further pairs are further
shards of the data.

    data d = idx("images.gz")                # wrong
    data d = idx("images.gz", "labels.gz")   # right"#;

    pub(super) ROW_COUNTS = "E0416", "inputs and targets have different numbers of rows":
        r#"Row i of the target file belongs to row i of the input file. Here one file is longer, so the two files cannot
belong together."#;

    pub(super) COLUMNS_DIFFER = "E0417", "files of one data item have different columns":
        r#"Shards and test files form one table, so each file needs the columns of the first file, with the same kind of
values. The order of the columns may differ.

    a.csv: x,y      b.csv: x,z    # wrong
    a.csv: x,y      b.csv: y,x    # right

Files of CIFAR-10 and of CIFAR-100 cannot be shards of one data item, because their labels have different meanings.

    data d = cifar("*.bin")               # wrong: the pattern matches train.bin of CIFAR-100 too
    data d = cifar("data_batch_*.bin")    # right"#;

    pub(super) CHANGED = "E0418", "data differ from those the program was compiled for":
        r#"Shapes are fixed when a program is compiled. The data that it runs on must have the same columns, shapes and
levels. Only the number of rows may differ. Compile again with the new data."#;

    pub(super) UNKNOWN_COLUMN = "E0419", "there is no such column":
        r#"`inputs`, `target` or an input of the model names a column that the file does not have. Upper and lower case matter.
New rows for `bnnc predict` need all inputs. New rows need an output only if other outputs depend on it.

    data d = csv("d.csv") { target = Strength }   # the header has strength
    data d = csv("d.csv") { target = strength }   # right"#;

    pub(super) TEXT_COLUMN = "E0420", "text where numbers are needed":
        r#"The program uses a column of text in arithmetic. Text can only be the levels of an `index`: declare an input with
the name of the column.

    data d = csv("d.csv") { inputs = [county, floor] }   # county is text
    model M(floor: real, county: index(J)) -> y: real    # right"#;

    pub(super) NOT_A_COLUMN = "E0421", "an array cannot be used as a column":
        r#"Column expressions need one number per example. An array of higher rank, or a value that all examples share, does
not have one.

    inputs = [log(X)]       # X is a matrix
    inputs = [X]            # right: all its columns in order"#;

    pub(super) BAD_FUNCTION = "E0422", "an unknown function of columns":
        r#"Column expressions may use `log exp sqrt abs zscore neg` with one argument and `add sub mul div pow eq` with two. Anything else belongs in the model."#;

    pub(super) DOMAIN = "E0423", "a column expression is not finite":
        r#"A function is used outside its domain: for example the logarithm of zero or less, the root of a negative number, or a division by
zero. The message names the first such row.

    target = log(earn)           # some earnings are zero
    target = log(earn + 1)       # right"#;

    pub(super) BAD_SPLITS = "E0424", "a split file is not valid":
        r#"A split file lists the test rows of each split; all other rows are training rows.

    {"kind": "random", "n_rows": 4, "index_base": 0, "n_splits": 2, "test": [[0, 3], [1]]}

Every row number must exist, counted from `index_base` (0 or 1), and occur once per split; `n_rows` must be the
number of rows of the table."#;

    pub(super) NO_SUCH_SPLIT = "E0425", "the split does not exist":
        r#"The split file has fewer splits than `split` needs. Splits are numbered from 0; `split = all` runs every split.

    split = 20     # of 20 splits
    split = 19     # right: the last"#;

    pub(super) BAD_OPTION = "E0426", "a data option is out of range":
        r#"A fraction of rows must be above 0 and below 1. If no rows are needed, the fraction may also be 0. A scale must be finite
and not zero.

    validation = 10      # wrong
    validation = 0.1     # right"#;

    pub(super) TOO_FEW_ROWS = "E0427", "no rows are left":
        r#"With these test rows, validation rows and `limit`, no rows are left to train on, or none to test on."#;

    pub(super) UNSEEN_LEVEL = "E0428", "a level occurs only outside the training rows":
        r#"A test row has a level of a text column that no training row has, so the model knows nothing about it. Choose other test
rows, or merge rare levels in the file."#;

    pub(super) STANDARDISED_CLASS = "E0429", "a class cannot be standardised":
        r#"Standardising subtracts a mean and divides by a standard deviation, which is meaningless for classes.

    standardise = [inputs, target]   # the target is text or a label
    standardise = [inputs]           # right"#;

    pub(super) CONSTANT_COLUMN = "E0430", "a column is constant over the training rows":
        r#"This column has the same value in all training rows, so its standard deviation is zero. `standardise` then only subtracts the value, so the model sees zeros. If a later row has another value, the model sees the difference between the two values, in the units of the file. The column is not informative for these training rows: leave it out of `inputs`."#;

    pub(super) LARGE_INTEGER = "E0431", "a value is not a 32-bit integer":
        r#"Counts, classes and indices are 32-bit integers. The value is fractional, or above 2,000,000,000. Write identifiers of that size as text."#;

    pub(super) UNWRITABLE = "E0432", "a result file cannot be written":
        r#"Results are written under a temporary name in the same folder and renamed when they are complete. The folder must
exist and be writable."#;

    pub(super) NO_HEADER = "E0433", "a table has no header line":
        r#"The first line of a CSV file must name the columns. Otherwise, the numbers in this line would become names.

    1,2      # wrong

    x,y      # right
    1,2"#;

    pub(super) NO_IMAGES = "E0434", "inputs are not images":
        r#"`rotate`, `shifts`, `shuffled` and `normalise = channels` need inputs with a height and a width: an IDX or NPY file with two axes or more
for each example, a CIFAR file, or a folder of images. Rows of numbers without a height and a width cannot be rotated.
`shifts` also needs one channel or three, with pixels from 0 to 1 or from 0 to 255.

    x.npy of the shape (100, 784)      # wrong
    x.npy of the shape (100, 28, 28)   # right"#;

    pub(super) TOO_LARGE = "E0435", "the contents of a file take too much memory":
        r#"The unpacked contents of a file take more memory than `--max-memory` allows, or than is free. A few
compressed megabytes can unpack to gigabytes, and a device such as `/dev/zero` has no end.

    bnnc run model.bnn --max-memory 500M    # wrong, for a table of 1 GB
    bnnc run model.bnn --max-memory 4G      # right"#;

    pub(super) OUTSIDE = "E0436", "a position is outside its axis":
        r#"A value selects an element that the array does not have: positions count from 0, and the last one is
one less than the size. The message names the row. A new row for `bnnc predict` may have a group that did not occur in training.

    model M(g: int) -> y: real { a: real[3] ~ Normal(0, 1), y ~ Normal(a[g], 1) }       # g is 1, 2, 3
    model M(g: int) -> y: real { a: real[3] ~ Normal(0, 1), y ~ Normal(a[g - 1], 1) }   # right"#;

    pub(super) OUTSIDE_TYPE = "E0437", "a value is outside its declared type":
        r#"A model declares an input or output `positive`, `unit`, `count` or `bool`, but a row has a value outside this type: the
density there is zero or undefined. Correct the row, or declare a type that includes the value. If `standardise` causes the
value, leave it out and standardise single columns with `zscore`.

    model M(x: real) -> y: positive { .. }   # one y is -1
    model M(x: real) -> y: real { .. }       # right, with a likelihood on the reals"#;

    pub(super) REACHED = "E0438", "a parameter selects a position outside its axis":
        r#"The position of an element depends on a parameter, so it is known only during the run. In a step of the training,
or at a draw of the result, the parameter selects an element that the array does not have. Positions count from 0,
and the last one is one less than the size. If the position also depends on a row, the message names the row. Write
the position so that it stays inside the axis for every value of the parameter.

    y ~ Normal(a[g * (if t > 0 { 2 } else { 1 })], 1)              # g is 2, and `a` has 3 elements
    y ~ Normal(a[min(g * (if t > 0 { 2 } else { 1 }), 2)], 1)      # right"#;

    pub(super) TWO_SPELLINGS = "E0439", "an integer is written in two ways":
        r#"A column contains the same integer with and without leading zeros, such as `01001` and `1001`. A column whose first cell
is a number holds numbers, so both cells become 1001. If they are names, such as postal codes, two groups become one. Write
names with a letter, which makes the column text.

    zip        zip
    01001      z01001    # right: two levels
    1001       z1001"#;

    pub(super) IMAGE_SIZES = "E0440", "images have different sizes or channels":
        r#"All images of a data item need the same height and width, because a model has an input of one shape. bnnc does not resize
images: cropping, padding and stretching give different data, so you have to choose. If a folder has
colour and greyscale images, the greyscale images get three equal channels. If all images of the first folder are greyscale,
colour images in other folders are an error.

    a.png of 32 x 32 pixels, b.png of 40 x 32 pixels   # wrong
    magick a.png -resize '32x32!' small/a.png          # right, with ImageMagick"#;

    pub(super) IMAGE_FOLDERS = "E0441", "a folder of images does not show the classes":
        r#"In `images("folder")`, each subfolder is a class, with all images inside it. A folder without subfolders has images without classes.
Images beside subfolders do not have a class, and subfolders such as `train` and `test` are not classes. A link may lead to another
folder, but not to a folder that contains it.

    data d = images("pets")                                       # wrong: pets/train/cat, pets/test/cat
    data d = images("pets/train") { test = images("pets/test") }  # right"#;
}
