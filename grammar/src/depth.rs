//! Limits the depth of the syntax tree before it is built, because later stages walk it recursively.

use crate::diagnostics;
use crate::token::{Spanned, Token};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::{SourceId, Span};

/// The maximum nesting depth of brackets.
pub const BRACKETS: usize = 200;
/// The maximum nesting depth of operations in one expression, including brackets.
pub const OPERATIONS: usize = 500;

/// Returns a diagnostic if brackets are nested more than [`BRACKETS`] deep. The brackets need not be paired.
pub fn check_brackets(source: SourceId, tokens: &[Spanned<'_>]) -> Option<Diagnostic> {
    let mut depth = 0usize;
    for (start, token, end) in tokens {
        depth = if token.is_closer() {
            depth.saturating_sub(1)
        } else {
            depth + usize::from(token.is_opener())
        };
        if depth > BRACKETS {
            return Some(diagnostics::nested_too_deep(
                Span::new(source, *start, *end),
                BRACKETS,
            ));
        }
    }
    None
}

/// The state of one open bracket, or of the whole text.
#[derive(Default)]
struct Level {
    /// The number of operators and brackets since the last comma or the beginning of the statement.
    operations: usize,
    /// The depth of the deepest bracket among them.
    inner: usize,
    /// The depth of the deepest element in this bracket so far.
    deepest: usize,
}

impl Level {
    fn end_element(&mut self) {
        self.deepest = self.deepest.max(self.operations + self.inner);
        (self.operations, self.inner) = (0, 0);
    }
}

/// Returns a diagnostic if an expression would be nested more than [`OPERATIONS`] deep. The brackets must be paired.
pub fn check_operations(source: SourceId, tokens: &[Spanned<'_>]) -> Option<Diagnostic> {
    let mut levels = vec![Level::default()];
    let mut before = None;
    for (start, token, end) in tokens {
        let at = Span::new(source, *start, *end);
        let begins_value = token.is_name() || token.is_literal() || token.begins_item();
        let continues = before.is_some_and(|before: Token<'_>| before.ends_value());
        let ends_element = matches!(token, Token::Comma | Token::Equals | Token::Tilde | Token::DotDot)
            || matches!(token, Token::For | Token::Return)
            || (begins_value && continues);
        let level = levels.last_mut()?;
        if token.is_closer() {
            level.end_element();
            let depth = level.deepest + 1;
            levels.pop();
            let outer = levels.last_mut()?;
            outer.inner = outer.inner.max(depth);
        } else if ends_element {
            level.end_element();
        } else if !begins_value {
            level.operations += 1;
        }
        let level = levels.last()?;
        if level.operations + level.inner > OPERATIONS {
            return Some(diagnostics::chain_too_long(at, OPERATIONS));
        }
        if token.is_opener() {
            levels.push(Level::default());
        }
        before = Some(*token);
    }
    None
}
