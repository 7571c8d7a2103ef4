//! The errors in problems. Their codes can be passed to `bnnc explain`.

use super::Problem;
use super::tree::Position;
use bnnc_base::diagnostic::{Code, Diagnostic, Place};
use bnnc_base::{codes, reports};

codes! {
    /// The error for a text that is neither JSON nor SMT-LIB.
    pub BAD_TEXT = "E0701", "a problem that cannot be parsed":
        "A problem of weighted model integration is a JSON file (an instance, a list of instances, or the density of \
         pywmi and wmpy) or an SMT-LIB 2 file. Here the text ends too early or violates the format: for example, a \
         bracket or a quote is not closed, there is an extra comma, or an escape sequence does not exist.\n\n\
         Wrong: `{\"formula\": [\"<=\", \"x\", \"1\"}`.\n\n\
         Right: `{\"formula\": [\"<=\", \"x\", \"1\"]}`.";

    /// The error for a text that is well-formed but does not describe a problem.
    pub BAD_PROBLEM = "E0702", "a problem that is not valid":
        "The text can be parsed, but a part of it is not valid: for example, a name is not declared, an operator does not exist or has too few arguments, a number \
         stands where a formula is expected, or a key is missing.\n\nWrong: `[\"<=\", \"x\", true]`.\n\nRight: `[\"<=\", \
         \"x\", \"1/2\"]`, with `x` among the `reals`.\n\nIn JSON, write a Boolean variable as `[\"b\", \"name\"]`, a real variable as its name, and a number as a \
         string such as `\"1/3\"`, `\"0.1\"` or `\"1e-9\"`. Numbers are represented exactly.";

    /// The error for a constraint or a weight that cannot be integrated exactly.
    pub NOT_LINEAR = "E0703", "a constraint that is not linear, or a weight that is not a polynomial":
        "Constraints compare piecewise linear terms; weights are piecewise polynomials. bnnc cannot integrate exactly if a constraint contains a \
         product of variables, or if a quotient or a function of variables occurs anywhere.\n\nWrong: `(assert (<= (* x y) 1.0))`.\n\nRight: `(assert (<= (+ x y) 1.0))`, \
         or the product in the weight.";

    /// The error for a problem that exceeds the limits of the readers.
    pub TOO_LARGE = "E0704", "a problem beyond the limits of the parser":
        "Numbers may have 1000 digits, powers may go up to 4096, and terms and formulas may be nested 400 deep. A definition counts \
         once, even if it is used several times.\n\n\
         Wrong: `[\"^\", \"x\", \"100000\"]`.\n\n\
         Right: `[\"^\", \"x\", \"100\"]`.";

    /// The error for an integral over an unbounded region.
    pub UNBOUNDED = "E0705", "an unbounded problem":
        "The region is unbounded in the direction that the message names, and the weight is not zero there, so that the integral is infinite or does not exist. A \
         region in which the weight is zero may be unbounded.\n\nWrong: `\"reals\": [[\"x\", \"0\", null]]` with `\"weight\": \"1\"`.\n\nRight: \
         `\"reals\": [[\"x\", \"0\", \"10\"]]`, or a weight such as `[\"ite\", [\"<=\", \"x\", \
         \"1\"], \"1\", \"0\"]`.";

    /// The code of the report about a partial result.
    pub GAVE_UP = "E0706", "a problem that needs more work than allowed":
        "bnnc stopped for one of these reasons: it reached `--max-regions` regions, `--max-seconds`, or a limit on the number of cases; it needs \
         more memory than `--max-memory` allows (by default, the free memory); cases are nested too deep; or one region has too many faces, or a \
         weight with too many monomials, for an exact \
         integral. A power of a linear form counts as one monomial. The printed value is the integral over the regions that bnnc finished. \
         Its error bound covers the whole integral: a region that was left out contributes at most the volume of its \
         box times the largest weight there.\n\n\
         Wrong: `bnnc wmi problem.json --max-regions 10` for a problem of 12 regions.\n\n\
         Right: a larger `--max-regions`, and a larger `--max-steps` if one region needs too much work. The other limits are fixed. To stay below \
         them, use fewer variables in each constraint, lower powers, or split the formula into several parts.";

    /// The code of the report about a result that double precision cannot represent.
    pub OVERFLOW = "E0707", "an integral above the largest number":
        "The integral is larger than double precision can hold, about 1.8e308. Fractions do not have such a limit. The note, and `log_value` in the \
         output of `--json`, contain the logarithm of the magnitude. An integral that is too small for double precision is not an error: its value \
         is 0, with a bound on the absolute error, and `log_value` is the logarithm of the integral.\n\n\
         Wrong: `bnnc wmi problem.json` where `x` is from 0 to `1e200` and the weight is `x^2`.\n\n\
         Right: the same command with `--exact`, or variables in larger units.";
}

/// An error in a text. The error does not include the name of the file, because the readers do not
/// know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    /// The code of the error.
    pub code: &'static Code,
    /// The position of the error in the text.
    pub at: Position,
    /// The message. It describes the mistake and, where possible, what is expected.
    pub message: String,
    /// Advice on how to correct the error, if there is any.
    pub help: Option<String>,
}

impl Flaw {
    /// Creates an error without advice.
    pub(super) fn new(code: &'static Code, at: Position, message: impl Into<String>) -> Flaw {
        let message = message.into();
        Flaw {
            code,
            at,
            message,
            help: None,
        }
    }

    /// Creates the error for a text that is well-formed but does not describe a problem.
    pub(super) fn problem(at: Position, message: impl Into<String>) -> Flaw {
        Flaw::new(&BAD_PROBLEM, at, message)
    }

    /// Creates the error for a problem that exceeds the limits of the readers.
    pub(super) fn large(at: Position, message: impl Into<String>) -> Flaw {
        Flaw::new(&TOO_LARGE, at, message)
    }

    /// Adds advice to the error.
    pub(super) fn help(mut self, text: impl Into<String>) -> Flaw {
        self.help = Some(text.into());
        self
    }

    /// Converts the error to a diagnostic for the file with this name.
    pub(super) fn diagnostic(self, file: &str) -> Box<Diagnostic> {
        let diagnostic = Diagnostic::program_at(self.code, place(file, self.at.into()), self.message);
        Box::new(diagnostic.help_if(self.help))
    }
}

reports! {
    /// Creates the diagnostic for an integral that is infinite or does not exist. `direction` is a direction in which the region is
    /// unbounded: the name of each variable, and its step.
    fn unbounded(file: &str, problem: &Problem, direction: &[(String, String)])
        let steps = direction.iter().map(|(name, step)| format!("{name} by {step}")).collect::<Vec<_>>();
        = program_at(UNBOUNDED, place(file, problem.at), "the region{} is unbounded where the weight is not zero", of(problem))
        .note("the unbounded direction is {}", steps.join(", "))
        .help("bound these variables, or make the weight zero far away");

    /// Creates the diagnostic for a partial result.
    fn gave_up(file: &str, problem: &Problem, reason: &str)
        let what = match of(problem) {
            name if name.is_empty() => "integration".to_owned(),
            name => format!("the integration{name}"),
        };
        = program_at(GAVE_UP, place(file, problem.at), "{what} stopped early: {reason}")
        .help("raise `--max-regions` for more regions and cases, `--max-steps` for more work on each region, `--max-seconds` for more time, or \
               `--max-memory` for more memory; the error bound printed with the value covers the whole integral, including what was left out");

    /// Creates the diagnostic for a result that double precision cannot represent. `log_value` is the logarithm of the result if it is
    /// known.
    fn overflow(file: &str, problem: &Problem, log_value: Option<f64>)
        = program_at(OVERFLOW, place(file, problem.at), "the integral{} is too large for double precision", of(problem))
        .help("write `--exact` to get a fraction, or use larger units for the variables")
        .notes(log_value.map(|log| format!("the logarithm of its magnitude is {log}")));
}

/// Returns ` of` and the name of the problem, or an empty text if the problem has no name.
fn of(problem: &Problem) -> String {
    match problem.name.as_str() {
        "" => String::new(),
        name => format!(" of `{name}`"),
    }
}

fn place(file: &str, (row, column): (usize, usize)) -> Place {
    let path = file.into();
    Place::File { path, row, column }
}
