//! Mistakes in folders of PNG and JPEG files.

#![cfg(feature = "images")]

use crate::{Folder, check};

const PROGRAM: &str = "data d = images(\"pets\")
model M(x: real[3, 12, 20]) -> kind: index(2) {
  out = Dense(2)
  kind ~ Categorical(logits = out(flatten(x)))
}
infer fit = map(M, d) { epochs = 2 }";

/// A JPEG file of 20 x 12 pixels, and a PNG file of 2 x 1 pixels. Both were written with Pillow.
const JPEG: &[u8] = include_bytes!("../../../../runtime/data/tests/images_data/full.jpg");
const PNG: &[u8] = include_bytes!("../../../../runtime/data/tests/images_data/small.png");

#[track_caller]
fn must_be_named(code: &str, files: &[(&str, &[u8])], program: &str) {
    let folder = Folder::of(&[], program);
    for (name, bytes) in files {
        let file = folder.0.join(name);
        let parent = file.parent().expect("the file is in a folder");
        std::fs::create_dir_all(parent).expect("the folder is created");
        std::fs::write(&file, bytes).expect("the file is written");
    }
    let (status, text) = folder.bnnc(&["run", "program.bnn"]);
    check(&[code], status, &text);
}

#[test]
fn images_of_two_sizes() {
    let files = [("pets/cat/a.jpg", JPEG), ("pets/dog/b.png", PNG)];
    must_be_named("E0440", &files, PROGRAM);
}

#[test]
fn images_beside_the_folders_of_their_classes() {
    let files = [("pets/cat/a.jpg", JPEG), ("pets/b.jpg", JPEG)];
    must_be_named("E0441", &files, PROGRAM);
}

#[test]
fn parts_of_a_split_as_classes() {
    let files = [("pets/train/cat/a.jpg", JPEG), ("pets/test/cat/b.jpg", JPEG)];
    must_be_named("E0441", &files, PROGRAM);
}

#[test]
fn a_folder_without_classes() {
    let files = [("pets/a.jpg", JPEG), ("pets/b.jpg", JPEG)];
    must_be_named("E0291", &files, PROGRAM);
}

#[test]
fn a_truncated_image() {
    let files = [("pets/cat/a.jpg", JPEG), ("pets/dog/b.jpg", &JPEG[..500])];
    must_be_named("E0411", &files, PROGRAM);
}

/// The folders of new images need not be classes of the training rows.
#[test]
fn predictions_for_images_in_another_folder() {
    let program = PROGRAM.replace("real[3, 12, 20]", "real[3, h, w]");
    let folder = Folder::of(&[], &program);
    for name in ["pets/cat/a.jpg", "pets/dog/b.jpg", "new/fox/c.jpg"] {
        let file = folder.0.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is created");
        std::fs::write(&file, JPEG).expect("the file is written");
    }
    let (status, text) = folder.bnnc(&["run", "program.bnn", "--out", "out"]);
    assert_eq!(status, Some(0), "{text}");
    let (status, text) = folder.bnnc(&["predict", "out", "--data", "new"]);
    assert_eq!(status, Some(0), "{text}");
}
