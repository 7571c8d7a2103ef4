//! Runs that need too much memory, and the advice in their errors.

use crate::setup::{POINTS, compiled, folder, stopped};
use std::path::Path;

/// Returns a network with 1761 weights. Of these, 41 are in its last layer. The network is
/// approximated with these options.
fn wide(options: &str) -> String {
    format!(
        "use layers::Dense
data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real[1]) -> y: real {{
  hidden = Dense(40)
  more = Dense(40)
  out = Dense(1)
  y ~ Normal(out(relu(more(relu(hidden(x)))))[0], 0.3)
}}
infer l = laplace(Net, rows) {{ epochs = 1, {options} }}
"
    )
}

/// Returns the predicted peak memory of a run of the network from [`wide`].
fn peak(folder: &Path, options: &str) -> u64 {
    compiled(folder, &wide(options)).manifest.infers[0]
        .cost
        .peak_bytes
}

/// If a matrix does not fit into memory, the run is rejected before any computation.
#[test]
fn a_matrix_beyond_the_memory_is_rejected() {
    let folder = folder("large", &[("rows.csv", POINTS.to_owned())]);
    let whole = compiled(&folder, &wide(""));
    // The network has 1761 weights, so two copies of the matrix need 47 MiB.
    let found = stopped(&whole, Some(20 << 20));
    assert_eq!(found.code.id, "E0502");
    assert!(
        found.notes[0].contains("full precision matrix of 1761 weights"),
        "{found:?}"
    );
    // The peak includes the Gaussian, and the serialised bytes of the Gaussian while it is written.
    let whole = whole.manifest.infers[0].cost.peak_bytes;
    assert!(whole >= 2 * 8 * 1761 * 1761, "{whole}");
    // The subnetwork is chosen by the marginal variances of the full matrix. A smaller subnetwork
    // therefore does not need less memory.
    let chosen = compiled(&folder, &wide("over = subnetwork(10, by = marginal)"));
    assert!(chosen.manifest.infers[0].cost.peak_bytes >= 2 * 8 * 1761 * 1761);
    let found = stopped(&chosen, Some(20 << 20));
    let chooses = |note: &String| note.contains("needs the full precision matrix of all 1761 weights");
    assert!(found.notes.iter().any(chooses), "{found:?}");
    assert!(found.help[0].contains("by = diagonal"), "{found:?}");
}

/// If a run needs too much memory, the advice in the error is accurate. The advised size fits into
/// the memory, and the next larger size does not. A structure that is not advised does not fit.
#[test]
fn advice_on_memory_fits_the_memory() {
    let folder = folder("offers", &[("rows.csv", POINTS.to_owned())]);
    let mut offered = 0;
    for (options, parts) in [
        ("", vec![0.1, 0.4, 0.8, 0.97]),
        ("curvature = hessian", vec![0.5]),
        ("structure = functional, link = weights", vec![0.9]),
        ("over = [more]", vec![0.3, 0.5, 0.9]),
        ("over = subnetwork(1500, by = magnitude)", vec![0.3, 0.9]),
        ("over = subnetwork(1700, by = marginal)", vec![0.4, 0.9, 0.99]),
        (
            "over = subnetwork(900, by = random), structure = diagonal",
            vec![0.95],
        ),
    ] {
        let first = compiled(&folder, &wide(options));
        let whole = first.manifest.infers[0].cost.peak_bytes;
        // The advice does not change any other option.
        let others = match options.find("over") {
            None if options.is_empty() => "temperature = 1".to_owned(),
            None => options.replace("structure = functional, ", ""),
            Some(_) if options.contains("diagonal") => "structure = diagonal".to_owned(),
            Some(_) => "temperature = 1".to_owned(),
        };
        let least = peak(&folder, &format!("{others}, over = subnetwork(1)"));
        let all = others.replace("structure = diagonal", "temperature = 1");
        // The advised diagonal structure covers the layers in the option `over`.
        let of_same = match options {
            "over = [more]" => options,
            _ => &all,
        };
        let diagonal = peak(&folder, &format!("structure = diagonal, {of_same}"));
        let limits = parts.iter().map(|part| (whole as f64 * part) as u64);
        for limit in limits.chain([diagonal.min(least) / 2]) {
            let found = stopped(&first, Some(limit));
            assert_eq!(found.code.id, "E0502", "{options}");
            let written = |help: &String| Some(help.split('`').nth(1)?.to_owned());
            let offers = found.help.iter().filter_map(written);
            let offers: Vec<String> = offers.filter(|offer| offer.contains('=')).collect();
            for offer in &offers {
                let besides = if offer.contains("over") { &others } else { of_same };
                let fits = peak(&folder, &format!("{besides}, {offer}"));
                assert!(fits <= limit, "{options} within {limit}: {offer} takes {fits}");
                offered += 1;
                let is_largest = |help: &&String| help.contains("largest") && help.contains(offer);
                let largest = found.help.iter().find(is_largest).map(|_| offer);
                let Some((before, rest)) = largest.and_then(|offer| offer.split_once('(')) else {
                    continue;
                };
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                let size: usize = digits.parse().unwrap();
                let more = format!("{before}({}{}", size + 1, &rest[digits.len()..]);
                let more = peak(&folder, &format!("{others}, {more}"));
                assert!(
                    more > limit,
                    "{options} within {limit}: more than {offer} takes {more}"
                );
            }
            if offers.is_empty() {
                assert!(limit < least, "{options} within {limit}: nothing is offered");
                assert!(
                    found.help[0].contains("the smaller approximations that bnnc tried"),
                    "{found:?}"
                );
            }
            let is_offered = offers.contains(&"structure = diagonal".to_owned());
            assert!(
                options.contains("subnetwork") || is_offered == (diagonal <= limit),
                "{options} within {limit}"
            );
        }
    }
    assert!(offered >= 15, "{offered}");
}

/// If a kernel has too many rows, the error names the matrix that needs the memory. The error
/// advises the largest number of rows that fits.
#[test]
fn the_largest_kernel_that_fits_is_advised() {
    let rows: String = (0..600)
        .map(|at| format!("{},{}\n", at as f64 / 100.0, at % 7))
        .collect();
    let folder = folder("kernels", &[("rows.csv", format!("x,y\n{rows}"))]);
    let whole = compiled(&folder, &wide("structure = functional"));
    // The numbers that are in memory are the Jacobian, the factor of the kernel, and one number for
    // each weight.
    let kept = 8 * (600 * 1761 + 600 * 600 + 1761);
    let precision = bnnc_run::cost::precision(&whole.manifest, &whole.manifest.infers[0]).unwrap();
    assert!(precision >= kept && precision < 3 * kept, "{precision}");
    let mut offered = 0;
    let peak = |rows: usize| peak(&folder, &format!("structure = functional({rows})"));
    for part in [0.95, 0.85, 0.7, 0.5] {
        let limit = (whole.manifest.infers[0].cost.peak_bytes as f64 * part) as u64;
        let found = stopped(&whole, Some(limit));
        let reported = "functional precision matrix of 1761 weights";
        assert!(found.notes[0].contains(reported), "{found:?}");
        let Some(rest) = found
            .help
            .iter()
            .find_map(|help| help.split("functional(").nth(1))
        else {
            assert!(peak(1) > limit, "{found:?}");
            continue;
        };
        let rows: usize = rest.split(')').next().unwrap().parse().unwrap();
        assert!(
            peak(rows) <= limit && peak(rows + 1) > limit,
            "{rows} within {limit}"
        );
        offered += 1;
    }
    assert!(offered >= 2, "{offered}");
}
