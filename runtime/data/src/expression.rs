//! Column expressions, such as `log(earn) * male`. An expression is evaluated over all rows of a
//! table.

use crate::diagnostics;
use crate::standardise::{FittedStandardisation, Standardisation};
use crate::table::{Array, Table};
use bnnc_abi::data::{ColumnExpr, Divisor};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;

/// The means and standard deviations that `zscore` uses.
pub(crate) enum Scores<'a> {
    /// For each call of `zscore`, computes a mean and a standard deviation from these rows. Appends
    /// both to the list, in the order of evaluation.
    Fit(&'a [usize], Divisor, &'a mut Vec<FittedStandardisation>),
    /// Uses means and standard deviations that were computed earlier, in the order of evaluation.
    Apply(std::slice::Iter<'a, Standardisation>),
}

impl Scores<'_> {
    /// Skips the means and standard deviations of an expression that is not evaluated.
    pub(crate) fn skip(&mut self, column: &ColumnExpr) {
        if let Scores::Apply(fitted) = self {
            fitted.by_ref().take(scored(column).len()).for_each(drop);
        }
    }
}

/// The values of a function that column expressions may call, or of an operator.
enum Evaluation {
    Unary(fn(f64) -> f64),
    /// A function of two arguments, and the operator that is written between them.
    Binary(&'static str, fn(f64, f64) -> f64),
}
use Evaluation::{Binary, Unary};

/// All functions except `zscore`. `zscore` is separate, because it depends on the training rows.
static FUNCTIONS: &[(&str, Evaluation)] = &[
    ("abs", Unary(f64::abs)),
    ("add", Binary("+", |x, y| x + y)),
    ("div", Binary("/", |x, y| x / y)),
    ("eq", Binary("==", |x, y| f64::from(u8::from(x == y)))),
    ("exp", Unary(f64::exp)),
    ("log", Unary(f64::ln)),
    ("mul", Binary("*", |x, y| x * y)),
    ("neg", Unary(|x| -x)),
    ("pow", Binary("^", f64::powf)),
    ("sqrt", Unary(f64::sqrt)),
    ("sub", Binary("-", |x, y| x - y)),
];

fn function(name: &str) -> Option<&'static Evaluation> {
    let found = FUNCTIONS.iter().find(|(known, _)| *known == name);
    found.map(|(_, evaluation)| evaluation)
}

const ZSCORE: &str = "zscore";

/// Returns the text of an expression. It is also the name of its field.
pub fn text(column: &ColumnExpr) -> String {
    match column {
        ColumnExpr::Name(name, _) => name.clone(),
        ColumnExpr::Number(value) => value.to_string(),
        ColumnExpr::Apply(name, arguments, _) => match (function(name), arguments.as_slice()) {
            (Some(Binary(operator, _)), [left, right]) => {
                format!("{} {operator} {}", operand(left), operand(right))
            }
            _ => format!(
                "{name}({})",
                arguments.iter().map(text).collect::<Vec<_>>().join(", ")
            ),
        },
        ColumnExpr::Named(name, ..) => name.clone(),
    }
}

fn operand(column: &ColumnExpr) -> String {
    let text = text(column);
    if matches!(column, ColumnExpr::Apply(..)) && text.contains(' ') {
        format!("({text})")
    } else {
        text
    }
}

/// Returns the names of the columns that occur in an expression.
pub(crate) fn names(column: &ColumnExpr) -> Vec<&str> {
    match column {
        ColumnExpr::Name(name, _) => vec![name],
        ColumnExpr::Number(_) => Vec::new(),
        ColumnExpr::Apply(_, arguments, _) => arguments.iter().flat_map(names).collect(),
        ColumnExpr::Named(_, column, _) => names(column),
    }
}

/// Returns the span of an expression in the program, or `None` for a number.
pub(crate) fn span(column: &ColumnExpr) -> Option<Span> {
    match column {
        ColumnExpr::Name(_, span) | ColumnExpr::Apply(_, _, span) | ColumnExpr::Named(_, _, span) => {
            Some(*span)
        }
        ColumnExpr::Number(_) => None,
    }
}

/// Returns whether the values of an expression depend on which rows are training rows.
pub(crate) fn uses_zscore(column: &ColumnExpr) -> bool {
    match column {
        ColumnExpr::Name(..) | ColumnExpr::Number(_) => false,
        ColumnExpr::Apply(name, arguments, _) => name == ZSCORE || arguments.iter().any(uses_zscore),
        ColumnExpr::Named(_, column, _) => uses_zscore(column),
    }
}

/// Returns the arguments of the calls of `zscore` in an expression, in the order of evaluation.
pub(crate) fn scored(column: &ColumnExpr) -> Vec<&ColumnExpr> {
    match column {
        ColumnExpr::Name(..) | ColumnExpr::Number(_) => Vec::new(),
        ColumnExpr::Apply(name, arguments, _) => {
            let mut all: Vec<&ColumnExpr> = arguments.iter().flat_map(scored).collect();
            all.extend(arguments.first().filter(|_| name == ZSCORE));
            all
        }
        ColumnExpr::Named(_, column, _) => scored(column),
    }
}

/// Returns whether the values of an expression are Boolean, that is 0 and 1.
pub(crate) fn is_truth(column: &ColumnExpr) -> bool {
    matches!(column, ColumnExpr::Apply(name, _, _) if name == "eq")
}

/// Returns the array with this name, and its position in the table.
pub(crate) fn lookup<'a>(
    table: &'a Table,
    name: &str,
    span: Option<Span>,
) -> Result<(usize, &'a Array), Diagnostic> {
    let names = table.arrays.iter().map(|array| array.name.as_str());
    let names = names.chain(table.unread.iter().map(String::as_str));
    table
        .find(name)
        .ok_or_else(|| diagnostics::unknown_column(&table.path(), name, span, names))
}

/// Evaluates an expression. The result has one value per row of the table.
pub(crate) fn evaluate(
    column: &ColumnExpr,
    table: &Table,
    scores: &mut Scores<'_>,
) -> Result<Vec<f64>, Diagnostic> {
    match column {
        ColumnExpr::Number(value) => Ok(vec![*value; table.rows]),
        ColumnExpr::Name(name, span) => {
            let (_, array) = lookup(table, name, Some(*span))?;
            let why = match (array.per_example, array.width()) {
                (true, 1) if array.values.is_text() => {
                    return Err(diagnostics::text_column(&table.path(), name, Some(*span)));
                }
                (true, 1) => return Ok((0..table.rows).map(|row| array.values.real(row)).collect()),
                (true, width) => format!("it has {width} numbers per example"),
                (false, _) => array.shared_by(table.rows),
            };
            Err(diagnostics::not_a_column(&table.path(), name, &why, Some(*span)))
        }
        ColumnExpr::Named(_, column, _) => evaluate(column, table, scores),
        ColumnExpr::Apply(name, arguments, span) => {
            let values: Vec<Vec<f64>> = arguments
                .iter()
                .map(|argument| evaluate(argument, table, scores))
                .collect::<Result<_, _>>()?;
            let result = call(name, &values, table, (scores, *span))?;
            match result.iter().position(|value| !value.is_finite()) {
                None => Ok(result),
                Some(row) => Err(diagnostics::domain(table.place(row), &text(column), *span)),
            }
        }
    }
}

fn call(
    name: &str,
    values: &[Vec<f64>],
    table: &Table,
    (scores, span): (&mut Scores<'_>, Span),
) -> Result<Vec<f64>, Diagnostic> {
    let wrong = |message: String| diagnostics::bad_function(&table.path(), message, span);
    let function = function(name);
    let arguments = match function {
        Some(Binary(..)) => "two arguments",
        Some(Unary(_)) => "one argument",
        None if name == ZSCORE => "one argument",
        None => {
            let known = FUNCTIONS.iter().map(|(name, _)| *name).chain([ZSCORE]);
            return Err(wrong(format!("`{name}` is not a function of columns")).suggest(name, known));
        }
    };
    match (function, values) {
        (None, [x]) => Ok(zscore(x, scores)),
        (Some(Unary(of)), [x]) => Ok(x.iter().map(|x| of(*x)).collect()),
        (Some(Binary(_, of)), [x, y]) => Ok(x.iter().zip(y).map(|(x, y)| of(*x, *y)).collect()),
        _ => {
            let found = values.len();
            Err(wrong(format!("expected {arguments} of `{name}`, found {found}")))
        }
    }
}

/// Standardises values. If all values are equal, they are replaced by zeros.
fn zscore(values: &[f64], scores: &mut Scores<'_>) -> Vec<f64> {
    let map = match scores {
        Scores::Fit(rows, divisor, list) => {
            let fitted = Standardisation::fit(rows.iter().map(|&row| values[row]), *divisor);
            list.push(fitted);
            fitted.map
        }
        Scores::Apply(list) => *list.next().unwrap_or(&Standardisation::IDENTITY),
    };
    values.iter().map(|&value| map.apply(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ArrayValues;
    use bnnc_base::source::SourceId;

    fn here() -> Span {
        Span::new(SourceId(0), 0, 0)
    }

    fn name(text: &str) -> ColumnExpr {
        ColumnExpr::Name(text.into(), here())
    }

    fn apply(function: &str, arguments: Vec<ColumnExpr>) -> ColumnExpr {
        ColumnExpr::Apply(function.into(), arguments, here())
    }

    fn table() -> Table {
        let column = |name: &str, values: &[f64]| Array::column(name, ArrayValues::Real(values.to_vec()));
        Table::new(
            "t.csv",
            2,
            vec![
                column("a", &[1.0, 2.0, 3.0, 10.0]),
                column("b", &[4.0, 0.0, 9.0, -1.0]),
            ],
        )
    }

    fn value(column: &ColumnExpr) -> Result<Vec<f64>, Diagnostic> {
        evaluate(
            column,
            &table(),
            &mut Scores::Fit(&[0, 1, 2], Divisor::Count, &mut Vec::new()),
        )
    }

    #[test]
    fn every_function_evaluates() {
        let cases: [(&str, &[f64]); 5] = [
            ("add", &[5.0, 2.0, 12.0, 9.0]),
            ("sub", &[-3.0, 2.0, -6.0, 11.0]),
            ("mul", &[4.0, 0.0, 27.0, -10.0]),
            ("pow", &[1.0, 1.0, 19683.0, 0.1]),
            ("eq", &[0.0, 0.0, 0.0, 0.0]),
        ];
        for (function, expected) in cases {
            assert_eq!(
                value(&apply(function, vec![name("a"), name("b")])),
                Ok(expected.to_vec()),
                "{function}"
            );
        }
        let halves = apply("div", vec![name("a"), ColumnExpr::Number(2.0)]);
        assert_eq!(value(&halves), Ok(vec![0.5, 1.0, 1.5, 5.0]));
        assert_eq!(
            value(&apply("eq", vec![name("a"), ColumnExpr::Number(2.0)])),
            Ok(vec![0.0, 1.0, 0.0, 0.0])
        );
        assert_eq!(
            value(&apply("abs", vec![name("b")])),
            Ok(vec![4.0, 0.0, 9.0, 1.0])
        );
        assert_eq!(
            value(&apply("neg", vec![name("a")])),
            Ok(vec![-1.0, -2.0, -3.0, -10.0])
        );
        let identity = value(&apply("log", vec![apply("exp", vec![name("a")])])).unwrap();
        assert!(
            identity
                .iter()
                .zip([1.0, 2.0, 3.0, 10.0])
                .all(|(x, y)| (x - y).abs() < 1e-14)
        );
        assert_eq!(
            value(&apply("sqrt", vec![apply("mul", vec![name("a"), name("a")])])),
            value(&name("a"))
        );
    }

    #[test]
    fn zscore_uses_training_rows_only() {
        // Rows 0 to 2 have the mean 2 and the standard deviation sqrt(2/3).
        let sd = (2.0_f64 / 3.0).sqrt();
        assert_eq!(
            value(&apply("zscore", vec![name("a")])),
            Ok(vec![-1.0 / sd, 0.0, 1.0 / sd, 8.0 / sd])
        );
    }

    #[test]
    fn faults_name_the_row_and_the_call() {
        let log = value(&apply("log", vec![name("b")])).unwrap_err();
        assert_eq!(log.message, "`log(b)` is not a finite number");
        assert_eq!(
            log.at,
            bnnc_base::diagnostic::Place::File {
                path: "t.csv".into(),
                row: 3,
                column: 0
            }
        );
        let unknown = value(&apply("sine", vec![name("a")])).unwrap_err();
        assert_eq!(unknown.message, "`sine` is not a function of columns");
        let arity = value(&apply("log", vec![])).unwrap_err();
        assert_eq!(arity.message, "expected one argument of `log`, found 0");
        assert_eq!(value(&name("A")).unwrap_err().help, ["did you mean `a`?"]);
    }

    #[test]
    fn text_reads_as_written() {
        let nested = apply(
            "mul",
            vec![
                apply("log", vec![name("a")]),
                apply("add", vec![name("b"), ColumnExpr::Number(1.0)]),
            ],
        );
        assert_eq!(text(&nested), "log(a) * (b + 1)");
    }
}
