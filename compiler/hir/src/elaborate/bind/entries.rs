//! The entries of `inputs = [..]` that compute an input.

use crate::diagnostics::bind as diagnostics;
use bnnc_abi::schema::{InputEntry, Schema};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;

/// Finds the entry that computes an input. An entry with the input's name takes precedence.
/// Otherwise, returns the only entry that is computed from the column with the input's name.
///
/// # Errors
/// Fails if several entries are computed from the column.
pub fn computed(schema: &Schema, name: &str, span: Span) -> Result<Option<usize>, Box<Diagnostic>> {
    let entries = || schema.entries.iter().enumerate();
    if let Some((at, entry)) = entries().find(|(_, entry)| entry.name.as_deref() == Some(name)) {
        return Ok(entry.computed.then_some(at));
    }
    let of_column =
        |(_, entry): &(usize, &InputEntry)| entry.name.is_none() && entry.columns.as_slice() == [name];
    let found: Vec<(usize, &InputEntry)> = entries().filter(of_column).collect();
    match found.as_slice() {
        [(at, entry)] => Ok(entry.computed.then_some(*at)),
        [(_, first), .., (_, last)] if found.iter().any(|(_, entry)| entry.computed) => {
            Err(Box::new(diagnostics::several(span, name, first, last)))
        }
        _ => Ok(None),
    }
}
