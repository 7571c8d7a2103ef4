//! Short runs of all examples. Several tests compare their results.

use bnnc_base::dtype::Precision;
use bnnc_driver::options::CompileOptions;
use bnnc_tests::compile::{self, Compiled, from_examples, options};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A short run of an example on the host.
pub struct Example {
    pub path: PathBuf,
    /// The settings that make the run short.
    pub settings: Vec<String>,
    /// The texts of the results with 1, 2 and 3 threads.
    pub results: [String; 3],
}

/// Returns the text of `result.json` without its durations, and without the name of the device.
pub fn result(compiled: &Compiled, threads: usize) -> String {
    let result = compile::run(&compiled.manifest, threads);
    let mut json = bnnc_report::result::json(&compiled.manifest, &result);
    json.as_object_mut().map(|json| json.shift_remove("device"));
    compile::without_seconds(&mut json);
    json.to_string()
}

/// Compiles a program for the host.
pub fn on_host(path: &Path, settings: &[String], precision: Option<Precision>) -> Compiled {
    let options = CompileOptions {
        settings: settings.to_vec(),
        ..options("cranelift", precision)
    };
    compile::file(path, &options)
}

/// Returns the runs of all examples. The first call computes them. A few epochs are enough to execute every stage
/// of a run.
pub fn all() -> &'static [Example] {
    static ALL: OnceLock<Vec<Example>> = OnceLock::new();
    ALL.get_or_init(|| {
        from_examples(|path| {
            let settings = compile::short(path, 2, 10);
            let compiled = on_host(path, &settings, None);
            vec![Example {
                path: path.to_path_buf(),
                settings,
                results: [1, 2, 3].map(|threads| result(&compiled, threads)),
            }]
        })
    })
}
