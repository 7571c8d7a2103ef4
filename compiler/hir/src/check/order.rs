//! Orders items so that each item follows the items that it needs. Reports items that depend on
//! themselves, and leaves them out.

use super::LibraryItems;
use super::dist::is_point;
use super::mentions::{mentions, of_option};
use super::names::Def;
use super::session::{CheckSession, ItemEntry};
use crate::diagnostics::names as report;
use bnnc_grammar::ast::ItemKind;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{DfsPostOrder, EdgeRef};
use std::collections::HashMap;

/// Returns indices into `entries` such that each item follows the items that it needs. Independent items keep their written order.
/// If only a part of the library is checked, the result leaves out the items that are not reached.
pub fn order(session: &mut CheckSession<'_>, entries: &[ItemEntry<'_>]) -> Vec<usize> {
    let is_whole = session.context.library_items == LibraryItems::Whole;
    let starts: Vec<usize> = (0..entries.len())
        .filter(|at| is_whole || is_start(&entries[*at]))
        .collect();
    let graph = dependences(session, entries, &starts);
    for mut component in petgraph::algo::tarjan_scc(&graph) {
        component.sort_unstable();
        let own = component.len() > 1 || component.iter().any(|node| graph.contains_edge(*node, *node));
        if own {
            let path: Vec<_> = along(&graph, &component)
                .into_iter()
                .map(|node| &entries[graph[node]])
                .map(|entry| (entry.name.name.to_string(), entry.name.span))
                .collect();
            let alone = component.first().filter(|_| component.len() == 1);
            let is_infer = alone.is_some_and(|node| matches!(entries[graph[*node]].def, Def::Infer(_)));
            let mut cycle = report::cycle(&path);
            if is_infer {
                cycle = cycle.help("an inference cannot start from itself: name another one");
            }
            session.report(cycle);
            session
                .names
                .broken
                .extend(component.iter().map(|node| entries[graph[*node]].def));
        }
    }
    let mut sorted = Vec::new();
    let mut visit = DfsPostOrder::empty(&graph);
    // Constants are checked first, because constants in option values are not part of the dependence graph.
    let (constants, others): (Vec<_>, Vec<_>) = starts
        .into_iter()
        .partition(|at| matches!(entries[*at].def, Def::Const(_)));
    for at in constants.into_iter().chain(others) {
        visit.move_to(NodeIndex::new(at));
        while let Some(next) = visit.next(&graph) {
            sorted.push(graph[next]);
        }
    }
    sorted.retain(|at| !session.names.broken.contains(&entries[*at].def));
    sorted
}

/// Returns whether an item is checked even if no other item needs it. Of the library, these are the items that the compiler itself uses.
fn is_start(entry: &ItemEntry<'_>) -> bool {
    match &entry.item.kind {
        ItemKind::Const(_) | ItemKind::Optimiser(_) => true,
        ItemKind::Dist(dist) => !entry.library || is_point(dist),
        _ => !entry.library,
    }
}

/// Returns the graph of the dependences between items. The node `n` is the item `entries[n]`. An edge leads to an item that is needed. Only the items
/// that can be reached from `starts` have edges.
fn dependences(
    session: &CheckSession<'_>,
    entries: &[ItemEntry<'_>],
    starts: &[usize],
) -> DiGraph<usize, ()> {
    let mut graph: DiGraph<usize, ()> = DiGraph::new();
    let nodes: Vec<NodeIndex> = (0..entries.len()).map(|at| graph.add_node(at)).collect();
    let by_def: HashMap<Def, NodeIndex> = entries
        .iter()
        .zip(&nodes)
        .map(|(entry, node)| (entry.def, *node))
        .collect();
    let mut is_reached = vec![false; entries.len()];
    let mut waiting = starts.to_vec();
    while let Some(at) = waiting.pop() {
        if std::mem::replace(&mut is_reached[at], true) {
            continue;
        }
        let (entry, node) = (&entries[at], nodes[at]);
        // If an option on the command line names an item, the inference block depends on this item,
        // just as for an option in the program.
        let overrides = session.context.overrides.iter();
        let given = overrides
            .filter(|one| matches!(entry.def, Def::Infer(_)) && *one.item == *entry.name.name)
            .flat_map(|one| of_option(&one.key, &one.value));
        for name in mentions(&entry.item.kind).into_iter().chain(given) {
            for needed in needed(session, entry, &name) {
                if let Some(needed) = by_def.get(&needed) {
                    graph.update_edge(node, *needed, ());
                    waiting.push(needed.index());
                }
            }
        }
    }
    graph
}

/// Returns the items to which a mentioned name may refer. In data items, posteriors and inference
/// blocks, it may refer to any item. Elsewhere, it refers only to items that can occur in
/// expressions.
fn needed(session: &CheckSession<'_>, entry: &ItemEntry<'_>, name: &str) -> Vec<Def> {
    let value = session.names.find_value(name, entry.library);
    let any = session.names.find(name, entry.library);
    let runs = matches!(entry.def, Def::Data(_) | Def::Posterior(_) | Def::Infer(_));
    let found = if runs { [value, any] } else { [value, None] };
    let found = found.into_iter().flatten().map(|(def, _)| def);
    found
        .flat_map(|def| parameterisations(session, entry, def))
        .collect()
}

/// Returns a distribution together with its other parameterisations. If `entry` is itself one of
/// them, returns only those that are declared before it.
fn parameterisations(session: &CheckSession<'_>, entry: &ItemEntry<'_>, def: Def) -> Vec<Def> {
    let Def::Dist(first) = def else { return vec![def] };
    let others = session.module.dists[first].others.iter();
    let all: Vec<Def> = [first].iter().chain(others).map(|id| Def::Dist(*id)).collect();
    match all.iter().position(|one| *one == entry.def) {
        Some(own @ 1..) => all[..own].to_vec(),
        _ => all,
    }
}

/// Returns a path of items in a strongly connected component, in which each item needs the next
/// one. A greedy walk finds it, so it may leave out items of the component.
fn along(graph: &DiGraph<usize, ()>, component: &[NodeIndex]) -> Vec<NodeIndex> {
    let Some(first) = component.first() else {
        return Vec::new();
    };
    let mut path = vec![*first];
    while let Some(last) = path.last() {
        let mut targets: Vec<NodeIndex> = graph.edges(*last).map(|edge| edge.target()).collect();
        targets.sort_unstable();
        match targets
            .into_iter()
            .find(|next| component.contains(next) && !path.contains(next))
        {
            Some(next) => path.push(next),
            None => return path,
        }
    }
    path
}
