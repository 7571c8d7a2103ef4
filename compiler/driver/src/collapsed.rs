//! Infers that integrate over some weights: their programs and options.

mod treated;

use crate::codes;
use crate::infer::{Compilation, Elaborated, Failure};
use crate::training::Programs;
use bnnc_abi::collapsed::{Collapsed, Extent, Form, Noise, Options, Sigmoid};
use bnnc_abi::cost::Cost;
use bnnc_abi::iterates::Covariance;
use bnnc_abi::laplace::Likelihood;
use bnnc_abi::manifest::{SiteReport, Work};
use bnnc_base::dtype::Precision;
use bnnc_graph::function::Function;
use bnnc_hir::tree::SettingValue;
use bnnc_loops::backend::Backend;
use bnnc_math::triangle::ALPHA_L2;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::collapse::{Collapse, collapse};
use bnnc_rewrite::methods::laplace::choice::Over;
use bnnc_rewrite::methods::likelihood::choice::covers;

/// The radius of the triangle in the published code.
const ALPHA_PUBLISHED: f64 = 2.45;

/// Draws per iterate where all weights are drawn, and where those of a single row are.
const DRAWS: [usize; 2] = [10, 1000];

impl Compilation<'_> {
    /// The programs of an infer that integrates over some weights, between iterates.
    pub(crate) fn collapsed_programs(
        &mut self,
        elaborated: &Elaborated,
        densities: &Densities,
        backend: &dyn Backend,
    ) -> Result<Programs, Failure> {
        let found = self.collapse(elaborated, densities)?;
        let options = self.collapsing(&found)?;
        if let Form::Sampled(reason) = &found.form {
            let warning = codes::no_exact_integral(self.item, reason);
            self.context.warnings.push(warning);
        }
        let objective = self.objective(elaborated, densities)?;
        let steering = self.training(&elaborated.optimiser)?;
        let (train, cost) = self.train(&objective, steering, backend)?;
        let moved: Vec<String> = found.moved.iter().map(|name| name.to_string()).collect();
        let iterates = self.iterates(train, moved, Covariance::Snapshots)?;
        // Pieces are told apart by signs near zero, which single precision does not keep.
        let mut program = |name: &str, function: &Option<Function>| match function {
            Some(function) => {
                let program = self.lower(name, function, &[], Precision::F64)?;
                self.code(program, backend).map(Some)
            }
            None => Ok(None),
        };
        let (local, plain) = (program("local", &found.local)?, program("plain", &found.plain)?);
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

    /// The functions of collapsing.
    ///
    /// # Errors
    /// As [`collapse`].
    fn collapse(&mut self, elaborated: &Elaborated, densities: &Densities) -> Result<Collapse, Failure> {
        let over = match self.setting("over") {
            Some(SettingValue::Word(word)) if &**word == "all" => Over::All,
            Some(SettingValue::Names(names)) => Over::Names(names),
            Some(SettingValue::Subnetwork(..)) => {
                let message = "a collapsed network has no `subnetwork`";
                let help = "write `weights = K` for the K weights that move a prediction most";
                return Err(self.apart("over", message, help));
            }
            _ => Over::LastLayer,
        };
        let (model, posterior) = (&elaborated.model, &elaborated.posterior);
        let result = self.timed("rewrite", |this| {
            collapse(densities, model, posterior, over, &mut this.context)
        });
        result.map_err(|refusal| self.failure(refusal))
    }

    fn collapsing(&self, found: &Collapse) -> Result<Options, Failure> {
        let apart = |option: &str, message: &str, help: &str| Err(self.apart(option, message, help));
        let floor = self.real("floor").unwrap_or(0.0);
        if floor > 1.0 {
            return apart(
                "floor",
                "`floor` is the weight of a mixture, at most 1",
                "such as 0.001",
            );
        }
        if let Some((option, message, help)) = self.idle(found).or_else(|| self.unpublished(found)) {
            return apart(option, &message, help);
        }
        let always = self.always(found)?;
        let units = self.int("units");
        if units > 0 && found.form == Form::Affine {
            let help = "name the layer before it: `over = [hidden]`";
            return apart(
                "units",
                "the chosen weights feed no unit: nothing bends behind them",
                help,
            );
        }
        let is_of_classes = matches!(found.likelihood, Likelihood::Categorical | Likelihood::Bernoulli);
        let is_triangular = self.word("noise") == Some("triangular");
        if is_triangular && is_of_classes {
            return apart(
                "noise",
                "classes have no noise",
                "leave `noise` out, or take `sigmoid = cubic`",
            );
        }
        Ok(Options {
            extent: match self.word("box") {
                Some("moments") => Extent::Moments,
                _ => Extent::Range,
            },
            weights: self.weights(found),
            always,
            units,
            fixed: self.word("selection") == Some("fixed"),
            noise: match (self.is_published(), is_triangular) {
                (true, _) => Noise::Published {
                    alpha: self.alpha(),
                    smoothing: self.real("smoothing").unwrap_or(0.0),
                },
                (false, true) => Noise::Triangular {
                    alpha: self.alpha(),
                    floor,
                },
                (false, false) => Noise::Normal,
            },
            sigmoid: match self.word("sigmoid") {
                Some("cubic") => Sigmoid::Cubic,
                _ => Sigmoid::Exact,
            },
            draws: match (self.setting("draws"), &found.form) {
                (None, Form::Piecewise { .. }) => DRAWS[1],
                (None, Form::Affine | Form::Sampled(_)) => DRAWS[0],
                (Some(_), _) => self.int("draws").max(1),
            },
        })
    }

    /// An option that is set but has nothing to say, and why.
    fn idle(&self, found: &Collapse) -> Option<(&'static str, String, &'static str)> {
        let is_set = |option: &&&str| self.setting(option).is_some();
        let one = |options: &[&'static str]| options.iter().find(is_set).copied();
        let is_sampled = matches!(found.form, Form::Sampled(_));
        if let Some(option) = one(&[
            "weights",
            "always",
            "units",
            "selection",
            "noise",
            "compat",
            "sigmoid",
        ])
        .filter(|_| is_sampled)
        {
            let message =
                format!("`{option}` is for exact integrals, but these weights are drawn from their box");
            return Some((
                option,
                message,
                "leave it out; the warning says why there is no exact integral",
            ));
        }
        if self.setting("draws").is_some() && found.form == Form::Affine {
            let message = "`draws` are taken where there is no exact integral, and here is one".to_owned();
            return Some(("draws", message, "leave it out"));
        }
        let has_triangle = self.word("noise") == Some("triangular") || self.is_published();
        if let Some(option) = one(&["alpha", "floor"]).filter(|_| !has_triangle) {
            let message = format!("`{option}` is of a triangle, but the noise is none");
            return Some((option, message, "add `noise = triangular`"));
        }
        if self.setting("sigmoid").is_some() && found.likelihood == Likelihood::Normal {
            let message = "a Normal observation has no sigmoid".to_owned();
            return Some(("sigmoid", message, "leave it out"));
        }
        None
    }

    fn is_published(&self) -> bool {
        self.word("compat") == Some("published")
    }

    /// An option that does not go with the published density, or goes with nothing else, and why.
    fn unpublished(&self, found: &Collapse) -> Option<(&'static str, String, &'static str)> {
        let refused = |option, message: &str, help| Some((option, message.to_owned(), help));
        let is_set = |option: &str| self.setting(option).is_some();
        if !self.is_published() {
            let message = "`smoothing` is of the published density";
            return is_set("smoothing")
                .then(|| ("smoothing", message.to_owned(), "add `compat = published`"));
        }
        if found.likelihood != Likelihood::Normal {
            let message = "the published density is of a Normal observation, and this one is of a class";
            return refused(
                "compat",
                message,
                "leave `compat` out: one weight for each class is the default",
            );
        }
        if found.outputs > 1 {
            let message = "the published density is of one number in a row, and here are several";
            return refused("compat", message, "leave `compat` out");
        }
        if self.word("noise") == Some("normal") {
            let message = "the published density has a triangle in the place of Normal noise";
            return refused("noise", message, "leave `noise` out, or `compat`");
        }
        if is_set("floor") {
            let message = "the published density has a uniform where the triangle is nothing, not a Normal";
            return refused(
                "floor",
                message,
                "write `smoothing`, the density of that uniform before it is normalised",
            );
        }
        None
    }

    /// The sites that are integrated over in every row, by their places among those that may be.
    fn always(&self, found: &Collapse) -> Result<Vec<usize>, Failure> {
        let names = self.names("always");
        let sites: Vec<&str> = found.weights.iter().map(|weights| &*weights.site).collect();
        if let Some(name) = names
            .iter()
            .find(|name| !sites.iter().any(|site| covers(name, site)))
        {
            let message = format!(
                "`always` names `{name}`, which is not among the weights that may be integrated over"
            );
            let help = format!("those are `{}`", sites.join("`, `"));
            return Err(self.apart("always", &message, &help));
        }
        if self.weights(found) == 0 && !names.is_empty() {
            let message = "`always` is besides `weights`, but all weights are integrated over";
            return Err(self.apart("always", message, "write `weights = 2`, or leave `always` out"));
        }
        let is_named = |at: &usize| names.iter().any(|name| covers(name, sites[*at]));
        Ok((0..sites.len()).filter(is_named).collect())
    }

    /// How many weights are integrated over in a row; 0 for all.
    fn weights(&self, found: &Collapse) -> usize {
        match self.setting("weights") {
            None if found.likelihood == Likelihood::Categorical => 1,
            _ => self.int("weights"),
        }
    }

    fn alpha(&self) -> f64 {
        match self.setting("alpha") {
            Some(SettingValue::Real(value)) => *value,
            Some(SettingValue::Int(value)) => *value as f64,
            Some(SettingValue::Word(word)) if &**word == "l2" => ALPHA_L2,
            None if self.is_published() => ALPHA_PUBLISHED,
            _ => 6.0_f64.sqrt(),
        }
    }
}

/// Says how a site is treated.
fn report(site: SiteReport, found: &Collapse, options: &Options) -> SiteReport {
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
