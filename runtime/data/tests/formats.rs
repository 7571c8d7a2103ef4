//! For every format, the reader returns the values that are in the file.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod folder;

use bnnc_abi::data::Format;
use bnnc_abi::schema::{Field, FieldKind};
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Place;
use bnnc_data::read::{Reading, read};
use bnnc_data::table::{Array, ArrayValues};
use flate2::{Compression, write::GzEncoder};
use folder::{Folder, idx, npy, packed_parquet, parquet, spec};
use std::io::Write;
use std::sync::Arc;

fn arrays(format: Format, name: &str, bytes: &[u8]) -> Vec<Array> {
    let folder = Folder::new();
    read(format, &[folder.file(name, bytes)], None, &Reading::within(None))
        .unwrap()
        .arrays
}

/// Returns the inputs of an NPY or IDX file: their shape and elements.
fn inputs(format: Format, bytes: &[u8]) -> (Vec<usize>, ArrayValues) {
    let folder = Folder::new();
    let table =
        bnnc_data::read::read_inputs(format, &folder.file("x", bytes), None, &Reading::within(None)).unwrap();
    (table.arrays[0].shape.clone(), table.arrays[0].values.clone())
}

fn level(codes: &[u32], levels: &[&str]) -> ArrayValues {
    ArrayValues::Level {
        codes: codes.to_vec(),
        levels: levels.iter().map(|level| level.to_string()).collect(),
    }
}

#[test]
fn missing_values_are_recorded_where_they_are_allowed() {
    let folder = Folder::new();
    let found = |format: Format, bytes: &[u8]| {
        let reading = Reading::within(None).with_gaps();
        let table = read(format, &[folder.file("gaps", bytes)], None, &reading).unwrap();
        (table.arrays, reading.gaps())
    };
    let text = "n,x,city,all\n,1.5,,\n2,NaN,Oslo,NA\n3, NA ,,\n4,2,Kiel,\n";
    let (arrays, gaps) = found(Format::Csv, text.as_bytes());
    let values: Vec<&ArrayValues> = arrays.iter().map(|array| &array.values).collect();
    let city = level(&[0, 0, 0, 1], &["Oslo", "Kiel"]);
    let x = ArrayValues::Real(vec![1.5, 0.0, 0.0, 2.0]);
    assert_eq!(
        values,
        [
            &ArrayValues::Int(vec![0, 2, 3, 4]),
            &x,
            &city,
            &ArrayValues::Int(vec![0; 4])
        ]
    );
    let rows = |name: &str| gaps[name].clone();
    assert_eq!(
        ["n", "x", "city", "all"].map(rows),
        [vec![0], vec![1, 2], vec![0, 2], vec![0, 1, 2, 3]]
    );

    let (arrays, gaps) = found(
        Format::Parquet,
        &parquet(&[Some(1.0), None, Some(f64::NAN), Some(4.0)]),
    );
    assert_eq!(arrays[0].values, ArrayValues::Real(vec![1.0, 0.0, 0.0, 4.0]));
    assert_eq!(gaps["x"], [1, 2]);
    // Infinity is not a missing value, so it is an error even if missing values are allowed.
    let endless = folder.file("endless", b"x\n1\ninf\n");
    let reading = Reading::within(None).with_gaps();
    assert_eq!(
        read(Format::Csv, &[endless], None, &reading).unwrap_err()[0]
            .code
            .id,
        "E0409"
    );
}

#[test]
fn csv_columns_have_kinds() {
    let text = "\u{feff}n, x ,city\r\n1,2,\"a, b\"\r\n\r\n-3,1e-3,c\r\n5,.5,\"a, b\"\r\n";
    let found = arrays(Format::Csv, "t.csv", text.as_bytes());
    let expected = [
        Array::column("n", ArrayValues::Int(vec![1, -3, 5])),
        Array::column("x", ArrayValues::Real(vec![2.0, 1e-3, 0.5])),
        Array::column("city", level(&[0, 1, 0], &["a, b", "c"])),
    ];
    assert_eq!(found, expected);
}

#[test]
fn csv_may_be_packed() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(b"x\n1\n2\n").unwrap();
    let found = arrays(Format::Csv, "t.csv.gz", &encoder.finish().unwrap());
    assert_eq!(found, [Array::column("x", ArrayValues::Int(vec![1, 2]))]);
}

#[test]
fn npy_reads_types_orders_and_versions() {
    let doubles: Vec<u8> = [1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let c = inputs(Format::Npy, &npy("<f8", false, "(2, 3)", &doubles));
    assert_eq!(
        c,
        (vec![2, 3], ArrayValues::Real(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    );
    // The file stores the numbers column by column. The matrix is therefore [[1, 3, 5], [2, 4, 6]].
    let fortran = inputs(Format::Npy, &npy("<f8", true, "(2, 3)", &doubles));
    assert_eq!(
        fortran,
        (vec![2, 3], ArrayValues::Real(vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]))
    );
    let big: Vec<u8> = [-2_i16, 300].iter().flat_map(|x| x.to_be_bytes()).collect();
    assert_eq!(
        inputs(Format::Npy, &npy(">i2", false, "(2,)", &big)),
        (vec![2, 1], ArrayValues::Int(vec![-2, 300]))
    );
    let singles: Vec<u8> = [0.5_f32, -8.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(
        inputs(Format::Npy, &npy("<f4", false, "(2,)", &singles)).1,
        ArrayValues::Real(vec![0.5, -8.0])
    );
    assert_eq!(
        inputs(Format::Npy, &npy("|b1", false, "(3,)", &[1, 0, 1])).1,
        ArrayValues::Int(vec![1, 0, 1])
    );
    assert_eq!(
        inputs(Format::Npy, &npy("|u1", false, "(2,)", &[7, 255])).1,
        ArrayValues::Byte(vec![7, 255].into())
    );
    assert_eq!(
        inputs(Format::Npy, &npy("|i1", false, "(2,)", &[7, 255])).1,
        ArrayValues::Int(vec![7, -1])
    );
    let words: Vec<u8> = [u64::from(u32::MAX)]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    assert_eq!(
        inputs(Format::Npy, &npy("<u8", false, "(1,)", &words)).1,
        ArrayValues::Int(vec![4_294_967_295])
    );
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }\n";
    let mut version2 = b"\x93NUMPY\x02\x00".to_vec();
    version2.extend((header.len() as u32).to_le_bytes());
    version2.extend(header.as_bytes());
    version2.extend((-5_i64).to_le_bytes());
    assert_eq!(inputs(Format::Npy, &version2).1, ArrayValues::Int(vec![-5]));
}

#[test]
fn npy_fortran_order_of_three_axes() {
    // The expected elements are numpy.arange(24).reshape(2, 3, 4).flatten(order="F").
    let fortran = [
        0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23,
    ];
    let found = inputs(Format::Npy, &npy("|u1", true, "(2, 3, 4)", &fortran));
    assert_eq!(
        found,
        (vec![2, 12], ArrayValues::Byte(Arc::new((0..24).collect())))
    );
}

#[test]
fn idx_reads_all_types() {
    assert_eq!(
        inputs(Format::Idx, &idx(&[2, 1, 2], &[1, 2, 3, 255])),
        (vec![2, 2], ArrayValues::Byte(vec![1, 2, 3, 255].into()))
    );
    let typed = |code: u8, data: &[u8]| {
        let mut bytes = vec![0, 0, code, 1, 0, 0, 0, 1];
        bytes.extend(data);
        inputs(Format::Idx, &bytes).1
    };
    assert_eq!(typed(0x09, &[0xff]), ArrayValues::Int(vec![-1]));
    assert_eq!(typed(0x0b, &(-2_i16).to_be_bytes()), ArrayValues::Int(vec![-2]));
    assert_eq!(
        typed(0x0c, &(-70_000_i32).to_be_bytes()),
        ArrayValues::Int(vec![-70_000])
    );
    assert_eq!(
        typed(0x0d, &0.25_f32.to_be_bytes()),
        ArrayValues::Real(vec![0.25])
    );
    assert_eq!(
        typed(0x0e, &(-1e9_f64).to_be_bytes()),
        ArrayValues::Real(vec![-1e9])
    );
}

/// Returns records with these label bytes. The pixels of record `r` are `r`, `r + 1` and so on, modulo
/// 251.
fn records(labels: &[&[u8]]) -> Vec<u8> {
    let record = |(at, labels): (usize, &&[u8])| {
        let pixels = (0..3072).map(move |pixel| ((at + pixel) % 251) as u8);
        labels.iter().copied().chain(pixels).collect::<Vec<u8>>()
    };
    labels.iter().enumerate().flat_map(record).collect()
}

#[test]
fn cifar_keeps_bytes_and_takes_the_last_label() {
    for (labels, expected) in [
        ([&[3_u8] as &[u8], &[9]], vec![3, 9]),
        ([&[19, 42], &[0, 99]], vec![42, 99]),
    ] {
        let folder = Folder::new();
        let file = folder.file("b.bin", records(&labels));
        let table = read(Format::Cifar, &[file], None, &Reading::within(None)).unwrap();
        assert_eq!(table.axes, [3, 32, 32]);
        let [inputs, targets] = &table.arrays[..] else {
            panic!("{:?}", table.arrays.len())
        };
        assert_eq!(targets.values, ArrayValues::Byte(expected.into()));
        assert_eq!(inputs.shape, [2, 3072]);
        assert!(matches!(&inputs.values, ArrayValues::Byte(bytes) if bytes[3072 + 255] == 5));
    }
}

#[test]
fn shards_of_cifar_10_and_cifar_100_are_not_mixed() {
    let folder = Folder::new();
    let ten = folder.file("ten.bin", records(&[&[3], &[9]]));
    let hundred = folder.file("hundred.bin", records(&[&[3, 9]]));
    // The length is a multiple of both record sizes, and the first label of each record is in both ranges.
    let either = folder.file("either.bin", vec![1; 3073 * 3074]);
    let read = |files: &[&std::path::PathBuf]| {
        let files: Vec<std::path::PathBuf> = files.iter().map(|file| (*file).clone()).collect();
        read(Format::Cifar, &files, None, &Reading::within(None))
    };
    for [first, second] in [[&ten, &hundred], [&hundred, &ten]] {
        let fault = read(&[first, second]).unwrap_err().swap_remove(0);
        assert_eq!(fault.code.id, "E0417");
        let names = [first, second].map(|file| file.file_name().unwrap().to_str().unwrap());
        assert!(fault.message.contains(names[0]), "{}", fault.message);
        assert!(matches!(&fault.at, Place::File { path, .. } if path.ends_with(names[1])));
    }
    assert_eq!(read(&[&ten, &either]).unwrap().rows, 2 + 3074);
    assert_eq!(read(&[&hundred, &either]).unwrap().rows, 1 + 3073);
}

#[test]
fn a_pattern_names_shards_in_the_order_of_their_names() {
    let folder = Folder::new();
    for (name, label) in [
        ("data_batch_2.bin", 2),
        ("data_batch_1.bin", 1),
        ("test_batch.bin", 7),
        ("data_batch_3.bin", 3),
    ] {
        folder.file(name, records(&[&[label]]));
    }
    let pattern = folder.0.join("data_batch_*.bin");
    let data = bnnc_data::LoadedData::read(&spec(Format::Cifar, &[&pattern])).unwrap();
    let rows = data.dataset(0, 1).unwrap().train;
    assert_eq!(rows.ints("target").unwrap(), [1, 2, 3]);
    assert_eq!(rows.place(2).0, folder.0.join("data_batch_3.bin"));
    let nothing = folder.0.join("batch_*.bin");
    let faults = bnnc_data::LoadedData::read(&spec(Format::Cifar, &[&nothing])).unwrap_err();
    assert_eq!(faults[0].code.id, "E0401");
}

#[test]
fn json_distinguishes_examples_from_shared_arrays() {
    let text = br#"{"J": 2, "u": [0.5, 1.5], "y": [1, 2, 3], "X": [[1, 2.5], [3, 4], [5, 6]], "g": ["b", "a", "b"]}"#;
    let found = arrays(Format::Json, "d.json", text);
    let field = |name: &str, kind, shape: &[usize], per_example| Field {
        name: name.into(),
        kind,
        distinct: None,
        shape: shape.to_vec(),
        per_example,
        text_row: None,
        extent: None,
        words: false,
        bytes: false,
    };
    let reals = |name, per_example, extent| Field {
        extent: Some(extent),
        ..field(name, FieldKind::Real, &[2], per_example)
    };
    let expected = [
        field("J", FieldKind::Int(2, 2), &[], false),
        reals("u", false, (0.5, 1.5)),
        field("y", FieldKind::Int(1, 3), &[], true),
        reals("X", true, (1.0, 6.0)),
        field("g", FieldKind::Levels(vec!["b".into(), "a".into()]), &[], true),
    ];
    assert_eq!(found.iter().map(Array::field).collect::<Vec<_>>(), expected);
    assert_eq!(
        found[3].values,
        ArrayValues::Real(vec![1.0, 2.5, 3.0, 4.0, 5.0, 6.0])
    );
}

#[test]
fn the_target_decides_what_an_example_is() {
    let folder = Folder::new();
    let file = folder.file("d.json", r#"{"a": [1, 2, 3], "b": [1, 2, 3], "y": [1, 2]}"#);
    let examples = |target| {
        let table = read(
            Format::Json,
            std::slice::from_ref(&file),
            target,
            &Reading::within(None),
        )
        .unwrap();
        table
            .arrays
            .iter()
            .map(|array| array.per_example)
            .collect::<Vec<_>>()
    };
    assert_eq!(examples(None), [true, true, false]);
    assert_eq!(examples(Some("y")), [false, false, true]);
}

#[test]
fn parquet_reads_numbers_booleans_and_text() {
    let found = arrays(
        Format::Parquet,
        "t.parquet",
        &parquet(&[Some(0.5), Some(1.5), Some(-2.0)]),
    );
    let expected = [
        Array::column("x", ArrayValues::Real(vec![0.5, 1.5, -2.0])),
        Array::column("n", ArrayValues::Int(vec![-1, 0, 1])),
        Array {
            words: true,
            ..Array::column("ok", ArrayValues::Int(vec![1, 0, 1]))
        },
        Array::column("kind", level(&[0, 1, 0], &["b", "a"])),
    ];
    assert_eq!(found, expected);
}

/// A checkpoint stores these checksums to recognise changed data.
#[test]
fn every_format_has_the_checksum_of_the_file_that_was_read() {
    let folder = Folder::new();
    let rows = parquet(&[Some(0.5), Some(1.5)]);
    for (format, name, bytes) in [
        (Format::Csv, "t.csv", b"x,n\n0.5,1\n1.5,2\n".to_vec()),
        (Format::Parquet, "t.parquet", rows),
    ] {
        let path = folder.file(name, &bytes);
        let source = bnnc_data::LoadedData::read(&spec(format, &[&path])).unwrap();
        // The file has been read completely when it is changed here.
        std::fs::write(&path, b"other").unwrap();
        let found = source.checksum(&path).map(|checksum| checksum.value());
        assert_eq!(found, Some(Checksum::of(&bytes).value()), "{name}");
    }
}

#[test]
fn packed_parquet_files_are_read() {
    use ::parquet::basic::Compression;
    let x: Vec<Option<f64>> = (0..1000).map(|i| Some(f64::from(i % 7))).collect();
    let plain = arrays(Format::Parquet, "t.parquet", &parquet(&x));
    let codecs = [
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ];
    for codec in codecs {
        let bytes = packed_parquet(&x, codec);
        assert!(bytes.len() < parquet(&x).len(), "{codec}");
        assert_eq!(arrays(Format::Parquet, "t.parquet", &bytes), plain, "{codec}");
    }
}

#[test]
fn the_digits_have_the_shape_of_their_readme() {
    let path = |name: &str| folder::example(&format!("digits/data/{name}"));
    let mut spec = spec(Format::Idx, &[&path("train-images.gz"), &path("train-labels.gz")]);
    spec.test = bnnc_abi::data::Test::Files(vec![path("test-images.gz"), path("test-labels.gz")]);
    spec.scale = 1.0 / 255.0;
    let source = bnnc_data::LoadedData::read(&spec).unwrap();
    let schema = source.schema();
    assert_eq!(
        (schema.rows, schema.train, schema.test, schema.inputs),
        (2000, 2000, 1000, 784)
    );
    assert_eq!(schema.fields[0].kind, FieldKind::Real);
    assert_eq!(schema.fields[1].kind, FieldKind::Int(0, 9));
    let data = source.dataset(0, 1).unwrap();
    let labels = data.test.ints("target").unwrap();
    assert!((0..10).all(|digit| labels.iter().filter(|&&label| label == digit).count() == 100));
    let pixels = data.train.inputs.reals();
    assert!(pixels.iter().all(|pixel| (0.0..=1.0).contains(pixel)));
    assert!(pixels.contains(&1.0));
}
