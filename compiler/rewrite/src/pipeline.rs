//! Runs passes one after another: times them, skips those that are switched off, and verifies what each leaves.

use crate::pass::{Context, Pass, Timing};
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_graph::verify::verify;
use std::time::Instant;

/// `function` after all `passes`. Debug builds verify before and after each pass, and the
/// fault names it.
pub fn run(function: &Function, passes: &[&'static Pass], context: &mut Context) -> Result<Function, Fault> {
    let mut current = function.clone();
    for pass in passes {
        if !pass.required && context.without.iter().any(|name| name == pass.name) {
            continue;
        }
        if cfg!(debug_assertions) {
            verify(&current, pass.from).map_err(|fault| blame("before", pass, &fault))?;
        }
        let before = current.nodes.len();
        let start = Instant::now();
        let next = (pass.run)(&current, context);
        let seconds = start.elapsed().as_secs_f64();
        if cfg!(debug_assertions) {
            verify(&next, pass.to).map_err(|fault| blame("after", pass, &fault))?;
        }
        context.timings.push(Timing {
            pass: pass.name,
            seconds,
            before,
            after: next.nodes.len(),
        });
        current = next;
    }
    Ok(current)
}

fn blame(when: &str, pass: &Pass, fault: &Fault) -> Fault {
    match fault {
        Fault::Bug(why) => Fault::Bug(format!("{when} `{}`: {why}", pass.name)),
        Fault::Limit(_) | Fault::Told(_) => fault.clone(),
    }
}
