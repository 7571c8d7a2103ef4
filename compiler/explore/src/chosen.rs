//! Reads a distribution whose parameters are numbers. The text has the syntax of the language, as
//! in `Normal(loc = 0.3, scale = 0.5)`.
//!
//! The text may contain only names of library distributions, numbers, and nested distributions.

use super::diagnostics::ExploreError;
use super::families::{DistributionParameter, Family};
use bnnc_base::source::SourceMap;
use bnnc_grammar::ast::{Arg, Expr, ExprKind, UnaryOp};
use std::fmt;

/// A distribution that the user has chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenDistribution {
    /// The name of the distribution.
    pub family: String,
    /// The arguments of all parameters, in order.
    pub arguments: Vec<(String, ChosenArgument)>,
}

/// The argument of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ChosenArgument {
    /// A number.
    Number {
        /// The value of the number.
        value: f64,
        /// True for `fixed(2)`: the optimiser does not change the value.
        fixed: bool,
    },
    /// A distribution, for example a component of a mixture.
    Family(ChosenDistribution),
}

impl ChosenArgument {
    /// Returns whether the argument is a number.
    pub fn is_number(&self) -> bool {
        matches!(self, ChosenArgument::Number { .. })
    }
}

impl fmt::Display for ChosenArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChosenArgument::Number { value, fixed } if value.fract() == 0.0 && value.abs() < 1e15 => {
                wrapped(f, &(*value as i64), *fixed)
            }
            ChosenArgument::Number { value, fixed } => wrapped(f, &format_args!("{value:?}"), *fixed),
            ChosenArgument::Family(chosen) => chosen.fmt(f),
        }
    }
}

fn wrapped(f: &mut fmt::Formatter<'_>, value: &dyn fmt::Display, fixed: bool) -> fmt::Result {
    if fixed {
        write!(f, "fixed({value})")
    } else {
        value.fmt(f)
    }
}

impl fmt::Display for ChosenDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.family)?;
        for (at, (name, argument)) in self.arguments.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name} = {argument}")?;
        }
        f.write_str(")")
    }
}

/// The role for which a distribution is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistributionRole {
    /// The approximation of the posterior. Only its parameters may be `fixed(..)`.
    Posterior,
    /// The prior, or a component of the prior.
    Prior,
}

/// The maximum nesting depth of distributions.
const DEEPEST: usize = 3;

/// The maximum length of the text in bytes.
const LONGEST: usize = 1000;

impl ChosenDistribution {
    /// Returns a family with its default arguments.
    pub fn of(family: &Family) -> ChosenDistribution {
        let default = |parameter: &DistributionParameter| (parameter.name.clone(), parameter.default.clone());
        ChosenDistribution {
            family: family.name.clone(),
            arguments: family.parameters.iter().map(default).collect(),
        }
    }

    /// Parses the text of a distribution. Parameters without an argument keep their defaults.
    ///
    /// # Errors
    /// Fails with the reason if the text is not a distribution, or if its family cannot have this
    /// role.
    pub fn read(
        text: &str,
        role: DistributionRole,
        families: &[Family],
    ) -> Result<ChosenDistribution, ExploreError> {
        if text.len() > LONGEST {
            return Err(ExploreError::Request(format!(
                "a distribution has at most {LONGEST} characters"
            )));
        }
        let source = SourceMap::default().add("the request", text);
        let (expr, diagnostics) = bnnc_grammar::parse::parse_expr(&source);
        match diagnostics.first() {
            Some(diagnostic) => Err(ExploreError::Request(format!("`{text}`: {}", diagnostic.message))),
            None => chosen(&expr, role, families, DEEPEST),
        }
    }
}

fn chosen(
    expr: &Expr,
    role: DistributionRole,
    families: &[Family],
    depth: usize,
) -> Result<ChosenDistribution, ExploreError> {
    let shape = || {
        ExploreError::Request("expected a distribution such as `Normal(loc = 0.3, scale = 0.5)`".to_owned())
    };
    let ExprKind::Call(callee, arguments) = &*expr.kind else {
        return Err(shape());
    };
    let name = callee.as_name().ok_or_else(shape)?;
    let serves = |family: &&Family| match role {
        DistributionRole::Posterior => family.approximates,
        DistributionRole::Prior => family.is_prior,
    };
    let family = families
        .iter()
        .filter(serves)
        .find(|family| family.name == **name);
    let (Some(family), Some(depth)) = (family, depth.checked_sub(1)) else {
        let role = match role {
            DistributionRole::Posterior => "posterior family",
            DistributionRole::Prior => "prior",
        };
        return Err(ExploreError::Request(format!("there is no {role} `{name}` here")));
    };
    let mut result = ChosenDistribution::of(family);
    for (at, given) in arguments.iter().enumerate() {
        let (parameter, slot) = place(family, &mut result, at, given)?;
        *slot = argument(&given.value, parameter, role, families, depth)?;
    }
    Ok(result)
}

fn place<'a>(
    family: &'a Family,
    chosen: &'a mut ChosenDistribution,
    at: usize,
    given: &Arg,
) -> Result<(&'a DistributionParameter, &'a mut ChosenArgument), ExploreError> {
    let at = match &given.name {
        None => Some(at),
        Some(name) => family
            .parameters
            .iter()
            .position(|parameter| parameter.name == *name.name),
    };
    let found = at.and_then(|at| family.parameters.get(at).zip(chosen.arguments.get_mut(at)));
    found
        .map(|(parameter, (_, slot))| (parameter, slot))
        .ok_or_else(|| {
            let names: Vec<&str> = family
                .parameters
                .iter()
                .map(|parameter| &*parameter.name)
                .collect();
            ExploreError::Request(format!(
                "the parameters of `{}` are: {}",
                family.name,
                names.join(", ")
            ))
        })
}

fn argument(
    expr: &Expr,
    parameter: &DistributionParameter,
    role: DistributionRole,
    families: &[Family],
    depth: usize,
) -> Result<ChosenArgument, ExploreError> {
    if parameter.takes_family() {
        return chosen(expr, DistributionRole::Prior, families, depth).map(ChosenArgument::Family);
    }
    let name = &parameter.name;
    let (inner, fixed) = match &*expr.kind {
        ExprKind::Call(callee, arguments)
            if role == DistributionRole::Posterior && is_fixed(callee, arguments) =>
        {
            (&arguments[0].value, true)
        }
        _ => (expr, false),
    };
    let value = number(inner).filter(|value| value.is_finite());
    let value = value.ok_or_else(|| ExploreError::Request(format!("`{name}` must be a number")))?;
    let inside = |(low, high): (f64, f64)| low < value && value < high;
    if parameter.ends.is_some_and(|ends| !inside(ends)) {
        return Err(ExploreError::Request(format!(
            "`{name}: {}` cannot be {value}",
            parameter.ty
        )));
    }
    if parameter.whole && value.fract() != 0.0 {
        return Err(ExploreError::Request(format!(
            "`{name}` must be an integer, found {value}"
        )));
    }
    Ok(ChosenArgument::Number { value, fixed })
}

fn is_fixed(callee: &Expr, arguments: &[Arg]) -> bool {
    callee.as_name().is_some_and(|name| &**name == "fixed") && matches!(arguments, [Arg { name: None, .. }])
}

fn number(expr: &Expr) -> Option<f64> {
    match &*expr.kind {
        ExprKind::Int(value) => Some(*value as f64),
        ExprKind::Real(value, _) => Some(*value),
        ExprKind::Unary(UnaryOp::Neg, inner) => number(inner).map(|value| -value),
        _ => None,
    }
}
