//! One function for each syntax diagnostic. The codes and their long explanations are in [`codes`].

use crate::token::Token;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::reports;
use bnnc_base::source::Span;
use bnnc_base::synonyms::instead;

pub mod codes;

pub use codes::CODES;

/// Reports a character that does not begin any token.
pub fn unexpected_character(at: Span, slice: &str) -> Diagnostic {
    let report = Diagnostic::error(
        &codes::UNEXPECTED_CHARACTER,
        at,
        format!("unexpected character `{slice}`"),
    );
    let first = slice.chars().next().unwrap_or(' ');
    match (ascii(first), instead(first.encode_utf8(&mut [0; 4]))) {
        (Some(spelling), _) => report.help(format!("write `{spelling}`")),
        (None, Some(advice)) => report.help(advice),
        (None, None) if first.is_alphabetic() => {
            report.help("names are made of the letters a to z, digits and `_`: write `sigma`, not `σ`")
        }
        (None, None) => report,
    }
}

/// Returns the ASCII spelling of a character that is common in editors and papers.
fn ascii(character: char) -> Option<&'static str> {
    Some(match character {
        '−' | '–' => "-",
        '×' | '·' => "*",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '→' => "->",
        '“' | '”' => "\"",
        '∼' => "~",
        _ => return None,
    })
}

reports! {
    /// Reports a foreign operator: `:=`, `**`, `&`, `|`.
    fn foreign_operator(at: Span, wrong: &str, right: Token<'_>)
        = error(codes::FOREIGN_SPELLING, at, "expected `{right}`, found `{wrong}`")
        .label("write `{right}`");

    /// Reports a `not` that negates a condition, as in `not x > 0`.
    fn negation(at: Span)
        = error(codes::FOREIGN_SPELLING, at, "expected `!`, found `not`")
        .label("write `!(..)` around the condition");

    /// Reports a semicolon.
    fn semicolon(at: Span)
        = error(codes::FOREIGN_SPELLING, at, "end the statement at the end of the line, without `;`")
        .label("remove this");

    /// Reports a string in single quotes.
    fn single_quotes(at: Span, slice: &str)
        = error(codes::FOREIGN_SPELLING, at, "put the string into double quotes")
        .label("write `\"{}\"`", slice.trim_matches('\''));

    /// Reports a `let` before a definition.
    fn let_keyword(at: Span)
        = error(codes::FOREIGN_SPELLING, at, "write `name = value`, without `let`")
        .label("remove this");

    /// Reports a foreign comment: `# comment`, `/* comment */`.
    fn foreign_comment(at: Span, opener: &str)
        = error(codes::FOREIGN_SPELLING, at, "expected a comment that begins with `//`, found `{opener}`");

    /// Reports a string without its closing quote.
    fn open_text(at: Span)
        = error(codes::OPEN_TEXT, at, "this string has no closing quote")
        .label("expected `\"` on the same line")
        .help("end the string with `\"`");

    /// Reports a closing bracket without an opening bracket.
    fn unopened(at: Span, closer: Token<'_>)
        = error(codes::UNOPENED, at, "this `{closer}` has no opening bracket")
        .help("remove it, or add the opening bracket before it");

    /// Reports an option outside braces.
    fn outside_braces(at: Span, found: Token<'_>)
        = error(codes::UNEXPECTED, at, "expected a new line or `{{`, found `{found}`")
        .help("put options into braces: `{{ draws = 1000, batch = 32 }}`");

    /// Reports a line that ends before its construct is complete. `at` is the span of the last token.
    fn unfinished(at: Span, expected: &str, last: Token<'_>)
        = error(codes::UNEXPECTED, at, "expected {expected} after `{last}`");

    /// `a < b < c`; `instead` is the text of both comparisons with `&&` between them.
    fn comparison_chain(at: Span, instead: &str)
        = error(codes::COMPARISON_CHAIN, at, "comparisons cannot be chained, because a comparison has two sides")
        .help("write `{instead}`");

    /// Reports brackets that are nested more than `limit` deep.
    fn nested_too_deep(at: Span, limit: usize)
        = error(codes::TOO_DEEP, at, "brackets are nested more than {limit} levels deep")
        .help("give names to the inner expressions");

    /// Reports a chain of more than `limit` operations. It would overflow the stack of later stages.
    fn chain_too_long(at: Span, limit: usize)
        = error(codes::TOO_DEEP, at, "this expression nests more than {limit} operations")
        .help("give names to subexpressions, or write a sum as `sum(.. for i in 0..n)`");

    /// Reports a statement outside any item.
    fn outside_item(at: Span, found: Token<'_>)
        = error(codes::OUTSIDE_ITEM, at, "expected an item such as `model` or `data`, found `{found}`")
        .help("move the statement into a `model`, `layer`, `fn` or `posterior`; for a constant of the whole file write \
               `const n = 3`");
}

/// Reports digits followed by letters, or a decimal point without digits before it.
pub fn bad_number(at: Span, slice: &str) -> Diagnostic {
    let report = Diagnostic::error(&codes::BAD_NUMBER, at, format!("`{slice}` is not a number"));
    let letters = slice.find(|c: char| c.is_ascii_alphabetic() || c == '_');
    match letters {
        _ if slice.starts_with('.') => report.help(format!("write `0{slice}`")),
        Some(at) if slice[at..].starts_with('_') => report.help("write the number without `_`"),
        Some(at) if matches!(&slice[at..], "e" | "E") => {
            report.help(format!("write `{slice}0` or drop the `e`"))
        }
        Some(at) => {
            let (number, name) = slice.split_at(at);
            report.help(format!(
                "for a product write `{number} * {name}`; a name must begin with a letter"
            ))
        }
        None => report,
    }
}

/// Reports a number that overflows a 64-bit integer or a double.
pub fn number_too_large(at: Span, is_integer: bool) -> Diagnostic {
    let limit = if is_integer {
        "the largest integer is 9223372036854775807"
    } else {
        "the largest real is 1.8e308"
    };
    Diagnostic::error(
        &codes::NUMBER_TOO_LARGE,
        at,
        format!("this number is too large: {limit}"),
    )
}

/// Reports a bracket without its partner. The missing bracket should be before the token `found`.
pub fn unclosed(open: Span, opener: Token<'_>, at: Span, found: Option<Token<'_>>) -> Diagnostic {
    let closer = opener.closer().unwrap_or(Token::CloseBrace);
    let place = match found {
        Some(token) => format!("expected `{closer}` before this `{token}`"),
        None => format!("expected `{closer}` before the end of the text"),
    };
    Diagnostic::error(&codes::UNCLOSED, open, format!("this `{opener}` is never closed")).also(at, place)
}

/// Reports a token that does not fit. `expected` is a phrase that fits into the middle of a sentence.
pub fn unexpected(at: Span, expected: &str, found: Option<Token<'_>>) -> Diagnostic {
    let found = match found {
        Some(token) => format!("`{token}`"),
        None => "the end of the text".to_owned(),
    };
    Diagnostic::error(
        &codes::UNEXPECTED,
        at,
        format!("expected {expected}, found {found}"),
    )
}

/// Reports two adjacent values without an operator or `separator` between them.
pub fn side_by_side(left: Token<'_>, right: Token<'_>, at: Span, separator: &str) -> Diagnostic {
    let message = format!("expected an operator or {separator} between `{left}` and `{right}`");
    let report = Diagnostic::error(&codes::SIDE_BY_SIDE, at, message);
    match left.is_literal() && right.is_name() {
        true => report.help(format!("for a product write `{left} * {right}`")),
        false => report,
    }
}

/// Reports a keyword where a name is expected. `is_param` is true if a type follows the keyword, as in a
/// list of inputs.
pub fn keyword_as_name(at: Span, keyword: Token<'_>, is_param: bool) -> Diagnostic {
    let message = format!("expected a name, found the keyword `{keyword}`");
    let diagnostic = Diagnostic::error(&codes::KEYWORD_AS_NAME, at, message)
        .help(format!("choose another name: `{keyword}_`"));
    match is_param {
        true => diagnostic.help(format!(
            "to feed the renamed input from the column `{keyword}`, write `inputs = [{keyword}_ = \"{keyword}\"]`"
        )),
        false => diagnostic,
    }
}
