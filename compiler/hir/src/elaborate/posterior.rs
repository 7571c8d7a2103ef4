//! Elaborates posteriors: one family instance per site or group, with the starting values of its parameters.

use super::datum::{Datum, DistDatum};
use super::dist::{CalledWith, support};
use super::drawn;
use super::frame::{Elaborated, Elaborator};
use super::joint::{self, Share};
use super::start;
use crate::diagnostics::elaborate::{TOO_LARGE, limit};
use crate::dims::DimExpr;
use crate::tree::{
    DistId, DistItem, InferId, LocalId, Module, ParamBinding, PosteriorId, PosteriorLine, PosteriorValue,
    StartValue, TypedExpr,
};
use crate::types::{Elem, Ty};
use bnnc_abi::manifest::Init;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Shape;
use bnnc_base::source::Span;
use bnnc_graph::dist::{self, Instance, MeasureKind, Support};
use bnnc_graph::model::{ApproximatePosterior, FamilyParam, FamilyStart, Model, Site, SitePosterior};
use bnnc_graph::types::Type;
use std::sync::Arc;

/// The largest number of elements in one parameter of a family. In single precision, they take 4 GiB.
const MOST_ELEMENTS: usize = 1 << 30;

/// How sites without a line in the posterior are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Every site needs a line. A site without a line is an error.
    Rejected,
    /// A site without a line has a point family, because the method approximates it itself.
    Method,
}

const POSITIVE: Support = Support::Interval(0.0, f64::INFINITY);

/// Elaborates a posterior for the sites of an elaborated model. `rest` determines how sites without a line
/// are treated.
///
/// # Errors
/// Fails for a start value that is not a constant, a site without a line, or a family that is too large.
pub fn elaborate(
    module: &Module,
    id: PosteriorId,
    model: &Model,
    rest: Rest,
) -> Elaborated<ApproximatePosterior> {
    let item = &module.posteriors[id];
    let mut sites: Vec<SitePosterior> = Vec::new();
    for site in &model.sites {
        if sites.iter().any(|group| group.members.contains(site)) {
            continue;
        }
        let Some(line) = item.lines.iter().find(|line| covers(line, &site.name)) else {
            if rest == Rest::Method {
                sites.push(Line::point(module, item.span)?.family(site)?);
                continue;
            }
            return Err(limit(
                item.span,
                format!("the posterior `{}` has no line for `{}`", item.name, site.name),
            ));
        };
        sites.push(match &line.value {
            PosteriorValue::Family(dist, given) => {
                let members = members(module, line, *dist, model);
                let line = Line {
                    module,
                    dist: *dist,
                    given,
                    span: line.span,
                };
                match members.len() {
                    0 | 1 => line.family(site)?,
                    _ => line.group(&members)?,
                }
            }
            PosteriorValue::From(infer, path) => from(module, site, line, *infer, path)?,
        });
    }
    Ok(ApproximatePosterior {
        name: item.name.to_string(),
        sites,
    })
}

/// Builds the posterior of the method `map` for a model: a point estimate at every site.
///
/// # Errors
/// Fails only if the library does not contain a family of point estimates.
pub fn point(module: &Module, model: &Model, span: Span) -> Elaborated<ApproximatePosterior> {
    let line = Line::point(module, span)?;
    let sites = model.sites.iter().map(|site| line.family(site));
    Ok(ApproximatePosterior {
        name: "point".to_owned(),
        sites: sites.collect::<Result<_, _>>()?,
    })
}

fn covers(line: &PosteriorLine, site: &str) -> bool {
    line.sites.iter().any(|(path, _)| means(path, site))
}

/// Returns whether a path matches a site. A path that ends in `.*` matches all sites below it.
fn means(path: &str, site: &str) -> bool {
    match path.strip_suffix(".*") {
        Some(prefix) => site
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with(['.', '['])),
        None => *path == *site,
    }
}

/// Returns, in the order of the line, the sites that share its family. The result is empty if each site has its own family.
fn members(module: &Module, line: &PosteriorLine, dist: DistId, model: &Model) -> Vec<Site> {
    if !module.dists[dist].groups {
        return Vec::new();
    }
    let of_path = |path: &str| {
        let sites = model.sites.iter();
        sites
            .filter(|site| means(path, &site.name))
            .cloned()
            .collect::<Vec<_>>()
    };
    line.sites.iter().flat_map(|(path, _)| of_path(path)).collect()
}

fn elements(shape: &Shape) -> usize {
    shape.static_sizes().unwrap_or_default().iter().product()
}

/// A line `~ Family(starts)` of a posterior.
struct Line<'a> {
    module: &'a Module,
    dist: DistId,
    given: &'a [(Arc<str>, StartValue)],
    span: Span,
}

/// A parameter of an elaborated family: its name, type and support.
type Param = (Arc<str>, Type, Support);

impl<'a> Line<'a> {
    /// Returns a line with the family of point estimates.
    fn point(module: &'a Module, span: Span) -> Elaborated<Line<'a>> {
        // Items of the library come before items of the program.
        let found = module
            .dists
            .ids()
            .find(|id| module.dists[*id].measure == MeasureKind::Point);
        Ok(Line {
            module,
            dist: found.ok_or_else(|| limit(span, "the library has no family of point estimates"))?,
            given: &[],
            span,
        })
    }

    /// Builds the family of several sites, over the concatenated unconstrained coordinates of all these sites.
    fn group(&self, members: &[Site]) -> Elaborated<SitePosterior> {
        let parts: Vec<(Arc<str>, Shape)> = members
            .iter()
            .map(|site| (site.name.clone(), self.value_of(site).shape))
            .collect();
        let count = parts.iter().map(|(_, shape)| elements(shape)).sum();
        let (family, whole) = self.instance(Type::real(Shape::fixed(&[count])))?;
        let shares: Vec<Share> = whole
            .iter()
            .map(|(_, ty, _)| joint::share(&ty.shape, &parts))
            .collect();
        let mut params = Vec::new();
        for ((name, ty, support), share) in whole.iter().zip(&shares) {
            let start = |shape: &Shape, site: &Site| self.start(name, *support, shape, site);
            match share {
                Share::Rows(rows) => {
                    for (site, shape) in members.iter().zip(rows) {
                        params.push(FamilyParam {
                            name: format!("{}/{name}", site.name).into(),
                            ty: ty.with_shape(shape.clone()),
                            support: *support,
                            start: start(shape, site)?,
                        });
                    }
                }
                Share::Whole => params.push(FamilyParam {
                    name: name.clone(),
                    ty: ty.clone(),
                    support: *support,
                    start: start(&ty.shape, &members[0])?,
                }),
            }
        }
        let names: Vec<&str> = members.iter().map(|site| &*site.name).collect();
        Ok(SitePosterior {
            site: names.join("+").into(),
            members: members.to_vec(),
            family: Arc::new(joint::gathered(&family, &shares, &params)),
            params,
        })
    }

    /// Builds the family of one site.
    fn family(&self, site: &Site) -> Elaborated<SitePosterior> {
        let (instance, params) = self.instance(self.value_of(site))?;
        let params = params.into_iter().map(|(name, ty, support)| {
            let start = self.start(&name, support, &ty.shape, site)?;
            Ok(FamilyParam {
                name,
                ty,
                support,
                start,
            })
        });
        Ok(SitePosterior {
            site: site.name.clone(),
            members: Vec::new(),
            params: params.collect::<Elaborated<_>>()?,
            family: Arc::new(instance),
        })
    }

    fn item(&self) -> &'a DistItem {
        &self.module.dists[self.dist]
    }

    /// Returns the type of the family's draws. The draws are either values of the site, or unconstrained values that a bijection maps to
    /// values of the site.
    fn value_of(&self, site: &Site) -> Type {
        let is_point = self.item().measure == MeasureKind::Point;
        match &self.item().on {
            Ty::Tensor(Elem::Real(Support::Real), _) if !is_point => {
                dist::unconstrained(site.support, &site.ty)
            }
            _ => site.ty.clone(),
        }
    }

    fn given(&self, name: &str) -> Option<&'a StartValue> {
        let mut given = self.given.iter();
        given.find(|(found, _)| &**found == name).map(|(_, value)| value)
    }

    /// Returns the values of the integer parameters.
    fn statics(&self) -> Elaborated<Vec<(LocalId, i64)>> {
        let mut statics = Vec::new();
        for binding in &self.item().params {
            if !matches!(&binding.param.ty, Ty::Tensor(Elem::Int, _)) {
                continue;
            }
            let name = &binding.param.name;
            let number = match self.given(name) {
                Some(StartValue::Value(expr) | StartValue::Fixed(expr)) => number(self.module, expr)?,
                _ => 1.0,
            };
            if number.fract() != 0.0 || !(1.0..1e6).contains(&number) {
                let family = &self.item().name;
                let text = format!("`{name}` of `{family}` must be a positive integer, found {number}");
                return Err(limit(self.span, text));
            }
            statics.push((binding.local, number as i64));
        }
        Ok(statics)
    }

    /// Builds the family over values of a type. Also returns those parameters of the family that are not
    /// integers.
    fn instance(&self, value: Type) -> Elaborated<(Instance, Vec<Param>)> {
        let item = self.item();
        let statics = self.statics()?;
        let mut elaborator = Elaborator::new(self.module, &item.name);
        let (mut params, mut args) = (Vec::new(), Vec::new());
        for binding in &item.params {
            if let Some((_, number)) = statics.iter().find(|(local, _)| *local == binding.local) {
                args.push(Datum::Static(*number));
                continue;
            }
            let (name, Ty::Tensor(elem, dims)) = (&binding.param.name, &binding.param.ty) else {
                let text = format!(
                    "`{}` cannot be a posterior family, because one of its parameters is a distribution",
                    item.name
                );
                return Err(limit(self.span, text));
            };
            let ty = Type::real(self.shape(dims, &value.shape, &statics)?);
            args.push(Datum::Tensor(elaborator.builder.param(name, ty.clone())));
            params.push((name.clone(), ty, support(elem)));
        }
        let dist = self.dist;
        let arguments = elaborator.arguments(&DistDatum { dist, args }, self.span)?;
        let instance =
            elaborator.instance(&arguments, value, Support::Real, CalledWith::Inside, self.span)?;
        Ok((instance, params))
    }

    /// Returns the shape of a parameter with these dims. If they are the dims of the values, this is the shape of the values. Otherwise, it
    /// has one size for each dim.
    fn shape(&self, dims: &[DimExpr], value: &Shape, statics: &[(LocalId, i64)]) -> Elaborated<Shape> {
        let on = match &self.item().on {
            Ty::Tensor(_, on) => on.as_slice(),
            _ => &[],
        };
        if dims.is_empty() && self.item().elementwise || dims == on {
            return Ok(value.clone());
        }
        let sizes = dims
            .iter()
            .map(|dim| size_of(dim, on, elements(value), statics, self.span));
        let sizes = sizes.collect::<Elaborated<Vec<_>>>()?;
        let count = sizes
            .iter()
            .try_fold(1usize, |count, size| count.checked_mul(*size));
        match count {
            Some(count) if count <= MOST_ELEMENTS => Ok(Shape::fixed(&sizes)),
            _ => Err(too_large(self.span, &self.item().name, &sizes, elements(value))),
        }
    }

    /// Returns the start value of a parameter for the elements of one site.
    fn start(&self, name: &str, support: Support, shape: &Shape, site: &Site) -> Elaborated<FamilyStart> {
        let own = self.value_of(site).shape;
        Ok(match self.given(name) {
            Some(StartValue::Value(expr)) => {
                FamilyStart::Optimise(Init::Constant(number(self.module, expr)?))
            }
            Some(StartValue::Fixed(expr)) => {
                let value = number(self.module, expr)?;
                if self.item().measure == MeasureKind::Point && site.support.is_of_vectors() {
                    let text = format!(
                        "`{}` is a vector, and one number cannot give all its elements",
                        site.name
                    );
                    return Err(limit(expr.span, text));
                }
                FamilyStart::Fixed(vec![value; elements(shape)])
            }
            Some(StartValue::Draw(expr)) => {
                // A point is the value of the site itself.
                let support = match self.item().measure {
                    MeasureKind::Point => site.support,
                    MeasureKind::Density | MeasureKind::Improper => support,
                };
                FamilyStart::Optimise(drawn::start(self.module, expr, name, support)?)
            }
            Some(StartValue::Scaled(rule)) => FamilyStart::Optimise(start::scaled(*rule, shape)),
            None if self.is_bounded() && support == POSITIVE => FamilyStart::Optimise(Init::Constant(1.0)),
            None if self.is_square(name) => FamilyStart::Optimise(Init::Constant(0.0)),
            None => {
                let plain = start::declared(support, shape, site)
                    .unwrap_or_else(|| start::default(support, shape, &own));
                let better = self.param(name).and_then(|param| match support == POSITIVE {
                    true => start::of_index(self.item(), param.local),
                    false => start::of_end(self.item(), param.local, &plain),
                });
                FamilyStart::Optimise(better.unwrap_or(plain))
            }
        })
    }

    /// Returns the parameter of the family with this name.
    fn param(&self, name: &str) -> Option<&ParamBinding> {
        let mut params = self.item().params.iter();
        params.find(|binding| &*binding.param.name == name)
    }

    /// Returns whether a parameter is a matrix with one row and one column per element of the site, such as the factor of a full covariance. It
    /// starts at zero.
    fn is_square(&self, name: &str) -> bool {
        let dims = self.param(name).and_then(|binding| match &binding.param.ty {
            Ty::Tensor(_, dims) => Some(dims.as_slice()),
            _ => None,
        });
        matches!(dims, Some([rows, columns]) if rows == columns)
    }

    /// Returns whether the values of the family are bounded. The positive parameters of such a family are not scales, so they start at one. For
    /// example, a beta or Dirichlet family is then uniform.
    fn is_bounded(&self) -> bool {
        match &self.item().on {
            Ty::Tensor(Elem::Real(Support::Interval(low, high)), _) => low.is_finite() && high.is_finite(),
            Ty::Tensor(Elem::Real(Support::Simplex), _) => true,
            _ => false,
        }
    }
}

/// Reports a parameter of a family that is too large for most machines.
fn too_large(span: Span, family: &str, sizes: &[usize], count: usize) -> Box<Diagnostic> {
    let bytes = sizes.iter().fold(4.0, |bytes, size| bytes * *size as f64);
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    let text = format!(
        "`{family}` over {count} elements has a parameter of {} numbers: {:.0} GB in single precision, and several times \
         that with its gradient and the optimiser state",
        sizes.join(" x "),
        bytes / 1e9
    );
    let low_rank = format!(
        "use `LowRankNormal(rank = 5)`, which has 7 numbers per element ({:.1} MB), or list fewer parameters on one line",
        28e-6 * count as f64
    );
    Box::new(Diagnostic::error(&TOO_LARGE, span, text).help(low_rank))
}

/// Evaluates a dim of a parameter of a family. The dim of the family's values is the number of elements. Any other dim is an integer parameter
/// of the family.
fn size_of(
    dim: &DimExpr,
    on: &[DimExpr],
    count: usize,
    statics: &[(LocalId, i64)],
    span: Span,
) -> Elaborated<usize> {
    if on == std::slice::from_ref(dim) {
        return Ok(count);
    }
    let known = |local: LocalId| {
        let mut statics = statics.iter();
        statics.find(|(own, _)| *own == local).map(|(_, number)| *number)
    };
    let number = dim.value(known).and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| limit(span, "a size of this family is not known"))
}

fn number(module: &Module, expr: &TypedExpr) -> Elaborated<f64> {
    crate::constant::constant(module, expr)
        .ok_or_else(|| limit(expr.span, "a start value must be a constant"))
}

/// Builds the posterior of a site that is fixed to the result of another inference run. It is a point at the value from that run.
fn from(
    module: &Module,
    site: &Site,
    line: &PosteriorLine,
    infer: InferId,
    path: &str,
) -> Elaborated<SitePosterior> {
    let mut posterior = Line::point(module, line.span)?.family(site)?;
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
        param.start = FamilyStart::From(module.infers[infer].name.clone(), source.as_str().into());
    }
    Ok(posterior)
}
