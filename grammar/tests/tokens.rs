//! Every token can be read back from its spelling, occurs in the grammar, and has a phrase for messages.

use bnnc_base::source::SourceMap;
use bnnc_grammar::expected::Expected;
use bnnc_grammar::lexer;
use bnnc_grammar::token::{TERMINALS, Token};

const WITH_TEXT: [Token<'static>; 4] = [
    Token::Name("sigma_1"),
    Token::Int("42"),
    Token::Real("1.5e-3"),
    Token::Text("data/d.csv"),
];

#[test]
fn every_token_lexes_from_its_spelling() {
    assert_eq!(Token::FIXED.len(), 53);
    for token in Token::FIXED.iter().chain(&WITH_TEXT) {
        let source = SourceMap::default().add("token", &token.to_string());
        let lexed = lexer::lex(&source);
        assert_eq!(lexed.tokens, [(0, *token, source.text.len())]);
        assert!(lexed.diagnostics.is_empty() && lexed.comments.is_empty());
    }
}

#[test]
fn every_token_has_a_phrase_and_occurs_in_the_grammar() {
    let grammar = include_str!("../src/bnn.lalrpop");
    for token in Token::FIXED.iter().chain(&WITH_TEXT) {
        let terminal = token.terminal();
        assert_eq!(
            TERMINALS.iter().filter(|(name, ..)| *name == terminal).count(),
            1,
            "{terminal}"
        );
        assert!(
            grammar.contains(&format!("        \"{terminal}\" => Token::")),
            "{terminal}"
        );
        let alone = [format!("\"{terminal}\"")];
        assert_ne!(Expected(&alone).phrase(), "nothing more", "{terminal}");
    }
    assert_eq!(TERMINALS.len(), Token::FIXED.len() + WITH_TEXT.len());
}

#[test]
fn no_phrase_is_a_list_of_tokens() {
    let everything: Vec<String> = TERMINALS.iter().map(|(name, ..)| format!("\"{name}\"")).collect();
    let phrase = Expected(&everything).phrase();
    assert!(phrase.matches('`').count() <= 6, "{phrase}");
}

#[test]
fn comments_are_not_tokens() {
    let source = SourceMap::default().add("comments", "//! a\n/// b \nx // c\r\n1 / 2");
    let lexed = lexer::lex(&source);
    let comments: Vec<&str> = lexed.comments.iter().map(|comment| &*comment.text).collect();
    assert_eq!(comments, ["//! a", "/// b", "// c"]);
    assert_eq!(lexed.tokens.len(), 4);
}

#[test]
fn every_keyword_is_a_name_inside_an_option_block() {
    let text = "data d = csv(\"d\") {\n  model = 1, if = data, else = [state, next]\n}\ndata e = f";
    let source = SourceMap::default().add("words", text);
    let keywords: Vec<String> = lexer::lex(&source)
        .tokens
        .iter()
        .filter(|(_, token, _)| token.is_keyword())
        .map(|(_, token, _)| token.to_string())
        .collect();
    assert_eq!(keywords, ["data", "data"]);
}

#[test]
fn ranges_and_reals_do_not_mix() {
    let source = SourceMap::default().add("numbers", "0..5 1.5 2e3 x.* 1.0..2");
    let terminals: Vec<&str> = lexer::lex(&source)
        .tokens
        .iter()
        .map(|(_, token, _)| token.terminal())
        .collect();
    assert_eq!(
        terminals,
        [
            "int", "..", "int", "real", "real", "name", ".", "*", "real", "..", "int"
        ]
    );
}

#[test]
fn adjacent_stray_characters_are_one_error() {
    let text = "\0".repeat(100_000) + "\nconst A = 1 % 2 %% 3\n";
    let source = SourceMap::default().add("zeros", &text);
    let lexed = lexer::lex(&source);
    assert_eq!((lexed.diagnostics.len(), lexed.damage.len()), (3, 3));
}
