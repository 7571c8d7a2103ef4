//! Prints the text form of a function. The printer does not depend on any particular op.
//!
//! ```text
//! fn density(%0 x: real[4]) -> (log_density: %2) {
//!   %1 = exp %0 : real[4] @ "weights"
//!   %2 = reduce_sum %1, axes = [0] : real[]
//! }
//! ```

use crate::attr::Attr;
use crate::function::{Function, NodeKind, Value};
use std::fmt::{self, Write};

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self, 0)
    }
}

fn print(out: &mut dyn Write, function: &Function, depth: usize) -> fmt::Result {
    write!(out, "fn {}(", Name(&function.name))?;
    for (at, param) in function.params.iter().enumerate() {
        let name = function.param_name(*param).map_or("", |name| name);
        let comma = if at > 0 { ", " } else { "" };
        write!(out, "{comma}{param} {}: {}", Name(name), function.ty(*param))?;
    }
    out.write_str(") -> (")?;
    for (at, (name, value)) in function.results.iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        write!(out, "{comma}{}: {value}", Name(name))?;
    }
    out.write_str(") {\n")?;
    for value in function.nodes.ids() {
        print_node(out, function, value, depth + 1)?;
    }
    indent(out, depth)?;
    out.write_str("}")
}

fn print_node(out: &mut dyn Write, function: &Function, value: Value, depth: usize) -> fmt::Result {
    let node = &function.nodes[value];
    let NodeKind::Apply { op, args, attrs } = &node.kind else {
        return Ok(());
    };
    indent(out, depth)?;
    write!(out, "{value} = {}", op.name)?;
    let mut separator = " ";
    for arg in args {
        write!(out, "{separator}{arg}")?;
        separator = ", ";
    }
    for (spec, attr) in op.attrs.iter().zip(attrs) {
        write!(out, "{separator}{} = ", spec.name)?;
        print_attr(out, attr, depth)?;
        separator = ", ";
    }
    write!(out, " : {}", node.ty)?;
    if let Some(label) = &node.label {
        write!(out, " @ {}", Quoted(label))?;
    }
    out.write_str("\n")
}

fn print_attr(out: &mut dyn Write, attr: &Attr, depth: usize) -> fmt::Result {
    match attr {
        Attr::Dist(dist) => write!(out, "{}", Quoted(&dist.name)),
        Attr::Dim(dim) => write!(out, "{dim}"),
        Attr::DType(dtype) => write!(out, "{dtype}"),
        Attr::Function(function) => print(out, function, depth),
        Attr::Int(value) => write!(out, "{value}"),
        Attr::Ints(values) => write!(out, "{values:?}"),
        Attr::Real(value) => write!(out, "{value:?}"),
        Attr::Reals(values) => write!(out, "{values:?}"),
        Attr::Shape(shape) => write!(out, "{shape}"),
        Attr::Symbol(name) => write!(out, "{}", Quoted(name)),
    }
}

fn indent(out: &mut dyn Write, depth: usize) -> fmt::Result {
    (0..depth).try_for_each(|_| out.write_str("  "))
}

/// A name as a single token. It is printed without quotes if the parser can read it as a word.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let starts = self
            .0
            .starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'));
        let word = starts
            && self
                .0
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$'));
        if word {
            f.write_str(self.0)
        } else {
            write!(f, "{}", Quoted(self.0))
        }
    }
}

/// A name in quotes. The text form does not have escapes, so a quote in the name becomes an
/// apostrophe.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "'"))
    }
}
