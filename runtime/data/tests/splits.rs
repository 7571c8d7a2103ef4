//! Splits, standardisation, levels and shards agree with calculations by hand or with the documentation of the data.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod folder;

use bnnc_abi::data::{ColumnExpr, DataSpec, Format, Test};
use bnnc_abi::schema::FieldKind;
use bnnc_data::{Dataset, LoadedData, NewRows, Standardisation, schema};
use folder::{Folder, apply, example, name, reported, spec};
use std::path::Path;

fn yacht() -> DataSpec {
    let mut spec = spec(Format::Csv, &[&example("yacht/data/yacht.csv")]);
    spec.test = Test::Splits {
        file: example("yacht/data/splits.json"),
        split: None,
    };
    (spec.standardise_inputs, spec.standardise_target) = (true, true);
    spec
}

fn cut(spec: &DataSpec) -> Dataset {
    LoadedData::read(spec)
        .and_then(|source| source.dataset(0, 1))
        .unwrap()
}

fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (
        mean,
        (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt(),
    )
}

#[test]
fn the_benchmark_data_match_their_descriptions() {
    for (set, rows, inputs, test) in [
        ("yacht", 308, 6, 31),
        ("energy", 768, 8, 77),
        ("concrete", 1030, 8, 103),
        ("wine", 1599, 11, 160),
    ] {
        let mut spec = spec(Format::Csv, &[&example(&format!("{set}/data/{set}.csv"))]);
        spec.test = Test::Splits {
            file: example(&format!("{set}/data/splits.json")),
            split: None,
        };
        let found = schema(&spec).unwrap();
        assert_eq!(
            (found.rows, found.inputs, found.splits),
            (rows, inputs, 20),
            "{set}"
        );
        assert_eq!(
            (found.train, found.test, found.validation),
            (rows - test, test, 0),
            "{set}"
        );
    }
    let toy = schema(&spec(Format::Csv, &[&example("toy/data/toy.csv")])).unwrap();
    assert_eq!((toy.rows, toy.inputs, toy.target.as_deref()), (400, 1, Some("y")));
    let gaps = Test::Splits {
        file: example("yacht/data/splits_gap.json"),
        split: Some(5),
    };
    let gap = schema(&DataSpec {
        test: gaps,
        ..yacht()
    })
    .unwrap();
    assert_eq!((gap.train, gap.test, gap.splits), (206, 102, 1));
}

#[test]
fn eight_schools() {
    let found = schema(&spec(
        Format::Json,
        &[&example("eight-schools/data/eight_schools.json")],
    ))
    .unwrap();
    assert_eq!((found.rows, found.target), (8, None));
    let kinds: Vec<_> = found
        .fields
        .iter()
        .map(|f| (f.name.as_str(), f.per_example, f.shape.len()))
        .collect();
    assert_eq!(kinds, [("J", false, 0), ("y", true, 0), ("sigma", true, 0)]);
    let data = cut(&spec(
        Format::Json,
        &[&example("eight-schools/data/eight_schools.json")],
    ));
    assert_eq!(
        data.train.reals("y").unwrap(),
        [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
    );
    assert_eq!(data.whole("J").unwrap().values.int(0), Some(8));
    assert!(data.whole("y").is_none() && data.shared("J").is_none());
}

#[test]
fn standardisation_uses_training_rows_only() {
    let data = cut(&yacht());
    for column in 0..6 {
        let values: Vec<f64> = (0..data.train.count)
            .map(|row| data.train.input(row)[column])
            .collect();
        let (mean, sd) = mean_and_sd(&values);
        assert!(
            mean.abs() < 1e-12 && (sd - 1.0).abs() < 1e-12,
            "column {column}: {mean} {sd}"
        );
    }
    let (mean, sd) = mean_and_sd(&data.train.original("residuary_resistance").unwrap());
    let target = data.preparation.target;
    assert!((target.mean - mean).abs() < 1e-12 && (target.sd - sd).abs() < 1e-12);
    // The target of the test rows is standardised with the mean and the standard deviation of the
    // training rows.
    let (standard, original) = (
        data.test.reals("residuary_resistance").unwrap(),
        data.test.original("residuary_resistance").unwrap(),
    );
    assert!(
        standard
            .iter()
            .zip(&original)
            .all(|(z, y)| (z * sd + mean - y).abs() < 1e-12)
    );
    // An input that is bound by name has the same values as its column of the input matrix.
    let froude = data.test.reals("froude_number").unwrap();
    assert!((0..data.test.count).all(|row| data.test.input(row)[5] == froude[row]));
    // The test rows keep the published order.
    assert_eq!(data.test.index[..5], [121, 115, 286, 216, 264]);
}

#[test]
fn parts_are_disjoint_and_complete() {
    let mut spec = yacht();
    (spec.test, spec.validation) = (Test::Fraction(0.25), 0.1);
    let source = LoadedData::read(&spec).unwrap();
    let data = source.dataset(0, 7).unwrap();
    // A quarter of 308 rows is 77, and a tenth of the other 231 is 23.
    assert_eq!(
        (data.test.count, data.validation.count, data.train.count),
        (77, 23, 208)
    );
    assert_eq!(
        (
            source.schema().test,
            source.schema().validation,
            source.schema().train
        ),
        (77, 23, 208)
    );
    let mut all = [&data.train, &data.validation, &data.test]
        .map(|rows| rows.index.clone())
        .concat();
    all.sort_unstable();
    assert_eq!(all, (0..308).collect::<Vec<_>>());
    assert_eq!(source.dataset(0, 7).unwrap().test.index, data.test.index);
    assert_ne!(source.dataset(0, 8).unwrap().test.index, data.test.index);
}

#[test]
fn limit_takes_the_first_training_rows() {
    let data = cut(&DataSpec {
        limit: Some(3),
        test: Test::None,
        ..yacht()
    });
    assert_eq!(data.train.index, [0, 1, 2]);
}

#[test]
fn expressions_scale_and_zscore() {
    let folder = Folder::new();
    let file = folder.file("t.csv", "age,male,earn,y\n20,0,1,1\n40,1,10,2\n90,1,100,3\n");
    let product = apply("mul", vec![apply("log", vec![name("earn")]), name("male")]);
    let inputs = vec![name("age"), apply("zscore", vec![name("age")]), product];
    let test = Test::Splits {
        file: folder.file("s.json", r#"{"n_rows": 3, "test": [[2]]}"#),
        split: Some(0),
    };
    let spec = DataSpec {
        inputs,
        test,
        scale: 0.5,
        ..spec(Format::Csv, &[&file])
    };
    let source = LoadedData::read(&spec).unwrap();
    assert_eq!(source.schema().inputs, 3);
    let data = source.dataset(0, 1).unwrap();
    // The ages of the training rows are 20 and 40, with mean 30 and standard deviation 10.
    assert_eq!(
        *data.train.inputs.reals(),
        [10.0, -0.5, 0.0, 20.0, 0.5, 0.5 * 10.0_f64.ln()]
    );
    assert_eq!(*data.test.inputs.reals(), [45.0, 3.0, 0.5 * 100.0_f64.ln()]);
    assert_eq!(
        data.preparation.zscores,
        [Standardisation { mean: 30.0, sd: 10.0 }]
    );
}

#[test]
fn computed_targets_hide_their_columns_from_the_inputs() {
    let folder = Folder::new();
    let file = folder.file("t.csv", "earn,height\n1,60\n100,70\n");
    let log = DataSpec {
        target: Some(apply("log", vec![name("earn")])),
        ..spec(Format::Csv, &[&file])
    };
    let data = cut(&log);
    assert_eq!(
        (data.train.width, &*data.train.inputs.reals()),
        (1, &[60.0, 70.0][..])
    );
    assert_eq!(data.preparation.target_name.as_deref(), Some("log(earn)"));
    assert_eq!(data.train.reals("log(earn)").unwrap(), [0.0, 100.0_f64.ln()]);
    let tall = apply("eq", vec![name("height"), ColumnExpr::Number(70.0)]);
    let tall = DataSpec {
        target: Some(tall),
        ..spec(Format::Csv, &[&file])
    };
    assert_eq!(cut(&tall).train.ints("height == 70"), Ok(vec![0, 1]));
}

#[test]
fn levels_are_in_order_of_first_appearance() {
    let folder = Folder::new();
    let a = folder.file("a.csv", "county,y\nWake,1\nDurham,2\n");
    let b = folder.file("b.csv", "y,county\n3,Orange\n4,Wake\n");
    let spec = spec(Format::Csv, &[&a, &b]);
    let spec = DataSpec {
        target: Some(name("y")),
        standardise_inputs: true,
        ..spec
    };
    let source = LoadedData::read(&spec).unwrap();
    let levels = ["Wake", "Durham", "Orange"].map(String::from).to_vec();
    assert_eq!(source.schema().fields[0].kind, FieldKind::Levels(levels));
    // The default inputs include a text column, so programs can bind inputs only by name.
    assert_eq!(source.schema().inputs, 0);
    let data = source.dataset(0, 1).unwrap();
    assert_eq!(data.train.ints("county"), Ok(vec![0, 1, 2, 0]));
    assert_eq!(data.train.ints("y"), Ok(vec![1, 2, 3, 4]));
    assert_eq!(data.shards, [0..2, 2..4]);
    assert_eq!(data.train.place(3).1, 3);
}

#[test]
fn shards_are_ranges_of_the_training_rows() {
    let folder = Folder::new();
    let files = ["a", "b", "c"].map(|shard| folder.file(&format!("{shard}.csv"), "x,y\n1,2\n3,4\n5,6\n"));
    let splits = folder.file("s.json", r#"{"n_rows": 9, "test": [[1, 3, 4, 5]]}"#);
    let spec = spec(Format::Csv, &[&files[0], &files[1], &files[2]]);
    let data = cut(&DataSpec {
        test: Test::Splits {
            file: splits,
            split: None,
        },
        ..spec
    });
    // All rows of the second file are test rows.
    assert_eq!((data.shards, data.train.count), (vec![0..2, 2..5], 5));
}

#[test]
fn constant_columns_lose_their_mean_with_a_warning() {
    let folder = Folder::new();
    let file = folder.file("t.csv", "x,c,y\n1,600,2\n3,600,4\n");
    let data = cut(&DataSpec {
        standardise_inputs: true,
        ..spec(Format::Csv, &[&file])
    });
    assert_eq!(*data.train.inputs.reals(), [-1.0, 0.0, 1.0, 0.0]);
    let reported: Vec<String> = data.warnings.iter().map(reported).collect();
    assert_eq!(
        reported,
        ["E0430 t.csv:0:0 columns that are constant over the training rows are centred but not scaled: `c`"]
    );
    assert!(!data.warnings[0].is_error());
}

#[test]
fn a_shared_table_is_seen_by_all_examples() {
    let folder = Folder::new();
    let counties = folder.file("c.csv", "uranium\n0.5\n1.5\n");
    let file = folder.file("t.csv", "floor,y\n1,2\n0,4\n1,6\n");
    let spec = DataSpec {
        shared: Some((Format::Csv, counties)),
        ..spec(Format::Csv, &[&file])
    };
    let source = LoadedData::read(&spec).unwrap();
    let field = &source.schema().shared[0];
    assert_eq!(
        (field.name.as_str(), &field.shape[..], field.per_example),
        ("uranium", &[2][..], false)
    );
    let data = source.dataset(0, 1).unwrap();
    assert_eq!(data.shared("uranium").unwrap().values.real(1), 1.5);
}

#[test]
fn json_matrices_are_inputs_in_order() {
    let folder = Folder::new();
    let file = folder.file(
        "d.json",
        r#"{"N": 2, "X": [[1, 2], [3, 4]], "z": [5, 6], "y": [0, 1]}"#,
    );
    let data = cut(&DataSpec {
        target: Some(name("y")),
        ..spec(Format::Json, &[&file])
    });
    assert_eq!(
        (data.train.width, &*data.train.inputs.reals()),
        (3, &[1.0, 2.0, 5.0, 3.0, 4.0, 6.0][..])
    );
    assert_eq!(data.train.reals("X").unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn new_rows_are_prepared_as_in_training() {
    let folder = Folder::new();
    let train = folder.file("t.csv", "city,x,w,y\na,1,10,2\nb,3,30,4\n");
    let inputs = vec![name("x"), apply("zscore", vec![name("w")])];
    let spec = DataSpec {
        inputs,
        standardise_inputs: true,
        standardise_target: true,
        ..spec(Format::Csv, &[&train])
    };
    let preparation = cut(&spec).preparation;
    let saved = serde_json::to_string(&preparation).unwrap();
    let preparation: bnnc_data::Preparation = serde_json::from_str(&saved).unwrap();
    let rows = preparation
        .rows(&spec, new(&folder.file("new.csv", "w,city,x\n40,b,5\n")))
        .unwrap();
    // The value of `x` becomes (5 - 2) / 1. `w` has the mean 20 and the standard deviation 10.
    assert_eq!(
        (&*rows.inputs.reals(), rows.ints("city")),
        (&[3.0, 2.0][..], Ok(vec![1]))
    );
    let with_target = preparation
        .rows(&spec, new(&folder.file("new.csv", "w,city,x,y\n40,b,5,5\n")))
        .unwrap();
    assert_eq!(with_target.reals("y").unwrap(), [2.0]);
    let unseen = preparation
        .rows(&spec, new(&folder.file("new.csv", "w,city,x\n40,c,5\n")))
        .unwrap_err();
    assert_eq!(
        reported(&unseen[0]),
        "E0428 new.csv:2:0 the level `c` occurs in the new rows but not in the training rows"
    );
    let missing = preparation
        .rows(&spec, new(&folder.file("new.csv", "w,city\n40,b\n")))
        .unwrap_err();
    assert_eq!(reported(&missing[0]), "E0419 new.csv:1:0 unknown column `x`");
}

fn new(file: &Path) -> NewRows<'_> {
    NewRows {
        file,
        open: &[],
        sources: None,
        most: None,
    }
}

#[test]
fn new_rows_bind_default_inputs_by_name() {
    let folder = Folder::new();
    let train = folder.file("t.csv", "a,b,y\n1,10,2\n3,30,4\n");
    let spec = spec(Format::Csv, &[&train]);
    let preparation = cut(&spec).preparation;
    let rows = preparation
        .rows(&spec, new(&folder.file("new.csv", "b,extra,a\n7,0,8\n")))
        .unwrap();
    assert_eq!(*rows.inputs.reals(), [8.0, 7.0]);
}
