//! Writes the two models of a program: the linear model and the network.

use super::likelihood::OutputLikelihood;
use super::names::ProgramNames;
use super::program::{GroupColumn, ProgramPlan, comment};
use bnnc_base::number::rounded;

/// The two models of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelPart {
    /// The linear model, with comments.
    Linear,
    /// The network, without comments.
    Network,
}

/// The text of a model, and the settings that it requires elsewhere in the program.
pub struct ModelText {
    /// The text of the model.
    pub text: String,
    /// The parameters that should have the non-centred parameterisation.
    pub non_centered: Vec<String>,
    /// True if effects of groups have the non-centred parameterisation.
    pub has_weak_effects: bool,
    /// The lines that define a mean-field posterior for the model.
    pub posterior: Vec<String>,
}

/// The number of inputs above which the prior scale of the coefficients is a parameter.
const MANY_INPUTS: usize = 20;
/// The number of inputs above which the coefficients form a vector even if the model has groups.
const MANY_NAMES: usize = 12;
/// The number of groups in a column above which the prior scale of their effects is a parameter.
const FEW_GROUPS: usize = 5;
/// The number of rows per effect below which the effects have the non-centred parameterisation.
/// With a centred one, the posterior would have a funnel.
const ROWS_OF_AN_EFFECT: usize = 20;
/// The effects have the non-centred parameterisation if the ratio of the variance between groups to the variance within groups is below this number.
/// It was measured with 8 groups of 40 or 100 rows. Without effects (a ratio near 1), the centred parameterisation had 62 to 93 divergences, and the
/// non-centred one had 0. At a ratio of 90, the ESS was 1700 with the centred parameterisation and 500 with the non-centred one.
const WEAK_RATIO: f64 = 5.0;
/// The number of hidden units of the network.
const UNITS: usize = 20;

/// The scale of all priors, and the location of the intercept's prior.
struct Priors {
    intercept: String,
    width: String,
    noise: String,
}

impl Priors {
    fn of(likelihood: OutputLikelihood) -> Priors {
        let number = |value: f64| rounded(value, 2);
        let normal = |location: f64, scale: f64| {
            // There are enough digits that rounding moves the location by less than a tenth of the
            // scale. After a larger move, the prior could be centred away from the data and
            // dominate the fit.
            let digits = location.abs().log10().floor() - (scale / 10.0).log10().floor() + 1.0;
            let location = rounded(location, digits.max(2.0) as usize);
            format!("Normal({location}, {})", number(scale))
        };
        let (intercept, width) = match likelihood {
            OutputLikelihood::Normal | OutputLikelihood::StudentT => (normal(0.0, 1.0), 1.0),
            OutputLikelihood::LogNormal(mean, sd) | OutputLikelihood::Gamma(mean, sd) => {
                (normal(mean, 2.0 * sd), sd)
            }
            OutputLikelihood::Bernoulli | OutputLikelihood::Either(_) | OutputLikelihood::TwoTexts => {
                (normal(0.0, 2.0), 2.0)
            }
            OutputLikelihood::Classes => (normal(0.0, 2.0), 1.0),
            OutputLikelihood::Poisson(log_mean) | OutputLikelihood::NegativeBinomial(log_mean, _) => {
                (normal(log_mean, 2.0), 1.0)
            }
        };
        Priors {
            intercept,
            width: number(width),
            noise: format!("HalfNormal({})", number(width)),
        }
    }
}

/// A model that is being written.
struct Writer<'p> {
    plan: &'p ProgramPlan,
    part: ModelPart,
    priors: Priors,
    names: ProgramNames,
    lines: String,
    /// The terms of `eta`.
    terms: Vec<String>,
    non_centered: Vec<String>,
    has_weak_effects: bool,
    posterior: Vec<String>,
    /// The name of the dimension for each column of groups.
    dims: Vec<String>,
}

/// Returns the text of one of the two models.
pub fn of(plan: &ProgramPlan, part: ModelPart) -> ModelText {
    let mut names = ProgramNames::new();
    for named in plan
        .numbers
        .iter()
        .chain(plan.groups.iter().map(|group| &group.named))
    {
        names.claim(&named.name);
    }
    names.claim(&plan.output.name);
    let dims = plan
        .groups
        .iter()
        .map(|group| names.claim(&format!("n_{}", group.named.name)));
    let dims: Vec<String> = dims.collect();
    let mut writer = Writer {
        plan,
        part,
        priors: Priors::of(plan.choice.0),
        names,
        lines: String::new(),
        terms: Vec::new(),
        non_centered: Vec::new(),
        has_weak_effects: false,
        posterior: Vec::new(),
        dims,
    };
    writer.intercept();
    match part {
        ModelPart::Linear => writer.coefficients(),
        ModelPart::Network => writer.layers(),
    }
    for (at, group) in plan.groups.iter().enumerate() {
        writer.effects(at, group);
    }
    writer.likelihood();
    let text = writer.head() + &writer.lines + "}\n";
    ModelText {
        text,
        non_centered: writer.non_centered,
        has_weak_effects: writer.has_weak_effects,
        posterior: writer.posterior,
    }
}

impl Writer<'_> {
    fn has_classes(&self) -> bool {
        self.plan.choice.0 == OutputLikelihood::Classes
    }

    /// Writes a comment, but only in the linear model.
    fn remark(&mut self, text: &str) {
        if self.part == ModelPart::Linear {
            if !self.lines.is_empty() {
                self.lines.push('\n');
            }
            self.lines += &comment(text);
        }
    }

    fn line(&mut self, text: &str) {
        self.lines += &format!("  {text}\n");
    }

    /// Writes a positive parameter. Its posterior starts at `exp(start)`.
    fn positive(&mut self, name: &str, prior: &str, start: i32) {
        self.line(&format!("{name}: positive ~ {prior}"));
        self.posterior
            .push(format!("{name} ~ LogNormal(loc = {start}, scale = 0.1)"));
    }

    fn head(&self) -> String {
        let plan = self.plan;
        let mut inputs: Vec<String> = match (plan.has_vector(), plan.groups.is_empty()) {
            (true, _) => vec!["x: real[d]".to_owned()],
            (false, true) => vec!["_i: index(n) = row".to_owned()],
            (false, false) => plan
                .numbers
                .iter()
                .map(|named| format!("{}: real", named.name))
                .collect(),
        };
        let groups = plan.groups.iter().zip(&self.dims);
        inputs.extend(groups.map(|(group, dim)| format!("{}: index({dim})", group.named.name)));
        let kind = match plan.choice.0 {
            OutputLikelihood::Normal | OutputLikelihood::StudentT => "real",
            OutputLikelihood::LogNormal(..) | OutputLikelihood::Gamma(..) => "positive",
            OutputLikelihood::Bernoulli | OutputLikelihood::Either(_) => "bool",
            OutputLikelihood::TwoTexts => "index(2)",
            OutputLikelihood::Classes => "index(k)",
            OutputLikelihood::Poisson(_) | OutputLikelihood::NegativeBinomial(..) => "count",
        };
        let (name, output) = match self.part {
            ModelPart::Linear => ("Linear", &plan.output.name),
            ModelPart::Network => ("Network", &plan.output.name),
        };
        let about = match self.part {
            ModelPart::Linear => comment(
                "The model of one row. A line with `~` declares a parameter and its prior: what is plausible before the data are seen.",
            ),
            ModelPart::Network => String::new(),
        };
        format!(
            "{about}model {name}({}) -> {output}: {kind} {{\n",
            inputs.join(", ")
        )
    }

    fn intercept(&mut self) {
        let prior = self.priors.intercept.clone();
        match self.plan.choice.0 {
            OutputLikelihood::Normal | OutputLikelihood::StudentT => {
                self.remark("The intercept: `eta` for a row with average inputs, in standard deviations of the output from its mean.");
            }
            OutputLikelihood::LogNormal(..) | OutputLikelihood::Gamma(..) => {
                self.remark("The intercept: `eta` for a row with average inputs. Its prior lies at the mean of the logarithm of the output.");
            }
            OutputLikelihood::Poisson(_) | OutputLikelihood::NegativeBinomial(..) => {
                self.remark("The intercept: `eta` for a row with average inputs. Its prior lies at the logarithm of the mean count.");
            }
            OutputLikelihood::Bernoulli
            | OutputLikelihood::Either(_)
            | OutputLikelihood::TwoTexts
            | OutputLikelihood::Classes => {
                self.remark("The intercept: `eta` for a row with average inputs.");
            }
        }
        match self.has_classes() {
            true => self.line(&format!("alpha: real[k] ~ {prior}")),
            false => self.line(&format!("alpha ~ {prior}")),
        }
        self.posterior.push("alpha ~ Normal(scale = 0.1)".to_owned());
        self.terms.push("alpha".to_owned());
    }

    /// Returns the text of the vector of inputs with coefficients. If the model does not have other
    /// inputs, it is `x`. Otherwise, it is a list of names.
    fn vector(&self) -> String {
        let names: Vec<&str> = self.plan.numbers.iter().map(|named| &*named.name).collect();
        match self.plan.has_vector() {
            true => "x".to_owned(),
            false => format!("[{}]", names.join(", ")),
        }
    }

    /// Returns the number of inputs with coefficients, as the text of a dimension.
    fn size_of_vector(&self) -> String {
        match self.plan.has_vector() {
            true => "d".to_owned(),
            false => self.plan.numbers.len().to_string(),
        }
    }

    fn coefficients(&mut self) {
        let plan = self.plan;
        let count = plan.numbers.len();
        if count == 0 {
            return;
        }
        let mut width = self.priors.width.clone();
        let about = match self.plan.choice.0.is_standardised() {
            true => "standard deviations of the output",
            false => "units of `eta`",
        };
        let mut remark = format!(
            "The coefficients: by how many {about} the prediction rises if an input rises by one standard deviation and the others stay."
        );
        if count > MANY_INPUTS {
            remark += match self.explained() {
                true => {
                    " With many inputs, most coefficients are small. `r2` is the fraction of the variance of the output that the model explains. \
                     It determines `tau`, the typical size of a coefficient, and `sigma`."
                }
                false => {
                    " With many inputs, most coefficients are small. `tau` is their typical size, which is learned from the data."
                }
            };
        }
        self.remark(&remark);
        if count > MANY_INPUTS {
            self.common_scale(count);
            "tau".clone_into(&mut width);
            // For tables with 48 to 800 rows and 25 to 300 columns, the non-centred parameterisation
            // always converged. With fewer rows than columns, the centred one had an R-hat of 1.2.
            self.non_centered.push("beta".to_owned());
        }
        if !plan.has_vector() && !self.has_classes() && count <= MANY_NAMES {
            for named in &plan.numbers {
                let name = self.names.claim(&format!("b_{}", named.name));
                self.line(&format!("{name} ~ Normal(0, {width})"));
                self.terms.push(format!("{name} * {}", named.name));
            }
            return;
        }
        let (size, vector) = (self.size_of_vector(), self.vector());
        match self.has_classes() {
            true => {
                self.line(&format!("beta: real[k, {size}] ~ Normal(0, {width})"));
                self.terms.push(format!("beta @ {vector}"));
            }
            false => {
                self.line(&format!("beta: real[{size}] ~ Normal(0, {width})"));
                self.terms.push(format!("dot(beta, {vector})"));
            }
        }
    }

    /// Returns whether the scales of the coefficients and of the noise are derived from the fraction
    /// of explained variance. With free scales, a model with more columns than rows could fit the rows
    /// exactly, with a noise close to zero: for 300 columns and 48 rows, R-hat was 1.05 and the tail
    /// ESS was 21. With scales from the fraction, R-hat was 1.008 and the tail ESS was 348.
    fn explained(&self) -> bool {
        let has_variance = matches!(
            self.plan.choice.0,
            OutputLikelihood::Normal | OutputLikelihood::LogNormal(..)
        );
        has_variance && self.part == ModelPart::Linear && self.plan.numbers.len() > MANY_INPUTS
    }

    /// Returns the text that, written before an expression, multiplies it by the standard deviation of the output.
    fn times_width(&self) -> String {
        match self.priors.width.as_str() {
            "1" => String::new(),
            width => format!("{width} * "),
        }
    }

    /// Writes the common scale `tau` of `count` coefficients. It is chosen so that the sum of `count` terms has the scale that a single term would
    /// have.
    fn common_scale(&mut self, count: usize) {
        let width: f64 = self.priors.width.parse().unwrap_or(1.0);
        match self.explained() {
            true => {
                let factor = self.times_width();
                self.line("r2 ~ Beta(2, 2)");
                let size = self.size_of_vector();
                self.line(&format!("tau = {factor}sqrt(r2 / {size})"));
            }
            false => {
                let prior = format!("HalfNormal({})", rounded(width / (count as f64).sqrt(), 2));
                self.positive("tau", &prior, -2);
            }
        }
    }

    fn layers(&mut self) {
        let count = self.plan.numbers.len();
        // The scale of the first weights decreases with the number of inputs, so that the sum over
        // the inputs keeps its size.
        let first = rounded((2.0 / (count as f64).sqrt()).min(1.0), 2);
        let width: f64 = self.priors.width.parse().unwrap_or(1.0);
        let last = rounded(width / (UNITS as f64).sqrt(), 2);
        let outputs = if self.has_classes() { "k" } else { "1" };
        self.line(&format!("hidden = Dense({UNITS}, prior = Normal(0, {first}))"));
        self.line(&format!("out = Dense({outputs}, prior = Normal(0, {last}))"));
        self.posterior
            .push("hidden.*, out.* ~ Normal(scale = 0.02)".to_owned());
        let vector = self.vector();
        self.terms.push(match self.has_classes() {
            true => format!("out(tanh(hidden({vector})))"),
            false => format!("out(tanh(hidden({vector})))[0]"),
        });
    }

    /// Writes the effects of one column of groups.
    fn effects(&mut self, at: usize, group: &GroupColumn) {
        let column = group.named.name.clone();
        let name = self.names.claim(&format!("effect_{column}"));
        let dim = self.dims[at].clone();
        let dims = match self.has_classes() {
            true => format!("{dim}, k"),
            false => dim,
        };
        let width = self.priors.width.clone();
        match group.levels > FEW_GROUPS {
            true => {
                let sd = self.names.claim(&format!("sd_{column}"));
                self.remark(&format!(
                    "The effect of each `{column}`. Its typical size `{sd}` is a parameter too, so that groups with few rows learn from the others."
                ));
                self.positive(&sd, &format!("HalfNormal({width})"), -1);
                self.line(&format!("{name}: real[{dims}] ~ Normal(0, {sd})"));
                let is_weak = group.variance_ratio.is_some_and(|ratio| ratio < WEAK_RATIO);
                if is_weak || self.plan.rows < ROWS_OF_AN_EFFECT * group.levels {
                    self.has_weak_effects = true;
                    self.non_centered.push(name.clone());
                }
            }
            false => {
                self.remark(&format!("The effect of each `{column}`."));
                self.line(&format!("{name}: real[{dims}] ~ Normal(0, {width})"));
            }
        }
        self.posterior.push(format!("{name} ~ Normal(scale = 0.1)"));
        self.terms.push(format!("{name}[{column}]"));
    }

    /// Writes the standard deviation `sigma` of the noise. It has its own prior, or it is derived from the fraction of the variance that the model
    /// does not explain.
    fn noise(&mut self, prior: &str) {
        match self.explained() {
            true => {
                let factor = self.times_width();
                self.line(&format!("sigma = {factor}sqrt(1 - r2)"));
            }
            false => self.positive("sigma", prior, -1),
        }
    }

    fn likelihood(&mut self) {
        let noise = self.priors.noise.clone();
        let (likelihood, why) = &self.plan.choice;
        self.remark(why);
        let family = match likelihood {
            OutputLikelihood::Normal => {
                self.noise(&noise);
                "Normal(eta, sigma)"
            }
            OutputLikelihood::StudentT => {
                self.positive("sigma", &noise, -1);
                self.positive("df", "Gamma(2, 10)", 2);
                "StudentT(df, eta, sigma)"
            }
            OutputLikelihood::LogNormal(..) => {
                self.noise(&noise);
                "LogNormal(eta, sigma)"
            }
            OutputLikelihood::Gamma(..) => {
                self.positive("shape", "HalfNormal(5)", 0);
                "Gamma(shape, exp(eta) / shape)"
            }
            OutputLikelihood::Bernoulli | OutputLikelihood::Either(_) => "Bernoulli(logit = eta)",
            OutputLikelihood::TwoTexts => "Categorical(logits = [0, eta])",
            OutputLikelihood::Classes => "Categorical(logits = eta)",
            OutputLikelihood::Poisson(_) => "Poisson(log_rate = eta)",
            OutputLikelihood::NegativeBinomial(_, log_dispersion) => {
                // The inputs explain a part of the variance, so the dispersion given the inputs is
                // larger than the moments of the output imply. With the scale 1.2, the dispersion
                // is more than ten times as small or as large with a probability of 5 %.
                let prior = format!("LogNormal({}, 1.2)", rounded(*log_dispersion, 2));
                self.positive("dispersion", &prior, log_dispersion.round() as i32);
                "NegativeBinomial(log_mean = eta, dispersion = dispersion)"
            }
        };
        let eta = self.terms.join(" + ");
        self.line(&format!("eta = {eta}"));
        self.line(&format!("{} ~ {family}", self.plan.output.name));
    }
}
