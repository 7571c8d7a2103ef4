//! Reads draws as CSV from standard input, and writes the diagnostics of each quantity as CSV. Numbers are
//! printed with all digits.
//!
//! The first column holds the index of the chain, the second column the index of the draw. Each further column
//! holds the values of one quantity.

use bnnc_mcmc::diagnostics::{Summariser, effective, energy, rhat};
use std::io::Read;

/// The name of a column, and its values in each chain.
type Quantity = (String, Vec<Vec<f64>>);

fn read(text: &str) -> Result<Vec<Quantity>, Box<dyn std::error::Error>> {
    let mut lines = text.lines();
    let names = lines.next().ok_or("no header")?.split(',').skip(2);
    let mut quantities: Vec<Quantity> = names.map(|name| (name.to_string(), Vec::new())).collect();
    let mut last = "";
    for line in lines {
        let mut fields = line.split(',');
        let chain = fields.next().ok_or("an empty line")?;
        for ((_, chains), field) in quantities.iter_mut().zip(fields.skip(1)) {
            if chain != last {
                chains.push(Vec::new());
            }
            let value = field.parse()?;
            chains.last_mut().ok_or("no chain")?.push(value);
        }
        last = chain;
    }
    Ok(quantities)
}

/// A diagnostic that is not part of the summary: its name, and the function that computes it.
type More = (&'static str, fn(&[&[f64]]) -> f64);

const MORE: &[More] = &[
    ("rhat_split", rhat::split),
    ("rhat_bulk", rhat::bulk),
    ("ess_mean", effective::mean),
    ("ess_sd", effective::sd),
    ("ess_median", effective::median),
    ("ess_q10", |chains| effective::quantile(chains, 0.1)),
    ("bfmi", |chains| {
        energy::fraction_of_missing_information(chains[0])
    }),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    print!("name,mean,sd,median,mad,q05,q95,mcse_mean,mcse_sd,ess_bulk,ess_tail,rhat");
    MORE.iter().for_each(|(name, _)| print!(",{name}"));
    println!();
    let mut summariser = Summariser::default();
    for (name, chains) in read(&text)? {
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let s = summariser.summary(&chains);
        let columns = [s.mean, s.sd, s.median, s.mad, s.q05, s.q95];
        let errors = [s.mcse_mean, s.mcse_sd, s.ess_bulk, s.ess_tail, s.rhat];
        let more = MORE.iter().map(|(_, function)| function(&chains));
        print!("{name}");
        columns
            .into_iter()
            .chain(errors)
            .chain(more)
            .for_each(|value| print!(",{value:e}"));
        println!();
    }
    Ok(())
}
