//! The settings of a sampler, in the form of the comments that CmdStan writes. Each line is a pair of its depth
//! and its text.

use crate::methods::sampling::{Adaptation, MetricKind};

/// Returns the lines for a sampler that CmdStan does not have.
pub(super) fn plain(name: &str, options: &[(&str, String)]) -> Vec<(usize, String)> {
    let head = [(2, format!("algorithm = {name}")), (3, name.to_owned())];
    let options = options
        .iter()
        .map(|(name, value)| (4, format!("{name} = {value}")));
    head.into_iter().chain(options).collect()
}

/// Returns the lines for a Hamiltonian sampler. `options` are the options of its engine.
pub(super) fn hamiltonian(
    engine: &str,
    options: Vec<(usize, String)>,
    adaptation: &Adaptation,
) -> Vec<(usize, String)> {
    let mut lines = vec![
        (2, "algorithm = hmc".to_owned()),
        (3, "hmc".to_owned()),
        (4, format!("engine = {engine}")),
    ];
    lines.extend(options);
    lines.push((4, format!("metric = {}", metric(adaptation.metric))));
    lines
}

/// Returns CmdStan's name for a metric.
pub(super) fn metric(metric: MetricKind) -> &'static str {
    match metric {
        MetricKind::Unit => "unit_e",
        MetricKind::Automatic | MetricKind::Diagonal | MetricKind::Windowed => "diag_e",
        MetricKind::Dense | MetricKind::WindowedDense => "dense_e",
    }
}
