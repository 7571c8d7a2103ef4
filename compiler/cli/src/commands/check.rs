//! `bnnc check`: shows diagnostics and the cost report without running the program.

use crate::arguments::CheckArguments;
use crate::commands::run::timings;
use crate::session::{self, Display};
use bnnc_abi::manifest::{InferenceBlock, Manifest};
use bnnc_abi::settings;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_command::terminal::{self, OK};
use bnnc_core::diagnostics::size;
use bnnc_data::LoadedData;
use bnnc_data::describe::feeds;
use bnnc_driver::compile::compile;
use bnnc_methods::laplace::memory;
use bnnc_run::cost::peaks::earlier;
use bnnc_run::cost::precision;
use serde_json::json;
use std::collections::HashMap;

/// Runs the command.
pub fn run(arguments: &CheckArguments) -> Result<u8, u8> {
    let display = Display { json: arguments.json };
    let options = session::options(&arguments.compile, display)?;
    let limit = arguments.max_memory.as_deref().map(settings::bytes).transpose();
    let limit = limit.map_err(|found| display.alone(&found))?;
    let clock = std::time::Instant::now();
    let program = session::load(&arguments.file, &options, display)?;
    let checked = clock.elapsed().as_secs_f64();
    if program.module.infers.is_empty() {
        // Only inference blocks have a cost. For a program without inference blocks, the report
        // ends here.
        return Ok(OK);
    }
    let sources = session::sources(&program, &options, limit, display)?;
    let schemas = session::schemas_of(&sources);
    let mut compiled = compile(&program, &schemas, &options)
        .map_err(|failure| display.failure(&failure, &program.sources))?;
    display.show(&compiled.warnings, &program.sources);
    // A run reports a failure of the code generator, so the check waits for all machine code.
    let complete = match arguments.timings {
        true => timings(&mut compiled, clock, checked),
        false => compiled.wait().map(|_| ()),
    };
    complete.map_err(|fault| display.failure(&fault.into(), &program.sources))?;
    let mut status = OK;
    bnnc_run::cost::predict(&mut compiled.manifest, &schemas);
    for infer in &compiled.manifest.infers {
        if let Some(limit) = limit.filter(|limit| infer.cost.peak_bytes > *limit) {
            let rejection = bnnc_run::cost::advice::too_little_memory(&compiled.manifest, infer, limit);
            status = display.show(&[rejection], &program.sources);
        }
    }
    match arguments.json {
        true => {
            let infers: serde_json::Map<String, serde_json::Value> = compiled
                .manifest
                .infers
                .iter()
                .map(|infer| (infer.name.clone(), cost_json(&compiled.manifest, infer)))
                .collect();
            terminal::say(&format!(
                "{}\n",
                json!({ "program": compiled.manifest.program, "infer": infers })
            ));
        }
        false => {
            for infer in &compiled.manifest.infers {
                let fed = fed(infer, &sources, options.seed);
                let fed = fed.map_err(|found| display.show(&found, &program.sources))?;
                terminal::say(&cost_text(&compiled.manifest, infer, &fed));
            }
        }
    }
    Ok(status)
}

fn cost_json(manifest: &Manifest, infer: &InferenceBlock) -> serde_json::Value {
    let kl: serde_json::Map<String, serde_json::Value> = infer
        .reports
        .iter()
        .map(|site| (site.name.clone(), json!(site.kl)))
        .collect();
    let likelihood: serde_json::Map<String, serde_json::Value> = infer
        .reports
        .iter()
        .map(|site| (site.name.clone(), json!(site.likelihood)))
        .collect();
    json!({
        "method": infer.method,
        "precision": infer.precision.to_string(),
        "parameters": infer.cost.parameters,
        "variational_parameters": infer.cost.variational_parameters,
        "gradient_nodes": infer.cost.gradient_nodes,
        "flops_per_step": infer.cost.effort.flops,
        "bytes_per_step": infer.cost.effort.bytes,
        "peak_bytes": infer.cost.peak_bytes,
        "earlier_bytes": earlier(manifest, infer),
        "precision_bytes": precision(manifest, infer),
        "choosing_bytes": infer.laplace().and_then(memory::choosing),
        "kl": kl,
        "likelihood": likelihood,
    })
}

/// The largest number of columns that a list shows in full.
const MOST_COLUMNS: usize = 20;

/// Describes, in one line each, where the inputs and outputs of an inference come from.
fn fed(
    infer: &InferenceBlock,
    sources: &HashMap<String, LoadedData>,
    seed: u64,
) -> Result<String, Vec<Diagnostic>> {
    let Some(source) = sources.get(&infer.data) else {
        return Ok(String::new());
    };
    let preparation = source.dataset(0, seed)?.preparation;
    let mut text = String::new();
    for binding in &infer.bindings {
        let is_output = infer.outputs.iter().any(|output| output.name == binding.port);
        let kind = if is_output { "output" } else { "input" };
        let feeds = feeds(
            &binding.from,
            source.spec(),
            &source.schema().entries,
            &preparation,
        );
        let is_vector = feeds.len() > 1;
        for (at, from) in feeds.iter().take(MOST_COLUMNS).enumerate() {
            let name = match is_vector {
                true => format!("{}[{at}]", binding.port),
                false => binding.port.clone(),
            };
            text.push_str(&format!("  {:<26} {from}\n", format!("{kind} {name}")));
        }
        if let Some(more @ 1..) = feeds.len().checked_sub(MOST_COLUMNS) {
            text.push_str(&format!("  {:<26} and {more} more\n", ""));
        }
    }
    Ok(text)
}

fn cost_text(manifest: &Manifest, infer: &InferenceBlock, fed: &str) -> String {
    let cost = &infer.cost;
    let mut text = format!("{} = {}, {}\n{fed}", infer.name, infer.method, infer.precision);
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<26} {value:>14}\n"));
    line("parameters", cost.parameters.to_string());
    line("variational parameters", cost.variational_parameters.to_string());
    line("nodes needing gradients", cost.gradient_nodes.to_string());
    line("FLOPs per step", cost.effort.flops.to_string());
    line("bytes per step", size(cost.effort.bytes));
    if let Some(bytes) = precision(manifest, infer) {
        line("precision of the weights", size(bytes));
    }
    if let Some(bytes) = infer.laplace().and_then(memory::choosing) {
        line("precision of the selection", size(bytes));
    }
    let earlier = earlier(manifest, infer);
    line("predicted peak memory", size(cost.peak_bytes - earlier));
    if earlier > 0 {
        line("beside earlier results", size(earlier));
    }
    for site in &infer.reports {
        text.push_str(&format!(
            "  {:<26} {} ({}): {}{}\n",
            site.name,
            site.family,
            site.shape,
            site.kl,
            match site.likelihood.is_empty() {
                true => String::new(),
                false => format!("; likelihood: {}", site.likelihood),
            }
        ));
    }
    text.push('\n');
    text
}
