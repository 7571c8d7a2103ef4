//! A run checks only the items of the library that its program reaches. The program then compiles to the same loops as with the whole library.

use bnnc_abi::schema::Schema;
use bnnc_driver::compile::data;
use bnnc_driver::emit::emit;
use bnnc_driver::options::{CompileOptions, LibraryItems};
use bnnc_driver::program;
use bnnc_driver::stage::Stage;
use bnnc_tests::compile::{examples, options, ready};
use std::collections::HashMap;
use std::path::Path;

/// Returns the diagnostics of a program, and the loops of all its inference blocks.
fn loops(path: &Path, library_items: LibraryItems) -> (String, Vec<String>) {
    let options = CompileOptions {
        library_items,
        ..options("reference", None)
    };
    let text = std::fs::read_to_string(path).expect("a readable program");
    let program = program::load(&path.display().to_string(), &text, &options);
    let specs = data(&program, &options).expect("inference blocks");
    let schema = |spec| bnnc_data::schema(spec).expect("readable data");
    let schemas: HashMap<String, Schema> = specs
        .iter()
        .map(|spec| (spec.name.clone(), schema(spec)))
        .collect();
    let infers = program.module.infers.iter();
    let loops = infers.map(|infer| {
        ready(emit(
            &program,
            Stage::Loops,
            Some(&infer.name),
            &schemas,
            &options,
        ))
    });
    (format!("{:?}", program.diagnostics), loops.collect())
}

#[test]
fn programs_compile_alike_with_the_reached_part_of_the_library() {
    let mut count = 0;
    for path in examples() {
        let whole = loops(&path, LibraryItems::Whole);
        count += whole.1.len();
        assert_eq!(loops(&path, LibraryItems::Reached), whole, "{}", path.display());
    }
    assert!(count > 20, "{count} inference blocks were compared");
}

/// A program that needs neither a layer nor a function leaves most of the library without content.
#[test]
fn items_that_a_program_does_not_reach_stay_without_content() {
    let text = "model M(x: real) -> y: real {\n  a ~ Normal(0, 1)\n  y ~ Normal(a * x, 1)\n}\n";
    let program = |library_items| {
        let options = CompileOptions {
            library_items,
            ..CompileOptions::default()
        };
        program::load("m.bnn", text, &options).module
    };
    let (whole, part) = (program(LibraryItems::Whole), program(LibraryItems::Reached));
    let layers = |module: &bnnc_hir::tree::Module| {
        let full = module.layers.iter().filter(|layer| !layer.body.is_empty());
        (module.layers.iter().count(), full.count())
    };
    let all = layers(&whole).0;
    assert_eq!(layers(&whole), (all, all));
    assert_eq!(layers(&part), (all, 0));
}
