//! Removes fragments: nodes that the parser built from the rest of a line after an error.

use crate::ast::{Item, ItemKind, Setting, Stmt, StmtKind};
use crate::faults::Lines;
use std::collections::BTreeSet;

/// Removes statements and settings that begin in the middle of an erroneous line.
pub fn drop_fragments(items: &mut [Item], lines: &Lines<'_, '_>, bad: &BTreeSet<usize>) {
    if bad.is_empty() {
        return;
    }
    for item in items {
        match &mut item.kind {
            ItemKind::Fn(function) => statements(&mut function.body, lines, bad),
            ItemKind::Layer(layer) => statements(&mut layer.body, lines, bad),
            ItemKind::Model(model) => statements(&mut model.body, lines, bad),
            ItemKind::Posterior(posterior) => statements(&mut posterior.body, lines, bad),
            ItemKind::Data(data) => settings(&mut data.options, lines, bad),
            ItemKind::Infer(infer) => settings(&mut infer.options, lines, bad),
            ItemKind::Dist(dist) => {
                dist.body
                    .retain(|definition| !is_fragment(definition.span.start, lines, bad));
            }
            ItemKind::Optimiser(optimiser) => {
                optimiser
                    .body
                    .retain(|definition| !is_fragment(definition.span.start, lines, bad));
            }
            ItemKind::Use(_) | ItemKind::Const(_) | ItemKind::Compare(_) | ItemKind::Error => {}
        }
    }
}

fn statements(body: &mut Vec<Stmt>, lines: &Lines<'_, '_>, bad: &BTreeSet<usize>) {
    body.retain(|statement| {
        matches!(statement.kind, StmtKind::Error) || !is_fragment(statement.span.start, lines, bad)
    });
    for statement in body {
        if let StmtKind::For { body, .. } = &mut statement.kind {
            statements(body, lines, bad);
        }
    }
}

fn settings(options: &mut Vec<Setting>, lines: &Lines<'_, '_>, bad: &BTreeSet<usize>) {
    options.retain(|setting| !is_fragment(setting.name.span.start, lines, bad));
}

fn is_fragment(start: u32, lines: &Lines<'_, '_>, bad: &BTreeSet<usize>) -> bool {
    bad.contains(&lines.of_byte(start as usize)) && !lines.begins_at(start as usize)
}
