//! Prints the table of all pairs: `cargo test -p bnnc-tests --test divergence -- --ignored --nocapture table`.

use super::estimate::{BEST, LAW, SUMS, Subject, Table};
use super::expectation::compare;
use super::pairs::{Expected, Pair};

/// Returns the row of the table for one pair: the method, the numbers of nodes for several numbers
/// of draws, the value, the result of quadrature, and the error.
fn row(pair: &Pair, subject: &mut Subject<'_>) -> Result<String, String> {
    let nodes = [1, 10, 100, 1000, 1_000_000]
        .into_iter()
        .map(|draws| {
            subject
                .divergence(draws, SUMS)
                .map(|found| found.gradient_nodes.to_string())
        })
        .collect::<Result<Vec<String>, _>>()
        .map_err(|rejected| rejected.text)?;
    let separated = subject.divergence(10, SUMS).map_err(|rejected| rejected.text)?;
    let sampled = separated.reports[0].kl.clone();
    let law = subject.divergence(10, LAW).map_err(|rejected| rejected.text)?;
    let time = if law.reports[0].kl == sampled {
        "grows"
    } else {
        "constant"
    };
    let found = compare(pair, subject, BEST, |_| ())?;
    let method = found.sentence.split(':').next().unwrap_or_default();
    let sampled = sampled.split(':').next().unwrap_or_default();
    Ok(format!(
        "{method} | {sampled} | {time} | {} | {} | {:.6} | {:.6} | {:.1e} | {:.1e}",
        found.nodes,
        nodes.join(", "),
        found.mean,
        found.integral,
        (found.mean - found.integral).abs(),
        found.error,
    ))
}

#[test]
#[ignore = "a table for people; run by name"]
fn table() {
    println!(
        "| row | pair | method | by draws | time in M | nodes | nodes by draws for M = 1, 10, 100, 1000, 1000000 | KL | quadrature | \
         difference | standard error |"
    );
    println!("|---|---|---|---|---|---:|---|---:|---:|---:|---:|");
    let table = Table::new();
    for (pair, subject) in table.subjects() {
        let text = subject
            .map_err(|rejected| rejected.text)
            .and_then(|mut subject| row(&pair, &mut subject));
        let text = text.unwrap_or_else(|why| {
            let expected = match pair.expected {
                Expected::Finite(_) => "UNEXPECTED",
                Expected::Infinite => "infinite",
            };
            let sentence = why.lines().next().unwrap_or_default();
            format!("{expected} | | | | | | | | {}", sentence.replace('|', "\\|"))
        });
        println!("| {} | {} | {text} |", pair.row, pair.label().replace("||", "‖"));
    }
}
