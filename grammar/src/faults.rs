//! Turns the errors of the parser into at most one diagnostic for each logical line of the program.

use crate::diagnostics;
use crate::expected::Expected;
use crate::nodes::Unexpected;
use crate::token::{Spanned, Token};
use crate::{foreign, lexer};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::{Source, Span};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The tokens grouped into logical lines. A statement on several lines of text is one logical line.
pub struct Lines<'s, 'a> {
    source: &'a Source,
    tokens: &'a [Spanned<'s>],
    /// The index of each line's first token.
    starts: Vec<usize>,
    /// The index of the innermost bracket that encloses each token.
    within: Vec<Option<usize>>,
}

impl<'s, 'a> Lines<'s, 'a> {
    /// Groups the tokens into lines. The brackets of the tokens must be paired.
    pub fn new(source: &'a Source, tokens: &'a [Spanned<'s>]) -> Lines<'s, 'a> {
        let (mut starts, mut within, mut open) = (Vec::new(), Vec::new(), Vec::<usize>::new());
        for (at, (_, token, _)) in tokens.iter().enumerate() {
            if token.is_closer() {
                open.pop();
            }
            let holder = open.last().map(|open| tokens[*open].1);
            within.push(open.last().copied());
            let before = at.checked_sub(1).map(|before| tokens[before].1);
            let begins =
                token.is_name() || token.begins_item() || matches!(token, Token::For | Token::Return);
            let new_line = begins
                && lexer::begins_line(tokens, at, &source.text)
                && before.is_none_or(|before| before.ends_value());
            let brace = *token == Token::CloseBrace
                || matches!(before, Some(Token::OpenBrace | Token::CloseBrace))
                || (before == Some(Token::Comma) && token.is_name());
            if matches!(holder, None | Some(Token::OpenBrace)) && (new_line || brace) {
                starts.push(at);
            }
            if token.is_opener() {
                open.push(at);
            }
        }
        Lines {
            source,
            tokens,
            starts,
            within,
        }
    }

    /// Returns the number of the logical line that contains a token.
    fn of_token(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    /// Returns the number of the logical line that contains a byte.
    pub fn of_byte(&self, byte: usize) -> usize {
        self.of_token(
            self.tokens
                .partition_point(|(start, ..)| *start <= byte)
                .saturating_sub(1),
        )
    }

    /// Returns whether the token at a byte is the first of its line.
    pub fn begins_at(&self, byte: usize) -> bool {
        let at = self.tokens.partition_point(|(start, ..)| *start < byte);
        self.starts.binary_search(&at).is_ok()
    }

    fn position(&self, token: Spanned<'_>) -> Option<usize> {
        let first = self.tokens.partition_point(|(start, ..)| *start < token.0);
        (first..self.tokens.len())
            .take_while(|at| self.tokens[*at].0 == token.0)
            .find(|at| self.tokens[*at] == token)
    }

    /// Describes what separates neighbouring elements at the position of a token.
    fn separator(&self, at: usize) -> &'static str {
        let Some(open) = self.within[at] else {
            return "a new line";
        };
        let item = self.tokens[..open]
            .iter()
            .rev()
            .find(|(_, token, _)| token.begins_item());
        let in_options = item.is_some_and(|(_, token, _)| matches!(token, Token::Data | Token::Infer));
        if in_options || self.tokens[open].1 != Token::OpenBrace {
            "a comma"
        } else {
            "a new line"
        }
    }

    /// Returns the tokens of the line up to and including the token `at`, and the next token if it is on the same line of text.
    fn before(&self, at: usize) -> &[Spanned<'s>] {
        let line = self.of_token(at);
        let first = line.checked_sub(1).map_or(0, |line| self.starts[line]);
        let follows = at + 1 < self.tokens.len() && self.on_same_text_line(at, at + 1);
        let end = (at + 1 + usize::from(follows)).min(self.tokens.len());
        &self.tokens[first.min(end)..end]
    }

    /// Returns the names that occur on the given lines.
    pub fn names_on(&self, lines: &BTreeSet<usize>) -> Vec<Arc<str>> {
        let tokens = self.tokens.iter().enumerate();
        let on = tokens.filter(|(at, _)| lines.contains(&self.of_token(*at)));
        let names = on.filter_map(|(_, (_, token, _))| match token {
            Token::Name(name) => Some(Arc::from(*name)),
            _ => None,
        });
        names.collect()
    }

    /// Returns the logical lines of the tokens that follow an `if` on the same line of text, if the `if` is not in parentheses. The parser
    /// mistakes its braces for those of a block.
    fn of_choice(&self, fault: &Unexpected<'_>, at: usize) -> BTreeSet<usize> {
        let is_choice = self
            .tokens
            .get(at)
            .is_some_and(|(_, token, _)| *token == Token::If);
        let rest = (at + 1..self.tokens.len()).take_while(|other| self.on_same_text_line(at, *other));
        match is_choice && Expected(&fault.expected).value() {
            true => rest.map(|other| self.of_token(other)).collect(),
            false => BTreeSet::new(),
        }
    }

    /// Returns whether the innermost bracket around a token is a square bracket.
    fn is_in_brackets(&self, at: usize) -> bool {
        self.within[at].is_some_and(|open| self.tokens[open].1 == Token::OpenBracket)
    }

    /// Suggests a range for a slice such as `0:2`. If the tokens on the left and right of the colon are integers or names, the range
    /// contains them.
    fn range_around(&self, at: usize) -> String {
        let end = |at: Option<usize>| {
            let token = self.tokens.get(at?)?.1;
            matches!(token, Token::Int(_) | Token::Name(_)).then(|| token.to_string())
        };
        match (end(at.checked_sub(1)), end(Some(at + 1))) {
            (Some(from), Some(to)) => format!("`{from}..{to}`, without its end"),
            (Some(from), None) => format!("`{from}..n` with the size of the axis for `n`, without its end"),
            (None, Some(to)) => format!("`0..{to}`, without its end"),
            (None, None) => "`0..n`, without its end".to_owned(),
        }
    }

    fn span(&self, at: usize) -> Span {
        let (start, _, end) = self.tokens[at];
        Span::new(self.source.id, start, end)
    }

    fn on_same_text_line(&self, left: usize, right: usize) -> bool {
        !self.source.text[self.tokens[left].2..self.tokens[right].0].contains('\n')
    }
}

/// Adds the diagnostics for the unexpected tokens. Returns the lines that have an error.
pub fn report(
    lines: &Lines<'_, '_>,
    unexpected: &[Unexpected<'_>],
    damage: &[usize],
    suspect: &[(usize, usize)],
    diagnostics: &mut Vec<Diagnostic>,
) -> BTreeSet<usize> {
    let mut bad: BTreeSet<usize> = damage.iter().map(|byte| lines.of_byte(*byte)).collect();
    for (from, to) in suspect {
        bad.extend(lines.of_byte(*from)..=lines.of_byte(to.saturating_sub(1)));
    }
    for at in 1..lines.tokens.len() {
        if is_side_by_side(lines, at)
            && !is_better_said(lines, unexpected, at)
            && bad.insert(lines.of_token(at))
        {
            let (left, right) = (lines.tokens[at - 1].1, lines.tokens[at].1);
            let span = lines.span(at - 1).to(lines.span(at));
            let diagnostic = diagnostics::side_by_side(left, right, span, lines.separator(at));
            diagnostics.push(with_advice(lines, diagnostic, at));
        }
    }
    for fault in unexpected.iter().filter(|fault| !is_echo(lines, fault)) {
        let (at, unfinished) = locate(lines, fault);
        if bad.insert(lines.of_token(at)) {
            let diagnostic = describe(lines, fault, at, unfinished);
            diagnostics.push(with_advice(lines, diagnostic, at));
            bad.extend(lines.of_choice(fault, at));
        }
    }
    bad
}

/// Adds advice if the line contains a construct of another language.
fn with_advice(lines: &Lines<'_, '_>, diagnostic: Diagnostic, at: usize) -> Diagnostic {
    let is_item = lines.within.get(at).is_none_or(Option::is_none);
    match foreign::advice(lines.before(at), is_item) {
        Some(advice) => {
            let help = vec![advice];
            Diagnostic { help, ..diagnostic }
        }
        None => diagnostic,
    }
}

/// Returns whether the parser stopped at this token and expected something more specific than an operator. The message about this is then the better
/// one.
fn is_better_said(lines: &Lines<'_, '_>, unexpected: &[Unexpected<'_>], at: usize) -> bool {
    let mut faults = unexpected
        .iter()
        .filter(|fault| fault.found == Some(lines.tokens[at]));
    // For `2` followed by `w`, the user probably intended a product, even if the parser expects a comma.
    let (left, right) = (lines.tokens[at - 1].1, lines.tokens[at].1);
    let is_product = left.is_literal() && right.is_name();
    faults.any(|fault| {
        let expected = Expected(&fault.expected);
        let more_exact = !(expected.after_expression() || expected.complete());
        expected.has("{") || (more_exact && !(is_product && expected.has(",")))
    })
}

/// Returns whether an error is only a consequence of an earlier error. This is the case if the parser recovered from the earlier error and
/// mistook a brace for the end of the item. It then expects an item inside braces, or stops at a closing brace although all braces are paired.
fn is_echo(lines: &Lines<'_, '_>, fault: &Unexpected<'_>) -> bool {
    let Some(found) = fault.found else { return false };
    let within = lines.position(found).is_some_and(|at| lines.within[at].is_some());
    Expected(&fault.expected).has("model") && (within || found.1 == Token::CloseBrace)
}

/// Returns whether a value directly follows another value on the same line. The grammar does not allow this. Soft keywords such as `by`
/// and `state` may follow a value.
fn is_side_by_side(lines: &Lines<'_, '_>, at: usize) -> bool {
    let (left, right) = (lines.tokens[at - 1].1, lines.tokens[at].1);
    let left_ends = left.ends_value() && !left.is_soft_keyword() && left != Token::CloseBrace;
    let right_begins = matches!(right, Token::Name(_)) || right.is_literal();
    left_ends && right_begins && lines.on_same_text_line(at - 1, at)
}

/// Returns the index of the token at which the diagnostic points. The second value is true if it is the last token of a
/// construct that ended too early.
fn locate(lines: &Lines<'_, '_>, fault: &Unexpected<'_>) -> (usize, bool) {
    let expected = Expected(&fault.expected);
    let last = lines.tokens.len().saturating_sub(1);
    let Some(found) = fault.found else {
        return (last, true);
    };
    let at = lines.position(found).unwrap_or(last);
    let token = found.1;
    let waits = |at: usize| at > 0 && !lines.tokens[at - 1].1.ends_value();
    // For `y = a +` followed by `z = 3` on the next line, the parser stops at the second `=`.
    if matches!(token, Token::Equals | Token::Tilde | Token::Colon)
        && at > 1
        && lines.tokens[at - 1].1.is_name()
        && lexer::begins_line(lines.tokens, at - 1, &lines.source.text)
        && waits(at - 1)
    {
        return (at - 2, true);
    }
    let new_item = token.begins_item() && lexer::begins_line(lines.tokens, at, &lines.source.text);
    let begins =
        lines.starts.binary_search(&at).is_ok() || token == Token::CloseBrace || (new_item && waits(at));
    if at > 0 && begins && !expected.complete() {
        (at - 1, true)
    } else {
        (at, false)
    }
}

fn describe(lines: &Lines<'_, '_>, fault: &Unexpected<'_>, at: usize, unfinished: bool) -> Diagnostic {
    let expected = Expected(&fault.expected);
    let (token, span) = (
        lines.tokens.get(at).map(|spanned| spanned.1),
        lines.tokens.get(at).map(|_| lines.span(at)),
    );
    let (Some(token), Some(span)) = (token, span) else {
        let start = Span::new(lines.source.id, 0, 0);
        return diagnostics::unexpected(start, &expected.phrase(), None);
    };
    if unfinished {
        let phrase = if expected.after_expression() {
            "a value".to_owned()
        } else {
            expected.phrase()
        };
        return diagnostics::unfinished(span, &phrase, token);
    }
    let wants_name = expected.has("name") && !expected.has("model");
    let is_named = lines
        .tokens
        .get(at + 1)
        .is_some_and(|next| matches!(next.1, Token::Equals | Token::Tilde | Token::Colon));
    if token.is_keyword() && wants_name && (expected.name() || is_named || token.begins_item()) {
        let next = lines.tokens.get(at + 1);
        let is_param = next.is_some_and(|next| next.1 == Token::Colon);
        return diagnostics::keyword_as_name(span, token, is_param);
    }
    if expected.has("{") && expected.has("model") && token.is_name() {
        return diagnostics::outside_braces(span, token);
    }
    if expected.has("model") && token.is_name() && lines.within[at].is_none() {
        return diagnostics::outside_item(span, token);
    }
    let report = diagnostics::unexpected(span, &expected.phrase(), Some(token));
    let before = at.checked_sub(1).map(|before| lines.tokens[before].1);
    match token {
        Token::Name(ty) if expected.has(":") => match before {
            Some(Token::Name(name)) => report.help(format!("write a colon before the type: `{name}: {ty}`")),
            Some(_) | None => report,
        },
        Token::Equals if expected.has("==") => report.help("write a comparison with `==`"),
        Token::If if expected.value() => {
            report.help("put parentheses around an `if` inside a larger expression")
        }
        Token::Colon if expected.has("{") => report.help("put the body into braces: `{ .. }`"),
        Token::Colon if lines.is_in_brackets(at) && (expected.has("..") || expected.value()) => {
            report.help(format!("write the range as {}", lines.range_around(at)))
        }
        Token::Minus if before == Some(Token::Less) => report.help("`=` defines, `~` draws"),
        Token::Less if expected.has("=") => report.help("`=` defines, `~` draws"),
        Token::Greater if before == Some(Token::Equals) => report.help("write the arrow as `->`"),
        _ => with_opening(lines, report, at),
    }
}

/// Adds a label at the enclosing bracket if this bracket is not on the line of the error.
fn with_opening(lines: &Lines<'_, '_>, report: Diagnostic, at: usize) -> Diagnostic {
    match lines.within[at] {
        Some(open) if lines.tokens[open].1 != Token::OpenBrace && !lines.on_same_text_line(open, at) => {
            report.also(lines.span(open), "inside of this bracket")
        }
        _ => report,
    }
}
