//! Prints the typed tree as text that the parser can read back, with the type of every variable.

use crate::show;
use crate::tree::{
    DistItem, FnItem, InferItem, InferenceTarget, LayerItem, Locals, ModelItem, Module, OptimiserItem,
    ParamBinding, PosteriorItem, PosteriorValue, SettingValue, StartValue, TypedComprehension, TypedExpr,
    TypedExprKind, TypedIndex, TypedStmt,
};
use crate::types::{Elem, Ty};
use bnnc_base::source::SourceId;
use bnnc_grammar::ast::UnaryOp;
use bnnc_graph::dist::{MeasureKind, Support};
use std::fmt::Write;

/// Prints the items of one source, or of all sources: constants, functions, layers, distributions, optimisers, models, posteriors and inference
/// blocks. Data items are absent, because the driver resolves and prints them.
pub fn print(module: &Module, source: Option<SourceId>) -> String {
    let mut printer = Printer {
        module,
        text: String::new(),
        indent: 0,
    };
    let wanted = |found: Option<SourceId>| source.is_none() || found == source;
    let first = |locals: &Locals| locals.iter().next().map(|local| local.span.source);
    for item in module
        .consts
        .iter()
        .filter(|item| wanted(Some(item.value.span.source)))
    {
        let value = printer.expr(&item.value, &Locals::default());
        printer.line(&format!("const {} = {value}", item.name));
        printer.line("");
    }
    for item in module
        .fns
        .iter()
        .filter(|item| wanted(first(&item.locals).or(body_source(&item.body))))
    {
        printer.function(item);
    }
    for item in module
        .dists
        .iter()
        .filter(|item| wanted(first(&item.locals).or(dist_source(item))))
    {
        printer.dist(item);
    }
    for item in module
        .layers
        .iter()
        .filter(|item| wanted(first(&item.locals).or(body_source(&item.body))))
    {
        printer.layer(item);
    }
    module
        .optimisers
        .iter()
        .filter(|item| wanted(first(&item.locals)))
        .for_each(|item| printer.optimiser(item));
    module.models.iter().for_each(|item| printer.model(item));
    module.posteriors.iter().for_each(|item| printer.posterior(item));
    for id in &module.infer_order {
        printer.infer(&module.infers[*id]);
    }
    printer.text
}

/// Returns an expression as a program would write it, with the names of these variables.
pub fn expression(module: &Module, expr: &TypedExpr, locals: &Locals) -> String {
    let printer = Printer {
        module,
        text: String::new(),
        indent: 0,
    };
    let text = printer.expr(expr, locals);
    // The printer writes parentheses around every operation.
    match &expr.kind {
        TypedExprKind::Binary(..) => text[1..text.len() - 1].to_owned(),
        _ => text,
    }
}

fn body_source(body: &[TypedStmt]) -> Option<SourceId> {
    body.iter()
        .flat_map(crate::walk::expressions)
        .map(|expr| expr.span.source)
        .next()
}

fn dist_source(item: &DistItem) -> Option<SourceId> {
    item.values.first().map(|(_, value)| value.span.source)
}

struct Printer<'a> {
    module: &'a Module,
    text: String,
    indent: usize,
}

impl Printer<'_> {
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

    fn function(&mut self, item: &FnItem) {
        let params = self.params(&item.params, &item.locals);
        self.open(
            &format!(
                "fn {}({params}) -> {}",
                item.name,
                show::ty(&item.result, &item.locals)
            ),
            &item.doc,
        );
        self.block(&item.body, &item.locals);
        self.close();
    }

    fn layer(&mut self, item: &LayerItem) {
        let (params, inputs) = (
            self.params(&item.params, &item.locals),
            self.params(&item.inputs, &item.locals),
        );
        let result = show::ty(&item.result, &item.locals);
        self.open(
            &format!("layer {}({params})({inputs}) -> {result}", item.name),
            &item.doc,
        );
        self.block(&item.body, &item.locals);
        self.close();
    }

    fn dist(&mut self, item: &DistItem) {
        let params = self.params(&item.params, &item.locals);
        self.open(
            &format!(
                "dist {}({params}) on {}",
                item.name,
                show::ty(&item.on, &item.locals)
            ),
            &item.doc,
        );
        for (name, argument, value) in &item.functions {
            let value = self.expr(value, &item.locals);
            self.line(&format!(
                "{name}({}) = {value}",
                show::name(*argument, &item.locals)
            ));
        }
        for (name, value) in &item.values {
            let value = self.expr(value, &item.locals);
            self.line(&format!("{name} = {value}"));
        }
        for (end, (at, tail)) in item
            .ends
            .iter()
            .zip([("lowest", "low_tail"), ("highest", "high_tail")])
        {
            if let Some(value) = &end.at {
                let value = self.expr(value, &item.locals);
                self.line(&format!("{at} = {value}"));
            }
            if let Some((kind, numbers)) = &end.tail {
                let numbers: Vec<String> = numbers
                    .iter()
                    .map(|value| self.expr(value, &item.locals))
                    .collect();
                let numbers = match numbers.is_empty() {
                    true => String::new(),
                    false => format!("({})", numbers.join(", ")),
                };
                self.line(&format!("{tail} = {}{numbers}", kind.name()));
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

    fn optimiser(&mut self, item: &OptimiserItem) {
        let params = self.params(&item.params, &item.locals);
        self.open(&format!("optimiser {}({params})", item.name), &item.doc);
        for (local, start, _) in &item.states {
            let start = self.expr(start, &item.locals);
            self.line(&format!("state {} = {start}", show::name(*local, &item.locals)));
        }
        for (local, _, next) in &item.states {
            let next = self.expr(next, &item.locals);
            self.line(&format!("next {} = {next}", show::name(*local, &item.locals)));
        }
        if let Some(step) = &item.step {
            let step = self.expr(step, &item.locals);
            self.line(&format!("step = {step}"));
        }
        self.close();
    }

    fn model(&mut self, item: &ModelItem) {
        let shared = match item.shared.is_empty() {
            true => String::new(),
            false => format!("({})", self.params(&item.shared, &item.locals)),
        };
        let (inputs, outputs) = (
            self.params(&item.inputs, &item.locals),
            self.params(&item.outputs, &item.locals),
        );
        self.open(&format!("model {}{shared}({inputs}) -> {outputs}", item.name), "");
        self.block(&item.body, &item.locals);
        self.close();
    }

    fn posterior(&mut self, item: &PosteriorItem) {
        let Some(model) = self.module.models.get(item.model) else {
            return;
        };
        self.open(&format!("posterior {} of {}", item.name, model.name), "");
        for line in &item.lines {
            let sites = line
                .sites
                .iter()
                .map(|(site, _)| &**site)
                .collect::<Vec<_>>()
                .join(", ");
            let value = match &line.value {
                PosteriorValue::From(infer, path) => format!("= {}.{path}", self.module.infers[*infer].name),
                PosteriorValue::Family(dist, starts) => {
                    let starts: Vec<String> = starts
                        .iter()
                        .map(|(name, start)| format!("{name} = {}", self.start(start)))
                        .collect();
                    format!("~ {}({})", self.module.dists[*dist].name, starts.join(", "))
                }
            };
            self.line(&format!("{sites} {value}"));
        }
        self.close();
    }

    fn start(&self, start: &StartValue) -> String {
        let none = Locals::default();
        match start {
            StartValue::Value(value) | StartValue::Draw(value) => self.expr(value, &none),
            StartValue::Fixed(value) => format!("fixed({})", self.expr(value, &none)),
        }
    }

    fn infer(&mut self, item: &InferItem) {
        let target = match item.target {
            InferenceTarget::Model(id) => self.module.models.get(id).map(|model| model.name.clone()),
            InferenceTarget::Posterior(id) => self
                .module
                .posteriors
                .get(id)
                .map(|posterior| posterior.name.clone()),
        };
        let data = self.module.datas.get(item.data).map(|data| data.name.clone());
        let (Some(target), Some(data)) = (target, data) else {
            return;
        };
        let head = format!("infer {} = {}({target}, {data})", item.name, item.method.name);
        if item.options.is_empty() {
            self.line(&head);
            self.line("");
            return;
        }
        self.open(&head, "");
        for option in &item.options {
            let value = self.setting(&option.value);
            self.line(&format!("{} = {value}", option.name));
        }
        self.close();
    }

    fn setting(&self, value: &SettingValue) -> String {
        let call = |name: &str, args: Vec<String>| match args.is_empty() {
            true => name.to_owned(),
            false => format!("{name}({})", args.join(", ")),
        };
        match value {
            SettingValue::Int(value) => value.to_string(),
            SettingValue::Real(value) => real(*value),
            SettingValue::Bool(value) => value.to_string(),
            SettingValue::Word(word) => word.to_string(),
            SettingValue::Optimiser(id, args) => {
                let args = args
                    .iter()
                    .map(|arg| self.expr(arg, &Locals::default()))
                    .collect();
                call(&self.module.optimisers[*id].name, args)
            }
            SettingValue::Infer(id) => self.module.infers[*id].name.to_string(),
            SettingValue::Reals(values) => {
                format!(
                    "[{}]",
                    values
                        .iter()
                        .map(|value| real(*value))
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
            SettingValue::Names(names) => format!("[{}]", names.join(", ")),
            SettingValue::File(path) => format!("safetensors({path:?})"),
            SettingValue::Subnetwork(size, by, _) => format!("subnetwork({}, by = {by})", real(*size)),
            SettingValue::Call(name, args) => call(name, args.iter().map(|value| real(*value)).collect()),
            SettingValue::Schedule(schedule) => schedule.to_string(),
        }
    }

    fn params(&self, params: &[ParamBinding], locals: &Locals) -> String {
        let one = |binding: &ParamBinding| {
            let ty = show::ty(&binding.param.ty, locals);
            let default = binding
                .default
                .as_ref()
                .map(|default| format!(" = {}", self.expr(default, locals)));
            format!("{}: {ty}{}", binding.param.name, default.unwrap_or_default())
        };
        params.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn block(&mut self, body: &[TypedStmt], locals: &Locals) {
        for stmt in body {
            match stmt {
                TypedStmt::Let(local, value) => {
                    let ty = match &locals[*local].ty {
                        ty @ Ty::Tensor(..) => format!(": {}", show::ty(ty, locals)),
                        _ => String::new(),
                    };
                    let value = self.expr(value, locals);
                    self.line(&format!("{}{ty} = {value}", show::name(*local, locals)));
                }
                TypedStmt::Sample(sample) => {
                    let name = show::name(sample.local, locals);
                    let dist = self.expr(&sample.dist, locals);
                    let index = sample
                        .index
                        .as_ref()
                        .map(|index| format!("[{}]", self.expr(index, locals)));
                    let word = if sample.per_example && !sample.observed {
                        "local "
                    } else {
                        ""
                    };
                    let ty = match sample.observed {
                        true => index.unwrap_or_default(),
                        false => format!(": {}", show::ty(&sample.ty, locals)),
                    };
                    self.line(&format!("{word}{name}{ty} ~ {dist}"));
                }
                TypedStmt::For {
                    counter,
                    from,
                    to,
                    body,
                } => {
                    let (from, to) = (self.expr(from, locals), self.expr(to, locals));
                    self.open(
                        &format!("for {} in {from}..{to}", show::name(*counter, locals)),
                        "",
                    );
                    self.block(body, locals);
                    self.close();
                }
                TypedStmt::Return(value) => {
                    let value = self.expr(value, locals);
                    self.line(&format!("return {value}"));
                }
            }
        }
    }

    fn args(&self, args: &[TypedExpr], locals: &Locals) -> String {
        args.iter()
            .map(|arg| self.expr(arg, locals))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn range(&self, inner: &TypedComprehension, locals: &Locals) -> String {
        let parts = [&inner.element, &inner.from, &inner.to].map(|part| self.expr(part, locals));
        format!(
            "{} for {} in {}..{}",
            parts[0],
            show::name(inner.counter, locals),
            parts[1],
            parts[2]
        )
    }

    fn expr(&self, expr: &TypedExpr, locals: &Locals) -> String {
        let recur = |part: &TypedExpr| self.expr(part, locals);
        match &expr.kind {
            TypedExprKind::Real(value) => real(*value),
            TypedExprKind::Int(value) if *value < 0 => format!("(-{})", value.unsigned_abs()),
            TypedExprKind::Int(value) => value.to_string(),
            TypedExprKind::Bool(value) => value.to_string(),
            TypedExprKind::Local(local) => show::name(*local, locals),
            TypedExprKind::Const(id) => self.module.consts[*id].name.to_string(),
            TypedExprKind::Row => "row".to_owned(),
            TypedExprKind::Builtin(builtin, args) => format!("{}({})", builtin.name, self.args(args, locals)),
            TypedExprKind::CallFn(id, args) => {
                format!("{}({})", self.module.fns[*id].name, self.args(args, locals))
            }
            TypedExprKind::FnValue(id) => self.module.fns[*id].name.to_string(),
            TypedExprKind::BuiltinValue(builtin) => builtin.name.to_owned(),
            TypedExprKind::CallLocal(local, args) => {
                format!("{}({})", show::name(*local, locals), self.args(args, locals))
            }
            TypedExprKind::MakeLayer(id, args) => {
                format!("{}({})", self.module.layers[*id].name, self.args(args, locals))
            }
            TypedExprKind::CallLayer(callee, _, args) => {
                format!("{}({})", recur(callee), self.args(args, locals))
            }
            TypedExprKind::MakeDist(id, args) => {
                format!("{}({})", self.module.dists[*id].name, self.args(args, locals))
            }
            TypedExprKind::DistPart(base, part, None) => format!("{}.{part}", recur(base)),
            TypedExprKind::DistPart(base, part, Some(argument)) => {
                format!("{}.{part}({})", recur(base), recur(argument))
            }
            TypedExprKind::List(elements) => format!("[{}]", self.args(elements, locals)),
            TypedExprKind::Comprehension(inner) => format!("[{}]", self.range(inner, locals)),
            TypedExprKind::Reduce(builtin, inner) => {
                format!("{}({})", builtin.name, self.range(inner, locals))
            }
            TypedExprKind::Index(base, indices) => {
                let one = |index: &TypedIndex| match index {
                    TypedIndex::At(at) => recur(at),
                    TypedIndex::Range(from, to) => format!("{}..{}", recur(from), recur(to)),
                };
                let indices: Vec<String> = indices.iter().map(one).collect();
                format!("{}[{}]", recur(base), indices.join(", "))
            }
            TypedExprKind::Unary(UnaryOp::Neg, operand) => format!("(-{})", recur(operand)),
            TypedExprKind::Unary(UnaryOp::Not, operand) => format!("(!{})", recur(operand)),
            TypedExprKind::Binary(op, left, right) => {
                format!("({} {} {})", recur(left), op, recur(right))
            }
            TypedExprKind::If(condition, yes, no) => {
                format!(
                    "(if {} {{ {} }} else {{ {} }})",
                    recur(condition),
                    recur(yes),
                    recur(no)
                )
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
