//! The checker does not panic on any text that can be parsed. A module without errors passes
//! verification. Run this target with `cargo fuzz run checker`.
#![no_main]

use bnnc_driver::options::CompileOptions;
use bnnc_driver::program;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let checked = program::load("fuzz.bnn", text, &CompileOptions::default());
    if !checked.has_errors() {
        let broken = bnnc_hir::verify::verify(&checked.module);
        assert!(broken.is_empty(), "{broken:?}\n{text}");
    }
});
