//! If a text can be parsed without errors, its formatted text has the same syntax tree, and does
//! not change if it is formatted again. Run this target with `cargo fuzz run parser`.
#![no_main]

use bnnc_base::source::SourceMap;
use bnnc_grammar::{parse, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let source = SourceMap::default().add("fuzz", text);
    let (module, _) = parse::parse(&source);
    let _ = parse::parse_entry(&source);
    let Ok(formatted) = print::format(&source) else { return };
    let again = SourceMap::default().add("formatted", &formatted);
    let (module_again, diagnostics) = parse::parse(&again);
    assert!(diagnostics.is_empty(), "{diagnostics:?}\n{formatted}");
    assert!(print::same(&module, &module_again), "{formatted}");
    assert_eq!(print::print(&module_again, &again), formatted);
});
