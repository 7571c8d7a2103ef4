//! Checks that all tokens lie inside the text, are in order, and do not overlap. Run this target
//! with `cargo fuzz run lexer`.
#![no_main]

use bnnc_base::source::SourceMap;
use bnnc_grammar::lexer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let source = SourceMap::default().add("fuzz", text);
    let mut last = 0;
    for (start, _, end) in lexer::lex(&source).tokens {
        assert!(last <= start && start < end && text.get(start..end).is_some());
        last = end;
    }
});
