//! The lexer: splits text into tokens. For a lexical error, it produces a diagnostic and, if possible, the token that was probably
//! intended.

use crate::ast::Comment;
use crate::diagnostics;
use crate::token::{LexicalError, Spanned, Token};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::{Source, Span};
use logos::Logos;

/// The maximum number of lexical errors kept. Without a limit, a binary file would fill the memory with diagnostics.
pub(crate) const MOST_FAULTS: usize = 1000;

/// The tokens and comments of a text.
#[derive(Debug)]
pub struct Lexed<'s> {
    /// The tokens, with their byte ranges.
    pub tokens: Vec<Spanned<'s>>,
    /// The comments. They are not tokens.
    pub comments: Vec<Comment>,
    /// The lexical errors.
    pub diagnostics: Vec<Diagnostic>,
    /// The byte positions at which text was dropped. Parser errors on these lines are caused by this, so they are not reported.
    pub damage: Vec<usize>,
    /// The end of the last stray character. A run of adjacent stray characters is reported as one error.
    stray: u32,
}

/// Splits a text into tokens. Keywords inside option blocks become names.
pub fn lex(source: &Source) -> Lexed<'_> {
    let mut lexed = Lexed {
        tokens: Vec::new(),
        comments: Vec::new(),
        diagnostics: Vec::new(),
        damage: Vec::new(),
        stray: u32::MAX,
    };
    let mut lexer = Token::lexer(&source.text);
    while let Some(result) = lexer.next() {
        let span = lexer.span();
        let at = Span::new(source.id, span.start, span.end);
        let token = match result {
            Ok(token) => {
                lexed.check_size(at, token);
                Some(token)
            }
            Err(fault) => lexed.fault(fault, at, lexer.slice()),
        };
        lexed
            .tokens
            .extend(token.map(|token| (span.start, token, span.end)));
    }
    for range in lexer.extras {
        let text = source.text[range.clone()].trim_end();
        let span = Span::new(source.id, range.start, range.start + text.len());
        lexed.comments.push(Comment {
            text: text.into(),
            span,
        });
    }
    lexed.drop_let(source);
    lexed.name_logic(source);
    name_optimisers(&mut lexed.tokens, &source.text);
    name_words(&mut lexed.tokens, &source.text);
    lexed
}

impl<'s> Lexed<'s> {
    /// Reports a lexical error. Returns the token that replaces the faulty text, if there is such a token.
    fn fault(&mut self, fault: LexicalError, at: Span, slice: &'s str) -> Option<Token<'s>> {
        if fault == LexicalError::Stray && std::mem::replace(&mut self.stray, at.end) == at.start {
            return None;
        }
        let (diagnostic, token) = match fault {
            LexicalError::Stray => (diagnostics::unexpected_character(at, slice), None),
            LexicalError::ForeignLetter => (
                diagnostics::unexpected_character(at, slice),
                Some(Token::Name(slice)),
            ),
            LexicalError::Foreign(meant) => (diagnostics::foreign_operator(at, slice, meant), Some(meant)),
            LexicalError::Semicolon => (diagnostics::semicolon(at), None),
            LexicalError::SingleQuotes => (
                diagnostics::single_quotes(at, slice),
                Some(Token::Text(slice.trim_matches('\''))),
            ),
            LexicalError::OpenText => (diagnostics::open_text(at), Some(Token::Text(&slice[1..]))),
            // A malformed number has no value, so later stages do not report further errors about
            // it.
            LexicalError::BadNumber => (diagnostics::bad_number(at, slice), Some(Token::Real(slice))),
            LexicalError::HashComment => (diagnostics::foreign_comment(at, "#"), None),
            LexicalError::BlockComment => (diagnostics::foreign_comment(at, "/*"), None),
        };
        if matches!(fault, LexicalError::Stray | LexicalError::OpenText) {
            self.damage.push(at.start as usize);
        }
        if self.diagnostics.len() < MOST_FAULTS {
            self.diagnostics.push(diagnostic);
        }
        token
    }

    fn check_size(&mut self, at: Span, token: Token<'s>) {
        let fits = match token {
            Token::Int(digits) => digits.parse::<i64>().is_ok(),
            Token::Real(digits) => digits.parse::<f64>().is_ok_and(f64::is_finite),
            _ => true,
        };
        if !fits {
            self.diagnostics
                .push(diagnostics::number_too_large(at, matches!(token, Token::Int(_))));
        }
    }

    /// Reports the `let` of `let x = 1`, and removes it.
    fn drop_let(&mut self, source: &Source) {
        let pairs = self.tokens.windows(2);
        let lets: Vec<usize> = pairs
            .enumerate()
            .filter(|(_, pair)| {
                pair[0].1 == Token::Name("let")
                    && pair[1].1.is_name()
                    && !source.text[pair[0].2..pair[1].0].contains('\n')
            })
            .map(|(at, _)| at)
            .collect();
        for at in lets.into_iter().rev() {
            let (start, _, end) = self.tokens.remove(at);
            self.diagnostics
                .push(diagnostics::let_keyword(Span::new(source.id, start, end)));
        }
    }

    /// Replaces `a and b` by `a && b` and `a or b` by `a || b`. A `not` before a value is removed. It cannot be replaced by a single
    /// token, because in other languages, it binds more loosely than `!` does here.
    fn name_logic(&mut self, source: &Source) {
        let mut kept: Vec<Spanned<'s>> = Vec::with_capacity(self.tokens.len());
        let tokens = std::mem::take(&mut self.tokens);
        for (at, (start, token, end)) in tokens.iter().copied().enumerate() {
            let is_inside = |from: usize, to: usize| !source.text[from..to].contains('\n');
            let follows_value = kept.last().is_some_and(|(_, before, to)| {
                let ends = before.ends_value() && !before.is_soft_keyword() && *before != Token::CloseBrace;
                ends && is_inside(*to, start)
            });
            let precedes_value = tokens.get(at + 1).is_some_and(|(from, next, _)| {
                (matches!(next, Token::Name(_)) || next.is_literal()) && is_inside(end, *from)
            });
            let span = Span::new(source.id, start, end);
            let meant = match token {
                Token::Name("and") if follows_value => Some(Token::AndAnd),
                Token::Name("or") if follows_value => Some(Token::OrOr),
                Token::Name("not") if precedes_value && !follows_value => {
                    self.diagnostics.push(diagnostics::negation(span));
                    continue;
                }
                _ => None,
            };
            if let (Some(meant), Token::Name(word)) = (meant, token) {
                self.diagnostics
                    .push(diagnostics::foreign_operator(span, word, meant));
            }
            kept.push((start, meant.unwrap_or(token), end));
        }
        self.tokens = kept;
    }
}

/// Returns whether the token at `at` is the first of its line.
pub(crate) fn begins_line(tokens: &[Spanned<'_>], at: usize, text: &str) -> bool {
    at == 0 || text[tokens[at - 1].2..tokens[at].0].contains('\n')
}

/// Returns whether an item begins at `at`, even if brackets are still open. An item begins with a keyword that is the first token on its
/// line, followed by a name on the same line.
pub(crate) fn begins_item(tokens: &[Spanned<'_>], at: usize, text: &str) -> bool {
    let follows = tokens.get(at + 1).is_some_and(|(_, token, _)| token.is_name());
    tokens[at].1.begins_item()
        && follows
        && begins_line(tokens, at, text)
        && !begins_line(tokens, at + 1, text)
}

/// The American spelling of the keyword `optimiser`. It is an ordinary name where it does not begin an item.
const OTHER_OPTIMISER: &str = "optimizer";

/// Replaces the American spelling of `optimiser` by the keyword where it begins an item, that is, where it is the first token on its line
/// and a name follows.
fn name_optimisers(tokens: &mut [Spanned<'_>], text: &str) {
    let mut depth = 0usize;
    for at in 0..tokens.len() {
        let token = tokens[at].1;
        let follows = tokens.get(at + 1).is_some_and(|(_, next, _)| next.is_name());
        if token.is_opener() {
            depth += 1;
        } else if token.is_closer() {
            depth = depth.saturating_sub(1);
        } else if token == Token::Name(OTHER_OPTIMISER)
            && depth == 0
            && follows
            && begins_line(tokens, at, text)
            && !begins_line(tokens, at + 1, text)
        {
            tokens[at].1 = Token::Optimiser;
        }
    }
}

/// Turns the keywords inside the option blocks of `data` and `infer` items into names. Keywords of expressions remain keywords, except as
/// the name of an option, as in `if = 3`.
fn name_words(tokens: &mut [Spanned<'_>], text: &str) {
    let (mut depth, mut armed, mut inside) = (0usize, false, false);
    for at in 0..tokens.len() {
        let token = tokens[at].1;
        if begins_item(tokens, at, text) || (depth == 0 && token.begins_item()) {
            (depth, inside) = (0, false);
            armed = matches!(token, Token::Data | Token::Infer);
        } else if depth == 0 && token.is_name() && is_line_of_its_own(tokens, at, text) {
            // If a line does not begin with a keyword, as in `def f(x) {`, its brace does not open an option block.
            armed = false;
        } else if token.is_opener() {
            inside |= armed && depth == 0 && token == Token::OpenBrace;
            depth += 1;
        } else if token.is_closer() {
            depth = depth.saturating_sub(1);
            if inside && depth == 0 {
                (inside, armed) = (false, false);
            }
        } else if inside && token.is_keyword() {
            let is_set = depth == 1 && tokens.get(at + 1).is_some_and(|next| next.1 == Token::Equals);
            if !is_of_expressions(token) || is_set {
                tokens[at].1 = Token::Name(token.terminal());
            }
        }
    }
}

/// Returns whether the token begins a new logical line. For this, it must be the first token on its line of text, and the token before it must
/// be able to end a line.
fn is_line_of_its_own(tokens: &[Spanned<'_>], at: usize, text: &str) -> bool {
    begins_line(tokens, at, text)
        && at
            .checked_sub(1)
            .is_none_or(|before| tokens[before].1.ends_value())
}

/// Like `name_words`, but for tokens that form the value of a single option.
pub(crate) fn name_words_of_value(tokens: &mut [Spanned<'_>]) {
    for (_, token, _) in tokens {
        if token.is_keyword() && !is_of_expressions(*token) {
            *token = Token::Name(token.terminal());
        }
    }
}

fn is_of_expressions(keyword: Token<'_>) -> bool {
    use Token::{Else, False, For, If, In, True};
    matches!(keyword, If | Else | For | In | True | False)
}
