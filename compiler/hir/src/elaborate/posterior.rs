//! Posteriors: one family instance per site, with the starts of its parameters.

use super::datum::{Datum, DistDatum};
use super::dist::{fixed_shape, support};
use super::frame::{Elaborated, Elaborator};
use super::model::limit;
use crate::tree::{
    DistId, Expr, ExprKind, InferId, Module, PosteriorId, PosteriorLine, PosteriorValue, StartValue,
};
use crate::types::{Elem, Ty};
use bnnc_abi::manifest::Init;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;
use bnnc_base::source::Span;
use bnnc_graph::dist::Support;
use bnnc_graph::model::{FamilyParam, Model, Posterior, Site, SitePosterior, Start};
use bnnc_graph::types::Type;
use std::sync::Arc;

/// The scale that a positive parameter of a family starts from where the program gives none.
const START_SCALE: f64 = 0.05;

/// Elaborates a posterior for the sites of an elaborated model.
///
/// # Errors
/// A start value that is no constant, or a site without a line.
pub fn elaborate(module: &Module, id: PosteriorId, model: &Model) -> Elaborated<Posterior> {
    let item = &module.posteriors[id];
    let mut sites = Vec::new();
    for site in &model.sites {
        let Some(line) = item.lines.iter().find(|line| covers(line, &site.name)) else {
            return Err(limit(
                item.span,
                format!("the posterior `{}` says nothing of `{}`", item.name, site.name),
            ));
        };
        sites.push(match &line.value {
            PosteriorValue::Family(dist, given) => family(module, site, *dist, given, line.span)?,
            PosteriorValue::From(infer, path) => from(module, site, line, *infer, path)?,
        });
    }
    Ok(Posterior {
        name: item.name.to_string(),
        sites,
    })
}

/// The posterior of point estimates at every site: what `map` on a model means.
///
/// # Errors
/// Only if the library lacks `Point`.
pub fn point(module: &Module, model: &Model, span: Span) -> Elaborated<Posterior> {
    let dist = point_family(module, span)?;
    let sites = model
        .sites
        .iter()
        .map(|site| family(module, site, dist, &[], span));
    Ok(Posterior {
        name: "point".to_owned(),
        sites: sites.collect::<Result<_, _>>()?,
    })
}

fn point_family(module: &Module, span: Span) -> Elaborated<DistId> {
    let found = module.dists.ids().find(|id| &*module.dists[*id].name == "Point");
    found.ok_or_else(|| limit(span, "the library has no `Point`".to_owned()))
}

fn covers(line: &PosteriorLine, site: &str) -> bool {
    line.sites.iter().any(|(path, _)| match path.strip_suffix(".*") {
        Some(prefix) => site
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with(['.', '['])),
        None => **path == *site,
    })
}

fn family(
    module: &Module,
    site: &Site,
    dist: DistId,
    given: &[(Arc<str>, StartValue)],
    span: Span,
) -> Elaborated<SitePosterior> {
    let item = &module.dists[dist];
    let mut elaborator = Elaborator::new(module, &item.name);
    let count: usize = site.ty.shape.static_sizes().unwrap_or_default().iter().product();
    let mut statics = Vec::new();
    for binding in &item.params {
        let start = given
            .iter()
            .find(|(name, _)| *name == binding.param.name)
            .map(|(_, value)| value);
        if matches!(&binding.param.ty, Ty::Tensor(Elem::Int, _)) {
            let number = match start {
                Some(StartValue::Value(expr) | StartValue::Fixed(expr)) => number(module, expr)?,
                _ => 1.0,
            };
            if number.fract() != 0.0 || !(1.0..1e6).contains(&number) {
                let text = format!(
                    "`{}` of `{}` must be a positive integer, found {number}",
                    binding.param.name, item.name
                );
                return Err(limit(span, text));
            }
            statics.push((binding.local, number as i64));
        }
    }
    let mut params = Vec::new();
    let mut args = Vec::new();
    for binding in &item.params {
        if let Some((_, number)) = statics.iter().find(|(local, _)| *local == binding.local) {
            args.push(Datum::Static(*number));
            continue;
        }
        let Ty::Tensor(elem, dims) = &binding.param.ty else {
            return Err(limit(
                span,
                format!(
                    "`{}` cannot be a posterior family: it takes a distribution",
                    item.name
                ),
            ));
        };
        let on_dims = match &item.on {
            Ty::Tensor(_, on) => on.as_slice(),
            _ => &[],
        };
        let shape = if dims.is_empty() && item.elementwise || dims == on_dims {
            site.ty.shape.clone()
        } else {
            let sizes = dims
                .iter()
                .map(|dim| size_of(dim, on_dims, count, &statics, span));
            fixed_shape(&sizes.collect::<Result<Vec<_>, _>>()?)
        };
        let ty = Type::new(DType::Real, shape);
        args.push(Datum::Tensor(
            elaborator.builder.param(&binding.param.name, ty.clone()),
        ));
        let support = support(elem);
        let start = given
            .iter()
            .find(|(name, _)| *name == binding.param.name)
            .map(|(_, value)| value);
        let start = start_of(module, start, support, &ty.shape, &site.ty.shape)?;
        params.push(FamilyParam {
            name: binding.param.name.clone(),
            ty,
            support,
            start,
        });
    }
    let datum = DistDatum { dist, args };
    let arguments = elaborator.arguments(&datum, span)?;
    let value = Type::new(DType::Real, site.ty.shape.clone());
    let instance = elaborator.instance(&arguments, value, Support::Real, span)?;
    Ok(SitePosterior {
        site: site.name.clone(),
        family: Arc::new(instance),
        params,
    })
}

/// A dim of a family's parameter: the dims of its values are the number of elements, others are its integer parameters.
fn size_of(
    dim: &crate::dims::Dim,
    on: &[crate::dims::Dim],
    count: usize,
    statics: &[(crate::tree::LocalId, i64)],
    span: Span,
) -> Elaborated<usize> {
    if on == std::slice::from_ref(dim) {
        return Ok(count);
    }
    let known = |atom: &crate::dims::Atom| match atom {
        crate::dims::Atom::Local(local) => statics
            .iter()
            .find(|(l, _)| l == local)
            .map(|(_, number)| crate::dims::Dim::number(*number)),
        _ => None,
    };
    let number = dim
        .substitute(&known)
        .as_number()
        .and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| limit(span, "a size of this family is not known".to_owned()))
}

fn start_of(
    module: &Module,
    given: Option<&StartValue>,
    support: Support,
    shape: &Shape,
    site: &Shape,
) -> Elaborated<Start> {
    Ok(match given {
        Some(StartValue::Value(expr)) => Start::Optimise(Init::Constant(number(module, expr)?)),
        Some(StartValue::Fixed(expr)) => {
            let count = shape.static_sizes().unwrap_or_default().iter().product();
            Start::Fixed(vec![number(module, expr)?; count])
        }
        Some(StartValue::Draw(expr)) => Start::Optimise(random(module, expr)?),
        None => Start::Optimise(default_start(support, shape, site)),
    })
}

/// Locations of weight matrices start as torch's linear layers do, uniform within one over the root of the fan-in, so that
/// units differ; other locations start at zero; positive parameters start small.
fn default_start(support: Support, shape: &Shape, site: &Shape) -> Init {
    match support {
        Support::Interval(low, high) if low == 0.0 && high.is_infinite() => Init::Constant(START_SCALE),
        Support::Interval(low, high) if low.is_finite() && high.is_finite() => {
            Init::Constant(0.5 * (low + high))
        }
        _ if shape != site => Init::Normal(0.0, 0.01),
        _ => match (site.rank(), site.dims().last().and_then(|dim| dim.fixed())) {
            (2.., Some(fan_in)) => {
                let bound = 1.0 / (fan_in.max(1) as f64).sqrt();
                Init::Uniform(-bound, bound)
            }
            _ => Init::Constant(0.0),
        },
    }
}

fn number(module: &Module, expr: &Expr) -> Elaborated<f64> {
    crate::constant::constant(module, expr)
        .ok_or_else(|| limit(expr.span, "a start value must be a constant".to_owned()))
}

/// A distribution as a start: uniforms and normals.
fn random(module: &Module, expr: &Expr) -> Elaborated<Init> {
    let ExprKind::MakeDist(dist, args) = &expr.kind else {
        return Err(limit(
            expr.span,
            "a start is a constant or a distribution".to_owned(),
        ));
    };
    let name = &*module.dists[*dist].name;
    let numbers: Vec<f64> = args
        .iter()
        .map(|arg| number(module, arg))
        .collect::<Result<_, _>>()?;
    match (name, numbers.as_slice()) {
        ("Normal", [mean, sd]) => Ok(Init::Normal(*mean, *sd)),
        ("Uniform", [low, high]) => Ok(Init::Uniform(*low, *high)),
        _ => Err(limit(
            expr.span,
            format!("starts are drawn from `Normal` or `Uniform`, found `{name}`"),
        )),
    }
}

/// A site that keeps what another infer found: a point whose value is taken from there.
fn from(
    module: &Module,
    site: &Site,
    line: &PosteriorLine,
    infer: InferId,
    path: &str,
) -> Elaborated<SitePosterior> {
    let mut posterior = family(module, site, point_family(module, line.span)?, &[], line.span)?;
    let source = match path.strip_suffix(".*") {
        Some(prefix) => {
            let own = line.sites.iter().find_map(|(own, _)| {
                let own = own.strip_suffix(".*")?;
                site.name.strip_prefix(own)
            });
            format!("{prefix}{}", own.unwrap_or(&site.name))
        }
        None => path.to_owned(),
    };
    for param in &mut posterior.params {
        param.start = Start::From(module.infers[infer].name.clone(), source.as_str().into());
    }
    Ok(posterior)
}
