//! Computes KL divergences by quadrature. The densities are written out here.

use super::laws::{Law, radial, radial_constant, radial_element};
use super::quadrature::Rule;
use super::special::log_gamma;
use std::f64::consts::TAU;

/// A distribution over the elements of a site, with the parameters of each element.
pub enum Side<'a> {
    /// Independent elements of the same family.
    Elements(&'a Law, Vec<Vec<f64>>),
    /// A radial distribution, with its locations and scales.
    Radial(Vec<[f64; 2]>),
    /// A Dirichlet distribution, with its concentrations. Draws of the other distribution of the
    /// pair are transformed to the simplex.
    Dirichlet(Vec<f64>),
}

/// Returns `KL(q || p)`. If `transformed` is true, draws of `q` are transformed to the positive reals
/// by `exp`.
pub fn divergence(q: &Side<'_>, p: &Side<'_>, transformed: bool) -> f64 {
    match (q, p) {
        (Side::Elements(family, q), Side::Elements(prior, p)) => {
            let elements = q.iter().zip(p);
            elements
                .map(|(q, p)| of_element((family, q), (prior, p), transformed))
                .sum()
        }
        (Side::Radial(q), Side::Elements(prior, p)) => {
            assert_eq!(q.len(), 3, "the law of one element is known in three dimensions");
            let elements = q.iter().zip(p);
            let expected: f64 = elements
                .map(|(q, p)| of_radial_element(*q, (prior, p), transformed))
                .sum();
            radial_constant(3) - log_scales(q) - expected
        }
        (Side::Elements(family, q), Side::Radial(p)) => {
            let breaks: Vec<f64> = p.iter().map(|p| p[0]).collect();
            plane((family, q), &breaks, |x| log_radial(p, x))
        }
        (Side::Elements(family, q), Side::Dirichlet(p)) => {
            plane((family, q), &[0.0; 2], |u| log_dirichlet(p, u))
        }
        (Side::Radial(q), Side::Radial(p)) => between_radials(q, p),
        (Side::Radial(_), Side::Dirichlet(_)) | (Side::Dirichlet(_), _) => {
            panic!("the table has no such pair")
        }
    }
}

/// Returns the KL divergence for one element. The elements of the site are independent.
fn of_element((family, q): (&Law, &[f64]), (prior, p): (&Law, &[f64]), transformed: bool) -> f64 {
    let support = (family.support)(q);
    let mut breaks = vec![1.0];
    if support.0 < 0.0 {
        breaks = family.locations(q);
        breaks.extend(prior.locations(p));
        breaks.push(0.0);
    }
    let rule = Rule::new(support, &breaks);
    let log_density = |x| (family.log_density)(q, x);
    expectation(&rule, log_density, |x, log| {
        log - log_prior(prior, p, x, transformed)
    })
}

/// Returns the expectation of the log prior at one element of a radial variable in three
/// dimensions.
fn of_radial_element([loc, scale]: [f64; 2], (prior, p): (&Law, &[f64]), transformed: bool) -> f64 {
    let mut breaks: Vec<f64> = prior.locations(p).iter().map(|at| (at - loc) / scale).collect();
    breaks.push(0.0);
    let rule = Rule::new((f64::NEG_INFINITY, f64::INFINITY), &breaks);
    let log_density = |z| radial_element(z).ln();
    expectation(&rule, log_density, |z, _| {
        log_prior(prior, p, loc + scale * z, transformed)
    })
}

/// Returns the KL divergence between two radial distributions in two dimensions. Uses polar
/// coordinates.
fn between_radials(q: &[[f64; 2]], p: &[[f64; 2]]) -> f64 {
    assert_eq!(q.len(), 2, "polar coordinates");
    let radii = Rule::new((0.0, f64::INFINITY), &[1.0]);
    let directions = 400;
    let over_directions = |r: f64| -> f64 {
        let at = |k: i32| {
            let angle = TAU * (f64::from(k) + 0.5) / f64::from(directions);
            let x = q[0][0] + q[0][1] * r * angle.cos();
            let y = q[1][0] + q[1][1] * r * angle.sin();
            log_radial(p, [x, y])
        };
        (0..directions).map(at).sum::<f64>() / f64::from(directions)
    };
    let half_normal = |r: f64| 0.5 * (4.0 / TAU).ln() - 0.5 * r * r;
    let expected = expectation(&radii, half_normal, |r, _| over_directions(r));
    radial_constant(2) - log_scales(q) - expected
}

fn log_scales(q: &[[f64; 2]]) -> f64 {
    q.iter().map(|[_, scale]| scale.ln()).sum()
}

fn log_prior(prior: &Law, p: &[f64], x: f64, transformed: bool) -> f64 {
    if transformed {
        (prior.log_density)(p, x.exp()) + x
    } else {
        (prior.log_density)(p, x)
    }
}

fn log_radial(p: &[[f64; 2]], x: [f64; 2]) -> f64 {
    let z = [0, 1].map(|at| (x[at] - p[at][0]) / p[at][1]);
    radial(&z) - log_scales(p)
}

/// Returns the log density of log shares. A log share is the logarithm of a share divided by the
/// last share. The Jacobian is the product of the shares.
fn log_dirichlet(p: &[f64], u: [f64; 2]) -> f64 {
    let largest = u[0].max(u[1]).max(0.0);
    let total = largest + ((u[0] - largest).exp() + (u[1] - largest).exp() + (-largest).exp()).ln();
    let logs = [u[0] - total, u[1] - total, -total];
    let constant = log_gamma(p.iter().sum()) - p.iter().map(|a| log_gamma(*a)).sum::<f64>();
    constant + p.iter().zip(logs).map(|(a, log)| a * log).sum::<f64>()
}

/// Returns the expectation of `f(x, log density at x)`. Points where the density is zero or not
/// finite are left out.
fn expectation(rule: &Rule, log_density: impl Fn(f64) -> f64, f: impl Fn(f64, f64) -> f64) -> f64 {
    rule.sum(|_, x| {
        let log = log_density(x);
        let density = log.exp();
        if density > 0.0 && density.is_finite() {
            density * f(x, log)
        } else {
            0.0
        }
    })
}

/// Returns the KL divergence of two independent elements from a joint prior. `breaks` contains a
/// break point for each axis.
fn plane((family, q): (&Law, &[Vec<f64>]), breaks: &[f64], log_prior: impl Fn([f64; 2]) -> f64) -> f64 {
    let rules: Vec<Rule> = (q.iter().zip(breaks))
        .map(|(q, at)| {
            let mut breaks = family.locations(q);
            breaks.push(*at);
            Rule::new((family.support)(q), &breaks)
        })
        .collect();
    let [first, second] = &rules[..] else {
        panic!("expected two dimensions, found {}", rules.len());
    };
    first.sum(|_, x| {
        let of_x = (family.log_density)(&q[0], x);
        second.sum(|_, y| {
            let log = of_x + (family.log_density)(&q[1], y);
            let density = log.exp();
            if density > 0.0 {
                density * (log - log_prior([x, y]))
            } else {
                0.0
            }
        })
    })
}
