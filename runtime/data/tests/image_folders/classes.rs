//! Tests how subfolders become classes, and the checksum of a folder.

use crate::folder::{Folder, spec};
use crate::{bytes, colour, faults, grey, images, table};
use bnnc_abi::data::{DataSpec, Format, Outliers, Test};
use bnnc_abi::schema::FieldKind;
use bnnc_data::LoadedData;
use bnnc_data::read::{Reading, read};
use bnnc_data::table::ArrayValues;

#[test]
fn subfolders_are_classes_in_the_order_of_their_names() {
    let folder = images(&[
        ("dog/b.PNG", grey([5, 6])),
        ("dog/a/z.png", grey([3, 4])),
        ("dog/.hidden.png", b"no image".to_vec()),
        ("dog/notes.txt", b"two dogs".to_vec()),
        ("cat/2.png", grey([1, 2])),
        ("cat/10.jpeg", grey([7, 8])),
        (".git/x.png", grey([9, 9])),
        ("README.md", b"pets".to_vec()),
    ]);
    let table = table(&folder).unwrap();
    assert_eq!(table.axes, [1, 1, 2]);
    assert_eq!(bytes(&table), [7, 8, 1, 2, 3, 4, 5, 6]);
    let classes = ArrayValues::Level {
        codes: vec![0, 0, 1, 1],
        levels: vec!["cat".into(), "dog".into()],
    };
    assert_eq!(table.arrays[1].values, classes);
    let place = table.place(2);
    assert_eq!(
        (place.path, place.row),
        (folder.0.join("dog/a/z.png").as_path(), 0)
    );
}

#[test]
fn classes_that_are_integers_are_numbers() {
    let names = ["10", "9", "0"];
    let files: Vec<(String, Vec<u8>)> = (names.iter().zip([1, 2, 3]))
        .map(|(name, value)| (format!("{name}/x.png"), grey([value, 0])))
        .collect();
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, file)| (&**name, file.clone())).collect();
    let table = table(&images(&files)).unwrap();
    assert_eq!(table.arrays[1].values, ArrayValues::Int(vec![0, 9, 10]));
    assert_eq!(bytes(&table), [3, 0, 2, 0, 1, 0]);
}

#[test]
fn a_flat_folder_and_a_single_file_have_no_classes() {
    let folder = images(&[("b.png", grey([3, 4])), ("a.png", grey([1, 2]))]);
    let whole = table(&folder).unwrap();
    assert_eq!((whole.arrays.len(), bytes(&whole)), (1, &[1, 2, 3, 4][..]));
    let file = [folder.0.join("b.png")];
    let single = read(Format::Images, &file, None, &Reading::within(None)).unwrap();
    assert_eq!(bytes(&single), [3, 4]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_but_not_in_circles() {
    use std::os::unix::fs::symlink;
    let other = images(&[("a.png", grey([1, 2]))]);
    let folder = images(&[("x/b.png", grey([3, 4]))]);
    symlink(&other.0, folder.0.join("y")).unwrap();
    symlink(other.0.join("a.png"), folder.0.join("x/c.png")).unwrap();
    assert_eq!(bytes(&table(&folder).unwrap()), [3, 4, 1, 2, 1, 2]);
    symlink(other.0.join("none.png"), folder.0.join("x/d.png")).unwrap();
    assert!(faults(&folder)[0].starts_with("E0401 x/d.png: the file is a link to"));
    std::fs::remove_file(folder.0.join("x/d.png")).unwrap();
    symlink(&folder.0, folder.0.join("x/e")).unwrap();
    assert!(faults(&folder)[0].starts_with("E0441 x/e: the link leads back to"));
}

#[test]
fn test_folders_have_the_classes_of_the_training_rows() {
    let train = images(&[("b/1.png", grey([1, 2])), ("a/1.png", grey([3, 4]))]);
    let test = images(&[("b/9.png", grey([5, 6]))]);
    let far = images(&[("z/9.png", grey([7, 8]))]);
    let base = spec(Format::Images, &[&train.0]);
    let spec_of = |test: &Folder, outliers: &Folder| DataSpec {
        test: Test::Files(vec![test.0.clone()]),
        outliers: Some(Outliers::File(outliers.0.clone())),
        ..base.clone()
    };
    let data = LoadedData::read(&spec_of(&test, &far)).unwrap();
    let target = data
        .schema()
        .fields
        .iter()
        .find(|field| field.name == "target")
        .unwrap();
    assert_eq!(target.kind, FieldKind::Levels(vec!["a".into(), "b".into()]));
    assert_eq!(data.schema().axes, [1, 1, 2]);
    let rows = data.dataset(0, 1).unwrap();
    assert_eq!(rows.train.ints("target").unwrap(), [0, 1]);
    assert_eq!(rows.test.ints("target").unwrap(), [1]);
    assert_eq!(*rows.outliers.inputs.reals(), [7.0, 8.0]);
    let data = LoadedData::read(&spec_of(&far, &far)).unwrap();
    assert_eq!(data.dataset(0, 1).unwrap_err()[0].code.id, "E0428");
    // Images with colours do not fit a model of grey images.
    let bright = images(&[("b/9.png", colour([1, 2, 3, 4, 5, 6]))]);
    assert_eq!(
        LoadedData::read(&spec_of(&bright, &far)).unwrap_err()[0].code.id,
        "E0440"
    );
}

#[test]
fn the_checksum_of_a_folder_covers_names_and_contents() {
    let checksum = |files: &[(&str, Vec<u8>)]| {
        let folder = images(files);
        let data = LoadedData::read(&spec(Format::Images, &[&folder.0])).unwrap();
        data.checksum(&folder.0).unwrap().value()
    };
    let (one, two) = (grey([1, 2]), grey([3, 4]));
    let first = checksum(&[("a/x.png", one.clone()), ("b/y.png", two.clone())]);
    assert_eq!(
        first,
        checksum(&[("b/y.png", two.clone()), ("a/x.png", one.clone())])
    );
    assert_ne!(
        first,
        checksum(&[("a/x.png", two.clone()), ("b/y.png", one.clone())])
    );
    assert_ne!(first, checksum(&[("a/x.png", one), ("c/y.png", two)]));
}

#[test]
fn parts_of_a_split_are_not_classes() {
    let folder = images(&[("train/1.png", grey([1, 2])), ("test/1.png", grey([3, 4]))]);
    assert_eq!(
        faults(&folder),
        ["E0441 : the subfolders `test`, `train` are parts of a split, not classes"]
    );
    let folder = images(&[("test/1.png", grey([1, 2])), ("other/1.png", grey([3, 4]))]);
    assert_eq!(table(&folder).unwrap().arrays[0].shape[0], 2);
}
