//! Builds the programs of the method `collapsed`, and checks its options. The method integrates
//! over some weights.

mod treated;

use crate::compilation::Compilation;
use crate::diagnostics;
use crate::failure::CompileFailure;
use crate::methods::iterates::with_means;
use crate::methods::{BuiltPrograms, Kept, Method, Parts, Programs};
use bnnc_abi::cost::Cost;
use bnnc_abi::manifest::{InferenceBlock, SiteReport, Work};
use bnnc_abi::method::MethodDef;
use bnnc_abi::method::declare::OptionName;
use bnnc_abi::methods::collapsed::{
    Collapsed, CollapsedOptions, CollapsedSettings, Compat, LikelihoodNoise, LocationForm, NoiseForm, Radius,
    Selection,
};
use bnnc_abi::methods::iterates::{Covariance, SwagOptions};
use bnnc_abi::methods::laplace::{self, Likelihood};
use bnnc_base::dtype::Precision;
use bnnc_math::triangle::ALPHA_L2;
use bnnc_rewrite::methods::collapse::{Collapse, collapse};
use bnnc_rewrite::methods::laplace::choice::OverWeights;
use bnnc_rewrite::methods::likelihood::choice::covers;
use bnnc_rewrite::methods::plan::InferenceProblem;

/// The radius of the triangular density in the published code, in standard deviations of the noise.
const ALPHA_PUBLISHED: f64 = 2.45;

/// The default numbers of draws per iterate: 10 if all weights are drawn from their box, and 1000
/// if only the weights of individual rows are drawn.
const DRAWS: [usize; 2] = [10, 1000];

/// The options that keep the iterates themselves and do not fit a Gaussian to them.
const SNAPSHOTS: SwagOptions = SwagOptions {
    covariance: Covariance::Snapshots,
    scale: 1.0,
};

/// An option that conflicts with other options, followed by the message and the help of the error.
type Apart = (OptionName, String, &'static str);

/// The method `collapsed`: iterates of a training run, and, at each iterate, integrals over some
/// weights.
pub(crate) struct Collapses;

impl Method for Collapses {
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> BuiltPrograms {
        compilation.collapsed_programs(parts)
    }

    fn needs_sites(&self) -> bool {
        true
    }

    fn without_draws(&self, _: &MethodDef) -> Option<&'static str> {
        Some("integrates over parameters")
    }

    fn keeps_rows(&self, method: &MethodDef, _: &InferenceBlock) -> Option<Kept> {
        Some(Kept::Always(format!(
            "`{}` integrates over some weights given all rows, but leaving rows out needs draws of every weight",
            method.name
        )))
    }
}

impl Compilation<'_> {
    /// Builds the programs of an inference that integrates over some weights at each iterate.
    fn collapsed_programs(&mut self, parts: Parts<'_>) -> BuiltPrograms {
        let asked = self.options_of::<CollapsedOptions>()?;
        let found = self.collapse(parts.problem(), &asked)?;
        let options = self.collapsing(&asked, &found)?;
        if let LocationForm::Sampled(reason) = &found.form {
            let warning = diagnostics::no_exact_integral(self.item, reason);
            self.context.warnings.push(warning);
        }
        let objective = self.objective(parts.elaborated, parts.densities)?;
        let (train, cost) = self.train(&objective, parts.elaborated)?;
        let means = self.means(&objective)?;
        let moved = with_means(&found.moved, &parts.elaborated.model);
        let iterates = self.iterates(train, moved, means, SNAPSHOTS)?;
        // These programs run in double precision. The integral is a sum over the pieces between
        // kinks. On which side of a kink a piece lies is determined by the sign of a number that
        // may be close to zero. Rounding in single precision could change this sign.
        let local = self.optional_program("local", found.local.as_ref(), Precision::F64)?;
        let plain = self.optional_program("plain", found.plain.as_ref(), Precision::F64)?;
        let reports = objective.reports.into_iter();
        let reports = reports.map(|site| report(site, &found, &options));
        Ok(Programs {
            predict: found.predict.clone(),
            sites: found.sites.clone(),
            states: objective.states,
            reports: reports.collect(),
            cost: Cost {
                variational_parameters: found.weights.iter().map(|weights| weights.elements).sum(),
                ..cost
            },
            work: Work::Collapsed(Box::new(Collapsed {
                iterates,
                weights: found.weights,
                outputs: found.outputs,
                likelihood: found.likelihood,
                form: found.form,
                held: found.held,
                local,
                plain,
                options,
            })),
        })
    }

    /// Derives the functions that integrate over the weights.
    ///
    /// # Errors
    /// Fails in the same cases as [`collapse`].
    fn collapse(
        &mut self,
        problem: InferenceProblem<'_>,
        asked: &CollapsedOptions,
    ) -> Result<Collapse, CompileFailure> {
        let over = match &asked.over {
            laplace::Over::All => OverWeights::All,
            laplace::Over::LastLayer => OverWeights::LastLayer,
            laplace::Over::Names(names) => OverWeights::Names(names),
            laplace::Over::Subnetwork { .. } => {
                let message = "`collapsed` does not support `subnetwork`";
                let help = "write `weights = K` for the K weights with the largest effect on a prediction";
                return Err(self.apart(CollapsedOptions::over(), message, help));
            }
        };
        self.rewritten(|context| collapse(problem, over, context))
    }

    fn collapsing(
        &self,
        asked: &CollapsedOptions,
        found: &Collapse,
    ) -> Result<CollapsedSettings, CompileFailure> {
        let apart = |option, message: &str, help: &str| Err(self.apart(option, message, help));
        if asked.floor > 1.0 {
            return apart(
                CollapsedOptions::floor(),
                "`floor` must be at most 1, because it is the weight of a mixture component",
                "use a value such as 0.001",
            );
        }
        let idle = self.idle(asked, found);
        if let Some((option, message, help)) = idle.or_else(|| self.unpublished(asked, found)) {
            return apart(option, &message, help);
        }
        let always = self.always(asked, found)?;
        if asked.units > 0 && found.form == LocationForm::Affine {
            let help = "name the layer before the activation function: `over = [hidden]`";
            return apart(
                CollapsedOptions::units(),
                "the chosen weights do not feed a unit with a kink, such as a ReLU",
                help,
            );
        }
        let is_of_classes = matches!(found.likelihood, Likelihood::Categorical | Likelihood::Bernoulli);
        if asked.noise == NoiseForm::Triangular && is_of_classes {
            return apart(
                CollapsedOptions::noise(),
                "`noise` applies to real outputs, not to classes",
                "leave `noise` out, or write `sigmoid = cubic`",
            );
        }
        let (alpha, floor) = (alpha(asked), asked.floor);
        Ok(CollapsedSettings {
            extent: asked.extent,
            weights: weights(asked, found),
            always,
            units: asked.units,
            fixed: asked.selection == Selection::Fixed,
            noise: match (asked.compat, asked.noise) {
                (Compat::Published, _) => LikelihoodNoise::Published {
                    alpha,
                    smoothing: asked.smoothing,
                },
                (Compat::None, NoiseForm::Triangular) => LikelihoodNoise::Triangular { alpha, floor },
                (Compat::None, NoiseForm::Normal) => LikelihoodNoise::Normal,
            },
            sigmoid: asked.sigmoid,
            draws: asked.draws.unwrap_or(match &found.form {
                LocationForm::Piecewise { .. } => DRAWS[1],
                LocationForm::Affine | LocationForm::Sampled(_) => DRAWS[0],
            }),
        })
    }

    /// If an option is set but does not have any effect, returns the option, and the message and
    /// help for the error.
    fn idle(&self, asked: &CollapsedOptions, found: &Collapse) -> Option<Apart> {
        const OF_INTEGRALS: [OptionName; 7] = [
            CollapsedOptions::weights(),
            CollapsedOptions::always(),
            CollapsedOptions::units(),
            CollapsedOptions::selection(),
            CollapsedOptions::noise(),
            CollapsedOptions::compat(),
            CollapsedOptions::sigmoid(),
        ];
        const OF_TRIANGLE: [OptionName; 2] = [CollapsedOptions::alpha(), CollapsedOptions::floor()];
        let first = |options: &[OptionName]| options.iter().copied().find(|option| self.is_set(*option));
        if let (LocationForm::Sampled(_), Some(option)) = (&found.form, first(&OF_INTEGRALS)) {
            let message = format!(
                "`{option}` applies only to exact integrals, but these weights are sampled from their box"
            );
            return Some((
                option,
                message,
                "leave it out; the warning E0622 gives the reason why the integral is not exact",
            ));
        }
        if asked.draws.is_some() && found.form == LocationForm::Affine {
            let message = "`draws` has no effect, because this integral is exact".to_owned();
            return Some((CollapsedOptions::draws(), message, "leave it out"));
        }
        let has_triangle = asked.noise == NoiseForm::Triangular || asked.compat == Compat::Published;
        if let Some(option) = first(&OF_TRIANGLE).filter(|_| !has_triangle) {
            let message = format!("`{option}` requires `noise = triangular`");
            return Some((option, message, "add `noise = triangular`"));
        }
        if self.is_set(CollapsedOptions::sigmoid()) && found.likelihood == Likelihood::Normal {
            let message = "`sigmoid` applies to classes, not to a Normal observation".to_owned();
            return Some((CollapsedOptions::sigmoid(), message, "leave it out"));
        }
        None
    }

    /// Returns an option that conflicts with the published density, or that applies only to this
    /// density although another one is chosen. Also returns the message and the help for the error.
    fn unpublished(&self, asked: &CollapsedOptions, found: &Collapse) -> Option<Apart> {
        let rejected = |option, message: &str, help| Some((option, message.to_owned(), help));
        if asked.compat != Compat::Published {
            let message = "`smoothing` requires `compat = published`";
            let smoothing = CollapsedOptions::smoothing();
            return self
                .is_set(smoothing)
                .then(|| (smoothing, message.to_owned(), "add `compat = published`"));
        }
        if found.likelihood != Likelihood::Normal {
            let message = "the published density applies only to a Normal observation, but the output of this model is a class";
            return rejected(
                CollapsedOptions::compat(),
                message,
                "leave `compat` out: one weight for each class is the default",
            );
        }
        if found.outputs > 1 {
            let message =
                "the published density applies only to one number per row, but this model has several";
            return rejected(CollapsedOptions::compat(), message, "leave `compat` out");
        }
        if self.is_set(CollapsedOptions::noise()) && asked.noise == NoiseForm::Normal {
            let message = "the published density has triangular noise instead of Normal noise";
            return rejected(
                CollapsedOptions::noise(),
                message,
                "leave `noise` out, or `compat`",
            );
        }
        if self.is_set(CollapsedOptions::floor()) {
            let message =
                "the published density mixes the triangle with a uniform density, not with a Normal";
            return rejected(
                CollapsedOptions::floor(),
                message,
                "write `smoothing`, the value of that uniform density before normalisation",
            );
        }
        None
    }

    /// Returns the sites that are integrated out for every row, as indices into `found.weights`.
    fn always(&self, asked: &CollapsedOptions, found: &Collapse) -> Result<Vec<usize>, CompileFailure> {
        let names = &asked.always;
        let sites: Vec<&str> = found.weights.iter().map(|weights| &*weights.site).collect();
        if let Some(name) = names
            .iter()
            .find(|name| !sites.iter().any(|site| covers(name, site)))
        {
            let message = format!(
                "`always` names `{name}`, which is not one of the weights that may be integrated over"
            );
            let help = format!("these weights may be integrated over: `{}`", sites.join("`, `"));
            return Err(self.apart(CollapsedOptions::always(), &message, &help));
        }
        if weights(asked, found) == 0 && !names.is_empty() {
            let message = "`always` names further weights besides those that `weights` chooses, but all weights are already integrated over";
            let help = "write `weights = 2`, or leave `always` out";
            return Err(self.apart(CollapsedOptions::always(), message, help));
        }
        let is_named = |at: &usize| names.iter().any(|name| covers(name, sites[*at]));
        Ok((0..sites.len()).filter(is_named).collect())
    }
}

/// Returns the number of weights to integrate over, per row and output. 0 means all weights.
fn weights(asked: &CollapsedOptions, found: &Collapse) -> usize {
    let default = usize::from(found.likelihood == Likelihood::Categorical);
    asked.weights.unwrap_or(default)
}

/// Returns the radius of the triangular noise density, in standard deviations.
fn alpha(asked: &CollapsedOptions) -> f64 {
    match (asked.alpha, asked.compat) {
        (Some(Radius::Given(alpha)), _) => alpha,
        (Some(Radius::L2), _) => ALPHA_L2,
        (Some(Radius::Variance), _) | (None, Compat::None) => 6.0_f64.sqrt(),
        (None, Compat::Published) => ALPHA_PUBLISHED,
    }
}

/// Replaces two texts in the report on a site: the family, and the text about the gradient
/// estimator.
fn report(site: SiteReport, found: &Collapse, options: &CollapsedSettings) -> SiteReport {
    let is_moved = found
        .moved
        .iter()
        .any(|name| name.strip_suffix("/loc") == Some(&site.name));
    let is_collapsed = found.weights.iter().any(|weights| weights.site == site.name);
    SiteReport {
        family: match is_moved {
            true => "iterates".to_owned(),
            false => site.family,
        },
        likelihood: match is_collapsed {
            true => treated::treated(found, options),
            false => site.likelihood,
        },
        ..site
    }
}
