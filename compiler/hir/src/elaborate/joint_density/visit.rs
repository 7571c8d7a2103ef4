//! Visits the elements of outputs one by one, and searches for an element that depends on itself.

use super::reads::ElementReader;
use super::scope::ReadScope;
use super::{AffineExpr, Given, MOST_ELEMENTS, MOST_STEPS, element, is_joint, read, report};
use crate::tree::{LocalId, ModelItem, Module};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;
use std::collections::{BTreeMap, HashMap};

/// A range of elements that an element reads.
#[derive(Clone, Copy)]
struct Edge {
    first: usize,
    last: usize,
    is_certain: bool,
    span: Span,
}

/// An element of the current path, and those of its reads that the search has not followed yet.
struct Visit {
    node: usize,
    edges: Vec<Edge>,
    /// The position of the read that leads from this element to the next one on the path.
    taken: Option<Span>,
    /// The last position on the path where the path enters another output.
    changed: usize,
}

/// A read that leads back to an element of the path.
struct Closing {
    /// The position of that element in the path.
    start: usize,
    span: Span,
}

/// The elements of some outputs, numbered consecutively.
struct Elements<'a, 'm> {
    item: &'m ModelItem,
    module: &'m Module,
    given: &'a [&'a Given<'m>],
    /// For each output, the number of its first element, how many elements it has, and a flag that
    /// is true if they are treated as one.
    outputs: Vec<(LocalId, usize, usize, bool)>,
    /// For each element, the index of its statement and the value of the counter.
    owners: Vec<Option<(usize, i64)>>,
}

/// The result of a search.
enum Found {
    /// A cycle: each element depends on the next one, and the last on the first. Each entry has an
    /// element, and the position in the program where it reads the next one.
    Circle(Vec<(usize, Span)>),
    /// An element that depends on unknown elements.
    Unknown(usize, Span),
}

/// Returns a diagnostic if the distributions of outputs depend on themselves or on each other.
pub fn circle<'m>(
    item: &'m ModelItem,
    module: &'m Module,
    given: &[&Given<'m>],
    reader: &mut ElementReader<'m>,
) -> Option<Diagnostic> {
    reader.enumerates = true;
    (reader.steps, reader.most_steps) = (0, MOST_STEPS);
    let found = Elements::new(item, module, given, reader).map(|elements| {
        let certain = elements.search(reader, true);
        let found = match certain {
            Err(node) => Some(Found::Unknown(node, elements.span(node))),
            Ok(Some(circle)) => Some(Found::Circle(circle)),
            Ok(None) => match elements.search(reader, false) {
                Err(node) => Some(Found::Unknown(node, elements.span(node))),
                Ok(circle) => circle.map(|circle| Found::Unknown(circle[0].0, circle[0].1)),
            },
        };
        found.map(|found| elements.diagnostic(found))
    });
    reader.enumerates = false;
    match found {
        Some(found) => found,
        None => {
            let sample = given.first()?.sample;
            let name = &item.locals[sample.local].name;
            Some(report::unknown_elements(sample.span, name))
        }
    }
}

impl<'a, 'm> Elements<'a, 'm> {
    /// Numbers the elements. Returns `None` if there are too many elements, or if some sizes or positions are unknown.
    fn new(
        item: &'m ModelItem,
        module: &'m Module,
        given: &'a [&'a Given<'m>],
        reader: &mut ElementReader<'m>,
    ) -> Option<Elements<'a, 'm>> {
        let mut outputs: Vec<(LocalId, usize, usize, bool)> = Vec::new();
        let mut total = 0;
        for one in given {
            let output = one.sample.local;
            if outputs.iter().any(|(known, ..)| *known == output) {
                continue;
            }
            let size = *reader.outputs.get(&output)?;
            if total as i64 + size > MOST_ELEMENTS {
                return None;
            }
            let is_one = is_joint(one.sample, module);
            let size = usize::try_from(size).ok()?;
            outputs.push((output, total, size, is_one));
            total += size;
        }
        let mut elements = Elements {
            item,
            module,
            given,
            outputs,
            owners: vec![None; total],
        };
        for (at, one) in given.iter().enumerate() {
            let (_, first, size, is_one) = elements.output(one.sample.local)?;
            let scope = ReadScope::model();
            match (one.repeated, one.sample.index.is_some()) {
                (Some((counter, [from, to], body)), _) => {
                    for value in from..=to {
                        let inside = scope.counter(counter, AffineExpr::number(value));
                        let position = element(one, module, &inside.block(body), reader)?.as_number()?;
                        let position = usize::try_from(position).ok().filter(|at| *at < size)?;
                        elements.owners[first + position] = Some((at, value));
                    }
                }
                (None, true) => {
                    let position = element(one, module, &scope, reader)?.as_number()?;
                    let position = usize::try_from(position).ok().filter(|at| *at < size)?;
                    elements.owners[first + position] = Some((at, 0));
                }
                (None, false) if is_one => elements.owners[first] = Some((at, 0)),
                (None, false) => {
                    for position in 0..size {
                        elements.owners[first + position] = Some((at, position as i64));
                    }
                }
            }
        }
        Some(elements)
    }

    fn output(&self, output: LocalId) -> Option<(LocalId, usize, usize, bool)> {
        self.outputs.iter().find(|(known, ..)| *known == output).copied()
    }

    /// Returns the ranges of elements that an element reads.
    fn edges(&self, node: usize, reader: &mut ElementReader<'m>) -> Vec<Edge> {
        let Some((at, value)) = self.owners[node] else {
            return Vec::new();
        };
        let given = self.given[at];
        let scope = ReadScope::model();
        match given.repeated {
            Some((counter, _, body)) => {
                let inside = scope.counter(counter, AffineExpr::number(value));
                let block = inside.block(body);
                reader.begin(&block);
                read(given, self.module, (&block, None), reader);
            }
            None => {
                let position = AffineExpr::number(value);
                reader.begin(&scope);
                read(given, self.module, (&scope, Some(&position)), reader);
            }
        }
        let mut edges = Vec::new();
        for found in &reader.found {
            let Some((_, first, size, is_one)) = self.output(found.output) else {
                continue;
            };
            let of = |end: &AffineExpr| reader.forms.ends(end);
            let (low, high) = match (of(&found.ends[0]), of(&found.ends[1])) {
                (Some((low, _)), Some((_, high))) => (low.max(0), high.min(size as i64 - 1)),
                _ => (0, size as i64 - 1),
            };
            if low > high {
                continue;
            }
            // The parameters of a joint distribution may read elements of its own output, as in an autoregression.
            let is_own = is_one && found.output == given.sample.local;
            let place = |at: i64| if is_one { first } else { first + at as usize };
            edges.push(Edge {
                first: place(low),
                last: place(high),
                is_certain: found.is_certain && !is_own,
                span: found.span,
            });
        }
        edges
    }

    /// Searches for a cycle, preferably of a single element, or else through several outputs. The
    /// error is the element at which the search reached the step limit.
    fn search(
        &self,
        reader: &mut ElementReader<'m>,
        certain: bool,
    ) -> Result<Option<Vec<(usize, Span)>>, usize> {
        let count = self.owners.len();
        let mut unvisited = Unvisited((0..=count).collect());
        // The elements of the current path, each with its position on the path.
        let mut open: BTreeMap<usize, usize> = BTreeMap::new();
        let mut best: Option<(usize, Vec<(usize, Span)>)> = None;
        for root in 0..count {
            if unvisited.next(root) != root {
                continue;
            }
            let mut path: Vec<Visit> = Vec::new();
            let mut next = Some(root);
            loop {
                if let Some(node) = next.take() {
                    unvisited.remove(node);
                    open.insert(node, path.len());
                    let mut edges = self.edges(node, reader);
                    if reader.is_exhausted() {
                        return Err(node);
                    }
                    edges.retain(|edge| edge.is_certain || !certain);
                    let changed = self.changed(&path, node);
                    path.push(Visit {
                        node,
                        edges,
                        taken: None,
                        changed,
                    });
                    if let Some(closing) = closing(&path, &open) {
                        let rank = rank(&path, closing.start);
                        if best.as_ref().is_none_or(|(known, _)| rank < *known) {
                            best = Some((rank, circle_of(&path, &closing)));
                        }
                        if rank == 0 {
                            return Ok(best.map(|(_, circle)| circle));
                        }
                    }
                }
                let Some(visit) = path.last_mut() else { break };
                match visit.edges.last() {
                    Some(edge) => match unvisited.next(edge.first) {
                        found if found <= edge.last => {
                            visit.taken = Some(edge.span);
                            next = Some(found);
                        }
                        _ => {
                            visit.edges.pop();
                        }
                    },
                    None => {
                        open.remove(&visit.node);
                        path.pop();
                    }
                }
            }
        }
        Ok(best.map(|(_, circle)| circle))
    }

    /// Returns the last position at which a path enters another output, after `node` is added to
    /// it.
    fn changed(&self, path: &[Visit], node: usize) -> usize {
        match path.last() {
            Some(last) if self.name(last.node).0 == self.name(node).0 => last.changed,
            _ => path.len(),
        }
    }

    /// Returns the output that contains an element, and the element's position in this output. The position is `None` if the output is a
    /// number or has a joint distribution.
    fn name(&self, node: usize) -> (LocalId, Option<usize>) {
        let of =
            |(_, first, size, _): &&(LocalId, usize, usize, bool)| (*first..first + size).contains(&node);
        let Some((output, first, _, is_one)) = self.outputs.iter().find(of) else {
            return (self.given[0].sample.local, None);
        };
        let is_array = !self.item.locals[*output].ty.dims().is_empty();
        (*output, (is_array && !is_one).then_some(node - first))
    }

    fn text(&self, node: usize) -> String {
        let (output, position) = self.name(node);
        let name = &self.item.locals[output].name;
        position.map_or_else(|| name.to_string(), |at| format!("{name}[{at}]"))
    }

    fn span(&self, node: usize) -> Span {
        let owner = self.owners[node].map_or(0, |(at, _)| at);
        self.given[owner].sample.span
    }

    fn diagnostic(&self, found: Found) -> Diagnostic {
        let circle = match found {
            Found::Circle(circle) => circle,
            Found::Unknown(node, span) => return report::unknown_elements(span, &self.text(node)),
        };
        let outputs: HashMap<LocalId, ()> = circle.iter().map(|(node, _)| (self.name(*node).0, ())).collect();
        let texts: Vec<(String, Span)> = circle
            .iter()
            .map(|(node, span)| (self.text(*node), *span))
            .collect();
        match (&texts[..], outputs.len()) {
            ([(own, span)], _) => report::depends_on_itself_at(*span, own),
            (_, 1) => {
                let output = &self.item.locals[self.name(circle[0].0).0].name;
                report::elements_on_each_other(output, &texts)
            }
            _ => report::outputs_on_each_other(&texts),
        }
    }
}

/// Returns a read by which the last element of a path leads back to an element of the path. A read
/// of the element itself comes first, then a read of the previous element on the path.
fn closing(path: &[Visit], open: &BTreeMap<usize, usize>) -> Option<Closing> {
    let (last, before) = path.split_last()?;
    let to = |node: usize| {
        let holds = |edge: &&Edge| (edge.first..=edge.last).contains(&node);
        last.edges.iter().find(holds).map(|edge| edge.span)
    };
    let to_itself = to(last.node).map(|span| Closing {
        start: before.len(),
        span,
    });
    let to_parent = || {
        let span = to(before.last()?.node)?;
        let start = before.len() - 1;
        Some(Closing { start, span })
    };
    let to_open = || {
        last.edges.iter().find_map(|edge| {
            let (_, start) = open.range(edge.first..=edge.last).next_back()?;
            Some(Closing {
                start: *start,
                span: edge.span,
            })
        })
    };
    to_itself.or_else(to_parent).or_else(to_open)
}

/// Returns the rank of a cycle: the elements of a path from the position `start` on.
/// Cycles of one element come first, and cycles through several outputs come second.
fn rank(path: &[Visit], start: usize) -> usize {
    match path.last() {
        Some(_) if start + 1 == path.len() => 0,
        Some(last) if last.changed > start => 1,
        _ => 2,
    }
}

/// Returns the elements of the cycle that `closing` completes.
fn circle_of(path: &[Visit], closing: &Closing) -> Vec<(usize, Span)> {
    let steps = path[closing.start..].iter();
    steps
        .map(|visit| (visit.node, visit.taken.unwrap_or(closing.span)))
        .collect()
}

/// The set of elements that have not been visited. Each visited element has a link to a later
/// element.
struct Unvisited(Vec<usize>);

impl Unvisited {
    /// Returns the first unvisited element at or after `from`, and shortens the links that it
    /// follows.
    fn next(&mut self, from: usize) -> usize {
        let mut root = from;
        while self.0[root] != root {
            root = self.0[root];
        }
        let mut at = from;
        while self.0[at] != root {
            at = std::mem::replace(&mut self.0[at], root);
        }
        root
    }

    fn remove(&mut self, at: usize) {
        self.0[at] = at + 1;
    }
}
