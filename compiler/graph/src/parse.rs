//! Parses the text form of functions. The parser does not depend on any particular op.

use crate::attr::{Attr, AttrKind, Attrs};
use crate::dist::Instance;
use crate::function::{Function, Node, NodeKind, Value};
use crate::op::Op;
use crate::ops;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::nearest::nearest;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_base::text::{Reader, TextError};
use std::str::FromStr;
use std::sync::Arc;

/// Looks up a distribution by its printed name. The lookup is needed because the text form does not contain
/// definitions of distributions.
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

/// Parses one function. `table` looks up the distributions that the function names.
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

/// A parameter of the signature that has not been placed among the nodes yet.
struct Param {
    value: Value,
    node: Node,
}

impl Parser<'_> {
    fn function(&mut self) -> Result<Function, TextError> {
        self.reader.expect("fn")?;
        let mut function = Function {
            name: self.name()?,
            ..Function::default()
        };
        self.reader.expect("(")?;
        let mut params = self.list(")", Parser::param)?;
        function.params = params.iter().map(|param| param.value).collect();
        params.sort_by_key(|param| std::cmp::Reverse(param.value));
        self.reader.expect("->")?;
        self.reader.expect("(")?;
        let results = self.list(")", Parser::result)?;
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

    /// Parses items that are separated by commas, up to and including the token `end`.
    fn list<T>(
        &mut self,
        end: &str,
        item: fn(&mut Self) -> Result<T, TextError>,
    ) -> Result<Vec<T>, TextError> {
        let mut items = Vec::new();
        while !self.reader.eat(end) {
            if !items.is_empty() {
                self.reader.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn param(&mut self) -> Result<Param, TextError> {
        let value = self.value()?;
        let name = self.name()?;
        self.reader.expect(":")?;
        let node = Node {
            kind: NodeKind::Param(name.into()),
            ty: self.ty()?,
            label: None,
        };
        Ok(Param { value, node })
    }

    fn result(&mut self) -> Result<(Arc<str>, Value), TextError> {
        let name = self.name()?;
        self.reader.expect(":")?;
        Ok((name.into(), self.value()?))
    }

    fn node(&mut self, function: &mut Function) -> Result<(), TextError> {
        let next = Value(function.nodes.len() as u32);
        let line = self.reader.line();
        self.reader.expect(&next.to_string())?;
        self.reader.expect("=")?;
        let op = self.op()?;
        let mut args = Vec::new();
        while self.reader.peek().starts_with('%') {
            let arg = self.value()?;
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
        let written = self.ty()?;
        if written != ty {
            let message = format!("expected the type {ty} for {next}, found {written}");
            return Err(TextError { line, message });
        }
        let label = match self.reader.eat("@") {
            true => Some(self.quoted()?.into()),
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
            AttrKind::Dim => Attr::Dim(self.dim()?),
            AttrKind::DType => Attr::DType(self.dtype()?),
            AttrKind::Function => Attr::Function(Arc::new(self.function()?)),
            AttrKind::Int => Attr::Int(self.reader.number()?),
            AttrKind::Ints => Attr::Ints(self.numbers()?),
            AttrKind::Real => Attr::Real(self.reader.number()?),
            AttrKind::Reals => Attr::Reals(self.numbers()?),
            AttrKind::Shape => Attr::Shape(self.shape()?),
            AttrKind::Symbol => Attr::Symbol(self.quoted()?.into()),
        })
    }

    fn numbers<T: FromStr>(&mut self) -> Result<Vec<T>, TextError> {
        self.reader.expect("[")?;
        self.list("]", |parser| parser.reader.number())
    }

    fn dist(&mut self) -> Result<Arc<Instance>, TextError> {
        let name = self.reader.peek().trim_matches('"');
        match (self.table)(name) {
            Some(dist) => {
                self.reader.token();
                Ok(dist)
            }
            None => Err(self.reader.error("expected a distribution that is defined here")),
        }
    }

    fn ty(&mut self) -> Result<Type, TextError> {
        let dtype = self.dtype()?;
        Ok(Type::new(dtype, self.shape()?))
    }

    fn dtype(&mut self) -> Result<DType, TextError> {
        let known = [DType::Real, DType::Int, DType::Bool];
        match known
            .into_iter()
            .find(|dtype| dtype.to_string() == self.reader.peek())
        {
            Some(dtype) => {
                self.reader.token();
                Ok(dtype)
            }
            None => Err(self.reader.error("expected `real`, `int` or `bool`")),
        }
    }

    fn shape(&mut self) -> Result<Shape, TextError> {
        self.reader.expect("[")?;
        Ok(Shape(self.list("]", Parser::dim)?))
    }

    fn dim(&mut self) -> Result<Dim, TextError> {
        match Symbol::from_name(self.reader.peek()) {
            Some(symbol) => {
                self.reader.token();
                Ok(Dim::Symbol(symbol))
            }
            None => Ok(Dim::Fixed(self.reader.number()?)),
        }
    }

    fn value(&mut self) -> Result<Value, TextError> {
        match self
            .reader
            .peek()
            .strip_prefix('%')
            .and_then(|digits| digits.parse().ok())
        {
            Some(number) => {
                self.reader.token();
                Ok(Value(number))
            }
            None => Err(self.reader.error("expected a value such as `%0`")),
        }
    }

    /// Parses a name, with or without quotes.
    fn name(&mut self) -> Result<String, TextError> {
        let token = self.reader.peek();
        if token.starts_with('"') {
            return self.quoted();
        }
        match token.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$')) {
            true => Ok(self.reader.token().to_owned()),
            false => Err(self.reader.error("expected a name")),
        }
    }

    fn quoted(&mut self) -> Result<String, TextError> {
        let inner = self
            .reader
            .peek()
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        match inner {
            Some(name) => {
                self.reader.token();
                Ok(name.to_owned())
            }
            None => Err(self.reader.error("expected a name in quotes")),
        }
    }
}

/// Moves each parameter to the nodes when its position is reached. `params` is in reverse order, so
/// the next parameter is the last of the list.
fn place_params(function: &mut Function, params: &mut Vec<Param>) {
    while let Some(param) = params.pop_if(|param| param.value.0 as usize == function.nodes.len()) {
        function.nodes.push(param.node);
    }
}
