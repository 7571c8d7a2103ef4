//! Posterior summaries of sites. The summaries are computed from draws on the scale that the program declares for the
//! sites.

use crate::chains::Quantity;
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::{Context, Stop};
use bnnc_core::ports;
use bnnc_core::states::StateValues;
use bnnc_data::metrics::{DrawSummary, sorted};
use bnnc_kernels::executor::Machine;

/// The number of draws in a summary.
pub const DRAWS: usize = 1000;

/// The coordinate `step` of the noise for draws of summaries. This value differs from all values that training steps and
/// predictions use.
const SUMMARY_STEP: i32 = -2;

/// Sites with more elements than this number are not summarised. The draws of such sites are only written to files.
pub const SMALL: usize = 64;

/// The maximum number of site elements that one call of the program draws.
const ELEMENTS: usize = 1 << 18;

/// The summary of one site, with one entry per element.
#[derive(Clone, Debug)]
pub struct SiteSummary {
    /// The name of the site.
    pub name: String,
    /// The sizes of the axes of the site.
    pub shape: Vec<usize>,
    /// The summary of each element.
    pub elements: Vec<DrawSummary>,
    /// The name of each element, for example `beta[age]`.
    pub names: Vec<String>,
    /// For each axis, the names of its positions; `None` if these do not have names.
    pub axes: Vec<Option<Vec<String>>>,
    /// True if the program itself declares the site. False if the site belongs to a layer.
    pub own: bool,
    /// True if the Gaussian of a Laplace approximation leaves the site out. The site then has the same value in all
    /// draws.
    pub held: bool,
}

impl SiteSummary {
    /// Combines the summaries of all elements of a site.
    pub fn new(infer: &InferenceBlock, site: &SiteReport, elements: Vec<DrawSummary>) -> SiteSummary {
        let shape = site.shape.resolve(&Sizes::default());
        let axis =
            |(at, size): (usize, &usize)| infer.names.axis(&site.name, at, *size).map(<[String]>::to_vec);
        SiteSummary {
            name: site.name.clone(),
            names: (0..elements.len())
                .map(|at| infer.names.element(&site.name, &shape, at))
                .collect(),
            axes: shape.iter().enumerate().map(axis).collect(),
            own: infer.names.declares(&site.name),
            held: is_held(infer, site) && elements.iter().all(DrawSummary::is_constant),
            shape,
            elements,
        }
    }
}

/// Returns whether the Gaussian of a Laplace approximation leaves a site out. The site then stays fixed at its maximum.
fn is_held(infer: &InferenceBlock, site: &SiteReport) -> bool {
    let part = infer.laplace();
    part.is_some_and(|laplace| laplace.weights.iter().all(|weights| weights.site != site.name))
}

/// Returns the summaries of the sites whose elements have chain diagnostics.
pub fn of_draws(infer: &InferenceBlock, quantities: &[Quantity]) -> Vec<SiteSummary> {
    let of_site = |(at, site): (usize, &SiteReport)| {
        let elements = quantities
            .iter()
            .filter(|quantity| quantity.element.is_some_and(|(found, _)| found == at));
        let summary = |quantity: &Quantity| DrawSummary {
            mean: quantity.summary.mean,
            sd: quantity.summary.sd,
            q05: quantity.summary.q05,
            q50: quantity.summary.median,
            q95: quantity.summary.q95,
        };
        SiteSummary::new(infer, site, elements.map(summary).collect())
    };
    let all = infer.reports.iter().enumerate().map(of_site);
    all.filter(|site| !site.elements.is_empty()).collect()
}

/// Returns the number of draws that the program makes in one call. The program draws all sites, including large ones.
pub fn draws_per_call(infer: &InferenceBlock) -> usize {
    (ELEMENTS / infer.cost.parameters.max(1)).clamp(1, DRAWS)
}

/// Returns the summaries of all small sites. The program makes the draws for these summaries.
///
/// # Errors
/// Fails if there is too little memory.
pub fn summaries(
    infer: &InferenceBlock,
    values: &StateValues,
    context: &Context,
) -> Result<Vec<SiteSummary>, Stop> {
    summaries_of_draws(infer, values, DRAWS, context)
}

/// Returns the summaries of all small sites at `draws` draws. States that differ between draws must have one value per
/// draw.
///
/// # Errors
/// Fails if there is too little memory.
pub fn summaries_of_draws(
    infer: &InferenceBlock,
    values: &StateValues,
    draws: usize,
    context: &Context,
) -> Result<Vec<SiteSummary>, Stop> {
    let size = |shape: &bnnc_base::shape::Shape| shape.count(&Sizes::default());
    let small: Vec<_> = infer
        .reports
        .iter()
        .filter(|site| size(&site.shape) <= SMALL)
        .collect();
    if small.is_empty() {
        return Ok(Vec::new());
    }
    let per_call = draws_per_call(infer).min(draws);
    let mut machine = Machine::new(
        &infer.sites,
        Sizes::default().with(Symbol::Draws, per_call),
        context.pool.clone(),
    )?;
    let mut drawn: Vec<(&str, &[f64])> = Vec::new();
    for state in infer.states.iter().filter(|state| state.parameter) {
        match values.get_key_value(&state.name) {
            Some((name, values)) if machine.has_port(name) && machine.is_per_draw(name) => {
                drawn.push((name, values));
            }
            Some((name, values)) => ports::real(&mut machine, name, values)?,
            None => {}
        }
    }
    let mut found: Vec<Vec<Vec<f64>>> = small
        .iter()
        .map(|site| {
            (0..size(&site.shape))
                .map(|_| Vec::with_capacity(draws))
                .collect()
        })
        .collect();
    let mut first = 0;
    while first < draws {
        let count = per_call.min(draws - first);
        machine.set_sizes(&Sizes::default().with(Symbol::Draws, count))?;
        for (name, values) in &drawn {
            let width = values.len() / draws;
            ports::real(
                &mut machine,
                name,
                &values[first * width..(first + count) * width],
            )?;
        }
        ports::int(&mut machine, PortName::FirstDraw.text(), first as i32)?;
        ports::int(&mut machine, PortName::Step.text(), SUMMARY_STEP)?;
        machine.run()?;
        for (site, columns) in small.iter().zip(&mut found) {
            let values = machine.read_real(&site.name)?;
            for row in values.chunks_exact(columns.len().max(1)) {
                columns
                    .iter_mut()
                    .zip(row)
                    .for_each(|(column, value)| column.push(*value));
            }
        }
        first += count;
    }
    let summary = |columns: Vec<Vec<f64>>| -> Vec<DrawSummary> {
        columns
            .into_iter()
            .map(|column| DrawSummary::of_sorted(&sorted(column.into_iter())))
            .collect()
    };
    let named = small
        .iter()
        .zip(found)
        .map(|(site, columns)| SiteSummary::new(infer, site, summary(columns)));
    Ok(named.collect())
}
