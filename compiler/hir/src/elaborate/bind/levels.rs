//! Assigns positions along an axis to the integers or the text in columns of type `index`.

use crate::diagnostics::bind as diagnostics;
use crate::dims::DimExpr;
use bnnc_abi::manifest::Codes;
use bnnc_abi::schema::{Elements, Field, FieldKind, Schema};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// A column of type `index`.
pub struct Selector<'a> {
    /// The index of the column's port.
    pub port: usize,
    /// The name of the input or output to which the column is bound.
    pub input: Arc<str>,
    /// The declared size.
    pub size: DimExpr,
    /// The column.
    pub field: &'a Field,
    /// The position of the declaration of the input or output.
    pub span: Span,
    /// True if the column is an output. Its integers are then classes.
    pub is_class: bool,
    /// True if anything but the columns determines the size.
    pub is_fixed: bool,
}

/// An axis whose positions are selected by columns.
pub struct Joined {
    /// The size of the axis.
    pub size: usize,
    /// The codes of each column, in the order of the selectors.
    pub codes: Vec<Codes>,
}

/// Joins the levels of all columns that select along one axis. `span` is the position of the input
/// in whose type the axis is named. Text levels are in the order of their first appearance, and
/// integer levels are in ascending order.
///
/// # Errors
/// Fails in three cases: some columns contain text and others integers, a column contains reals, or
/// an output has text levels that differ from those of the other columns.
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
                "the levels of `{class}` differ from those of the other columns with the same size: give `{class}` a size of its own"
            ))
        }),
        _ => {
            let names: Vec<String> = group
                .iter()
                .map(|selector| format!("`{}`", selector.field.name))
                .collect();
            Err(wrong(format!(
                "{} index the same axis, but one of these columns holds text and another holds integers",
                names.join(" and ")
            )))
        }
    }
}

/// Joins text levels. The error is the name of an output with classes whose levels differ from
/// those of another column.
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

/// Assigns codes to integers. Integers of an output with classes are positions, because a program
/// may compute with them. All other integers are labels, even if they are exactly the integers
/// `0..=max`. There is one code for each label that occurs.
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

/// Checks integers that are positions along an axis. Returns a warning for the first position that
/// no value selects. For an output whose number of classes is fixed in the program, only a missing
/// position 0 causes a warning.
///
/// # Errors
/// Fails if a value is not a position of the axis.
pub fn positions(
    selector: &Selector<'_>,
    size: usize,
    schema: &Schema,
) -> Result<Option<Diagnostic>, Box<Diagnostic>> {
    let (field, span) = (selector.field, selector.span);
    if let Some(text) = Elements::Index(size).rejection(&field.name, &field.kind) {
        let counts_from_one =
            matches!(field.kind, FieldKind::Int(1, high) if usize::try_from(high) == Ok(size));
        let diagnostic = diagnostics::wrong(span, text, schema);
        return Err(Box::new(match counts_from_one {
            true => diagnostics::counts_from_one(diagnostic, &field.name),
            false => diagnostic,
        }));
    }
    let mut steps = field.integers().zip(field.integers().skip(1));
    let is_consecutive = steps.all(|(low, high)| high - low == 1);
    let cure = match (is_consecutive, selector.is_class) {
        (true, _) => diagnostics::Gapless::Shift,
        (false, false) => diagnostics::Gapless::FromData(&selector.input),
        (false, true) => diagnostics::Gapless::Text,
    };
    let mut pairs = (0_i64..).zip(field.integers());
    let unused = pairs.find(|(position, found)| position != found);
    // Data often contain only some of the declared classes, such as images of only some digits. If
    // the number of classes is fixed in the program, missing classes therefore do not cause a
    // warning, except for class 0.
    let is_of_interest = |position: i64| position == 0 || !(selector.is_class && selector.is_fixed);
    let unused = unused.map(|(position, _)| position);
    let warning = unused
        .filter(|position| is_of_interest(*position))
        .map(|position| diagnostics::unused_position(span, position, &field.name, size, cure, schema));
    Ok(warning)
}
