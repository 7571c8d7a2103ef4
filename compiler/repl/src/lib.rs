//! The REPL. A session processes one entry at a time. The command line reads the entries and prints the replies.

mod commands;
mod comparisons;
mod complete;
mod definitions;
mod describe;
mod distribution;
mod divergence;
mod emission;
mod evaluate;
mod fits;
mod host;
mod items;
mod measures;
mod paths;
mod pending;
mod picture;
mod plot;
mod posterior;
mod predictive;
mod prior;
mod show;
mod variables;

use bnnc_abi::data::DataSpec;
use bnnc_abi::schema::Schema;
use bnnc_abi::symbols::Address;
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_base::source::{Source, SourceMap};
use bnnc_driver::render;
use bnnc_grammar::ast;
use bnnc_grammar::parse::{self, Entered, ReplEntry};
use bnnc_hir::diagnostics::elaborate::limit;
use bnnc_hir::elaborate::datum::Datum;
use bnnc_hir::elaborate::frame::Elaborated;
use bnnc_hir::prompt::{Environment, check_entry, check_expr};
use bnnc_hir::tree::{LocalId, Locals, Module, SampleStmt, TypedExpr, TypedStmt};
use bnnc_hir::types::{Elem, Ty};
use commands::Diagnostics;
pub use complete::{Completed, CompletionTable};
use describe::Describer;
use distribution::ValueSizes;
use evaluate::{Computed, Streams, VariableScope};
use fits::Fits;
pub use host::{ChainDraws, FittedPosterior, FittedSite, HostTable, RunHost, RunReport};
use items::Items;
pub use pending::PendingEntry;
pub use picture::{IntervalSummary, Picture, PictureContent, PictureMarks};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use variables::{Variable, VariableValue};

/// The settings of a session, and the operations that it does not implement itself.
pub struct World {
    /// The seed of all draws.
    pub seed: u64,
    /// True if diagnostics are coloured.
    pub colour: bool,
    /// Reads the header of a data item.
    pub schema: fn(&DataSpec) -> Result<Schema, Vec<Diagnostic>>,
    /// Every diagnostic code, for `:explain`.
    pub codes: Vec<&'static Code>,
    /// The runtime's array primitives, for `:emit`.
    pub symbols: Vec<Address>,
    /// Runs inference blocks, draws pictures and writes files.
    pub host: Rc<dyn RunHost>,
    /// The number of columns of the terminal.
    pub width: usize,
}

/// One part of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyPart {
    /// The result of the entry.
    Result(String),
    /// Diagnostics and notes.
    Aside(String),
}

/// The reply to an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The parts in order.
    pub parts: Vec<ReplyPart>,
    /// True if the entry ends the session.
    pub leave: bool,
    /// True if a program could not be loaded.
    pub is_rejected: bool,
}

impl Reply {
    fn result(&mut self, text: impl Into<String>) {
        self.parts.push(ReplyPart::Result(text.into()));
    }

    fn note(&mut self, text: &str) {
        self.parts.push(ReplyPart::Aside(format!("note: {text}")));
    }
}

/// A session: the items and variables defined so far.
pub struct Session {
    world: World,
    sources: SourceMap,
    items: Items,
    module: Module,
    environment: Environment,
    variables: Vec<Variable>,
    fits: Fits,
    draws: u32,
    entries: usize,
    /// A flag that is set by Ctrl-C during an evaluation.
    stop: Arc<AtomicBool>,
}

/// A checked expression and its variables.
struct Checked {
    expr: TypedExpr,
    locals: Locals,
}

impl Session {
    /// Creates a session that contains only the definitions of the library.
    pub fn new(world: World) -> Session {
        let mut sources = SourceMap::default();
        let items = Items::new(bnnc_driver::program::library(&mut sources));
        let (module, _) = items.check(items.program());
        let (environment, variables) = (Environment::default(), Vec::new());
        Session {
            world,
            sources,
            items,
            module,
            environment,
            variables,
            fits: Fits::new(),
            draws: 0,
            entries: 0,
            stop: Arc::default(),
        }
    }

    /// Returns whether the text needs more lines before it is a complete entry.
    pub fn is_unfinished(text: &str) -> bool {
        let is_command = text.trim_start().starts_with(':');
        let source = SourceMap::default().add("entry", text);
        !is_command && matches!(parse::parse_entry(&source), Entered::Incomplete)
    }

    /// Processes an entry: executes a command, defines items, binds a name, or evaluates an expression.
    pub fn enter(&mut self, text: &str) -> Reply {
        let mut reply = Reply::default();
        self.entries += 1;
        // The flag is new for each entry. The interruption of an earlier entry therefore does not
        // stop this one.
        self.stop = Arc::default();
        let source = self.sources.add(&format!("entry {}", self.entries), text);
        let outcome = match self.is_command(text) {
            true => self.command(&source, &mut reply),
            false => self.entry(&source, &mut reply),
        };
        if let Err(Diagnostics(diagnostics)) = outcome {
            self.show(&diagnostics, &mut reply);
        }
        reply
    }

    /// Defines all items of a program, or none of them. `text` is the text of the file at `path`.
    pub fn load(&mut self, path: &str, text: &str) -> Reply {
        let mut reply = Reply::default();
        if let Err(Diagnostics(diagnostics)) = self.load_text(path, text, &mut reply) {
            self.show(&diagnostics, &mut reply);
            reply.is_rejected = true;
        }
        reply
    }

    /// Sets the number of columns of the terminal.
    pub fn set_width(&mut self, width: usize) {
        self.world.width = width;
    }

    fn entry(&mut self, source: &Source, reply: &mut Reply) -> Result<(), Diagnostics> {
        let entries = match parse::parse_entry(source) {
            Entered::Complete(entries) => entries,
            Entered::Faulty(diagnostics) => return Err(diagnostics.into()),
            Entered::Incomplete => return Err(unfinished(source)),
        };
        let mut new = Vec::new();
        for entry in entries {
            match entry {
                ReplEntry::Item(item) => new.push(item),
                ReplEntry::Stmt(stmt) => self.interruptible(|this| this.statement(&stmt, reply))?,
                ReplEntry::Expr(expr) => {
                    if let Some(fit) = expr.as_name().filter(|name| self.is_infer(name))
                        && let Some(fit) = self.fit(fit)
                    {
                        reply.result(fit.summary().trim_end());
                        continue;
                    }
                    let text = self.interruptible(|this| {
                        let checked = this.checked(&expr, reply)?;
                        this.value(&checked, reply).map(|(_, text)| text)
                    })?;
                    reply.result(text);
                }
            }
        }
        let before = self.items.program().clone();
        if !new.is_empty() && self.define(new.clone(), reply) {
            self.run_entered(&new, &before, reply);
        }
        Ok(())
    }

    /// Calls `work`, and returns its result. Ctrl-C stops the work without ending the session.
    fn interruptible<T>(
        &mut self,
        mut work: impl FnMut(&mut Session) -> Result<T, Diagnostics>,
    ) -> Result<T, Diagnostics> {
        let host = self.world.host.clone();
        let mut outcome = Err(Diagnostics(Vec::new()));
        host.interruptible(&mut |stop| {
            self.stop = stop;
            outcome = work(self);
        });
        match self.stop.swap(false, Ordering::SeqCst) && outcome.is_err() {
            true => commands::reject("the evaluation was interrupted"),
            false => outcome,
        }
    }

    fn statement(&mut self, stmt: &ast::Stmt, reply: &mut Reply) -> Result<(), Diagnostics> {
        self.draws += 1;
        let text = self.bind(stmt, self.draws, reply)?;
        let name = self.variables.last().map(|variable| variable.name.clone());
        reply.result(text);
        if let Some(name) = name.filter(|name| self.infer_names().contains(name)) {
            reply.note(&format!(
                "the variable `{name}` hides the inference block `{name}`; choose another name to use both"
            ));
        }
        Ok(())
    }

    /// Executes a statement that binds a name, and returns a text that shows the value.
    fn bind(&mut self, written: &ast::Stmt, draw: u32, reply: &mut Reply) -> Result<String, Diagnostics> {
        let resolved = self.resolved_stmt(written, reply)?;
        let mut environment = self.environment.clone();
        let (stmt, diagnostics) = check_entry(&self.module, &mut environment, &resolved);
        let warnings: Vec<Diagnostic> = diagnostics
            .iter()
            .filter(|one| !one.is_error())
            .cloned()
            .collect();
        let (local, held, text) = match stmt {
            None => return Err(diagnostics.into()),
            Some(TypedStmt::Let(local, expr)) => {
                let checked = Checked {
                    expr,
                    locals: environment.locals.clone(),
                };
                let (held, text) = self.value_at(&checked, draw, reply)?;
                let (held, text) = as_declared(held, text, &environment.locals[local].ty);
                (local, held, text)
            }
            Some(TypedStmt::Sample(sample)) => {
                self.noted_draws(&sample.dist, reply);
                let held = self.drawn(&sample, &environment.locals, draw)?;
                let text = match &held {
                    VariableValue::Tensor(tensor, dtype) => show::tensor(tensor, *dtype),
                    VariableValue::Draws(draws, dtype) => {
                        let names = self.element_names(&sample.dist, &draws.shape[1..]);
                        posterior::text(draws, *dtype, &names)
                    }
                    VariableValue::Static(_) | VariableValue::Made(_) => String::new(),
                };
                (sample.local, held, text)
            }
            Some(TypedStmt::For { from, .. }) => {
                return Err(limit(from.span, "`for` belongs in a model").into());
            }
            Some(TypedStmt::Return(value)) => {
                return Err(limit(value.span, "`return` belongs in a function or a layer").into());
            }
        };
        self.show(&warnings, reply);
        let text = named(local, &held, &text, &environment.locals);
        let name = environment.locals[local].name.clone();
        self.environment = environment;
        self.variables.push(Variable {
            name,
            local,
            written: Some(written.clone()),
            draw,
            held,
            text: text.clone(),
        });
        Ok(text)
    }

    /// Draws from the distribution of a `~` statement.
    fn drawn(&self, sample: &SampleStmt, locals: &Locals, draw: u32) -> Elaborated<VariableValue> {
        let checked = Checked {
            expr: sample.dist.clone(),
            locals: locals.clone(),
        };
        if let Some(count) = self.posterior_draws(&sample.dist) {
            return self.drawn_at_draws(sample, locals, (draw, count));
        }
        let concrete = self.concrete_at(&checked, ValueSizes::Site(&sample.ty), draw)?;
        let stream = self.streams(draw).name(&locals[sample.local].name);
        let tensor = distribution::draw_declared(&concrete, &sample.ty, &stream, draw, sample.span)?;
        Ok(VariableValue::Tensor(tensor, concrete.instance.value.dtype))
    }

    /// Checks an expression. Adds warnings about the expression to the reply.
    fn checked(&mut self, written: &ast::Expr, reply: &mut Reply) -> Result<Checked, Diagnostics> {
        let written = self.resolved(written, reply)?;
        let (expr, locals, diagnostics) = check_expr(&self.module, &self.environment, &written);
        if diagnostics.iter().any(Diagnostic::is_error) {
            return Err(diagnostics.into());
        }
        self.show(&diagnostics, reply);
        Ok(Checked { expr, locals })
    }

    /// Evaluates an expression with the next draw number. Returns its value, and the same value as text.
    fn value(
        &mut self,
        checked: &Checked,
        reply: &mut Reply,
    ) -> Result<(VariableValue, String), Diagnostics> {
        self.draws += 1;
        self.value_at(checked, self.draws, reply)
    }

    fn value_at(
        &self,
        checked: &Checked,
        draw: u32,
        reply: &mut Reply,
    ) -> Result<(VariableValue, String), Diagnostics> {
        if let Some(count) = self.noted_draws(&checked.expr, reply) {
            let (draws, dtype) = self.at_draws(checked, draw, count)?;
            let names = self.element_names(&checked.expr, &draws.shape[1..]);
            let text = posterior::text(&draws, dtype, &names);
            return Ok((VariableValue::Draws(draws, dtype), text));
        }
        let (datum, computed) = self.computed(checked, draw)?;
        if !computed.drawn.is_empty() {
            let names: Vec<&str> = computed.drawn.iter().map(|(name, _)| &**name).collect();
            reply.note(&format!("drawn from their priors: {}", names.join(", ")));
        }
        let text = self.describer(&computed).datum(&datum);
        let held = match datum {
            Datum::Static(number) => VariableValue::Static(number),
            Datum::Tensor(value) => {
                let (tensor, dtype) = computed.of(value);
                VariableValue::Tensor(tensor.clone(), dtype)
            }
            _ => VariableValue::Made(checked.expr.clone()),
        };
        Ok((held, text))
    }

    fn computed(&self, checked: &Checked, draw: u32) -> Elaborated<(Datum, Computed)> {
        self.computed_with(checked, self.streams(draw))
    }

    fn computed_with(&self, checked: &Checked, streams: Streams) -> Elaborated<(Datum, Computed)> {
        let mut scene = self.scene_with(checked, streams)?;
        let datum = scene.datum(&checked.expr)?;
        Ok((datum, scene.compute(checked.expr.span)?))
    }

    fn scene<'a>(&'a self, checked: &'a Checked, draw: u32) -> Elaborated<VariableScope<'a>> {
        self.scene_with(checked, self.streams(draw))
    }

    fn scene_with<'a>(&'a self, checked: &'a Checked, streams: Streams) -> Elaborated<VariableScope<'a>> {
        VariableScope::new(
            &self.module,
            &checked.locals,
            &self.variables,
            &checked.expr,
            streams,
        )
    }

    fn streams(&self, line: u32) -> Streams {
        let layers: HashMap<String, u32> = self
            .variables
            .iter()
            .map(|variable| (variable.name.to_string(), variable.draw))
            .collect();
        Streams {
            seed: self.world.seed,
            line,
            prefix: String::new(),
            layers: Arc::new(layers),
            posterior: None,
            stop: self.stop.clone(),
        }
    }

    fn describer<'a>(&'a self, computed: &'a Computed) -> Describer<'a> {
        Describer {
            module: &self.module,
            sources: &self.sources,
            items: &self.items,
            computed,
        }
    }

    /// Renders diagnostics in the same form as for files.
    fn show(&self, diagnostics: &[Diagnostic], reply: &mut Reply) {
        let render = |diagnostic| {
            ReplyPart::Aside(
                render::text(diagnostic, &self.sources, self.world.colour)
                    .trim_end()
                    .to_owned(),
            )
        };
        reply.parts.extend(diagnostics.iter().map(render));
    }
}

/// If the statement binds an integer to a name of type `real`, converts the integer to a real.
fn as_declared(held: VariableValue, text: String, declared: &Ty) -> (VariableValue, String) {
    match (&held, declared) {
        (VariableValue::Static(number), Ty::Tensor(Elem::Real(_) | Elem::Count, dims)) if dims.is_empty() => {
            let tensor = bnnc_graph::tensor::Tensor::scalar(*number as f64);
            (VariableValue::Tensor(tensor, bnnc_base::dtype::DType::Real), text)
        }
        _ => (held, text),
    }
}

/// Formats a binding: `x: real[3] = [1, 2, 3]`, `h = Dense(4): layer ..`.
fn named(local: LocalId, held: &VariableValue, text: &str, locals: &Locals) -> String {
    let (name, ty) = (&locals[local].name, &locals[local].ty);
    match held {
        VariableValue::Made(_) => format!("{name} = {text}"),
        VariableValue::Draws(draws, _) if draws.shape.len() > 1 => {
            format!("{name}: {}\n{text}", bnnc_hir::show::ty(ty, locals))
        }
        VariableValue::Static(_) | VariableValue::Tensor(..) | VariableValue::Draws(..) => {
            let head = format!("{name}: {} = ", bnnc_hir::show::ty(ty, locals));
            let indent = format!("\n{}", " ".repeat(head.chars().count()));
            format!("{head}{}", text.replace('\n', &indent))
        }
    }
}

/// Returns the diagnostics for an entry that ends too early.
fn unfinished(source: &Source) -> Diagnostics {
    let (_, found) = parse::parse(source);
    match found.is_empty() {
        true => parse::parse_expr(source).1.into(),
        false => found.into(),
    }
}
