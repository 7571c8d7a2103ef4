//! Prints the typed tree as text that the parser can read back, with the type of every variable.

use crate::show;
use crate::tree::{
    DistItem, FnItem, InferItem, InferenceTarget, LayerItem, LocalId, Locals, ModelItem, Module,
    OptimiserItem, ParamBinding, PosteriorItem, PosteriorValue, SettingValue, StartValue, TypedComprehension,
    TypedExpr, TypedExprKind, TypedIndex, TypedStmt,
};
use crate::types::{Elem, Ty};
use bnnc_base::source::SourceId;
use bnnc_grammar::ast::UnaryOp;
use bnnc_graph::dist::{MeasureKind, Support};
use std::fmt::Write;

/// Prints the items of one source, or of all sources: constants, functions, layers, distributions, optimisers, models, posteriors and inference
/// blocks. Data items are left out, because the driver resolves and prints them.
pub fn print(module: &Module, source: Option<SourceId>) -> String {
    let none = Locals::default();
    let mut printer = Printer::new(module, &none);
    let wanted = |locals: &Locals, first: Option<&TypedExpr>| {
        let local = locals.iter().next().map(|local| local.span.source);
        source.is_none() || local.or(first.map(|expr| expr.span.source)) == source
    };
    let first = |body| {
        <[TypedStmt]>::iter(body)
            .flat_map(crate::walk::expressions)
            .next()
    };
    for item in module.consts.iter() {
        if wanted(&none, Some(&item.value)) {
            printer.line(&format!("const {} = {}", item.name, printer.expr(&item.value)));
            printer.line("");
        }
    }
    let fns = module.fns.iter();
    fns.filter(|item| wanted(&item.locals, first(&item.body)))
        .for_each(|item| printer.function(item));
    let dists = module.dists.iter();
    dists
        .filter(|item| wanted(&item.locals, item.values.first().map(|(_, value)| value)))
        .for_each(|item| printer.dist(item));
    let layers = module.layers.iter();
    layers
        .filter(|item| wanted(&item.locals, first(&item.body)))
        .for_each(|item| printer.layer(item));
    let optimisers = module.optimisers.iter();
    optimisers
        .filter(|item| wanted(&item.locals, None))
        .for_each(|item| printer.optimiser(item));
    module.models.iter().for_each(|item| printer.model(item));
    printer.locals = &none;
    module.posteriors.iter().for_each(|item| printer.posterior(item));
    for id in &module.infer_order {
        printer.infer(&module.infers[*id]);
    }
    printer.text
}

/// Returns an expression as it would be written in a program with these variables.
pub fn expression(module: &Module, expr: &TypedExpr, locals: &Locals) -> String {
    let text = Printer::new(module, locals).expr(expr);
    // The printer writes parentheses around every operation.
    match &expr.kind {
        TypedExprKind::Binary(..) => text[1..text.len() - 1].to_owned(),
        _ => text,
    }
}

struct Printer<'a> {
    module: &'a Module,
    /// The variables of the item that is being printed.
    locals: &'a Locals,
    text: String,
    indent: usize,
}

/// Returns the texts of items, separated by commas.
fn list<T>(items: impl IntoIterator<Item = T>, text: impl FnMut(T) -> String) -> String {
    items.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Returns a name with arguments, or the name alone if it does not have arguments.
fn call(name: &str, args: &str) -> String {
    match args.is_empty() {
        true => name.to_owned(),
        false => format!("{name}({args})"),
    }
}

impl<'a> Printer<'a> {
    fn new(module: &'a Module, locals: &'a Locals) -> Printer<'a> {
        Printer {
            module,
            locals,
            text: String::new(),
            indent: 0,
        }
    }

    fn line(&mut self, text: &str) {
        let indent = if text.is_empty() { 0 } else { 2 * self.indent };
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:indent$}{text}", "");
    }

    fn open(&mut self, head: &str, doc: &str) {
        for line in doc.lines() {
            self.line(format!("/// {}", line.trim()).trim_end());
        }
        self.line(&format!("{head} {{"));
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
        if self.indent == 0 {
            self.line("");
        }
    }

    fn name(&self, local: LocalId) -> String {
        show::name(local, self.locals)
    }

    fn ty(&self, ty: &Ty) -> String {
        show::ty(ty, self.locals)
    }

    fn function(&mut self, item: &'a FnItem) {
        self.locals = &item.locals;
        let (params, result) = (self.params(&item.params), self.ty(&item.result));
        self.open(&format!("fn {}({params}) -> {result}", item.name), &item.doc);
        self.block(&item.body);
        self.close();
    }

    fn layer(&mut self, item: &'a LayerItem) {
        self.locals = &item.locals;
        let (params, inputs) = (self.params(&item.params), self.params(&item.inputs));
        let result = self.ty(&item.result);
        let head = format!("layer {}({params})({inputs}) -> {result}", item.name);
        self.open(&head, &item.doc);
        if let Some(rule) = item.start {
            self.line(&format!("start = {}", rule.name()));
        }
        self.block(&item.body);
        self.close();
    }

    fn dist(&mut self, item: &'a DistItem) {
        self.locals = &item.locals;
        let (params, on) = (self.params(&item.params), self.ty(&item.on));
        self.open(&format!("dist {}({params}) on {on}", item.name), &item.doc);
        for (name, argument, value) in &item.functions {
            let (argument, value) = (self.name(*argument), self.expr(value));
            self.line(&format!("{name}({argument}) = {value}"));
        }
        for (name, value) in &item.values {
            self.line(&format!("{name} = {}", self.expr(value)));
        }
        let names = [("lowest", "low_tail"), ("highest", "high_tail")];
        for (end, (at, tail)) in item.ends.iter().zip(names) {
            if let Some(value) = &end.at {
                self.line(&format!("{at} = {}", self.expr(value)));
            }
            if let Some((kind, numbers)) = &end.tail {
                self.line(&format!("{tail} = {}", call(kind.name(), &self.args(numbers))));
            }
        }
        if item.mixture {
            self.line("mixture = true");
        }
        if !item.groups && matches!(&item.on, Ty::Tensor(Elem::Real(Support::Real), dims) if dims.len() == 1)
        {
            self.line("per_tensor = true");
        }
        match item.measure {
            MeasureKind::Density => {}
            MeasureKind::Improper => self.line("improper = true"),
            MeasureKind::Point => self.line("point = true"),
        }
        self.close();
    }

    fn optimiser(&mut self, item: &'a OptimiserItem) {
        self.locals = &item.locals;
        let head = format!("optimiser {}({})", item.name, self.params(&item.params));
        self.open(&head, &item.doc);
        for (local, start, _) in &item.states {
            self.line(&format!("state {} = {}", self.name(*local), self.expr(start)));
        }
        for (local, _, next) in &item.states {
            self.line(&format!("next {} = {}", self.name(*local), self.expr(next)));
        }
        if let Some(step) = &item.step {
            self.line(&format!("step = {}", self.expr(step)));
        }
        self.close();
    }

    fn model(&mut self, item: &'a ModelItem) {
        self.locals = &item.locals;
        let name = call(&item.name, &self.params(&item.shared));
        let (inputs, outputs) = (self.params(&item.inputs), self.params(&item.outputs));
        self.open(&format!("model {name}({inputs}) -> {outputs}"), "");
        self.block(&item.body);
        self.close();
    }

    fn posterior(&mut self, item: &PosteriorItem) {
        let Some(model) = self.module.models.get(item.model) else {
            return;
        };
        self.open(&format!("posterior {} of {}", item.name, model.name), "");
        for line in &item.lines {
            let sites = list(&line.sites, |(site, _)| site.to_string());
            let value = match &line.value {
                PosteriorValue::From(infer, path) => format!("= {}.{path}", self.module.infers[*infer].name),
                PosteriorValue::Family(dist, starts) => {
                    let starts = list(starts, |(name, start)| format!("{name} = {}", self.start(start)));
                    format!("~ {}({starts})", self.module.dists[*dist].name)
                }
            };
            self.line(&format!("{sites} {value}"));
        }
        self.close();
    }

    fn start(&self, start: &StartValue) -> String {
        match start {
            StartValue::Value(value) | StartValue::Draw(value) => self.expr(value),
            StartValue::Scaled(rule) => rule.name().to_owned(),
            StartValue::Fixed(value) => format!("fixed({})", self.expr(value)),
        }
    }

    fn infer(&mut self, item: &InferItem) {
        let module = self.module;
        let target = match item.target {
            InferenceTarget::Model(id) => module.models.get(id).map(|model| &model.name),
            InferenceTarget::Posterior(id) => module.posteriors.get(id).map(|posterior| &posterior.name),
        };
        let (Some(target), Some(data)) = (target, module.datas.get(item.data)) else {
            return;
        };
        let head = format!(
            "infer {} = {}({target}, {})",
            item.name, item.method.name, data.name
        );
        if item.options.is_empty() {
            self.line(&head);
            self.line("");
            return;
        }
        self.open(&head, "");
        for option in &item.options {
            self.line(&format!("{} = {}", option.name, self.setting(&option.value)));
        }
        self.close();
    }

    fn setting(&self, value: &SettingValue) -> String {
        match value {
            SettingValue::Int(value) => value.to_string(),
            SettingValue::Real(value) => real(*value),
            SettingValue::Bool(value) => value.to_string(),
            SettingValue::Word(word) => word.to_string(),
            SettingValue::Optimiser(id, args) => call(&self.module.optimisers[*id].name, &self.args(args)),
            SettingValue::Infer(id) => self.module.infers[*id].name.to_string(),
            SettingValue::Reals(values) => format!("[{}]", list(values, |value| real(*value))),
            SettingValue::Names(names) => format!("[{}]", names.join(", ")),
            SettingValue::File(path) => format!("safetensors({path:?})"),
            SettingValue::Subnetwork(size, by, _) => format!("subnetwork({}, by = {by})", real(*size)),
            SettingValue::Call(name, args) => call(name, &list(args, |value| real(*value))),
            SettingValue::Schedule(schedule) => schedule.to_string(),
            SettingValue::Augmentations(list) => {
                let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                format!("[{}]", list.join(", "))
            }
        }
    }

    fn params(&self, params: &[ParamBinding]) -> String {
        list(params, |binding| {
            let text = format!("{}: {}", binding.param.name, self.ty(&binding.param.ty));
            match &binding.default {
                Some(default) => format!("{text} = {}", self.expr(default)),
                None => text,
            }
        })
    }

    fn block(&mut self, body: &[TypedStmt]) {
        for stmt in body {
            match stmt {
                TypedStmt::Let(local, value) => {
                    let ty = match &self.locals[*local].ty {
                        ty @ Ty::Tensor(..) => format!(": {}", self.ty(ty)),
                        _ => String::new(),
                    };
                    self.line(&format!("{}{ty} = {}", self.name(*local), self.expr(value)));
                }
                TypedStmt::Sample(sample) => {
                    let (name, dist) = (self.name(sample.local), self.expr(&sample.dist));
                    let word = match sample.per_example && !sample.observed {
                        true => "local ",
                        false => "",
                    };
                    let ty = match (sample.observed, &sample.index) {
                        (true, Some(index)) => format!("[{}]", self.expr(index)),
                        (true, None) => String::new(),
                        (false, _) => format!(": {}", self.ty(&sample.ty)),
                    };
                    self.line(&format!("{word}{name}{ty} ~ {dist}"));
                }
                TypedStmt::For {
                    counter,
                    from,
                    to,
                    body,
                } => {
                    let (from, to) = (self.expr(from), self.expr(to));
                    self.open(&format!("for {} in {from}..{to}", self.name(*counter)), "");
                    self.block(body);
                    self.close();
                }
                TypedStmt::Return(value) => self.line(&format!("return {}", self.expr(value))),
            }
        }
    }

    fn args(&self, args: &[TypedExpr]) -> String {
        list(args, |arg| self.expr(arg))
    }

    fn range(&self, inner: &TypedComprehension) -> String {
        let [element, from, to] = [&inner.element, &inner.from, &inner.to].map(|part| self.expr(part));
        format!("{element} for {} in {from}..{to}", self.name(inner.counter))
    }

    fn expr(&self, expr: &TypedExpr) -> String {
        let recur = |part: &TypedExpr| self.expr(part);
        let call = |name: &str, args: &[TypedExpr]| format!("{name}({})", self.args(args));
        let module = self.module;
        match &expr.kind {
            TypedExprKind::Real(value) => real(*value),
            TypedExprKind::Int(value) if *value < 0 => format!("(-{})", value.unsigned_abs()),
            TypedExprKind::Int(value) => value.to_string(),
            TypedExprKind::Bool(value) => value.to_string(),
            TypedExprKind::Local(local) => self.name(*local),
            TypedExprKind::Const(id) => module.consts[*id].name.to_string(),
            TypedExprKind::Row => "row".to_owned(),
            TypedExprKind::FnValue(id) => module.fns[*id].name.to_string(),
            TypedExprKind::BuiltinValue(builtin) => builtin.name.to_owned(),
            TypedExprKind::Builtin(builtin, args) => call(builtin.name, args),
            TypedExprKind::CallFn(id, args) => call(&module.fns[*id].name, args),
            TypedExprKind::CallLocal(local, args) => call(&self.name(*local), args),
            TypedExprKind::MakeLayer(id, args) => call(&module.layers[*id].name, args),
            TypedExprKind::Compose(composition, parts) => call(composition.name(), parts),
            TypedExprKind::CallLayer(callee, _, args) => call(&recur(callee), args),
            TypedExprKind::MakeDist(id, args) => call(&module.dists[*id].name, args),
            TypedExprKind::DistPart(base, part, None) => format!("{}.{part}", recur(base)),
            TypedExprKind::DistPart(base, part, Some(argument)) => {
                format!("{}.{part}({})", recur(base), recur(argument))
            }
            TypedExprKind::List(elements) => format!("[{}]", self.args(elements)),
            TypedExprKind::Comprehension(inner) => format!("[{}]", self.range(inner)),
            TypedExprKind::Reduce(builtin, inner) => format!("{}({})", builtin.name, self.range(inner)),
            TypedExprKind::Index(base, indices) => {
                let indices = list(indices, |index| match index {
                    TypedIndex::At(at) => recur(at),
                    TypedIndex::Range(from, to) => format!("{}..{}", recur(from), recur(to)),
                });
                format!("{}[{indices}]", recur(base))
            }
            TypedExprKind::Unary(UnaryOp::Neg, operand) => format!("(-{})", recur(operand)),
            TypedExprKind::Unary(UnaryOp::Not, operand) => format!("(!{})", recur(operand)),
            TypedExprKind::Binary(op, left, right) => format!("({} {op} {})", recur(left), recur(right)),
            TypedExprKind::If(condition, yes, no) => {
                let [condition, yes, no] = [condition, yes, no].map(|part| self.expr(part));
                format!("(if {condition} {{ {yes} }} else {{ {no} }})")
            }
            TypedExprKind::Error => "_".to_owned(),
        }
    }
}

/// Formats a real with a decimal point or an exponent, so that the parser reads the number as a real.
fn real(value: f64) -> String {
    if value.is_nan() {
        return "(0 / 0.0)".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "(1 / 0.0)" } else { "(-1 / 0.0)" }.to_owned();
    }
    if value < 0.0 {
        return format!("(-{:?})", -value);
    }
    format!("{value:?}")
}
