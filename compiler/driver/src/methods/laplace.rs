//! Builds the programs of the method `laplace`, and checks its options. The method approximates the
//! posterior by a Gaussian around a maximum.

pub mod beforehand;

use crate::compilation::Compilation;
use crate::diagnostics;
use crate::failure::CompileFailure;
use crate::methods::{BuiltPrograms, Method, Parts, Programs};
use bnnc_abi::cost::Cost;
use bnnc_abi::manifest::Work;
use bnnc_abi::method::MethodDef;
use bnnc_abi::method::declare::OptionName;
use bnnc_abi::methods::laplace as plain;
use bnnc_abi::methods::laplace::{
    CurvatureKind, GaussianOptions, Laplace, Likelihood, Link, Over, PriorPrecision, PriorStructure, Score,
    Structure,
};
use bnnc_abi::plan::Plan;
use bnnc_abi::schema::Schema;
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_hir::tree::SettingValue;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::laplace::likelihood::ZeroDerivative;
use bnnc_rewrite::methods::laplace::{self, Approximation, OptionalPrograms, choice};
use bnnc_rewrite::methods::plan::InferenceProblem;
use std::sync::Arc;

/// A number in `structure` must be below this limit.
const MOST: f64 = 1e9;

/// The method `laplace`: a Gaussian around a maximum.
pub(crate) struct Approximates;

impl Method for Approximates {
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> BuiltPrograms {
        compilation.laplace_programs(parts)
    }

    fn needs_sites(&self) -> bool {
        true
    }

    fn minimises_loss(&self) -> bool {
        true
    }

    fn without_draws(&self, _: &MethodDef) -> Option<&'static str> {
        Some("integrates over parameters")
    }
}

impl Compilation<'_> {
    /// Builds the programs of an inference that approximates the posterior by a Gaussian around a maximum.
    fn laplace_programs(&mut self, parts: Parts<'_>) -> BuiltPrograms {
        let options = self.laplace_options()?;
        self.going_together(&options, parts.schema)?;
        let objective = self.objective(parts.elaborated, parts.densities)?;
        let found = self.approximation(parts.problem(), &options)?;
        self.possible(&options, &found)?;
        self.curved(&options, parts.densities, &found)?;
        self.linked(&options, &found)?;
        self.tunable(&options, &found)?;
        let (train, cost) = self.train(&objective, parts.elaborated)?;
        let cost = Cost {
            variational_parameters: found.weights.iter().map(|weights| weights.elements).sum(),
            ..cost
        };
        let laplace = Laplace {
            train,
            search: self.searches()?,
            programs: self.approximating(&found)?,
            weights: found.weights,
            noise: found.noise,
            parameters: found.parameters,
            outputs: found.outputs,
            likelihood: found.likelihood,
            independent: found.independent,
            blocks: found.blocks,
            smaller: self.smaller(found.smaller)?,
            options,
        };
        Ok(Programs {
            work: Work::Laplace(Box::new(laplace)),
            predict: found.predict,
            sites: found.sites,
            states: objective.states,
            reports: objective.reports,
            cost,
        })
    }

    /// Derives the functions of the approximation.
    ///
    /// # Errors
    /// Fails in the same cases as [`laplace::approximation`].
    pub fn approximation(
        &mut self,
        problem: InferenceProblem<'_>,
        options: &GaussianOptions,
    ) -> Result<Approximation, CompileFailure> {
        let over = candidates(&options.over);
        let mut wanted = wanted(options);
        wanted.jacobian |= self.options.jacobians && !wanted.selected;
        self.rewritten(|context| laplace::approximation(problem, (over, wanted), context))
    }

    /// Returns the log prior of the weights, and the factor by which the options multiply it.
    /// Returns `None` if the options do not change the prior. The search then maximises the density
    /// under the model's own prior.
    ///
    /// # Errors
    /// Fails in the same cases as [`laplace::approximation`].
    pub(crate) fn scaled_prior(
        &mut self,
        problem: InferenceProblem<'_>,
    ) -> Result<Option<(Function, f64)>, CompileFailure> {
        let Some(options) = self.options_if::<GaussianOptions>()? else {
            return Ok(None);
        };
        let factor = match options.prior_precision {
            PriorPrecision::Given(1.0) | PriorPrecision::MarginalLikelihood | PriorPrecision::Validation => {
                return Ok(None);
            }
            PriorPrecision::Given(factor) => factor,
        };
        let over = candidates(&options.over);
        let log_prior = self.rewritten(|context| laplace::log_prior(problem, over, context))?;
        Ok(Some((log_prior, factor)))
    }

    /// Compiles the functions of the Laplace approximation.
    fn approximating(&mut self, found: &Approximation) -> Result<plain::Programs, Fault> {
        let precision = self.precision()?;
        Ok(plain::Programs {
            rows: self.program("rows", &found.rows, precision)?,
            gradient: self.program("gradient", &found.gradient, precision)?,
            prior: self.program("prior", &found.prior, precision)?,
            jacobian: self.optional_program("jacobian", found.jacobian.as_ref(), precision)?,
            selected: self.optional_program("selected", found.selected.as_ref(), precision)?,
            squares: self.optional_program("squares", found.squares.as_ref(), precision)?,
            spread: self.optional_program("spread", found.spread.as_ref(), precision)?,
            rotated: self.optional_program("rotated", found.rotated.as_ref(), precision)?,
            factors: self.optional_program("factors", found.factors.as_ref(), precision)?,
            products: self.optional_program("products", found.products.as_ref(), precision)?,
            prior_products: self.optional_program(
                "prior_products",
                found.prior_products.as_ref(),
                precision,
            )?,
            inputs: self.program("inputs", &found.inputs, precision)?,
            functions: self.program("functions", &found.functions, precision)?,
        })
    }

    /// Plans the programs of a smaller approximation. The error about insufficient memory
    /// recommends the smaller approximation only if its programs fit into memory.
    fn smaller(
        &mut self,
        found: Option<laplace::SmallerPrograms>,
    ) -> Result<Option<Box<plain::Smaller>>, Fault> {
        let Some(found) = found else { return Ok(None) };
        let precision = self.precision()?;
        let mut plan = |name: &str, function: &Function| -> Result<Plan, Fault> {
            Ok(self.lower(name, function, &[], precision)?.plan)
        };
        let products = found.products.as_ref();
        Ok(Some(Box::new(plain::Smaller {
            selected: plan("selected", &found.selected)?,
            squares: plan("squares", &found.squares)?,
            diagonal: plan("squares", &found.diagonal)?,
            spread: plan("spread", &found.spread)?,
            products: products.map(|function| plan("products", function)).transpose()?,
            predict: plan("predict", &found.predict)?,
            sites: plan("sites", &found.sites)?,
            weights: found.weights,
        })))
    }

    /// Returns the options of the approximation.
    ///
    /// # Errors
    /// Fails only if the method does not have these options. This would be a bug.
    pub fn laplace_options(&self) -> Result<GaussianOptions, CompileFailure> {
        Ok(self.options_of()?)
    }

    /// Rejects options that conflict with each other or with the data.
    fn going_together(&self, options: &GaussianOptions, schema: &Schema) -> Result<(), CompileFailure> {
        let rejection = apart(options)
            .or_else(|| self.empty())
            .or_else(|| unvalidated(options, schema));
        match rejection {
            Some((option, message, help)) => Err(self.apart(option, message, help)),
            None => self.heard(),
        }
    }

    /// Rejects a likelihood whose curvature cannot be computed, because a derivative with respect
    /// to an argument that the weights affect is always zero. Also rejects a subnetwork that is
    /// larger than the number of weights that affect an output with a curved log-likelihood.
    fn curved(
        &self,
        options: &GaussianOptions,
        densities: &Densities,
        found: &Approximation,
    ) -> Result<(), CompileFailure> {
        let is_fisher = options.curvature == CurvatureKind::Fisher;
        let lacks = |flat: ZeroDerivative| flat == ZeroDerivative::First || !is_fisher;
        let flat = |name: &str| {
            let known = found.flat.iter().find(|(own, _)| **own == *name);
            known.map(|(_, flat)| *flat).filter(|flat| lacks(*flat))
        };
        let number = |name: &str| name.split_once('/')?.0.parse::<usize>().ok();
        let moved = || found.moved.iter().flatten();
        // One output is enough if its log-likelihood has curvature in every argument that the
        // weights affect. This output then determines the precision matrix.
        let is_of_flat = |name: &Arc<str>| {
            let mut same = moved().filter(|other| number(other) == number(name));
            same.any(|other| flat(other).is_some())
        };
        let first = moved().find_map(|name| Some((name, flat(name)?)));
        if let Some((name, flat)) = first.filter(|_| moved().all(is_of_flat)) {
            let argument = name.split_once('/').map_or(&**name, |(_, argument)| argument);
            let observed = number(name).and_then(|at| densities.observations.get(at));
            let distribution = observed.map_or("", |observed| &observed.name);
            let lacking = diagnostics::no_second_derivative(self.item, distribution, argument, flat);
            return Err(lacking.into());
        }
        let is_curved = |names: &[Arc<str>]| names.iter().any(|name| flat(name).is_none());
        let pairs = found.weights.iter().zip(&found.moved);
        let curved = pairs.filter(|(_, names)| is_curved(names));
        self.choosable(options, found, curved.map(|(weights, _)| weights.elements).sum())
    }

    /// Rejects an option `link` that does not apply to the likelihood.
    fn linked(&self, options: &GaussianOptions, found: &Approximation) -> Result<(), CompileFailure> {
        let serves = match (options.link, found.likelihood) {
            (Link::Probit, Likelihood::Categorical | Likelihood::Bernoulli) => true,
            (Link::Bridge | Link::BridgeNormalised, Likelihood::Categorical) => true,
            (Link::Probit | Link::Bridge | Link::BridgeNormalised, _) => false,
            (Link::Glm | Link::MonteCarlo | Link::Weights, _) => true,
        };
        if serves {
            return Ok(());
        }
        let link = options.link.word();
        let message = format!("`link = {link}` needs outputs that are the logits of classes");
        let help = "write `link = glm`, which uses the best link for each likelihood";
        Err(self.apart(GaussianOptions::link(), &message, help))
    }

    /// Returns an error for a number in `structure` that is not a positive whole number.
    fn empty(&self) -> Option<Apart> {
        let Some(SettingValue::Call(_, counts)) = self.setting(GaussianOptions::structure()) else {
            return None;
        };
        let is_count = |count: &f64| (1.0..MOST).contains(count) && count.fract() == 0.0;
        (!counts.iter().all(is_count)).then_some((
            GaussianOptions::structure(),
            "the number in `structure` must be whole, from 1 to a billion",
            "such as `low_rank(20)` or `functional(500)`",
        ))
    }
}

/// The diagnostic's option, its message, and its help.
type Apart = (OptionName, &'static str, &'static str);

/// Returns an option that is set although it cannot be combined with another option.
fn apart(options: &GaussianOptions) -> Option<Apart> {
    let is_subnetwork = options.over.is_subnetwork();
    let is_tuned = options.online || !matches!(options.prior_precision, PriorPrecision::Given(_));
    if options.online && options.prior_precision != PriorPrecision::Given(1.0) {
        return Some((
            GaussianOptions::prior_precision(),
            "`online` already tunes the factor on the prior",
            "leave `prior_precision` out, or `online`",
        ));
    }
    let has_groups = options.prior_structure != PriorStructure::Scalar;
    let has_matrix = matches!(options.structure, Structure::Full | Structure::Diagonal);
    if options.curvature == CurvatureKind::Hessian && !has_matrix {
        return Some((
            GaussianOptions::curvature(),
            "`curvature = hessian` works only with `structure = full` or `diagonal`",
            "write `structure = full` or `diagonal`, or `curvature = ggn`",
        ));
    }
    if is_subnetwork && !has_matrix {
        return Some((
            GaussianOptions::structure(),
            "a subnetwork needs `structure = full` or `diagonal`",
            "write `structure = full`: the matrix covers only the chosen weights",
        ));
    }
    if has_groups && !is_tuned {
        return Some((
            GaussianOptions::prior_structure(),
            "`prior_structure` sets which weights share a factor, but no factor is tuned",
            "add `prior_precision = marginal_likelihood`, or `online = true`",
        ));
    }
    if has_groups && options.prior_precision == PriorPrecision::Validation {
        return Some((
            GaussianOptions::prior_structure(),
            "validation rows can tune only one factor",
            "write `prior_precision = marginal_likelihood`, or `prior_structure = scalar`",
        ));
    }
    None
}

fn unvalidated(options: &GaussianOptions, schema: &Schema) -> Option<Apart> {
    let is_wanted = options.prior_precision == PriorPrecision::Validation;
    (is_wanted && schema.validation == 0).then_some((
        GaussianOptions::prior_precision(),
        "`prior_precision = validation` needs validation rows, but the data have none",
        "write `validation = 0.1` in the options of the data",
    ))
}

/// Returns the sites that the Gaussian covers, or from which the weights of a subnetwork are chosen.
fn candidates(over: &Over) -> choice::OverWeights<'_> {
    match over {
        Over::All => choice::OverWeights::All,
        Over::Subnetwork { .. } => choice::OverWeights::Network,
        Over::LastLayer => choice::OverWeights::LastLayer,
        Over::Names(names) => choice::OverWeights::Names(names),
    }
}

/// Returns the optional programs that the options need.
fn wanted(options: &GaussianOptions) -> OptionalPrograms {
    let is_subnetwork = options.over.is_subnetwork();
    let is_diagonal = options.structure == Structure::Diagonal;
    let by_marginal = matches!(
        &options.over,
        Over::Subnetwork {
            by: Score::Marginal,
            ..
        }
    );
    OptionalPrograms {
        jacobian: by_marginal || !is_subnetwork && !is_diagonal,
        selected: is_subnetwork,
        // A weight that does not affect the outputs is recognised by its sum of squares, which is
        // zero.
        squares: is_subnetwork || is_diagonal,
        spread: is_diagonal && !is_subnetwork,
        factors: options.structure == Structure::Kronecker,
        products: options.curvature == CurvatureKind::Hessian,
        smaller: !is_subnetwork && !is_diagonal,
    }
}
