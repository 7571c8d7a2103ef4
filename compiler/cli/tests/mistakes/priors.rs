//! Tests warnings about improper and misplaced priors, about parameters that the data do not
//! identify, and about families that do not fit the posterior.

use crate::tables::{csv, each, line, normal};
use crate::{Folder, mistakes};

/// Returns a table of values with two narrow modes, at -3 and at 3.
fn bumps() -> String {
    let e = normal(1, 60);
    csv(&[
        ("x", e.clone()),
        ("y", each(60, |row| 6.0 * (row % 2) as f64 - 3.0 + 0.3 * e[row])),
    ])
}

/// Returns a table of eight groups. Each group has few rows, and the means of the groups differ
/// little.
fn groups() -> String {
    let (e, z) = (normal(1, 24), normal(2, 8));
    let g = each(24, |row| (row % 8) as f64);
    let y = each(24, |row| 0.1 * z[row % 8] + 2.0 * e[row]);
    csv(&[("g", g), ("y", y)])
}

/// Returns a table of incomes around 30,000.
fn incomes() -> String {
    let (x, e) = (normal(1, 40), normal(2, 40));
    let y = each(40, |row| 30_000.0 + 8_000.0 * x[row] + 3_000.0 * e[row]);
    csv(&[("x", x), ("y", y)])
}

mistakes! {
    a_type_below_the_scale_of_its_prior: ["E0280"],
        [("d.csv", csv(&[("y", normal(2, 20))]))], "
        data d = csv(\"d.csv\")
        model M() -> y: real {
          s: positive ~ Pareto(0.5, 2)
          y ~ Normal(0, s)
        }
        infer fit = nuts(M, d)";

    a_type_wider_than_the_interval_of_its_prior: ["E0280"],
        [("d.csv", csv(&[("y", normal(2, 20))]))], "
        data d = csv(\"d.csv\")
        model M() -> y: real {
          s: positive ~ Uniform(0.1, 0.8)
          y ~ Normal(0, s)
        }
        infer fit = nuts(M, d)";

    a_type_that_excludes_a_part_of_its_prior: ["E0280"],
        [("d.csv", csv(&[("y", normal(2, 20))]))], "
        data d = csv(\"d.csv\")
        model M() -> y: real {
          s: positive ~ Uniform(-1, 1)
          y ~ Normal(0, s)
        }
        infer fit = nuts(M, d)";

    an_interval_that_starts_below_its_prior: ["E0280"],
        [("d.csv", csv(&[("y", normal(2, 20))]))], "
        data d = csv(\"d.csv\")
        model M() -> y: real {
          s: real(0, 5) ~ Uniform(2, 10)
          y ~ Normal(0, s)
        }
        infer fit = nuts(M, d)";

    a_sum_of_two_flat_parameters: ["E0521"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          alpha ~ Flat
          beta  ~ Flat
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(alpha + beta + 2 * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";

    a_product_of_two_flat_parameters: ["E0521", "E0520", "E0522"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          alpha ~ Flat
          beta  ~ Flat
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(1 + alpha * beta * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";

    collinear_inputs_under_flat_priors: ["E0521"],
        [("d.csv", csv(&[("x", normal(1, 40)), ("z", each(40, |row| 2.0 * normal(1, 40)[row] + 1.0)), ("y", normal(2, 40))]))], "
        data d = csv(\"d.csv\")
        model M(x: real, z: real) -> y: real {
          a ~ Flat
          b ~ Flat
          c ~ Flat
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(a + b * x + c * z, sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";

    an_intercept_beside_one_per_group: ["E0521"], [("d.csv", groups())], "
        data d = csv(\"d.csv\")
        model M(g: index(J)) -> y: real {
          a ~ Flat
          b: real[J] ~ Flat
          sigma: positive ~ HalfNormal(3)
          y ~ Normal(a + b[g], sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";

    a_flat_scale_of_group_effects: ["E0520", "E0521", "E0522", "E0523"], [("d.csv", groups())], "
        data d = csv(\"d.csv\")
        model M(g: index(J)) -> y: real {
          mu ~ Normal(0, 5)
          tau: positive ~ Flat
          theta: real[J] ~ Normal(mu, tau)
          y ~ Normal(theta[g], 2)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";

    a_centred_hierarchy_with_little_data: ["E0520", "E0522", "E0523"], [("d.csv", groups())], "
        data d = csv(\"d.csv\")
        model M(g: index(J)) -> y: real {
          mu ~ Normal(0, 5)
          tau: positive ~ HalfCauchy(5)
          theta: real[J] ~ Normal(mu, tau)
          y ~ Normal(theta[g], 2)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";

    a_flat_prior_below_a_parameter_that_no_row_informs: ["E0521", "E0520"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Flat
          b ~ Flat
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(1 + a * x + 0 * b, sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";

    a_mixture_whose_labels_differ_between_chains: ["E0521"], [("d.csv", bumps())], "
        data d = csv(\"d.csv\") { inputs = [x] }
        model M(x: real) -> y: real {
          m: real[2] ~ Normal(0, 5)
          sigma: positive ~ HalfNormal(1)
          y ~ Mixture(0.5, Normal(m[0], sigma), Normal(m[1], sigma))
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";

    a_prior_that_depends_on_the_row: ["E0241"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          w ~ Normal(x, 1)
          y ~ Normal(w, 1)
        }
        infer fit = nuts(M, d)";

    a_discrete_latent_variable: ["E0242"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          z ~ Bernoulli(0)
          y ~ Normal(if z { x } else { 0 }, 1)
        }
        infer fit = nuts(M, d)";

    a_family_with_heavier_tails_than_the_prior: ["E0302"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          w ~ Normal(0, 1)
          y ~ Normal(w * x, 1)
        }
        posterior Q of M { w ~ Cauchy(0, 0.1) }
        infer fit = vi(Q, d)";

    a_family_with_mass_outside_the_prior: ["E0302"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          w: real ~ Uniform(0, 1)
          y ~ Normal(w * x, 1)
        }
        posterior Q of M { w ~ Normal(0, 0.1) }
        infer fit = vi(Q, d)";

    a_posterior_that_forgets_a_parameter: ["E0253"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          w ~ Normal(0, 1)
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(w * x, sigma)
        }
        posterior Q of M { w ~ Normal(0, 0.1) }
        infer fit = vi(Q, d)";

    a_prior_without_values: ["E0214"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          w ~ Uniform(1, 0)
          y ~ Normal(w * x, 1)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 200 }";

    a_standard_deviation_of_zero: ["E0214"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          w ~ Normal(0, 0)
          y ~ Normal(w * x, 1)
        }
        infer fit = nuts(M, d)";

    no_data_reach_a_parameter_of_the_network: ["E0247", "E0207"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: real {
          first = Dense(5)
          out   = Dense(1)
          y ~ Normal(out(x)[0], 1)
        }
        infer fit = map(M, d)";

    a_sum_of_two_flat_parameters_under_laplace: ["E0542"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          alpha ~ Flat
          beta  ~ Flat
          y ~ Normal(alpha + beta + 2 * x, 0.5)
        }
        infer fit = laplace(M, d)";

    priors_of_size_one_for_incomes: ["E0645"], [("d.csv", incomes())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 1)
          b ~ Normal(0, 1)
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 300, draws = 300 }";

    an_exponential_prior_of_size_one_for_incomes: ["E0645"], [("d.csv", incomes())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 50000)
          b ~ Normal(0, 50000)
          sigma: positive ~ Exponential(1)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = map(M, d) { optimiser = Adam(1) }";

    a_slope_at_the_end_of_its_type: ["E0582"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b: real(-5, 1.2) ~ Normal(0, 3)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 300, draws = 500 }";

    a_positive_slope_of_the_wrong_sign: ["E0582"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b: positive ~ HalfNormal(3)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a - b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 300, draws = 500 }";

    a_maximum_at_the_end_of_a_type: ["E0582"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b: real(0, 5) ~ Normal(0, 3)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a - b * x, sigma)
        }
        infer fit = map(M, d)";

    a_curvature_at_the_end_of_a_type: ["E0582"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b: positive ~ HalfNormal(3)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a - b * x, sigma)
        }
        infer fit = laplace(M, d)";

    a_whole_curvature_at_the_end_of_a_type: ["E0582"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b: positive ~ HalfNormal(3)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a - b * x, sigma)
        }
        infer fit = laplace(M, d) { curvature = hessian }";

    a_maximum_at_a_chosen_end: ["E0582"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b: real(0.5, 5) ~ Normal(0, 3)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a - b * x, sigma)
        }
        infer fit = map(M, d)";

    a_noise_at_the_end_of_its_type: ["E0582"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          sigma: real(0, 0.3) ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 300, draws = 500 }";

    a_uniform_prior_that_ends_before_the_data: ["E0520", "E0521", "E0582"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Uniform(-5, 1.2)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 300, draws = 500 }";
}

/// Runs a program in which the data determine that a parameter is `value`. Returns whether a warning reports
/// that the parameter lies outside its prior.
fn is_outside(prior: &str, value: f64) -> bool {
    let y = each(20, |row| value + 1e-3 * (row % 3) as f64 - 1e-3);
    let program = format!(
        "data d = csv(\"d.csv\") {{ inputs = [x] }}
        model M(x: real) -> y: real {{
          a ~ {prior}
          y ~ Normal(a + 0 * x, 0.01)
        }}
        infer fit = map(M, d) {{ optimiser = Adam(0.01) }}"
    );
    let files = [("d.csv", csv(&[("x", normal(1, 20)), ("y", y)]))];
    let (status, text) = Folder::of(&files, &program).bnnc(&["run", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    text.contains("E0645")
}

#[test]
fn a_posterior_is_outside_its_prior_where_the_density_is_twelve_nats_lower() {
    // A value lies outside its prior if the log density at the value is 12 nats below its maximum.
    // For a standard normal prior, x^2 / 2 = 12 at x = 4.899. For an exponential prior with mean 1,
    // x - 1 = 12 at x = 13. For a `StudentT(3)` prior, 4 log(1 + x^2 / 3) / 2 = 12 at x = 34.7.
    for (prior, end) in [
        ("Normal(0, 1)", 4.899),
        ("Exponential(1)", 13.0),
        ("StudentT(3, 0, 1)", 34.74),
    ] {
        assert!(!is_outside(prior, 0.98 * end), "{prior}");
        assert!(is_outside(prior, 1.02 * end), "{prior}");
    }
    // A scale near zero does not lie outside its prior.
    assert!(!is_outside("HalfNormal(1)", 1e-2));
}
