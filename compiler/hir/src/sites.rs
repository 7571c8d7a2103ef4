//! The paths of a model's sites: `tau`, `h1.w`, `hidden[0].w`, `block.inner.b`.

use crate::constant::evaluate;
use crate::tree::{LocalId, Locals, ModelId, Module, ParamBinding, TypedExpr, TypedExprKind, TypedStmt};
use std::collections::HashMap;
use std::rc::Rc;

/// Returns the paths of all sites of a model, in order. For a list of layers whose length depends
/// on the data, the paths contain `name[_]`.
pub fn paths(module: &Module, model: ModelId) -> Vec<String> {
    let mut paths = Vec::new();
    if let Some(model) = module.models.get(model) {
        block(
            module,
            &model.body,
            &model.locals,
            "",
            &Known::default(),
            &mut paths,
        );
    }
    paths
}

/// The values of the variables of an item that decide which layers it has.
#[derive(Clone, Default)]
struct Known<'m> {
    /// The integers.
    numbers: HashMap<LocalId, f64>,
    /// The parameters of type `layer`: the construction of the layer, and the values of the variables in it.
    layers: HashMap<LocalId, (&'m TypedExpr, Rc<Known<'m>>)>,
}

fn block<'m>(
    module: &'m Module,
    body: &'m [TypedStmt],
    locals: &Locals,
    prefix: &str,
    known: &Known<'m>,
    paths: &mut Vec<String>,
) {
    for stmt in body {
        match stmt {
            TypedStmt::Let(local, value) => {
                let name = format!("{prefix}{}", locals[*local].name);
                layers(module, value, &name, known, paths);
            }
            TypedStmt::Sample(sample) if !sample.observed => {
                paths.push(format!("{prefix}{}", locals[sample.local].name));
            }
            TypedStmt::Sample(_) | TypedStmt::Return(_) => {}
            TypedStmt::For { body, .. } => block(module, body, locals, prefix, known, paths),
        }
    }
}

/// Returns the values of the parameters of a layer that is constructed with these arguments.
fn parameters<'m>(
    module: &'m Module,
    params: &[ParamBinding],
    args: &'m [TypedExpr],
    known: &Known<'m>,
) -> Known<'m> {
    let mut inner = Known::default();
    for (param, arg) in params.iter().zip(args) {
        let number = evaluate(module, arg, &known.numbers);
        inner.numbers.extend(number.map(|number| (param.local, number)));
        let layer = match &arg.kind {
            TypedExprKind::MakeLayer(..) | TypedExprKind::Compose(..) => Some((arg, Rc::new(known.clone()))),
            TypedExprKind::Local(local) => known.layers.get(local).cloned(),
            _ => None,
        };
        inner.layers.extend(layer.map(|layer| (param.local, layer)));
    }
    inner
}

fn layers<'m>(
    module: &'m Module,
    value: &'m TypedExpr,
    name: &str,
    known: &Known<'m>,
    paths: &mut Vec<String>,
) {
    match &value.kind {
        TypedExprKind::Local(local) => {
            if let Some((layer, known)) = known.layers.get(local) {
                layers(module, layer, name, known, paths);
            }
        }
        TypedExprKind::MakeLayer(id, args) => {
            let layer = &module.layers[*id];
            let inner = parameters(module, &layer.params, args, known);
            block(
                module,
                &layer.body,
                &layer.locals,
                &format!("{name}."),
                &inner,
                paths,
            );
        }
        TypedExprKind::Compose(composition, parts) => {
            for (at, part) in parts.iter().enumerate() {
                let name = format!("{name}{}", composition.path(at));
                layers(module, part, &name, known, paths);
            }
        }
        TypedExprKind::List(elements) => {
            for (at, element) in elements.iter().enumerate() {
                layers(module, element, &format!("{name}[{at}]"), known, paths);
            }
        }
        TypedExprKind::Comprehension(inner) => {
            let ends = (
                evaluate(module, &inner.from, &known.numbers),
                evaluate(module, &inner.to, &known.numbers),
            );
            match ends {
                (Some(from), Some(to)) if to - from <= 1e4 => {
                    for at in 0..(to - from).max(0.0) as usize {
                        let mut known = known.clone();
                        known.numbers.insert(inner.counter, from + at as f64);
                        layers(module, &inner.element, &format!("{name}[{at}]"), &known, paths);
                    }
                }
                _ => layers(module, &inner.element, &format!("{name}[_]"), known, paths),
            }
        }
        _ => {}
    }
}

/// Returns the sites that match a path in a posterior: the site with this path or, for a path that ends in `.*`, all sites below a layer or
/// list.
pub fn matching<'a>(pattern: &str, sites: &'a [String]) -> Vec<&'a str> {
    let found = |site: &&String| match pattern.strip_suffix(".*") {
        Some(prefix) => below(prefix, site).is_some(),
        None => same(pattern, site),
    };
    sites.iter().filter(found).map(String::as_str).collect()
}

/// Returns the part of a site's path that follows `prefix`, or `None` if the path does not start
/// with `prefix`.
pub fn below<'a>(prefix: &str, site: &'a str) -> Option<&'a str> {
    let split = site
        .char_indices()
        .filter(|(_, c)| matches!(c, '.' | '['))
        .map(|(at, _)| at);
    split
        .into_iter()
        .find(|at| same(prefix, &site[..*at]))
        .map(|at| &site[at..])
}

/// Returns whether two paths are equal. The index `[_]` equals any index.
fn same(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    b.contains("[_]") && blank(a) == blank(b)
}

/// Returns a path whose indices are all replaced by `_`.
fn blank(path: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in path.chars() {
        match c {
            '[' => {
                inside = true;
                text.push_str("[_");
            }
            ']' => {
                inside = false;
                text.push(c);
            }
            _ if inside => {}
            _ => text.push(c),
        }
    }
    text
}
