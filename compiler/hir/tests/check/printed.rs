//! Parsing a printed program returns the original tree.

use super::{check, context};
use bnnc_base::source::SourceId;
use bnnc_hir::print::print;

/// Prints the items of the program, without the items of the library.
fn own(text: &str) -> String {
    let checked = check(text);
    assert_eq!(checked.errors().len(), 0, "{}\n{text}", checked.text());
    print(&checked.module, Some(checked.source.id))
}

#[test]
fn the_ten_sample_programs_can_be_read_back() {
    for (name, text) in super::accepted::programs() {
        let printed = own(&text);
        // Data items are not printed, but the inference blocks need them.
        let data: Vec<String> = check(&text)
            .module
            .datas
            .iter()
            .map(|data| format!("data {} = csv(\"{}.csv\")\n", data.name, data.name))
            .collect();
        let again = own(&format!("{}{printed}", data.concat()));
        assert_eq!(printed, again, "{name}");
    }
}

#[test]
fn the_library_can_be_read_back() {
    let (module, _) = bnnc_hir::check::check(&super::LIBRARY.modules, &Default::default(), &context());
    for (at, (path, _)) in bnnc_stdlib::FILES.iter().enumerate() {
        let printed = print(&module, Some(SourceId(at as u32)));
        assert_eq!(printed, own(&printed), "{path}");
    }
}

#[test]
fn types_of_all_variables_are_printed() {
    let text = "model M(x: real[d]) -> y: real {\n  h = Dense(3)\n  z = tanh(h(x))\n  w ~ Normal(0, 1)\n  y ~ Normal(w * z[0], 1)\n}";
    let expected = "model M(x: real[d]) -> y: real {\n  h = Dense(3, Normal(0, 1))\n  z: real[3] = tanh(h(x))\n  w: real ~ Normal(0, 1)\n  y ~ Normal((w * z[0]), 1)\n}\n\n";
    assert_eq!(own(text), expected);
}
