//! The pictures and tables of Laplace approximations: `cargo run --release --example laplace -- toy --svg toy.svg`.
//!
//! `toy SEEDS` is what a network knows between two clusters; `sizes TABLE KIND SPLITS` the log likelihood of `wine` or `kin8nm` by the size
//! of the subnetwork, on so many `standard` or `gap` splits; `turned` metrics of digits that are turned, of `digits/turned.bnn`.
//! Options: `--svg FILE`, `--data NAME=PATH` and `--set ITEM.OPTION=VALUE` as of `bnnc run`.

mod figure;
#[allow(dead_code, reason = "draws are of samplers")]
#[path = "../runs.rs"]
mod runs;
mod sizes;
mod toy;
mod turned;

use runs::Wish;
use std::process::ExitCode;

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
    let (mut words, mut wish, mut svg) = (Vec::new(), Wish::default(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--svg" => svg = arguments.next(),
            "--set" => wish.settings.extend(arguments.next()),
            "--data" => {
                let pair = arguments.next().unwrap_or_default();
                let (name, path) = pair.split_once('=').ok_or("`--data` takes `NAME=PATH`")?;
                wish.data.push((name.to_owned(), path.into()));
            }
            _ => words.push(argument),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let count = |word: &str| {
        word.parse::<usize>()
            .map_err(|_| format!("`{word}` is no number"))
    };
    let picture = match words[..] {
        ["toy", seeds] => toy::picture(wish, count(seeds)?)?,
        ["sizes", table, kind, splits] => sizes::picture(wish, table, kind, count(splits)?)?,
        ["turned"] => turned::picture(wish)?,
        _ => return Err("what? `toy SEEDS`, `sizes TABLE standard|gap SPLITS` or `turned`".into()),
    };
    match svg {
        Some(path) => std::fs::write(&path, picture).map_err(|error| format!("{path}: {error}")),
        None => Ok(()),
    }
}
