//! The figures and tables of Laplace approximations: `cargo run --release --example laplace -- toy --svg toy.svg`.
//!
//! `toy SEEDS` compares the predictive bands of several methods in the gap between two clusters. `sizes TABLE KIND SPLITS` computes the log
//! likelihood for each size of the subnetwork. TABLE is `wine` or `kin8nm`, KIND is `standard` or `gap`, and SPLITS is the number of splits. `turned`
//! runs `digits/turned.bnn` and reports metrics of rotated digits. Options: `--svg FILE`, and `--data NAME=PATH` and `--set ITEM.OPTION=VALUE` as for
//! `bnnc run`.

mod figure;
#[allow(dead_code, reason = "draws are of samplers")]
#[path = "../runs.rs"]
mod runs;
mod sizes;
mod toy;
mod turned;

use runs::{count, show};
use std::process::ExitCode;

fn main() -> ExitCode {
    show(|words, wish| match *words {
        ["toy", seeds] => toy::picture(wish, count(seeds)?),
        ["sizes", table, kind, splits] => sizes::picture(wish, table, kind, count(splits)?),
        ["turned"] => turned::picture(wish),
        _ => Err("what? `toy SEEDS`, `sizes TABLE standard|gap SPLITS` or `turned`".into()),
    })
}
