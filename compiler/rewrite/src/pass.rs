//! A pass: one step of a compilation, and what holds before and after it.

use crate::rule::Firing;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_graph::function::Function;
use bnnc_graph::spec::Spec;

/// One step of a compilation.
#[derive(Debug)]
pub struct Pass {
    /// The name on the command line: an argument of `bnnc emit`, and of `--without` unless it is required.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// What it takes.
    pub from: Spec,
    /// What it leaves.
    pub to: Spec,
    /// Whether later passes rely on it, so that it cannot be switched off.
    pub required: bool,
    /// How it runs.
    pub run: PassRun,
}

/// How a pass runs.
#[derive(Debug)]
pub enum PassRun {
    /// It rewrites any function.
    Function(fn(&Function, &mut Context) -> Function),
    /// It needs the model and the options of the method, which runs it: see [`crate::pipeline::step`].
    Method,
}

/// What passes share in one compilation.
#[derive(Clone, Debug)]
pub struct Context {
    /// Names of passes and rules that are switched off.
    pub without: Vec<String>,
    /// Whether the functions of every pass are verified. Debug builds do it unasked.
    pub verify: bool,
    /// Every firing of a rule, if somebody watches.
    pub trace: Option<Vec<Firing>>,
    /// How long each pass took, in the order in which they began.
    pub timings: Vec<Timing>,
    /// What the user should know, though nothing stops.
    pub warnings: Vec<Diagnostic>,
    /// The pass whose functions are kept.
    pub watched: Option<&'static str>,
    /// The functions that it left, in order.
    pub kept: Vec<Function>,
}

impl Default for Context {
    fn default() -> Context {
        Context {
            without: Vec::new(),
            verify: cfg!(debug_assertions),
            trace: None,
            timings: Vec::new(),
            warnings: Vec::new(),
            watched: None,
            kept: Vec::new(),
        }
    }
}

impl Context {
    /// Whether a pass is switched off.
    pub fn declines(&self, pass: &Pass) -> bool {
        !pass.required && self.without.iter().any(|name| name == pass.name)
    }

    /// Runs passes whose rewrites are of no interest to `--trace-rewrites`.
    pub fn untraced<T>(&mut self, run: impl FnOnce(&mut Context) -> T) -> T {
        let trace = self.trace.take();
        let result = run(self);
        self.trace = trace;
        result
    }
}

/// How long one pass took.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The pass.
    pub pass: &'static str,
    /// Seconds, with the passes that it runs itself.
    pub seconds: f64,
    /// Nodes of the functions that it left.
    pub nodes: usize,
}
