//! Resolves the positions that integers and text select along an axis whose size the columns determine.

use crate::diagnostics::bind as diagnostics;
use crate::dims::DimExpr;
use bnnc_abi::data::{Elements, Field, FieldKind, Schema};
use bnnc_abi::manifest::Codes;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// A column of type `index`.
pub struct Selector<'a> {
    /// The index of the port that the column is bound to.
    pub port: usize,
    /// The name of the input or output that the column is bound to.
    pub input: Arc<str>,
    /// The declared size.
    pub size: DimExpr,
    /// The column.
    pub field: &'a Field,
    /// The position in the program at which the input or output is declared.
    pub span: Span,
    /// True for an output, whose integers are classes.
    pub is_class: bool,
    /// True if something other than the columns determines the size.
    pub is_fixed: bool,
}

/// An axis from which columns select.
pub struct Joined {
    /// The size of the axis.
    pub size: usize,
    /// The codes of each column, in the order of the selectors.
    pub codes: Vec<Codes>,
}

/// Joins the levels of the columns that select along one axis, which the input at `span` names. Levels that are text are ordered by first appearance, integers in ascending
/// order.
///
/// # Errors
/// Fails for text mixed with integers, for columns of reals, and for text outputs whose levels differ.
pub fn joined(group: &[&Selector<'_>], span: Span, schema: &Schema) -> Result<Joined, Box<Diagnostic>> {
    let wrong = |text: String| Box::new(diagnostics::wrong(span, text, schema));
    let texts: Vec<&[String]> = group
        .iter()
        .filter_map(|selector| match &selector.field.kind {
            FieldKind::Levels(levels) => Some(levels.as_slice()),
            FieldKind::Int(..) | FieldKind::Real => None,
        })
        .collect();
    if let Some(real) = group
        .iter()
        .find(|selector| selector.field.kind == FieldKind::Real)
    {
        return Err(wrong(format!(
            "`index` needs integers or text, but `{}` holds {}",
            real.field.name,
            real.field.reals()
        )));
    }
    match texts.len() {
        0 => Ok(of_integers(group)),
        count if count == group.len() => of_texts(group, &texts).map_err(|class| {
            wrong(format!(
                "the levels of `{class}` differ from those of the other columns with the same size: give it a size of its own"
            ))
        }),
        _ => {
            let names: Vec<String> = group
                .iter()
                .map(|selector| format!("`{}`", selector.field.name))
                .collect();
            Err(wrong(format!(
                "{} index the same axis, but one holds text and another integers",
                names.join(" and ")
            )))
        }
    }
}

/// Joins levels that are text. The error is the name of a class output whose levels differ from the others.
fn of_texts<'a>(group: &[&Selector<'a>], texts: &[&[String]]) -> Result<Joined, &'a str> {
    let alike = texts.windows(2).all(|pair| pair[0] == pair[1]);
    if alike {
        let codes = vec![Codes::Positions; group.len()];
        let size = texts.first().map_or(0, |levels| levels.len());
        return Ok(Joined { size, codes });
    }
    if let Some(class) = group.iter().find(|selector| selector.is_class) {
        return Err(&class.field.name);
    }
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for level in texts.iter().copied().flatten() {
        if known.insert(level) {
            all.push(level.clone());
        }
    }
    Ok(Joined {
        size: all.len(),
        codes: vec![Codes::Texts(all); group.len()],
    })
}

/// Assigns codes to integers. The integers of a class output are positions, because a program may compute with them. All other integers are labels,
/// even if they are exactly `0..=max`, so every level must occur in a training row.
fn of_integers(group: &[&Selector<'_>]) -> Joined {
    let all: BTreeSet<i64> = group
        .iter()
        .flat_map(|selector| selector.field.integers())
        .collect();
    if group.iter().any(|selector| selector.is_class) {
        let highest = all.last().copied().unwrap_or(-1);
        return Joined {
            size: usize::try_from(highest).map_or(0, |highest| highest.saturating_add(1)),
            codes: vec![Codes::Positions; group.len()],
        };
    }
    Joined {
        size: all.len(),
        codes: vec![Codes::Ids(all.into_iter().collect()); group.len()],
    }
}

/// Checks integers that are positions of an axis. Returns a warning for the first position that no value selects. If the program fixes the
/// number of classes of an output, only a missing position 0 is reported.
///
/// # Errors
/// Fails for values that are not positions of the axis.
pub fn positions(
    selector: &Selector<'_>,
    size: usize,
    schema: &Schema,
) -> Result<Option<Diagnostic>, Box<Diagnostic>> {
    let (field, span) = (selector.field, selector.span);
    if let Some(text) = Elements::Index(size).refusal(&field.name, &field.kind) {
        let counts_from_one =
            matches!(field.kind, FieldKind::Int(1, high) if usize::try_from(high) == Ok(size));
        let diagnostic = diagnostics::wrong(span, text, schema);
        return Err(Box::new(match counts_from_one {
            true => diagnostics::counts_from_one(diagnostic, &field.name),
            false => diagnostic,
        }));
    }
    let mut pairs = (0_i64..).zip(field.integers());
    let unused = pairs.find(|(position, found)| position != found);
    // Data often lack some of the classes that the program declares, such as images of only some digits.
    let is_of_interest = |position: i64| position == 0 || !(selector.is_class && selector.is_fixed);
    let unused = unused.map(|(position, _)| position);
    let warning = unused
        .filter(|position| is_of_interest(*position))
        .map(|position| {
            diagnostics::unused_position(span, position, (&selector.input, &field.name), size, schema)
        });
    Ok(warning)
}
