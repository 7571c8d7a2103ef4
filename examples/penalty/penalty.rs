//! The pictures of the penalty method: `cargo run --release --example penalty -- line --svg line.svg`.
//!
//! `line` is the posterior of a line from batches of two rows; `steps` how two samplers depend on their step; `wave INFER EXACT` a
//! predictive band beside that of another infer, and `reliability INFER ..` how often targets lie in their intervals, both of
//! `wave.bnn`; `digits INFER ..` how often classes are right, of `digits.bnn`. Options: `--svg FILE`, and `--set INFER.OPTION=VALUE` as of `bnnc run`.

mod classes;
mod line;
#[path = "../runs.rs"]
mod runs;
mod wave;

use std::process::ExitCode;

/// The colours that no report has: orange and green of the palette of Okabe and Ito.
const COLOURS: &str = ".plot path.other90, .plot .other90 { fill: #d55e00; fill-opacity: 0.18; }\n\
                       .plot .other { stroke: #d55e00; stroke-width: 2; }\n\
                       .plot .third { stroke: #009e73; stroke-width: 2; }\n\
                       .plot .exact { stroke: #000; stroke-width: 1.5; stroke-dasharray: 6 4; }\n\
                       @media screen and (prefers-color-scheme: dark) { .plot .exact { stroke: #fff; } }\n</style>";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (mut words, mut settings, mut svg) = (Vec::new(), Vec::new(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--svg" => svg = arguments.next(),
            "--set" => settings.extend(arguments.next()),
            _ => words.push(argument),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let picture = match words[..] {
        ["line"] => line::bands(settings)?,
        ["steps"] => line::steps(settings)?,
        ["wave", infer, exact] => wave::band(infer, exact, settings)?,
        ["reliability", ref infers @ ..] if !infers.is_empty() => wave::reliability(infers, settings)?,
        ["digits", ref infers @ ..] if !infers.is_empty() => classes::reliability(infers, settings)?,
        _ => {
            let known = "`line`, `steps`, `wave INFER EXACT`, `reliability INFER ..` or `digits INFER ..`";
            return Err(format!("what? {known}"));
        }
    };
    let picture = bnnc_run::report::svg::standalone(&picture).replacen("</style>", COLOURS, 1);
    match svg {
        Some(path) => std::fs::write(&path, picture).map_err(|error| format!("{path}: {error}")),
        None => Ok(()),
    }
}
