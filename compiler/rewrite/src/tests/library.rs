//! Distributions and models that are built by hand, with formulas from textbooks. Elaboration would
//! build the same graphs.

use crate::kl::KlOptions;
use crate::methods::likelihood::choice::Layers;
use crate::methods::task::TrainingSettings;
use bnnc_abi::manifest::Init;
use bnnc_abi::ports::PortName;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::shape::Shape;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, MeasureKind, Support};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{
    ApproximatePosterior, ElaboratedOptimiser, FamilyParam, FamilyStart, Input, Model, Site, SitePosterior,
};
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use std::f64::consts::PI;
use std::sync::Arc;

/// Returns settings without draws of the divergence and without options.
pub fn settings(optimiser: &ElaboratedOptimiser, samples: usize) -> TrainingSettings<'_> {
    TrainingSettings {
        optimiser,
        samples,
        kl_draws: 0,
        kl: KlOptions::default(),
        layers: Layers::default(),
        jacobians: false,
        online: false,
        clips: false,
        means: false,
        scaled: None,
        mixes: false,
        gradient: None,
    }
}

const EULER: f64 = 0.577_215_664_901_532_9;

/// The functions that define a location-scale distribution.
struct Shapes {
    name: &'static str,
    /// The log density as a function of `(x - loc) / scale`. The term `-log scale` is not included.
    log_density: fn(&mut Builder, Value) -> Value,
    /// Returns draws of this shape from the standard distribution. They are computed from a noise
    /// stream.
    standard: fn(&mut Builder, [Value; 3], &Shape) -> Value,
    variance: Option<f64>,
    /// The entropy of one element of the standard distribution.
    entropy: Option<f64>,
}

fn function(names: &[&str], ty: &Type, build: impl FnOnce(&mut Builder, &[Value]) -> Value) -> Arc<Function> {
    let mut builder = Builder::new("function");
    let params: Vec<Value> = names
        .iter()
        .map(|name| {
            let is_coordinate = matches!(*name, "$draw" | "$example" | "$step");
            let ty = if is_coordinate {
                Type::int(Shape::scalar())
            } else {
                ty.clone()
            };
            builder.param(name, ty)
        })
        .collect();
    let value = build(&mut builder, &params);
    Arc::new(builder.finish(vec![("value".into(), value)]))
}

fn location_scale(shapes: &Shapes, shape: &Shape) -> Instance {
    let ty = Type::real(shape.clone());
    let elements = |b: &mut Builder, p: &[Value]| {
        let offset = b.sub(p[2], p[0]);
        let z = b.div(offset, p[1]);
        let log_scale = b.log(p[1]);
        let standard = (shapes.log_density)(b, z);
        b.sub(standard, log_scale)
    };
    let total = |b: &mut Builder, p: &[Value]| {
        let each = elements(b, p);
        b.reduce_sum_all(each)
    };
    let draw = |b: &mut Builder, p: &[Value]| {
        let z = (shapes.standard)(b, [p[2], p[3], p[4]], shape);
        let scaled = b.mul(p[1], z);
        b.add(p[0], scaled)
    };
    let variance = |factor: f64| {
        function(&["loc", "scale"], &ty, |b, p| {
            let square = b.square(p[1]);
            b.scale(square, factor)
        })
    };
    let entropy = |each: f64| {
        function(&["loc", "scale"], &ty, |b, p| {
            let log = b.log(p[1]);
            let sum = b.shift(log, each);
            b.reduce_sum_all(sum)
        })
    };
    Instance {
        name: shapes.name.into(),
        measure: MeasureKind::Density,
        params: vec![("loc".into(), ty.clone()), ("scale".into(), ty.clone())],
        supports: vec![Support::Real, Support::Interval(0.0, f64::INFINITY)],
        value: ty.clone(),
        support: Support::Real,
        reach: Vec::new(),
        elementwise: true,
        log_density: function(&["loc", "scale", "x"], &ty, total),
        log_density_elements: Some(function(&["loc", "scale", "x"], &ty, elements)),
        draw: Some(function(
            &["loc", "scale", "$draw", "$example", "$step"],
            &ty,
            draw,
        )),
        wider_draw: None,
        mean: Some(function(&["loc", "scale"], &ty, |_, p| p[0])),
        variance: shapes.variance.map(variance),
        entropy: shapes.entropy.map(entropy),
        moment: None,
        log_mean: None,
        log_variance: None,
        probabilities: None,
    }
}

fn normal_log_density(b: &mut Builder, z: Value) -> Value {
    let two = b.like(2.0, z);
    let square = b.pow(z, two);
    let half = b.scale(square, -0.5);
    b.shift(half, -0.5 * (2.0 * PI).ln())
}

fn normal_noise(b: &mut Builder, coordinates: [Value; 3], shape: &Shape) -> Value {
    b.noise(NoiseKind::Normal, "z", coordinates, shape)
}

pub fn normal(shape: &Shape) -> Instance {
    let entropy = Some(0.5 * (2.0 * PI).ln() + 0.5);
    let shapes = Shapes {
        name: "Normal",
        log_density: normal_log_density,
        standard: normal_noise,
        variance: Some(1.0),
        entropy,
    };
    location_scale(&shapes, shape)
}

pub fn laplace(shape: &Shape) -> Instance {
    let log_density = |b: &mut Builder, z: Value| {
        let size = b.abs(z);
        let minus = b.neg(size);
        b.shift(minus, -2f64.ln())
    };
    let standard = normal_noise;
    location_scale(
        &Shapes {
            name: "Laplace",
            log_density,
            standard,
            variance: None,
            entropy: None,
        },
        shape,
    )
}

pub fn logistic(shape: &Shape) -> Instance {
    let log_density = |b: &mut Builder, z: Value| {
        let minus = b.neg(z);
        let (above, below) = (b.log_sigmoid(z), b.log_sigmoid(minus));
        b.add(above, below)
    };
    let standard = |b: &mut Builder, coordinates: [Value; 3], shape: &Shape| {
        let u = b.noise(NoiseKind::Uniform, "u", coordinates, shape);
        let minus = b.neg(u);
        let rest = b.log1p(minus);
        let log = b.log(u);
        b.sub(log, rest)
    };
    let variance = Some(PI * PI / 3.0);
    location_scale(
        &Shapes {
            name: "Logistic",
            log_density,
            standard,
            variance,
            entropy: Some(2.0),
        },
        shape,
    )
}

/// The mixture `0.5 N(0, 1) + 0.5 N(0, e^-6)`, without parameters.
pub fn spike_and_slab(shape: &Shape) -> Instance {
    let component = |b: &mut Builder, x: Value, log_sd: f64| {
        let z = b.scale(x, (-log_sd).exp());
        let standard = normal_log_density(b, z);
        b.shift(standard, -log_sd + 0.5f64.ln())
    };
    let elements = |b: &mut Builder, p: &[Value]| {
        let (slab, spike) = (component(b, p[0], 0.0), component(b, p[0], -6.0));
        let mut dims = vec![bnnc_base::shape::Dim::Fixed(1)];
        dims.extend(b.ty(p[0]).dims());
        let row = Shape(dims);
        let (slab, spike) = (b.reshape(slab, &row), b.reshape(spike, &row));
        let both = b.concat(&[slab, spike], 0);
        b.logsumexp(both, 0)
    };
    let ty = Type::real(shape.clone());
    let mut instance = normal(shape);
    instance.name = "Mixture".into();
    instance.params = Vec::new();
    instance.log_density = function(&["x"], &ty, |b, p| {
        let each = elements(b, p);
        b.reduce_sum_all(each)
    });
    instance.log_density_elements = Some(function(&["x"], &ty, elements));
    (instance.draw, instance.mean, instance.variance, instance.entropy) = (None, None, None, None);
    instance
}

/// A normal radius times a direction that is uniform on the sphere. Each of the `D` elements has
/// the variance `scale^2 / D`.
pub fn radial(size: usize) -> Instance {
    let shape = Shape::fixed(&[size]);
    let mut instance = normal(&shape);
    let ty = Type::real(shape);
    let d = size as f64;
    let surface = 2f64.ln() + d / 2.0 * PI.ln() - bnnc_math::special::lgamma(d / 2.0);
    let constant = (2.0 / (2.0 * PI).sqrt()).ln() - 0.5 - surface + (d - 1.0) * (EULER + 2f64.ln()) / 2.0;
    instance.name = "Radial".into();
    instance.elementwise = false;
    instance.log_density_elements = None;
    instance.variance = Some(function(&["loc", "scale"], &ty, |b, p| {
        let square = b.square(p[1]);
        b.scale(square, 1.0 / d)
    }));
    instance.entropy = Some(function(&["loc", "scale"], &ty, |b, p| {
        let log = b.log(p[1]);
        let sum = b.reduce_sum_all(log);
        b.shift(sum, -constant)
    }));
    instance
}

/// The exponential distribution with mean 1 on the positive reals, without parameters and without a declared variance.
pub fn exponential(shape: &Shape) -> Instance {
    let ty = Type::real(shape.clone());
    let mut instance = normal(shape);
    instance.name = "Exponential".into();
    instance.params = Vec::new();
    instance.support = Support::Interval(0.0, f64::INFINITY);
    instance.log_density = function(&["x"], &ty, |b, p| {
        let total = b.reduce_sum_all(p[0]);
        b.neg(total)
    });
    instance.log_density_elements = Some(function(&["x"], &ty, |b, p| b.neg(p[0])));
    instance.draw = Some(function(&["$draw", "$example", "$step"], &ty, |b, p| {
        let u = b.noise(NoiseKind::Uniform, "u", [p[0], p[1], p[2]], shape);
        let log = b.log(u);
        b.neg(log)
    }));
    (instance.mean, instance.variance, instance.entropy) = (None, None, None);
    instance
}

/// The point family: all probability is at a single point.
pub fn point(shape: &Shape) -> Instance {
    let ty = Type::real(shape.clone());
    let mut instance = normal(shape);
    instance.name = "Point".into();
    instance.measure = MeasureKind::Point;
    instance.params = vec![("loc".into(), ty.clone())];
    instance.draw = Some(function(&["loc", "$draw", "$example", "$step"], &ty, |_, p| p[0]));
    (instance.mean, instance.variance, instance.entropy) = (None, None, None);
    instance
}

/// Gradient descent without momentum: `step = -rate * gradient`.
pub fn sgd(rate: f64) -> ElaboratedOptimiser {
    let update = function(&["$gradient", "$iteration", "$rate"], &Type::scalar(), |b, p| {
        let product = b.mul(p[2], p[0]);
        b.neg(product)
    });
    let mut renamed = (*update).clone();
    renamed.results[0].0 = PortName::Step.into();
    ElaboratedOptimiser {
        states: Vec::new(),
        rate,
        update: Arc::new(renamed),
    }
}

/// Gradient descent with momentum: `next m = 0.9 m + gradient`, `step = -rate * next m / iteration`.
pub fn momentum() -> ElaboratedOptimiser {
    let mut b = Builder::new("update");
    let [gradient, m, iteration, rate] =
        ["$gradient", "m", "$iteration", "$rate"].map(|name| b.param(name, Type::scalar()));
    let kept = b.scale(m, 0.9);
    let next = b.add(kept, gradient);
    let product = b.mul(rate, next);
    let scaled = b.div(product, iteration);
    let step = b.neg(scaled);
    let update = Arc::new(b.finish(vec![(PortName::Step.into(), step), ("m".into(), next)]));
    ElaboratedOptimiser {
        states: vec![("m".into(), 0.0)],
        rate: 0.1,
        update,
    }
}

/// A site of a test model: its name, its prior, and the constant parameters of the prior.
pub struct Declared {
    pub name: &'static str,
    pub prior: Instance,
    pub params: Vec<f64>,
    pub support: Support,
}

pub fn declared(name: &'static str, prior: Instance, params: &[f64]) -> Declared {
    Declared {
        name,
        prior,
        params: params.to_vec(),
        support: Support::Real,
    }
}

/// Returns a model of one example with the input `x` and the output `y`, where `y ~ Normal(predictor(sites, x), sd)`.
pub fn regression(
    x: Type,
    sites: Vec<Declared>,
    sd: f64,
    predictor: impl FnOnce(&mut Builder, &[Value], Value) -> Value,
) -> Model {
    let mut b = Builder::new("model");
    let input = b.param("x", x.clone());
    let output = b.param("y", Type::scalar());
    let mut values = Vec::new();
    let mut declarations = Vec::new();
    for site in sites {
        let prior = Arc::new(site.prior);
        let constants = prior.params.iter().zip(&site.params);
        let args: Vec<Value> = constants
            .map(|((_, ty), number)| b.constant(ty, *number))
            .collect();
        let attrs = vec![Attr::Dist(prior.clone()), Attr::name(site.name)];
        values.push(b.apply(&ops::sample::SAMPLE, &args, attrs));
        let (name, ty, support) = (site.name.into(), prior.value.clone(), site.support);
        declarations.push(Site {
            name,
            ty,
            support,
            local: false,
            start: None,
        });
    }
    let mean = predictor(&mut b, &values, input);
    let sd = b.real(sd);
    let likelihood = Arc::new(normal(&Shape::scalar()));
    let attrs = vec![Attr::Dist(likelihood), Attr::name("y")];
    b.apply(&ops::observe::OBSERVE, &[mean, sd, output], attrs);
    let of = |name: &str, ty: Type| Input {
        name: name.into(),
        ty,
        support: Support::Real,
        row: false,
    };
    Model {
        name: "model".into(),
        function: b.finish(Vec::new()),
        shared: Vec::new(),
        inputs: vec![of("x", x)],
        outputs: vec![of("y", Type::scalar())],
        sites: declarations,
        running: Vec::new(),
        derived: Vec::new(),
    }
}

/// Returns an approximation whose parameters have these initial values. A parameter named `scale` is positive.
pub fn approximation(site: &str, family: Instance, starts: &[f64]) -> SitePosterior {
    let param = |((name, ty), start): (&(Arc<str>, Type), &f64)| FamilyParam {
        name: name.clone(),
        ty: ty.clone(),
        support: if &**name == "scale" {
            Support::Interval(0.0, f64::INFINITY)
        } else {
            Support::Real
        },
        start: FamilyStart::Optimise(Init::Constant(*start)),
    };
    let params = family.params.iter().zip(starts).map(param).collect();
    SitePosterior {
        members: Vec::new(),
        site: site.into(),
        family: Arc::new(family),
        params,
    }
}

pub fn posterior(sites: Vec<SitePosterior>) -> ApproximatePosterior {
    ApproximatePosterior {
        name: "posterior".into(),
        sites,
    }
}
