//! Describes the distribution that the penalty method samples.

use crate::samplers::penalty::estimate::power;
use bnnc_abi::methods::sampling::samplers::penalty::{Correction, Penalty};

/// Rounds a number to 12 significant digits, to remove rounding errors.
fn short(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// Returns a description of the distribution that a run samples. `rows` is the number of all rows. The log likelihood is divided
/// by `temperature`.
pub fn target(options: &Penalty, rows: usize, temperature: f64) -> String {
    let total = short(1.0 / power(options, rows, temperature));
    let (tempered, heated) = (options.share(rows) != 1.0, temperature != 1.0);
    let distribution = match (tempered, heated) {
        (false, false) => "the ordinary posterior".into(),
        (false, true) => format!("the posterior at temperature {temperature}"),
        (true, false) => {
            let batch = options.batch;
            format!("the posterior tempered by {batch}/{rows} (temperature {total})")
        }
        (true, true) => {
            let batch = options.batch;
            format!(
                "the posterior tempered by {batch}/{rows} at temperature {temperature} (temperature {total} in all)"
            )
        }
    };
    match options.correction {
        Correction::Naive if !options.takes_all(rows) => {
            format!(
                "a wider distribution than {distribution}, because nothing corrects for the noise of batches"
            )
        }
        Correction::Naive | Correction::Plain | Correction::Corrected => distribution,
    }
}
