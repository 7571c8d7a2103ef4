//! Results can be written through symbolic links and into pipes.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use bnnc_data::write::atomically;
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::PathBuf;
use std::process::Command;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("bnnc-results-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn a_link_stays_and_its_file_is_written() {
    let folder = folder("link");
    let (link, file) = (folder.join("link.csv"), folder.join("file.csv"));
    fs::write(&file, "old").unwrap();
    symlink(&file, &link).unwrap();
    atomically(&link, |writer| writer.write_all(b"new")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing is left over");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_pipe_is_written_to() {
    let folder = folder("pipe");
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    atomically(&pipe, |writer| writer.write_all(b"rows")).unwrap();
    assert_eq!(reader.join().unwrap(), "rows");
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    fs::remove_dir_all(folder).unwrap();
}
