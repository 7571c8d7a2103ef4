//! The commands of the REPL, as a table of records.

use super::distribution::ValueSizes;
use super::variables::Variable;
use super::{Checked, Reply, Session, emission, fits, items, measures, plot, show};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::nearest::nearest;
use bnnc_base::source::{Source, Span};
use bnnc_driver::diagnostics::BAD_COMMAND;
use bnnc_driver::manual::documented;
use bnnc_grammar::ast::Expr;
use bnnc_grammar::parse::parse_expr;
use bnnc_hir::builtin;
use bnnc_hir::elaborate::datum::Datum;
use std::ops::Range;
use std::sync::Arc;

/// One command.
pub struct ReplCommand {
    /// The name after the colon.
    pub name: &'static str,
    /// The arguments, as shown in messages.
    pub arguments: &'static str,
    /// One sentence that describes the command.
    pub about: &'static str,
    run: fn(&mut Session, &CommandText, &mut Reply) -> Result<(), Diagnostics>,
}

/// All commands, sorted by name.
pub static ALL: &[ReplCommand] = &[
    command(
        "density",
        "DIST X",
        "The log density and the density of a value.",
        measures::density,
    ),
    command(
        "draw",
        "DIST [N]",
        "Draws of a distribution, or of a model's output before any data: `:draw M(x)`.",
        measures::draw,
    ),
    command(
        "emit",
        "graph EXPR | STAGE",
        "Prints a stage of the compilation, of an expression or of the program so far.",
        emission::emit,
    ),
    command("explain", "CODE", "Explains a diagnostic.", explain),
    command("exit", "", "Leaves.", quit),
    command("help", "", "These commands.", help),
    command(
        "kl",
        "Q P [draws N]",
        "The KL divergence of two distributions, exact if possible.",
        measures::kl,
    ),
    command("list", "", "Lists the definitions.", list),
    command("load", "FILE", "Defines the items of a program.", load),
    command(
        "plot",
        "WHAT[, WHAT ..] [FILE.svg]",
        "Plots posterior values, distributions, `prior fit.beta`, `trace fit.beta`.",
        plot::plot,
    ),
    command(
        "predict",
        "INFER FILE [OUT.csv]",
        "Predicts the rows of a file, as `bnnc predict` does.",
        fits::predict,
    ),
    command("quit", "", "Leaves.", quit),
    command("reset", "", "Forgets everything.", reset),
    command(
        "run",
        "[INFER ..]",
        "Runs inference blocks, as `bnnc run` does.",
        fits::run,
    ),
    command("shape", "EXPR", "The shape of a value.", shape),
    command(
        "summary",
        "INFER",
        "The table of results of an inference block.",
        fits::summary,
    ),
    command(
        "type",
        "EXPR",
        "The type of a value, or the declaration of an item.",
        type_of,
    ),
];

const fn command(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&mut Session, &CommandText, &mut Reply) -> Result<(), Diagnostics>,
) -> ReplCommand {
    ReplCommand {
        name,
        arguments,
        about,
        run,
    }
}

/// A command line: its text, and the positions of its words.
pub struct CommandText {
    /// The whole line.
    pub source: Source,
    /// The words. The first word is the command.
    pub words: Vec<Range<usize>>,
}

impl CommandText {
    /// Splits a line into words at blanks. Blanks inside brackets or quotes do not end a word.
    fn new(source: &Source) -> CommandText {
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
        CommandText {
            source: source.clone(),
            words,
        }
    }

    /// Returns the word with this index.
    pub fn word(&self, at: usize) -> Option<&str> {
        self.words
            .get(at)
            .and_then(|range| self.source.text.get(range.clone()))
    }

    /// Returns the span of a part of the line.
    pub fn span(&self, range: &Range<usize>) -> Span {
        Span::new(self.source.id, range.start, range.end)
    }

    /// Returns the word with this index as the path of a file. Quotes around the path are removed.
    pub fn path(&self, at: usize) -> Option<String> {
        self.word(at).map(|word| word.trim_matches('"').to_owned())
    }

    /// Returns the range of the word with this index, without a trailing comma.
    pub fn without_comma(&self, at: usize) -> Option<Range<usize>> {
        let (range, text) = (self.words.get(at)?, self.word(at)?);
        Some(range.start..range.start + text.trim_end_matches(',').len())
    }

    /// Returns the range from a word to the end of the line.
    pub fn rest(&self, from: usize) -> Option<Range<usize>> {
        Some(self.words.get(from)?.start..self.words.last()?.end)
    }

    /// Parses a part of the line as an expression.
    pub fn expression(&self, range: Range<usize>) -> Result<Expr, Diagnostics> {
        let (written, found) = parse_expr(&self.part(range));
        match found.iter().any(Diagnostic::is_error) {
            true => Err(found.into()),
            false => Ok(written),
        }
    }

    /// Returns a source that contains a part of the line, with blanks in place of the rest. A
    /// position in this source is therefore the same position in the line.
    pub fn part(&self, range: Range<usize>) -> Source {
        let blanks = |count: usize| " ".repeat(count);
        let inner = self.source.text.get(range.clone()).unwrap_or_default();
        let text = format!(
            "{}{inner}{}",
            blanks(range.start),
            blanks(self.source.text.len() - range.end)
        );
        Source {
            text: Arc::from(text),
            ..self.source.clone()
        }
    }
}

/// The diagnostics of an entry that failed and therefore did not change the session.
#[derive(Debug)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(diagnostics: Vec<Diagnostic>) -> Diagnostics {
        Diagnostics(diagnostics)
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics(vec![diagnostic])
    }
}

impl From<Box<Diagnostic>> for Diagnostics {
    fn from(diagnostic: Box<Diagnostic>) -> Diagnostics {
        Diagnostics(vec![*diagnostic])
    }
}

/// Returns the error for a command that cannot be executed.
pub fn reject<T>(message: impl Into<String>) -> Result<T, Diagnostics> {
    Err(Diagnostic::usage(&BAD_COMMAND, message).into())
}

/// Creates the error for a part of a command line that the command cannot use.
pub fn misuse(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(&BAD_COMMAND, span, message)
}

impl Session {
    /// Returns whether a text is a command. A text that begins with a colon is a command. A word
    /// that is a command in other REPLs, such as `quit` or `help`, is also a command here if no
    /// variable has this name.
    pub(super) fn is_command(&self, text: &str) -> bool {
        let word = text.trim().trim_end_matches("()");
        let is_word = matches!(word, "exit" | "q" | "quit" | "help" | "?");
        text.trim_start().starts_with(':') || (is_word && !self.environment.scope.contains_key(word))
    }

    /// Executes a command.
    pub(super) fn command(&mut self, source: &Source, reply: &mut Reply) -> Result<(), Diagnostics> {
        let line = CommandText::new(source);
        let name = line.word(0).unwrap_or_default();
        let name = match name.trim_start_matches(':').trim_end_matches("()") {
            "q" => "quit",
            "?" => "help",
            name => name,
        };
        match ALL.iter().find(|command| command.name == name) {
            Some(command) => (command.run)(self, &line, reply),
            None => {
                let text = format!("there is no command `:{name}`");
                let diagnostic = Diagnostic::usage(&BAD_COMMAND, text);
                Err(match nearest(name, ALL.iter().map(|command| command.name)) {
                    Some(near) => diagnostic.help(format!("did you mean `:{near}`?")),
                    None => diagnostic.help("`:help` lists the commands"),
                }
                .into())
            }
        }
    }

    /// Checks the expression in a part of a command line.
    pub(super) fn argument(
        &mut self,
        line: &CommandText,
        range: Option<Range<usize>>,
        reply: &mut Reply,
    ) -> Result<Checked, Diagnostics> {
        let Some(range) = range else { return usage(line) };
        self.checked(&line.expression(range)?, reply)
    }

    pub(super) fn next_draw(&mut self) -> u32 {
        self.draws += 1;
        self.draws
    }
}

/// Returns an error that shows how to use the command in the line.
pub fn usage<T>(line: &CommandText) -> Result<T, Diagnostics> {
    let name = line.word(0).unwrap_or_default().trim_start_matches(':');
    let arguments = ALL
        .iter()
        .find(|command| command.name == name)
        .map_or("", |command| command.arguments);
    Err(
        Diagnostic::usage(&BAD_COMMAND, format!("expected `:{name} {arguments}`"))
            .help("separate arguments by blanks; an expression that has blanks goes into parentheses")
            .into(),
    )
}

fn help(_: &mut Session, _: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    reply.result(
        "Enter an expression, `name = expression`, `name ~ distribution`, or an item such as `fn`, `data` or `model`. The items \
         `infer` and `compare` run.",
    );
    for command in ALL {
        let usage = format!(":{} {}", command.name, command.arguments);
        reply.result(format!("  {usage:<32} {}", command.about));
    }
    Ok(())
}

fn quit(_: &mut Session, _: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    reply.leave = true;
    Ok(())
}

fn reset(session: &mut Session, _: &CommandText, _: &mut Reply) -> Result<(), Diagnostics> {
    session.fits.clear();
    session.items.set(bnnc_grammar::ast::SourceFile::default());
    session.module = session.items.check(session.items.program()).0;
    session.variables.clear();
    session.environment = bnnc_hir::prompt::Environment::default();
    session.draws = 0;
    Ok(())
}

fn load(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let Some(range) = line.rest(1) else {
        return usage(line);
    };
    let path = line
        .source
        .text
        .get(range)
        .unwrap_or_default()
        .trim_matches('"')
        .to_owned();
    session.load_file(&path, reply)
}

fn list(session: &mut Session, _: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    for item in &session.items.program().items {
        reply.result(items::header(item, &session.sources));
    }
    let visible = |variable: &&Variable| {
        variable.written.is_some() && session.environment.scope.get(&variable.name) == Some(&variable.local)
    };
    session
        .variables
        .iter()
        .filter(visible)
        .for_each(|variable| reply.result(variable.text.as_str()));
    if reply.parts.is_empty() {
        reply.note("nothing is defined yet");
    }
    Ok(())
}

fn explain(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let Some(word) = line.word(1) else {
        return usage(line);
    };
    let wanted = word.to_uppercase();
    let codes = &session.world.codes;
    match codes.iter().find(|code| code.id == wanted) {
        Some(code) => {
            reply.result(format!("{}: {}\n\n{}", code.id, code.title, code.explain));
            Ok(())
        }
        None => {
            let diagnostic = Diagnostic::usage(&BAD_COMMAND, format!("there is no diagnostic `{word}`"));
            Err(match documented(word) {
                Some(found) => diagnostic
                    .note(format!("`{word}` is {}", found.kind))
                    .help(format!("the book describes it in `docs/src/{}`", found.page)),
                None => diagnostic.suggest_near(&wanted, codes.iter().map(|code| code.id)),
            }
            .into())
        }
    }
}

fn type_of(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let range = line.rest(1);
    let name = range
        .clone()
        .and_then(|range| line.source.text.get(range))
        .unwrap_or_default();
    let hidden = session.environment.scope.contains_key(name);
    if let Some(item) = session.items.find(name).filter(|_| !hidden) {
        reply.result(items::header(item, &session.sources));
        return Ok(());
    }
    if let Some(builtin) = builtin::lookup(name).filter(|_| !hidden) {
        reply.result(builtin.declaration());
        return Ok(());
    }
    let checked = session.argument(line, range, reply)?;
    let draw = session.next_draw();
    let (datum, computed) = session.computed_with(&checked, session.streams_of_draws(draw, 1))?;
    reply.result(match datum {
        Datum::Tensor(_) | Datum::Static(_) => bnnc_hir::show::ty(&checked.expr.ty, &checked.locals),
        other => session.describer(&computed).datum(&other),
    });
    Ok(())
}

fn shape(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let checked = session.argument(line, line.rest(1), reply)?;
    let draw = session.next_draw();
    let streams = session.streams_of_draws(draw, 1);
    let sizes = session
        .scene_with(&checked, streams.clone())
        .and_then(|mut scene| {
            let datum = scene.datum(&checked.expr)?;
            match datum {
                Datum::Tensor(value) => Ok(scene
                    .elaborator
                    .ty(value)
                    .shape
                    .static_sizes()
                    .unwrap_or_default()),
                Datum::Static(_) => Ok(Vec::new()),
                Datum::List(items) => Ok(vec![items.len()]),
                Datum::Dist(_) => session
                    .concrete_with(&checked, ValueSizes::Own, streams)
                    .map(|concrete| concrete.sizes()),
                Datum::Layer(_) | Datum::Composed(..) | Datum::Function(_) => {
                    let why = "this has no shape; `:type` shows its arguments and its result";
                    Err(Box::new(misuse(checked.expr.span, why)))
                }
            }
        });
    reply.result(show::shape(&sizes?));
    Ok(())
}
