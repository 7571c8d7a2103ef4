//! Embeds every `.bnn` file of this folder, so that adding a file does not require a change of Rust
//! code.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=.");
    let mut files = Vec::new();
    collect(Path::new("."), &mut files);
    files.sort();
    let entries: Vec<String> = files
        .iter()
        .map(|path| {
            let name = path
                .strip_prefix(".")
                .unwrap_or(path)
                .display()
                .to_string()
                .replace('\\', "/");
            format!("({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{name}\"))),\n")
        })
        .collect();
    let out = PathBuf::from(std::env::var("OUT_DIR").unwrap_or_default()).join("files.rs");
    let text = format!("&[\n{}]", entries.concat());
    if let Err(error) = std::fs::write(&out, text) {
        println!("cargo::error=cannot write {}: {error}", out.display());
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "bnn") {
            files.push(path);
        }
    }
}
