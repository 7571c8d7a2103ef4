//! Runs the steps of a check in sequence: it collects names, orders the items, checks each item,
//! and then checks the dependences between inference blocks.

use super::names::{Def, ItemNames};
use super::session::{CheckSession, ItemEntry};
use super::{CheckContext, compare, data, dist, infer, items, layer, model, optimiser, order, posterior};
use crate::diagnostics::{infer as report_infer, names as report};
use crate::tree::{
    ConstItem, DataId, DataItem, DistItem, FnItem, InferItem, InferenceTarget, LayerItem, Locals, ModelId,
    ModelItem, Module, PosteriorId, PosteriorItem,
};
use bnnc_base::diagnostic::{Diagnostic, Place as At};
use bnnc_grammar::ast::{self, ItemKind};
use std::collections::{BTreeSet, HashMap};

/// Implements [`super::check`].
pub fn check(
    library: &[ast::SourceFile],
    program: &ast::SourceFile,
    context: &CheckContext,
) -> (Module, Vec<Diagnostic>) {
    let mut session = CheckSession {
        module: Module::default(),
        names: ItemNames::default(),
        context,
        diagnostics: Vec::new(),
        models: HashMap::new(),
    };
    session.names.unread = program.unread.iter().cloned().collect();
    let mut entries = Vec::new();
    for module in library {
        collect(&mut session, module, true, &mut entries);
    }
    collect(&mut session, program, false, &mut entries);
    for module in library {
        imports(&mut session, library, module);
    }
    imports(&mut session, library, program);
    check_override_names(&mut session);
    let order = order::order(&mut session, &entries);
    for at in &order {
        check_item(&mut session, &entries[*at]);
    }
    for item in &program.items {
        if let ItemKind::Compare(item_) = &item.kind {
            compare::check(&mut session, item_);
        }
    }
    session.module.infer_order = order
        .iter()
        .filter_map(|at| match entries[*at].def {
            Def::Infer(id) => Some(id),
            _ => None,
        })
        .collect();
    session.diagnostics.sort_by_key(|diagnostic| match diagnostic.at {
        At::Span(span) => Some((span.source, span.start)),
        At::File { .. } | At::Nowhere => None,
    });
    (session.module, session.diagnostics)
}

/// Assigns an identity to every item of a file, and adds a placeholder for the item to the
/// module.
fn collect<'m>(
    session: &mut CheckSession<'_>,
    module: &'m ast::SourceFile,
    library: bool,
    entries: &mut Vec<ItemEntry<'m>>,
) {
    for item in &module.items {
        let (Some(name), Some(def)) = (item.name(), placeholder(&mut session.module, item)) else {
            continue;
        };
        if let Some(first) = session.names.add(&name.name, def, Some(name.span), library)
            && !is_parameterisation(session, def, item, entries, library)
        {
            session.report(report::duplicate_item(&name.name, first, name.span));
        }
        entries.push(ItemEntry {
            def,
            item,
            name,
            library,
        });
    }
}

/// Returns whether a second `dist` with the same name is another parameterisation of the first. A call chooses a parameterisation by argument
/// names. Two parameterisations must therefore have different sets of names.
fn is_parameterisation(
    session: &mut CheckSession<'_>,
    def: Def,
    item: &ast::Item,
    entries: &[ItemEntry<'_>],
    library: bool,
) -> bool {
    let (Def::Dist(id), ItemKind::Dist(dist)) = (def, &item.kind) else {
        return false;
    };
    let own = parameter_names(dist);
    let mut first = None;
    for entry in entries {
        if let (Def::Dist(id), ItemKind::Dist(other)) = (entry.def, &entry.item.kind)
            && other.name.name == dist.name.name
        {
            // An item of the program hides the items of the library with the same name.
            if entry.library != library {
                continue;
            }
            if parameter_names(other) == own {
                return false;
            }
            first = first.or(Some(id));
        }
    }
    let Some(first) = first else { return false };
    session.module.dists[first].others.push(id);
    true
}

/// Adds an item without content to the module, so that other items can refer to it.
fn placeholder(module: &mut Module, item: &ast::Item) -> Option<Def> {
    let name = item.name()?.name.clone();
    let (doc, span) = (item.doc.join("\n"), item.span);
    Some(match &item.kind {
        ItemKind::Use(_) | ItemKind::Compare(_) | ItemKind::Error => return None,
        ItemKind::Const(it) => Def::Const(module.consts.push(ConstItem {
            name,
            value: super::body::error(it.value.span),
            number: None,
        })),
        ItemKind::Fn(_) => Def::Fn(module.fns.push(FnItem {
            name,
            doc,
            ..FnItem::default()
        })),
        ItemKind::Layer(_) => Def::Layer(module.layers.push(LayerItem {
            name,
            doc,
            ..LayerItem::default()
        })),
        ItemKind::Dist(_) => Def::Dist(module.dists.push(DistItem {
            name,
            doc,
            ..DistItem::default()
        })),
        ItemKind::Optimiser(it) => {
            let empty = optimiser::empty(name, doc, it.name.span);
            Def::Optimiser(module.optimisers.push(empty))
        }
        ItemKind::Data(it) => {
            let spec = data::empty(&it.name);
            Def::Data(module.datas.push(DataItem { name, spec, span }))
        }
        ItemKind::Model(_) => Def::Model(module.models.push(ModelItem {
            name,
            locals: Locals::default(),
            shared: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            body: Vec::new(),
            span,
        })),
        ItemKind::Posterior(_) => Def::Posterior(module.posteriors.push(PosteriorItem {
            name,
            model: ModelId(0),
            lines: Vec::new(),
            span,
        })),
        ItemKind::Infer(_) => Def::Infer(module.infers.push(InferItem {
            name,
            method: &bnnc_abi::method::ALL[0],
            target: InferenceTarget::Posterior(PosteriorId(0)),
            data: DataId(0),
            options: Vec::new(),
            span,
        })),
    })
}

fn check_item(session: &mut CheckSession<'_>, entry: &ItemEntry<'_>) {
    let library = entry.library;
    match (&entry.item.kind, entry.def) {
        (ItemKind::Const(it), Def::Const(id)) => items::check_const(session, id, it, library),
        (ItemKind::Fn(it), Def::Fn(id)) => items::check_fn(session, id, it, library),
        (ItemKind::Layer(it), Def::Layer(id)) => layer::check(session, id, it, library),
        (ItemKind::Dist(it), Def::Dist(id)) => dist::check(session, id, it, library),
        (ItemKind::Optimiser(it), Def::Optimiser(id)) => optimiser::check(session, id, it, library),
        (ItemKind::Data(it), Def::Data(id)) => data::check(session, id, it),
        (ItemKind::Model(it), Def::Model(id)) => model::check(session, id, it),
        (ItemKind::Posterior(it), Def::Posterior(id)) => posterior::check(session, id, it),
        (ItemKind::Infer(it), Def::Infer(id)) => infer::check(session, id, it),
        _ => {}
    }
}

/// Checks `use` items. A `use` item names a folder or file of the library, and an item in this
/// folder or file. Programs can use the library without any `use` items.
fn imports(session: &mut CheckSession<'_>, library: &[ast::SourceFile], module: &ast::SourceFile) {
    for item in &module.items {
        let ItemKind::Use(path) = &item.kind else { continue };
        let Some((last, folders)) = path.split_last() else {
            continue;
        };
        let written = path.iter().map(|part| &*part.name).collect::<Vec<_>>().join("::");
        let prefix = folders
            .iter()
            .map(|part| &*part.name)
            .collect::<Vec<_>>()
            .join("/");
        let paths = &session.context.library_paths;
        let mut names: Vec<&str> = Vec::new();
        for (at, file) in library.iter().enumerate() {
            let place = paths.get(at).map(|path| path.trim_end_matches(".bnn"));
            let here = place.is_none_or(|place| place == prefix || place.starts_with(&format!("{prefix}/")));
            if here && !folders.is_empty() {
                names.extend(file.items.iter().filter_map(|item| Some(&*item.name()?.name)));
            }
        }
        if !names.contains(&&*last.name) {
            let span = path.first().map_or(item.span, |first| first.span.to(last.span));
            let mut diagnostic = report::unknown_import(span, &written, &last.name, names);
            if folders.is_empty() {
                diagnostic = diagnostic.help("write the folder as well: `use layers::Dense`");
            }
            session.report(diagnostic);
        }
    }
}

fn check_override_names(session: &mut CheckSession<'_>) {
    let runs = |def: Def| matches!(def, Def::Infer(_) | Def::Data(_));
    for one in &session.context.overrides {
        let found = session.names.find(&one.item, false);
        if !found.is_some_and(|(def, _)| runs(def)) {
            let names = session.names.all(runs);
            session.report(report_infer::unknown_override(one.value.span, &one.item, &names));
        }
    }
    let datas = |def: Def| matches!(def, Def::Data(_));
    for (name, _) in &session.context.data_overrides {
        let item = match name.split_once('.') {
            Some((item, "test" | "outliers")) => item,
            _ => name,
        };
        if !session.names.find(item, false).is_some_and(|(def, _)| datas(def)) {
            session.report(report_infer::unknown_data_override(
                name,
                session.names.all(datas),
            ));
        }
    }
}

fn parameter_names(dist: &ast::DistDecl) -> BTreeSet<&str> {
    dist.params.iter().map(|param| &*param.name.name).collect()
}
