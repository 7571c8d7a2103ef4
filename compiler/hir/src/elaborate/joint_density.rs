//! Checks that the distributions of output elements define a joint density. For this, an element must not depend on itself, directly or through
//! other elements.
//!
//! The sizes are known when a model is elaborated, so the check is exact. First, reads are analysed with symbolic counters. If only earlier
//! elements are read, or only later ones, there cannot be a cycle. Otherwise, the elements are visited one by one.

mod reads;
mod scope;
mod visit;

use super::linear::AffineExpr;
use crate::diagnostics::model as report;
use crate::tree::{
    LocalId, LocalKind, ModelId, ModelItem, Module, SampleStmt, TypedExpr, TypedExprKind, TypedStmt,
};
use crate::types::Ty;
use bnnc_base::diagnostic::Diagnostic;
use petgraph::graph::{DiGraph, NodeIndex};
use reads::{ElementReader, Read};
use scope::ReadScope;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The number of expressions after which the analysis with symbolic counters stops.
const MOST_SYMBOLIC: usize = 1_000_000;

/// The number of expressions after which the analysis of single elements stops. Visiting them takes
/// about a second.
const MOST_STEPS: usize = 5_000_000;

/// The number of elements of the outputs above which they are not visited one by one.
const MOST_ELEMENTS: i64 = 1_000_000;

/// A statement that assigns a distribution to elements of an output.
struct Given<'m> {
    sample: &'m SampleStmt,
    /// For a statement in a `for`: the counter, its first and last value, and the statements of the
    /// `for`.
    repeated: Option<(LocalId, [i64; 2], &'m [TypedStmt])>,
}

/// Returns errors for outputs, and elements of outputs, that depend on themselves. Returns a
/// warning if the elements of one output depend on each other, or if the dependences cannot be
/// determined. `dims` contains the sizes of the model's dim names.
pub fn dependences(module: &Module, id: ModelId, dims: &HashMap<Arc<str>, usize>) -> Vec<Diagnostic> {
    let item = &module.models[id];
    let of_size = |local: LocalId| {
        let known = dims.get(&item.locals[local].name)?;
        (item.locals[local].kind == LocalKind::Dim).then_some((local, *known as i64))
    };
    let sizes = item.locals.ids().filter_map(of_size).collect();
    let mut reader = ElementReader::new(module, item, sizes);
    reader.most_steps = MOST_SYMBOLIC;
    let (statements, mut diagnostics) = statements(item, &mut reader);
    let joint = statements.iter().map(|given| given.sample);
    let joint = joint.filter(|sample| is_joint(sample, module));
    let joint: HashSet<LocalId> = joint.map(|sample| sample.local).collect();
    let symbolic: Vec<Vec<Step>> = statements
        .iter()
        .map(|given| symbolic(given, (module, &joint), &mut reader))
        .collect();
    // If the analysis reached its step limit, some reads are missing, so each output may depend on
    // every other output.
    let is_complete = !reader.is_exhausted();
    let sets = match is_complete {
        true => circles(item, &statements, &symbolic),
        false => vec![statements.iter().map(|given| given.sample.local).collect()],
    };
    for outputs in sets {
        let is_member = |output: LocalId| outputs.contains(&output);
        let members: Vec<usize> = (0..statements.len())
            .filter(|at| is_member(statements[*at].sample.local))
            .collect();
        let steps = members.iter().flat_map(|at| &symbolic[*at]);
        let steps: Vec<&Step> = steps.filter(|step| is_member(step.to)).collect();
        if is_complete && is_one_way(&steps) {
            continue;
        }
        let given: Vec<&Given> = members.iter().map(|at| &statements[*at]).collect();
        diagnostics.extend(visit::circle(item, module, &given, &mut reader));
    }
    diagnostics
}

/// Returns the statements that observe outputs, and a warning for each statement that reads outputs
/// inside a range of unknown size.
fn statements<'m>(item: &'m ModelItem, reader: &mut ElementReader<'m>) -> (Vec<Given<'m>>, Vec<Diagnostic>) {
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    let scope = ReadScope::model();
    for stmt in &item.body {
        match stmt {
            TypedStmt::Sample(sample) if sample.observed => found.push(Given {
                sample,
                repeated: None,
            }),
            TypedStmt::For {
                counter,
                from,
                to,
                body,
            } => {
                let from = reader.integer(from, &scope).and_then(|end| end.as_number());
                let to = reader.integer(to, &scope).and_then(|end| end.as_number());
                let samples = body.iter().filter_map(|stmt| match stmt {
                    TypedStmt::Sample(sample) if sample.observed => Some(sample),
                    _ => None,
                });
                let Some((from, to)) = from.zip(to) else {
                    let reads = samples.filter(|sample| reads_outputs(sample, body, reader));
                    unknown.extend(reads.map(|sample| {
                        report::unknown_elements(sample.span, &item.locals[sample.local].name)
                    }));
                    continue;
                };
                if from >= to {
                    continue;
                }
                found.extend(samples.map(|sample| Given {
                    sample,
                    repeated: Some((*counter, [from, to - 1], body)),
                }));
            }
            TypedStmt::Sample(_) | TypedStmt::Let(..) | TypedStmt::Return(_) => {}
        }
    }
    (found, unknown)
}

/// Returns whether a distribution inside a range of unknown size may read outputs.
fn reads_outputs<'m>(sample: &'m SampleStmt, body: &'m [TypedStmt], reader: &mut ElementReader<'m>) -> bool {
    let scope = ReadScope::model();
    let block = scope.block(body);
    reader.begin(&block);
    reader.visit(&sample.dist, &block, true);
    !reader.found.is_empty() || reader.is_exhausted()
}

/// A read of an output element in the distribution of another output element, and the distance
/// between the two.
#[derive(Clone, Copy)]
struct Step {
    from: LocalId,
    to: LocalId,
    /// The smallest and the largest distance from the element with the distribution to an element
    /// that it reads. `None` if the distances are not known.
    distance: Option<(i64, i64)>,
}

/// Returns the reads of a statement, with the counter as a symbol. `joint` contains the outputs
/// with a joint distribution, each of which is treated as one element.
fn symbolic<'m>(
    given: &Given<'m>,
    (module, joint): (&'m Module, &HashSet<LocalId>),
    reader: &mut ElementReader<'m>,
) -> Vec<Step> {
    let scope = ReadScope::model();
    let (block, inside);
    let mut own = &scope;
    if let Some((counter, [first, last], body)) = given.repeated {
        let symbol = reader.forms.counter([first, last].map(AffineExpr::number));
        inside = scope.counter(counter, symbol);
        block = inside.block(body);
        own = &block;
    }
    let element = element(given, module, own, reader);
    reader.begin(own);
    read(given, module, (own, element.as_ref()), reader);
    let from = given.sample.local;
    let distance = |read: &Read| {
        let element = element.as_ref()?;
        let start = AffineExpr::number(0);
        let [first, last] = match joint.contains(&read.output) {
            true => [&start, &start],
            false => [&read.ends[0], &read.ends[1]],
        };
        let least = reader.forms.ends(&first.plus(element, -1)?)?;
        let most = reader.forms.ends(&last.plus(element, -1)?)?;
        Some((least.0, most.1))
    };
    let steps = reader.found.iter().map(|read| Step {
        from,
        to: read.output,
        distance: distance(read),
    });
    steps.collect()
}

/// Returns the element to which a statement assigns a distribution. For a joint distribution,
/// returns the first element.
fn element<'m>(
    given: &Given<'m>,
    module: &Module,
    scope: &ReadScope<'_, 'm>,
    reader: &mut ElementReader<'m>,
) -> Option<AffineExpr> {
    match &given.sample.index {
        Some(index) => reader.integer(index, scope),
        None if given.sample.ty.dims().is_empty() || is_joint(given.sample, module) => {
            Some(AffineExpr::number(0))
        }
        None => {
            let size = reader.outputs.get(&given.sample.local).copied()?;
            Some(reader.forms.counter([0, size - 1].map(AffineExpr::number)))
        }
    }
}

/// Collects the output elements that the distribution of an element reads.
fn read<'m>(
    given: &Given<'m>,
    module: &Module,
    (scope, element): (&ReadScope<'_, 'm>, Option<&AffineExpr>),
    reader: &mut ElementReader<'m>,
) {
    let sample = given.sample;
    let is_whole = sample.index.is_none() && !sample.ty.dims().is_empty();
    match element.filter(|_| is_whole && !is_joint(sample, module)) {
        Some(element) => of_element(&sample.dist, element, scope, reader),
        None => reader.visit(&sample.dist, scope, true),
    }
}

/// Collects the reads for one element of an array, if the parameters of its distribution are arrays
/// of the same size.
fn of_element<'m>(
    dist: &'m TypedExpr,
    element: &AffineExpr,
    scope: &ReadScope<'_, 'm>,
    reader: &mut ElementReader<'m>,
) {
    let ends = || Some([element.clone(), element.clone()]);
    match &dist.kind {
        TypedExprKind::MakeDist(_, args) => {
            for arg in args {
                match arg.ty.dims().len() {
                    0 => reader.visit(arg, scope, true),
                    _ => reader.elements(arg, (ends(), arg.span), scope, true),
                }
            }
        }
        _ => reader.visit(dist, scope, true),
    }
}

/// Returns whether the statement observes all elements of an array with one joint distribution.
fn is_joint(sample: &SampleStmt, module: &Module) -> bool {
    match &sample.dist.kind {
        TypedExprKind::MakeDist(dist, _) if sample.index.is_none() => {
            let on = &module.dists[*dist].on;
            matches!(on, Ty::Tensor(_, dims) if !dims.is_empty())
        }
        _ => false,
    }
}

/// Returns the sets of outputs that read each other in a cycle, and the outputs that read themselves.
fn circles(item: &ModelItem, statements: &[Given<'_>], steps: &[Vec<Step>]) -> Vec<Vec<LocalId>> {
    let mut graph: DiGraph<LocalId, ()> = DiGraph::new();
    let outputs = item.outputs.iter().map(|output| output.local);
    let nodes: HashMap<LocalId, NodeIndex> = outputs.map(|output| (output, graph.add_node(output))).collect();
    for step in statements.iter().zip(steps).flat_map(|(_, steps)| steps) {
        graph.update_edge(nodes[&step.from], nodes[&step.to], ());
    }
    let mut found: Vec<Vec<LocalId>> = petgraph::algo::tarjan_scc(&graph)
        .into_iter()
        .filter(|set| set.len() > 1 || graph.contains_edge(set[0], set[0]))
        .map(|set| set.into_iter().map(|node| graph[node]).collect())
        .collect();
    found.iter_mut().for_each(|set| set.sort_unstable());
    found.sort_unstable();
    found
}

/// Returns whether all reads are of earlier elements, or all of later elements. Outputs may also
/// read each other at the same position, unless these reads form a cycle.
fn is_one_way(steps: &[&Step]) -> bool {
    let is_before = |sign: i64| {
        let mut level: HashSet<(LocalId, LocalId)> = HashSet::new();
        for step in steps {
            let Some((least, most)) = step.distance else {
                return false;
            };
            let farthest = if sign > 0 { most } else { -least };
            match farthest {
                ..0 => {}
                0 => {
                    level.insert((step.from, step.to));
                }
                1.. => return false,
            }
        }
        let mut graph: DiGraph<LocalId, ()> = DiGraph::new();
        let mut nodes: HashMap<LocalId, NodeIndex> = HashMap::new();
        for (from, to) in level {
            let [from, to] =
                [from, to].map(|output| *nodes.entry(output).or_insert_with(|| graph.add_node(output)));
            graph.update_edge(from, to, ());
        }
        !petgraph::algo::is_cyclic_directed(&graph)
    };
    is_before(1) || is_before(-1)
}
