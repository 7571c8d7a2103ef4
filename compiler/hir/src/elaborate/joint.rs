//! Builds a joint family of several sites. The parameters of the family are assembled from one tensor per site.
//!
//! A parameter with one row per element, such as a location, a scale or a covariance factor, is stored as one
//! tensor per site, which contains the rows for the elements of the site. The tensor has the same name as if
//! the site had its own family. Reports, files, starting values from other inference runs, and fixed sites
//! therefore have the same format for joint and for separate families.

use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Instance;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::FamilyParam;
use std::sync::Arc;

/// How one parameter is divided among the members of a group.
pub enum Share {
    /// Each member has its own rows of the parameter. The shapes are those of the members' tensors,
    /// in order.
    Rows(Vec<Shape>),
    /// All members share the whole parameter.
    Whole,
}

/// Returns how a parameter of shape `shape` is divided among members whose values have the shapes
/// in `members`.
pub fn share(shape: &Shape, members: &[(Arc<str>, Shape)]) -> Share {
    let sizes = |shape: &Shape| shape.static_sizes().unwrap_or_default();
    let count = |shape: &Shape| sizes(shape).iter().product::<usize>();
    let total: usize = members.iter().map(|(_, shape)| count(shape)).sum();
    match shape.dims() {
        [first] if *first == Dim::Fixed(total) => {
            Share::Rows(members.iter().map(|(_, shape)| shape.clone()).collect())
        }
        [first, rest @ ..] if *first == Dim::Fixed(total) => {
            let rows = |(_, shape): &(_, Shape)| {
                let mut dims = vec![Dim::Fixed(count(shape))];
                dims.extend(rest);
                Shape(dims)
            };
            Share::Rows(members.iter().map(rows).collect())
        }
        _ => Share::Whole,
    }
}

/// Rewrites a joint family as a family whose parameters are those of the members. They are
/// assembled into the parameters of the joint family.
pub fn gathered(family: &Instance, shares: &[Share], params: &[FamilyParam]) -> Instance {
    let gather = |function: &Function| Arc::new(of_parts(function, family, shares, params));
    let some = |function: &Option<Arc<Function>>| function.as_deref().map(gather);
    Instance {
        name: family.name.clone(),
        measure: family.measure,
        params: params
            .iter()
            .map(|param| (param.name.clone(), param.ty.clone()))
            .collect(),
        supports: params.iter().map(|param| param.support).collect(),
        value: family.value.clone(),
        support: family.support,
        reach: family
            .reach
            .iter()
            .map(|reach| reach.map(|number| gather(number)))
            .collect(),
        elementwise: family.elementwise,
        log_density: gather(&family.log_density),
        log_density_elements: some(&family.log_density_elements),
        draw: some(&family.draw),
        wider_draw: some(&family.wider_draw),
        mean: some(&family.mean),
        variance: some(&family.variance),
        entropy: some(&family.entropy),
        moment: some(&family.moment),
        log_mean: some(&family.log_mean),
        log_variance: some(&family.log_variance),
        probabilities: some(&family.probabilities),
    }
}

/// Rewrites a function of the family's parameters as a function of the members' parameters.
fn of_parts(function: &Function, family: &Instance, shares: &[Share], params: &[FamilyParam]) -> Function {
    let mut builder = Builder::new(&function.name);
    let own: Vec<Value> = params
        .iter()
        .map(|param| builder.param(&param.name, param.ty.clone()))
        .collect();
    let mut own = own.into_iter();
    let mut args = Vec::new();
    for ((_, ty), share) in family.params.iter().zip(shares) {
        let count = match share {
            Share::Rows(rows) => rows.len(),
            Share::Whole => 1,
        };
        let parts: Vec<Value> = own.by_ref().take(count).collect();
        args.push(match share {
            Share::Rows(_) => rows(&mut builder, &parts, &ty.shape),
            Share::Whole => parts[0],
        });
    }
    // The remaining parameters are a value, or the coordinates of a draw.
    for param in function.params.iter().skip(args.len()) {
        let name = function.param_name(*param).map_or("", |name| name);
        args.push(builder.param(name, function.ty(*param).clone()));
    }
    let results = builder.inline(function, &args);
    let named = function.results.iter().zip(results);
    let named = named.map(|((name, _), value)| (name.clone(), value)).collect();
    builder.finish(named)
}

/// Stacks the members' tensors, which become the rows of a parameter of shape `shape`.
fn rows(builder: &mut Builder, parts: &[Value], shape: &Shape) -> Value {
    let rest = &shape.dims()[1..];
    let stacked: Vec<Value> = parts
        .iter()
        .map(|part| {
            let sizes = builder.shape(*part).static_sizes().unwrap_or_default();
            let width: usize = rest.iter().filter_map(|dim| dim.fixed()).product();
            let mut dims = vec![Dim::Fixed(sizes.iter().product::<usize>() / width)];
            dims.extend(rest);
            builder.reshape(*part, &Shape(dims))
        })
        .collect();
    builder.concat(&stacked, 0)
}
