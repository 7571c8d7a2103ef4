//! Runs passes in order. Also measures their times, skips disabled passes, and verifies the
//! results.

use crate::pass::{Pass, PassContext, PassRun, Timing};
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_graph::spec::Spec;
use bnnc_graph::verify::verify;
use std::time::Instant;

/// A result of a pass that consists of functions. These functions can be verified and printed.
pub trait StageFunctions {
    /// Returns the functions in the order of printing.
    fn functions(&self) -> Vec<&Function>;
}

impl StageFunctions for Function {
    fn functions(&self) -> Vec<&Function> {
        vec![self]
    }
}

impl<T: StageFunctions> StageFunctions for Option<T> {
    fn functions(&self) -> Vec<&Function> {
        self.iter().flat_map(StageFunctions::functions).collect()
    }
}

impl<A: StageFunctions, B: StageFunctions> StageFunctions for (A, B) {
    fn functions(&self) -> Vec<&Function> {
        [self.0.functions(), self.1.functions()].concat()
    }
}

/// Applies all `passes` to `function`, and returns the result. If the context requests
/// verification, the function is verified before and after each pass. An error names the pass.
pub fn run(
    function: &Function,
    passes: &[&'static Pass],
    context: &mut PassContext,
) -> Result<Function, Fault> {
    let mut current = function.clone();
    for pass in passes {
        let PassRun::Function(run) = pass.run else {
            return Err(Fault::Bug(format!(
                "`{}` does not run on one function",
                pass.name
            )));
        };
        if context.declines(pass) {
            continue;
        }
        if context.verify {
            verified("before", pass, pass.from, &current)?;
        }
        current = step(pass, context, |context| run(&current, context))?;
    }
    Ok(current)
}

/// Runs the pass that `run` implements, and measures its time. If the context requests
/// verification, verifies the functions of the pass. If the pass is watched, keeps these functions.
///
/// # Errors
/// Returns the errors of `run`. It also returns an error if the verification fails, because the
/// pass then has a bug.
pub fn step<T: StageFunctions, E: From<Fault>>(
    pass: &'static Pass,
    context: &mut PassContext,
    run: impl FnOnce(&mut PassContext) -> Result<T, E>,
) -> Result<T, E> {
    let at = context.timings.len();
    context.timings.push(Timing {
        pass: pass.name,
        seconds: 0.0,
        nodes: 0,
    });
    let start = Instant::now();
    let left = run(context)?;
    let seconds = start.elapsed().as_secs_f64();
    let functions = left.functions();
    if let Some(timing) = context.timings.get_mut(at) {
        timing.seconds = seconds;
        timing.nodes = functions.iter().map(|function| function.nodes.len()).sum();
    }
    if context.verify {
        for function in &functions {
            verified("after", pass, pass.to, function)?;
        }
    }
    if context.watched == Some(pass.name) {
        context.kept.extend(functions.into_iter().cloned());
    }
    Ok(left)
}

fn verified(when: &str, pass: &Pass, spec: Spec, function: &Function) -> Result<(), Fault> {
    verify(function, spec).map_err(|fault| match fault {
        Fault::Bug(why) => Fault::Bug(format!("{when} `{}`: {why}", pass.name)),
        Fault::Limit(_) | Fault::Reported(_) => fault,
    })
}
