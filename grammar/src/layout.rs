//! Formats expressions. An expression that fits is written on one line. Otherwise, the contents of its outermost brackets
//! are spread over several lines.

use crate::ast::{Arg, BinaryOp, Comprehension, Expr, ExprKind, Index, Param, TypeExpr, UnaryOp};
use std::fmt::{self, Display, Write};

/// The maximum line length in characters.
pub const WIDTH: usize = 110;
/// The indentation, in blanks, of the contents of a bracket that is spread over several lines.
pub const STEP: usize = 2;

/// Formats `expr` for a line that has the indentation `indent` and already holds `column` characters. Another `tail` characters must
/// fit after it.
pub fn expression(expr: &Expr, indent: usize, column: usize, tail: usize) -> String {
    let room = WIDTH.saturating_sub(column + tail);
    if let Some(text) = flat_within(expr, room) {
        return text;
    }
    match &*expr.kind {
        ExprKind::Call(function, args) if !args.is_empty() => {
            let head = expression(function, indent, column, 1);
            list(&head, ["(", ")"], args.len(), indent, |at, indent| {
                argument(&args[at], indent)
            })
        }
        ExprKind::List(elements) if !elements.is_empty() => {
            list("", ["[", "]"], elements.len(), indent, |at, indent| {
                expression(&elements[at], indent, indent, 1)
            })
        }
        ExprKind::Index(value, index) if !index.is_empty() => {
            let head = expression(value, indent, column, 1);
            list(
                &head,
                ["[", "]"],
                index.len(),
                indent,
                |at, indent| match &index[at] {
                    Index::At(value) => expression(value, indent, indent, 1),
                    Index::Range(from, to) => range(from, to, indent, indent),
                },
            )
        }
        ExprKind::Reduce(function, over) => {
            comprehension(&expression(function, indent, column, 1), ["(", ")"], over, indent)
        }
        ExprKind::Comprehension(over) => comprehension("", ["[", "]"], over, indent),
        ExprKind::Paren(inner) => {
            let inside = indent + STEP;
            let text = expression(inner, inside, inside, 0);
            format!("({}{text}{})", new_line(inside), new_line(indent))
        }
        ExprKind::Binary(op, ..) if *op == BinaryOp::Pow => power(expr, indent, column, tail),
        ExprKind::Binary(..) => chain(expr, indent, column),
        ExprKind::Unary(op, value) => format!("{op}{}", expression(value, indent, column + 1, tail)),
        ExprKind::Named(name, value) => {
            let head = format!("{} = ", name.name);
            let text = expression(value, indent, column + head.len(), tail);
            format!("{head}{text}")
        }
        ExprKind::Field(value, name) => {
            format!(
                "{}.{}",
                expression(value, indent, column, name.name.len() + 1),
                name.name
            )
        }
        ExprKind::Glob(value) => format!("{}.*", expression(value, indent, column, 2)),
        ExprKind::If(condition, yes, no) => branches(condition, yes, no, indent, column),
        _ => Flat(expr).to_string(),
    }
}

fn new_line(indent: usize) -> String {
    format!("\n{:indent$}", "")
}

/// Formats a list with one element per line. A comma follows each element.
fn list(
    head: &str,
    [open, close]: [&str; 2],
    count: usize,
    indent: usize,
    element: impl Fn(usize, usize) -> String,
) -> String {
    let inside = indent + STEP;
    let mut text = format!("{head}{open}");
    for at in 0..count {
        text += &format!("{}{},", new_line(inside), element(at, inside));
    }
    text + &new_line(indent) + close
}

fn argument(arg: &Arg, indent: usize) -> String {
    match &arg.name {
        None => expression(&arg.value, indent, indent, 1),
        Some(name) => {
            let column = indent + name.name.len() + 3;
            format!("{} = {}", name.name, expression(&arg.value, indent, column, 1))
        }
    }
}

fn range(from: &Expr, to: &Expr, indent: usize, column: usize) -> String {
    let from = expression(from, indent, column, 2);
    let column = end_column(&from, column) + 2;
    format!("{from}..{}", expression(to, indent, column, 1))
}

fn comprehension(head: &str, [open, close]: [&str; 2], over: &Comprehension, indent: usize) -> String {
    let inside = indent + STEP;
    let element = expression(&over.element, inside, inside, 0);
    let counter = format!("for {} in ", over.name.name);
    let bounds = range(&over.from, &over.to, inside, inside + counter.len());
    let line = new_line(inside);
    format!(
        "{head}{open}{line}{element}{line}{counter}{bounds}{}{close}",
        new_line(indent)
    )
}

/// Breaks a chain of operators of the same precedence level. Each operator is at the end of a line.
fn chain(expr: &Expr, indent: usize, column: usize) -> String {
    let mut operands = Vec::new();
    let mut first = expr;
    let level = match &*expr.kind {
        ExprKind::Binary(op, ..) => op.level(),
        _ => 0,
    };
    while let ExprKind::Binary(op, left, right) = &*first.kind {
        if op.level() != level {
            break;
        }
        operands.push((op, right));
        first = left;
    }
    let inside = indent + STEP;
    let mut text = expression(first, indent, column, 2);
    for (op, operand) in operands.into_iter().rev() {
        text += &format!(
            " {op}{}{}",
            new_line(inside),
            expression(operand, inside, inside, 2)
        );
    }
    text
}

fn power(expr: &Expr, indent: usize, column: usize, tail: usize) -> String {
    let ExprKind::Binary(_, base, exponent) = &*expr.kind else {
        return Flat(expr).to_string();
    };
    let base = expression(base, indent, column, 2);
    let column = end_column(&base, column) + 3;
    format!("{base} ^ {}", expression(exponent, indent, column, tail))
}

fn branches(condition: &Expr, yes: &Expr, no: &Expr, indent: usize, column: usize) -> String {
    let inside = indent + STEP;
    let (inner, outer) = (new_line(inside), new_line(indent));
    let condition = expression(condition, indent, column + 3, 2);
    let yes = expression(yes, inside, inside, 0);
    let otherwise = match &*no.kind {
        ExprKind::If(condition, yes, no) => branches(condition, yes, no, indent, indent + 7),
        _ => format!("{{{inner}{}{outer}}}", expression(no, inside, inside, 0)),
    };
    format!("if {condition} {{{inner}{yes}{outer}}} else {otherwise}")
}

/// Returns the column of the end of `text` if it begins at `column`.
fn end_column(text: &str, column: usize) -> usize {
    match text.rsplit_once('\n') {
        Some((_, last)) => last.len(),
        None => column + text.len(),
    }
}

/// Formats an expression on one line, or returns `None` if the text is longer than `room`.
fn flat_within(expr: &Expr, room: usize) -> Option<String> {
    let mut bounded = Bounded {
        text: String::new(),
        room,
    };
    write!(bounded, "{}", Flat(expr)).ok()?;
    Some(bounded.text)
}

/// A writer that fails when the line is full, so that formatting a long expression never takes longer than formatting one
/// line.
struct Bounded {
    text: String,
    room: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text += text;
        if self.text.len() > self.room {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// Formats elements separated by commas.
pub struct Commas<'a, T>(pub &'a [T]);

impl<'a, T> Display for Commas<'a, T>
where
    Flat<'a, T>: Display,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, element) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{}", Flat(element))?;
        }
        Ok(())
    }
}

/// Formats a node on one line.
pub struct Flat<'a, T>(pub &'a T);

impl Display for Flat<'_, Expr> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0.kind {
            ExprKind::Name(name) => f.write_str(name),
            ExprKind::Int(value) => write!(f, "{value}"),
            ExprKind::Real(_, digits) => f.write_str(digits),
            ExprKind::Text(text) => write!(f, "\"{text}\""),
            ExprKind::Bool(value) => write!(f, "{value}"),
            ExprKind::Field(value, name) => write!(f, "{}.{}", Flat(value), name.name),
            ExprKind::Glob(value) => write!(f, "{}.*", Flat(value)),
            ExprKind::Call(function, args) => write!(f, "{}({})", Flat(function), Commas(args)),
            ExprKind::Reduce(function, over) => write!(f, "{}({})", Flat(function), Flat(over)),
            ExprKind::Index(value, index) => write!(f, "{}[{}]", Flat(value), Commas(index)),
            ExprKind::List(elements) => write!(f, "[{}]", Commas(elements)),
            ExprKind::Named(name, value) => write!(f, "{} = {}", name.name, Flat(value)),
            ExprKind::Comprehension(over) => write!(f, "[{}]", Flat(over)),
            ExprKind::Unary(op, value) => write!(f, "{op}{}", Flat(value)),
            ExprKind::Binary(op, left, right) => write!(f, "{} {op} {}", Flat(left), Flat(right)),
            ExprKind::If(condition, yes, no) => {
                write!(f, "if {} {{ {} }} else ", Flat(condition), Flat(yes))?;
                match &*no.kind {
                    ExprKind::If(..) => write!(f, "{}", Flat(no)),
                    _ => write!(f, "{{ {} }}", Flat(no)),
                }
            }
            ExprKind::Paren(inner) => write!(f, "({})", Flat(inner)),
            ExprKind::Error => f.write_str("<error>"),
        }
    }
}

impl Display for Flat<'_, Arg> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.0.name {
            write!(f, "{} = ", name.name)?;
        }
        write!(f, "{}", Flat(&self.0.value))
    }
}

impl Display for Flat<'_, Index> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Index::At(value) => write!(f, "{}", Flat(value)),
            Index::Range(from, to) => write!(f, "{}..{}", Flat(from), Flat(to)),
        }
    }
}

impl Display for Flat<'_, Comprehension> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comprehension {
            element,
            name,
            from,
            to,
        } = self.0;
        write!(
            f,
            "{} for {} in {}..{}",
            Flat(element),
            name.name,
            Flat(from),
            Flat(to)
        )
    }
}

impl Display for Flat<'_, TypeExpr> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name.name)?;
        if !self.0.args.is_empty() {
            write!(f, "({})", Commas(&self.0.args))?;
        }
        match &self.0.dims {
            Some(dims) => write!(f, "[{}]", Commas(dims)),
            None => Ok(()),
        }
    }
}

impl Display for Flat<'_, Param> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.name.name, Flat(&self.0.ty))?;
        match &self.0.default {
            Some(value) => write!(f, " = {}", Flat(value)),
            None => Ok(()),
        }
    }
}

impl BinaryOp {
    /// Returns the precedence level; a larger number binds more tightly.
    fn level(self) -> u8 {
        match self {
            BinaryOp::Or => 1,
            BinaryOp::And => 2,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 3,
            BinaryOp::Add | BinaryOp::Sub => 4,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::MatMul => 5,
            BinaryOp::Pow => 6,
        }
    }
}

impl Display for BinaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::MatMul => "@",
            BinaryOp::Pow => "^",
        })
    }
}

impl Display for UnaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
        })
    }
}
