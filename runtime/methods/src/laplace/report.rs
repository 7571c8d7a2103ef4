//! The report on a Laplace approximation: diagnostics for `result.json`, lines of the printed
//! table, and summaries of sites.

use crate::laplace::gaussian::{Approximated, Gaussian, GaussianFacts, part};
use crate::laplace::weights;
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_abi::methods::laplace::{Laplace, Over, Structure, Weights};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::{Context, Stop};
use bnnc_core::number::{finite, number};
use bnnc_core::ports;
use bnnc_data::metrics::{DrawSummary, sorted};
use bnnc_inference::summary::{DRAWS, SMALL, SiteSummary, draws_per_call};
use bnnc_kernels::executor::Machine;
use bnnc_laplace::link;
use bnnc_laplace::matrix::Matrix;
use serde_json::{Map, Value, json};
use std::ops::Range;

/// Returns the value of the option `structure` in the syntax of programs.
fn structure(structure: Structure) -> String {
    match structure {
        Structure::Full => "full".to_owned(),
        Structure::Diagonal => "diagonal".to_owned(),
        Structure::Kronecker => "kronecker".to_owned(),
        Structure::LowRank(rank) => format!("low_rank({rank})"),
        Structure::Functional(None) => "functional".to_owned(),
        Structure::Functional(Some(rows)) => format!("functional({rows})"),
    }
}

fn over(laplace: &Laplace) -> String {
    let Over::Subnetwork { size, by } = &laplace.options.over else {
        let sites: Vec<&str> = laplace.weights.iter().map(|weights| &*weights.site).collect();
        return match Weights::count(&laplace.weights) < laplace.parameters {
            true => format!("[{}]", sites.join(", ")),
            false => "all".to_owned(),
        };
    };
    let by = by.word();
    format!("subnetwork({size}, by = {by})")
}

/// Adds the diagnostics of the approximation to a JSON object.
pub fn diagnostics(value: &mut Value, infer: &InferenceBlock, found: &Approximated, sites: &[SiteSummary]) {
    let Ok(laplace) = part(infer) else { return };
    let options = &laplace.options;
    value["structure"] = json!(structure(options.structure));
    value["curvature"] = json!(options.curvature.word());
    value["link"] = json!(options.link.word());
    value["over"] = json!(over(laplace));
    value["temperature"] = json!(options.temperature);
    value["outputs"] = json!(laplace.outputs);
    let fitted = &found.fitted;
    value["searched"] = json!(laplace.search);
    value["loss"] = finite(fitted.loss);
    value["epochs"] = json!(fitted.epochs);
    value["best_epoch"] = json!(fitted.best_epoch);
    value["steps"] = json!(fitted.steps);
    let fixed = fixed(infer, laplace, sites).map(|(name, values)| (name, json!(values)));
    value["fixed"] = Value::Object(fixed.collect());
    if let [only] = &found.members[..] {
        facts(value, &only.facts);
        return;
    }
    let of = |member: &Gaussian| {
        let mut value = json!({});
        facts(&mut value, &member.facts);
        value
    };
    value["members"] = found.members.iter().map(of).collect();
}

fn facts(value: &mut Value, facts: &GaussianFacts) {
    value["weights"] = json!(facts.weights);
    value["parameters"] = json!(facts.parameters);
    let factors = facts.prior_precision.iter();
    value["prior_precision"] = match &facts.prior_precision[..] {
        [(_, only)] => finite(*only),
        _ => factors
            .map(|(name, factor)| (name.clone(), finite(*factor)))
            .collect::<Map<_, _>>()
            .into(),
    };
    value["prior_scale"] = json!(facts.prior_scale);
    value["log_likelihood"] = finite(facts.log_likelihood);
    value["log_marginal_likelihood"] = facts.log_marginal_likelihood.map_or(Value::Null, finite);
    value["clipped_rows"] = json!(facts.clipped);
    value["rise"] = facts.rise.map_or(Value::Null, finite);
    let optional = [
        ("wasserstein", facts.wasserstein),
        ("residual", facts.residual),
        ("validation_log_likelihood", facts.validation),
    ];
    for (name, number) in optional {
        if let Some(number) = number {
            value[name] = finite(number);
        }
    }
}

/// Returns the sites that stay at the maximum, and their values on the scale of the site.
fn fixed<'a>(
    infer: &'a InferenceBlock,
    laplace: &'a Laplace,
    sites: &'a [SiteSummary],
) -> impl Iterator<Item = (String, Vec<f64>)> + 'a {
    let is_fixed = |site: &&SiteReport| laplace.weights.iter().all(|weights| weights.site != site.name);
    let value = |site: &SiteReport| {
        let summary = sites.iter().find(|known| known.name == site.name)?;
        Some((
            site.name.clone(),
            summary.elements.iter().map(|element| element.mean).collect(),
        ))
    };
    infer.reports.iter().filter(is_fixed).filter_map(value)
}

/// Returns the lines of the printed table.
pub fn table(infer: &InferenceBlock, found: &Approximated, sites: &[SiteSummary]) -> String {
    lines(infer, found, sites)
        .into_iter()
        .map(|(name, text)| format!("  {name:<21} {text}\n"))
        .chain(["\n".to_owned()])
        .collect()
}

/// Returns the properties of the approximation. Each property is a pair of a name and a text.
pub fn lines(infer: &InferenceBlock, found: &Approximated, sites: &[SiteSummary]) -> Vec<(String, String)> {
    let Ok(laplace) = part(infer) else {
        return Vec::new();
    };
    let options = &laplace.options;
    let mut lines = Vec::new();
    let mut line = |name: &str, text: String| lines.push((name.to_owned(), text));
    let Some(first) = found.members.first() else {
        return lines;
    };
    let facts = &first.facts;
    let members = match found.members.len() {
        1 => String::new(),
        count => format!(", a mixture of {count} (the numbers describe the first component)"),
    };
    let [form, curvature] = [&structure(options.structure), options.curvature.word()];
    let weights = format!("{} of {} weights{members}", facts.weights, facts.parameters);
    line("precision", format!("{form} {curvature} over {weights}"));
    line("link", options.link.word().to_owned());
    let text = |(name, factor): &(String, f64)| match name.is_empty() {
        true => number(*factor),
        false => format!("{name} {}", number(*factor)),
    };
    let factors: Vec<String> = facts.prior_precision.iter().map(text).collect();
    let scale = match facts.prior_scale == 1.0 {
        true => String::new(),
        false => format!(", all times {}", number(facts.prior_scale)),
    };
    line("prior precision", format!("times {}{scale}", factors.join(", ")));
    if let Some(evidence) = facts.log_marginal_likelihood {
        line("log marg. likelihood", number(evidence));
    }
    if facts.clipped > 0 {
        line("clipped rows", facts.clipped.to_string());
    }
    if let Some(rise) = facts.rise {
        line("possible rise", format!("{} of the log posterior", number(rise)));
    }
    if let Some(distance) = facts.wasserstein {
        line("W2 squared to full", number(distance));
    }
    for (name, values) in fixed(infer, laplace, sites).filter(|(_, values)| values.len() <= 4) {
        let values: Vec<String> = values.into_iter().map(number).collect();
        line(&format!("at the maximum: {name}"), values.join(", "));
    }
    lines
}

/// Returns the summaries of all small sites. The summary of a weight with real support is exact.
/// Summaries of other sites are computed from draws. A site that stays at the maximum does not have
/// a standard deviation.
///
/// # Errors
/// Fails if there is too little memory.
pub fn summaries(
    infer: &InferenceBlock,
    found: &Approximated,
    context: &Context,
) -> Result<Vec<SiteSummary>, Stop> {
    let laplace = part(infer)?;
    let small = |site: &&SiteReport| site.shape.count(&Sizes::default()) <= SMALL;
    let small: Vec<&SiteReport> = infer.reports.iter().filter(small).collect();
    if small.is_empty() {
        return Ok(Vec::new());
    }
    let is_small = |weights: &&Weights| small.iter().any(|site| site.name == weights.site);
    let mut sites = Sites::new(infer, laplace, &small, context)?;
    // Two draws per member show which weights equal the values of their sites. If this
    // holds for all weights, no further draws are needed.
    sites.draw(found, 2 * found.members.len())?;
    let mut weights = laplace.weights.iter().zip(&sites.is_real);
    let all_real = weights.all(|(weights, is_real)| *is_real || !is_small(&weights));
    if !all_real || found.members.len() > 1 {
        sites.draw(found, DRAWS)?;
    }
    let exact = match laplace.weights.iter().any(|weights| is_small(&weights)) {
        true => exact(found, laplace, &sites.is_real, context),
        false => Vec::new(),
    };
    let summary = |(site, draws): (&&SiteReport, &Vec<f64>)| {
        let exact = exact.iter().find(|(name, _)| *name == site.name);
        let size = site.shape.count(&Sizes::default());
        let of_element = |at: usize| {
            let draws = draws.iter().copied().skip(at).step_by(size.max(1));
            DrawSummary::of_sorted(&sorted(draws))
        };
        let elements = match exact {
            Some((_, elements)) => elements.clone(),
            None => (0..size).map(of_element).collect(),
        };
        SiteSummary::new(infer, site, elements)
    };
    Ok(small.iter().zip(&sites.draws).map(summary).collect())
}

/// The small sites at draws of the weights.
struct Sites<'a> {
    infer: &'a InferenceBlock,
    laplace: &'a Laplace,
    context: &'a Context,
    small: &'a [&'a SiteReport],
    machine: Machine,
    /// The drawn values of each site.
    draws: Vec<Vec<f64>>,
    /// The weights that are written in one call.
    columns: Vec<Vec<f64>>,
    /// For each weight, true if the weight equals the value of its site.
    is_real: Vec<bool>,
}

impl<'a> Sites<'a> {
    fn new(
        infer: &'a InferenceBlock,
        laplace: &'a Laplace,
        small: &'a [&'a SiteReport],
        context: &'a Context,
    ) -> Result<Sites<'a>, Fault> {
        let sizes = Sizes::default().with(Symbol::Draws, draws_per_call(infer));
        Ok(Sites {
            infer,
            laplace,
            context,
            small,
            machine: Machine::new(&infer.sites, sizes, context.pool.clone())?,
            draws: Vec::new(),
            columns: vec![Vec::new(); laplace.weights.len()],
            is_real: vec![true; laplace.weights.len()],
        })
    }

    /// Replaces the draws by new draws. Each member contributes an equal share.
    fn draw(&mut self, found: &Approximated, draws: usize) -> Result<(), Stop> {
        let count = found.members.len();
        let draws = draws.max(count);
        let numbers = |site: &&SiteReport| draws * site.shape.count(&Sizes::default());
        self.draws = self
            .small
            .iter()
            .map(|site| Vec::with_capacity(numbers(site)))
            .collect();
        let per_call = draws_per_call(self.infer).min(draws);
        let columns = self.columns.iter_mut().zip(&self.laplace.weights);
        columns.for_each(|(column, weights)| column.reserve_exact(per_call * weights.elements));
        for (number, member) in found.members.iter().enumerate() {
            weights::write_shared(&mut self.machine, self.infer, &member.values)?;
            let (mut first, end) = (number * draws / count, (number + 1) * draws / count);
            while first < end {
                let some = per_call.min(end - first);
                self.call(member, first..first + some)?;
                first += some;
            }
        }
        Ok(())
    }

    fn call(&mut self, member: &Gaussian, draws: Range<usize>) -> Result<(), Fault> {
        self.columns.iter_mut().for_each(Vec::clear);
        let columns = &mut self.columns;
        weights::each(
            member,
            self.infer,
            self.laplace,
            (draws.clone(), self.context),
            |column, draw| {
                columns[column].extend_from_slice(draw);
            },
        );
        self.machine
            .set_sizes(&Sizes::default().with(Symbol::Draws, draws.len()))?;
        for (weights, column) in self.laplace.weights.iter().zip(&self.columns) {
            ports::real(&mut self.machine, &weights.state, column)?;
        }
        ports::int(&mut self.machine, PortName::FirstDraw.text(), draws.start as i32)?;
        self.machine.run()?;
        for (site, draws) in self.small.iter().zip(&mut self.draws) {
            draws.extend(self.machine.read_real(&site.name)?);
        }
        self.compare()
    }

    /// Finds the weights that equal the values of their sites. Compares the site values that the
    /// machine computed with the weights that were written to the machine.
    fn compare(&mut self) -> Result<(), Fault> {
        for (at, weights) in self.laplace.weights.iter().enumerate() {
            let is_small = self.small.iter().any(|site| site.name == weights.site);
            if !is_small || !self.is_real[at] {
                continue;
            }
            let values = self.machine.read_real(&weights.site)?;
            let same = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-6 * x.abs().max(1.0);
            self.is_real[at] =
                values.len() == self.columns[at].len() && values.iter().zip(&self.columns[at]).all(same);
        }
        Ok(())
    }
}

/// Returns the marginal distributions of the elements of small sites. Only sites whose values equal
/// their weights are included. The list is empty for a mixture.
fn exact(
    found: &Approximated,
    laplace: &Laplace,
    is_real: &[bool],
    context: &Context,
) -> Vec<(String, Vec<DrawSummary>)> {
    let [only] = &found.members[..] else {
        return Vec::new();
    };
    let small = small_weights(laplace, only.index.as_deref(), is_real);
    let variances = variances(laplace, only, &small, context);
    let mut all = vec![0.0; Weights::count(&laplace.weights)];
    for (at, variance) in small.iter().zip(variances) {
        all[only.index.as_ref().map_or(*at, |index| index[*at])] = variance;
    }
    let far = link::standard_quantile(0.95);
    let summary = |(mean, variance): (f64, f64)| {
        let sd = variance.sqrt();
        DrawSummary {
            mean,
            sd,
            q05: mean - far * sd,
            q50: mean,
            q95: mean + far * sd,
        }
    };
    let maximum = only.weights(laplace);
    let mut found = Vec::new();
    for ((weights, range), is_real) in Weights::placed(&laplace.weights).zip(is_real) {
        if *is_real && weights.elements <= SMALL {
            let pairs = maximum[range.clone()]
                .iter()
                .copied()
                .zip(all[range].iter().copied());
            found.push((weights.site.clone(), pairs.map(summary).collect()));
        }
    }
    found
}

/// Returns the indices, among the random weights, of those weights that equal the values of small
/// sites.
fn small_weights(laplace: &Laplace, index: Option<&[usize]>, is_real: &[bool]) -> Vec<usize> {
    let mut small = Vec::new();
    for ((weights, range), is_real) in Weights::placed(&laplace.weights).zip(is_real) {
        if !is_real || weights.elements > SMALL {
            continue;
        }
        match index {
            None => small.extend(range),
            Some(index) => {
                let [first, last] = [range.start, range.end].map(|end| index.partition_point(|at| *at < end));
                small.extend(first..last);
            }
        }
    }
    small
}

/// Returns the variances of some of the random weights. Only some variances are computed, because the
/// variances of all weights would require the inverse of the matrix if the precision is a full matrix.
fn variances(laplace: &Laplace, member: &Gaussian, some: &[usize], context: &Context) -> Vec<f64> {
    let posterior = &member.posterior;
    if laplace.options.structure != Structure::Full {
        let all = posterior.variances(&context.pool);
        return some.iter().map(|at| all[*at]).collect();
    }
    let units = Matrix::units(some, posterior.elements());
    posterior.covariance(&units, 1, &context.pool)
}
