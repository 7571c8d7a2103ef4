//! Reads log likelihoods as CSV from standard input, and writes the leave-one-out estimates of each row as CSV. Numbers are printed with all digits.
//!
//! The first line of the input holds the relative efficiency of the draws. The other lines have the format that `diagnose` reads: a header, then one
//! line per draw. Each quantity is the log likelihood of one row of data.

use bnnc_mcmc::loo::LooEstimator;
use std::io::Read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut lines = text.lines();
    let efficiency: f64 = lines.next().ok_or("no efficiency")?.parse()?;
    let names: Vec<&str> = lines.next().ok_or("no header")?.split(',').skip(2).collect();
    let mut columns = vec![Vec::new(); names.len()];
    for line in lines {
        for (column, field) in columns.iter_mut().zip(line.split(',').skip(2)) {
            column.push(field.parse()?);
        }
    }
    println!("name,elpd,p,k,mcse,elpd_waic,p_waic");
    let mut estimator = LooEstimator::default();
    for (name, column) in names.iter().zip(&columns) {
        let row = estimator.row(column, efficiency);
        let values = [row.elpd, row.p, row.k, row.mcse, row.elpd_waic, row.p_waic];
        print!("{name}");
        values.into_iter().for_each(|value| print!(",{value:e}"));
        println!();
    }
    Ok(())
}
