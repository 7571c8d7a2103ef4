//! Writes a program as the text of one MLIR module. Each kernel becomes a function, whose
//! parameters are the arguments that the runtime passes.

use crate::access::shared;
use crate::call::{Needs, scratch_bytes};
use crate::func::{Emitter, Source};
use crate::processor;
use crate::schedule::Schedule;
use crate::text::{Text, commas};
use bnnc_loops::analysis::collapse::collapse;
use bnnc_loops::analysis::sweep::order;
use bnnc_loops::ir::{Kernel, LoopProgram};
use std::collections::BTreeMap;

/// The text of a module, and the properties of it that the runtime needs.
pub struct MlirModule {
    /// The text in MLIR.
    pub text: String,
    /// For each kernel, the name of its function, and the number of scratch bytes that one
    /// invocation needs.
    pub kernels: Vec<(String, usize)>,
    /// The runtime functions that the module calls, each with the name of one kernel that calls it.
    pub symbols: BTreeMap<String, String>,
}

/// A kernel that has not been written yet, with the decisions about it.
struct Draft<'a> {
    name: &'a str,
    kernel: Kernel,
    factor: i64,
    divided: usize,
    schedule: Schedule,
    distinct: bool,
}

/// Writes every kernel of a program. The function of kernel `n` is named `prefix` followed by `n`.
pub fn module(program: &LoopProgram, prefix: &str) -> MlirModule {
    let precision = program.plan.precision;
    let kernels = program.kernels.iter().enumerate();
    let drafts: Vec<Draft<'_>> = kernels.map(|(at, kernel)| draft(program, at, kernel)).collect();
    let mut text = Text::default();
    scopes(&mut text, &drafts);
    text.open("module {");
    let mut needs = Needs::default();
    let mut kernels = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let symbol = format!("{prefix}{at}");
        let source = Source {
            kernel: &draft.kernel,
            factor: draft.factor,
            divided: draft.divided,
            staging: &draft.schedule.staging,
            schedule: &draft.schedule,
            precision,
            distinct: draft.distinct,
            device: false,
        };
        text.line(format_args!("// kernel {at} {:?}", draft.name));
        Emitter::emit(&source, (&mut text, &mut needs), &symbol);
        kernels.push((symbol, scratch_bytes(&draft.schedule, precision)));
    }
    let fused = processor::has_fused_products();
    for function in &needs.approximations {
        function.define(&mut text, precision, fused);
    }
    let mut symbols = BTreeMap::new();
    for (symbol, (declaration, kernel)) in needs.runtime {
        text.line(declaration);
        symbols.insert(symbol, kernel);
    }
    text.close("}");
    MlirModule {
        text: text.finish(),
        kernels,
        symbols,
    }
}

fn draft<'a>(program: &LoopProgram, at: usize, original: &'a Kernel) -> Draft<'a> {
    let (kernel, factor) = collapse(original);
    let (kernel, divided) = order(kernel);
    let schedule = Schedule::of(&kernel, program.plan.precision);
    Draft {
        name: &original.name,
        kernel,
        factor,
        divided,
        schedule,
        distinct: shared(&program.plan, at as u32).is_empty(),
    }
}

/// Writes the alias scopes. There are two entries for each slot and each scratch block: the scope
/// of its own memory, and a list of the scopes of all other memory.
fn scopes(text: &mut Text, drafts: &[Draft<'_>]) {
    let slots = drafts.iter().map(|draft| draft.kernel.slots.len()).max();
    let blocks = |draft: &Draft<'_>| draft.schedule.staging.homes + draft.schedule.sums.len();
    let homes = drafts.iter().map(blocks).max();
    let slots = (0..slots.unwrap_or(0)).map(|at| format!("slot{at}"));
    let names: Vec<String> = slots
        .chain((0..homes.unwrap_or(0)).map(|at| format!("block{at}")))
        .collect();
    text.line("#memory = #llvm.alias_scope_domain<id = distinct[0]<>>");
    for (at, name) in names.iter().enumerate() {
        text.line(format_args!(
            "#{name} = #llvm.alias_scope<id = distinct[{}]<>, domain = #memory>",
            at + 1
        ));
    }
    for name in &names {
        let others = names.iter().filter(|other| *other != name);
        let others = commas(others.map(|other| format!("#{other}")));
        text.line(format_args!("#not_{name} = [{others}]"));
    }
}
