//! Parses files, expressions, option values and REPL entries. A tree is always returned, and diagnostics describe what is missing from
//! it.

use crate::ast::{Comment, Expr, ExprKind, Item, ItemKind, SourceFile, Stmt};
use crate::brackets::{self, Paired};
use crate::grammar::ItemsParser;
use crate::lexer::{self, Lexed};
use crate::nodes::ParseContext;
use crate::token::{Spanned, Token};
use crate::{depth, faults, recover};
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::source::{Source, Span};
use std::sync::Arc;

/// Reads a file.
pub fn parse(source: &Source) -> (SourceFile, Vec<Diagnostic>) {
    let read = read(source, lexer::lex(source), &[], &[]);
    (
        SourceFile {
            items: read.items,
            comments: read.comments,
            unread: read.unread,
        },
        read.diagnostics,
    )
}

/// Reads one expression.
pub fn parse_expr(source: &Source) -> (Expr, Vec<Diagnostic>) {
    expression(source, lexer::lex(source))
}

fn expression(source: &Source, lexed: Lexed<'_>) -> (Expr, Vec<Diagnostic>) {
    let mut read = read(source, lexed, EXPRESSION, &[]);
    let expr = match read.items.pop().map(|item| item.kind) {
        Some(ItemKind::Const(constant)) => constant.value,
        _ => Expr {
            kind: Box::new(ExprKind::Error),
            span: Span::new(source.id, 0, source.text.len()),
        },
    };
    (expr, read.diagnostics)
}

/// Reads the value of an option. Inside option blocks, the keywords that begin items are ordinary names (`loss = data`).
pub fn parse_option(source: &Source) -> (Expr, Vec<Diagnostic>) {
    let mut lexed = lexer::lex(source);
    lexer::name_words_of_value(&mut lexed.tokens);
    expression(source, lexed)
}

/// One entry typed at the REPL.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplEntry {
    /// An item.
    Item(Item),
    /// A statement.
    Stmt(Stmt),
    /// An expression whose value is to be shown.
    Expr(Expr),
}

/// The result of parsing REPL input.
#[derive(Clone, Debug, PartialEq)]
pub enum Entered {
    /// Complete entries, in order. For blank lines and comments, the list is empty.
    Complete(Vec<ReplEntry>),
    /// The beginning of an entry: a bracket is open, or an operator does not have its right-hand side yet.
    Incomplete,
    /// Input with errors.
    Faulty(Vec<Diagnostic>),
}

/// Parses REPL input.
pub fn parse_entry(source: &Source) -> Entered {
    let lexed = lexer::lex(source);
    let Some((_, first, _)) = lexed.tokens.first().copied() else {
        return if lexed.diagnostics.is_empty() {
            Entered::Complete(Vec::new())
        } else {
            Entered::Faulty(lexed.diagnostics)
        };
    };
    if lexed.diagnostics.is_empty() && is_unfinished(&lexed.tokens) {
        return Entered::Incomplete;
    }
    let (prefix, suffix): (&[Token<'static>], &[Token<'static>]) = if first.begins_item() {
        (&[], &[])
    } else if is_statement(&lexed.tokens) {
        (STATEMENT, &[Token::CloseBrace])
    } else {
        (EXPRESSION, &[])
    };
    let read = read(source, lexed, prefix, suffix);
    if first.begins_item() && read.ended_early {
        return Entered::Incomplete;
    }
    if read.diagnostics.iter().any(Diagnostic::is_error) {
        return Entered::Faulty(read.diagnostics);
    }
    let mut entries = Vec::new();
    for item in read.items {
        match item.kind {
            ItemKind::Const(constant) if !prefix.is_empty() => entries.push(ReplEntry::Expr(constant.value)),
            ItemKind::Fn(function) if !prefix.is_empty() => {
                entries.extend(function.body.into_iter().map(ReplEntry::Stmt));
            }
            kind => entries.push(ReplEntry::Item(Item { kind, ..item })),
        }
    }
    Entered::Complete(entries)
}

/// The prefix that turns an expression into the value of a constant. The name of the constant is never shown.
const EXPRESSION: &[Token<'static>] = &[Token::Const, Token::Name("it"), Token::Equals];

/// The prefix that turns statements into the body of a function.
const STATEMENT: &[Token<'static>] = &[
    Token::Fn,
    Token::Name("it"),
    Token::OpenParen,
    Token::CloseParen,
    Token::Arrow,
    Token::Name("real"),
    Token::OpenBrace,
];

fn is_statement(tokens: &[Spanned<'_>]) -> bool {
    let mut depth = 0usize;
    for (_, token, _) in tokens {
        if token.is_opener() {
            depth += 1;
        } else if token.is_closer() {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && matches!(token, Token::Equals | Token::Tilde) {
            return true;
        }
    }
    tokens
        .first()
        .is_some_and(|(_, token, _)| matches!(token, Token::For | Token::Return))
}

/// Returns whether a bracket is open, or another token must follow the last one.
fn is_unfinished(tokens: &[Spanned<'_>]) -> bool {
    let opened = tokens.iter().filter(|(_, token, _)| token.is_opener()).count();
    let closed = tokens.iter().filter(|(_, token, _)| token.is_closer()).count();
    let glob = matches!(tokens, [.., (_, Token::Dot, _), (_, Token::Star, _)]);
    let waits = tokens.last().is_some_and(|(_, token, _)| !token.ends_value());
    opened > closed || (waits && !glob)
}

struct Read {
    items: Vec<Item>,
    comments: Vec<Comment>,
    diagnostics: Vec<Diagnostic>,
    /// The names on lines with errors.
    unread: Vec<Arc<str>>,
    /// True if the text ended where the parser expected more tokens.
    ended_early: bool,
}

fn read(source: &Source, lexed: Lexed<'_>, prefix: &[Token<'static>], suffix: &[Token<'static>]) -> Read {
    let Lexed {
        tokens,
        comments,
        mut diagnostics,
        mut damage,
        ..
    } = lexed;
    let mut too_deep = depth::check_brackets(source.id, &tokens);
    let mut paired = Paired::default();
    if too_deep.is_none() {
        paired = brackets::pair(source, &tokens);
        diagnostics.append(&mut paired.diagnostics);
        too_deep = depth::check_operations(source.id, &paired.tokens);
    }
    if let Some(fault) = too_deep {
        diagnostics.push(fault);
        return Read {
            items: Vec::new(),
            comments,
            diagnostics,
            unread: Vec::new(),
            ended_early: false,
        };
    }
    let Paired {
        mut tokens,
        suspect,
        strays,
        ..
    } = paired;
    damage.extend(strays);
    tokens.splice(0..0, prefix.iter().map(|token| (0, *token, 0)));
    tokens.extend(
        suffix
            .iter()
            .map(|token| (source.text.len(), *token, source.text.len())),
    );
    let mut context = ParseContext::new(source);
    let mut items = match ItemsParser::new().parse(&mut context, tokens.iter().copied()) {
        Ok(items) => items,
        Err(error) => {
            context.reject(error);
            Vec::new()
        }
    };
    let ended_early = context.unexpected.iter().any(|fault| fault.found.is_none());
    diagnostics.append(&mut context.diagnostics);
    let lines = faults::Lines::new(source, &tokens);
    let bad = faults::report(&lines, &context.unexpected, &damage, &suspect, &mut diagnostics);
    recover::drop_fragments(&mut items, &lines, &bad);
    attach_docs(&mut items, &comments, &source.text);
    diagnostics.sort_by_key(|diagnostic| match &diagnostic.at {
        Place::Span(span) => span.start,
        Place::File { .. } | Place::Nowhere => 0,
    });
    Read {
        items,
        comments,
        diagnostics,
        unread: lines.names_on(&bad),
        ended_early,
    }
}

/// Attaches the `///` lines directly above an item to the item.
fn attach_docs(items: &mut [Item], comments: &[Comment], text: &str) {
    for item in items {
        let mut start = item.span.start as usize;
        let above = comments.partition_point(|comment| (comment.span.start as usize) < start);
        for comment in comments[..above].iter().rev() {
            let (from, to) = (comment.span.start as usize, comment.span.end as usize);
            let between = text.get(to..start).unwrap_or("");
            let line = &text[text[..from].rfind('\n').map_or(0, |at| at + 1)..from];
            let adjacent = between.trim().is_empty() && between.matches('\n').count() == 1;
            let Some(doc) = comment.text.strip_prefix("///") else {
                break;
            };
            if !adjacent || !line.trim_matches([' ', '\t', '\u{feff}']).is_empty() {
                break;
            }
            item.doc.push(doc.strip_prefix(' ').unwrap_or(doc).into());
            start = from;
        }
        item.doc.reverse();
    }
}
