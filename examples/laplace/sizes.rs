//! Regression on tables: the log likelihood of test rows as a function of the number of random weights.

use crate::figure::{self, CURVES};
use crate::runs::{Done, Wish};
use bnnc_data::metrics::mean_and_standard_error;
use bnnc_report::svg::{Plot, PlotAxis, Swatch};

/// Sizes of subnetworks. The last size is the number of all weights, if this is at most [`MOST`].
const SIZES: [usize; 6] = [10, 50, 100, 250, 500, 1000];

/// A full matrix is built only for up to this number of weights.
const MOST: usize = 1500;

/// The scores that select the weights.
const SCORES: [&str; 2] = ["diagonal", "random"];

/// The networks: title, inference block of the maximum, and width of the hidden layers.
const NETWORKS: [(&str, &str, usize); 4] = [
    ("Shallow", "shallow", 50),
    ("Shallow", "shallow", 100),
    ("Deep", "deep", 50),
    ("Deep", "deep", 100),
];

const SIZE: (f64, f64) = (460.0, 300.0);

/// The log likelihoods of one network on each split, for the maximum and for each choice of weights.
struct Found {
    title: String,
    parameters: usize,
    mode: Vec<f64>,
    /// The curve of each score.
    curves: Vec<(&'static str, Curve)>,
}

/// Pairs of a subnetwork size and the log likelihoods of each split. The last size is the number of all weights.
type Curve = Vec<(usize, Vec<f64>)>;

/// Returns the name of the inference block of a subnetwork.
fn name(score: &str, size: usize) -> String {
    format!("s_{score}_{size}")
}

/// Returns the inference blocks of all subnetworks of one model, around its maximum.
fn items(model: &str, mode: &str, sizes: &[usize]) -> String {
    let settings = format!("start = {mode}, prior_precision = validation");
    let item = |score: &str, size: &usize| {
        let name = name(score, *size);
        format!(
            "infer {name} = laplace({model}, table) {{ {settings}, over = subnetwork({size}, by = {score}) }}\n"
        )
    };
    let subnetworks = SCORES
        .iter()
        .flat_map(|score| sizes.iter().map(move |size| item(score, size)));
    let diagonal =
        format!("infer diagonal = laplace({model}, table) {{ {settings}, structure = diagonal }}\n");
    let full = format!("infer full = laplace({model}, table) {{ {settings} }}\n");
    std::iter::once("\n".to_owned())
        .chain(subnetworks)
        .chain([diagonal, full])
        .collect()
}

fn log_likelihood(done: &Done, infer: &str) -> Option<f64> {
    let (_, outcome) = done.infer(infer).ok()?;
    let metrics = &outcome.splits.last()?.metrics;
    metrics
        .iter()
        .find(|(name, _)| name == "log_likelihood")
        .map(|(_, value)| *value)
}

/// Runs one network on each split.
fn network(
    wish: &Wish,
    (program, file): (&'static str, &str),
    (model, mode): (&str, &str),
    width: usize,
    splits: usize,
) -> Result<Found, String> {
    let mut found = Found {
        title: format!(
            "{} of {width} units",
            if model == "Deep" {
                "two layers"
            } else {
                "one layer"
            }
        ),
        parameters: 0,
        mode: Vec::new(),
        curves: SCORES
            .map(|score| (score, SIZES.map(|size| (size, Vec::new())).to_vec()))
            .to_vec(),
    };
    found.curves.push(("all, diagonal", vec![(0, Vec::new())]));
    for split in 0..splits {
        let mut settings = wish.settings.clone();
        settings.push(format!("table.test=splits(\"{file}\")"));
        settings.push(format!("table.split={split}"));
        let mut only = vec![mode.to_owned(), "diagonal".to_owned()];
        // The number of weights is known after the first split.
        let fits = |size: usize| found.parameters == 0 || size < found.parameters;
        let sizes: Vec<usize> = SIZES.into_iter().filter(|size| fits(*size)).collect();
        let wanted = Wish {
            program,
            replaced: vec![("const WIDTH = 50".to_owned(), format!("const WIDTH = {width}"))],
            more: items(model, mode, &sizes),
            settings,
            ..wish.clone()
        };
        if found.parameters == 0 {
            let done = Wish {
                only: only.clone(),
                ..wanted.clone()
            }
            .run()?;
            // The count includes the weights of the approximation, but not the noise level.
            found.parameters = done.infer("diagonal")?.0.cost.variational_parameters;
        }
        for (score, sizes) in found.curves.iter_mut().take(SCORES.len()) {
            sizes.retain(|(size, _)| *size <= found.parameters);
            if found.parameters <= MOST && sizes.last().is_none_or(|(size, _)| *size != found.parameters) {
                sizes.push((found.parameters, Vec::new()));
            }
            only.extend(
                sizes
                    .iter()
                    .filter(|(size, _)| *size < found.parameters)
                    .map(|(size, _)| name(score, *size)),
            );
        }
        if found.parameters <= MOST {
            only.push("full".to_owned());
        }
        let done = Wish { only, ..wanted }.run()?;
        found.mode.extend(log_likelihood(&done, mode));
        for (score, sizes) in &mut found.curves {
            for (size, values) in sizes {
                let infer = match *size {
                    0 => "diagonal".to_owned(),
                    size if size == found.parameters => "full".to_owned(),
                    size => name(score, size),
                };
                values.extend(log_likelihood(&done, &infer));
            }
        }
        eprintln!("{}, split {split}: {:?}", found.title, found.mode.last());
    }
    Ok(found)
}

fn plot(found: &Found) -> Plot {
    let mean = |values: &[f64]| mean_and_standard_error(values).0;
    // A mean over some of the splits is not comparable with means over all splits, so the curve omits it.
    let is_whole = |values: &[f64]| values.len() == found.mode.len();
    let curves = found.curves.iter().flat_map(|(_, sizes)| sizes);
    let all = curves
        .filter(|(_, values)| is_whole(values))
        .map(|(_, values)| mean(values));
    let y = PlotAxis::around("", all.chain([mean(&found.mode)]));
    let x = PlotAxis::between("log10 of the number of random weights", 0.9, 3.3);
    let title = format!("{}, {} weights", found.title, found.parameters);
    let mut plot = Plot::new(&title, SIZE, x, y);
    plot.line(
        "guide",
        [(0.0, mean(&found.mode)), (9.0, mean(&found.mode))].into_iter(),
    );
    plot.legend(Swatch::Line, "guide", "maximum");
    for ((score, sizes), class) in found.curves.iter().zip(CURVES) {
        let at = |(size, values): &(usize, Vec<f64>)| ((*size as f64).log10(), mean(values));
        match sizes[..] {
            [(0, ref values)] => plot.line(class, [(0.0, mean(values)), (9.0, mean(values))].into_iter()),
            _ => plot.line(class, sizes.iter().filter(|(_, values)| is_whole(values)).map(at)),
        }
        let words = match *score {
            "diagonal" => "by variance",
            other => other,
        };
        plot.legend(Swatch::Line, class, words);
    }
    plot
}

fn table(found: &[Found]) {
    let cell = |values: &[f64], splits: usize| {
        let (mean, error) = mean_and_standard_error(values);
        match (values.len() < splits, error) {
            // Some splits have fewer active weights than this size.
            (true, _) => "–".to_owned(),
            (false, Some(error)) => format!("{mean:.3} ± {error:.3}"),
            (false, None) => format!("{mean:.3}"),
        }
    };
    for found in found {
        println!(
            "\n{}, {} weights; maximum {}\n",
            found.title,
            found.parameters,
            cell(&found.mode, 1)
        );
        println!("| random weights | by diagonal variance | at random |\n|---|---|---|");
        let splits = found.mode.len();
        let [(_, chosen), (_, random), (_, diagonal)] = &found.curves[..] else {
            continue;
        };
        for ((size, chosen), (_, random)) in chosen.iter().zip(random) {
            println!("| {size} | {} | {} |", cell(chosen, splits), cell(random, splits));
        }
        println!("| all, diagonal | {} | |", cell(&diagonal[0].1, splits));
    }
}

/// Prints and plots the log likelihoods of four networks on the first splits of a table.
///
/// # Errors
/// Returns the diagnostics as text.
pub fn picture(wish: Wish, table: &str, kind: &str, splits: usize) -> Result<String, String> {
    let (program, gap) = match table {
        "wine" => ("wine/subnetwork.bnn", "data/splits_gap.json"),
        "kin8nm" => ("kin8nm/subnetwork.bnn", "data/splits_gap.json.gz"),
        _ => return Err(format!("no table `{table}`: `wine` or `kin8nm`")),
    };
    let file = match kind {
        "standard" => "data/splits.json",
        "gap" => gap,
        _ => return Err(format!("no splits `{kind}`: `standard` or `gap`")),
    };
    let networks = NETWORKS.into_iter();
    let found: Result<Vec<Found>, String> = networks
        .map(|(model, mode, width)| network(&wish, (program, file), (model, mode), width, splits))
        .collect();
    let found = found?;
    self::table(&found);
    let plots: Vec<Plot> = found.iter().map(plot).collect();
    Ok(figure::page(
        &format!("{table}, {kind} splits: test log likelihood"),
        &plots,
        SIZE,
        2,
    ))
}
