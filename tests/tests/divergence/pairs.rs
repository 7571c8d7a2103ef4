//! Pairs of a family and a prior as programs, with the expected result for the KL divergence of
//! each pair.

use super::integral::Side;
use super::laws::law;
use bnnc_core::states::StateValues;
use bnnc_math::special::softplus;

/// The methods of computing a KL divergence. The best method comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    Exact,
    Tuple,
    Signs,
    Taylor,
    Direct,
}

/// The expected result for one pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A finite number, computed by this method or by a better one.
    Finite(Method),
    /// An error, because the KL divergence is infinite.
    Infinite,
}

use Expected::{Finite, Infinite};
use Method::{Direct, Exact, Signs, Tuple};

/// A variational family, and the initial values of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    pub name: &'static str,
    /// The arguments of the family in the program.
    pub text: &'static str,
}

/// A prior and its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Prior {
    pub name: &'static str,
    /// The text of the prior in the program.
    pub text: &'static str,
    /// The values of the parameters of the prior.
    pub values: &'static [f64],
    /// The type of the site, in the syntax of programs.
    pub site: &'static str,
}

/// One pair of the table.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub row: usize,
    pub family: Family,
    pub prior: Prior,
    pub expected: Expected,
}

pub const fn family(name: &'static str, text: &'static str) -> Family {
    Family { name, text }
}

pub const fn prior(
    name: &'static str,
    text: &'static str,
    values: &'static [f64],
    site: &'static str,
) -> Prior {
    Prior {
        name,
        text,
        values,
        site,
    }
}

const EXPONENTIAL: Prior = prior("Exponential", "Exponential(1.5)", &[1.5], "positive[3]");
const DIRICHLET: Prior = prior(
    "Dirichlet",
    "Dirichlet([1, 2, 3])",
    &[1.0, 2.0, 3.0],
    "simplex(3)",
);
const INVERSE_GAMMA: Prior = prior("InverseGamma", "InverseGamma(2, 1)", &[2.0, 1.0], "positive[3]");
const LOG_NORMAL: Prior = prior("LogNormal", "LogNormal(0.1, 0.8)", &[0.1, 0.8], "positive[3]");
const INVERSE_GAUSSIAN: Prior = prior(
    "InverseGaussian",
    "InverseGaussian(1.2, 0.9)",
    &[1.2, 0.9],
    "positive[3]",
);
const STANDARD_WALD: Prior = prior("StandardWald", "StandardWald(1.1)", &[1.1], "positive[3]");
const CHI2: Prior = prior("Chi2", "Chi2(3)", &[3.0], "positive[3]");
const GAMMA: Prior = prior("Gamma", "Gamma(2, 0.7)", &[2.0, 0.7], "positive[3]");
const ERROR: Prior = prior("Error", "Error(0, 0.9, 1.6)", &[0.0, 0.9, 1.6], "real[3]");
const NORMAL: Prior = prior("Normal", "Normal(0.1, 0.8)", &[0.1, 0.8], "real[3]");
const RAYLEIGH: Prior = prior("Rayleigh", "Rayleigh(1.2)", &[1.2], "positive[3]");
const PARETO: Prior = prior("Pareto", "Pareto(0.5, 2)", &[0.5, 2.0], "positive[3]");
const ERLANG: Prior = prior("Erlang", "Erlang(2, 0.8)", &[2.0, 0.8], "positive[3]");
const WEIBULL: Prior = prior("Weibull", "Weibull(1.5, 1.1)", &[1.5, 1.1], "positive[3]");
const LOGISTIC: Prior = prior("Logistic", "Logistic(0.1, 0.8)", &[0.1, 0.8], "real[3]");
const LAPLACE: Prior = prior("Laplace", "Laplace(0.1, 0.8)", &[0.1, 0.8], "real[3]");
const HORSESHOE: Prior = prior("Horseshoe", "Horseshoe(0.1, 0.8)", &[0.1, 0.8], "real[3]");
const CAUCHY: Prior = prior("Cauchy", "Cauchy(0.1, 0.8)", &[0.1, 0.8], "real[3]");
const MIXTURE: Prior = prior(
    "Mixture",
    "Mixture(0.5, Normal(0, 1), Normal(0, 0.3))",
    &[0.5, 0.0, 1.0, 0.0, 0.3],
    "real[3]",
);
const RADIAL: Prior = prior("Radial", "Radial([0.1, -0.1], [0.8, 1.1])", &[], "real[2]");
/// The locations and scales of the prior [`RADIAL`].
const RADIAL_VALUES: [[f64; 2]; 2] = [[0.1, 0.8], [-0.1, 1.1]];

const SCALING_FAMILIES: [Family; 9] = [
    family("Exponential", "scale = 0.7"),
    family("Rayleigh", "scale = 0.8"),
    family("Erlang", "shape = 3, scale = 0.4"),
    family("Error", "loc = fixed(0), scale = 0.4, shape = fixed(1.6)"),
    family("InverseGamma", "shape = fixed(6), scale = 3"),
    family("StandardWald", "scale = 0.8"),
    family("Weibull", "shape = fixed(4), scale = 0.9"),
    family("Gamma", "shape = fixed(3.5), scale = 0.3"),
    family("LogGamma", "shape = fixed(6), scale = 0.3"),
];

const SCALING_PRIORS: [Prior; 14] = [
    EXPONENTIAL,
    DIRICHLET,
    INVERSE_GAMMA,
    LOG_NORMAL,
    INVERSE_GAUSSIAN,
    STANDARD_WALD,
    CHI2,
    GAMMA,
    ERROR,
    NORMAL,
    RAYLEIGH,
    PARETO,
    ERLANG,
    WEIBULL,
];

/// Returns the expected result for families that are a scale times noise, and for related families.
fn scaling(family: Family, prior: Prior) -> Expected {
    let is_real = matches!(family.name, "Error" | "LogGamma");
    let needs_reciprocal = matches!(prior.name, "InverseGamma" | "InverseGaussian" | "StandardWald");
    match (family.name, prior.name) {
        // If the family is on the reals, its draws are transformed to the simplex. Other families
        // have probability outside the simplex.
        (_, "Dirichlet") if is_real => Finite(Direct),
        (_, "Dirichlet" | "Pareto") => Infinite,
        ("Exponential", _) if needs_reciprocal => Infinite,
        ("LogGamma", "Error") => Finite(Direct),
        (_, "Error" | "Normal") => Finite(Tuple),
        // If the family is on the reals, its draws are transformed to the support of the site by
        // `exp`.
        _ if is_real => Finite(Direct),
        _ => Finite(Tuple),
    }
}

const LOCATION_FAMILIES: [Family; 5] = [
    family("Normal", "loc = 0.3, scale = 0.5"),
    family("Logistic", "loc = 0.3, scale = 0.25"),
    family("Radial", "loc = 0.3, scale = 0.5"),
    family("Laplace", "loc = 0.3, scale = 0.3"),
    family("Horseshoe", "loc = 0.3, scale = 0.5"),
];

const LOCATION_PRIORS: [Prior; 7] = [LOGISTIC, EXPONENTIAL, LAPLACE, NORMAL, HORSESHOE, MIXTURE, RADIAL];

fn location(family: Family, prior: Prior) -> Expected {
    match (family.name, prior.name) {
        ("Horseshoe", "Horseshoe") => Finite(Direct),
        ("Horseshoe", _) => Infinite,
        (_, "Normal") => Finite(Exact),
        (_, "Laplace") => Finite(Signs),
        _ => Finite(Direct),
    }
}

const LOG_NORMAL_FAMILY: Family = family("LogNormal", "loc = -0.2, scale = 0.4");

const LOG_NORMAL_PRIORS: [Prior; 8] = [
    DIRICHLET,
    PARETO,
    LOG_NORMAL,
    GAMMA,
    EXPONENTIAL,
    NORMAL,
    INVERSE_GAMMA,
    INVERSE_GAUSSIAN,
];

fn log_normal(prior: Prior) -> Expected {
    match prior.name {
        "Dirichlet" | "Pareto" => Infinite,
        "LogNormal" => Finite(Tuple),
        "Exponential" | "Normal" => Finite(Exact),
        _ => Finite(Direct),
    }
}

/// Pairs that are at a border: a moment that the KL divergence needs does not exist, or exists only
/// by a small margin.
const BORDERS: [(Family, Prior, Expected); 9] = [
    (
        family("InverseGamma", "shape = fixed(0.9), scale = 1"),
        EXPONENTIAL,
        Infinite,
    ),
    (
        family("InverseGamma", "shape = fixed(0.9), scale = 1"),
        GAMMA,
        Infinite,
    ),
    (
        family("InverseGamma", "shape = fixed(1.8), scale = 1"),
        NORMAL,
        Infinite,
    ),
    (
        family("InverseGamma", "shape = fixed(1.8), scale = 1"),
        RAYLEIGH,
        Infinite,
    ),
    (
        family("InverseGamma", "shape = fixed(1.4), scale = 1"),
        WEIBULL,
        Infinite,
    ),
    (
        family("Gamma", "shape = fixed(0.9), scale = 1"),
        INVERSE_GAMMA,
        Infinite,
    ),
    (
        family("Weibull", "shape = fixed(0.9), scale = 1"),
        INVERSE_GAMMA,
        Infinite,
    ),
    (
        family("Horseshoe", "loc = 0.3, scale = 0.5"),
        CAUCHY,
        Finite(Direct),
    ),
    (family("Normal", "loc = 0.3, scale = 0.5"), CAUCHY, Finite(Direct)),
];

/// Returns all pairs. Rows one to three of the table come first, followed by the pairs of
/// [`BORDERS`].
pub fn all() -> Vec<Pair> {
    let pair = |row, family, prior, expected| Pair {
        row,
        family,
        prior,
        expected,
    };
    let cross = |families: &[Family], priors: &[Prior]| -> Vec<(Family, Prior)> {
        let with = |family: &Family| priors.iter().map(|prior| (*family, *prior)).collect::<Vec<_>>();
        families.iter().flat_map(with).collect()
    };
    let mut pairs = Vec::new();
    for (family, prior) in cross(&SCALING_FAMILIES, &SCALING_PRIORS) {
        pairs.push(pair(1, family, prior, scaling(family, prior)));
    }
    for (family, prior) in cross(&LOCATION_FAMILIES, &LOCATION_PRIORS) {
        pairs.push(pair(2, family, prior, location(family, prior)));
    }
    for prior in LOG_NORMAL_PRIORS {
        pairs.push(pair(3, LOG_NORMAL_FAMILY, prior, log_normal(prior)));
    }
    for (family, prior, expected) in BORDERS {
        pairs.push(pair(4, family, prior, expected));
    }
    pairs
}

impl Family {
    /// Returns the value that the program gives to a parameter.
    fn written(&self, param: &str) -> f64 {
        let argument = self
            .text
            .split(", ")
            .find_map(|argument| argument.strip_prefix(param));
        let number = argument.map(|value| {
            value
                .trim_start_matches(" = ")
                .trim_matches(|c| "fixed()".contains(c))
        });
        number
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("`{param}` in {}", self.text))
    }
}

impl Pair {
    /// Returns a label such as `Normal || Laplace`.
    pub fn label(&self) -> String {
        format!("{} || {}", self.family.name, self.prior.name)
    }

    /// Returns the items of the program for this pair. The names of these items contain the index
    /// `at`.
    pub fn program(&self, at: usize) -> String {
        let (prior, family) = (self.prior, self.family);
        format!(
            "model M{at}(x: real) -> y: real {{
  w: {} ~ {}
  y ~ Normal(sum(w) * x, 1)
}}
posterior Q{at} of M{at} {{ w ~ {}({}) }}
infer fit{at} = vi(Q{at}, rows) {{ precision = f64 }}
",
            prior.site, prior.text, family.name, family.text
        )
    }

    /// Returns whether draws of the family are transformed from the reals to the support of the site.
    pub fn is_carried(&self) -> bool {
        let on_reals = [
            "Error",
            "LogGamma",
            "Normal",
            "Logistic",
            "Radial",
            "Laplace",
            "Horseshoe",
        ];
        on_reals.contains(&self.family.name) && self.prior.site.starts_with("positive")
    }

    /// Returns the distribution of the family at these values of its states.
    pub fn posterior(&self, states: &StateValues) -> Side<'static> {
        let value = |param: &str, at: usize| {
            let Some(state) = states.get(&format!("w/{param}")) else {
                return self.family.written(param);
            };
            let state = state[at.min(state.len() - 1)];
            if param == "loc" { state } else { softplus(state) }
        };
        let elements = 0..states["w/scale"].len();
        if self.family.name == "Radial" {
            return Side::Radial(
                elements
                    .map(|at| [value("loc", at), value("scale", at)])
                    .collect(),
            );
        }
        let law = law(self.family.name);
        let params = |at| law.params.iter().map(|param| value(param, at)).collect();
        Side::Elements(law, elements.map(params).collect())
    }

    /// Returns the distribution of the prior for `elements` elements.
    pub fn prior(&self, elements: usize) -> Side<'static> {
        if self.prior.name == "Radial" {
            return Side::Radial(RADIAL_VALUES.to_vec());
        }
        if self.prior.name == "Dirichlet" {
            return Side::Dirichlet(self.prior.values.to_vec());
        }
        Side::Elements(law(self.prior.name), vec![self.prior.values.to_vec(); elements])
    }
}
