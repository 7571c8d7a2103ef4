//! The commands of the prompt: a registry of plain records.

use super::concrete::Sample;
use super::distribution::Wanted;
use super::divergence::divergence;
use super::variables::Variable;
use super::{Checked, Refused, Reply, Session, items, show};
use crate::codes::BAD_COMMAND;
use crate::emit;
use crate::infer::Failure;
use crate::options::Options;
use crate::program::Program;
use crate::stage::Stage;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::nearest::nearest;
use bnnc_base::source::Source;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::elaborate::datum::Datum;
use bnnc_hir::elaborate::model;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Draws of `:draw` where no number is given.
const DRAWS: usize = 1000;

/// Draws of `:kl` where no number is given.
const KL_DRAWS: usize = 100_000;

/// The most draws that may be asked for.
const MOST_DRAWS: usize = 10_000_000;

/// How many draws `:draw` lists.
const LISTED: usize = 5;

/// One command.
pub struct Command {
    /// After the colon.
    pub name: &'static str,
    /// What follows it.
    pub arguments: &'static str,
    /// One sentence.
    pub about: &'static str,
    run: fn(&mut Session, &Line, &mut Reply) -> Result<(), Refused>,
}

/// Sorted by name.
pub static ALL: &[Command] = &[
    command("density", "DIST X", "The log density and the density of a value.", density),
    command("draw", "DIST [N]", "Mean and standard deviation of draws, and the first of them.", draw),
    command("emit", "graph EXPR | STAGE", "A stage of an expression, or of the program so far.", emit_stage),
    command("explain", "CODE", "The long text of a diagnostic.", explain),
    command("help", "", "These commands.", help),
    command("kl", "Q P [draws N]", "The divergence of two distributions, exact where it can be.", kl),
    command("list", "", "What is defined.", list),
    command("load", "FILE", "Defines the items of a program.", load),
    command("quit", "", "Leaves.", quit),
    command("reset", "", "Forgets everything.", reset),
    command("shape", "EXPR", "The shape of a value.", shape),
    command("type", "EXPR", "The type of a value, or the declaration of an item.", type_of),
];

const fn command(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&mut Session, &Line, &mut Reply) -> Result<(), Refused>,
) -> Command {
    Command { name, arguments, about, run }
}

/// A command line: its text and where its words are.
struct Line {
    source: Source,
    words: Vec<Range<usize>>,
}

impl Line {
    /// Words end at blanks outside brackets and quotes; the first is the command.
    fn new(source: &Source) -> Line {
        let mut words: Vec<Range<usize>> = Vec::new();
        let (mut depth, mut quoted, mut open) = (0usize, false, false);
        for (at, c) in source.text.char_indices() {
            quoted ^= c == '"';
            match c {
                '(' | '[' | '{' if !quoted => depth += 1,
                ')' | ']' | '}' if !quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
            let blank = c.is_whitespace() && depth == 0 && !quoted;
            match words.last_mut() {
                Some(word) if open && !blank => word.end = at + c.len_utf8(),
                _ if !blank => words.push(at..at + c.len_utf8()),
                _ => {}
            }
            open = !blank;
        }
        Line { source: source.clone(), words }
    }

    fn word(&self, at: usize) -> Option<&str> {
        self.words.get(at).and_then(|range| self.source.text.get(range.clone()))
    }

    /// Everything from a word on.
    fn rest(&self, from: usize) -> Option<Range<usize>> {
        Some(self.words.get(from)?.start..self.words.last()?.end)
    }

    /// A part of the line whose spans are those of the line: all else is blank.
    fn part(&self, range: Range<usize>) -> Source {
        let blanks = |count: usize| " ".repeat(count);
        let inner = self.source.text.get(range.clone()).unwrap_or_default();
        let text = format!("{}{inner}{}", blanks(range.start), blanks(self.source.text.len() - range.end));
        Source { text: Arc::from(text), ..self.source.clone() }
    }
}

fn refuse<T>(message: impl Into<String>) -> Result<T, Refused> {
    Err(vec![Diagnostic::usage(&BAD_COMMAND, message)])
}

impl Session {
    /// Carries out a command.
    pub(super) fn command(&mut self, source: &Source, reply: &mut Reply) -> Result<(), Refused> {
        let line = Line::new(source);
        let name = line.word(0).unwrap_or_default().trim_start_matches(':');
        match ALL.iter().find(|command| command.name == name) {
            Some(command) => (command.run)(self, &line, reply),
            None => {
                let text = format!("there is no command `:{name}`");
                let diagnostic = Diagnostic::usage(&BAD_COMMAND, text);
                Err(vec![match nearest(name, ALL.iter().map(|command| command.name)) {
                    Some(near) => diagnostic.help(format!("did you mean `:{near}`?")),
                    None => diagnostic.help("`:help` lists the commands"),
                }])
            }
        }
    }

    /// The expression that a part of a command line is.
    fn argument(&mut self, line: &Line, range: Option<Range<usize>>, reply: &mut Reply) -> Result<Checked, Refused> {
        let Some(range) = range else { return usage(line) };
        let (written, diagnostics) = bnnc_grammar::parse::parse_expr(&line.part(range));
        if diagnostics.iter().any(Diagnostic::is_error) {
            return Err(diagnostics);
        }
        self.checked(&written, reply)
    }

    fn next_draw(&mut self) -> u32 {
        self.draws += 1;
        self.draws
    }
}

/// How the command of a line is to be used.
fn usage<T>(line: &Line) -> Result<T, Refused> {
    let name = line.word(0).unwrap_or_default().trim_start_matches(':');
    let arguments = ALL.iter().find(|command| command.name == name).map_or("", |command| command.arguments);
    Err(vec![Diagnostic::usage(&BAD_COMMAND, format!("expected `:{name} {arguments}`"))])
}

/// A number of draws.
fn count(text: &str) -> Result<usize, Refused> {
    match text.parse() {
        Ok(count @ 2..=MOST_DRAWS) => Ok(count),
        _ => refuse(format!("expected a number of draws from 2 to {MOST_DRAWS}, found `{text}`")),
    }
}

fn help(_: &mut Session, _: &Line, reply: &mut Reply) -> Result<(), Refused> {
    reply.result("Enter an expression, `name = expression`, `name ~ distribution`, or an item such as `fn` or `dist`.");
    for command in ALL {
        let usage = format!(":{} {}", command.name, command.arguments);
        reply.result(format!("  {usage:<26} {}", command.about));
    }
    Ok(())
}

fn quit(_: &mut Session, _: &Line, reply: &mut Reply) -> Result<(), Refused> {
    reply.leave = true;
    Ok(())
}

fn reset(session: &mut Session, _: &Line, _: &mut Reply) -> Result<(), Refused> {
    session.items.set(bnnc_grammar::ast::Module::default());
    session.module = session.items.check(session.items.program()).0;
    session.variables.clear();
    session.environment = bnnc_hir::prompt::Environment::default();
    session.draws = 0;
    Ok(())
}

fn load(session: &mut Session, line: &Line, reply: &mut Reply) -> Result<(), Refused> {
    let Some(range) = line.rest(1) else { return usage(line) };
    let path = line.source.text.get(range).unwrap_or_default().trim_matches('"').to_owned();
    session.load_file(&path, reply)
}

fn list(session: &mut Session, _: &Line, reply: &mut Reply) -> Result<(), Refused> {
    for item in &session.items.program().items {
        reply.result(items::header(item, &session.sources));
    }
    let visible = |variable: &&Variable| session.environment.scope.get(&variable.name) == Some(&variable.local);
    session.variables.iter().filter(visible).for_each(|variable| reply.result(variable.text.as_str()));
    if reply.said.is_empty() {
        reply.note("nothing is defined yet");
    }
    Ok(())
}

fn explain(session: &mut Session, line: &Line, reply: &mut Reply) -> Result<(), Refused> {
    let Some(word) = line.word(1) else { return usage(line) };
    let wanted = word.to_uppercase();
    let codes = &session.world.codes;
    match codes.iter().find(|code| code.id == wanted) {
        Some(code) => {
            reply.result(format!("{}: {}\n\n{}", code.id, code.title, code.explain));
            Ok(())
        }
        None => {
            let diagnostic = Diagnostic::usage(&BAD_COMMAND, format!("there is no diagnostic `{word}`"));
            Err(vec![diagnostic.suggest(&wanted, codes.iter().map(|code| code.id))])
        }
    }
}

fn type_of(session: &mut Session, line: &Line, reply: &mut Reply) -> Result<(), Refused> {
    let range = line.rest(1);
    let name = range.clone().and_then(|range| line.source.text.get(range)).unwrap_or_default();
    let hidden = session.environment.scope.contains_key(name);
    if let Some(item) = session.items.find(name).filter(|_| !hidden) {
        reply.result(items::header(item, &session.sources));
        return Ok(());
    }
    let checked = session.argument(line, range, reply)?;
    let draw = session.next_draw();
    let (datum, computed) = session.computed(&checked, draw).map_err(|diagnostic| vec![*diagnostic])?;
    reply.result(match datum {
        Datum::Tensor(_) | Datum::Static(_) | Datum::Text(_) => bnnc_hir::show::ty(&checked.expr.ty, &checked.locals),
        other => session.describer(&computed).datum(&other),
    });
    Ok(())
}

fn shape(session: &mut Session, line: &Line, reply: &mut Reply) -> Result<(), Refused> {
    let checked = session.argument(line, line.rest(1), reply)?;
    let draw = session.next_draw();
    let sizes = session.scene(&checked, draw).and_then(|mut scene| {
        let datum = scene.datum(&checked.expr)?;
        match datum {
            Datum::Tensor(value) => Ok(scene.elaborator.ty(value).shape.static_sizes().unwrap_or_default()),
            Datum::Static(_) => Ok(Vec::new()),
            Datum::List(items) => Ok(vec![items.len()]),
            Datum::Dist(_) => session.concrete_at(&checked, Wanted::Own, draw).map(|concrete| concrete.sizes()),
            Datum::Layer(_) | Datum::Function(_) | Datum::Text(_) => {
                let why = "this has no shape; `:type` says what it takes and gives".to_owned();
                Err(model::limit(checked.expr.span, why))
            }
        }
    });
    reply.result(show::shape(&sizes.map_err(|diagnostic| vec![*diagnostic])?));
    Ok(())
}

fn density(session: &mut Session, line: &Line, reply: &mut Reply) -> Result<(), Refused> {
    if line.words.len() < 3 {
        return usage(line);
    }
    let value = session.argument(line, line.rest(2), reply)?;
    let dist = session.argument(line, line.words.get(1).cloned(), reply)?;
    let draw = session.next_draw();
    let (datum, computed) = session.computed(&value, draw).map_err(|diagnostic| vec![*diagnostic])?;
    let x = match datum {
        Datum::Tensor(at) => computed.of(at).0.clone(),
        Datum::Static(number) => Tensor::scalar(number as f64),
        _ => return Err(vec![*model::limit(value.expr.span, "a number or an array is needed here".to_owned())]),
    };
    let own = session.concrete_at(&dist, Wanted::Own, draw);
    let own = own.ok().filter(|concrete| concrete.sizes() == x.shape);
    let concrete = match own {
        Some(concrete) => concrete,
        None => {
            let concrete = session.concrete_at(&dist, Wanted::Sizes(&x.shape), draw);
            concrete.map_err(|diagnostic| vec![*diagnostic])?
        }
    };
    if !concrete.admits(&x) {
        reply.result(format!("log density -inf, density 0 (outside the support of `{}`)", concrete.instance.name));
        return Ok(());
    }
    let log = concrete.log_density(&x);
    reply.result(format!("log density {}, density {}", show::number(log), show::number(log.exp())));
    Ok(())
}

fn draw(session: &mut Session, line: &Line, reply: &mut Reply) -> Result<(), Refused> {
    let asked = line.word(2).map(count).transpose()?.unwrap_or(DRAWS);
    let dist = session.argument(line, line.words.get(1).cloned(), reply)?;
    let draw = session.next_draw();
    let concrete = session.concrete_at(&dist, Wanted::Own, draw).map_err(|diagnostic| vec![*diagnostic])?;
    let stream = session.streams(draw).name("draw");
    let draws = concrete.draws(&stream, draw, asked);
    let draws = draws.map_err(|why| vec![*model::limit(dist.expr.span, why)])?;
    let elements = draws.data.len() / asked;
    let of = |at: usize| Sample::of(&draws.data.iter().skip(at).step_by(elements.max(1)).copied().collect::<Vec<_>>());
    let samples: Vec<Sample> = (0..elements).map(of).collect();
    let dtype = bnnc_base::dtype::DType::Real;
    let show = |part: &dyn Fn(&Sample) -> f64| {
        let data = samples.iter().map(|sample| rounded(part(sample))).collect();
        show::tensor(&Tensor::new(concrete.sizes(), data), dtype)
    };
    let exact = |moment: Option<Tensor>| moment.map_or_else(String::new, |moment| format!(" (exact {})", show::tensor(&moment, dtype)));
    let mean = concrete.moment(concrete.instance.mean.as_ref());
    let mut deviation = concrete.moment(concrete.instance.variance.as_ref());
    deviation.iter_mut().flat_map(|variance| &mut variance.data).for_each(|variance| *variance = variance.sqrt());
    reply.result(format!("mean {}{}", show(&|sample| sample.mean), exact(mean)));
    reply.result(format!("sd {}{}", show(&|sample| sample.deviation), exact(deviation)));
    for at in 0..asked.min(LISTED) {
        reply.result(show::tensor(&draws.leading(at), dtype));
    }
    if asked > LISTED {
        reply.result(format!(".. of {asked} draws"));
    }
    Ok(())
}

/// To the four digits that a sample is worth.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn kl(session: &mut Session, line: &Line, reply: &mut Reply) -> Result<(), Refused> {
    let draws = match (line.words.len(), line.word(3), line.word(4)) {
        (3, ..) => KL_DRAWS,
        (4, Some(number), _) | (5, Some("draws"), Some(number)) => count(number)?,
        _ => return usage(line),
    };
    let q = session.argument(line, line.words.get(1).cloned(), reply)?;
    let p = session.argument(line, line.words.get(2).cloned(), reply)?;
    let draw = session.next_draw();
    let concrete = |checked: &Checked, wanted: Wanted<'_>| {
        session.concrete_at(checked, wanted, draw).map_err(|diagnostic| vec![*diagnostic])
    };
    let (mut of_q, mut of_p) = (concrete(&q, Wanted::Own)?, concrete(&p, Wanted::Own)?);
    let (left, right) = (of_q.sizes(), of_p.sizes());
    match (left.is_empty(), right.is_empty()) {
        (true, false) => of_q = concrete(&q, Wanted::Sizes(&right))?,
        (false, true) => of_p = concrete(&p, Wanted::Sizes(&left))?,
        _ if left != right => {
            let (left, right) = (show::shape(&left), show::shape(&right));
            return refuse(format!("expected two distributions over one shape, found {left} and {right}"));
        }
        _ => {}
    }
    let stream = session.streams(draw).name("kl");
    let text = divergence(&of_q, &of_p, draws, &stream, draw);
    reply.result(text.map_err(|why| vec![*model::limit(q.expr.span.to(p.expr.span), why)])?);
    Ok(())
}

fn emit_stage(session: &mut Session, line: &Line, reply: &mut Reply) -> Result<(), Refused> {
    let Some(word) = line.word(1) else { return usage(line) };
    let Some(stage) = Stage::from_name(word) else {
        let diagnostic = Diagnostic::usage(&crate::codes::NO_STAGE, format!("there is no stage `{word}`"));
        return Err(vec![diagnostic.suggest(word, Stage::ALL.iter().map(|stage| stage.name()))]);
    };
    match line.rest(2) {
        Some(range) if stage == Stage::Graph => emit_graph(session, line, range, reply),
        Some(_) => refuse("only `graph` is printed for an expression"),
        None => emit_program(session, stage, reply),
    }
}

fn emit_graph(session: &mut Session, line: &Line, range: Range<usize>, reply: &mut Reply) -> Result<(), Refused> {
    let name = line.source.text.get(range.clone()).unwrap_or_default();
    let ids = session.module.models.ids();
    if let Some(id) = ids.filter(|id| *session.module.models[*id].name == *name).last() {
        let model = model::elaborate(&session.module, id, &HashMap::new()).map_err(|diagnostic| vec![*diagnostic])?;
        reply.result(model.function.to_string().trim_end());
        return Ok(());
    }
    let checked = session.argument(line, Some(range), reply)?;
    let draw = session.next_draw();
    let text = session.scene(&checked, draw).and_then(|mut scene| {
        let span = checked.expr.span;
        let datum = scene.datum(&checked.expr)?;
        match &datum {
            Datum::Dist(_) => {
                let instance = session.concrete_at(&checked, Wanted::Own, draw)?.instance;
                let functions = [Some(&instance.log_density), instance.draw.as_ref()];
                Ok(functions.into_iter().flatten().map(|function| format!("{function}\n")).collect())
            }
            Datum::Tensor(_) | Datum::Static(_) => {
                let value = scene.elaborator.tensor(&datum, span)?;
                Ok(scene.function(vec![("it", value)]).to_string())
            }
            Datum::Layer(_) | Datum::List(_) | Datum::Function(_) | Datum::Text(_) => {
                Err(model::limit(span, "only numbers, arrays, distributions and models have a graph".to_owned()))
            }
        }
    });
    let text: String = text.map_err(|diagnostic| vec![*diagnostic])?;
    reply.result(text.trim_end());
    Ok(())
}

fn emit_program(session: &mut Session, stage: Stage, reply: &mut Reply) -> Result<(), Refused> {
    let mut sources = session.sources.clone();
    let source = sources.add("program", &session.items.text(&session.sources));
    let ast = session.items.program().clone();
    let program = Program { sources, source, ast, module: session.module.clone(), diagnostics: Vec::new() };
    if let Some(text) = emit::syntactic(&program, stage) {
        reply.result(text.trim_end());
        return Ok(());
    }
    let options = Options { seed: session.world.seed, symbols: session.world.symbols.clone(), ..Options::default() };
    let mut schemas = HashMap::new();
    for spec in crate::compile::data(&program, &options)? {
        schemas.insert(spec.name.clone(), (session.world.schema)(&spec)?);
    }
    match emit::emit(&program, stage, None, &schemas, &options) {
        Ok(text) => {
            reply.result(text.trim_end());
            Ok(())
        }
        Err(Failure::Program(diagnostics)) => Err(diagnostics),
        Err(Failure::Fault(fault)) => refuse(fault.to_string()),
    }
}
