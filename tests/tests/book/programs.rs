//! Every program of the book is formatted. Such a program compiles, or fails with the code that its
//! fence states.

use bnnc_driver::options::CompileOptions;
use bnnc_driver::program;
use bnnc_tests::book;

#[test]
fn programs_compile_or_fail_with_the_stated_code() {
    let mut count = 0;
    let mut faults = Vec::new();
    for page in book::pages(&bnnc_tests::root()) {
        for block in page.blocks() {
            if block.language != "bnn" {
                continue;
            }
            count += 1;
            let place = format!("docs/src/{}:{}", page.path, block.line);
            // The program finds its data in `docs/data`, as if a reader had saved it in `docs`.
            let program = program::load("docs/program.bnn", &block.text, &CompileOptions::default());
            let found: Vec<&str> = program
                .diagnostics
                .iter()
                .map(|diagnostic| diagnostic.code.id)
                .collect();
            // Errors in data are reported only when the program runs, so their codes do not occur
            // here.
            let expected: Vec<&str> = block.values("error").chain(block.values("warning")).collect();
            if found != expected {
                faults.push(format!("{place}: {:#?}", program.diagnostics));
            }
            let formatted = bnnc_grammar::print::format(&program.source);
            if formatted.is_ok_and(|formatted| formatted != block.text) {
                faults.push(format!("{place} is not formatted"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(count > 60, "only {count} programs");
}

#[test]
fn the_book_shows_programs_with_errors() {
    let pages = book::pages(&bnnc_tests::root());
    let blocks: Vec<book::FencedBlock> = pages.iter().flat_map(book::Page::blocks).collect();
    let wrong = blocks.iter().filter(|block| block.values("error").count() > 0);
    assert!(wrong.count() >= 5);
}

#[test]
fn the_program_of_the_readme_compiles() {
    let text = std::fs::read_to_string(bnnc_tests::root().join("README.md")).expect("the README");
    let start = text.find("data yacht = ").expect("the README has a program");
    let end = text[start..].find("```").expect("the program ends");
    let program = &text[start..start + end];
    // The README instructs the reader to save the program beside the data.
    let loaded = program::load("examples/yacht/program.bnn", program, &CompileOptions::default());
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
    assert_eq!(
        bnnc_grammar::print::format(&loaded.source).ok().as_deref(),
        Some(program)
    );
}
