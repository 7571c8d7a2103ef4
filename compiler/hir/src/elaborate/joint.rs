//! One family over several sites: each of its parameters is put together from what every site has of it.
//!
//! A parameter with a row per element, as locations, scales and the factors of covariances are, is a tensor for each site: the
//! rows of its elements, under the name that it has where the site is alone. So reports, files, starts from other infers and
//! fixed sites do not know that the family is shared.

use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Instance;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::FamilyParam;
use std::sync::Arc;

/// What the members of a group have of one parameter.
pub enum Share {
    /// Rows of it each, of these shapes.
    Rows(Vec<Shape>),
    /// It is common to all.
    Whole,
}

/// How a parameter of this shape is shared by members with values of these shapes.
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

/// The family as one of the parameters that the members have.
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

/// A function of the parameters of the family as one of those of the members.
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
    // After the parameters: the value, or the coordinates of a draw.
    for param in function.params.iter().skip(args.len()) {
        let name = function.param_name(*param).map_or("", |name| name);
        args.push(builder.param(name, function.ty(*param).clone()));
    }
    let results = builder.inline(function, &args);
    let named = function.results.iter().zip(results);
    let named = named.map(|((name, _), value)| (name.clone(), value)).collect();
    builder.finish(named)
}

/// The parts below each other, as rows of a parameter of this shape.
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
