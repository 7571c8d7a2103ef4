//! The errors in problems, with codes for `bnnc explain`.

use super::Problem;
use super::tree::Position;
use bnnc_base::diagnostic::{Code, Diagnostic, Fault};

/// All codes of this crate, in order.
pub static CODES: &[&Code] = &[
    &BAD_TEXT,
    &BAD_PROBLEM,
    &NOT_LINEAR,
    &TOO_LARGE,
    &UNBOUNDED,
    &GAVE_UP,
    &OVERFLOW,
];

/// A text that is neither JSON nor SMT-LIB.
pub static BAD_TEXT: Code = Code {
    id: "E0701",
    title: "a problem that cannot be parsed",
    explain: "A problem of weighted model integration is a JSON file (an instance, a list of instances, or \
              the density of pywmi and wmpy) or an SMT-LIB 2 file. Here the text itself breaks off or \
              breaks its own rules: a bracket or a quote that is not closed, a comma too many, an escape \
              that does not exist.\n\nWrong: `{\"formula\": [\"<=\", \"x\", \"1\"}`.\n\nRight: \
              `{\"formula\": [\"<=\", \"x\", \"1\"]}`.",
};

/// A well-formed text that is not a problem.
pub static BAD_PROBLEM: Code = Code {
    id: "E0702",
    title: "a problem that does not make sense",
    explain: "The text can be read, but something in it is not what stands there in a problem: a name that \
              is not declared, an operator that does not exist or has too few arguments, a number where a \
              formula belongs, a missing key.\n\nWrong: `[\"<=\", \"x\", true]`.\n\nRight: `[\"<=\", \
              \"x\", \"1/2\"]`, with `x` among the `reals`.\n\nIn JSON a Boolean is `[\"b\", \"name\"]`, a \
              real its name, and a number a string such as `\"1/3\"`, `\"0.1\"` or `\"1e-9\"`, which is \
              kept exactly.",
};

/// A constraint or a weight outside what can be integrated exactly.
pub static NOT_LINEAR: Code = Code {
    id: "E0703",
    title: "a constraint that is not linear, or a weight that is no polynomial",
    explain: "Constraints compare piecewise linear terms; weights are piecewise polynomials. Products of \
              variables in a constraint, and quotients and functions of variables anywhere, have no exact \
              integral here.\n\nWrong: `(assert (<= (* x y) 1.0))`.\n\nRight: `(assert (<= (+ x y) 1.0))`, \
              or the product in the weight.",
};

/// A problem beyond the limits of the readers.
pub static TOO_LARGE: Code = Code {
    id: "E0704",
    title: "a problem beyond the bounds of the reader",
    explain: "Numbers may have 1000 digits, powers may go up to 4096, and terms and formulas may be nested \
              400 deep. Definitions that are used several times count once.\n\nWrong: `[\"^\", \"x\", \
              \"100000\"]`.\n\nRight: `[\"^\", \"x\", \"100\"]`.",
};

/// An integral over an unbounded region.
pub static UNBOUNDED: Code = Code {
    id: "E0705",
    title: "an unbounded problem",
    explain: "The region reaches to infinity in the direction that is named, and the weight is not zero \
              there, so that the integral is infinite or does not exist. Parts of zero weight may be \
              unbounded.\n\nWrong: `\"reals\": [[\"x\", \"0\", null]]` with `\"weight\": \"1\"`.\n\nRight: \
              `\"reals\": [[\"x\", \"0\", \"10\"]]`, or a weight such as `[\"ite\", [\"<=\", \"x\", \
              \"1\"], \"1\", \"0\"]`.",
};

/// A partial result.
pub static GAVE_UP: Code = Code {
    id: "E0706",
    title: "a problem that is more work than allowed",
    explain: "The work was given up: after `--max-regions` regions, after many more cases, or after `--max-seconds`; where it needs more \
              than `--max-memory`, which without the option is the memory that is free; where cases are nested too deep; or where one region has too many faces, or its weight too many monomials, for \
              an exact integral (a power of a linear form counts as one in its form, however many it expands to). The value is that of what was done, and its bound holds for the whole: what \
              is left out contributes at most the volume of its box times the largest weight there.\n\nWrong: \
              `bnnc wmi problem.json --max-regions 10` for a problem of 12 regions.\n\nRight: a larger \
              `--max-regions`, and `--max-steps` where one region is too much work. The other bounds are fixed: \
              fewer variables in one constraint, lower powers or a formula in several parts are less work.",
};

/// A result that double precision cannot represent.
pub static OVERFLOW: Code = Code {
    id: "E0707",
    title: "an integral above the largest number",
    explain: "The integral is larger than double precision can hold, about 1.8e308. As a fraction it has no such limit, and the logarithm \
              of its magnitude is in the note and under `log_value` of `--json`. What is too small is no error: the value is 0, its \
              bound is one on the absolute error, and `log_value` tells how small it is.\n\n\
              Wrong: `bnnc wmi problem.json` where `x` is from 0 to `1e200` and the weight is `x^2`.\n\nRight: the same with \
              `--exact`, or variables in larger units.",
};

/// An error in a text, before the name of its file is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    /// The code.
    pub code: &'static Code,
    /// Its position.
    pub at: Position,
    /// The message: the mistake and the expectation.
    pub message: String,
    /// The advice, if there is any.
    pub help: Option<String>,
}

impl Flaw {
    /// An error without advice.
    pub(super) fn new(code: &'static Code, at: Position, message: impl Into<String>) -> Flaw {
        let message = message.into();
        Flaw {
            code,
            at,
            message,
            help: None,
        }
    }

    /// The error of a well-formed text that is not a problem.
    pub(super) fn problem(at: Position, message: impl Into<String>) -> Flaw {
        Flaw::new(&BAD_PROBLEM, at, message)
    }

    /// The error of a problem beyond the limits of the readers.
    pub(super) fn large(at: Position, message: impl Into<String>) -> Flaw {
        Flaw::new(&TOO_LARGE, at, message)
    }

    /// Adds advice.
    pub(super) fn help(mut self, text: impl Into<String>) -> Flaw {
        self.help = Some(text.into());
        self
    }

    /// Converts the error to a diagnostic.
    pub(super) fn diagnostic(self, file: &str) -> Box<Diagnostic> {
        let (line, column) = self.at.into();
        let mut diagnostic = Diagnostic::data(self.code, file, line, column, self.message);
        diagnostic.fault = Fault::Program;
        diagnostic.help.extend(self.help);
        Box::new(diagnostic)
    }
}

/// The diagnostic of an integral that is infinite or does not exist. `direction` is the unbounded direction, variable by variable.
pub fn unbounded(file: &str, problem: &Problem, direction: &[(String, String)]) -> Diagnostic {
    let steps: Vec<String> = direction
        .iter()
        .map(|(name, step)| format!("{name} by {step}"))
        .collect();
    let text = match problem.name.as_str() {
        "" => "the region reaches to infinity where the weight is not zero".to_owned(),
        name => format!("the region of `{name}` reaches to infinity where the weight is not zero"),
    };
    about(&UNBOUNDED, file, problem, text)
        .note(format!("the direction is {}", steps.join(", ")))
        .help("bound these variables, or make the weight zero far out")
}

/// The diagnostic of a partial result.
pub fn gave_up(file: &str, problem: &Problem, reason: &str) -> Diagnostic {
    let text = match problem.name.as_str() {
        "" => format!("given up: {reason}"),
        name => format!("`{name}` was given up: {reason}"),
    };
    about(&GAVE_UP, file, problem, text)
        .help("`--max-regions` allows more regions and cases, `--max-steps` more work on one, `--max-seconds` more time, `--max-memory` more memory; the bound holds for the whole integral")
}

/// The diagnostic of a result that double precision cannot represent, with its logarithm if that is known.
pub fn overflow(file: &str, problem: &Problem, log_value: Option<f64>) -> Diagnostic {
    let text = match problem.name.as_str() {
        "" => "the integral is too large for double precision".to_owned(),
        name => format!("the integral of `{name}` is too large for double precision"),
    };
    let mut diagnostic = about(&OVERFLOW, file, problem, text)
        .help("`--exact` gives it as a fraction; or write the variables in larger units");
    diagnostic
        .notes
        .extend(log_value.map(|log| format!("the logarithm of its magnitude is {log}")));
    diagnostic
}

fn about(code: &'static Code, file: &str, problem: &Problem, text: String) -> Diagnostic {
    let (line, column) = problem.at;
    let mut diagnostic = Diagnostic::data(code, file, line, column, text);
    diagnostic.fault = Fault::Program;
    diagnostic
}
