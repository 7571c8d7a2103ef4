//! Passes: the steps of a compilation. A specification describes the input of each pass, and
//! another its output.

use crate::rule::Firing;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_graph::spec::{DENSITY, Spec};

/// One step of a compilation.
#[derive(Debug)]
pub struct Pass {
    /// The name of the pass on the command line. `bnnc emit` accepts the name of every pass.
    /// `--without` accepts the name of every pass that is not required.
    pub name: &'static str,
    /// The specification of the pass's input.
    pub from: Spec,
    /// The specification of the pass's output.
    pub to: Spec,
    /// True if later passes rely on the pass. A required pass cannot be disabled.
    pub required: bool,
    /// The implementation of the pass.
    pub run: PassRun,
}

impl Pass {
    /// Creates a pass of a method on which later passes rely. Its input and output are densities.
    pub const fn required(name: &'static str) -> Pass {
        Pass {
            name,
            from: DENSITY,
            to: DENSITY,
            required: true,
            run: PassRun::Method,
        }
    }

    /// Creates a pass of a method that the user can disable. Its input and output are densities.
    pub const fn optional(name: &'static str) -> Pass {
        Pass {
            required: false,
            ..Pass::required(name)
        }
    }
}

/// The implementation of a pass.
#[derive(Debug)]
pub enum PassRun {
    /// A pass that rewrites any one function.
    Function(fn(&Function, &mut PassContext) -> Result<Function, Fault>),
    /// A pass that needs the model and the options of the method. The method itself runs the pass;
    /// see [`crate::pipeline::step`].
    Method,
}

/// The state that all passes of one compilation share.
#[derive(Clone, Debug)]
pub struct PassContext {
    /// The names of passes and rules that are disabled.
    pub without: Vec<String>,
    /// True if the functions of every pass are verified. True by default in debug builds.
    pub verify: bool,
    /// Every firing of a rule. `None` if rewrites are not traced.
    pub trace: Option<Vec<Firing>>,
    /// The time of each pass, in the order of their starts.
    pub timings: Vec<Timing>,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// The name of the pass whose results are kept in `kept`.
    pub watched: Option<&'static str>,
    /// The functions that the watched pass returned, in order.
    pub kept: Vec<Function>,
}

impl Default for PassContext {
    fn default() -> PassContext {
        PassContext {
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

impl PassContext {
    /// Returns whether a pass is disabled.
    pub fn declines(&self, pass: &Pass) -> bool {
        !pass.required && self.without.iter().any(|name| name == pass.name)
    }

    /// Returns a context with the same options for passes that run on another thread. Nothing is recorded in it yet.
    pub fn fork(&self) -> PassContext {
        PassContext {
            without: self.without.clone(),
            verify: self.verify,
            trace: self.trace.as_ref().map(|_| Vec::new()),
            watched: self.watched,
            ..PassContext::default()
        }
    }

    /// Appends everything that a fork of this context recorded.
    pub fn absorb(&mut self, fork: PassContext) {
        if let Some(trace) = &mut self.trace {
            trace.extend(fork.trace.into_iter().flatten());
        }
        self.timings.extend(fork.timings);
        self.warnings.extend(fork.warnings);
        self.kept.extend(fork.kept);
    }

    /// Runs passes, but does not record their rewrites for `--trace-rewrites`.
    pub fn untraced<T>(&mut self, run: impl FnOnce(&mut PassContext) -> T) -> T {
        let trace = self.trace.take();
        let result = run(self);
        self.trace = trace;
        result
    }
}

/// The time of one pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The pass.
    pub pass: &'static str,
    /// The time in seconds, including other passes that this pass runs.
    pub seconds: f64,
    /// The total number of nodes in the functions that the pass returns.
    pub nodes: usize,
}
