//! What the grammar's actions call: constructors of nodes, and the faults met on the way.

use crate::ast::{BinaryOp, Expr, ExprKind, Ident};
use crate::report;
use crate::token::{Spanned, Token};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::{SourceId, Span};
use lalrpop_util::{ErrorRecovery, ParseError};

/// The parser has no faults of its own.
pub type Never = std::convert::Infallible;

/// Where the parser stopped.
#[derive(Debug)]
pub struct Unexpected<'s> {
    /// The token it cannot use; `None` at the end of the text.
    pub found: Option<Spanned<'s>>,
    /// Terminals it could have used, as the grammar spells them.
    pub expected: Vec<String>,
}

/// What one run of the parser knows and collects.
pub struct Context<'s> {
    /// The text.
    pub source: SourceId,
    /// Tokens that fit nowhere, in order.
    pub unexpected: Vec<Unexpected<'s>>,
    /// Other faults.
    pub diagnostics: Vec<Diagnostic>,
}

impl<'s> Context<'s> {
    /// Nothing collected yet.
    pub fn new(source: SourceId) -> Context<'s> {
        Context {
            source,
            unexpected: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    /// A span of the text.
    pub fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.source, start, end.max(start))
    }

    /// A name.
    pub fn ident(&self, start: usize, name: &str, end: usize) -> Ident {
        Ident {
            name: name.into(),
            span: self.span(start, end),
        }
    }

    /// An expression.
    pub fn expr(&self, start: usize, kind: ExprKind, end: usize) -> Expr {
        Expr {
            kind: Box::new(kind),
            span: self.span(start, end),
        }
    }

    /// A comparison; a chain of them is reported.
    pub fn compare(&mut self, left: Expr, op: BinaryOp, right: Expr) -> ExprKind {
        if let ExprKind::Binary(first, ..) = &*left.kind
            && first.is_comparison()
        {
            self.diagnostics
                .push(report::comparison_chain(left.span.to(right.span)));
        }
        ExprKind::Binary(op, left, right)
    }

    /// Notes a fault that the parser has got over.
    pub fn recover(&mut self, recovery: ErrorRecovery<usize, Token<'s>, Never>) {
        self.refuse(recovery.error);
    }

    /// Notes a fault.
    pub fn refuse(&mut self, error: ParseError<usize, Token<'s>, Never>) {
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

/// An integer; one that is too large was reported by the lexer.
pub fn int(digits: &str) -> ExprKind {
    digits.parse().map_or(ExprKind::Error, ExprKind::Int)
}

/// A real number; one that is too large was reported by the lexer.
pub fn real(digits: &str) -> ExprKind {
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => ExprKind::Real(value, digits.into()),
        Ok(_) | Err(_) => ExprKind::Error,
    }
}

impl BinaryOp {
    /// Whether it compares.
    pub fn is_comparison(self) -> bool {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }
}
