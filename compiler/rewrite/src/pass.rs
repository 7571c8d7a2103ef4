//! A pass: one step from functions to functions, and what holds before and after it.

use crate::rule::Firing;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_graph::function::Function;
use bnnc_graph::spec::Spec;

/// One step from functions to functions.
#[derive(Debug)]
pub struct Pass {
    /// A verb: `simplify`. Also the argument of `--without`.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// What it takes.
    pub from: Spec,
    /// What it leaves.
    pub to: Spec,
    /// Whether later passes rely on it, so that it cannot be switched off.
    pub required: bool,
    /// Does it.
    pub run: fn(&Function, &mut Context) -> Function,
}

/// What passes share in one compilation.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Names of passes and rules that are switched off.
    pub without: Vec<String>,
    /// Every firing of a rule, if somebody watches.
    pub trace: Option<Vec<Firing>>,
    /// How long each pass took, in order.
    pub timings: Vec<Timing>,
    /// What the user should know, though nothing stops.
    pub warnings: Vec<Diagnostic>,
}

/// How long one pass took.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The pass.
    pub pass: &'static str,
    /// Seconds.
    pub seconds: f64,
    /// Nodes before.
    pub before: usize,
    /// Nodes after.
    pub after: usize,
}
