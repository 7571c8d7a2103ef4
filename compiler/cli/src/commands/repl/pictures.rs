//! Draws the pictures of `:plot` with the code that draws the plots in the report. A picture is
//! text for the terminal, or SVG.

use bnnc_repl::{IntervalSummary, Picture, PictureContent, PictureMarks};
use bnnc_report::chains::{CHAINS, outline};
use bnnc_report::characters::CharacterPlot;
use bnnc_report::histogram::Histogram;
use bnnc_report::svg::{Plot, PlotAxis, Swatch, standalone};

/// The size of a picture of densities or traces, in pixels.
const SIZE: (f64, f64) = (560.0, 340.0);

/// The largest width of a plot of characters, in columns. Wider plots would not be clearer.
const WIDEST: usize = 100;

/// The largest number of elements of an array that are drawn. Later elements are left out.
const ELEMENTS: usize = 40;

/// For each density in a picture, the character that represents it in the terminal, and its style
/// class in SVG.
const DENSITIES: [(char, &str); 4] = [('*', "ranks0"), ('o', "ranks1"), ('x', "ranks2"), ('+', "ranks3")];

/// A density as a function of the horizontal axis.
enum Density<'a> {
    Histogram(Histogram),
    Curve(&'a [(f64, f64)]),
    Masses(&'a [(f64, f64)]),
}

impl<'a> Density<'a> {
    /// Returns the density that the marks represent, or `None` if it cannot be drawn.
    fn new(marks: &'a PictureMarks) -> Option<Density<'a>> {
        match marks {
            PictureMarks::Draws(draws) => {
                let (low, high) = bulk(draws)?;
                Histogram::between(draws, low, high).map(Density::Histogram)
            }
            PictureMarks::Counts(draws) => {
                let (low, high) = bulk(draws)?;
                Histogram::of_whole(draws, low, high).map(Density::Histogram)
            }
            PictureMarks::Curve(points) => (points.len() > 1).then_some(Density::Curve(points)),
            PictureMarks::Masses(points) => (!points.is_empty()).then_some(Density::Masses(points)),
        }
    }

    /// Returns the ends of the range over which the density is drawn.
    fn ends(&self) -> (f64, f64) {
        match self {
            Density::Histogram(histogram) => (histogram.low, histogram.high()),
            Density::Curve(points) => (points[0].0, points[points.len() - 1].0),
            Density::Masses(points) => (points[0].0 - 0.5, points[points.len() - 1].0 + 0.5),
        }
    }

    /// Returns the largest density.
    fn top(&self) -> f64 {
        match self {
            Density::Histogram(histogram) => histogram.top(),
            Density::Curve(points) | Density::Masses(points) => {
                points.iter().map(|(_, height)| *height).fold(0.0, f64::max)
            }
        }
    }

    /// Returns the density at a value.
    fn at(&self, value: f64) -> f64 {
        match self {
            Density::Histogram(histogram) => histogram.at(value),
            Density::Curve(points) => {
                let after = points.partition_point(|(x, _)| *x < value);
                match (
                    after.checked_sub(1).and_then(|before| points.get(before)),
                    points.get(after),
                ) {
                    (Some((x0, y0)), Some((x1, y1))) => y0 + (value - x0) / (x1 - x0) * (y1 - y0),
                    (None, Some((x, y))) if *x == value => *y,
                    _ => 0.0,
                }
            }
            Density::Masses(points) => {
                let mass = points.iter().find(|(x, _)| *x == value.round());
                mass.map_or(0.0, |(_, mass)| *mass)
            }
        }
    }

    /// Draws the area below the density.
    fn draw(&self, plot: &mut Plot, class: &'static str) {
        let (x, heights): (Vec<f64>, Vec<f64>) = match self {
            Density::Histogram(histogram) => return histogram.draw(plot, class),
            Density::Curve(points) => points.iter().copied().unzip(),
            Density::Masses(points) => {
                let sides = points
                    .iter()
                    .flat_map(|(x, mass)| [(x - 0.5, *mass), (x + 0.5, *mass)]);
                sides.unzip()
            }
        };
        plot.band(class, &x, &vec![0.0; x.len()], &heights);
    }
}

/// Returns a range of values that leaves out the extremes of heavy tails. It is the interval of the
/// central 99 % of the draws, extended at both ends by half of its width.
fn bulk(draws: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = draws.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| sorted.get((share * sorted.len().saturating_sub(1) as f64).round() as usize);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let (low, high) = (*at(0.005)?, *at(0.995)?);
    let room = 0.5 * (high - low);
    match room > 0.0 {
        true => Some(((low - room).max(first), (high + room).min(last))),
        false => Some((first, last)),
    }
}

/// Draws a picture as text that is at most `width` characters wide.
pub fn characters(picture: &Picture, width: usize) -> String {
    let width = width.min(WIDEST);
    // If there is only one density, the title is also the label of the horizontal axis.
    let label = if picture.label == picture.title {
        ""
    } else {
        &picture.label
    };
    let picture = &Picture {
        label: label.to_owned(),
        ..picture.clone()
    };
    match &picture.content {
        PictureContent::Densities(layers) => {
            let densities = densities(layers);
            let (x, y) = axes(picture, &densities);
            let mut plot = CharacterPlot::new(&picture.title, width, x, y);
            match densities.as_slice() {
                [(_, only)] => plot.fill('#', |low, high| only.at(0.5 * (low + high))),
                several => {
                    for ((name, density), (mark, _)) in several.iter().zip(DENSITIES) {
                        plot.curve(mark, |low, high| density.at(0.5 * (low + high)));
                        plot.legend(mark, name);
                    }
                }
            }
            plot.render()
        }
        PictureContent::Intervals(rows) => {
            let (title, shown) = elements(picture, rows);
            let (x, y) = interval_axes(picture, shown);
            let mut plot = CharacterPlot::new(&title, width, x, y);
            for (at, (_, summary)) in shown.iter().enumerate() {
                plot.interval('-', at as f64, (summary.low, summary.high));
                plot.point('o', (summary.mean, at as f64));
            }
            plot.legend('o', "mean");
            plot.legend('-', "90 % interval");
            plot.render()
        }
        PictureContent::Traces(chains) => {
            let (x, y) = trace_axes(chains);
            let mut plot = CharacterPlot::new(&picture.title, width, x, y);
            for (number, chain) in chains.iter().enumerate() {
                let mark = char::from_digit(((number + 1) % 10) as u32, 10).unwrap_or('*');
                // Every draw has its own mark, because an outline would leave the middle of a long
                // trace empty.
                for (at, value) in chain.iter().enumerate() {
                    plot.point(mark, (at as f64, *value));
                }
                plot.legend(mark, &trace_name(number, chains.len()));
            }
            plot.render()
        }
    }
}

/// Draws a picture as an SVG document.
pub fn svg(picture: &Picture) -> String {
    let text = match &picture.content {
        PictureContent::Densities(layers) => {
            let densities = densities(layers);
            let (x, y) = axes(picture, &densities);
            let mut plot = Plot::new(&picture.title, SIZE, x, y);
            for ((name, density), (_, class)) in densities.iter().zip(DENSITIES) {
                density.draw(&mut plot, class);
                if densities.len() > 1 {
                    plot.legend(Swatch::Box, class, name);
                }
            }
            plot.render()
        }
        PictureContent::Intervals(rows) => {
            let (title, shown) = elements(picture, rows);
            let (x, y) = interval_axes(picture, shown);
            let mut plot = Plot::new(&title, (SIZE.0, 120.0 + 20.0 * shown.len() as f64), x, y);
            let all = || shown.iter().enumerate();
            plot.rows(
                "interval",
                all().map(|(at, (_, one))| (at as f64, one.low, one.high)),
            );
            plot.dots("estimate", all().map(|(at, (_, one))| (one.mean, at as f64, 3.0)));
            plot.legend(Swatch::Dot, "estimate", "mean");
            plot.legend(Swatch::Line, "interval", "90 % interval");
            plot.render()
        }
        PictureContent::Traces(chains) => {
            let (x, y) = trace_axes(chains);
            let mut plot = Plot::new(&picture.title, SIZE, x, y);
            for (number, chain) in chains.iter().enumerate() {
                plot.line(CHAINS[number % CHAINS.len()].0, outline(chain).into_iter());
            }
            for (number, (class, _)) in CHAINS.iter().enumerate().take(chains.len()) {
                plot.legend(Swatch::Line, class, &trace_name(number, chains.len()));
            }
            plot.render()
        }
    };
    standalone(&text)
}

/// Returns the densities that can be drawn, with their names.
fn densities(layers: &[(String, PictureMarks)]) -> Vec<(&str, Density<'_>)> {
    let all = layers.iter();
    all.filter_map(|(name, marks)| Some((name.as_str(), Density::new(marks)?)))
        .collect()
}

/// Returns the axes of a picture of densities.
fn axes(picture: &Picture, densities: &[(&str, Density<'_>)]) -> (PlotAxis, PlotAxis) {
    let ends = densities.iter().map(|(_, density)| density.ends());
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ends| {
        (low.min(ends.0), high.max(ends.1))
    });
    let top = densities
        .iter()
        .map(|(_, density)| density.top())
        .fold(0.0, f64::max);
    (
        PlotAxis::between(&picture.label, low, high),
        PlotAxis::between("density", 0.0, 1.04 * top),
    )
}

/// Returns the elements that are drawn, and a title that states which of them are left out.
fn elements<'a>(
    picture: &Picture,
    rows: &'a [(String, IntervalSummary)],
) -> (String, &'a [(String, IntervalSummary)]) {
    match rows.get(..ELEMENTS).filter(|_| rows.len() > ELEMENTS) {
        Some(first) => (
            format!("{} (the first {ELEMENTS} of {})", picture.title, rows.len()),
            first,
        ),
        None => (picture.title.clone(), rows),
    }
}

fn interval_axes(picture: &Picture, rows: &[(String, IntervalSummary)]) -> (PlotAxis, PlotAxis) {
    let ends = rows.iter().flat_map(|(_, one)| [one.low, one.mean, one.high]);
    let names = rows.iter().map(|(name, _)| name.clone()).collect();
    (PlotAxis::around(&picture.label, ends), PlotAxis::named("", names))
}

fn trace_axes(chains: &[Vec<f64>]) -> (PlotAxis, PlotAxis) {
    let longest = chains.iter().map(Vec::len).max().unwrap_or(0).max(1);
    (
        PlotAxis::between("draw", 0.0, longest as f64),
        PlotAxis::around("", chains.iter().flatten().copied()),
    )
}

/// Returns the name of a trace. A single trace may contain the draws of several chains, one chain
/// after the other.
fn trace_name(number: usize, count: usize) -> String {
    match count {
        1 => "draws, chain after chain".to_owned(),
        _ => format!("chain {}", number + 1),
    }
}
