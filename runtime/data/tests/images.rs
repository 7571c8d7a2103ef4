//! Rotated test images, and outliers, agree with images that were transformed by hand.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod folder;

use bnnc_abi::corruption::{Corruption, Shift};
use bnnc_abi::data::{DataSpec, Format, Outliers, Test};
use bnnc_data::{Dataset, LoadedData};
use folder::{Folder, idx, npy, reported, spec};

/// Returns a data item with two training images of two by two pixels. One of these images is also
/// the test image.
fn images(folder: &Folder) -> DataSpec {
    let pixels = [1, 2, 3, 4, 50, 60, 70, 80];
    let train = [
        folder.file("x", idx(&[2, 2, 2], &pixels)),
        folder.file("y", idx(&[2], &[0, 1])),
    ];
    let test = vec![
        folder.file("tx", idx(&[1, 2, 2], &pixels[..4])),
        folder.file("ty", idx(&[1], &[1])),
    ];
    DataSpec {
        test: Test::Files(test),
        ..spec(Format::Idx, &[&train[0], &train[1]])
    }
}

fn cut(spec: &DataSpec) -> Dataset {
    LoadedData::read(spec)
        .and_then(|source| source.dataset(0, 1))
        .unwrap()
}

fn faults(spec: &DataSpec) -> Vec<String> {
    LoadedData::read(spec).unwrap_err().iter().map(reported).collect()
}

#[test]
fn only_test_images_are_rotated() {
    let folder = Folder::new();
    let rotated = |rotate: f64| {
        cut(&DataSpec {
            rotate: vec![rotate],
            scale: 0.5,
            ..images(&folder)
        })
    };
    for (degrees, expected) in [
        (0.0, [0.5, 1.0, 1.5, 2.0]),
        (90.0, [1.0, 2.0, 0.5, 1.5]),
        (180.0, [2.0, 1.5, 1.0, 0.5]),
        (-90.0, [1.5, 0.5, 2.0, 1.0]),
    ] {
        let data = rotated(degrees);
        assert_eq!(*data.test.inputs.reals(), expected, "{degrees}");
        assert_eq!(data.train.inputs, rotated(0.0).train.inputs);
        assert_eq!(data.test.ints("target").unwrap(), [1]);
    }
}

#[test]
fn each_angle_gives_its_own_test_rows() {
    let folder = Folder::new();
    let with = |rotate: &[f64]| {
        cut(&DataSpec {
            rotate: rotate.to_vec(),
            standardise_inputs: true,
            ..images(&folder)
        })
    };
    let data = with(&[90.0, 0.0, 45.0]);
    let others: Vec<_> = data.rotated().collect();
    assert_eq!(
        others.iter().map(|(degrees, _)| *degrees).collect::<Vec<_>>(),
        [0.0, 45.0]
    );
    for (degrees, rows) in others {
        assert_eq!(rows, with(&[degrees]).test);
    }
    assert_eq!(data.test, with(&[90.0]).test);
    assert_eq!(with(&[0.0]).test.inputs.reals(), with(&[]).test.inputs.reals());
    assert_eq!(with(&[]).rotated().count(), 0);
}

#[test]
fn rotation_comes_before_standardisation() {
    let folder = Folder::new();
    let plain = DataSpec {
        standardise_inputs: true,
        ..images(&folder)
    };
    let data = cut(&DataSpec {
        rotate: vec![90.0],
        ..plain.clone()
    });
    let maps = &data.preparation.inputs;
    let expected: Vec<f64> = [2.0, 4.0, 1.0, 3.0]
        .into_iter()
        .zip(maps)
        .map(|(raw, map)| map.apply(raw))
        .collect();
    assert_eq!(*data.test.inputs.reals(), expected);
    assert_eq!(data.preparation, cut(&plain).preparation);
}

#[test]
fn a_fraction_of_the_rows_is_rotated_too() {
    let folder = Folder::new();
    let image: Vec<u8> = (0..16).flat_map(|row| [row, 100, 200, 250]).collect();
    let (x, y) = (
        npy("|u1", false, "(16, 1, 2, 2)", &image),
        npy("|u1", false, "(16,)", &[0; 16]),
    );
    let plain = DataSpec {
        test: Test::Fraction(0.5),
        ..spec(Format::Npy, &[&folder.file("x.npy", x), &folder.file("y.npy", y)])
    };
    let (plain, rotated) = (
        cut(&plain),
        cut(&DataSpec {
            rotate: vec![180.0],
            ..plain.clone()
        }),
    );
    assert_eq!(rotated.test.index, plain.test.index);
    for row in 0..8 {
        let number = plain.test.index[row] as f64;
        assert_eq!(*rotated.test.input(row), [250.0, 200.0, 100.0, number]);
    }
    assert_eq!(rotated.train, plain.train);
}

#[test]
fn outliers_are_the_images_of_a_file() {
    let folder = Folder::new();
    let plain = DataSpec {
        standardise_inputs: true,
        rotate: vec![180.0],
        ..images(&folder)
    };
    let file = folder.file("other", idx(&[3, 2, 2], &[9; 12]));
    let with = DataSpec {
        outliers: Some(Outliers::File(file)),
        ..plain.clone()
    };
    let source = LoadedData::read(&with).unwrap();
    assert_eq!(source.schema().outliers, 3);
    let data = source.dataset(0, 1).unwrap();
    let expected: Vec<f64> = data.preparation.inputs.iter().map(|map| map.apply(9.0)).collect();
    assert_eq!(
        (data.outliers.count, &*data.outliers.input(2)),
        (3, &expected[..])
    );
    let without = cut(&plain);
    assert_eq!((data.train, data.test), (without.train, without.test));
    assert_eq!(without.outliers.count, 0);
    let other = folder.file("large", idx(&[1, 3, 2], &[9; 6]));
    assert_eq!(
        faults(&DataSpec {
            outliers: Some(Outliers::File(other)),
            ..plain.clone()
        }),
        ["E0417 large:0:0 expected [2, 2] in `inputs` as in `x`, found [3, 2]"]
    );
    let missing = DataSpec {
        outliers: Some(Outliers::File(folder.0.join("none"))),
        ..plain
    };
    assert_eq!(faults(&missing), ["E0401 none:0:0 the file does not exist"]);
}

#[test]
fn shuffled_outliers_are_not_rotated() {
    let folder = Folder::new();
    let whole = |rotate| {
        let outliers = Some(Outliers::Shuffled(1));
        DataSpec {
            rotate: vec![rotate],
            outliers,
            ..images(&folder)
        }
    };
    let source = LoadedData::read(&whole(0.0)).unwrap();
    assert_eq!(source.schema().outliers, 1);
    let data = source.dataset(0, 1).unwrap();
    let mut pixels = data.outliers.inputs.reals().into_owned();
    assert_eq!(data.outliers.inputs, cut(&whole(45.0)).outliers.inputs);
    assert_eq!(
        data.outliers.inputs,
        source.dataset(0, 1).unwrap().outliers.inputs
    );
    pixels.sort_unstable_by(f64::total_cmp);
    assert_eq!(pixels, [1.0, 2.0, 3.0, 4.0]);
    let orders: Vec<Vec<f64>> = (0..20)
        .map(|seed| {
            source
                .dataset(0, seed)
                .unwrap()
                .outliers
                .inputs
                .reals()
                .into_owned()
        })
        .collect();
    assert!(orders.iter().any(|order| *order != orders[0]), "the seed decides");
}

#[test]
fn rows_of_a_table_can_be_outliers() {
    let folder = Folder::new();
    let train = folder.file("t.csv", "x,kind,y\n0,a,1\n2,b,3\n");
    let plain = DataSpec {
        standardise_inputs: true,
        inputs: vec![folder::name("x")],
        ..spec(Format::Csv, &[&train])
    };
    let file = folder.file("far.csv", "kind,x\nb,9\na,11\n");
    let data = cut(&DataSpec {
        outliers: Some(Outliers::File(file)),
        ..plain
    });
    assert_eq!(*data.outliers.inputs.reals(), [8.0, 10.0]);
    assert_eq!(data.outliers.ints("kind").unwrap(), [1, 0]);
}

/// The test images of `images` have the pixels 1, 2, 3 and 4. Their mean is 2.5.
#[test]
fn only_test_images_are_corrupted() {
    let folder = Folder::new();
    let plain = DataSpec {
        scale: 0.5,
        rotate: vec![90.0],
        ..images(&folder)
    };
    let shift = |severity: u8| Shift {
        corruption: Corruption::Contrast,
        severity,
    };
    let data = cut(&DataSpec {
        shifts: vec![shift(2), shift(5)],
        ..plain.clone()
    });
    // The contrast is multiplied by 0.5 and by 0.15; bytes are truncated, and then multiplied by the scale. The images are not rotated.
    let found: Vec<_> = data.shifted().collect();
    assert_eq!(
        found.iter().map(|(shift, _)| *shift).collect::<Vec<_>>(),
        [shift(2), shift(5)]
    );
    assert_eq!(*found[0].1.inputs.reals(), [0.5, 1.0, 1.0, 1.5]);
    assert_eq!(*found[1].1.inputs.reals(), [1.0, 1.0, 1.0, 1.0]);
    assert_eq!(found[0].1.ints("target").unwrap(), [1]);
    assert_eq!((&data.train, &data.test), (&cut(&plain).train, &cut(&plain).test));
    assert_eq!(cut(&plain).shifted().count(), 0);
}

#[test]
fn shifts_need_grey_or_rgb_images_of_pixels() {
    let folder = Folder::new();
    let of = |name: &str, shape: &str, pixels: &[f64]| {
        let bytes: Vec<u8> = pixels.iter().flat_map(|pixel| pixel.to_le_bytes()).collect();
        let x = folder.file(&format!("{name}.npy"), npy("<f8", false, shape, &bytes));
        let y = folder.file("y.npy", npy("|u1", false, "(2,)", &[0, 1]));
        DataSpec {
            test: Test::Fraction(0.5),
            shifts: Shift::severities(Corruption::Fog).collect(),
            ..spec(Format::Npy, &[&x, &y])
        }
    };
    let unit = of("unit", "(2, 2, 2)", &[0.0, 0.5, 0.25, 1.0, 0.0, 0.5, 0.25, 1.0]);
    assert_eq!(cut(&unit).shifted().count(), 5);
    for (_, rows) in cut(&unit).shifted() {
        assert!(
            rows.inputs
                .reals()
                .iter()
                .all(|pixel| (0.0..=1.0).contains(pixel))
        );
    }
    assert_eq!(
        faults(&of("two", "(2, 2, 1, 2)", &[0.5; 8])),
        [
            "E0434 two.npy:0:0 `shifts` needs images with one channel or three, but the inputs have the shape [2, 1, 2]"
        ]
    );
    let standardised = of("standardised", "(2, 2, 2)", &[-1.5; 8]);
    let split = LoadedData::read(&standardised).unwrap().dataset(0, 1);
    assert_eq!(
        split.unwrap_err().iter().map(reported).collect::<Vec<_>>(),
        [
            "E0434 standardised.npy:0:0 `shifts` needs pixels from 0 to 1 or from 0 to 255, but a test image has the value -1.5"
        ]
    );
}

#[test]
fn inputs_that_are_not_images_are_rejected() {
    let folder = Folder::new();
    let (x, y) = (
        folder.file("x", idx(&[2, 4], &[0; 8])),
        folder.file("y", idx(&[2], &[0, 1])),
    );
    let flat = DataSpec {
        test: Test::Fraction(0.5),
        ..spec(Format::Idx, &[&x, &y])
    };
    let message =
        ["E0434 x:0:0 only images can be rotated, shuffled or corrupted, but the inputs have the shape [4]"];
    assert_eq!(
        faults(&DataSpec {
            rotate: vec![10.0],
            ..flat.clone()
        }),
        message
    );
    assert_eq!(
        faults(&DataSpec {
            outliers: Some(Outliers::Shuffled(1)),
            ..flat
        }),
        message
    );
    let large = DataSpec {
        outliers: Some(Outliers::Shuffled(2)),
        ..images(&folder)
    };
    assert_eq!(
        faults(&large),
        ["E0426 x:0:0 images of the shape [2, 2] hold fewer than two squares with a side of 2 pixels"]
    );
    let endless = DataSpec {
        rotate: vec![f64::INFINITY],
        ..images(&folder)
    };
    assert_eq!(
        faults(&endless),
        ["E0426 x:0:0 expected `rotate` finite, found inf"]
    );
}

/// Two training images and a test image with two channels of one by two pixels.
fn colours(folder: &Folder, shape: &str) -> DataSpec {
    let file = |name: &str, pixels: &[u8], rows: usize| {
        let shape = shape.replace("rows", &rows.to_string());
        folder.file(name, npy("|u1", false, &shape, pixels))
    };
    let train = file("x.npy", &[1, 3, 10, 10, 5, 7, 30, 30], 2);
    let test = file("tx.npy", &[4, 6, 20, 40], 1);
    let labels =
        |name: &str, rows: usize| folder.file(name, npy("|u1", false, &format!("({rows},)"), &vec![0; rows]));
    DataSpec {
        normalise_channels: true,
        test: Test::Files(vec![test, labels("ty.npy", 1)]),
        ..spec(Format::Npy, &[&train, &labels("y.npy", 2)])
    }
}

#[test]
fn channels_have_mean_0_and_standard_deviation_1_over_training_rows_and_pixels() {
    let folder = Folder::new();
    let data = cut(&colours(&folder, "(rows, 2, 1, 2)"));
    // Channel 0 has the values 1, 3, 5, 7: mean 4, variance (9 + 1 + 1 + 9) / 4 = 5. Channel 1 has 10 and 30: mean 20, deviation 10.
    let root = 5.0_f64.sqrt();
    let expected = [
        -3.0 / root,
        -1.0 / root,
        -1.0,
        -1.0,
        1.0 / root,
        3.0 / root,
        1.0,
        1.0,
    ];
    assert!(
        data.train
            .inputs
            .reals()
            .iter()
            .zip(expected)
            .all(|(x, y)| (x - y).abs() < 1e-15)
    );
    let expected = [0.0, 2.0 / root, 0.0, 2.0];
    assert!(
        data.test
            .inputs
            .reals()
            .iter()
            .zip(expected)
            .all(|(x, y)| (x - y).abs() < 1e-15)
    );
    // With two axes, all pixels are one channel: the mean is 12, and the mean of the squares is 2084 / 8.
    let grey = cut(&colours(&folder, "(rows, 2, 2)"));
    let sd = (2084.0_f64 / 8.0 - 144.0).sqrt();
    assert!(
        (grey.train.inputs.real(0) + 11.0 / sd).abs() < 1e-15,
        "{:?}",
        grey.train.inputs
    );
}

#[test]
fn only_images_have_channels() {
    let folder = Folder::new();
    assert_eq!(
        faults(&colours(&folder, "(rows, 4)")),
        [
            "E0434 x.npy:0:0 only the channels of images can be normalised, but the inputs are 4 numbers in each row"
        ]
    );
}

#[test]
fn new_images_have_the_axes_of_the_training_images_and_their_normalisation() {
    let folder = Folder::new();
    let spec = colours(&folder, "(rows, 2, 1, 2)");
    let data = cut(&spec);
    let new = |shape: &str| {
        let file = folder.file("n.npy", npy("|u1", false, shape, &[4, 6, 20, 40]));
        let new = bnnc_data::NewRows {
            file: &file,
            open: &[],
            sources: None,
            most: None,
        };
        data.preparation.rows(&spec, new)
    };
    assert_eq!(new("(1, 2, 1, 2)").unwrap().inputs, data.test.inputs);
    // Flat rows have the same order.
    assert_eq!(new("(1, 4)").unwrap().inputs, data.test.inputs);
    let fault = new("(1, 1, 2, 2)").unwrap_err();
    assert!(
        reported(&fault[0]).contains("found 1 x 2 x 2"),
        "{}",
        reported(&fault[0])
    );
}
