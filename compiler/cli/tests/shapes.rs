//! Inputs with a shape: from columns, from NumPy arrays, from images, and from CIFAR files.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

const ROWS: usize = 40;
const PIXELS: usize = 12;

/// Returns an empty folder for the files of one test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-shapes-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn pixels(row: usize) -> impl Iterator<Item = u8> {
    (0..PIXELS).map(move |at| ((row * 37 + at * 11 + row * at * 5) % 200) as u8)
}

fn label(row: usize) -> u8 {
    u8::from(row * row % 7 > 2)
}

/// Returns an NPY file of bytes.
fn npy(shape: &str, bytes: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).expect("a short header").to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), bytes].concat()
}

/// Returns an IDX file of bytes.
fn idx(sizes: &[u32], bytes: &[u8]) -> Vec<u8> {
    let axes = u8::try_from(sizes.len()).expect("few axes");
    let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_be_bytes()).collect();
    [&[0, 0, 8, axes], sizes.as_slice(), bytes].concat()
}

/// Returns a program with this data item and this input. `image` is an image with three channels.
fn program(data: &str, input: &str, image: &str) -> String {
    format!(
        "data d = {data}\n\
         model M(x: {input}) -> label: index(2) {{\n  \
         filters = Conv(2, 2, 2, prior = Normal(0, 1))\n  out = Dense(2, prior = Normal(0, 1))\n  \
         label ~ Categorical(logits = out(flatten(filters({image}))))\n}}\n\
         infer best = map(M, d) {{ epochs = 20 }}\n"
    )
}

/// Writes the rows as a table, as arrays and as images, in a folder of this name.
fn written(name: &str) -> PathBuf {
    let folder = folder(name);
    let all: Vec<u8> = (0..ROWS).flat_map(pixels).collect();
    let labels: Vec<u8> = (0..ROWS).map(label).collect();
    let header: Vec<String> = (0..PIXELS).map(|at| format!("p{at}")).collect();
    let mut table = header.join(",") + ",label\n";
    for row in 0..ROWS {
        let cells: Vec<String> = pixels(row).chain([label(row)]).map(|x| x.to_string()).collect();
        table += &(cells.join(",") + "\n");
    }
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("a file");
    write("t.csv", table.as_bytes());
    write("x.npy", &npy("(40, 3, 2, 2)", &all));
    write("last.npy", &npy("(40, 2, 2, 3)", &all));
    write("y.npy", &npy("(40,)", &labels));
    write("x.idx", &idx(&[40, 6, 2], &all));
    write("y.idx", &idx(&[40], &labels));
    folder
}

/// Runs a program in a folder, with `--out NAME`. Returns the status and all messages.
fn run(folder: &Path, name: &str, text: &str) -> (i32, String) {
    let file = folder.join(format!("{name}.bnn"));
    fs::write(&file, text).expect("a program");
    let out = folder.join(name).display().to_string();
    let output = support::run(["run", &file.display().to_string(), "--out", &out]);
    (output.status, output.stdout + &output.stderr)
}

/// Returns the predictions of a run of [`program`].
fn predictions(folder: &std::path::Path, name: &str, text: &str) -> String {
    let (status, messages) = run(folder, name, text);
    assert_eq!(status, 0, "{name}: {messages}");
    fs::read_to_string(folder.join(name).join("predictions.csv")).expect("predictions")
}

#[test]
fn columns_arrays_and_images_feed_the_same_array() {
    let folder = written("same");
    let options = "{ test = fraction(0.3), scale = 1 / 100 }";
    // The numbers of rows depend on whether a file has a header.
    let from = |name: &str, data: &str, input: &str, image: &str| -> Vec<String> {
        let text = program(&format!("{data} {options}"), input, image);
        let predictions = predictions(&folder, name, &text);
        let lines = predictions.lines().skip(1);
        lines
            .filter_map(|line| Some(line.split_once(',')?.1.to_owned()))
            .collect()
    };
    let (table, arrays, images) = (
        "csv(\"t.csv\")",
        "npy(\"x.npy\", \"y.npy\")",
        "idx(\"x.idx\", \"y.idx\")",
    );
    let expected = from("vector", table, "real[12]", "reshape(x, 3, 2, 2)");
    assert_eq!(expected.len(), 12, "{expected:?}");
    for (name, data, input, image) in [
        ("columns", table, "real[3, 2, 2]", "x"),
        ("channels", table, "real[c, 2, 2]", "x"),
        ("arrays", arrays, "real[3, 2, 2]", "x"),
        ("sizes", arrays, "real[c, h, w]", "x"),
        ("flat", arrays, "real[12]", "reshape(x, 3, 2, 2)"),
        ("matrix", images, "real[6, 2]", "reshape(x, 3, 2, 2)"),
        ("grey", images, "real[1, 6, 2]", "reshape(x, 3, 2, 2)"),
    ] {
        assert_eq!(from(name, data, input, image), expected, "{name}");
    }
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn other_sizes_are_rejected_with_the_sizes_of_the_data() {
    let folder = written("sizes");
    for (name, data, input, expected) in [
        (
            "product",
            "csv(\"t.csv\")",
            "real[3, 3, 2]",
            "`x` is declared as `real[3, 3, 2]`, but a row of the data is 12 numbers",
        ),
        (
            "several",
            "csv(\"t.csv\")",
            "real[3, h, w]",
            "`x` is declared as `real[3, h, w]`, but a row of the data is 12 numbers",
        ),
        (
            "order",
            "npy(\"last.npy\", \"y.npy\")",
            "real[3, 2, 2]",
            "`x` is declared as `real[3, 2, 2]`, but a row of the data is an array [2, 2, 3]",
        ),
    ] {
        let (status, messages) = run(&folder, name, &program(data, input, "x"));
        assert_ne!(status, 0);
        assert!(
            messages.contains("E0292") && messages.contains(expected),
            "{name}: {messages}"
        );
    }
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn new_images_are_normalised_as_the_training_images() {
    let folder = written("new");
    let data = "npy(\"x.npy\", \"y.npy\") { test = npy(\"x.npy\", \"y.npy\"), normalise = channels }";
    let expected = predictions(&folder, "run", &program(data, "real[3, 2, 2]", "x"));
    let predict = |file: &str| {
        let path = |name: &str| folder.join(name).display().to_string();
        let (out, data) = (path("run"), path(file));
        let output = support::run(["predict", &out, "--data", &data, "-o", &path("new.csv")]);
        (output.status, output.stdout + &output.stderr)
    };
    let (status, messages) = predict("x.npy");
    assert_eq!(status, 0, "{messages}");
    let new = fs::read_to_string(folder.join("new.csv")).expect("predictions");
    let column = |text: &str, name: &str| -> Vec<String> {
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
        let at = lines
            .next()
            .and_then(|mut header| header.position(|cell| cell == name));
        let at = at.unwrap_or_else(|| panic!("no column {name} in {text}"));
        lines.filter_map(|mut line| line.nth(at)).collect()
    };
    let name = expected
        .lines()
        .next()
        .and_then(|header| header.rsplit(',').next());
    let name = name.expect("a header");
    assert_eq!(column(&new, name), column(&expected, name));
    let (status, messages) = predict("last.npy");
    assert!(status != 0 && messages.contains("found 2 x 2 x 3"), "{messages}");
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn batches_of_cifar_are_shards() {
    let folder = folder("cifar");
    for batch in 0..3 {
        let record = |row: usize| {
            let pixel = move |at: usize| ((row * 31 + at * 7) % 256) as u8;
            std::iter::once((row % 10) as u8).chain((0..3072).map(pixel))
        };
        let rows: Vec<u8> = (batch * 8..batch * 8 + 8).flat_map(record).collect();
        fs::write(folder.join(format!("data_batch_{}.bin", batch + 1)), rows).expect("a file");
    }
    let text = "data d = cifar(\"data_batch_*.bin\") { normalise = channels }\n\
                model M(x: real[3, 32, 32]) -> label: index(10) {\n  out = Dense(10, prior = Normal(0, 0.1))\n  \
                label ~ Categorical(logits = out(flatten(mean_pool(x, 8))))\n}\n\
                infer best = map(M, d) { epochs = 3 }\n";
    let (status, messages) = run(&folder, "batches", text);
    assert_eq!(status, 0, "{messages}");
    assert!(messages.contains("24 training rows"), "{messages}");
    let _ = fs::remove_dir_all(folder);
}

/// Many tools write a column of targets as an array of shape `(rows, 1)`.
#[test]
fn targets_in_a_column_feed_a_scalar_output() {
    let folder = written("column");
    let labels: Vec<u8> = (0..ROWS).map(label).collect();
    fs::write(folder.join("column.npy"), npy("(40, 1)", &labels)).expect("a file");
    let from = |name: &str, target: &str| {
        let data = format!("npy(\"x.npy\", \"{target}\") {{ test = fraction(0.3), scale = 1 / 100 }}");
        predictions(&folder, name, &program(&data, "real[3, 2, 2]", "x"))
    };
    assert_eq!(from("rows", "y.npy"), from("column", "column.npy"));
    // The test file may have a different one of the two shapes than the training file.
    let tested = "npy(\"x.npy\", \"column.npy\") { test = npy(\"x.npy\", \"y.npy\"), scale = 1 / 100 }";
    let alike = "npy(\"x.npy\", \"y.npy\") { test = npy(\"x.npy\", \"y.npy\"), scale = 1 / 100 }";
    let of = |name: &str, data: &str| predictions(&folder, name, &program(data, "real[3, 2, 2]", "x"));
    assert_eq!(of("tested", tested), of("alike", alike));
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn targets_of_another_shape_are_described() {
    let folder = written("targets");
    let wide: Vec<u8> = (0..ROWS * 3).map(|at| u8::from(at % 3 == at / 3 % 3)).collect();
    fs::write(folder.join("wide.npy"), npy("(40, 3)", &wide)).expect("a file");
    let with = |output: &str, likelihood: &str| {
        format!(
            "data d = npy(\"x.npy\", \"wide.npy\")\nmodel M(x: real[3, 2, 2]) -> y: {output} {{\n  out = Dense(3)\n  \
             y ~ {likelihood}\n}}\ninfer best = map(M, d) {{ steps = 1 }}\n"
        )
    };
    let one_hot = with("index(3)", "Categorical(logits = out(flatten(x)))");
    let (status, messages) = run(&folder, "one-hot", &one_hot);
    assert_eq!(status, 1, "{messages}");
    for text in [
        "E0292",
        "`y` is declared as one number, but `target` holds an array of shape [3] in each row",
        "labels.argmax(axis=1)",
    ] {
        assert!(messages.contains(text), "{text}: {messages}");
    }
    let (_, messages) = run(&folder, "number", &with("real", "Normal(out(flatten(x))[0], 1)"));
    assert!(messages.contains("declare `y: real[3]`"), "{messages}");
    let _ = fs::remove_dir_all(folder);
}

/// The advice about scales names an option for images, rather than a single pixel.
#[test]
fn advice_about_the_scale_of_images_is_about_channels() {
    let folder = folder("scale");
    let rows: Vec<u8> = (0..30)
        .flat_map(|row: usize| {
            std::iter::once((row % 10) as u8)
                .chain((0..3072).map(move |at| (100 + (row * 31 + at * 7) % 156) as u8))
        })
        .collect();
    fs::write(folder.join("batch.bin"), rows).expect("a file");
    let text = |options: &str| {
        format!(
            "data d = cifar(\"batch.bin\") {{ {options} }}\nmodel M(x: real[3, 32, 32]) -> label: index(10) {{\n  out = Dense(10)\n  \
             label ~ Categorical(logits = out(flatten(mean_pool(x, 8))))\n}}\ninfer best = map(M, d) {{ epochs = 1 }}\n"
        )
    };
    let (status, messages) = run(&folder, "raw", &text("limit = 20"));
    assert_eq!(status, 0, "{messages}");
    assert!(
        messages.contains("E0536") && messages.contains("`normalise = channels`"),
        "{messages}"
    );
    assert!(!messages.contains("standardise = [inputs]"), "{messages}");
    let (_, messages) = run(&folder, "normalised", &text("normalise = channels"));
    assert!(!messages.contains("E0536"), "{messages}");
    let _ = fs::remove_dir_all(folder);
}

/// Checks that a network on images of three channels and 2 by 2 pixels causes one error, which has all these parts.
fn reported_once(folder: &Path, name: &str, layers: &str, wanted: &[&str]) {
    let text = format!(
        "data d = npy(\"x.npy\", \"y.npy\")\nmodel M(x: real[3, 2, 2]) -> label: index(2) {{\n  {layers}\n  out = Dense(2)\n  \
         label ~ Categorical(logits = out(flatten(h)))\n}}\ninfer one = map(M, d) {{ steps = 1 }}\ninfer two = map(M, d) {{ steps = 2 }}\n"
    );
    let (status, messages) = run(folder, name, &text);
    assert_eq!(status, 1, "{name}: {messages}");
    for part in wanted {
        assert!(messages.contains(part), "{name}: {part}: {messages}");
    }
    assert_eq!(messages.matches("error[").count(), 1, "{name}: {messages}");
    assert!(messages.contains(&format!("{name}.bnn:")), "{name}: {messages}");
}

/// Wrong groups, strides and paddings of convolutions cause one error, which points to a line of the program and shows the numbers.
#[test]
fn wrong_convolutions_are_reported_once_with_their_numbers() {
    let folder = written("convolutions");
    let cases: [(&str, &str, &[&str]); 8] = [
        (
            "groups",
            "c = Conv(2, 2, 2, groups = 2)\n  h = c(x)",
            &["E0230", "2 groups of `conv` do not divide 3 channels"],
        ),
        (
            "outputs",
            "c = Conv(4, 2, 2, groups = 3)\n  h = c(x)",
            &["E0230", "3 groups of `conv` do not divide 4 channels"],
        ),
        (
            "zero",
            "c = Conv(3, 2, 2, groups = 0)\n  h = c(x)",
            &["E0290", "divides by 0, the value of `groups`"],
        ),
        (
            "transposed",
            "c = ConvTranspose(4, 2, 2, groups = 3)\n  h = c(x)",
            &["E0230", "3 groups of `conv_transpose` do not divide 4 channels"],
        ),
        (
            "still",
            "c = ConvTranspose(2, 2, 2, stride = 0)\n  h = c(x)",
            &["E0214", "the stride must be one or more, but this is 0"],
        ),
        (
            "wide",
            "c = ConvTranspose(2, 2, 2, stride = 2, output_padding = 2)\n  h = c(x)",
            &[
                "E0214",
                "the output padding must be less than the stride 2, but this is 2",
            ],
        ),
        (
            "cropped",
            "c = ConvTranspose(2, 2, 2, padding = 2)\n  h = c(x)",
            &["E0214", "the padding removes all elements of an axis of 3"],
        ),
        (
            "factor",
            "h = upsample(x, 0)",
            &[
                "E0214",
                "the factor of `upsample` must be one or more, but this is 0",
            ],
        ),
    ];
    for (name, layers, wanted) in cases {
        reported_once(&folder, name, layers, wanted);
    }
    let _ = fs::remove_dir_all(folder);
}

/// Each of these mistakes in a network causes one error, which points to a line of the program and shows the numbers.
#[test]
fn wrong_sizes_of_layers_are_reported_once_with_their_numbers() {
    let folder = written("sizes");
    for (name, layers, wanted) in [
        (
            "groups",
            "norm = GroupNorm(2)\n  h = norm(x)",
            &[
                "E0289",
                "`channels / groups` is 3 / 2",
                "`groups` that divides 3: 1 or 3",
            ][..],
        ),
        (
            "none",
            "norm = GroupNorm(0)\n  h = norm(x)",
            &["E0289", "a size of 0, the value of `groups`"],
        ),
        (
            "padding",
            "c = Conv(2, 2, 2, padding = 4000000000)\n  h = c(x)",
            &["E0290", "more than 2147483647 elements"],
        ),
        (
            "negative",
            "c = Conv(2, 2, 2, padding = -1)\n  h = c(x)",
            &["E0214", "zero or more, but this is -1"],
        ),
        (
            "reals",
            "c = Conv(2, 2, 2, padding = 4e9)\n  h = c(x)",
            &["E0211", "`padding` needs int, found real"],
        ),
        (
            "window",
            "c = Conv(2, 3, 3)\n  h = c(x)",
            &["E0227", "a side of 3, but the image has a side of 2"],
        ),
        (
            "vector",
            "a = Dense(16)\n  norm = BatchNorm()\n  h = norm(a(flatten(x)))",
            &["E0211", "`reshape(.., 16, 1, 1)`"],
        ),
    ] {
        reported_once(&folder, name, layers, wanted);
    }
    let _ = fs::remove_dir_all(folder);
}

/// `--data` of `bnnc predict` may be a pattern, as in a data item: the rows are those of the matching files, in order.
#[test]
fn predictions_for_the_files_of_a_pattern_are_those_of_each_file() {
    let folder = folder("pattern");
    let part = |first: u32| {
        let rows = (first..first + 10)
            .map(|row| format!("{},{}\n", f64::from(row) / 10.0, f64::from(row * row) / 50.0));
        "x,y\n".to_owned() + &rows.collect::<String>()
    };
    fs::write(folder.join("part_1.csv"), part(0)).expect("a file");
    fs::write(folder.join("part_2.csv"), part(10)).expect("a file");
    let text = "data d = csv(\"part_*.csv\")\nmodel M(x: real) -> y: real {\n  a ~ Normal(0, 1)\n  y ~ Normal(a * x, 1)\n}\n\
                infer fit = map(M, d) { steps = 50 }\n";
    let (status, messages) = run(&folder, "fit", text);
    assert_eq!(status, 0, "{messages}");
    assert!(messages.contains("20 training rows"), "{messages}");
    let at = |name: &str| folder.join(name).display().to_string();
    let predict = |data: &str| support::run(["predict", &at("fit"), "--data", &at(data)]);
    let means = |output: support::Output| -> Vec<String> {
        assert_eq!(output.status, 0, "{}", output.stderr);
        let mut lines = output.stdout.lines();
        let header = lines.next().expect("a header");
        let place = header.split(',').position(|name| name == "mean").expect("a mean");
        lines
            .map(|line| line.split(',').nth(place).expect("a cell").to_owned())
            .collect()
    };
    let both = [means(predict("part_1.csv")), means(predict("part_2.csv"))].concat();
    assert_eq!(means(predict("part_*.csv")), both);
    let none = predict("shard_*.csv");
    assert!(
        none.stderr.contains("E0401") && none.stderr.contains("matches no file"),
        "{}",
        none.stderr
    );
    let same = support::run([
        "predict",
        &at("fit"),
        "--data",
        &at("part_*.csv"),
        "-o",
        &at("part_2.csv"),
    ]);
    assert!(same.stderr.contains("E0515"), "{}", same.stderr);
    let _ = fs::remove_dir_all(folder);
}
