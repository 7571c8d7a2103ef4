//! `bnnc wmi`: solves weighted model integration problems from files.

use crate::arguments::Wmi;
use crate::session::{self, Display};
use bnnc_abi::settings;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::SourceMap;
use bnnc_command::memory;
use bnnc_command::terminal::{self, OK};
use bnnc_wmi::integral::IntegrationLimits;
use bnnc_wmi::problem::{Problem, diagnostics, read};
use bnnc_wmi::rational::Rational;
use bnnc_wmi::solve::{Solution, Status, solve};
use std::time::Instant;

/// Runs the command.
pub fn run(arguments: &Wmi) -> u8 {
    let display = Display { json: arguments.json };
    let file = arguments.file.display().to_string();
    let problems = session::read(&arguments.file).and_then(|text| read(&file, &text));
    let problems = match problems {
        Ok(problems) => problems,
        Err(diagnostic) => return display.alone(&diagnostic),
    };
    let asked = arguments.max_memory.as_deref().map(settings::bytes).transpose();
    let memory = match asked {
        Ok(memory) => memory.or_else(memory::available).unwrap_or(u64::MAX),
        Err(diagnostic) => return display.alone(&diagnostic),
    };
    let mut faults = Vec::new();
    for problem in &problems {
        let started = Instant::now();
        let effort = IntegrationLimits {
            tolerance: arguments.tolerance,
            exact: arguments.exact,
            regions: arguments.max_regions,
            steps: arguments.max_steps,
            memory,
            deadline: arguments
                .max_seconds
                .and_then(|allowed| started.checked_add(allowed)),
        };
        let solution = solve(problem, &effort);
        let seconds = started.elapsed().as_secs_f64();
        terminal::say(&match arguments.json {
            true => object(problem, &solution, seconds),
            false => line(problem, &solution, seconds, arguments.exact),
        });
        faults.extend(fault(&file, problem, &solution));
    }
    match faults.is_empty() {
        true => OK,
        false => display.show(&faults, &SourceMap::default()),
    }
}

fn word(status: &Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Empty => "empty",
        Status::Degenerate => "degenerate",
        Status::Unbounded(_) => "unbounded",
        Status::Overflow => "overflow",
        Status::GaveUp(_) => "gave_up",
    }
}

fn fault(file: &str, problem: &Problem, solution: &Solution) -> Option<Diagnostic> {
    match &solution.status {
        Status::Ok | Status::Empty | Status::Degenerate => None,
        Status::Unbounded(direction) => {
            let shown = |(name, step): &(String, Rational)| (name.clone(), fraction(step));
            let direction: Vec<(String, String)> = direction.iter().map(shown).collect();
            Some(diagnostics::unbounded(file, problem, &direction))
        }
        Status::Overflow => Some(diagnostics::overflow(file, problem, solution.log_value())),
        Status::GaveUp(reason) => Some(diagnostics::gave_up(file, problem, reason)),
    }
}

/// Formats a rational as `3/4`, or without a denominator if it is an integer.
fn fraction(number: &Rational) -> String {
    match number.is_int() {
        true => number.numerator().to_string(),
        false => format!("{}/{}", number.numerator(), number.denominator()),
    }
}

/// Returns `-` if the exact value is known and negative.
fn sign(solution: &Solution) -> &'static str {
    match solution
        .exact
        .as_ref()
        .is_some_and(|exact| *exact < Rational::ZERO)
    {
        true => "-",
        false => "",
    }
}

fn line(problem: &Problem, solution: &Solution, seconds: f64, is_exact: bool) -> String {
    let mut line = String::new();
    if !problem.name.is_empty() {
        line.push_str(&format!("{}: ", problem.name));
    }
    let value = Some(format!("{:?} ± {:.1e}", solution.value, solution.error_bound));
    let value = value.filter(|_| solution.value.is_finite());
    let logarithm = solution
        .log_value()
        .filter(|_| solution.value.is_finite() && !is_exact)
        .map(|log| format!("{}exp({log:?})", sign(solution)));
    let exact = solution.exact.as_ref().filter(|_| is_exact).map(fraction);
    let known: Vec<String> = value.into_iter().chain(logarithm).chain(exact).collect();
    if !known.is_empty() {
        line.push_str(&format!("{}, ", known.join(" = ")));
    }
    let regions = match solution.regions {
        1 => "1 region".to_owned(),
        count => format!("{count} regions"),
    };
    let (word, method) = (word(&solution.status), &solution.method);
    line.push_str(&format!("{word}, {regions}, {method}, {seconds:.3e} s\n"));
    line
}

fn object(problem: &Problem, solution: &Solution, seconds: f64) -> String {
    let known = |number: f64| Some(number).filter(|number| number.is_finite());
    let mut object = serde_json::json!({
        "status": word(&solution.status),
        "value": known(solution.value),
        "error_bound": known(solution.error_bound),
        "exact": solution.exact.as_ref().map(fraction),
        "log_value": solution.log_value(),
        "regions": solution.regions,
        "method": solution.method,
        "seconds": seconds,
    });
    if !problem.name.is_empty() {
        object["name"] = problem.name.as_str().into();
    }
    format!("{object}\n")
}
