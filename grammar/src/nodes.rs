//! The functions that are called by the actions of the grammar. They build nodes, and record the errors of the parser.

use crate::ast::{BinaryOp, Expr, ExprKind, Ident};
use crate::diagnostics;
use crate::token::{Spanned, Token};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::{Source, SourceId, Span};
use lalrpop_util::{ErrorRecovery, ParseError};

/// The error type of the actions. The actions never fail.
pub type Never = std::convert::Infallible;

/// A place where the parser stopped.
#[derive(Debug)]
pub struct Unexpected<'s> {
    /// The token that does not fit; `None` at the end of the text.
    pub found: Option<Spanned<'s>>,
    /// The terminals that the parser would have accepted, as written in the grammar.
    pub expected: Vec<String>,
}

/// The state of one parser run.
pub struct ParseContext<'s> {
    /// The id of the source that contains the text.
    pub source: SourceId,
    /// The text of the source.
    pub text: &'s str,
    /// The places where the parser stopped, in source order.
    pub unexpected: Vec<Unexpected<'s>>,
    /// The other errors.
    pub diagnostics: Vec<Diagnostic>,
}

impl<'s> ParseContext<'s> {
    /// Creates a context without errors.
    pub fn new(source: &'s Source) -> ParseContext<'s> {
        ParseContext {
            source: source.id,
            text: &source.text,
            unexpected: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    /// Returns a span of the text. It is empty if `end` is before `start`.
    pub fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.source, start, end.max(start))
    }

    /// Builds a name.
    pub fn ident(&self, start: usize, name: &str, end: usize) -> Ident {
        Ident {
            name: name.into(),
            span: self.span(start, end),
        }
    }

    /// Builds an expression.
    pub fn expr(&self, start: usize, kind: ExprKind, end: usize) -> Expr {
        Expr {
            kind: Box::new(kind),
            span: self.span(start, end),
        }
    }

    /// Builds a comparison. A chain of comparisons is reported, and is then parsed as separate comparisons joined by `&&`.
    pub fn compare(&mut self, left: Expr, op: BinaryOp, right: Expr) -> ExprKind {
        let middle = match &*left.kind {
            ExprKind::Binary(first, _, middle) if first.is_comparison() => middle.clone(),
            _ => return ExprKind::Binary(op, left, right),
        };
        let span = middle.span.to(right.span);
        let text = |span: Span| {
            self.text
                .get(span.start as usize..span.end as usize)
                .unwrap_or_default()
        };
        let instead = format!("{} && {}", text(left.span), text(span));
        let fault = diagnostics::comparison_chain(left.span.to(right.span), &instead);
        self.diagnostics.push(fault);
        let kind = Box::new(ExprKind::Binary(op, middle, right));
        ExprKind::Binary(BinaryOp::And, left, Expr { kind, span })
    }

    /// Records an error from which the parser has recovered.
    pub fn recover(&mut self, recovery: ErrorRecovery<usize, Token<'s>, Never>) {
        self.reject(recovery.error);
    }

    /// Records an error.
    pub fn reject(&mut self, error: ParseError<usize, Token<'s>, Never>) {
        let (found, expected) = match error {
            ParseError::UnrecognizedToken { token, expected } => (Some(token), expected),
            ParseError::ExtraToken { token } => (Some(token), Vec::new()),
            ParseError::UnrecognizedEof { expected, .. } => (None, expected),
            ParseError::InvalidToken { .. } => (None, Vec::new()),
            ParseError::User { error } => match error {},
        };
        self.unexpected.push(Unexpected { found, expected });
    }
}

/// Parses an integer. If the integer is too large, the lexer has already reported the error, and the result is an error node.
pub fn int(digits: &str) -> ExprKind {
    digits.parse().map_or(ExprKind::Error, ExprKind::Int)
}

/// Parses a real number. If the number is too large, the lexer has already reported the error, and the result is an error node.
pub fn real(digits: &str) -> ExprKind {
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => ExprKind::Real(value, digits.into()),
        Ok(_) | Err(_) => ExprKind::Error,
    }
}

impl BinaryOp {
    /// Returns whether this is a comparison operator.
    pub fn is_comparison(self) -> bool {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }
}
