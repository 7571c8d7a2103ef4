//! A distribution of a checked module, at given values of its parameters. The parts of the
//! distribution can be called as functions of numbers.

use bnnc_base::dtype::DType;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_base::source::{SourceId, Span};
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_hir::elaborate::datum::{Datum, DistDatum};
use bnnc_hir::elaborate::dist::{CalledWith, NamedArguments};
use bnnc_hir::elaborate::frame::Elaborator;
use bnnc_hir::parts::DistributionPart;
use bnnc_hir::tree::{DistId, DistItem, Module};
use bnnc_hir::types::{Elem, Ty};
use std::rc::Rc;
use std::sync::Arc;

/// The number of settings: sets of parameter values for testing each distribution.
pub const SETTINGS: usize = 3;

/// The number of elements of a joint distribution in these tests.
pub const ELEMENTS: usize = 3;
/// The rank of the factor of a low-rank distribution in these tests.
const RANK: usize = 2;

/// Returns the checked library, together with the distributions that `text` declares.
pub fn module(text: &str) -> Module {
    let program = program::load("program.bnn", text, &CompileOptions::default());
    assert!(!program.has_errors(), "{:#?}", program.diagnostics);
    program.module
}

/// Returns the distribution with this name.
pub fn named(module: &Module, name: &str) -> DistId {
    let found = module.dists.ids().find(|id| &*module.dists[*id].name == name);
    found.unwrap_or_else(|| panic!("no `{name}`"))
}

/// A distribution at one set of parameter values.
pub struct Probe<'a> {
    module: &'a Module,
    dist: DistId,
    setting: usize,
    /// The given values of the parameters, if the values do not come from a setting.
    given: Option<Vec<Tensor>>,
    values: Vec<Tensor>,
}

impl<'a> Probe<'a> {
    /// Creates a probe at one of the settings. The values of a parameter in a setting follow from
    /// its name and its type.
    pub fn new(module: &'a Module, dist: DistId, setting: usize) -> Probe<'a> {
        Probe {
            module,
            dist,
            setting,
            given: None,
            values: Vec::new(),
        }
        .with_values()
    }

    /// Creates a probe at the given values of the parameters.
    pub fn at(module: &'a Module, dist: DistId, values: Vec<Tensor>) -> Probe<'a> {
        Probe {
            module,
            dist,
            setting: 0,
            given: Some(values),
            values: Vec::new(),
        }
        .with_values()
    }

    fn with_values(mut self) -> Probe<'a> {
        self.values = self.arguments(&mut Elaborator::new(self.module, "parameters")).1;
        self
    }

    pub fn item(&self) -> &'a DistItem {
        &self.module.dists[self.dist]
    }

    /// Returns the name of the distribution and the values of its parameters, for messages.
    pub fn label(&self) -> String {
        let values: Vec<&[f64]> = self.values.iter().map(|value| value.data.as_slice()).collect();
        format!("{} at {values:?}", self.item().name)
    }

    /// Returns the values of the scalar parameters. The density may have a break at these points.
    pub fn breaks(&self) -> Vec<f64> {
        self.values
            .iter()
            .filter(|value| value.shape.is_empty())
            .map(|value| value.data[0])
            .collect()
    }

    /// Returns the values of the parameters, in the order of the instance.
    pub fn parameters(&self) -> &[Tensor] {
        &self.values
    }

    fn span() -> Span {
        Span::new(SourceId(0), 0, 0)
    }

    fn arguments(&self, elaborator: &mut Elaborator<'a>) -> (NamedArguments, Vec<Tensor>) {
        let mut values = Vec::new();
        let datum = self.datum(elaborator, self.dist, "", &mut values);
        let arguments = elaborator.arguments(&datum, Self::span());
        (arguments.unwrap_or_else(|why| panic!("{why:?}")), values)
    }

    fn datum(
        &self,
        elaborator: &mut Elaborator<'a>,
        dist: DistId,
        prefix: &str,
        values: &mut Vec<Tensor>,
    ) -> DistDatum {
        let mut args = Vec::new();
        for (position, binding) in self.module.dists[dist].params.iter().enumerate() {
            let name = format!("{prefix}{}", binding.param.name);
            args.push(match &binding.param.ty {
                Ty::Dist(_) => {
                    let normal = named(self.module, "Normal");
                    Datum::Dist(Rc::new(self.datum(
                        elaborator,
                        normal,
                        &format!("{name}."),
                        values,
                    )))
                }
                Ty::Tensor(Elem::Int, _) => Datum::Static(RANK as i64),
                Ty::Tensor(Elem::Count, _) => {
                    let value = match &self.given {
                        Some(given) => given[values.len()].clone(),
                        None => Tensor::scalar([5.0, 12.0, 1.0][self.setting]),
                    };
                    values.push(value);
                    Datum::Tensor(elaborator.builder.param(&name, Type::real(Shape::fixed(&[]))))
                }
                Ty::Tensor(Elem::Real(support), dims) => {
                    let square = dims.len() == 2 && dims[0] == dims[1];
                    let count = values.len().max(position);
                    let value = match &self.given {
                        Some(given) => given[values.len()].clone(),
                        None => self.value(&name, *support, (dims.len(), square), count),
                    };
                    let shape = Shape::fixed(&value.shape);
                    values.push(value);
                    Datum::Tensor(elaborator.builder.param(&name, Type::real(shape)))
                }
                other => panic!("no values for a parameter of type {other:?}"),
            });
        }
        DistDatum { dist, args }
    }

    /// Returns the value of a parameter in the current setting. A parameter at a later position has
    /// a larger value, so that `high` is above `low`.
    fn value(&self, name: &str, support: Support, (rank, square): (usize, bool), position: usize) -> Tensor {
        let at = |table: [f64; SETTINGS]| table[self.setting];
        let scalar = match (name, support) {
            ("df", _) => at([2.6, 3.5, 9.0]),
            ("shape" | "a", _) => at([2.6, 0.7, 4.5]),
            // If `b` is below one, the density has an infinite peak at one. Quadrature is not
            // accurate near a strong peak, so all values are near or above one.
            ("b", _) => at([1.9, 0.8, 3.0]),
            (_, Support::Real) => at([-0.7, 0.3, 1.1]) + 1.3 * position as f64,
            (_, Support::Interval(_, high)) if high < 2.0 => at([0.3, 0.5, 0.8]) * high,
            (_, Support::Interval(..)) => at([0.9, 0.5, 0.3]),
            (_, other) => panic!("no values for {other:?}"),
        };
        match (rank, square) {
            (0, _) => Tensor::scalar(scalar),
            (1, _) => Tensor::from_fn(vec![ELEMENTS], |i| scalar * (1.0 + 0.4 * i[0] as f64)),
            (_, true) => Tensor::from_fn(vec![ELEMENTS; 2], |i| match i[0].cmp(&i[1]) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 0.5 + 0.3 * i[0] as f64,
                std::cmp::Ordering::Greater => 0.2 * i[0] as f64 - 0.5 * i[1] as f64,
            }),
            (_, false) => Tensor::from_fn(vec![ELEMENTS, RANK], |i| {
                0.4 * i[0] as f64 - 0.3 * i[1] as f64 - 0.1
            }),
        }
    }

    /// Returns the instance of the distribution for values of this shape.
    pub fn instance(&self, shape: &[usize]) -> Instance {
        self.declared(shape, Support::Real)
    }

    /// Returns the instance for a site. The declared type of the site may be narrower than the
    /// support of the distribution.
    pub fn declared(&self, shape: &[usize], declared: Support) -> Instance {
        self.made(shape, declared, CalledWith::Inside)
    }

    /// Returns the instance for an output. The declared type of the output may be narrower than the
    /// support of the distribution.
    pub fn observed(&self, shape: &[usize], declared: Support) -> Instance {
        self.made(shape, declared, CalledWith::Any)
    }

    fn made(&self, shape: &[usize], declared: Support, values: CalledWith) -> Instance {
        let mut elaborator = Elaborator::new(self.module, "instance");
        let (arguments, _) = self.arguments(&mut elaborator);
        let Ty::Tensor(elem, _) = &self.item().on else {
            panic!("{} is on no numbers", self.item().name)
        };
        let ty = Type::new(elem.dtype(), Shape::fixed(shape));
        let instance = elaborator.instance(&arguments, ty, declared, values, Self::span());
        instance.unwrap_or_else(|why| panic!("{}: {why:?}", self.label()))
    }

    /// Returns whether the distribution has a function part: the part is declared, or follows from
    /// another part.
    pub fn has(&self, part: &str) -> bool {
        self.item().has(known(part))
    }

    /// Returns the cumulative distribution function at points. Returns `None` if the distribution
    /// does not have this function.
    pub fn cdf(&self, points: &[f64]) -> Option<Vec<f64>> {
        self.part("cdf", points)
    }

    /// Returns the values of a function part at points, which may be any reals. Returns `None` if
    /// the distribution does not have this part.
    pub fn part(&self, part: &str, points: &[f64]) -> Option<Vec<f64>> {
        let function = self.part_function(part, points.len())?;
        Some(self.call(&function, &[vector(points)]).data)
    }

    /// Returns the function `(parameters.., x) -> part` for `count` values.
    pub fn part_function(&self, part: &str, count: usize) -> Option<Function> {
        let ty = Type::new(DType::Real, Shape::fixed(&[count]));
        self.function(part, |elaborator| Some(elaborator.builder.param("x", ty)))
    }

    /// Returns the median, or `None` if it is not declared.
    pub fn median(&self) -> Option<f64> {
        let function = self.function("median", |_| None)?;
        Some(self.call(&function, &[]).data[0])
    }

    /// Returns the function from the parameters, and from the argument of the part if there is one, to the
    /// part. Returns `None` if the distribution does not have this part.
    fn function(
        &self,
        part: &str,
        argument: impl FnOnce(&mut Elaborator<'_>) -> Option<Value>,
    ) -> Option<Function> {
        if !self.has(part) {
            return None;
        }
        let mut elaborator = Elaborator::new(self.module, part);
        let mut values = Vec::new();
        let dist = Datum::Dist(Rc::new(self.datum(&mut elaborator, self.dist, "", &mut values)));
        let argument = argument(&mut elaborator).map(Datum::Tensor);
        let result = elaborator.dist_part(&dist, known(part), argument, Self::span());
        let Ok(Datum::Tensor(result)) = result else {
            panic!("{}: {result:?}", self.label())
        };
        Some(elaborator.builder.finish(vec![(part.into(), result)]))
    }

    /// Returns the log density at each point. The distribution must be elementwise.
    pub fn log_densities(&self, points: &[f64]) -> Option<Vec<f64>> {
        let elements = self.instance(&[points.len()]).log_density_elements?;
        Some(self.call(&elements, &[vector(points)]).data)
    }

    /// Returns the value of an optional scalar part: `mean`, `variance` or `entropy`.
    pub fn scalar(&self, part: fn(&Instance) -> &Option<Arc<Function>>) -> Option<f64> {
        part(&self.instance(&[]))
            .as_ref()
            .map(|function| self.call(function, &[]).data[0])
    }

    /// Returns the mean of the power with exponent `order`; `None` if it is not declared.
    pub fn moment(&self, order: f64) -> Option<f64> {
        let moment = self.instance(&[]).moment?;
        Some(self.call(&moment, &[Tensor::scalar(order)]).data[0])
    }

    /// Returns `count` independent draws. The distribution must be elementwise.
    pub fn draws(&self, count: usize) -> Option<Vec<f64>> {
        let draw = self.instance(&[count]).draw?;
        Some(self.call(&draw, &coordinates(0)).data)
    }

    /// Calls a function of the instance. The inputs of the function are the values of the
    /// parameters, followed by `extra`.
    pub fn call(&self, function: &Function, extra: &[Tensor]) -> Tensor {
        let mut inputs = self.values.clone();
        inputs.extend(extra.iter().cloned());
        evaluate(function, &inputs, &Sizes::default()).remove(0)
    }
}

/// Returns the three coordinates of a sampler: draw, example and step.
pub fn coordinates(draw: usize) -> [Tensor; 3] {
    [draw as f64, 0.0, 0.0].map(Tensor::scalar)
}

/// Returns points as a tensor with one axis.
pub fn vector(points: &[f64]) -> Tensor {
    Tensor::new(vec![points.len()], points.to_vec())
}

/// Returns the part of distributions with this name.
fn known(name: &str) -> DistributionPart {
    DistributionPart::named(name).unwrap_or_else(|| panic!("no part `{name}`"))
}
