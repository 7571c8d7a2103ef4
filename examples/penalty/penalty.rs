//! The figures of the penalty method: `cargo run --release --example penalty -- line --svg line.svg`.
//!
//! `line` plots the posterior of a straight line from batches of two rows. `steps` plots the effect of the step size on two samplers.
//! `wave INFER EXACT` plots the predictive bands of two inference runs of `wave.bnn`. `reliability INFER ..` plots the fraction of targets of
//! `wave.bnn` that lie inside their predictive intervals. `digits INFER ..` plots the accuracy of the classes of `digits.bnn`. Options: `--svg FILE`,
//! and `--data NAME=PATH` and `--set ITEM.OPTION=VALUE` as for `bnnc run`.

mod classes;
mod line;
#[allow(dead_code, reason = "no word is a count")]
#[path = "../runs.rs"]
mod runs;
mod wave;

use runs::show;
use std::process::ExitCode;

/// Colours beyond the styles of a report: orange and green from the palette of Okabe and Ito.
const COLOURS: &str = ".plot path.other90, .plot .other90 { fill: #d55e00; fill-opacity: 0.18; }\n\
                       .plot .other { stroke: #d55e00; stroke-width: 2; }\n\
                       .plot .third { stroke: #009e73; stroke-width: 2; }\n\
                       .plot .exact { stroke: #000; stroke-width: 1.5; stroke-dasharray: 6 4; }\n\
                       @media screen and (prefers-color-scheme: dark) { .plot .exact { stroke: #fff; } }\n</style>";

fn main() -> ExitCode {
    show(|words, wish| {
        let picture = match *words {
            ["line"] => line::bands(wish)?,
            ["steps"] => line::steps(wish)?,
            ["wave", infer, exact] => wave::band(infer, exact, wish)?,
            ["reliability", ref infers @ ..] if !infers.is_empty() => wave::reliability(infers, wish)?,
            ["digits", ref infers @ ..] if !infers.is_empty() => classes::reliability(infers, wish)?,
            _ => {
                let known =
                    "`line`, `steps`, `wave INFER EXACT`, `reliability INFER ..` or `digits INFER ..`";
                return Err(format!("what? {known}"));
            }
        };
        Ok(bnnc_report::svg::standalone(&picture).replacen("</style>", COLOURS, 1))
    })
}
