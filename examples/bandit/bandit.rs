//! Thompson sampling on a contextual bandit, against greedy agents: `cargo run --release --example bandit`.
//!
//! The task comes from Blundell et al. (2015, section 5.3), but the program generates the mushrooms. Eating an edible mushroom gives the reward 5,
//! and eating a poisonous one gives 5 or -35 with equal probability. Leaving a mushroom gives 0. Options: `--plays N`, `--steps N` for the training
//! steps after each play, `--seed N`, and `--svg FILE` to write a figure.

mod mushrooms;
mod play;

use bnnc_core::context::Context;
use bnnc_kernels::pool::Pool;
use bnnc_report::svg::{Plot, PlotAxis, Swatch, standalone};
use play::{Policy, Settings, compiled, regrets};
use std::process::ExitCode;
use std::sync::Arc;

/// The agents: title, policy, and CSS class of the curve.
const AGENTS: [(&str, Policy, &str); 5] = [
    ("Thompson", Policy::Thompson, "mean"),
    ("greedy", Policy::Greedy(0.0), "greedy0"),
    ("1 % random", Policy::Greedy(0.01), "greedy1"),
    ("5 % random", Policy::Greedy(0.05), "greedy5"),
    ("random", Policy::Uniform, "guide"),
];

/// Colours of curves beyond the styles of a report: orange, green and purple from the palette of Okabe and Ito.
const COLOURS: &str = ".plot .greedy0 { stroke: #d55e00; stroke-width: 2; }\n\
                       .plot .greedy1 { stroke: #009e73; stroke-width: 2; }\n\
                       .plot .greedy5 { stroke: #cc79a7; stroke-width: 2; }\n</style>";

struct Arguments {
    settings: Settings,
    seed: u64,
    svg: Option<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments {
        settings: Settings {
            plays: 2000,
            steps: 16,
        },
        seed: 0,
        svg: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        let number = || {
            value
                .parse::<usize>()
                .map_err(|_| format!("`{name} {value}` is no number"))
        };
        match name.as_str() {
            "--plays" => arguments.settings.plays = number()?.max(1),
            "--steps" => arguments.settings.steps = number()?,
            "--seed" => arguments.seed = number()? as u64,
            "--svg" => arguments.svg = Some(value),
            _ => return Err(format!("unknown option `{name}`")),
        }
    }
    Ok(arguments)
}

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
    let Arguments { settings, seed, svg } = arguments()?;
    let manifest = compiled(seed)?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let context = Context::new(Arc::new(Pool::new(threads)), seed);
    let mut curves = Vec::new();
    for (name, policy, _) in AGENTS {
        let clock = std::time::Instant::now();
        let curve = regrets(&manifest, policy, settings, &context);
        curves.push(curve.map_err(|stop| format!("{stop:?}"))?);
        eprintln!("{name}: {:.1} s", clock.elapsed().as_secs_f64());
    }
    print!("{}", table(&curves));
    match svg {
        Some(path) => std::fs::write(&path, picture(&curves)).map_err(|error| format!("{path}: {error}")),
        None => Ok(()),
    }
}

/// Returns a table of the cumulative regret after 100, 200, 500, 1000, .. plays and after the last play.
fn table(curves: &[Vec<f64>]) -> String {
    let plays = curves.first().map_or(0, Vec::len);
    let decades = (2..9).flat_map(|power| [1, 2, 5].map(|digit| digit * 10usize.pow(power)));
    let mut at: Vec<usize> = decades.take_while(|at| *at < plays).collect();
    at.push(plays);
    let mut text = format!("{:>8}", "plays");
    AGENTS
        .iter()
        .for_each(|(name, ..)| text.push_str(&format!(" {name:>12}")));
    text.push('\n');
    for count in at {
        text.push_str(&format!("{count:>8}"));
        let sums = curves.iter().filter_map(|curve| curve.get(count - 1));
        sums.for_each(|sum| text.push_str(&format!(" {sum:>12.0}")));
        text.push('\n');
    }
    text
}

fn picture(curves: &[Vec<f64>]) -> String {
    let plays = curves.first().map_or(0, Vec::len) as f64;
    let learners = &curves[..curves.len() - 1];
    // The curve of the agent that never learns exceeds the range of the figure.
    let highest = learners
        .iter()
        .filter_map(|curve| curve.last())
        .fold(1.0f64, |a, b| a.max(*b));
    let mut plot = Plot::new(
        "Mushrooms",
        (720.0, 420.0),
        PlotAxis::between("plays", 0.0, plays),
        PlotAxis::between("cumulative regret", 0.0, 1.05 * highest),
    );
    for (curve, (name, _, class)) in curves.iter().zip(AGENTS) {
        let every = (curve.len() / 400).max(1);
        let points = curve.iter().enumerate().step_by(every);
        plot.line(class, points.map(|(at, sum)| (at as f64 + 1.0, *sum)));
        plot.legend(Swatch::Line, class, name);
    }
    standalone(&plot.render()).replacen("</style>", COLOURS, 1)
}
