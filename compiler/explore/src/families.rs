//! Lists the distributions that the user can choose: those of the library over one real, with their
//! declared parameters.

use super::chosen::{ChosenArgument, ChosenDistribution};
use bnnc_graph::dist::Support;
use bnnc_hir::elaborate::dist::support;
use bnnc_hir::parts::DistributionPart;
use bnnc_hir::tree::{DistItem, Module, ParamBinding, TypedExprKind};
use bnnc_hir::types::{Elem, Ty};

/// A distribution that the user can choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The declared name, such as `Normal`.
    pub name: String,
    /// The documentation, taken from the `///` lines.
    pub about: String,
    /// The type of a value as written in the library, such as `positive`.
    pub on: String,
    /// The parameters of the distribution, in order.
    pub parameters: Vec<DistributionParameter>,
    /// True if the distribution can be an approximation, which needs a sampler, and a density or an
    /// entropy.
    pub approximates: bool,
    /// True if the distribution can be a prior, which needs a density.
    pub is_prior: bool,
}

/// A parameter of a distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct DistributionParameter {
    /// The name of the parameter.
    pub name: String,
    /// The declared type as written, such as `positive` or `dist`.
    pub ty: String,
    /// The open interval of allowed values. `None` if every real is allowed, or if the parameter is a distribution.
    pub ends: Option<(f64, f64)>,
    /// True if only integers are allowed.
    pub whole: bool,
    /// The default argument.
    pub default: ChosenArgument,
}

impl DistributionParameter {
    /// Returns whether the parameter is a distribution.
    pub fn takes_family(&self) -> bool {
        matches!(self.default, ChosenArgument::Family(_))
    }
}

/// Returns the distributions over one real with independent elements, sorted by name.
pub fn families(module: &Module) -> Vec<Family> {
    let mut families: Vec<Family> = module.dists.iter().filter_map(family).collect();
    families.sort_by(|a, b| a.name.cmp(&b.name));
    let known: Vec<ChosenDistribution> = families.iter().map(ChosenDistribution::of).collect();
    // The default of a parameter that is a distribution must be a distribution whose own parameters
    // are all numbers.
    let stands = known.iter().find(|chosen| chosen.family == "Normal").or_else(|| {
        let plain =
            |chosen: &&ChosenDistribution| chosen.arguments.iter().all(|(_, argument)| argument.is_number());
        known.iter().find(plain)
    });
    if let Some(stands) = stands.cloned() {
        families.iter_mut().for_each(|family| family.fill(&stands));
    }
    families
}

fn family(item: &DistItem) -> Option<Family> {
    let Ty::Tensor(elem @ Elem::Real(_), dims) = &item.on else {
        return None;
    };
    if !item.elementwise || !dims.is_empty() {
        return None;
    }
    let has_density = item.declares(DistributionPart::LogDensity);
    let parameters: Option<Vec<DistributionParameter>> = item
        .params
        .iter()
        .enumerate()
        .map(|(at, binding)| parameter(item, at, binding))
        .collect();
    let parameters = parameters?;
    let takes_family = parameters.iter().any(DistributionParameter::takes_family);
    let family = Family {
        name: item.name.to_string(),
        about: item.doc.trim().to_owned(),
        on: bnnc_hir::show::elem(elem, &item.locals),
        approximates: item.declares(DistributionPart::Draw) && has_density && !takes_family,
        is_prior: has_density,
        parameters,
    };
    (family.approximates || family.is_prior).then_some(family)
}

fn parameter(item: &DistItem, at: usize, binding: &ParamBinding) -> Option<DistributionParameter> {
    let name = binding.param.name.to_string();
    let ty = bnnc_hir::show::ty(&binding.param.ty, &item.locals);
    let (ends, whole) = match &binding.param.ty {
        Ty::Tensor(Elem::Int | Elem::Count, _) => (Some((0.0, f64::INFINITY)), true),
        Ty::Tensor(elem @ Elem::Real(_), _) => match support(elem) {
            Support::Real => (None, false),
            Support::Interval(low, high) => (Some((low, high)), false),
            Support::Simplex | Support::Ordered | Support::Integers(_) => return None,
        },
        Ty::Dist(_) => {
            let nothing = ChosenDistribution {
                family: String::new(),
                arguments: Vec::new(),
            };
            let default = ChosenArgument::Family(nothing);
            return Some(DistributionParameter {
                name,
                ty,
                ends: None,
                whole: false,
                default,
            });
        }
        _ => return None,
    };
    let value = declared(binding).unwrap_or_else(|| start(&name, at, ends));
    Some(DistributionParameter {
        name,
        ty,
        ends,
        whole,
        default: ChosenArgument::Number { value, fixed: false },
    })
}

/// Returns the declared default if it is a number.
fn declared(binding: &ParamBinding) -> Option<f64> {
    match binding.default.as_ref()?.kind {
        TypedExprKind::Real(value) => Some(value),
        TypedExprKind::Int(value) => Some(value as f64),
        _ => None,
    }
}

/// Returns a suitable default for a parameter. In the library, the name of every parameter for a
/// spread contains `scale`. All other positive parameters are shapes, whose default is 3, because
/// most moments are then finite. Two real parameters have different defaults, because they may be
/// the ends of an interval.
fn start(name: &str, at: usize, ends: Option<(f64, f64)>) -> f64 {
    match ends {
        None if name == "loc" => 0.0,
        None => at as f64,
        Some((low, high)) if low.is_finite() && high.is_finite() => 0.5 * (low + high),
        Some((low, _)) if low.is_finite() => low + if name.contains("scale") { 1.0 } else { 3.0 },
        Some((_, high)) => high - 1.0,
    }
}

impl Family {
    /// Makes `stands` the default of each parameter that is a distribution. Of several such
    /// parameters, each has a default with a smaller scale than the one before.
    fn fill(&mut self, stands: &ChosenDistribution) {
        let places = self
            .parameters
            .iter_mut()
            .filter(|parameter| parameter.takes_family());
        for (at, parameter) in places.enumerate() {
            let mut own = stands.clone();
            if let Some((_, ChosenArgument::Number { value, .. })) =
                own.arguments.iter_mut().find(|(name, _)| name == "scale")
            {
                *value *= 0.1f64.powi(at as i32);
            }
            parameter.default = ChosenArgument::Family(own);
        }
    }
}
