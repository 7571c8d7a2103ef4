//! Parses the text form of functions. The parser does not depend on any particular op.

use crate::attr::{Attr, AttrKind, Attrs};
use crate::dist::Instance;
use crate::function::{Function, Node, NodeKind, Value};
use crate::op::Op;
use crate::ops;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::nearest::nearest;
use bnnc_base::text::{Reader, TextError};
use std::str::FromStr;
use std::sync::Arc;

/// Looks up a distribution by its printed name, because the text form does not contain definitions of
/// distributions.
pub type DistLookup<'a> = &'a dyn Fn(&str) -> Option<Arc<Instance>>;

/// Parses one function that does not refer to distributions.
///
/// ```
/// let text = "fn f(%0 x: real[4]) -> (y: %1) {\n  %1 = exp %0 : real[4]\n}";
/// assert_eq!(bnnc_graph::parse::parse(text).unwrap().to_string(), text);
/// ```
pub fn parse(text: &str) -> Result<Function, TextError> {
    parse_with(text, &|_| None)
}

/// Parses one function. `table` looks up the distributions to which the function refers.
pub fn parse_with(text: &str, table: DistLookup) -> Result<Function, TextError> {
    let mut parser = Parser {
        reader: Reader::new(text),
        table,
    };
    let function = parser.function()?;
    match parser.reader.is_done() {
        true => Ok(function),
        false => Err(parser.reader.error("expected the end after the function")),
    }
}

struct Parser<'a> {
    reader: Reader<'a>,
    table: DistLookup<'a>,
}

/// A parameter in the signature that does not have a node yet.
struct Param {
    value: Value,
    node: Node,
}

impl Parser<'_> {
    fn function(&mut self) -> Result<Function, TextError> {
        self.reader.expect("fn")?;
        let mut function = Function {
            name: name(&mut self.reader)?,
            ..Function::default()
        };
        self.reader.expect("(")?;
        let mut params = self.reader.list(")", param)?;
        function.params = params.iter().map(|param| param.value).collect();
        params.sort_by_key(|param| std::cmp::Reverse(param.value));
        self.reader.expect("->")?;
        self.reader.expect("(")?;
        let results = self.reader.list(")", result)?;
        self.reader.expect("{")?;
        place_params(&mut function, &mut params);
        while !self.reader.eat("}") {
            self.node(&mut function)?;
            place_params(&mut function, &mut params);
        }
        if let Some(param) = params.last() {
            return Err(self
                .reader
                .error(&format!("expected nodes up to parameter {}", param.value)));
        }
        if let Some((_, value)) = results
            .iter()
            .find(|(_, value)| function.nodes.get(*value).is_none())
        {
            return Err(self
                .reader
                .error(&format!("expected a node {value}, which is a result")));
        }
        function.results = results;
        Ok(function)
    }

    fn node(&mut self, function: &mut Function) -> Result<(), TextError> {
        let next = Value(function.nodes.len() as u32);
        let line = self.reader.line();
        self.reader.expect(&next.to_string())?;
        self.reader.expect("=")?;
        let op = self.op()?;
        let mut args = Vec::new();
        while self.reader.peek().starts_with('%') {
            let arg = value(&mut self.reader)?;
            if arg >= next {
                return Err(self
                    .reader
                    .error(&format!("expected an operand before {next}, not {arg}")));
            }
            args.push(arg);
            self.reader.eat(",");
        }
        let attrs = self.attrs(op)?;
        let types: Vec<&Type> = args.iter().map(|arg| function.ty(*arg)).collect();
        let ty = op.check_call(&types, &attrs).map_err(|why| TextError {
            line,
            message: format!("operands of `{}`: {why}", op.name),
        })?;
        self.reader.expect(":")?;
        let written = read_type(&mut self.reader)?;
        if written != ty {
            let message = format!("expected the type {ty} for {next}, found {written}");
            return Err(TextError { line, message });
        }
        let label = match self.reader.eat("@") {
            true => Some(self.reader.quoted()?.into()),
            false => None,
        };
        function.nodes.push(Node {
            kind: NodeKind::Apply { op, args, attrs },
            ty,
            label,
        });
        Ok(())
    }

    fn op(&mut self) -> Result<Op, TextError> {
        let name = self.reader.peek();
        let Some(op) = ops::lookup(name) else {
            let hint = nearest(name, ops::ALL.iter().map(|def| def.name));
            let hint = hint.map(|near| format!(" (`{near}` is one)")).unwrap_or_default();
            return Err(self.reader.error(&format!("expected an op{hint}")));
        };
        self.reader.token();
        Ok(op)
    }

    fn attrs(&mut self, op: Op) -> Result<Attrs, TextError> {
        let mut attrs = Vec::new();
        for (at, spec) in op.attrs.iter().enumerate() {
            if at > 0 {
                self.reader.expect(",")?;
            }
            self.reader.expect(spec.name)?;
            self.reader.expect("=")?;
            attrs.push(self.attr(spec.kind)?);
        }
        Ok(attrs)
    }

    fn attr(&mut self, kind: AttrKind) -> Result<Attr, TextError> {
        Ok(match kind {
            AttrKind::Dist => Attr::Dist(self.dist()?),
            AttrKind::Dim => Attr::Dim(self.reader.dim()?),
            AttrKind::DType => Attr::DType(dtype(&mut self.reader)?),
            AttrKind::Function => Attr::Function(Arc::new(self.function()?)),
            AttrKind::Int => Attr::Int(self.reader.number()?),
            AttrKind::Ints => Attr::Ints(numbers(&mut self.reader)?),
            AttrKind::Real => Attr::Real(self.reader.number()?),
            AttrKind::Reals => Attr::Reals(numbers(&mut self.reader)?),
            AttrKind::Shape => Attr::Shape(self.reader.shape()?),
            AttrKind::Symbol => Attr::Symbol(self.reader.quoted()?.into()),
        })
    }

    fn dist(&mut self) -> Result<Arc<Instance>, TextError> {
        self.reader.choose("a distribution that is defined here", |name| {
            (self.table)(name.trim_matches('"'))
        })
    }
}

/// Adds the node of each parameter when its position is reached. `params` is in reverse order, so
/// the next parameter is the last one.
fn place_params(function: &mut Function, params: &mut Vec<Param>) {
    while let Some(param) = params.pop_if(|param| param.value.0 as usize == function.nodes.len()) {
        function.nodes.push(param.node);
    }
}

fn param(reader: &mut Reader<'_>) -> Result<Param, TextError> {
    let value = value(reader)?;
    let name = name(reader)?;
    reader.expect(":")?;
    let node = Node {
        kind: NodeKind::Param(name.into()),
        ty: read_type(reader)?,
        label: None,
    };
    Ok(Param { value, node })
}

fn result(reader: &mut Reader<'_>) -> Result<(Arc<str>, Value), TextError> {
    let name = name(reader)?;
    reader.expect(":")?;
    Ok((name.into(), value(reader)?))
}

fn numbers<T: FromStr>(reader: &mut Reader<'_>) -> Result<Vec<T>, TextError> {
    reader.expect("[")?;
    reader.list("]", Reader::number)
}

fn read_type(reader: &mut Reader<'_>) -> Result<Type, TextError> {
    let dtype = dtype(reader)?;
    Ok(Type::new(dtype, reader.shape()?))
}

fn dtype(reader: &mut Reader<'_>) -> Result<DType, TextError> {
    reader.choose("`real`, `int` or `bool`", |word| {
        let known = [DType::Real, DType::Int, DType::Bool];
        known.into_iter().find(|dtype| dtype.to_string() == word)
    })
}

fn value(reader: &mut Reader<'_>) -> Result<Value, TextError> {
    reader.choose("a value such as `%0`", |token| {
        token.strip_prefix('%')?.parse().ok().map(Value)
    })
}

/// Parses a name, with or without quotes.
fn name(reader: &mut Reader<'_>) -> Result<String, TextError> {
    if reader.peek().starts_with('"') {
        return reader.quoted();
    }
    reader.choose("a name", |token| {
        let is_name = token.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'));
        is_name.then(|| token.to_owned())
    })
}
